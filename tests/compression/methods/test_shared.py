"""One block for all layers and a token table in two factors: what is stored once, what is rebuilt, what learns."""

import copy

import pytest
import torch
from torch import nn

from bertology_utils.compression.methods.lesson import Course, Encoded, count
from bertology_utils.compression.methods.registry import method
from bertology_utils.compression.methods.shared import FactorisedTable, growing, narrow, one_block, table_rank
from bertology_utils.compression.methods.traces import passed
from bertology_utils.errors import BertologyError


@pytest.fixture
def batch(pair_lesson):
    return pair_lesson.train_set.batch([0, 1])


@pytest.fixture
def apart(tiny):
    """Two layers of the same weights, once shared and once each with its own."""
    shared = one_block(tiny, tiny.width).encoder
    own = copy.deepcopy(shared)
    groups = own.encoder.albert_layer_groups
    groups.append(copy.deepcopy(groups[0]))
    own.config.num_hidden_groups = 2
    return shared, own


def test_every_layer_runs_the_one_block(tiny, batch, apart):
    shared, own = (passed(body, {k: v for k, v in batch.items() if k != "labels"}) for body in apart)
    assert len(shared) == len(own) == tiny.layers == 2
    assert (len(set(shared)), len(set(own))) == (1, 2)


def test_the_block_learns_from_all_layers(apart, batch):
    inputs = {name: values for name, values in batch.items() if name != "labels"}
    for body in apart:
        body(**inputs).last_hidden_state.square().mean().backward()
    of_one, *of_two = (g.albert_layers[0].ffn.weight.grad for b in apart for g in b.encoder.albert_layer_groups)
    assert torch.allclose(of_one, sum(of_two), atol=1e-6) and all(grad.abs().sum() > 0 for grad in of_two)


def test_layers_cost_time_and_no_parameters(tiny):
    deeper = one_block(tiny, tiny.width)
    wider = one_block(tiny, 2 * tiny.width)
    block = count(deeper.encoder.encoder.albert_layer_groups)
    assert block == count(tiny.encoder.encoder.layer) / 2  # one of two
    assert 3.8 * block < count(wider.encoder.encoder.albert_layer_groups) < 4 * block
    tables = [body.encoder.get_input_embeddings().weight.shape for body in (deeper, wider)]
    assert tables[0] == tables[1] == (tiny.vocabulary_size, narrow(tiny.width))


def test_a_body_gets_deeper_in_stages_and_ends_with_all_passes(small_course, monkeypatch):
    assert [list(growing(layers)) for layers in (1, 2, 8, 12)] == [[1], [1, 2], [2, 4, 8], [3, 6, 12]]
    ran = []

    def read(course, body, *, rate, steps):
        ran.append((len(passed(body.encoder, next(course.masked()))), steps))

    monkeypatch.setattr(Course, "read", read)
    body = method("ALBERT-base").general(small_course)
    assert ran == [(1, 1), (2, 1)] and body.model.config.num_hidden_layers == small_course.origin.layers


def test_a_wider_body_gives_states_of_its_width(tiny, word_lesson):
    body = one_block(tiny, 48)
    inputs = Encoded.of(body, word_lesson.problem.test).inputs
    with torch.no_grad():
        states = body.encoder(**inputs).last_hidden_state
    assert states.shape == (*inputs["input_ids"].shape, 48) and body.heads == 6
    assert body.sha256 != one_block(tiny, 32).sha256


@pytest.mark.parametrize("width", [0, 30])
def test_a_width_that_heads_do_not_divide_is_told(tiny, width):
    with pytest.raises(BertologyError, match="heads of 8"):
        one_block(tiny, width)


def test_factors_are_the_nearest_of_their_rank():
    table = nn.Embedding(40, 12, padding_idx=0)
    whole, cut = (FactorisedTable(table, rank)(torch.arange(40)) for rank in (12, 5))
    lost = torch.linalg.svdvals(table.weight)[5:].square().sum().sqrt()
    assert torch.allclose(whole, table.weight, atol=1e-5)
    assert torch.allclose((cut - table.weight).norm(), lost, atol=1e-4)


def test_both_factors_learn_and_are_all_that_is_stored():
    table = FactorisedTable(nn.Embedding(40, 12), 5)
    table(torch.tensor([[3, 7]])).sum().backward()
    assert [tuple(p.shape) for p in table.parameters()] == [(40, 5), (12, 5)]
    assert table[0].weight.grad[3].abs().sum() > 0 and table[1].weight.grad.abs().sum() > 0
    assert table[0].weight.grad[4].abs().sum() == 0


def test_a_table_that_was_not_cut_is_noticed(tiny):
    encoder = copy.deepcopy(tiny.encoder)
    assert table_rank(encoder) == tiny.width
    encoder.set_input_embeddings(FactorisedTable(encoder.get_input_embeddings(), 4))
    assert table_rank(encoder) == 4


@pytest.mark.parametrize("rank", [0, 13])
def test_a_rank_that_a_table_cannot_have_is_told(rank):
    with pytest.raises(BertologyError, match="40 x 12"):
        FactorisedTable(nn.Embedding(40, 12), rank)
