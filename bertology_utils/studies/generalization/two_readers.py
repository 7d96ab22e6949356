"""Two systems read stories: an attention reader over static word vectors, after TriAN, and a small BERT.

Both have met the same text, and learn from the same questions. All seeds are trained at once. Depends on `stories`,
`instruments.static_vectors` and `tuning`.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.instruments.static_vectors import skip_gram
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.generalization.stories import DEEDS, IDS, OTHER, PLACE, TYPES, WORDS, Questions, asked
from bertology_utils.studies.generalization.stories import split, text
from bertology_utils.tuning.descent import descend
from bertology_utils.tuning.tiny_pretraining import train_each
from bertology_utils.tuning.together import Stack, clip_each, pack
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

RECIPE = BilingualRecipe(layers=2, width=48, heads=2, inner=96, steps=250, learning_rate=3e-3, budget=512)
PASSAGES, LESSONS, ASKED, KNOWN = 500, 600, 100, 10  # lessons and test questions of a type; words of a kind in lessons
STEPS, BATCH, WIDTH, UNITS = 300, 20, 32, 24
RATES = {"trian": 5e-3, "bert": 2e-3}


class AttentionReader:
    """TriAN's parts for one-word answers (wang2018yuanfudao): vectors (models, pieces, width) stay as they are.

    Each word of the story attends to those of the question; recurrent nets read both; the question, summed up, picks
    words of the story, and both together are compared with an option. What is picked keeps its words' vectors. Left
    out: parts of speech, entities, relations of a knowledge base, and the nets' reading of options.
    """

    def __init__(self, vectors: Tensor, seeds: Sequence[int]) -> None:
        states = 2 * UNITS
        shapes = {"align": (WIDTH, WIDTH), "ask": (states, 1), "find": (states, states)}
        shapes |= {"from_story": (states + WIDTH, WIDTH), "from_question": (states, WIDTH)}
        for text_, width in (("story", 2 * WIDTH + 1), ("question", WIDTH)):
            shapes |= {f"{text_}_in": (2, width, 3 * UNITS), f"{text_}_back": (2, UNITS, 3 * UNITS)}
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.vectors = nn.functional.normalize(vectors, dim=-1) * WIDTH**0.5
        self.weights = {
            name: torch.stack([torch.randn(shape, generator=own) for own in generators]).div_(shape[-2] ** 0.5)
            for name, shape in shapes.items()
        }
        for weight in self.weights.values():
            weight.requires_grad_(True)

    def __call__(self, read: Questions) -> Tensor:
        """What speaks for each option: (models, questions, options)."""
        models = torch.arange(len(self.vectors))[:, None, None]
        story, question, options = (self.vectors[models, own] for own in read)
        weights = {name: own.unsqueeze(1) for name, own in self.weights.items()}
        seen, sought = ((own @ weights["align"]).relu() for own in (story, question))
        aligned = (seen @ sought.transpose(-1, -2)).softmax(-1) @ question
        same = (read.story.unsqueeze(-1) == read.question.unsqueeze(-2)).any(-1, keepdim=True).float()
        states = self._recurrent(torch.cat((story, aligned, same), -1), "story")
        heard = self._recurrent(question, "question")
        summary = ((heard @ weights["ask"]).softmax(-2) * heard).sum(-2)
        place = ((states @ weights["find"]) @ summary.unsqueeze(-1)).softmax(-2)
        found = (place * torch.cat((states, story), -1)).sum(-2)
        wanted = found @ self.weights["from_story"] + summary @ self.weights["from_question"]
        return (options @ wanted.unsqueeze(-1)).squeeze(-1)

    def _recurrent(self, inputs: Tensor, name: str) -> Tensor:
        """States of a gated recurrent net in both directions: (models, texts, words, width) to (..., 2 * UNITS)."""
        both = torch.stack((inputs, inputs.flip(-2)), 1)
        driven = both @ self.weights[f"{name}_in"].unsqueeze(2)  # (models, directions, texts, words, 3 * UNITS)
        state, states = torch.zeros_like(driven[..., 0, :UNITS]), []
        for drive in driven.unbind(-2):
            kept = state @ self.weights[f"{name}_back"]
            reset, update = (drive + kept)[..., : 2 * UNITS].sigmoid().chunk(2, -1)
            new = (drive[..., 2 * UNITS :] + reset * kept[..., 2 * UNITS :]).tanh()
            state = new + update * (state - new)
            states.append(state)
        forth, back = torch.stack(states, -2).unbind(1)
        return torch.cat((forth, back.flip(-2)), -1)


class MaskedReader:
    """Masked language models, stacked, that fill the question's gap with one of the options."""

    def __init__(self, specimens: Sequence[Specimen]) -> None:
        self.stack = Stack([own.model for own in specimens])
        self.weights = self.stack.weights

    @property
    def vectors(self) -> Tensor:
        """Of the pieces: (models, pieces, width)."""
        return self.weights["bert.embeddings.word_embeddings.weight"].detach()

    def __call__(self, read: Questions) -> Tensor:
        """Log-odds of the options: (models, questions, options)."""
        first, end = (torch.full_like(read.story[..., :1], PLACE[piece]) for piece in ("[CLS]", "[SEP]"))
        ids = torch.cat((first, read.story, end, read.question, end), -1)
        types = (torch.arange(ids.shape[-1]) > read.story.shape[-1] + 1).long().expand_as(ids)
        labels = ids.where(ids == PLACE["[MASK]"], IGNORED)
        inputs = {"input_ids": ids, "token_type_ids": types, "attention_mask": torch.ones_like(ids), "labels": labels}
        batch = pack([{key: own[model] for key, own in inputs.items()} for model in range(len(ids))])
        return self.stack.masked_logits(self.stack.hidden(batch), batch).gather(-1, read.options)


Reader = AttentionReader | MaskedReader


def teach(reader: Reader, lessons: Questions, rate: float) -> Reader:
    """Trained in place, all models on the same rows of their own lessons."""
    generator = torch.Generator().manual_seed(0)

    def losses() -> Tensor:
        rows = torch.randint(lessons.story.shape[1], (BATCH,), generator=generator)
        return -reader(Questions(*(own[:, rows] for own in lessons))).log_softmax(-1)[..., 0].mean(1)

    descend([{"params": list(reader.weights.values()), "lr": rate}], losses, STEPS, clip_each)
    return reader


@torch.no_grad()
def right(reader: Callable[[Questions], Tensor], read: Questions) -> np.ndarray:
    """Accuracy of each model: (models,)."""
    scores = reader(read)
    return (scores[..., 0] > scores[..., 1:].amax(-1)).double().mean(1).numpy()


def synonyms_met(vectors: Tensor) -> np.ndarray:
    """How often a word's synonym is the nearest of its kind, of vectors (models, pieces, width): (models,)."""
    own, found = nn.functional.normalize(vectors, dim=-1), []
    for forms in (torch.as_tensor(each.ravel()) for each in IDS.values() if each.shape[1] > 1):
        cosines = own[:, forms] @ own[:, forms].transpose(-1, -2) - 2 * torch.eye(len(forms))
        found.append(forms[cosines.argmax(-1)] == OTHER[forms])
    return torch.cat(found, -1).double().mean(-1).numpy()


def compared(seeds: Sequence[int]) -> Runs:
    """Accuracy of both systems on questions about new words: (seeds, 1) of each sample (rogers2020getting).

    trian_ and bert_: `original`, in the story's words; `paraphrased`, in synonyms; `again`, in synonyms as the story;
    `blind`, of readers taught and asked without stories; `synonyms`, `synonyms_met` before lessons. `factual_original`
    and so on: of one type. Chance is one third.
    """
    rngs = [np.random.default_rng(seed) for seed in seeds]
    known, new = zip(*(split(KNOWN, rng) for rng in rngs), strict=True)
    texts = [text(PASSAGES, rng) for rng in rngs]
    lessons = [asked(kind, LESSONS, known, rngs) for kind in TYPES]
    lessons = Questions(*(torch.cat(parts, 1) for parts in zip(*lessons, strict=True)))
    tests = {kind: asked(kind, ASKED, new, rngs) for kind in TYPES}
    fresh = [tiny_specimen(WORDS, RECIPE, seed) for seed in seeds]
    random = torch.stack([torch.randn(len(PLACE), WIDTH, generator=torch.Generator().manual_seed(s)) for s in seeds])
    untrained = {"trian": AttentionReader(random, seeds), "bert": MaskedReader(fresh)}
    twin = _samples(untrained, untrained, {name: synonyms_met(own.vectors) for name, own in untrained.items()}, tests)
    read = train_each(fresh, texts, RECIPE, seeds)
    vectors = torch.stack([_static(own, start, seed) for own, start, seed in zip(texts, random, seeds, strict=True)])
    readers = {"trian": AttentionReader(vectors, seeds), "bert": MaskedReader(read)}
    met = {name: synonyms_met(own.vectors) for name, own in readers.items()}
    full, blind = (
        {name: teach(deepcopy(own), given, RATES[name]) for name, own in readers.items()}
        for given in (lessons, lessons.blind())
    )
    return Runs(_samples(full, blind, met, tests), twin, networks=len(seeds))


def _static(passages: Sequence[Sequence[str]], start: Tensor, seed: int) -> Tensor:
    """Vectors learnt from the text; special pieces, which it has not, keep those of `start`, (pieces, width)."""
    words, found = skip_gram([own[at : at + 5] for own in passages for at in range(0, len(own), 5)], WIDTH, seed=seed)
    return start.index_put((torch.tensor([PLACE[word] for word in words]),), torch.as_tensor(found))


def _samples(full: Mapping, blind: Mapping, met: Mapping[str, np.ndarray], tests: Mapping[str, Questions]) -> dict:
    found = {f"{name}_synonyms": own for name, own in met.items()}
    for name, reader in full.items():
        by_type = {
            kind: {
                "original": right(reader, own),
                "paraphrased": right(reader, own.paraphrased()),
                "again": right(reader, own.again()),
                "blind": right(blind[name], own.blind()),
            }
            for kind, own in tests.items()
        }
        for view in by_type["factual"]:
            found |= {f"{name}_{kind}_{view}": own[view] for kind, own in by_type.items()}
            found[f"{name}_{view}"] = np.mean([own[view] for own in by_type.values()], 0)
    return {name: per_seed(values, ASKED) for name, values in found.items()}


EXPERIMENTS = {"two-readers": compared}
