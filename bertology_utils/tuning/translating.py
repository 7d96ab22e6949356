"""Tiny translators, English to a twin language with agreement: a masked language model's body reads, a decoder writes.

Depends on `tiny_pretraining` (sentences), `two_languages` (tiny specimens), `twins` (the other letters) and `together`
(one clip a model). The twin has the inverse order of English, and its verbs and modifiers end by the class of their
noun, so that a translation needs syntax. All translators of an experiment are trained at once.
"""

from collections.abc import Iterable, Sequence, Set
from copy import deepcopy
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional as F
from transformers import BertConfig, BertLMHeadModel

from bertology_utils.language.grammar import Sentence
from bertology_utils.language.twins import shift_word
from bertology_utils.models import Specimen
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.descent import descend
from bertology_utils.tuning.tiny_pretraining import small_language
from bertology_utils.tuning.together import clip_each
from bertology_utils.tuning.two_languages import BilingualRecipe, padded, tiny_specimen

ENDINGS = ("-a", "-o")
NOMINAL, SUBJECTS = ("NOUN", "PROPN", "PRON"), ("nsubj", "nsubj:pass")
MODIFIERS = ("det", "amod", "nummod", "nmod:poss")
AT_ONCE, LONGEST = 16, 8  # pairs of a step, words of a sentence
VOCABULARY = 180  # words; a seed draws a few fewer, and models that are trained together have equally many
UNSEEN = -1e4  # what is added to the attention to a piece that must not be seen
RECIPE = BilingualRecipe(layers=2, width=32, heads=4, inner=64, steps=300, learning_rate=6e-3, budget=192)
Pair = tuple[Sequence[str], Sequence[str]]
Sides = tuple[Tensor, Tensor, Tensor, Tensor]
"""Ids of the sources and whether each piece exists, then those of the targets: (..., sentences, longest) each."""


# ---------------------------------------------------------------- the two languages


def short_sentences(count: int, seed: int) -> list[Sentence]:
    """Different short sentences in random order, over few words that the seed draws."""
    found = [s for s in small_language(2 * count, seed, words_a_group=1, drawn=True) if len(s.words) <= LONGEST]
    return [found[place] for place in np.random.default_rng(seed).permutation(len(found))[:count]]


def noun_class(sentences: Iterable[Sentence], seed: int) -> frozenset[str]:
    """The half of all nominal lemmas, drawn by the seed, whose verbs and modifiers have the second ending."""
    lemmas = sorted({s.lemmas[place] for s in sentences for place, tag in enumerate(s.upos) if tag in NOMINAL})
    return frozenset(np.random.default_rng(seed).permutation(lemmas)[: len(lemmas) // 2].tolist())


def agreeing(sentence: Sentence) -> dict[int, int]:
    """The place of the noun that each modifier, and each verb or predicate, agrees with."""
    found = {}
    for place, (head, relation) in enumerate(zip(sentence.heads, sentence.deprels, strict=True)):
        if relation in MODIFIERS:
            found[place] = head
        elif relation in SUBJECTS:
            found[head] = place
    return found


def inflected(sentence: Sentence, second: Set[str] | None) -> list[str]:
    """The translation, last word first, an ending behind each word that agrees; no endings where no class is given."""
    nouns = {} if second is None else agreeing(sentence)
    translated = []
    for place in reversed(range(len(sentence.words))):
        translated.append(shift_word(sentence.words[place]))
        if place in nouns:
            translated.append(ENDINGS[sentence.lemmas[nouns[place]] in second])
    return translated


def pairs_of(sentences: Iterable[Sentence], second: Set[str] | None) -> list[Pair]:
    """Sentences and their translations."""
    return [(sentence.words, inflected(sentence, second)) for sentence in sentences]


def reader(sentences: Iterable[Sentence], seed: int) -> Specimen:
    """An untrained masked language model over these sentences' words; those of the twin, which it knows, it never
    reads."""
    words = padded(sorted({word for sentence in sentences for word in sentence.words}), VOCABULARY)
    return tiny_specimen([*words, *map(shift_word, words), *ENDINGS], RECIPE, seed)


def drawn(count: int, seed: int) -> tuple[list[Sentence], list[Pair], Specimen]:
    """So many sentences of a seed, with their translations, and a reader of all their words."""
    sentences = short_sentences(count, seed)
    return sentences, pairs_of(sentences, noun_class(sentences, seed)), reader(sentences, seed)


# ---------------------------------------------------------------- the model


class Translator(nn.Module):
    """A copy of a masked language model's body, `specimen`, and an untrained decoder of one block."""

    def __init__(self, start: Specimen, seed: int) -> None:
        super().__init__()
        self.specimen = replace(start, model=deepcopy(start.encoder))
        self.encoder = self.specimen.model
        changes = {"num_hidden_layers": 1, "is_decoder": True, "add_cross_attention": True}
        config = BertConfig(**start.model.config.to_dict() | changes)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.decoder = BertLMHeadModel(config).eval()
        for part in (self.encoder, self.decoder):
            part.set_attn_implementation("eager")  # which has a product for stacked models

    def forward(self, source: Tensor, read: Tensor, target: Tensor, written: Tensor) -> Tensor:
        """Logits of each piece behind the right ones before it: (sentences, longest target - 1, vocabulary)."""
        length = target.shape[1] - 1
        past = torch.ones(length, length, dtype=torch.bool).tril() & written[:, None, None, :-1]
        seen = read[:, None, None, :]
        states = self.encoder(source, attention_mask=_added(seen.expand(-1, 1, source.shape[1], -1)))
        return self.decoder(
            target[:, :-1],
            attention_mask=_added(past),
            encoder_hidden_states=states.last_hidden_state,
            encoder_attention_mask=_added(seen.expand(-1, 1, length, -1)),
            use_cache=False,
        ).logits


def _added(seen: Tensor) -> Tensor:
    return (~seen).float() * UNSEEN


def translators(
    starts: Sequence[Specimen], pairs: Sequence[Sequence[Pair]], steps: int, seeds: Sequence[int]
) -> list[Translator]:
    """A translator of each start, trained on equally many pairs of its own; decoder and batches are its seed's."""
    made = [Translator(*of) for of in zip(starts, seeds, strict=True)]
    weights, buffers = stack_module_state(made)
    weights = {name: weight.detach().clone().requires_grad_(True) for name, weight in weights.items()}
    generators = [np.random.default_rng(seed) for seed in seeds]
    data = _stacked([_sides(*of) for of in zip(starts, pairs, strict=True)])

    def loss(of: dict[str, Tensor], held: dict[str, Tensor], *sides: Tensor) -> Tensor:
        logits, (_, _, target, written) = functional_call(made[0], (of, held), sides), sides
        nats = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), reduction="none")
        return (nats * written[:, 1:].flatten()).sum() / written[:, 1:].sum()

    def losses() -> Tensor:
        rows = torch.as_tensor(np.stack([draw.choice(len(pairs[0]), AT_ONCE, replace=False) for draw in generators]))
        chosen = tuple(side[torch.arange(len(made))[:, None], rows] for side in data)
        return vmap(loss)(weights, buffers, *_trimmed(chosen))

    descend([{"params": list(weights.values()), "lr": RECIPE.learning_rate}], losses, steps, clip_each)
    for place, model in enumerate(made):
        model.load_state_dict({name: weight[place].detach() for name, weight in weights.items()}, strict=False)
    return made


@torch.no_grad()
def share_right(model: Translator, pairs: Sequence[Pair], shift: int = 0) -> float:
    """Share of the pieces of translations that are the likeliest behind the right ones before them.

    shift: reads the source of another pair, so many places on: what the pieces before tell alone.
    """
    source, read, target, written = _sides(model.specimen, pairs)
    logits = model(source.roll(-shift, 0), read.roll(-shift, 0), target, written)
    return float((logits.argmax(-1) == target[:, 1:])[written[:, 1:]].float().mean())


def _sides(specimen: Specimen, pairs: Sequence[Pair]) -> Sides:
    """Both sides of pairs, padded."""
    sides = [model_inputs(specimen, encode_words(specimen, side)) for side in zip(*pairs, strict=True)]
    return tuple(part for side in sides for part in (side["input_ids"], side["attention_mask"].bool()))


def _stacked(of_models: Sequence[Sides]) -> Sides:
    """The sides of several models, padded alike; the padding's id is 0."""

    def padded(parts: Sequence[Tensor]) -> Tensor:
        longest = max(part.shape[1] for part in parts)
        return torch.stack([F.pad(part, (0, longest - part.shape[1])) for part in parts])

    return tuple(padded(parts) for parts in zip(*of_models, strict=True))


def _trimmed(sides: Sides) -> Sides:
    """Without the places that no sentence has."""
    longest = [int(sides[place].sum(-1).max()) for place in (1, 1, 3, 3)]
    return tuple(side[..., :length] for side, length in zip(sides, longest, strict=True))
