"""The plain forward pass equals the library's; its deliberate faults do not."""

import numpy as np
import pytest
import torch

from bertology_utils.compression.accounting import counts
from bertology_utils.errors import BertologyError
from bertology_utils.language.grammar import generate
from bertology_utils.studies.overview import anatomy
from bertology_utils.text import encode_words

SENTENCES = [sentence.words for sentence in generate(4, seed=1)]


def test_the_plain_forward_pass_is_the_librarys(tiny) -> None:
    differences = anatomy.forward_differences(tiny, SENTENCES)
    assert differences.shape == (tiny.layers + 1, 4)
    assert differences.max() < 1e-4


def test_the_other_order_of_normalisation_is_not(tiny) -> None:
    differences = anatomy.forward_differences(tiny, SENTENCES, order="pre")
    rounding = anatomy.forward_differences(tiny, SENTENCES).max()
    assert differences[0].max() < 1e-4 and differences[1:].min() > 100 * rounding


def test_attention_is_softmax_of_scaled_products(tiny_eager) -> None:
    with torch.no_grad():  # sharper maps than the library's initialisation gives, or the scale would hardly matter
        for layer in tiny_eager.encoder.encoder.layer:
            layer.attention.self.query.weight.mul_(8)
            layer.attention.self.key.weight.mul_(8)
    try:
        assert anatomy.attention_differences(tiny_eager, SENTENCES).max() < 1e-4
        assert anatomy.attention_differences(tiny_eager, SENTENCES, scaled=False).max() > 1e-2
        assert anatomy.row_sum_errors(tiny_eager, SENTENCES).max() < 1e-5
    finally:
        with torch.no_grad():
            for layer in tiny_eager.encoder.encoder.layer:
                layer.attention.self.query.weight.div_(8)
                layer.attention.self.key.weight.div_(8)


def test_the_sum_of_two_segments(tiny) -> None:
    encoding = encode_words(tiny, SENTENCES[:1], SENTENCES[1:2])[0]
    with torch.no_grad():
        batch = {"input_ids": [encoding.input_ids], "token_type_ids": [encoding.segment_ids]}
        theirs = tiny.encoder(**{k: torch.tensor(v) for k, v in batch.items()}, output_hidden_states=True).hidden_states
    assert np.abs(anatomy.forward(tiny, encoding) - torch.stack(theirs)[:, 0].numpy()).max() < 1e-4


def test_a_table_is_missing_inside_only(tiny) -> None:
    before = anatomy.forward_differences(tiny, SENTENCES).max()
    with anatomy.without_table(tiny, "positions"):
        assert anatomy.forward_differences(tiny, SENTENCES)[0].min() > 1e-2
    assert anatomy.forward_differences(tiny, SENTENCES).max() == before


def test_left_view_hides_all_that_follows(tiny) -> None:
    both, targets = anatomy.masked_queries(tiny, SENTENCES, "both")
    left, same = anatomy.masked_queries(tiny, SENTENCES, "left")
    mask = tiny.tokenizer.mask_token_id
    assert (targets == same).all()
    for query, other in zip(both, left, strict=True):
        assert query.position == other.position and query.input_ids.count(mask) == 1
        assert query.input_ids[: query.position] == other.input_ids[: query.position]
        assert set(other.input_ids[query.position : -1]) == {mask}


def test_right_view_hides_all_that_precedes_and_masks_behind_hide_nothing(tiny) -> None:
    both, left, right, behind = (anatomy.masked_queries(tiny, SENTENCES, view)[0] for view in anatomy.VIEWS)
    mask = tiny.tokenizer.mask_token_id
    for whole, before, after, query in zip(both, left, right, behind, strict=True):
        assert set(after.input_ids[1 : after.position + 1]) == {mask}
        assert after.input_ids[after.position + 1 :] == whole.input_ids[whole.position + 1 :]
        most = max(before.input_ids.count(mask), after.input_ids.count(mask))
        assert query.input_ids == (*whole.input_ids[:-1], *[mask] * (most - 1), whole.input_ids[-1])
        assert query.position == whole.position and len(query.segment_ids) == len(query.input_ids)


def test_masked_scores_agree_with_each_other(tiny) -> None:
    scores = anatomy.masked_scores(tiny, *anatomy.masked_queries(tiny, SENTENCES))
    assert (scores["top5"] >= scores["top1"]).all() and (scores["loss"] > 0).all()


def test_next_sentence_scores_keep_the_order(tiny) -> None:
    scores = anatomy.next_sentence_score(tiny, SENTENCES, SENTENCES[::-1])
    alone = anatomy.next_sentence_score(tiny, SENTENCES[2:3], SENTENCES[1:2])
    assert np.isclose(scores[2], alone[0], atol=1e-4)


@pytest.mark.parametrize(("name", "layers", "width"), [("bert-base", 12, 768), ("bert-large", 24, 1024)])
def test_the_formula_counts_what_the_tensors_hold(name: str, layers: int, width: int) -> None:
    assert sum(anatomy.parameter_formula(layers, width).values()) == counts(name).all


def test_unknown_names_are_told(tiny) -> None:
    with pytest.raises(BertologyError, match="view"):
        anatomy.masked_queries(tiny, SENTENCES, "top")
    with pytest.raises(BertologyError, match="table"), anatomy.without_table(tiny, "colours"):
        pass


def test_profiles_are_shares_and_heads_that_look_alike_have_no_diversity(tiny_eager) -> None:
    maps = anatomy.maps_of(tiny_eager, SENTENCES)
    profiles = anatomy.head_profiles(tiny_eager, SENTENCES, maps, together=2)
    assert [own.shape for own in profiles] == [(2, 4, len(anatomy.KINDS) + 1)] * 2
    assert all(torch.allclose(own.sum(-1), torch.ones(2, 4).double(), atol=1e-5) for own in profiles)
    itself = torch.diagonal(maps[0], dim1=-2, dim2=-1).mean(-1)
    [first, *_] = anatomy.head_profiles(tiny_eager, SENTENCES, maps, together=1)
    assert torch.allclose(first[..., anatomy.KINDS.index("self")], itself)
    assert (anatomy.head_diversity(profiles) > 0).all()
    assert anatomy.head_diversity([own[:, :1].repeat(1, 4, 1) for own in profiles]) == pytest.approx(0)


def test_maps_become_as_sharp_as_is_asked(tiny_eager) -> None:
    wanted = torch.tensor([0.3, 1.2]).double()
    sharp = anatomy.as_sharp_as(anatomy.maps_of(tiny_eager, SENTENCES), wanted)
    assert torch.allclose(anatomy.layer_entropies(sharp), wanted, atol=1e-4)


def test_one_head_a_layer_has_no_diversity() -> None:
    with pytest.raises(BertologyError, match="at least two heads"):
        anatomy.head_diversity([torch.ones(2, 1, 3) / 3])


def test_speed_counts_the_weights_of_the_blocks(tiny, monkeypatch) -> None:
    moments = iter([0.0, 1.0])
    monkeypatch.setattr(anatomy.time, "perf_counter", lambda: next(moments))
    pieces = sum(map(len, encode_words(tiny, SENTENCES)))
    weights = sum(parameter.numel() for parameter in tiny.encoder.encoder.parameters())
    assert anatomy.operations_per_second(tiny, SENTENCES) == 2 * weights * pieces
