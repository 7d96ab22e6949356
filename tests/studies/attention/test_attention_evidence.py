"""Samples from attention maps and interventions: definitions checked against plain loops and exact algebra."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from bertology_utils.absent import Absent
from bertology_utils.instruments.attention import (
    STATISTICS,
    HeadStatistics,
    attention_maps,
    head_statistics,
    projections,
)
from bertology_utils.instruments.blocks import recorded_calls
from bertology_utils.instruments.heads import ablated
from bertology_utils.instruments.relations import map_patterns
from bertology_utils.studies.attention import critics, effects, evidence, recipes
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.classification_tasks import number_examples
from bertology_utils.tuning.training import batches, correctness, finetune_seeds, run_seeds
from bertology_utils.verdicts.predictions import parse


def test_pattern_shares_sum_to_one():
    codes = np.random.default_rng(0).integers(6, size=(7, 2, 4))
    shares = evidence.pattern_samples(codes)
    np.testing.assert_allclose(shares["sharp"], (codes != 4).mean((1, 2)))
    total = sum(shares[name] for name in ("vertical", "diagonal", "mixed", "block", "broad", "heterogeneous"))
    np.testing.assert_allclose(total, 1)
    np.testing.assert_allclose(shares["patterned"], (codes < 4).mean((1, 2)))


def test_an_untrained_network_has_broad_maps_and_none_that_could_hold_a_relation(tiny_eager, words):
    shares = evidence.pattern_samples(map_patterns(tiny_eager, words[:12], words[12:]))
    assert shares["broad"].min() == 1 and not shares["heterogeneous"].any()


def planted_statistics(words, **planted):
    """Statistics of one layer of three heads: each of `planted` gives (head, value), all the rest is even."""
    values = {name: np.full((len(words), 1, 3), 0.1) for name in STATISTICS}
    values["entropy"] = np.ones((len(words), 1, 3))  # nats, of inputs of several pieces: not broad
    for name, (head, value) in planted.items():
        values[name][:, 0, head] = value
    return HeadStatistics(values)


def test_the_head_of_each_type_is_found_where_it_is(tiny_eager, words):
    longest = np.log([len(encoding) for encoding in encode_words(tiny_eager, words)])
    statistics = planted_statistics(words, next=(1, 0.7), self=(2, 0.9), end=(0, 0.8), entropy=(2, 0.9 * longest))
    found = {name: values.mean() for name, values in evidence.typical_heads(tiny_eager, statistics, words).items()}
    expected = {"next": 0.7, "itself": 0.9, "end": 0.8, "broad": 0.9}
    assert found == pytest.approx({name: 0.1 for name in found} | expected)


def test_a_type_without_a_target_in_a_sentence_rests_on_the_others(tiny_eager, words):
    statistics = planted_statistics(words, punctuation=(0, 0.6))
    statistics["punctuation"][:10] = np.nan
    found = evidence.typical_heads(tiny_eager, statistics, words)
    assert len(found["punctuation"]) == (len(words) - 10) // 2 and found["punctuation"] == pytest.approx(0.6)
    assert len(found["next"]) == len(words) // 2


def test_a_type_that_leads_by_luck_does_not_keep_its_lead(tiny_eager, words):
    statistics = planted_statistics(words)
    statistics["cls"][::2, 0, 1] = 0.9  # on the choosing half only
    assert evidence.typical_heads(tiny_eager, statistics, words)["cls"].max() == pytest.approx(0.1)


def test_uniform_attention_is_broad_and_reads_one_everywhere(tiny_eager, words):
    statistics = head_statistics(tiny_eager, words)
    assert evidence.broad_shares(tiny_eager, statistics, words).min() == 1  # untrained heads spread evenly
    [ratio] = evidence.word_attentions(tiny_eager, words, [[(1, 0)] * len(words)], in_shares=True)
    assert abs(ratio.mean() - 1) < 0.2
    assert abs(evidence.separator_ratio(tiny_eager, words).mean() - 1) < 0.2


def even_maps(specimen, sentences, heads=3):
    for index, encoding in enumerate(encode_words(specimen, sentences)):
        yield index, encoding, torch.full((2, heads, len(encoding), len(encoding)), 1 / len(encoding))


def lengths_in_pieces(specimen, sentences):
    return [[encoding.word_ids.count(w) for w in range(len(words))]
            for words, encoding in zip(sentences, encode_words(specimen, sentences), strict=True)]  # fmt: skip


def test_even_attention_is_one_share_for_a_word_of_any_number_of_pieces(tiny_eager):
    odd = [["the", "zyxgrblk", "slept", "."], ["a", "king", "saw", "qqqqq", "quickly", "."]]
    pieces = lengths_in_pieces(tiny_eager, odd)
    assert {1} < {count for counts in pieces for count in counts}
    forms, shares, places = evidence.received_shares(tiny_eager, odd, even_maps(tiny_eager, odd))
    assert sorted(zip(places, forms, strict=True)) == sorted((i, w) for i in (0, 1) for w in odd[i])
    np.testing.assert_allclose(shares, 1, rtol=1e-5)
    links = [[(0, 1), (0, 3)], [(1, 2), (3, 1)]]  # to and from words of several pieces
    for found in evidence.word_attentions(tiny_eager, odd, links, even_maps(tiny_eager, odd), in_shares=True):
        assert found.shape == (2, 2, 3)
        np.testing.assert_allclose(found, 1, rtol=1e-5)


def test_two_words_are_compared_by_attention_summed_over_their_pieces(tiny_eager):
    odd = [["the", "zyxgrblk", "slept", "."]]
    [encoding], [counts] = encode_words(tiny_eager, odd), lengths_in_pieces(tiny_eager, odd)
    [long, short] = evidence.word_attentions(tiny_eager, odd, [[(0, 1)], [(0, 2)]], even_maps(tiny_eager, odd))
    np.testing.assert_allclose(long, counts[1] / len(encoding), rtol=1e-5)
    np.testing.assert_allclose(short, counts[2] / len(encoding), rtol=1e-5)


def test_a_sentence_without_punctuation_has_a_ratio_too(tiny_eager):
    bare = [["the", "king", "slept"], ["the", "king", "slept", "."]]
    ratio = evidence.special_ratio(tiny_eager, head_statistics(tiny_eager, bare), bare)
    assert np.isfinite(ratio).all()


def test_every_word_has_its_excess_and_peers_are_near_in_frequency(tiny_eager, words):
    forms, _, places = evidence.received_shares(tiny_eager, words[:3])
    assert np.bincount(places).tolist() == list(map(len, words[:3])) and len(forms) == len(places)
    forms, shares = np.array([".", "the", "the", "a"]), np.array([0.4, 0.1, 0.2, 0.3])
    found = evidence.punctuation_and_peers(forms, shares, np.array([0, 0, 1, 1]), peers=1)
    assert found["punctuation"].tolist() == [0.4] and found["peers"].tolist() == [0.3]
    both = evidence.punctuation_and_peers(forms, shares, np.array([0, 0, 1, 1]), peers=2)["peers"]
    assert both.mean() == pytest.approx(0.2) and len(both) == 2 and both.items == 3  # by sentence


def test_rollout_follows_a_planted_path_and_keeps_half_at_each_place():
    shift = np.roll(np.eye(4), 1, axis=1)  # every place looks at the next one
    found = critics.rollout(np.stack([shift, shift]))
    np.testing.assert_allclose(found[0], [0.25, 0.5, 0.25, 0])
    np.testing.assert_allclose(critics.rollout(np.full((5, 3, 3), 1 / 3)).sum(1), 1)


def test_special_pieces_can_only_take_hits_away(tiny_eager, sentences):
    hits = recipes.attachment_by_recipe(tiny_eager, sentences)
    assert (hits["kept"] <= hits["dropped"] + 1e-9).all()


def hits_of_heads(rates, sentences=200, arcs=8, seed=0):
    """Share of arcs found, (sentences, 1, heads), for heads of these true rates."""
    draws = np.random.default_rng(seed).random((sentences, 1, len(rates), arcs))
    return (draws < np.array(rates)[:, None]).mean(-1)


def test_two_recipes_that_differ_by_noise_alone_agree_as_one_does_with_itself():
    rates = np.random.default_rng(1).beta(2, 6, 64)
    found = recipes.recipe_agreement(hits_of_heads(rates), hits_of_heads(rates, seed=1))
    assert found["across"].shape == found["within"].shape == (200,)
    assert found["across"].mean() == pytest.approx(found["within"].mean(), abs=0.01)
    assert found["across"].mean() < 0.99  # noise: 1 would be read as a change by a fixed bound


def test_two_recipes_that_rank_heads_differently_agree_less():
    rates = np.random.default_rng(1).beta(2, 6, 64)
    moved = np.clip(rates + np.random.default_rng(2).normal(0, 0.1, 64), 0, 1)
    found = recipes.recipe_agreement(hits_of_heads(rates), hits_of_heads(moved, seed=1))
    [clause] = parse("across < 0.95 * within").judge(found)
    assert clause.verdict == "replicates" and clause.left < 0.9


def test_the_spread_of_agreement_is_what_other_sentences_would_have_given():
    rates = np.random.default_rng(1).beta(2, 6, 64)
    runs = [recipes.recipe_agreement(hits_of_heads(rates, 100, seed=s), hits_of_heads(rates, 100, seed=s + 50), 5)
            for s in range(12)]  # fmt: skip
    errors = np.mean([run["across"].std() / 10 for run in runs])
    assert 0.6 < errors / np.std([run["across"].mean() for run in runs]) < 2


def test_leaving_a_sentence_out_is_ranking_without_it():
    rates = np.random.default_rng(1).beta(2, 6, 9)
    kept, dropped = (hits_of_heads(rates, 12, seed=s)[:, 0] for s in (0, 1))
    half, stays = np.arange(12) % 3 == 0, np.arange(12) != 6  # sentence 6 lies in the half
    found = recipes._split_agreement(kept, dropped, half)
    first, second = half & stays, ~half
    across = [spearmanr(a[first].mean(0), b[second].mean(0)).statistic for a, b in ((kept, dropped), (dropped, kept))]
    within = [spearmanr(a[first].mean(0), a[second].mean(0)).statistic for a in (kept, dropped)]
    assert found[:, 6] == pytest.approx([np.mean(across), np.sqrt(np.prod(np.maximum(within, 0)))])


def test_a_sentence_without_arcs_is_left_out(tiny_eager, sentences):
    lone = type("Sentence", (), {"words": ("Yes",), "heads": (-1,), "deprels": ("root",)})()
    hits = recipes.attachment_by_recipe(tiny_eager, [sentences[0], lone])["kept"]
    assert np.isnan(hits[1]).all() and not np.isnan(hits[0]).any()
    both = [hits_of_heads([0.1, 0.5, 0.4]), hits_of_heads([0.1, 0.5, 0.4], seed=1)]
    for values in both:
        values[3] = np.nan
    assert len(recipes.recipe_agreement(*both)["within"]) == 199


def test_selection_does_not_see_the_scored_half():
    hits = np.zeros((10, 2, 2))
    hits[::2, 1, 0] = 1  # lucky on the choosing half
    place, scored = evidence.best_on_even(hits)
    assert place == (1, 0) and scored.mean() == 0


def test_gradient_of_the_separator_is_the_slope_of_the_loss(tiny_eager, words):
    found = effects.separator_importance(tiny_eager, words[:4])
    assert found["gradient"].min() > 0
    mass = head_statistics(tiny_eager, words[:4])["sep"].mean((0, 2))
    np.testing.assert_allclose(found["attention"].mean(0), mass, rtol=0.2)  # masking changes the input a little


def test_silencing_nothing_changes_nothing(tiny_eager, words):
    found = effects.separator_losses(tiny_eager, words, [])
    for name in ("zeroed", "silenced", "words_silenced"):
        np.testing.assert_array_equal(found["loss"], found[name])
    found = effects.separator_losses(tiny_eager, words, [1, 2])
    moved = [np.abs(found[name] - found["loss"]).mean() for name in ("silenced", "words_silenced")]
    assert moved[1] > moved[0] > 1e-9


@pytest.mark.parametrize("tells", [False, True])
def test_a_constant_of_the_separator_is_no_message_and_what_it_says_of_its_sentence_is(tiny_eager, words, tells):
    """[SEP] is given large values: the same in all sentences, or the sum of the words' values in each."""

    def planted(module, given, output):
        output = output.clone()
        output[:, -1] = 5 * output[:, 1:-1].sum(1) if tells else 5.0
        return output

    alike = [line for line in words if len(line) == len(words[0])] * 4  # one batch without padding, [SEP] last
    values = [value for value, _ in projections(tiny_eager.encoder)]
    hooks = [value.register_forward_hook(planted) for value in values]
    try:
        found = effects.separator_losses(tiny_eager, alike, [1, 2])
    finally:
        [hook.remove() for hook in hooks]
    moved = {name: np.abs(found[name] - found["loss"]).max() for name in ("zeroed", "silenced")}
    assert moved["zeroed"] > 1e-3
    assert moved["silenced"] > 1e-3 if tells else moved["silenced"] < 1e-5


def test_norm_is_the_exact_effect_before_layer_norm(tiny_eager, words):
    """Removing an edge moves the attention output by exactly weight times the transformed value."""
    [encoding] = encode_words(tiny_eager, words[:1])
    inputs = model_inputs(tiny_eager, [encoding])
    outputs = []
    dense = tiny_eager.encoder.encoder.layer[1].attention.output.dense
    handle = dense.register_forward_hook(lambda module, args, output: outputs.append(output.detach()))
    places = projections(tiny_eager.encoder)
    with torch.no_grad():
        with recorded_calls(tiny_eager.encoder) as calls:
            maps, values = effects._maps_and_values(tiny_eager, inputs)
        effects._removal_effects(calls, places, maps, values, [(1, 2, 3, 4)])
    handle.remove()
    moved = (outputs[1][0] - outputs[1][1]).norm()
    exact = maps[1, 2, 3, 4] * (effects._output_weight(tiny_eager, 1, 2) @ values[1, 2, 4]).norm()
    assert moved.item() == pytest.approx(exact.item(), rel=1e-3)


def test_the_effect_of_an_edge_is_that_on_the_next_vector_of_its_source(tiny_eager, words):
    """By hand: the block's output for the source, from its input without the edge; no other block has a part in it."""
    [encoding] = encode_words(tiny_eager, words[:1])
    inputs = model_inputs(tiny_eager, [encoding])
    layer, head, source, target = 0, 2, 3, 4
    size = tiny_eager.width // tiny_eager.heads
    places = projections(tiny_eager.encoder)
    with torch.no_grad():
        with recorded_calls(tiny_eager.encoder) as calls:
            maps, values = effects._maps_and_values(tiny_eager, inputs)
        [effect] = effects._removal_effects(calls, places, maps, values, [(layer, head, source, target)])
        states = tiny_eager.encoder(**inputs, output_hidden_states=True).hidden_states
        block = tiny_eager.encoder.encoder.layer[layer]
        context = torch.einsum("hn,hns->hs", maps[layer, :, source], values[layer])
        context[head] -= maps[layer, head, source, target] * values[layer, head, target]
        attended = block.attention.output(context.reshape(1, tiny_eager.heads * size), states[layer][:, source])
        following = block.output(block.intermediate(attended), attended)
    assert effect == pytest.approx(float((following - states[layer + 1][:, source]).norm()), rel=1e-2)


def test_short_inputs_fit_a_head_and_long_ones_exceed_it_by_half(tiny_eager, words):
    width = tiny_eager.width // tiny_eager.heads
    short, long = effects.inputs_by_width(tiny_eager, words, 5)
    pieces = [[len(encoding) for encoding in encode_words(tiny_eager, inputs)] for inputs in (short, long)]
    assert 0 < len(short) <= 5 and max(pieces[0]) <= width
    assert len(long) == 5 and min(pieces[1]) >= 1.5 * width
    assert effects.inputs_by_width(tiny_eager, [["the", *["king"] * width]], 5)[0] == []
    assert effects.inputs_by_width(tiny_eager, [["the", "king"]], 5)[1] == []


def test_only_long_inputs_hold_ineffective_attention(tiny_eager, words):
    size = tiny_eager.width // tiny_eager.heads
    [short] = effects.ineffective_share(tiny_eager, [words[0][: size - 3]])
    [long] = effects.ineffective_share(tiny_eager, [words[0] + words[1]])
    assert short < 1e-4 < 0.1 < long


def test_a_layer_that_repeats_another_is_matched(tiny_eager, words):
    found = effects.depth_matches(tiny_eager, words[:3])
    maps = {index: m for index, _, m in attention_maps(tiny_eager, words[:3])}
    first = maps[0].double()
    plain = []
    for a, b in ((0, 1), (1, 0)):
        for head in first[a]:
            rivals = [((head + r) / 2, r) for r in first[b]]
            entropy = torch.special.entr
            plain.append(min(float((entropy(m) - (entropy(head) + entropy(r)) / 2).sum(-1).mean()) for m, r in rivals))
    assert found["matched"][0] == pytest.approx(np.mean(plain), abs=1e-9)


@pytest.mark.parametrize("own", [0.0, 0.5])
def test_heads_that_share_their_separator_alone_are_not_alike(tiny_eager, words, monkeypatch, own):
    """Two layers of the same heads, which look at [SEP] and, with the share `own`, at words of their own."""

    def planted(specimen, sentences):
        for index, encoding in enumerate(encode_words(specimen, sentences)):
            rng, size = np.random.default_rng(index), len(encoding)
            rare = rng.dirichlet(np.full(size - 2, 0.2), (4, size))
            maps = np.zeros((2, 4, size, size))
            maps[..., -1] = 1 - own
            maps[..., 1:-1] = own * rare
            yield index, encoding, torch.tensor(maps)

    monkeypatch.setattr(effects, "attention_maps", planted)
    found = effects.depth_matches(tiny_eager, words[:12])
    assert (found["matched"] < 1e-9).all()
    assert (found["shuffled"] > 0.05).all() if own else (found["shuffled"] < 1e-9).all()


def test_erasure_is_followed_by_samples_in_range(tiny_eager, words):
    found = critics.explanation_samples(tiny_eager, words[:4])
    assert all(len(values) == 4 and (np.abs(values) <= 1).all() for values in found.values())
    assert (found["emptied"] > 0).all()


def test_attention_that_is_the_gradient_agrees_with_it(tiny_eager, words, monkeypatch):
    true = critics._maps_and_slopes

    def planted(*given):
        maps, slopes = true(*given)
        maps[:] = torch.from_numpy(slopes)
        return maps, slopes

    monkeypatch.setattr(critics, "_maps_and_slopes", planted)
    np.testing.assert_allclose(critics.explanation_samples(tiny_eager, words[:3])["agreement"], 1)


def test_recipes_agree_where_only_one_relation_is_asked(tiny_eager, sentences):
    found = recipes.recipe_disagreement(tiny_eager, sentences, ["det"])
    assert set(found) == {"directed_head", "directed_offset", "undirected_head", "undirected_offset"}
    assert len({(len(values), values.items) for values in found.values()}) == 1
    assert found["undirected_offset"].mean() >= found["directed_offset"].mean() - 0.1


def arcs(rng):
    """One subject and one adverb at random distances, and an adjective that stands before its noun."""
    free, gap = rng.permutation(8)[:6], 9
    heads, deprels = [-1] * 10, ["root"] * 10
    for dependent, head, name in ((free[0], free[1], "nsubj"), (free[2], free[3], "advmod"), (8, gap, "amod")):
        heads[dependent], deprels[dependent] = int(head), name
    return type("Sentence", (), {"words": ["word"] * 10, "heads": heads, "deprels": deprels, "__len__": lambda s: 10})()


def test_the_relation_shown_is_one_where_the_recipes_disagree_and_a_head_has_room(monkeypatch):
    rng = np.random.default_rng(0)
    made = [arcs(rng) for _ in range(80)]

    def looks(index):
        """A head whose subjects point at their verbs, and whose verbs point at their adverbs."""
        found = np.zeros((1, 1, 10), dtype=int)
        for dependent, (head, name) in enumerate(zip(made[index].heads, made[index].deprels, strict=True)):
            if name == "nsubj":
                found[..., dependent] = head
            elif name == "advmod":
                found[..., head] = dependent
        return found

    monkeypatch.setattr(recipes, "head_predictors", lambda *given: {"dependent": looks})
    found = recipes.recipe_disagreement(None, made)
    assert found["undirected_head"].mean() > 0.9 > 0.6 > found["directed_head"].mean()  # the adverb
    assert max(found[f"{name}_offset"].mean() for name in ("directed", "undirected")) < 0.5
    found = recipes.recipe_disagreement(None, made, ["amod"])  # no room, and nothing else to show
    assert found["directed_offset"].mean() == 1


def test_weights_dealt_out_in_their_own_order_change_nothing(tiny_eager, words):
    [encoding] = encode_words(tiny_eager, words[:1])
    inputs, place = model_inputs(tiny_eager, [encoding]), 3
    with torch.no_grad():
        whole, output = critics._place_probabilities(tiny_eager, inputs, place, output_attentions=True)
        every = tiny_eager.model(**inputs).prediction_logits.softmax(-1)
    torch.testing.assert_close(whole, every[:, place])
    maps = torch.stack([layer[0] for layer in output.attentions])
    same, turned = torch.arange(len(encoding))[None], torch.arange(len(encoding)).roll(1)[None]
    for layers in ([tiny_eager.layers - 1], range(tiny_eager.layers)):
        found = critics.permuted_predictions(tiny_eager, inputs, place, maps, torch.cat([same, turned]), layers)
        torch.testing.assert_close(found[:1], whole)
        kept, moved = critics.total_variation(found, whole)
        assert moved > 2 * kept


def test_permuted_weights_are_what_the_mask_takes_from_the_values(tiny_eager, words):
    """With one weight on one piece in the last layer, the context of the mask is that piece's value."""
    [encoding] = encode_words(tiny_eager, words[:1])
    inputs, size = model_inputs(tiny_eager, [encoding]), len(encoding)
    planted = torch.zeros(tiny_eager.layers, tiny_eager.heads, size, size)
    planted[..., 0] = 1
    order = torch.arange(size).roll(-2)[None]  # the weight on piece 0 now goes to piece size - 2
    seen = []
    dense = tiny_eager.encoder.encoder.layer[-1].attention.output.dense
    probe = dense.register_forward_hook(lambda module, args, output: seen.append(output.detach()))
    last = [tiny_eager.layers - 1]
    critics.permuted_predictions(tiny_eager, inputs, 1, planted, order, last)
    probe.remove()
    _, values = effects._maps_and_values(tiny_eager, inputs)
    expected = dense(values[-1, :, int(planted[-1, 0, 1][order[0]].argmax())].flatten())
    torch.testing.assert_close(seen[0][0, 1], expected.detach(), atol=1e-5, rtol=1e-4)


def test_total_variation_is_half_the_moved_probability():
    first = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(critics.total_variation(first, torch.tensor([0.0, 0.5, 0.5])), [0.5, 1.0])


def test_removing_heads_gives_a_score_for_every_head_and_item_in_every_way(tiny):
    train, test = number_examples(20), number_examples(8, split="test")
    found = effects.removal_samples(tiny, train, test, [(0, 1), (1, 2)], seeds=(0, 1))
    for end in ("", "_mean", "_uniform"):
        assert found[f"removable{end}"].shape == (tiny.layers * tiny.heads,)
        assert {found[f"without_{name}{end}"].shape for name in ("frame", "random", "all")} == {(2, len(test))}
    assert found["intact"].shape == (2, len(test))
    fewer = effects.removal_samples(tiny, train, test, [(0, 1), (1, 2)], seeds=(0, 1), alone=["zero"])
    assert set(found) - set(fewer) == {"removable_mean", "removable_uniform", "drop_mean", "drop_uniform"}


def test_what_no_claim_asks_about_is_asked_of_the_first_items(tiny):
    train, test = number_examples(20), number_examples(8, split="test")
    whole, brief = (
        effects.removal_samples(tiny, train, test, [(0, 1)], seeds=(0,), alone=[], shown=shown) for shown in (None, 5)
    )
    for name in ("without_frame", "without_all"):
        np.testing.assert_array_equal(brief[name], whole[name])
    for name in ("without_random", "without_all_mean", "without_frame_uniform"):
        np.testing.assert_array_equal(brief[name], whole[name][:, :5])


def test_important_heads_are_closed_one_at_a_time(tiny):
    train, test = number_examples(20), number_examples(8, split="test")

    def without(heads):
        return effects.removal_samples(tiny, train, test, [(0, 1)], heads, seeds=(0, 1), draws=1, alone=[])

    single = [without([head])["without_important"] for head in ((0, 1), (1, 2))]
    np.testing.assert_allclose(without([(0, 1), (1, 2)])["without_important"], np.mean(single, axis=0))
    np.testing.assert_array_equal(single[0], without([(0, 1)])["without_frame"])


def test_beside_important_heads_stand_as_many_others_closed_alone(tiny, monkeypatch):
    train, test, asked, true = number_examples(20), number_examples(8, split="test"), [], effects._closed_hits

    def closed(runs, parts, grid, heads, how, means):
        asked.append([tuple(map(int, head)) for head in heads])
        return true(runs, parts, grid, heads, how, means)

    monkeypatch.setattr(effects, "_closed_hits", closed)
    important = [(0, 1), (1, 2), (1, 3)]
    found = effects.removal_samples(tiny, train, test, [(0, 0)], important, seeds=(0, 1), draws=1, alone=[], shown=5)
    assert found["without_other"].shape == (2, 5) and asked[:3] == [[head] for head in important]
    others = [head for [head] in asked[3:6]]
    assert len({*others}) == 3 and not {*others} & {*important}


def test_the_drop_of_a_head_is_one_of_the_probability_of_the_right_class(tiny):
    train, test = number_examples(20), number_examples(8, split="test")
    drop = effects.removal_samples(tiny, train, test, [(0, 1)], seeds=(0,), draws=1, alone=["zero"])["drop"]
    (run,), _ = finetune_seeds(tiny, train, test, run_seeds(0, 1), freeze="encoder", epochs=4)

    def right() -> float:
        ((_, batch),) = batches(tiny, test)
        chances = run.classifier(**{k: v for k, v in batch.items() if k != "labels"}).softmax(-1)
        return float(chances.gather(-1, batch["labels"][:, None]).mean())

    with torch.no_grad():
        whole = right()
        with ablated(run.classifier, effects.keep_without((tiny.layers, tiny.heads), [(1, 0)])):
            assert drop[1, 0] == pytest.approx(whole - right(), abs=1e-5)


def test_heads_are_closed_by_zero(tiny, monkeypatch):
    """Without any head the samples are those of gates that are all shut."""
    train, test = number_examples(20), number_examples(8, split="test")
    asked = []
    monkeypatch.setattr(
        effects, "ablation_scores", lambda *given: asked.append((given[-2], given[2].sum())) or np.zeros((2, len(test)))
    )
    effects.removal_samples(tiny, train, test, [(0, 1)], seeds=(0, 1), draws=1, alone=[])
    assert [how for how, _ in asked] == [how for how in effects.ABLATIONS for _ in range(3)]
    assert [int(kept) for _, kept in asked[:3]] == [0, 7, 7]


def test_blocks_below_a_closed_head_need_not_run(tiny):
    train, test = number_examples(20), number_examples(8, split="test")
    found = effects.removal_samples(tiny, train, test, [(1, 2)], seeds=(0,), draws=1, alone=[])
    (run,), _ = finetune_seeds(tiny, train, test, run_seeds(0, 1), freeze="encoder", epochs=4)
    with ablated(run.classifier, effects.keep_without((tiny.layers, tiny.heads), [(1, 2)])):
        np.testing.assert_array_equal(found["without_frame"][0], correctness(run.classifier, tiny, test))


def test_scores_with_closed_heads_are_those_of_the_items_in_their_order(tiny, monkeypatch):
    train, test = number_examples(20), number_examples(8, split="test")
    monkeypatch.setattr(effects, "keep_without", lambda grid, closed: torch.ones(grid))
    found = effects.removal_samples(tiny, train, test, [(0, 1)], seeds=(0, 1))
    assert np.array_equal(found["without_all"], found["intact"])


def test_halves_pair_every_sentence_of_an_even_number(sentences):
    first, second = evidence.halves(sentences[:7])
    assert [len(first), len(second)] == [3, 3] and second[0] == list(sentences[3].words)


def test_planted_maps_are_told_apart(tiny_eager, words):
    found = evidence.planted_controls(tiny_eager, words[:12], words[12:])
    assert found["scattered"].mean() > 0.8 and not found["even"].any()


def test_the_separator_by_both_weightings_is_of_the_same_sentences(tiny_eager, words):
    statistics = head_statistics(tiny_eager, words)
    found = evidence.separator_weightings(tiny_eager, words[:6], statistics)
    assert found["weights"].shape == found["weights_times_value_length"].shape == (tiny_eager.layers, 6)
    assert found["kept"] == pytest.approx(found["weights_times_value_length"].mean() / found["weights"].mean())


def test_gradients_are_relative_and_ranked_as_they_were(tiny_eager, words):
    importance = effects.separator_importance(tiny_eager, words[:4])
    found = effects.separator_samples(importance)
    assert found["gradient"].mean() == pytest.approx(1) and found["attention"].shape == (tiny_eager.layers, 4)
    np.testing.assert_array_equal(found["gradient_rank"], effects.rank_over_layers(importance["gradient"]))


def test_without_inputs_of_both_lengths_a_share_is_absent(tiny_eager, words):
    found = effects.ineffective_shares(tiny_eager, words, 2)
    assert found["short"].max() < 1e-4 < found["long"].min() and found["short_words"] < found["long_words"]
    assert isinstance(effects.ineffective_shares(tiny_eager, [["the", "king"]], 2), Absent)


def test_ways_of_removal_are_those_of_the_samples():
    samples = {f"without_{name}{end}": np.ones(2) for name in ("frame", "random", "all")
               for end in ("", "_mean", "_uniform")}  # fmt: skip
    assert {tuple(found) for found in effects.ways(samples).values()} == {effects.ABLATIONS}


def test_leads_are_of_the_head_over_the_offset_and_published_ones_above_five_points():
    samples = {"directed_head": np.array([1, 1]), "directed_offset": np.array([0, 1]),
               "undirected_head": np.array([0, 0]), "undirected_offset": np.array([1, 0])}  # fmt: skip
    assert {name: float(lead) for name, lead in recipes.leads(samples).items()} == {
        "directed": 0.5, "undirected": -0.5}  # fmt: skip
    assert min(recipes.published_leads().values()) > 0.05
    assert recipes.other_specimen("pocket-minilm") == "pocket-bert" != recipes.other_specimen("pocket-bert")
