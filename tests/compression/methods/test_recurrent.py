"""The student without attention: what it reads when, what it learns from, and how its examples are perturbed."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn
from transformers.modeling_outputs import BaseModelOutputWithPooling

from bertology_utils.compression.methods.lesson import Encoded, asked
from bertology_utils.compression.methods.problems import Questions, problem
from bertology_utils.compression.methods.recurrent import (
    METHODS,
    Recurrent,
    augmented,
    bilstm,
    logits_loss,
    peeks,
    perturbed,
)
from bertology_utils.errors import NotAskable
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.tuning.training import compared

MASK = "[MASK]"


class Looking(Recurrent):
    """Adds the mean of all states to each: what attention may do."""

    def forward(self, input_ids, attention_mask):
        read = super().forward(input_ids, attention_mask)
        states = read.last_hidden_state
        return BaseModelOutputWithPooling(states + states.mean(1, keepdim=True), read.pooler_output)


@pytest.mark.parametrize(("kind", "looks"), [(Recurrent, False), (Looking, True)])
def test_a_state_that_sees_what_is_not_read_yet_is_noticed(kind, looks):
    assert (peeks(kind(torch.randn(20, 6), 4)) > 1e-4) == looks


def test_reading_some_pieces_is_reading_them_alone():
    body, ids = Recurrent(torch.randn(20, 6), 4), torch.tensor([[3, 4, 5, 6], [7, 8, 9, 10]])
    chosen = torch.tensor([[False, True, True, False], [True, False, False, False]])
    states, last = body(ids, chosen).to_tuple()
    for row, kept in enumerate(([4, 5], [7])):
        alone = torch.tensor([kept])
        own, own_last = body(alone, torch.ones_like(alone)).to_tuple()
        assert torch.allclose(states[row, : len(kept)], own[0], atol=1e-6) and torch.allclose(last[row], own_last[0])
        plain, _ = body.lstm(body.vectors(alone))
        assert torch.allclose(own_last[0], torch.cat([plain[0, -1, :4], plain[0, 0, 4:]]), atol=1e-6)


def test_the_sentences_of_a_pair_are_read_apart(pair_lesson):
    network, batch = bilstm(pair_lesson), pair_lesson.train_set.batch([0, 1, 2])
    features = network.features(**asked(batch))
    ids, separator = batch["input_ids"][0].tolist(), pair_lesson.origin.tokenizer.sep_token_id
    end = ids.index(separator)
    parts = [torch.tensor([part]) for part in (ids[:end], ids[end + 1 : ids.index(separator, end + 1)])]
    ends = [network.encoder(part, torch.ones_like(part)).pooler_output for part in parts]
    assert torch.allclose(features[:1], compared(*ends), atol=1e-6)


def test_words_are_answered_one_by_one(word_lesson):
    network, batch = bilstm(word_lesson), word_lesson.train_set.batch([0, 1])
    assert network(**asked(batch)).shape == (len(batch["labels"]), word_lesson.problem.classes)


def test_equal_logits_cost_nothing_and_others_their_squared_difference(pair_lesson):
    batch = pair_lesson.train_set.batch([0, 1, 2])
    teacher, other = pair_lesson.teacher, pair_lesson.copy_of_teacher()
    assert logits_loss(teacher, teacher, batch) == 0
    with torch.no_grad():
        other.head.bias += torch.tensor([3.0, 0.0])
    assert logits_loss(other, teacher, batch).item() == pytest.approx(4.5, rel=1e-5)


def test_the_loss_reaches_all_of_the_student_and_none_of_the_teacher(pair_lesson):
    network, batch = bilstm(pair_lesson), pair_lesson.train_set.batch([0, 1, 2])
    logits_loss(network, pair_lesson.teacher, batch).backward()
    assert all(parameter.grad is not None for parameter in network.parameters())
    assert all(parameter.grad is None for parameter in pair_lesson.teacher.parameters())
    assert (
        network.encoder.vectors.weight.data_ptr() != pair_lesson.origin.encoder.get_input_embeddings().weight.data_ptr()
    )


def test_words_are_masked_and_replaced_as_often_as_they_should():
    words = problem("tense", 40, 2).train.sentences
    rng, seen = np.random.default_rng(0), []
    for sentence in [*words] * 10:
        made = perturbed(sentence, MASK, rng)
        if len(made) == len(sentence):
            seen += [(word == MASK, word not in (MASK, sentence[place])) for place, word in made]
    masked, replaced = np.mean(seen, 0)
    assert masked == pytest.approx(0.1, abs=0.02) and 0.05 < replaced < 0.12  # some are replaced by themselves


def test_a_cut_is_a_run_of_at_most_five_words():
    rng, words = np.random.default_rng(1), tuple("abcdefghijkl")
    places = [[place for place, _ in perturbed(words, MASK, rng)] for _ in range(400)]
    cuts = [own for own in places if len(own) < len(words)]
    assert len(cuts) / 400 == pytest.approx(0.25, abs=0.07) and {len(own) for own in cuts} == {1, 2, 3, 4, 5}
    assert all(own == list(range(own[0], own[0] + len(own))) for own in cuts)


def test_labels_go_with_their_words():
    words = tuple(f"x{letter}" for letter in "abcdefgh")  # of no known part of speech
    questions = Questions([words], [[0, IGNORED, 1, IGNORED, IGNORED, IGNORED, IGNORED, 2]])
    label_of = dict(zip(words, questions.labels[0], strict=True))
    made = augmented(questions, MASK, np.random.default_rng(0), copies=60)
    assert made.sentences[0] == questions.sentences[0] and len(made.sentences) < 61
    for sentence, labels in zip(made.sentences, made.labels, strict=True):
        assert set(labels) != {IGNORED}
        assert all(word == MASK or label_of[word] == label for word, label in zip(sentence, labels, strict=True))


def test_each_sentence_of_a_pair_is_perturbed_in_its_turn():
    questions = Questions([tuple("abcdefghij" * 4)], [1], [tuple("klmnopqrst" * 4)])
    made = augmented(questions, MASK, np.random.default_rng(0), copies=3)
    first, second = ([list(one) != list(side[0]) for one in side[1:]] for side in (made.sentences, made.pairs))
    assert (first, second) == ([True, False, True], [False, True, True]) and made.labels == [1] * 4


def test_a_tokenizer_reads_the_mask_as_one_piece(tiny):
    encoded = Encoded.of(tiny, Questions([("the", MASK, "sleeps")], [0]))
    assert (encoded.inputs["input_ids"] == tiny.tokenizer.mask_token_id).sum() == 1


def test_a_teacher_without_a_mask_is_told(pair_lesson, tiny):
    class Maskless:
        mask_token = None

    lesson = dataclasses.replace(pair_lesson, origin=dataclasses.replace(tiny, tokenizer=Maskless()))
    with pytest.raises(NotAskable, match="masks"):
        METHODS[0].special(lesson)


def test_one_hidden_layer_stands_above_one_recurrent_layer(pair_lesson):
    network = bilstm(pair_lesson)
    assert [type(part) for part in network.head] == [nn.Linear, nn.ReLU, nn.Linear]
    assert network.encoder.lstm.num_layers == 1 and network.encoder.lstm.bidirectional
