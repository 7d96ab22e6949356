"""Agreement of verbs with their subjects, in a cloze: behind attractors, in nonsense, and in damaged sentences.

Scores come from `cloze`, items from `pair_sets` and `pairs`, damage from `perturbations`. Every function takes a
specimen and returns named samples; words come from the grammar's test split.
"""

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np

from bertology_utils.data import pair_sets
from bertology_utils.data.material import EMBEDDED
from bertology_utils.data.pair_sets import EVERY, agreement_pairs
from bertology_utils.instruments import cloze
from bertology_utils.language.agreement_verbs import agreement_verbs
from bertology_utils.language.pairs import NUMBERS, MinimalPair
from bertology_utils.language.pairs import agreement_pairs as generated_pairs
from bertology_utils.language.perturbations import Perturbed, shuffle_words, truncate
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit

BE = ("is", "are", "was", "were")
BEHIND_A_VERB = {"structure": "object_relative"}


def by_attractors(specimen: Specimen, n: int, few: int, seed: int = 0, source: str = EMBEDDED) -> dict[str, np.ndarray]:
    """Agreement by number of attractors, with two baselines that need no syntax (goldberg2019assessing).

    Keys `attractors_0` ... `attractors_3`, `nonsense`, `agreeing` (one noun of the same number between), `unigram` and
    `nonsense_unigram` (which form the model prefers without any context; both are single pieces, so that frequency
    says the same and length nothing): at most `n` covered pairs, or `few` where a noun stands between,
    as samples over what they are made of (`unit_of`). Generated pairs ask each verb with subjects of either number, so
    that the more usual form is right in one half. `meaningful` and `nonsense_alike` may be compared, as in `_alike`.
    `apart` and `nonsense_apart`: behind an object relative clause with such a noun, where the word before the verb is
    another verb, which says nothing (of "gulordava", whose subjects stand anywhere, all nonsense). `word_before`:
    whether that word's -s would tell, where nothing stands between. `copulas`: *be* alone, which has a form for each
    number, 0/1 over pairs; `coverage (sets,)` is the share of the verbs, or of the drawn pairs, that are covered.
    `source` as in `pair_sets.agreement_pairs`; of real sets only marvin2018targeted's has agreeing nouns.
    """
    templates = source if source == EMBEDDED else "marvin_linzen"
    kinds = {f"attractors_{k}": {"attractors": k} for k in range(4)}
    kinds |= {"nonsense": {"nonsense": True}, "agreeing": {"agreeing": 1, "source": templates}}
    kinds["apart"] = kinds["agreeing"] | BEHIND_A_VERB
    kinds["nonsense_apart"] = kinds["nonsense"] | ({"agreeing": 1} | BEHIND_A_VERB if source == EMBEDDED else {})
    sets, coverage = {}, []
    for name, kind in kinds.items():
        size = n if name in ("attractors_0", "nonsense") else few
        sets[name], share = verb_pairs(specimen, size, **{"seed": seed, "source": source} | kind)
        coverage.append(share)
    cloze.require_known(specimen, sets["attractors_0"], "pair of verbs")
    right = {name: preferences(specimen, pairs) for name, pairs in sets.items()}
    found = {name: _over_units(values, sets[name]) for name, values in right.items()}
    plain = sets["attractors_0"]
    found["word_before"] = _over_units(word_before(plain), plain)
    for name, pairs in (("unigram", plain), ("nonsense_unigram", sets["nonsense"])):
        found[name] = _over_units(preferences(specimen, [pair.alone for pair in pairs]), pairs)
    drawn = agreement_pairs(few // 2, seed=seed, split="test") if source == EMBEDDED else plain
    found["copulas"] = preferences(specimen, [pair for pair in drawn if _is_copular(pair)])
    found |= _originals_and_nonsense(specimen, sets["nonsense"]) if source == "gulordava" else _alike(right, sets)
    return found | {"coverage": np.array(coverage)}


def verb_pairs(specimen: Specimen, n: int, source: str = EMBEDDED, **kind) -> tuple[list[MinimalPair], float]:
    """At most `n` pairs both of whose forms are single pieces, and the share of covered verbs (of pairs, in real sets).

    Generated pairs are of as many of `agreement_verbs` as are covered, in random order, two pairs each in turn.
    """
    if source != EMBEDDED:
        return covered_pairs(specimen, n, source=source, split="test", **kind)
    every = agreement_verbs()
    verbs = [verb for verb in every if None not in (cloze.single_piece(specimen, f) for f in (verb.base, verb.third))]
    if not verbs:
        return [], 0.0
    Random(kind.get("seed", 0)).shuffle(verbs)
    return generated_pairs(n - n % 2, split="test", verbs=verbs, **kind), len(verbs) / len(every)


def _is_copular(pair: MinimalPair) -> bool:
    return pair.good[pair.focus] in BE


def unit_of(pair: MinimalPair) -> str:
    """What an agreement pair shares with others: its verb, or the construction of Gulordava's nonsense."""
    forms = sorted({pair.good[pair.focus], pair.bad[pair.focus]})
    return str(pair.condition.get("construction") or ("be" if set(forms) <= set(BE) else "/".join(forms)))


def _alike(right: Mapping[str, np.ndarray], sets: Mapping[str, Sequence[MinimalPair]]) -> dict[str, np.ndarray]:
    """`meaningful` and `nonsense_alike`, over `unit_of`: neither has copulas, which are far easier than other verbs."""
    found = {}
    for name, kind in (("meaningful", "attractors_0"), ("nonsense_alike", "nonsense")):
        rows = [row for row, pair in enumerate(sets[kind]) if not _is_copular(pair)]
        found[name] = _over_units(right[kind][rows], [sets[kind][row] for row in rows])
    return found


def _originals_and_nonsense(specimen: Specimen, nonsense: Sequence[MinimalPair]) -> dict[str, np.ndarray]:
    """`_alike` of Gulordava's nonsense: beside the natural sentence that each construction was taken from, and in the
    constructions alone whose original verb is covered and no copula."""
    originals, _ = _covered(specimen, pair_sets.natural_originals("gulordava"))
    shared = {unit_of(pair) for pair in originals} & {unit_of(pair) for pair in nonsense}
    parts = {"meaningful": originals, "nonsense_alike": nonsense}
    sets = {name: [pair for pair in part if unit_of(pair) in shared] for name, part in parts.items()}
    return {name: _over_units(preferences(specimen, part), part) for name, part in sets.items()}


def word_before(pairs: Sequence[MinimalPair]) -> np.ndarray:
    """Is the form that the word before the verb calls for, the plural one behind an -s, the good one? 0/1 (pairs,)."""
    return np.array([pair.good[pair.focus - 1].endswith("s") != pair_sets.is_singular(pair) for pair in pairs], float)


def _over_units(values: np.ndarray, pairs: Sequence[MinimalPair]) -> np.ndarray:
    """Outcomes of pairs as samples over `unit_of`; nothing where a vocabulary covers no pair."""
    return by_unit(values, [unit_of(pair) for pair in pairs]) if len(pairs) else values


def covered_pairs(specimen: Specimen, n: int, source: str = EMBEDDED, **kind) -> tuple[list[MinimalPair], float]:
    """At most `n` pairs both of whose forms are single pieces, and the share of such among all that were drawn.

    A real set is read whole, of the grammar four times `n` pairs are asked; `kind` as in `pair_sets.agreement_pairs`.
    """
    covered, share = _covered(specimen, agreement_pairs(4 * n if source == EMBEDDED else EVERY, source=source, **kind))
    return covered[:n], share


def _covered(specimen: Specimen, drawn: Sequence[MinimalPair]) -> tuple[list[MinimalPair], float]:
    forms = {side[pair.focus] for pair in drawn for side in (pair.good, pair.bad)}
    known = {form for form in forms if cloze.single_piece(specimen, form) is not None}
    covered = [pair for pair in drawn if {pair.good[pair.focus], pair.bad[pair.focus]} <= known]
    cloze.require_known(specimen, drawn, "pair of verbs")
    return covered, len(covered) / len(drawn)


def preferences(specimen: Specimen, pairs: Sequence) -> np.ndarray:
    """Is the good form more probable? 0/1 over the pairs whose forms are single pieces."""
    return cloze.preferred(cloze.focus_preference(specimen, pairs)).astype(float)


def damaged_agreement(specimen: Specimen, n: int, seed: int = 0, source: str = EMBEDDED) -> dict[str, np.ndarray]:
    """Agreement (goldberg2019assessing) before and after damage to the sentence (ettinger2019what).

    Samples over verbs (`unit_of`) of at most `n` covered pairs: is the form that agrees with the subject more probable
    in the `intact` sentence, with its words `shuffled`, and with nothing kept before the verb (`headless`)? Each
    sentence has a noun of the other number (`_rivalled`), or the words alone would tell the subject's; and as many
    subjects are singular as plural, or the likelier form would do without any sentence.
    """
    pairs = _balanced(_covered(specimen, _rivalled(specimen, n, seed, source))[0], n)
    forms = [(pair.good[pair.focus], pair.bad[pair.focus]) for pair in pairs]
    rng = np.random.default_rng(seed)
    variants = {
        "intact": [Perturbed(pair.good, pair.focus) for pair in pairs],
        "shuffled": [shuffle_words(pair.good, pair.focus, rng) for pair in pairs],
        "headless": [truncate(pair.good, pair.focus, 0) for pair in pairs],
    }
    return {
        name: _over_units(cloze.preferred(cloze.word_log_probability(
            specimen, [item.words for item in items], [item.place for item in items], forms)), pairs)
        for name, items in variants.items()
    }  # fmt: skip


def left_without_subject(right: Mapping[str, np.ndarray]) -> float:
    """Of `damaged_agreement`: the part of the intact sentence's lead over guessing that `headless` keeps.

    A lead under 0.05 counts as 0.05, as on the axis of the conflict.
    """
    lead = {name: values.mean() - 0.5 for name, values in right.items()}
    return lead["headless"] / max(lead["intact"], 0.05)


def _rivalled(specimen: Specimen, n: int, seed: int, source: str) -> list[MinimalPair]:
    """Agreement pairs with a noun of the other number: behind the verb of generated sentences, where it disturbs the
    intact sentence least; as the attractor of natural ones, whose other nouns are not annotated."""
    if source != EMBEDDED:
        return agreement_pairs(EVERY, attractors=1, seed=seed, split="test", source=source)
    drawn, _ = verb_pairs(specimen, 8 * n, seed=seed)
    return [pair for pair in drawn if pair.condition["rivals"]]


def _balanced(pairs: Sequence[MinimalPair], n: int) -> list[MinimalPair]:
    """At most `n` of the pairs, as many with a singular subject as with a plural one."""
    parts = [[pair for pair in pairs if pair.condition["number"] == number] for number in NUMBERS]
    share = min(n // 2, *map(len, parts))
    return [pair for part in parts for pair in part[:share]]
