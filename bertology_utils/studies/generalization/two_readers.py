"""Two systems read stories: an attention reader over static word vectors, after TriAN, and a small BERT.

Both have met the same text and learn from the same questions, all seeds at once. Depends on `stories`, `tuning` and
`instruments.static_vectors`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.instruments.static_vectors import skip_gram
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.generalization import stories
from bertology_utils.studies.generalization.stories import OTHER, PAIRED, PLACE, TYPES, WORDS, Questions
from bertology_utils.tuning.descent import descend
from bertology_utils.tuning.tiny_pretraining import train_each
from bertology_utils.tuning.together import Stack, clip_each, pack
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

RECIPE = BilingualRecipe(layers=2, width=48, heads=2, inner=96, steps=400, learning_rate=3e-3, budget=512)
APART = 5  # times BERT's spread of weights, meant for nets sixteen times as wide
READ, LESSONS, ASKED, KNOWN = 1500, 600, 100, 8  # deeds; lessons and test questions of a type; words of a kind taught
BATCH, WIDTH, UNITS = 32, 32, 24
STEPS, RATES = {"trian": 400, "bert": 700}, {"trian": 5e-3, "bert": 3e-3}


class AttentionReader:
    """TriAN's parts, in rogers2020getting; vectors (models, pieces, width) stay as they are.

    A story's words attend to the question's, recurrent nets read both, and the question, summed up, picks words of the
    story, which are compared with the options. Left out: parts of speech, entities, a knowledge base, and nets for
    options, which are single words here.
    """

    def __init__(self, vectors: Tensor, seeds: Sequence[int]) -> None:
        self.vectors, states = nn.functional.normalize(vectors, dim=-1) * WIDTH**0.5, 2 * UNITS
        shapes = {"align": (WIDTH, WIDTH), "ask": (states, 1), "find": (states, states), "wanted": (states, WIDTH)}
        for read, width in (("story", 2 * WIDTH + 1), ("question", WIDTH)):
            shapes |= {f"{read}_in": (2, width, 3 * UNITS), f"{read}_back": (2, UNITS, 3 * UNITS)}
        own = [torch.Generator().manual_seed(seed) for seed in seeds]
        drawn = {name: torch.stack([torch.randn(shape, generator=g) for g in own]) for name, shape in shapes.items()}
        self.weights = {name: (w / w.shape[-2] ** 0.5).requires_grad_(True) for name, w in drawn.items()}

    def __call__(self, read: Questions) -> Tensor:
        """What speaks for each option: (models, questions, options)."""
        models, w = torch.arange(len(self.vectors))[:, None, None], {k: own[:, None] for k, own in self.weights.items()}
        story, question, options = (self.vectors[models, own] for own in (read.story, read.question, read.options))
        seen, sought = ((own @ w["align"]).relu() for own in (story, question))
        aligned = (seen @ sought.transpose(-1, -2)).softmax(-1) @ question
        same = (read.story.unsqueeze(-1) == read.question.unsqueeze(-2)).any(-1, keepdim=True).float()
        states = self._recurrent(torch.cat((story, aligned, same), -1), "story")
        heard = self._recurrent(question, "question")
        summary = ((heard @ w["ask"]).softmax(-2) * heard).sum(-2)
        picked = (states @ w["find"] @ summary.unsqueeze(-1)).softmax(-2) * story
        return (options @ (picked.sum(-2) + summary @ self.weights["wanted"]).unsqueeze(-1)).squeeze(-1) / WIDTH**0.5

    def _recurrent(self, inputs: Tensor, name: str) -> Tensor:
        """States of a gated recurrent net in both directions: (models, texts, words, width) to (..., 2 * UNITS)."""
        driven = torch.stack((inputs, inputs.flip(-2)), 1) @ self.weights[f"{name}_in"].unsqueeze(2)
        state, states = torch.zeros_like(driven[..., 0, :UNITS]), []
        for drive in driven.unbind(-2):  # (models, directions, texts, 3 * UNITS)
            kept = state @ self.weights[f"{name}_back"]
            reset, update = (drive + kept)[..., : 2 * UNITS].sigmoid().chunk(2, -1)
            new = (drive[..., 2 * UNITS :] + reset * kept[..., 2 * UNITS :]).tanh()
            state = new + update * (state - new)
            states.append(state)
        forth, back = torch.stack(states, -2).unbind(1)
        return torch.cat((forth, back.flip(-2)), -1)


class PointingReader:
    """Small BERTs, stacked, that compare the question's gap with the places of the options in the story."""

    def __init__(self, specimens: Sequence[Specimen]) -> None:
        self.stack = Stack([own.model for own in specimens])
        head = torch.eye(RECIPE.width).repeat(len(specimens), 1, 1)
        self.weights = {**self.stack.weights, "head": head.requires_grad_(True)}
        self.vectors = self.weights["bert.embeddings.word_embeddings.weight"]

    def __call__(self, read: Questions) -> Tensor:
        """What speaks for each option: (models, questions, options)."""
        first, end = (torch.full_like(read.story[..., :1], PLACE[piece]) for piece in ("[CLS]", "[SEP]"))
        ids, before = torch.cat((first, read.question, end, read.story, end), -1), read.question.shape[-1] + 2
        types = (torch.arange(ids.shape[-1]) >= before).long().expand_as(ids)
        inputs = {"input_ids": ids, "token_type_ids": types, "attention_mask": torch.ones_like(ids)}
        inputs["labels"] = torch.full_like(ids, IGNORED)
        batch = pack([{key: own[model] for key, own in inputs.items()} for model in range(len(ids))])
        hidden = self.stack.hidden(batch).view(*ids.shape, -1)
        gap = hidden[ids == PLACE["[MASK]"]].view(*ids.shape[:2], -1) @ self.weights["head"]
        return (hidden @ gap.unsqueeze(-1)).squeeze(-1).gather(-1, read.places + before) / RECIPE.width**0.5


Reader = AttentionReader | PointingReader


def fresh(seed: int) -> Specimen:
    """An untrained BERT whose first queries and keys are alike, so that equal words attend to each other.

    Large models learn such heads from text; here lessons and text are too few.
    """
    made = tiny_specimen(WORDS, RECIPE, seed)
    for name, weight in made.model.named_parameters():
        if weight.dim() == 2 and "cls" not in name:
            weight.data.mul_(APART)
    own = made.encoder.encoder.layer[0].attention.self
    own.key.weight.data.copy_(own.query.weight.data.mul_(1.5))
    return made


def teach(reader: Reader, lessons: Questions, steps: int, rate: float) -> Reader:
    """Trained in place, all models on the same rows of their own lessons."""
    generator = torch.Generator().manual_seed(0)

    def losses() -> Tensor:
        rows = torch.randint(lessons.story.shape[1], (BATCH,), generator=generator)
        return -reader(Questions(*(own[:, rows] for own in lessons))).log_softmax(-1)[..., 0].mean(1)

    descend([{"params": list(reader.weights.values()), "lr": rate}], losses, steps, clip_each)
    return reader


@torch.no_grad()
def right(reader: Reader, read: Questions) -> np.ndarray:
    """Accuracy of each model: (models,)."""
    scores = reader(read)
    return (scores[..., 0] > scores[..., 1:].amax(-1)).double().mean(1).numpy()


@torch.no_grad()
def synonyms_met(vectors: Tensor) -> np.ndarray:
    """How often a word's synonym is the nearest of its kind, of vectors (models, pieces, width): (models,)."""
    own, found = nn.functional.normalize(vectors, dim=-1), []
    for forms in PAIRED:
        cosines = own[:, forms] @ own[:, forms].transpose(-1, -2) - 2 * torch.eye(len(forms))
        found.append(forms[cosines.argmax(-1)] == OTHER[forms])
    return torch.cat(found, -1).double().mean(-1).numpy()


def compared(seeds: Sequence[int]) -> Runs:
    """Accuracy of both systems on questions about new words: (seeds, 1) of each sample (rogers2020getting).

    trian_ and bert_: `original`, in the story's words; `paraphrased`, in synonyms; `again`, in synonyms as the story;
    `blind`, of options alone; `synonyms`, `synonyms_met` before lessons. trian_taught_blind: of an attention reader
    taught so. trian_factual_original and so on: of one type. Chance is one third.
    """
    rngs = [np.random.default_rng(seed) for seed in seeds]
    known, new = zip(*(stories.split(KNOWN, rng) for rng in rngs), strict=True)
    texts = [stories.text(READ, rng) for rng in rngs]
    lessons = zip(*(stories.asked(kind, LESSONS, known, rngs) for kind in TYPES), strict=True)
    lessons = Questions(*(torch.cat(parts, 1) for parts in lessons))
    tests = {kind: stories.asked(kind, ASKED, new, rngs).views() for kind in TYPES}
    random = torch.stack([torch.randn(len(PLACE), WIDTH, generator=torch.Generator().manual_seed(s)) for s in seeds])
    bert, static = list(map(fresh, seeds)), random.clone()
    twins = {"trian": AttentionReader(random, seeds), "bert": PointingReader(bert)}
    twin = _met(twins) | _scores(twins, AttentionReader(random, seeds), tests)
    for place, deeds in enumerate(texts):
        words, vectors = skip_gram(deeds, WIDTH, seed=seeds[place])
        static[place, [PLACE[word] for word in words]] = torch.as_tensor(vectors)
    readers = {"trian": AttentionReader(static, seeds), "bert": PointingReader(train_each(bert, texts, RECIPE, seeds))}
    met, blind = _met(readers), AttentionReader(static, seeds)
    for name, own in readers.items():
        teach(own, lessons, STEPS[name], RATES[name])
    teach(blind, lessons.views()["blind"], STEPS["trian"], RATES["trian"])
    return Runs(met | _scores(readers, blind, tests), twin, networks=len(seeds))


def _met(readers: Mapping[str, Reader]) -> dict:
    return {f"{name}_synonyms": per_seed(synonyms_met(own.vectors), len(OTHER)) for name, own in readers.items()}


def _scores(readers: Mapping[str, Reader], blind: Reader, tests: Mapping[str, Mapping[str, Questions]]) -> dict:
    found = {"trian_taught_blind": np.mean([right(blind, own["blind"]) for own in tests.values()], 0)}
    for name, reader in readers.items():
        for view in tests["factual"]:
            by_type = {f"{name}_{kind}_{view}": right(reader, own[view]) for kind, own in tests.items()}
            found |= {f"{name}_{view}": np.mean(list(by_type.values()), 0), **by_type}
    return {name: per_seed(values, ASKED) for name, values in found.items()}


EXPERIMENTS = {"two-readers": compared}
