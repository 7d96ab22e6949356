"""Experiments on carrying a language over to a trained model: words drawn to their translations, and new embeddings.

Depends on `side_by_side` (texts and measures), `parallel_tasks` (training) and `together` (stacked models).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from bertology_utils.language.twins import shift_word
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.runs import Runs
from bertology_utils.studies.mbert import parallel_tasks as tasks
from bertology_utils.studies.mbert import side_by_side as lab
from bertology_utils.studies.mbert.side_by_side import LAST, RECIPE, SAME, SWITCHED, WORDS, Models, Texts, Values, Words
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.descent import descend
from bertology_utils.tuning.mlm_training import endless_batches
from bertology_utils.tuning.together import Stack, clip_each, pack, train_together

FEW, AT_ONCE, TUNED, TUNING_RATE = 200, 20, 150, 1e-3  # pairs of all and of a step, steps
NEW_STEPS, LATER, NEW_RATE = 50, 150, 8e-3  # where embeddings alone are trained
KNOWN = 0.5  # of all words: those of the dictionary
NEIGHBOURS = 5  # known words of which an unknown one is mixed


def copies(models: Models) -> list[Specimen]:
    """The same models, to be trained on."""
    return [replace(model, model=deepcopy(model.model)) for model in models]


# ---------------------------------------------------------------- words drawn to their translations


def alignment(seeds: Sequence[int]) -> Runs:
    """Tags and translations before and after words are drawn to their translations, to words at random, or to the words
    that stand where their translations would, in other sentences.

    Samples as in `parallel_training.translations`, of the arms before, aligned, misaligned and elsewhere, at the last
    layer, which is the one that is tuned (cao2019multilingual).
    """
    texts = [lab.draw(seed, SWITCHED) for seed in seeds]
    before, _ = tasks.train(lab.untrained(texts), texts, tasks.alone)
    arms = {
        "before": before,
        "aligned": align(before, texts),
        "misaligned": align(before, [replace(own, wrong=True) for own in texts]),
        "elsewhere": align(before, texts, elsewhere=True),
    }
    control = lab.known(before, texts, layer=LAST)
    return lab.compared(arms, lab.untrained(texts), lambda models: lab.transfer(models, texts, LAST), control)


def align(models: Models, texts: Sequence[Texts], elsewhere: bool = False) -> list[Specimen]:
    """Copies whose vectors of linked words have come together, those of English near where they were.

    The sum of the squared distance of linked words and of that of English words from the start (cao2019multilingual).
    With `elsewhere` the right places are linked, of other sentences: what is left to learn is the order of words.
    """
    tuned = copies(models)
    stack, start = (Stack([model.model for model in of]) for of in (tuned, models))
    feeds = [linked(*pair, elsewhere) for pair in zip(tuned, texts, strict=True)]

    def losses() -> Tensor:
        batches, links = zip(*map(next, feeds), strict=True)
        batch, (english, twin) = pack(batches), torch.stack(links, 1)
        hidden = stack.hidden(batch)
        with torch.no_grad():
            kept = _at(start.hidden(batch), english)
        own = _at(hidden, english)
        return sum((own - other).square().sum(-1).mean(1) for other in (_at(hidden, twin), kept))

    descend([{"params": list(stack.weights.values()), "lr": TUNING_RATE}], losses, TUNED, clip_each)
    stack.unstack()
    return tuned


def linked(model: Specimen, own: Texts, elsewhere: bool = False) -> Iterator[tuple[dict[str, Tensor], Tensor]]:
    """English sentences and then their translations, with the places of linked words among all pieces: (2, words).

    Wrong texts have every English word linked to a word of the step at random; with `elsewhere` it is linked to what
    stands where its translation would, in the next sentence of the step.
    """
    rng, generator = np.random.default_rng(own.seed), torch.Generator().manual_seed(own.seed)
    few = own.paired[:FEW]
    length = len(few[0])
    english = (torch.arange(AT_ONCE).unsqueeze(1) * (length + 2) + 1 + torch.arange(length)).flatten()
    twin = english.view(AT_ONCE, length).flip(1).flatten() if own.language.inverted else english
    twin = twin.view(AT_ONCE, length).roll(int(elsewhere), 0).flatten() + AT_ONCE * (length + 2)
    while True:
        read = [few[place] for place in rng.choice(len(few), AT_ONCE, replace=False)]
        batch = model_inputs(model, encode_words(model, [*read, *map(own.language.translate, read)]))
        unmasked = batch | {"labels": torch.full_like(batch["input_ids"], IGNORED)}
        there = twin[torch.randperm(len(twin), generator=generator)] if own.wrong else twin
        yield unmasked, torch.stack([english, there])


def _at(hidden: Tensor, places: Tensor) -> Tensor:
    """Vectors at places, (models, words) of (models, pieces, width)."""
    return hidden.gather(1, places.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))


# ---------------------------------------------------------------- new embeddings for a frozen body


def foreign_embeddings(seeds: Sequence[int]) -> Runs:
    """The twin's embeddings trained in a frozen English body, from three starts, beside joint training.

    loss_*: nats on the twin; tags_*: of all its words; unknown_*: of words that are not in the dictionary; of the arms
    random, dictionary, shuffled (a dictionary of wrong words) and joint, which reads both languages in as many steps as
    body and embeddings together; loss_english, of the body on English (tran2019english, artetxe2019crosslingual).
    later_random, later_dictionary: losses after three times the steps.
    """
    texts = [lab.draw(seed, SAME) for seed in seeds]
    unknown = [frozenset(WORDS) - known_words(own) for own in texts]
    body, _ = tasks.train(lab.untrained(texts), [replace(own, foreign=[]) for own in texts], tasks.alone)
    both, _ = tasks.train(lab.untrained(texts), texts, tasks.alone, steps=RECIPE.steps + NEW_STEPS)
    arms = {name: (body, embeddings(body, texts, name)) for name in ("random", "dictionary", "shuffled")}

    def measure(of: tuple[Models, Models]) -> Values:
        models, readers = of
        found = {"loss": lab.losses(models, texts, readers, ["twin"]), "tags": lab.tags(models, texts, readers=readers)}
        return found | {"unknown": lab.tags(models, texts, unknown, readers=readers)}

    blank = lab.untrained(texts)
    control = lab.known(body, texts, new=False) | {"loss_english": lab.losses(body, texts, sides=["english"])}
    for start in ("random", "dictionary"):
        readers = embeddings(body, texts, start, LATER)
        control[f"later_{start}"] = lab.losses(body, texts, readers, ["twin"])
    return lab.compared({**arms, "joint": (both, both)}, (blank, blank), measure, control)


def known_words(own: Texts) -> frozenset[str]:
    """English words whose translation the dictionary of a seed has."""
    return frozenset(np.random.default_rng(own.seed).permutation(WORDS)[: round(KNOWN * len(WORDS))].tolist())


def embeddings(models: Models, texts: Sequence[Texts], start: str, steps: int = NEW_STEPS) -> list[Specimen]:
    """Copies of English models whose embeddings alone have read the twin, from random starts or by a dictionary."""
    return read_twin(started(models, texts, start), texts, steps, "word_embeddings")


def started(models: Models, texts: Sequence[Texts], start: str) -> list[Specimen]:
    """Copies of English models with new embeddings of the twin's words, not yet trained."""
    readers = copies(models)
    for model, own in zip(readers, texts, strict=True):
        table = model.encoder.get_input_embeddings().weight
        places = model.tokenizer.convert_tokens_to_ids(list(map(shift_word, WORDS)))
        with torch.no_grad():
            if start == "random":
                fresh = torch.randn(len(WORDS), RECIPE.width, generator=torch.Generator().manual_seed(own.seed))
                table[places] = fresh * model.model.config.initializer_range
            else:
                english = table[model.tokenizer.convert_tokens_to_ids(WORDS)]
                table[places] = torch.tensor(dictionary(own, start == "shuffled")).float() @ english
    return readers


def read_twin(readers: Models, texts: Sequence[Texts], steps: int, only: str) -> list[Specimen]:
    """The readers, trained in place on the twin; weights whose names do not match `only` stay as they are."""
    feeds = [
        endless_batches(model, encode_words(model, own.foreign), own.seed, RECIPE.budget)
        for model, own in zip(readers, texts, strict=True)
    ]
    return train_together(readers, feeds, steps, NEW_RATE, only)


def dictionary(own: Texts, shuffled: bool = False) -> np.ndarray:
    """The share of each English word in each word of the twin: (words, words), rows of sum 1.

    A word of the dictionary is its translation; another is a mixture of the known words that stand between the most
    similar neighbours in the twin's own text. A `shuffled` dictionary has its translations dealt out anew.
    """
    known = np.flatnonzero(np.isin(WORDS, list(known_words(own))))
    meant = np.random.default_rng(own.seed).permutation(known) if shuffled else known
    contexts = neighbours(own.foreign)
    shares = np.zeros((len(WORDS), len(WORDS)))
    for word, context in enumerate(contexts):
        if word in known:
            shares[word, meant[known == word]] = 1
        else:
            alike = contexts[known] @ context
            nearest = np.argsort(-alike, kind="stable")[:NEIGHBOURS]
            np.add.at(shares[word], meant[nearest], 1 / NEIGHBOURS)
    return shares


def neighbours(foreign: Sequence[Words]) -> np.ndarray:
    """What stands before and behind each word of the twin, as unit vectors: (words, 2 * words)."""
    places = {shift_word(word): place for place, word in enumerate(WORDS)}
    counts = Counter((a, b) for words in foreign for a, b in pairwise(words))
    table = np.zeros((len(WORDS), 2 * len(WORDS)))
    for (before, behind), count in counts.items():
        table[places[behind], places[before]] += count
        table[places[before], len(WORDS) + places[behind]] += count
    return table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)


EXPERIMENTS = {"word-alignment": alignment, "foreign-embeddings": foreign_embeddings}
