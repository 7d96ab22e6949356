"""Blocks that are replaced or dropped, words that are eliminated: what draws do, what is left and stays away."""

import copy

import pytest
import torch
from torch import nn
from transformers import DistilBertConfig, DistilBertModel

from bertology_utils.compression.methods import replaced
from bertology_utils.compression.methods.lesson import asked, count, hard_loss
from bertology_utils.compression.methods.registry import method
from bertology_utils.compression.methods.replaced import (
    Eliminating,
    Replaceable,
    Retention,
    Skippable,
    Softened,
    alike,
    came_back,
    most_significant,
    neighbours,
    put_blocks,
    read_share,
    replaceable,
    significance,
)
from bertology_utils.compression.methods.traces import passed
from bertology_utils.errors import BertologyError, NotAskable

DRAWS = 900
FOUR_DEVIATIONS = 4 * 0.5 / DRAWS**0.5


class Add(nn.Module):
    """A block that adds one number and counts its passes."""

    def __init__(self, number: float) -> None:
        super().__init__()
        self.number = nn.Parameter(torch.tensor(number))

    def forward(self, hidden):
        return hidden + self.number


@pytest.fixture
def batch(word_lesson):
    """Sentences of several lengths, so that some are padded."""
    made = word_lesson.train_set.batch([0, 1, 2, 3, 4, 5])
    assert not made["attention_mask"].all()
    return made


@pytest.fixture
def body(word_lesson):
    return copy.deepcopy(word_lesson.teacher.encoder)


def inputs(batch):
    return {name: values for name, values in batch.items() if name not in replaced.ASKED}


# ---------------------------------------------------------------- blocks


def test_a_module_is_replaced_as_often_as_is_stated_and_whole_batches_at_once():
    torch.manual_seed(0)
    rates = {}
    for p in (0.0, 0.3, 1.0):
        module = Replaceable([Add(1.0), Add(2.0)], Add(10.0), p).train()
        states = torch.stack([module(torch.zeros(5)) for _ in range(DRAWS)])
        assert bool((states == states[:, :1]).all()) and set(states[:, 0].tolist()) <= {3.0, 10.0}
        taken = (states[:, 0] == 10).tolist()
        assert module.draws == [(p, one) for one in taken]
        rates[p] = sum(taken) / DRAWS
    assert rates[0.0] == 0 and rates[1.0] == 1 and abs(rates[0.3] - 0.3) < FOUR_DEVIATIONS


def test_only_successors_learn_and_only_they_run_in_the_end():
    module = Replaceable([Add(1.0), Add(2.0)], Add(10.0), 1.0).train()
    module(torch.zeros(2)).sum().backward()
    assert module.successor.number.grad == 2 and not any(p.requires_grad for p in module.predecessors.parameters())
    module.probability = 0.0
    assert module.eval()(torch.zeros(1)) == 10


def test_gradients_reach_a_successor_through_predecessors_above_it():
    below, above = Replaceable([Add(1.0)], Add(2.0), 1.0).train(), Replaceable([Add(3.0)], Add(4.0), 0.0).train()
    above(below(torch.zeros(1))).sum().backward()
    assert below.successor.number.grad == 1 and above.successor.number.grad is None


def test_a_predecessor_that_is_left_is_noticed(word_lesson, batch):
    network = word_lesson.copy_of_teacher()
    modules = replaceable(network.encoder)
    assert len(modules) == 1 and len(modules[0].predecessors) == 2
    assert alike(network, word_lesson.teacher) == 3  # both predecessors, and the successor that has not learnt
    successor = modules[0].successor
    put_blocks(network.encoder, [successor])
    assert alike(network, word_lesson.teacher) == 1
    with torch.no_grad():
        successor.attention.self.query.weight += 1e-3
    assert alike(network, word_lesson.teacher) == 0 and len(passed(network.eval(), batch)) == 1


def test_theseus_states_what_it_drew_and_has_half_of_the_blocks(pair_lesson, monkeypatch):
    monkeypatch.setattr(replaced, "FIRST", 0.0)  # at first nothing is replaced, so that nothing could learn
    small = method("BERT-of-Theseus").special(pair_lesson)
    blocks = count(pair_lesson.teacher) - count(pair_lesson.teacher.encoder.encoder.layer) / 2
    assert small.parameters == blocks and small.facts["predecessors"] == 0
    assert 0 <= small.facts["stated"] < 1 and small.facts["replaced"] in {0.0, 0.25, 0.5, 0.75, 1.0, 1 / 3, 2 / 3}
    assert all(p.requires_grad for p in small.network.parameters())


def test_the_control_of_replacing_begins_with_the_tuned_blocks_and_trains_for_as_long(pair_lesson, monkeypatch):
    trained = []
    monkeypatch.setattr(type(pair_lesson), "train", lambda lesson, network, *rest, **settings: trained.append(network))
    theseus = method("BERT-of-Theseus")
    with pytest.raises(TypeError):  # no draws without training
        theseus.special(pair_lesson)
    times = len(trained)
    small = method("first half of the tuned blocks, tuned twice").special(pair_lesson)
    assert len(trained) == 2 * times and alike(small.network, pair_lesson.teacher) == 1
    assert torch.equal(small.network.head.weight, pair_lesson.teacher.head.weight)


def test_a_layer_is_skipped_as_often_as_is_stated():
    torch.manual_seed(0)
    for p in (0.0, 0.2, 1.0):
        module = Skippable(Add(1.0), p).train()
        skipped = sum(module(torch.zeros(1)).item() == 0 for _ in range(DRAWS)) / DRAWS
        assert abs(skipped - p) < (FOUR_DEVIATIONS if p == 0.2 else 1e-9) and len(module.draws) == DRAWS
        assert module.eval()(torch.zeros(1)) == 1 and len(module.draws) == DRAWS


def test_layers_that_stood_next_to_each_other_are_noticed(word_lesson, batch):
    assert neighbours([0, 2, 4]) == 0 and neighbours([0, 1, 4, 5]) == 2
    small = method("LayerDrop").special(word_lesson)
    assert small.facts["blocks"] == len(passed(small.network, batch)) == 1


@pytest.mark.parametrize("make", [lambda p: Skippable(Add(1.0), p), lambda p: Replaceable([Add(1.0)], Add(1.0), p)])
def test_a_probability_is_one(make):
    with pytest.raises(BertologyError, match="between 0 and 1"):
        make(1.2)


# ---------------------------------------------------------------- words


def test_significance_is_the_plain_sum_of_what_others_take():
    maps, alive = torch.rand(1, 2, 4, 4).softmax(-1), torch.tensor([[1.0, 1.0, 0.5, 0.0]])
    found = significance(maps, alive)
    for piece in (1, 2):
        plain = sum(float(maps[0, h, row, piece] * alive[0, row]) for h in range(2) for row in range(4))
        assert float(found[0, piece]) == pytest.approx(plain, abs=1e-6)
    assert found[0, 0] == float("inf") and found[0, 3] == -1


def test_the_most_significant_are_taken_by_each_examples_own_count():
    scores = torch.tensor([[9.0, 1.0, 3.0, 2.0], [9.0, 5.0, -1.0, -1.0]])
    real = torch.tensor([[True] * 4, [True, True, False, False]])
    places, kept = most_significant(scores, real, torch.tensor([3.0, 7.0]))
    assert places.tolist()[0] == [0, 2, 3] and kept.tolist() == [[True] * 3, [True, True, False]]
    places, kept = most_significant(scores, real, torch.zeros(2))
    assert places.tolist() == [[0], [0]] and kept.all()


def test_nothing_is_changed_where_all_is_retained(body, batch):
    real = batch["attention_mask"].bool()
    with torch.no_grad():
        plain = body(**inputs(batch)).last_hidden_state[real]
        kept = Eliminating(copy.deepcopy(body), [1.0, 1.0])
        soft = Softened(copy.deepcopy(body), Retention(2).of)
        for reader in (kept, soft):
            assert torch.allclose(reader(**inputs(batch)).last_hidden_state[real], plain, atol=1e-5)
    assert read_share(kept, batch) == 1


def test_what_is_learnt_softly_is_at_its_end_what_is_eliminated(body, batch):
    shares = [0.6, 0.3]

    def hard(layer, scores, lengths):
        ranks = scores.argsort(dim=1, descending=True).argsort(dim=1)
        return (ranks < (shares[layer] * lengths).ceil()[:, None]).float()

    soft = Softened(copy.deepcopy(body), hard)
    real = batch["attention_mask"].bool()
    with torch.no_grad():
        own = Eliminating(body, shares)(**inputs(batch)).last_hidden_state[real]
        assert torch.allclose(soft(**inputs(batch)).last_hidden_state[real], own, atol=1e-4)


def test_inputs_really_become_shorter(body, batch):
    reader, lengths = Eliminating(body, [0.5, 0.25]), []
    for block in reader.blocks:
        block.intermediate.register_forward_hook(lambda _, given, __: lengths.append(given[0].shape[1]))
    with torch.no_grad():
        states = reader(**inputs(batch)).last_hidden_state
    longest = batch["input_ids"].shape[1]
    assert lengths == [-(-longest // 2), -(-longest // 4)] and states.shape[:2] == batch["input_ids"].shape
    assert read_share(reader, batch) == pytest.approx(0.375, abs=0.06)


def test_what_is_eliminated_stays_so_and_a_return_is_noticed(body, batch, monkeypatch):
    reader = Eliminating(body, [0.6, 0.3])
    assert came_back(reader, batch) == 0
    monkeypatch.setattr(replaced, "written", lambda s, at, h, _: s.scatter(1, at[..., None].expand_as(h), h))
    assert came_back(reader, batch) > 0  # what fills up the shorter examples goes on learning of the others
    monkeypatch.undo()
    real = batch["attention_mask"].bool()
    plain = list(reader.layers(**inputs(batch)))
    monkeypatch.setattr(reader, "layers", lambda **_: iter([plain[0], (plain[1][0], real)]))
    assert came_back(reader, batch) >= int((real & ~plain[0][1]).sum())


def test_the_first_piece_is_never_eliminated(body, batch):
    *_, (_, left) = Eliminating(body, [0.0, 0.0]).layers(**inputs(batch))
    assert left.sum(1).tolist() == [1] * len(left) and bool(left[:, 0].all())


def test_retention_goes_by_rank_and_falls_from_layer_to_layer():
    retention = Retention(2)
    retention.shares.data[1] = torch.linspace(1, 0, replaced.RANKS)
    scores = torch.tensor([[float("inf"), 1.0, 3.0, 2.0]])
    kept = retention.of(1, scores, torch.tensor([4]))
    own = retention.shares.data[1]
    assert kept[0].tolist() == [1, *own[[12, 4, 8]].tolist()]
    retention.shares.data[0] *= 1.5
    retention.clip()
    assert retention.found() == pytest.approx([1, 0.5]) and retention.mass().item() == pytest.approx(0.5 + 0.5)
    retention.shares.data[0] = 0.25
    assert retention.found() == [0.25, 0.25]


def test_gradients_reach_all_retentions(word_lesson, batch):
    network, retention = word_lesson.copy_of_teacher(), Retention(2)
    network.encoder = Softened(network.encoder, retention.of)
    hard_loss(network, batch).backward()
    grads = retention.shares.grad
    assert bool((grads.abs().sum(1) > 0).all()) and torch.isfinite(grads).all()


def test_words_that_are_eliminated_are_answered_all_the_same(word_lesson):
    small = method("PoWER-BERT").special(word_lesson)
    batch = word_lesson.train_set.batch([0, 1])
    assert small.network(**asked(batch)).shape == (len(batch["labels"]), 5)
    assert small.parameters == count(word_lesson.teacher)


def test_what_a_body_cannot_give_is_told(body):
    for shares in ([1.0], [0.3, 0.6], [1.1, 1.0]):
        with pytest.raises(BertologyError, match="Shares fall"):
            Eliminating(body, shares)
    config = DistilBertConfig(vocab_size=20, dim=8, n_heads=2, n_layers=2, hidden_dim=8)
    with pytest.raises(NotAskable, match="DistilBertModel"):
        Eliminating(DistilBertModel(config), [1.0, 1.0])
