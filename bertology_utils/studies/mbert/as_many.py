"""Do two sentences tell of as many? Pairs read one by one, as by XNLI's baselines (conneau2018xnli); recorded.

Depends on `ten_languages`, `frozen_bottom` (few pieces) and `tuning`. One encoder reads both, and a head sees their
means `compared`: *The kings laugh in the house.* and *The mothers run in the town.* Each meaning is told of one and of
several, and no content word is in both sentences, so that one sentence alone says nothing, nor does a word in common in
English. Languages are those whose plural the grammar has. Every seed draws its sentences, the head, the order and which
half of the words is taught; the tests hold the other.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import permutations
from random import Random

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.instruments.blocks import encoder_layers
from bertology_utils.language.lexicon import SPLITS
from bertology_utils.language.ten_languages import LANGUAGES, PIVOT, VERBS, Meaning, concepts, sentence
from bertology_utils.models import Specimen, load, twin
from bertology_utils.recorded_arms import Values, one_by_one
from bertology_utils.runs import Runs
from bertology_utils.statistics import mean_interval
from bertology_utils.studies.mbert.frozen_bottom import narrowed
from bertology_utils.studies.mbert.parallel_text import MULTILINGUAL
from bertology_utils.text import Encoding, encode_words, model_inputs, word_matrix
from bertology_utils.tuning.descent import descend, trainable
from bertology_utils.tuning.regimens import INIT_DEVIATION
from bertology_utils.tuning.training import compared

WITH_PLURAL = ("en", "de", "fr", "es", "ru", "fi")  # the grammar has no plural of nouns in the other four
TAUGHT, ASKED, BATCH = 120, 40, 12  # meanings, each told of one and of several
EPOCHS, RATE, HEAD_RATE = 4, 1e-4, 1e-3  # as in the first trial, of one seed, that learnt English
BESIDE = ("en", "fr")  # the teachers of untrained networks
LEARNT, AHEAD = 0.7, 0.1  # in any language, and in English beyond the best rival; else nothing is carried over


@dataclass(frozen=True)
class Told:
    """Meanings in a language as pieces, of one and of several in turn: 2 sentences a meaning."""

    encodings: Sequence[Encoding]
    meanings: Sequence[Meaning]


def drawn(n: int, split: str, seed: int) -> list[Meaning]:
    """Different meanings: what persons do somewhere, at some time or other."""
    rng, found = Random(f"as-many-{split}-{seed}"), {}
    people, verbs, places = (
        concepts(*of, split) for of in (("nouns", ["person"]), ("verbs", VERBS["person"]), ("places", ["place"]))
    )
    times = (*concepts("adverbs", ["time"]), "")
    while len(found) < n:
        who, does, where, when = map(rng.choice, (people, verbs, places, times))
        found.setdefault(Meaning(who, verb=does, place=where, adverb=when))
    return list(found)


def told(specimen: Specimen, meanings: Sequence[Meaning], code: str) -> Told:
    """The meanings in a language."""
    forms = [[token.form for token in sentence(m, code, plural)] for m in meanings for plural in (False, True)]
    return Told(encode_words(specimen, forms), meanings)


def pairs(meanings: Sequence[Meaning]) -> tuple[Tensor, Tensor, Tensor]:
    """First and second sentences, of the earlier and of the later half of the meanings, and 1 where both tell of as
    many: (pairs,) each, numbers as in `Told`. Pairs with a person, deed or place in common are left out.
    """
    half, (first, second, as_many) = len(meanings) // 2, ([], [], [])
    for a, one in enumerate(meanings[:half]):
        for b, other in enumerate(meanings[half:], half):
            if one.subject != other.subject and one.verb != other.verb and one.place != other.place:
                for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
                    first.append(2 * a + i)
                    second.append(2 * b + j)
                    as_many.append(int(i == j))
    return torch.tensor(first), torch.tensor(second), torch.tensor(as_many)


class Siamese(nn.Module):
    """One encoder for both sentences, tuned or frozen, and a linear head on their `compared` means of words."""

    def __init__(self, encoder: nn.Module, seed: int, frozen: bool = False) -> None:
        super().__init__()
        self.encoder = deepcopy(encoder).requires_grad_(not frozen)
        self.head = nn.Linear(4 * encoder.config.hidden_size, 2)
        nn.init.normal_(self.head.weight, std=INIT_DEVIATION, generator=torch.Generator().manual_seed(seed))
        nn.init.zeros_(self.head.bias)

    def forward(self, specimen: Specimen, text: Told, rows: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Of the pairs among some meanings the logits (pairs, 2) and what is right, (pairs,)."""
        encodings = [text.encodings[2 * row + several] for row in rows for several in range(2)]
        inputs = model_inputs(specimen, encodings)
        words = word_matrix(encodings, inputs["input_ids"].shape[1])
        own = words.sum(1, keepdim=True)
        states = self.encoder(**inputs).last_hidden_state
        means = (own / own.sum(-1, keepdim=True) @ states)[:, 0]
        first, second, as_many = pairs([text.meanings[row] for row in rows])
        return self.head(compared(means[first], means[second])), as_many


def tune(specimen: Specimen, text: Told, seed: int, frozen: bool = False) -> Siamese:
    """A reader that is taught by the pairs of a text, `BATCH` meanings at a time."""
    reader, rng, n = Siamese(specimen.encoder, seed, frozen), np.random.default_rng(seed), len(text.meanings)
    plan = [rows for _ in range(EPOCHS) for rows in rng.permutation(n)[: n - n % BATCH].reshape(-1, BATCH)]
    parts = {RATE: trainable(reader.encoder), HEAD_RATE: trainable(reader.head)}
    groups, feed = [{"params": part, "lr": rate} for rate, part in parts.items() if part], iter(plan)
    descend(groups, lambda: nn.functional.cross_entropy(*reader(specimen, text, next(feed))), len(plan))
    return reader


@torch.no_grad()
def asked(reader: Siamese, specimen: Specimen, text: Told) -> float:
    """The share of a text's pairs that is told rightly."""
    logits, as_many = reader(specimen, text, range(len(text.meanings)))
    return float((logits.argmax(1) == as_many).float().mean())


def by_words_in_common(meanings: Sequence[Meaning], code: str) -> float:
    """What the best bar on the number of words in common tells rightly: articles and endings, without a model."""
    forms = [{t.form.lower() for t in sentence(m, code, plural)} for m in meanings for plural in (False, True)]
    first, second, as_many = (of.numpy() for of in pairs(meanings))
    shared = np.array([len(forms[a] & forms[b]) for a, b in zip(first, second, strict=True)])
    return float(max(((shared >= bar) == as_many).mean() for bar in range(shared.max() + 2)))


def without_blocks(specimen: Specimen) -> Specimen:
    """The specimen left with its embeddings: a bag of words."""
    bag = deepcopy(specimen)
    del encoder_layers(bag.encoder)[:]
    return bag


def of_seed(seed: int) -> tuple[Values, Values]:
    """`teacher_asked`: pairs told rightly, taught in one language and asked in another; bag_*, frozen_*: rivals that
    English teaches, embeddings alone and a head on frozen vectors; common_*: `by_words_in_common`."""
    lessons, tests = (drawn(n, SPLITS[(seed + half) % len(SPLITS)], seed) for half, n in enumerate((TAUGHT, ASKED)))
    model, sides = load(MULTILINGUAL), []
    for side, teachers in ((model, WITH_PLURAL), (twin(model, seed), BESIDE)):
        texts = {f"taught {code}": told(side, lessons, code) for code in teachers}
        narrow, texts = narrowed(side, texts | {code: told(side, tests, code) for code in WITH_PLURAL})
        readers = {code: (narrow, tune(narrow, texts[f"taught {code}"], seed)) for code in teachers}
        if side is model:
            bag, english = without_blocks(narrow), texts[f"taught {PIVOT}"]
            readers |= {"bag": (bag, tune(bag, english, seed)), "frozen": (narrow, tune(narrow, english, seed, True))}
        sides.append(
            {f"{who}_{code}": asked(r, s, texts[code]) for who, (s, r) in readers.items() for code in WITH_PLURAL}
        )
    sides[0] |= {f"common_{code}": by_words_in_common(tests, code) for code in WITH_PLURAL}
    return tuple(sides)


RIVALS = ("bag", "frozen", "common")  # of the model's side; untrained networks are the others


def of_rivals(runs: Runs, code: str, taught_elsewhere: bool = False) -> np.ndarray:
    """The best rival's share in a language, (seeds, 1): of the mean over seeds, so that luck does not add up.

    taught_elsewhere: without the untrained network that was taught in that language itself.
    """
    blank = [who for who in BESIDE if not (taught_elsewhere and who == code)]
    own = [runs.model[f"{who}_{code}"] for who in RIVALS] + [runs.twin[f"{who}_{code}"] for who in blank]
    return max(own, key=np.mean)


def learnt(runs: Runs, code: str) -> bool:
    """Whether who was taught in a language tells it: `LEARNT` on the mean of seeds, and in English, where articles
    do not give it away, `AHEAD` of the best rival."""
    own = runs.model[f"{code}_{code}"].mean()
    return bool(own >= LEARNT and (code != PIVOT or own - of_rivals(runs, code).mean() >= AHEAD))


def helped(runs: Runs) -> list[tuple[str, str]]:
    """Teacher and asked, two languages: all whose interval over seeds is above the best rival that was not taught in
    the one that is asked, the best first. Languages that do not learn themselves neither teach nor are asked.
    """
    able = [code for code in WITH_PLURAL if learnt(runs, code)]
    found = []
    for teacher, code in permutations(able, 2):
        own = runs.model[f"{teacher}_{code}"]
        if mean_interval(own - of_rivals(runs, code, taught_elsewhere=True)).low > 0:
            found.append((teacher, code))
    return sorted(found, key=lambda pair: -runs.model["_".join(pair)].mean())


def share_rows(runs: Runs) -> list[dict[str, str]]:
    """A row who tells, a column the language that is asked: the mean over seeds, in per cent."""
    who = {f"taught in {LANGUAGES[code].name}": (runs.model, code) for code in WITH_PLURAL}
    who |= {f"untrained, in {LANGUAGES[code].name}": (runs.twin, code) for code in BESIDE}
    named = ("its embeddings, in English", "frozen, in English", "words in common")
    who |= {name: (runs.model, rival) for name, rival in zip(named, RIVALS, strict=True)}
    return [
        {"who tells": name} | {LANGUAGES[c].name: f"{100 * side[f'{of}_{c}'].mean():.0f}" for c in WITH_PLURAL}
        for name, (side, of) in who.items()
    ]


def told_transfer(runs: Runs) -> str:
    """Whether English was learnt, and only then where it carries over, and which other languages help, in words."""
    own, rival = runs.model[f"{PIVOT}_{PIVOT}"], of_rivals(runs, PIVOT)
    said = (
        f"In {runs.networks} recorded seeds {own.mean():.0%} of new pairs in English are told rightly, by the best "
        f"rival {rival.mean():.0%}."
    )
    if not learnt(runs, PIVOT):
        return f"{said} The model *cannot do the task* in the language that taught it, so nothing can be carried over."
    able, found = [code for code in WITH_PLURAL if learnt(runs, code)], helped(runs)
    english = [b for a, b in found if a == PIVOT]
    best = ", ".join(
        f"{LANGUAGES[a].name} to {LANGUAGES[b].name} {runs.model[f'{a}_{b}'].mean():.0%}" for a, b in found[:3]
    )
    return (
        f"{said} {len(able)} of {len(WITH_PLURAL)} languages are learnt by who is taught in them. By 95 % intervals "
        f"over seeds, one a pair and uncorrected, English is carried over to {len(english)} of {len(able) - 1} others, "
        f"and {len(found)} of {len(able) * (len(able) - 1)} pairs of teacher and asked are above the best rival"
        f"{f' (most: {best})' if found else ''}. Articles give French away: an untrained network that was taught in it "
        f"tells {runs.twin['fr_fr'].mean():.0%} of its pairs, and {runs.twin['fr_es'].mean():.0%} of the Spanish ones."
    )


EXPERIMENTS = {"as-many-in-six-languages": one_by_one(of_seed, ASKED)}
