"""What every method is given: examples in batches, answers in the order of the questions, one descent for all."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from bertology_utils.compression.methods.lesson import (
    Encoded,
    asked,
    count,
    dense,
    enact,
    hard_loss,
    right_answers,
    sparse,
)
from bertology_utils.compression.methods.problems import TAGS, problem
from bertology_utils.compression.methods.registry import METHODS, method
from bertology_utils.compression.methods.traces import relation_divergence, soft_loss, traced
from bertology_utils.errors import BertologyError
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.studies.compression.knowledge import KNOWLEDGE, Probed, knowledge

FEW = Probed(examples=12, test=6, trees=12, test_trees=4)


def test_tasks_are_balanced_and_share_no_content_word():
    pairs = problem("entailment", 40, 20)
    assert pairs.paired and sum(pairs.train.labels) == 20
    tagged = problem("tagging", 30, 30)
    words = [
        {
            w
            for s, own in zip(q.sentences, q.labels, strict=True)
            for w, tag in zip(s, own, strict=True)
            if tag != IGNORED
        }
        for q in (tagged.train, tagged.test)
    ]
    assert tagged.classes == len(TAGS) and words[0].isdisjoint(words[1])


def test_an_unknown_task_is_told():
    with pytest.raises(BertologyError, match="tense"):
        problem("tenses", 10, 10)


def test_batches_hold_each_example_once_and_each_asked_word(tiny):
    questions = problem("tagging", 20, 5).train
    encoded = Encoded.of(tiny, questions)
    answers = [batch["labels"] for batch in encoded.batches(100, np.random.default_rng(0))]
    asked_words = sum(label != IGNORED for own in questions.labels for label in own)
    assert sum(map(len, answers)) == asked_words
    assert all(int(b["places"].sum()) == len(b["labels"]) for b in encoded.batches(100))


def test_answers_are_in_the_order_of_the_questions(word_lesson):
    encoded = Encoded.of(word_lesson.origin, word_lesson.problem.test)
    one_by_one = [encoded.batch([row]) for row in range(len(encoded))]
    with torch.no_grad():
        plain = [word_lesson.teacher(**asked(b)).argmax(-1) == b["labels"] for b in one_by_one]
    assert right_answers(word_lesson.teacher, encoded, 64).tolist() == torch.cat(plain).tolist()


def test_training_changes_the_network_and_never_the_teacher(pair_lesson):
    before = copy.deepcopy(pair_lesson.teacher.state_dict())
    network, done = pair_lesson.copy_of_teacher(), []
    losses = pair_lesson.train(network, each=done.append)
    assert len(losses) == pair_lesson.steps == len(done) - 1 and (done[0], done[-1]) == (0, 1)
    assert not torch.equal(network.head.weight, before["head.weight"])
    assert all(torch.equal(value, before[name]) for name, value in pair_lesson.teacher.state_dict().items())


def test_what_learns_beside_a_network_may_have_a_rate_of_its_own(pair_lesson):
    moved = {}
    for rate in (None, 0.1):
        beside = nn.Linear(1, 1, bias=False)
        before = beside.weight.item()
        loss = lambda network, batch, beside=beside: hard_loss(network, batch) + beside.weight.sum()  # noqa: E731
        pair_lesson.train(pair_lesson.copy_of_teacher(), loss, also=[beside], also_rate=rate, steps=2)
        moved[rate] = before - beside.weight.item()
    assert 0 < moved[None] < 0.01 < moved[0.1]


def test_sizes_count_what_is_stored(pair_lesson):
    network = pair_lesson.copy_of_teacher()
    name, weight = next((n, p) for n, p in network.named_parameters() if p.dim() == 2 and "layer" in n)
    mask = torch.zeros(weight.shape, dtype=torch.bool)
    whole, cut = dense(network), sparse(network, {name: mask})
    assert whole.bytes == 4 * count(network) and cut.parameters == count(network) - weight.numel()
    assert cut.bytes == 4 * cut.parameters + -(-weight.numel() // 8) and cut.memory == whole.memory


def test_a_trace_has_the_models_own_attention(tiny):
    batch = next(Encoded.of(tiny, problem("tense", 6, 2).train).batches(512))
    with torch.no_grad():
        trace = traced(tiny.encoder, batch)
        tiny_eager = copy.deepcopy(tiny.encoder)
        tiny_eager.set_attn_implementation("eager")
        maps = tiny_eager(**asked(batch), output_attentions=True).attentions
    hidden = ~batch["attention_mask"].bool()[:, None, None, :]
    for layer, plain in enumerate(maps):
        own = trace.scores(layer).masked_fill(hidden, -1e4).softmax(-1)
        assert torch.allclose(own, plain, atol=1e-5)


def test_relations_and_answers_equal_to_the_teachers_cost_nothing():
    scores, real = torch.randn(2, 3, 5, 5), torch.ones(2, 5, dtype=torch.bool)
    real[1, 3:] = False
    assert relation_divergence(scores, scores, real).abs() < 1e-6
    assert relation_divergence(scores.roll(1, -1), scores, real) > 0.1
    assert soft_loss(scores[:, 0, 0], scores[:, 0, 0], 2.0).abs() < 1e-6


def test_what_stands_at_padding_does_not_matter():
    a, b, real = torch.randn(1, 2, 4, 4), torch.randn(1, 2, 4, 4), torch.tensor([[True, True, True, False]])
    changed = a.clone()
    changed[..., 3] += 7
    changed[..., 3, :] += 5
    assert torch.allclose(relation_divergence(a, b, real), relation_divergence(changed, b, real), atol=1e-6)


@pytest.mark.parametrize("row", [one.row for one in METHODS])
def test_every_row_runs_and_holds_to_what_defines_it(row, small_course, pair_lesson, word_lesson):
    one = method(row)
    if one.model:
        pytest.skip("its teacher is another model; see its own tests")
    lessons = (pair_lesson, word_lesson)
    made = enact(one, small_course, [own.problem for own in lessons], [own.teacher for own in lessons])
    for small, own in zip(made, lessons, strict=True):
        encoded = Encoded.of(small.body or own.origin, own.problem.test)
        assert torch.isfinite(hard_loss(small.network, encoded.batch([0, 1])))
        size = max(count(small.network), count(own.teacher))  # integers of torch are no parameters
        assert 0 < small.parameters <= size and min(small.bytes, small.memory) > 0
        if one.defines:
            fact, value = one.defines
            assert small.facts[fact] == pytest.approx(value, abs=1e-6)
    known = knowledge(made[0].network.encoder, made[0].body or pair_lesson.origin, FEW)
    assert set(known) == set(KNOWLEDGE) and all(0 <= share <= 1 for share in known.values())


def test_an_unknown_row_is_told():
    with pytest.raises(BertologyError, match="DistilBERT"):
        method("DistillBERT")
