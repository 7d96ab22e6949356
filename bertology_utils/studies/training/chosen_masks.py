"""Masks that are chosen for a purpose: rare words, whole names, and a mask that is the piece of unknown words.

Depends on `laboratory` (the small language), `pretraining.objectives` (what is chosen) and `tuning.together`. Arms
differ in what they hide or in the piece that hides it, and each is asked what it is for: rare words, facts, sentences
with gaps.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from bertology_utils.language.facts import InventedPerson
from bertology_utils.language.grammar import Sentence
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED, corrupt
from bertology_utils.pretraining.objectives import frequency_mask, group_mask, token_mask
from bertology_utils.runs import Runs
from bertology_utils.studies.training.laboratory import Laboratory, Models, of_words
from bertology_utils.text import batches, encode_words, model_inputs
from bertology_utils.tuning import tiny_pretraining as tiny
from bertology_utils.tuning.mlm_training import masked_logits, shuffled_rows, special_ids
from bertology_utils.tuning.together import train_together
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

MASK, UNKNOWN = "[MASK]", "[UNK]"
GAPS = 0.2  # share of the other words that are unknown
RARE = 0.25  # of all word forms
Words = Sequence[str]
Rivals = Mapping[str, Words]
Choose = Callable[[int, np.random.Generator], np.ndarray]  # number of a sentence -> booleans (words,)


def pretrain(
    words: Words, sentences: Sequence[Words], choose: Choose, recipe: BilingualRecipe, seeds: int, symbol: str = MASK
) -> list[Specimen]:
    """Tiny models that predict what `choose` hides behind `symbol`, corrupted as BERT's; all seeds at once."""
    fresh = tiny.over_seeds(lambda seed: tiny_specimen(words, recipe, seed), seeds)
    feeds = [masked_feed(own, sentences, choose, seed, recipe.budget, symbol) for seed, own in enumerate(fresh)]
    return train_together(fresh, feeds, recipe.steps, recipe.learning_rate)


def masked_feed(
    specimen: Specimen, sentences: Sequence[Words], choose: Choose, seed: int, budget: int, symbol: str = MASK
) -> Iterator[dict[str, Tensor]]:
    """Shuffled batches for ever, with new choices every time; a word is a piece, after [CLS]."""
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    special = replace(special_ids(specimen), mask=specimen.tokenizer.convert_tokens_to_ids(symbol))
    encodings = encode_words(specimen, sentences)
    while True:
        for rows in shuffled_rows(specimen, encodings, rng, budget):
            batch = model_inputs(specimen, [encodings[row] for row in rows])
            chosen = torch.zeros_like(batch["input_ids"], dtype=torch.bool)
            for place, row in enumerate(rows):
                hidden = choose(row, rng)
                chosen[place, 1 : 1 + len(hidden)] = torch.as_tensor(hidden)
            corrupted = corrupt(batch["input_ids"], chosen, special, generator)
            yield {**batch, "input_ids": corrupted, "labels": batch["input_ids"].where(chosen, IGNORED)}


@torch.no_grad()
def word_losses(
    models: Models,
    sentences: Sequence[Words],
    symbol: str = MASK,
    gaps: float = 0.0,
    rivals: Rivals = MappingProxyType({}),
) -> np.ndarray:
    """-log of the probability of each word where `symbol` alone hides it, sentence after sentence: (seeds, words) nats.

    gaps: share of the other words in whose place the piece of unknown words stands, the same for every model. rivals:
    of a word those, itself among them, of which it is told; of all words where there is none.
    """
    rng, asked, places, answers = np.random.default_rng(0), [], [], []
    for words in sentences:
        for place, word in enumerate(words):
            lost = rng.random(len(words)) < gaps
            seen = [UNKNOWN if gone else other for other, gone in zip(words, lost, strict=True)]
            asked.append([*seen[:place], symbol, *seen[place + 1 :]])
            places.append(place + 1)
            answers.append(word)
    encodings, losses = encode_words(models[0], asked), np.empty((len(models), len(asked)))
    gold = torch.tensor(models[0].tokenizer.convert_tokens_to_ids(answers))
    barred = _barred(models[0], answers, rivals)
    for rows in batches(models[0], [len(encoding) for encoding in encodings], 4096):
        batch = model_inputs(models[0], [encodings[row] for row in rows])
        chosen = torch.zeros_like(batch["input_ids"], dtype=torch.bool)
        chosen[torch.arange(len(rows)), torch.tensor(places)[rows]] = True
        for own, model in zip(losses, models, strict=True):
            logits, _ = masked_logits(model.model, batch, chosen)
            among = logits.masked_fill(barred[rows], -torch.inf)
            own[rows] = torch.nn.functional.cross_entropy(among, gold[rows], reduction="none").numpy()
    return losses


def _barred(model: Specimen, answers: Words, rivals: Rivals) -> Tensor:
    """Which pieces are not asked about at each answer: booleans (answers, vocabulary)."""
    barred = torch.zeros(len(answers), model.model.config.vocab_size, dtype=torch.bool)
    for row, word in zip(barred, answers, strict=True):
        if word in rivals:
            row[:] = True
            row[model.tokenizer.convert_tokens_to_ids(list(rivals[word]))] = False
    return barred


# ---------------------------------------------------------------- the arms


def evenly(sentences: Sequence[Words]) -> Choose:
    """Single words, each as often as another (devlin2019bert)."""
    return lambda row, rng: token_mask(len(sentences[row]), rng)


def rarer(sentences: Sequence[Words]) -> Choose:
    """Rare words more often (lample2019crosslingual)."""
    count = Counter(word for words in sentences for word in words)
    return lambda row, rng: frequency_mask([count[word] for word in sentences[row]], rng)


def rare_rivals(sentences: Sequence[Sentence]) -> dict[str, list[str]]:
    """Of each rare word the rare words of its part of speech, itself among them, where it is not the only one.

    Rare is the quarter of all word forms that are read least.
    """
    tags = {word: tag for sentence in sentences for word, tag in zip(sentence.words, sentence.upos, strict=True)}
    count = Counter(word for sentence in sentences for word in sentence.words)
    limit, classes = np.quantile(list(count.values()), RARE), defaultdict(list)
    for word in sorted(count):
        if count[word] <= limit:
            classes[tags[word]].append(word)
    return {word: own for own in classes.values() if len(own) > 1 for word in own}


def rare_losses(model: Specimen, sentences: Sequence[Words], rivals: Rivals) -> dict[str, float]:
    """Nats at rare words, each told from its `rare_rivals` alone, and told from all words: `rare`, `all`; at `other`s.

    A mask that makes all rare words likelier gains at `all` and not at `rare`.
    """
    rare = np.array([word in rivals for words in sentences for word in words])
    losses, among = (word_losses([model], sentences, rivals=own)[0] for own in ({}, rivals))
    return {"rare": among[rare].mean(), "all": losses[rare].mean(), "other": losses[~rare].mean()}


def unknown_words(lab: Laboratory, even: Models) -> Runs:
    """What gaps of unknown words cost a model whose mask was a piece of its own, and one whose mask was that of gaps.

    cost_mask, cost_unknown: nats that a word loses if `GAPS` of the others are unknown; clean_mask, clean_unknown: its
    loss if none is; untrained: that of untrained models; (seeds, nouns and verbs) (clinchant2019use).
    """
    filled = pretrain(lab.words, lab.corpus, evenly(lab.corpus), lab.recipe, lab.seeds, UNKNOWN)

    def parts(arms: Mapping[str, Models]) -> dict[str, np.ndarray]:
        found = {}
        for (arm, models), symbol in zip(arms.items(), (MASK, UNKNOWN), strict=True):
            clean, torn = (word_losses(models, lab.unseen, symbol, gaps) for gaps in (0.0, GAPS))
            found |= {f"clean_{arm}": _by_sentence(lab, clean), f"cost_{arm}": _by_sentence(lab, torn - clean)}
        return found

    untrained = parts(dict.fromkeys(("mask", "unknown"), lab.untrained))
    untrained["untrained"] = untrained["clean_mask"]
    return Runs(parts({"mask": even, "unknown": filled}) | {"untrained": untrained["untrained"]}, untrained)


def _by_sentence(lab: Laboratory, losses: np.ndarray, counted: np.ndarray | None = None) -> np.ndarray:
    """Means over the words of each held-out sentence, or over those that are counted, as `laboratory.of_words`."""
    weights = np.ones(losses.shape[-1]) if counted is None else counted.astype(float)
    starts = np.cumsum([0, *map(len, lab.unseen[:-1])])
    sums, number = (np.add.reduceat(own, starts, axis=-1) for own in (losses * weights, weights))
    return of_words(sums / number, lab.unseen)


def name_masks(people: Sequence[InventedPerson]) -> dict[str, Choose]:
    """What arms hide of the people's statements: `words`, single ones, `names` and countries whole (zhang2019ernie).

    singles: one word of a name, or the country, which is hidden as often as `names` hides it: what these teach more is
    not due to practice at the question.
    """
    groups = [_entities(person) for person in people]
    return {
        "words": evenly([person.statement() for person in people]),
        "singles": lambda row, rng: one_of_group(groups[row], rng),
        "names": lambda row, rng: group_mask(groups[row], rng),
    }


def one_of_group(groups: Sequence[int | None], rng: np.random.Generator) -> np.ndarray:
    """One word of the group that `group_mask` would hide: booleans (words,)."""
    hidden = group_mask(groups, rng)
    hidden[rng.permutation(np.flatnonzero(hidden))[1:]] = False
    return hidden


def _entities(person: InventedPerson) -> list[int | None]:
    """The group of each word of a statement: 0 the name, 1 the country, None the words between."""
    name = person.name.split()
    return [0 if word in name else 1 if word == person.country else None for word in person.statement()]
