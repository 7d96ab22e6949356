"""Students that imitate the inside of their teacher: losses as defined, layer maps, augmentation, ablation."""

import dataclasses
from random import Random

import pytest
import torch
from torch import nn

from bertology_utils.compression.distill import student_of
from bertology_utils.compression.methods.augmented import (
    KEPT,
    augmented,
    changed_shares,
    likely_words,
    replaced,
    whole_words,
)
from bertology_utils.compression.methods.problems import problem
from bertology_utils.compression.methods.relations import (
    TERMS,
    Imitator,
    Stack,
    apart,
    followed,
    imitating,
    imitator,
    internal_loss,
    last_relations,
    tiny_body,
    tinybert,
)
from bertology_utils.compression.methods.students import Size, newborn
from bertology_utils.compression.methods.traces import relation, traced
from bertology_utils.errors import BertologyError
from bertology_utils.text import encode_words

WHOLE = [(1, 1), (2, 2)]


def same(terms=TERMS) -> Imitator:
    return Imitator(WHOLE, terms, nn.Identity(), nn.Identity())


@pytest.fixture
def traces(tiny, pair_lesson):
    """Of an untrained student of one layer and of the teacher, on one batch."""
    batch = next(pair_lesson.feed())
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(3)
        student = newborn(tiny, Size(1, 4, 3, 24)).encoder
        return traced(student, batch), traced(pair_lesson.teacher.encoder, batch)


def test_layers_are_mapped_evenly_and_the_last_to_the_last():
    assert [teacher for _, teacher in followed(4, 12)] == [3, 6, 9, 12]
    assert followed(3, 8) == [(1, 3), (2, 5), (3, 8)] and followed(1, 2) == [(1, 2)]


def test_every_loss_is_zero_at_the_teachers_own_weights_and_not_elsewhere(tiny, pair_lesson, traces):
    losses = (last_relations, lambda a, b: internal_loss(a, b, WHOLE), same())
    assert all(abs(apart(loss, pair_lesson.teacher.encoder, pair_lesson)) < 1e-6 for loss in losses)
    stranger = newborn(tiny, Size.of(tiny)).encoder
    assert all(apart(loss, stranger, pair_lesson) > 1e-4 for loss in losses)
    own, target = traces
    assert last_relations(own, target) > 1e-4
    shuffled = dataclasses.replace(target, hidden=target.hidden[::-1], queries=target.queries[::-1])
    assert all(loss(shuffled, target) > 1e-4 for loss in losses)


def test_relations_of_values_are_part_of_the_loss(traces):
    """A planted student whose attention is the teacher's, and whose values are not."""
    _, target = traces
    planted = dataclasses.replace(target, values=[value.roll(1, 2) for value in target.values])
    assert last_relations(planted, target) > 1e-6
    scaled = dataclasses.replace(target, values=[-value for value in target.values])
    assert last_relations(scaled, target).abs() < 1e-6  # a relation knows no sign


def test_internal_loss_is_its_definition(traces):
    own, target = traces
    narrow = own.hidden[0].shape[-1]  # first pieces need one width: the teacher's first dimensions
    target = dataclasses.replace(target, hidden=tuple(states[..., :narrow] for states in target.hidden))
    hidden = ~own.real[:, None, None]
    scores = (relation(trace.queries[layer], trace.keys[layer]) for trace, layer in ((own, 0), (target, 1)))
    mine, theirs = (values.masked_fill(hidden, -1e4).softmax(-1) for values in scores)
    divergence = (theirs * (theirs / mine).log()).nansum(-1)  # (batch, heads, pieces)
    a, b = own.hidden[1][:, 0], target.hidden[2][:, 0]
    cosine = (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))
    plain = divergence.transpose(1, 2)[own.real].mean() + (1 - cosine).mean()
    assert internal_loss(own, target, [(1, 2)]).item() == pytest.approx(plain.item(), abs=1e-5)


def test_a_stack_grows_from_below_and_lets_none_go():
    stack = Stack([(1, 2), (2, 4), (3, 6), (4, 8)])
    taught = []
    for done in (0, 0.2, 0.25, 0.5, 0.99, 1.0):
        stack.grow(done)
        taught.append(len(stack.taught))
    assert taught == [1, 1, 2, 3, 4, 4] and stack.taught[0] == (1, 2)


def test_a_lower_layers_loss_reaches_no_higher_block(pair_lesson):
    network, batch = pair_lesson.network().eval(), next(pair_lesson.feed())
    stack = Stack(WHOLE)
    imitating(stack.loss, pair_lesson.teacher.encoder)(network, batch).backward()
    lower, upper = network.encoder.encoder.layer
    assert lower.attention.self.query.weight.grad.abs().sum() > 0
    assert upper.attention.self.query.weight.grad is None
    assert network.head.weight.grad is None


def test_terms_are_mean_squared_errors_of_what_is_real(traces):
    own, target = traces
    made = Imitator([(1, 2)], TERMS, nn.Linear(12, 32), nn.Linear(12, 32))
    parts = made.parts(own, target)
    real = own.real
    plain = nn.functional.mse_loss(made.embeddings(own.hidden[0])[real], target.hidden[0][real])
    assert parts["embeddings"].item() == pytest.approx(plain.item(), rel=1e-4)
    plain = nn.functional.mse_loss(made.hidden(own.hidden[1])[real], target.hidden[2][real])
    assert parts["hidden"].item() == pytest.approx(plain.item(), rel=1e-4)
    chosen = own.pairs.expand_as(own.scores(0))
    plain = nn.functional.mse_loss(own.scores(0)[chosen], target.scores(1)[chosen])
    assert parts["attention"].item() == pytest.approx(plain.item(), rel=1e-4)
    assert made(own, target).item() == pytest.approx(sum(parts.values()).item(), rel=1e-5)


@pytest.mark.parametrize("term", TERMS[:3])
def test_a_term_that_is_switched_off_does_not_count(term, traces):
    own, target = traces
    maps = (nn.Linear(12, 32), nn.Linear(12, 32))
    whole, without = (Imitator([(1, 2)], terms, *maps) for terms in (TERMS, [t for t in TERMS if t != term]))
    left = whole(own, target) - without(own, target)
    assert left.item() == pytest.approx(whole.parts(own, target)[term].item(), rel=1e-3) and left > 0


def test_maps_begin_as_the_best_ones_and_are_learnt(tiny, pair_lesson):
    batch, teacher = next(pair_lesson.feed()), pair_lesson.teacher.encoder
    student = newborn(tiny, Size(1, 4, 3, 24))
    made = imitator(student.encoder, teacher, batch)
    with torch.no_grad():
        own, target = traced(student.encoder, batch), traced(teacher, batch)
        best = made.parts(own, target)
        drawn = Imitator(made.layers, TERMS, nn.Linear(12, 32), nn.Linear(12, 32)).parts(own, target)
    assert best["embeddings"] < drawn["embeddings"] and best["hidden"] < drawn["hidden"]
    imitating(made, teacher)(student.model, batch).backward()
    assert all(layer.weight.grad.abs().sum() > 0 for layer in made.maps)
    assert student.encoder.get_input_embeddings().weight.grad.abs().sum() > 0
    assert all(parameter.grad is None for parameter in teacher.parameters())


def test_a_map_finds_a_planted_one(tiny, pair_lesson):
    """A student whose states are the teacher's: the best map is the identity, and nothing is left to learn."""
    encoder, batch = pair_lesson.teacher.encoder, next(pair_lesson.feed())
    made = imitator(encoder, encoder, batch)
    with torch.no_grad():
        trace = traced(encoder, batch)
        assert made(trace, trace) < 1e-3 < Imitator(WHOLE, TERMS, nn.Linear(32, 32), nn.Linear(32, 32))(trace, trace)


@pytest.mark.parametrize("left_out", TERMS)
def test_tinybert_runs_without_each_of_its_terms(left_out, small_course, pair_lesson):
    terms = [term for term in TERMS if term != left_out]
    body = tiny_body(small_course, terms)
    small = tinybert(dataclasses.replace(pair_lesson, body=body), terms)
    assert small.network.encoder.config.hidden_size == 12 and small.facts["at_teacher"] < 1e-6


def test_answers_alone_are_an_ablation_too_and_other_terms_are_told(small_course, pair_lesson):
    body = tiny_body(small_course, ["answers"])
    lesson = dataclasses.replace(pair_lesson, body=body)
    assert tinybert(lesson, ["answers"]).parameters > 0
    for terms in ([], ["values"]):
        with pytest.raises(BertologyError, match="embeddings"):
            tinybert(lesson, terms)


# ---------------------------------------------------------------- augmentation


@pytest.mark.parametrize("name", ["entailment", "tense", "tagging"])
def test_new_sentences_differ_in_at_most_the_share(name, tiny):
    given = problem(name, 20, 2).train
    more = augmented(tiny, given, 0.4, 5)
    assert len(more.sentences) == 40 and list(more.labels[20:]) == list(more.labels[:20])
    assert list(more.sentences[:20]) == list(given.sentences)
    for old, new in ((given.sentences, more.sentences), (given.pairs, more.pairs)):
        shares = changed_shares(old or [], (new or [])[20:])
        assert all(share <= 0.4 for share in shares) and (any(shares) or old is None)


def test_no_share_changes_nothing_and_all_changes_more(tiny):
    sentences = problem("tense", 10, 2).train.sentences
    assert replaced(tiny, sentences, 0, 5, Random(0)) == [tuple(s) for s in sentences]
    few, many = (sum(changed_shares(sentences, replaced(tiny, sentences, s, 5, Random(0)))) for s in (0.3, 1))
    assert few < many


def test_function_words_and_marks_stay(tiny):
    sentences = problem("tense", 10, 2).train.sentences
    for old, new in zip(sentences, replaced(tiny, sentences, 1, 5, Random(0)), strict=True):
        assert all(b == a for a, b in zip(old, new, strict=True) if a.lower() in KEPT or not a.isalpha())


def test_candidates_are_the_models_likeliest_whole_words(tiny):
    sentence = problem("tense", 1, 2).train.sentences[0]
    encodings = encode_words(tiny, [sentence])
    words = likely_words(tiny, encodings, [(0, 1)], 3)[0]
    ids = torch.tensor([encodings[0].input_ids])
    place = encodings[0].word_ids.index(1)
    ids[0, place] = tiny.tokenizer.mask_token_id
    with torch.no_grad():
        logits = tiny.model(input_ids=ids).prediction_logits[0, place]
    allowed = whole_words(tiny)
    ranked = [allowed[piece] for piece in logits.argsort(descending=True).tolist() if piece in allowed]
    assert words == ranked[:3]


@pytest.mark.parametrize(("share", "candidates"), [(1.2, 5), (-0.1, 5), (0.4, 0)])
def test_a_share_or_a_number_that_makes_no_sense_is_told(share, candidates, tiny):
    with pytest.raises(BertologyError, match="share"):
        augmented(tiny, problem("tense", 4, 2).train, share, candidates)


def test_the_students_named_blocks_are_those_that_it_follows(tiny):
    kept = [teacher - 1 for _, teacher in followed(1, tiny.layers)]
    own = student_of(tiny, kept=kept).encoder.encoder.layer[0].state_dict()
    named = tiny.encoder.encoder.layer[-1].state_dict()
    assert all(torch.equal(own[name], value) for name, value in named.items())
