"""Readers of pairs taught with some counter-examples of the shortcut, or with other parts of the encoder in use.

Each seed draws lessons, test pairs and head anew, and an untrained network; the study `small-models` records it.
Depends on `planted` (the pairs), `readers` (how they are learnt), `debiasing` and `recorded_arms`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bertology_utils import recorded_arms
from bertology_utils.absent import Absent, unless_absent
from bertology_utils.figures import Figure, curve
from bertology_utils.models import Specimen, load, twin
from bertology_utils.recorded_arms import Values, one_by_one
from bertology_utils.runs import Runs
from bertology_utils.studies.generalization import readers
from bertology_utils.studies.generalization.debiasing import Siamese
from bertology_utils.studies.generalization.planted import PairSets, mixed_lessons, pair_sets

MODEL, DOSED, TRAINED = "pocket-bert", "counter-examples", "trained-readers"
LESSONS, TEST, EPOCHS = 400, 200, 2  # pairs to learn from, pairs of each sort to be asked, passes
FIRST_SEED, OTHER = 6000, 50_000  # of a seed's pairs; from that of its lessons to that of its counter-examples
DOSES = (0, 1, 3, 10, 30)  # per cent of the lessons
ORDERED = ("swap", "subsequence")  # constructions of which both answers have the same words; a clause has "if"
ADAPTER_RATE = 2e-3  # at which adapters learn


# ---------------------------------------------------------------- what is measured


def score(specimen: Specimen, sets: PairSets, seed: int, **changes: Any) -> Values:
    """Accuracy of one tuned reader on `in_domain` and `challenge` pairs, and on the latter by construction."""
    found = readers.tune(specimen, sets, [seed], EPOCHS, **changes)
    return {name: float(found[name].mean()) for name in ("in_domain", "challenge")} | readers.by_kind(found)


def doses(specimen: Specimen, sets: PairSets, seed: int, given: Sequence[int] = DOSES) -> Values:
    """Scores, as `challenge_D`, after as many lessons, D per cent of which are counter-examples in place of ordinary
    pairs: at dose 0 the latter stand there."""
    found = {}
    for dose in given:
        lessons = mixed_lessons(len(sets.lessons), seed, dose / 100, seed + OTHER)
        own = score(specimen, replace(sets, lessons=lessons), seed)
        found |= {f"{name}_{dose}": value for name, value in own.items()}
    return found


def ways(specimen: Specimen, sets: PairSets, seed: int) -> Values:
    """Scores, as `adapters_challenge`, of a siamese reader whose encoder is trained, and of adapters in a frozen one
    (bhargava2021generalization)."""
    adapters = {"adapters": max(4, specimen.width // 16), "learning_rate": ADAPTER_RATE}
    tried: Mapping[str, Mapping[str, Any]] = {"siamese": {"kind": Siamese}, "adapters": adapters}
    found = {way: score(specimen, sets, seed, **changes) for way, changes in tried.items()}
    return {f"{way}_{name}": own[name] for way, own in found.items() for name in ("in_domain", "challenge")}


def _sides(seed: int) -> tuple[Specimen, Specimen, PairSets, int]:
    """The model, an untrained one, the pairs of a seed, and the seed that draws all."""
    specimen, own = load(MODEL), FIRST_SEED + seed
    return specimen, twin(specimen, own), pair_sets(LESSONS, TEST, own), own


def dosed(seed: int) -> tuple[Values, Values]:
    """`doses` of the model, and the lowest and the highest of an untrained one."""
    specimen, untrained, *given = _sides(seed)
    return doses(specimen, *given), doses(untrained, *given, (DOSES[0], DOSES[-1]))


def trained(seed: int) -> tuple[Values, Values]:
    """`ways` of the model and of an untrained one, after the lessons of dose 0."""
    specimen, untrained, *given = _sides(seed)
    return ways(specimen, *given), ways(untrained, *given)


EXPERIMENTS = {DOSED: one_by_one(dosed, TEST), TRAINED: one_by_one(trained, TEST)}


# ---------------------------------------------------------------- what the chapter reads


def read(specimen: Specimen, experiment: str) -> Runs | Absent:
    """The recorded samples; where the specimen is another model, absent. Raises BertologyError as `recorded_arms`."""
    if specimen.name != MODEL:
        return Absent(f"this is recorded of {MODEL} alone")
    return recorded_arms.read(experiment)


def trained_ways(specimen: Specimen) -> Runs | Absent:
    """trained_siamese and adapters on the challenge, recorded_vanilla beside them, a tuned reader of the same lessons;
    with `_in_domain`, of vanilla recorded_in_domain, on biased pairs."""
    plain, own = read(specimen, DOSED), read(specimen, TRAINED)
    return Runs.joined(
        recorded_vanilla=plain["challenge_0"],
        recorded_in_domain=plain["in_domain_0"],
        trained_siamese=own["siamese_challenge"],
        trained_siamese_in_domain=own["siamese_in_domain"],
        adapters=own["adapters_challenge"],
        adapters_in_domain=own["adapters_in_domain"],
    )


def judged(runs: Runs) -> Runs:
    """vanilla, augmented: at the ends of the doses, what word order alone can tell; in_domain and augmented_in_domain:
    ordinary pairs at both."""
    ends = {"vanilla": DOSES[0], "augmented": DOSES[-1]}
    places = {"vanilla": "in_domain", "augmented": "augmented_in_domain"}

    def side(own: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        ordered = {name: sum(own[f"{kind}_{dose}"] for kind in ORDERED) / len(ORDERED) for name, dose in ends.items()}
        return ordered | {places[name]: own[f"in_domain_{dose}"] for name, dose in ends.items()}

    return runs.map(side)


@unless_absent
def figure(runs: Runs, caption: str) -> Figure:
    """Accuracy by dose: pairs like most lessons, and each construction of the challenge."""
    names = {"in_domain": "ordinary pairs", **dict.fromkeys(readers.challenge_kinds(TEST))}
    series = {
        f"challenge, {name}" if said is None else said: np.stack([runs.model[f"{name}_{dose}"][:, 0] for dose in DOSES])
        for name, said in names.items()
    }
    look = {"xlabel": "% counter-examples", "ylabel": "accuracy", "baselines": {"chance": 0.5}}
    return curve(np.array(DOSES, dtype=float), series, caption=caption, **look)
