"""Masks that are chosen for a purpose: rare words, whole names, and a mask that is the piece of unknown words.

Depends on `laboratory` (the small language), `pretraining.objectives` (what is chosen) and `tuning.together`. Arms
differ in what they hide or in the piece that hides it, and each is asked what it is for: rare words, facts, sentences
with gaps.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from bertology_utils.language.facts import InventedPerson
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED, corrupt
from bertology_utils.pretraining.objectives import frequency_mask, group_mask, token_mask
from bertology_utils.runs import Runs
from bertology_utils.samples import by_unit
from bertology_utils.studies.training.budgets import facts_known
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
Choose = Callable[[int, np.random.Generator], np.ndarray]  # number of a sentence -> booleans (words,)


def pretrain(
    words: Words, sentences: Sequence[Words], choose: Choose, recipe: BilingualRecipe, seeds: int, symbol: str = MASK
) -> list[Specimen]:
    """Tiny models that predict what `choose` hides behind `symbol`, corrupted as BERT's; all seeds at once."""
    fresh = tiny.over_seeds(lambda seed: tiny_specimen(words, recipe, seed), seeds)
    feeds = [_feed(own, sentences, choose, seed, recipe.budget, symbol) for seed, own in enumerate(fresh)]
    return train_together(fresh, feeds, recipe.steps, recipe.learning_rate)


def _feed(
    specimen: Specimen, sentences: Sequence[Words], choose: Choose, seed: int, budget: int, symbol: str
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
def word_losses(models: Models, sentences: Sequence[Words], symbol: str = MASK, gaps: float = 0.0) -> np.ndarray:
    """-log of the probability of each word where `symbol` alone hides it, sentence after sentence: (seeds, words) nats.

    gaps: share of the other words in whose place the piece of unknown words stands, the same for every model.
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
    for rows in batches(models[0], [len(encoding) for encoding in encodings], 4096):
        batch = model_inputs(models[0], [encodings[row] for row in rows])
        chosen = torch.zeros_like(batch["input_ids"], dtype=torch.bool)
        chosen[torch.arange(len(rows)), torch.tensor(places)[rows]] = True
        for own, model in zip(losses, models, strict=True):
            logits, _ = masked_logits(model.model, batch, chosen)
            own[rows] = torch.nn.functional.cross_entropy(logits, gold[rows], reduction="none").numpy()
    return losses


# ---------------------------------------------------------------- the arms


def evenly(sentences: Sequence[Words]) -> Choose:
    """Single words, each as often as another (devlin2019bert)."""
    return lambda row, rng: token_mask(len(sentences[row]), rng)


def rarer(sentences: Sequence[Words]) -> Choose:
    """Rare words more often (lample2019crosslingual)."""
    count = Counter(word for words in sentences for word in words)
    return lambda row, rng: frequency_mask([count[word] for word in sentences[row]], rng)


def rare_words(lab: Laboratory, even: Models) -> Runs:
    """Losses at rare and at other words of held-out sentences, after even masks and after masks of rare words.

    rare_even, rare_chosen: (seeds, rare forms), the quarter of all word forms that are read least; other_even,
    other_chosen, and untrained at these other words: (seeds, nouns and verbs) (lample2019crosslingual).
    """
    count = Counter(word for words in lab.corpus for word in words)
    limit = np.quantile([count[word] for word in lab.words], RARE)
    forms = np.array([word for words in lab.unseen for word in words])
    rare = np.array([count[word] <= limit for word in forms])
    arms = {"even": even, "chosen": pretrain(lab.words, lab.corpus, rarer(lab.corpus), lab.recipe, lab.seeds)}
    losses = {arm: word_losses(models, lab.unseen) for arm, models in arms.items()}
    untrained = word_losses(lab.untrained, lab.unseen)

    def parts(of: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        found = {"untrained": _by_sentence(lab, untrained, ~rare)}
        for arm, own in of.items():
            found[f"rare_{arm}"] = by_unit(own[:, rare], forms[rare].tolist())
            found[f"other_{arm}"] = _by_sentence(lab, own, ~rare)
        return found

    return Runs(parts(losses), parts(dict.fromkeys(arms, untrained)))


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


def names(lab: Laboratory, people: Sequence[InventedPerson]) -> Runs:
    """`budgets.facts_known` after masks of single words, `facts_words`, and of names and countries, `facts_names`."""
    groups = [_entities(person) for person in people]

    def train(words: Words, statements: Sequence[Words], recipe: BilingualRecipe) -> dict[str, Models]:
        chosen = {"facts_words": evenly(statements), "facts_names": lambda row, rng: group_mask(groups[row], rng)}
        return {name: pretrain(words, statements, choose, recipe, lab.seeds) for name, choose in chosen.items()}

    return facts_known(lab, people, train)


def _entities(person: InventedPerson) -> list[int | None]:
    """The group of each word of a statement: 0 the name, 1 the country, None the words between."""
    name = person.name.split()
    return [0 if word in name else 1 if word == person.country else None for word in person.statement()]
