"""A student without attention: one bidirectional LSTM that learns the teacher's logits on many perturbed examples.

Depends on `lesson`, `traces` and the generator's own tags, which stand for a tagger's (tang2019distilling).
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers.modeling_outputs import BaseModelOutputWithPooling

from bertology_utils.compression.methods.lesson import (
    Batch,
    Encoded,
    Lesson,
    Method,
    Network,
    Small,
    asked,
    count,
    dense,
)
from bertology_utils.compression.methods.problems import Questions
from bertology_utils.compression.methods.traces import told
from bertology_utils.errors import NotAskable
from bertology_utils.language.grammar import generate
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.text import Words
from bertology_utils.tuning.training import compared

MASKED, REPLACED, CUT, LONGEST_CUT = 0.1, 0.1, 0.25, 5
COPIES = 10  # of each example, beside itself; 20 in the study, 10 of pairs
TAGGED = 2000  # sentences whose words may replace others
UNITS, HIDDEN = 150 / 768, 200 / 768  # by the width of the teacher
STEPS = 2  # times the steps on text, as it begins from nothing: then another task than the table's is learnt
RATE = 3e-3  # of two, 1e-3 learnt the logits less well on another task (voice), and both answered all


# ---------------------------------------------------------------- perturbed examples


@cache
def _words_by_tag() -> tuple[dict[str, str], dict[str, list[str]]]:
    """Word -> part of speech, part of speech -> words as often as they occur; of the training words alone."""
    tags, words = {}, defaultdict(list)
    for sentence in generate(TAGGED, 0, "train"):
        for word, tag in zip(sentence.words, sentence.upos, strict=True):
            tags.setdefault(word, tag)
            words[tag].append(word)
    return tags, dict(words)


def perturbed(words: Words, mask: str, rng: np.random.Generator) -> list[tuple[int, str]]:
    """(place, word): some masked, some replaced by another of their part of speech, and at times a short cut of all.

    A word of unknown part of speech is never replaced.
    """
    tags, by_tag = _words_by_tag()
    made = []
    for place, word in enumerate(words):
        draw = rng.random()
        if draw < MASKED:
            word = mask
        elif draw < MASKED + REPLACED and word in tags:
            choices = by_tag[tags[word]]
            word = choices[rng.integers(len(choices))]
        made.append((place, word))
    if rng.random() < CUT:
        length = int(rng.integers(1, LONGEST_CUT + 1))
        start = int(rng.integers(max(1, len(made) - length + 1)))
        made = made[start : start + length]
    return made


def augmented(questions: Questions, mask: str, rng: np.random.Generator, copies: int = COPIES) -> Questions:
    """The questions and `copies` perturbed ones of each; labels go with their words, those of whole examples stay.

    Of a pair the first sentence is perturbed, or the second, or both, in turn. A copy without any asked word is left
    out.
    """
    sentences, labels = list(questions.sentences), list(questions.labels)
    pairs = list(questions.pairs or [])
    for row, (words, label) in enumerate(zip(questions.sentences, questions.labels, strict=True)):
        for copy in range(copies):
            first = perturbed(words, mask, rng) if not pairs or copy % 3 != 1 else list(enumerate(words))
            if questions.of_words:
                own: int | Sequence[int] = [label[place] for place, _ in first]
                if set(own) == {IGNORED}:
                    continue
            else:
                own = label
            sentences.append([word for _, word in first])
            labels.append(own)
            if pairs:
                other = questions.pairs[row]
                pairs.append([word for _, word in perturbed(other, mask, rng)] if copy % 3 != 0 else other)
    return Questions(sentences, labels, pairs or None)


# ---------------------------------------------------------------- the network


class Recurrent(nn.Module):
    """Word vectors that begin as the teacher's table of pieces, and one bidirectional LSTM over them."""

    def __init__(self, table: Tensor, units: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding.from_pretrained(table.detach().clone(), freeze=False)
        self.lstm = nn.LSTM(table.shape[1], units, bidirectional=True, batch_first=True)
        self.config = SimpleNamespace(hidden_size=2 * units)

    def read(self, input_ids: Tensor, lengths: Tensor) -> Tensor:
        """The vectors of pieces (batch, pieces), of which the first `lengths` are there: (batch, pieces, width)."""
        return self.vectors(input_ids)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **others: Tensor) -> BaseModelOutputWithPooling:
        """Reads the pieces that are not masked out, (batch, pieces), as if no others were there.

        States (batch, pieces, 2 units), those of what was read first; pooled is the last of each direction, (batch, 2
        units).
        """
        chosen = attention_mask.bool()
        order = (~chosen).int().argsort(dim=1, stable=True)
        lengths = chosen.sum(1)
        packed = pack_padded_sequence(
            self.read(input_ids.gather(1, order), lengths), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        states, (last, _) = self.lstm(packed)
        padded = pad_packed_sequence(states, batch_first=True, total_length=input_ids.shape[1])[0]
        return BaseModelOutputWithPooling(padded, torch.cat([last[0], last[1]], -1))


class BiLSTM(Network):
    """A recurrent body under one hidden layer: batch -> logits. The sentences of a pair are read apart, then compared.

    For a task of words, which the study has not, each word is answered from the states of its first piece.
    """

    def __init__(self, body: Recurrent, classes: int, hidden: int, pool: str, separator: int | None) -> None:
        super().__init__(body, classes, pool, separator)
        self.head = nn.Sequential(nn.Linear(self.head.in_features, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def features(
        self, input_ids: Tensor, attention_mask: Tensor, places: Tensor | None = None, **others: Tensor
    ) -> Tensor:
        real = attention_mask.bool()
        if places is not None:
            return self.encoder(input_ids, real).last_hidden_state[places]
        if self.pool == "mean":
            return self.encoder(input_ids, real).pooler_output
        ends = input_ids == self.separator
        second = ends.cumsum(1) > 0
        parts = (real & ~second, real & second & ~ends)
        return compared(*(self.encoder(input_ids, part).pooler_output for part in parts))


def bilstm(lesson: Lesson) -> BiLSTM:
    """A new network for the lesson's task, in the study's proportions to the width of the teacher."""
    origin, problem = lesson.origin, lesson.problem
    units, hidden = (max(1, round(share * origin.width)) for share in (UNITS, HIDDEN))
    body = Recurrent(origin.encoder.get_input_embeddings().weight, units)
    pool = "pair" if problem.paired else "mean"
    return BiLSTM(body, problem.classes, hidden, pool, origin.tokenizer.sep_token_id)


def logits_loss(network: nn.Module, teacher: nn.Module, batch: Batch) -> Tensor:
    """Mean squared difference of the two networks' logits, a scalar; the right answers are not looked at."""
    return nn.functional.mse_loss(network(**asked(batch)), told(teacher, batch))


def _bilstm_soft(lesson: Lesson) -> Small:
    """Squared error of the logits, on the examples and their perturbed copies.

    The study counts no word vectors in its factor; they are counted here, and left out in the fact `without_vectors`.
    """
    mask = lesson.origin.tokenizer.mask_token
    if mask is None:
        raise NotAskable(f"{lesson.origin.name} has no piece that masks a word.")
    examples = augmented(lesson.problem.train, mask, np.random.default_rng(lesson.seed))
    network = bilstm(lesson)
    lesson.train(
        network,
        lambda own, batch: logits_loss(own, lesson.teacher, batch),
        rate=RATE,
        steps=STEPS * lesson.budget.text_steps,
        encoded=Encoded.of(lesson.origin, examples),
    )
    vectors = count(network.encoder.vectors)
    return dense(network, body=lesson.origin, peeks=peeks(network.encoder), without_vectors=count(network) - vectors)


@torch.no_grad()
def peeks(body: Recurrent, pieces: int = 8) -> float:
    """How much a state changes with what its direction has not read yet, at most; attention would look ahead."""
    ids = torch.arange(pieces)[None]
    real = torch.ones_like(ids, dtype=torch.bool)
    states = body(ids, real).last_hidden_state
    changes = []
    for place, half, unread in ((-1, 0, slice(None, -1)), (0, 1, slice(1, None))):
        other = ids.clone()
        other[0, place] = pieces
        difference = (body(other, real).last_hidden_state - states).abs().chunk(2, -1)[half]
        changes.append(difference[:, unread].max().item())
    return max(changes)


METHODS = (Method("BiLSTM-soft", "distillation", _bilstm_soft, counted="encoder", defines=("peeks", 0.0)),)
