"""Does the second text follow? Pairs in one language from the grammar of ten, taught in English; recorded.

Depends on `ten_languages` and `tuning.training`. A pair tells of two persons what each is like and does, and then says
of one what one of them is like: *The rich boy runs. The small thief thinks.* and *The thief is rich.* Each person goes
with each adjective once, so that shared words, lengths and any single word say nothing; who is meant must be known.
In a pilot four times as many pairs were learnt no better.
"""

from random import Random

from bertology_utils.language.lexicon import SPLITS
from bertology_utils.language.ten_languages import LANGUAGES, PIVOT, VERBS, Meaning, concepts, gender, sentence
from bertology_utils.models import Specimen, load, twin
from bertology_utils.recorded_arms import Values, one_by_one
from bertology_utils.runs import Runs
from bertology_utils.studies.mbert.frozen_bottom import across
from bertology_utils.studies.mbert.parallel_text import IN_PLACE, MULTILINGUAL
from bertology_utils.tuning.training import Examples, correctness, finetune

TAUGHT, ASKED, ELSEWHERE = {"few": 40, "many": 120}, 40, 4  # first texts, four pairs each
HOW = {"freeze": "embeddings", "pool": "pair", "budget": 128}
Told = tuple[Meaning, Meaning]


def drawn(n: int, split: str, seed: int) -> list[Told]:
    """What two persons of one gender are like and do, so that no form of an adjective tells whose it is."""
    rng, found = Random(f"following-{split}-{seed}"), []
    people, verbs = concepts("nouns", ["person"], split), concepts("verbs", VERBS["person"], split)
    adjectives = concepts("adjectives", ["person", "being", "any"], split)
    while len(found) < n:
        persons, like, does = rng.sample(people, 2), rng.sample(adjectives, 2), rng.sample(verbs, 2)
        if all(len({gender(code, person) for person in persons}) == 1 for code in LANGUAGES if code != "de"):
            found.append(tuple(Meaning(*of) for of in zip(persons, like, does, strict=True)))
    return found


def pairs(told: list[Told], code: str) -> Examples:
    """Four pairs of each text in a language: either person with either adjective; 1 where it is that person's."""
    found = []
    for both in told:
        first = [token.form for meaning in both for token in sentence(meaning, code)]
        for person in both:
            for like in both:
                second = sentence(Meaning(person.subject, predicate=like.subject_adjective), code)
                found.append((first, int(person is like), [token.form for token in second]))
    return Examples(*zip(*found, strict=True))


def taught(specimen: Specimen, size: int, split: str, asked: dict[str, Examples], seed: int) -> dict[str, float]:
    """A copy is tuned on pairs in English; the share of pairs told rightly of each set that is asked."""
    run = finetune(specimen, pairs(drawn(size, split, seed), PIVOT), asked[PIVOT], seed, **HOW)
    others = {code: own for code, own in asked.items() if code != PIVOT}
    right = {code: correctness(run.classifier, specimen, own).mean() for code, own in others.items()}
    return {PIVOT: run.accuracy} | {code: float(share) for code, share in right.items()}


def of_seed(seed: int) -> tuple[Values, Values]:
    """within_*, across_*: pairs of new words told rightly in English and in other languages, after few and many."""
    shown, hidden = (SPLITS[(seed + half) % len(SPLITS)] for half in range(2))
    told = drawn(ASKED, hidden, seed)
    asked = {code: pairs(told[: ASKED if code == PIVOT else ELSEWHERE], code) for code in LANGUAGES}
    model, sides = load(MULTILINGUAL), []
    for side, sizes in ((model, TAUGHT), (twin(model, seed), {"few": TAUGHT["few"]})):
        values: Values = {}
        for name, size in sizes.items():
            right = taught(side, size, shown, asked, seed)
            values |= {f"within_{name}": right[PIVOT], f"across_{name}": across(right)}
        sides.append(values)
    return tuple(sides)


def told(runs: Runs) -> str:
    """What the recorded samples say: whether English itself was learnt, and only then what carries over, in words."""
    shares = {name: sample.mean() for name, sample in runs.model.items()}
    few, many = (f"{4 * size:,}" for size in TAUGHT.values())
    own = (
        f"In {runs.networks} recorded seeds {shares['within_few']:.0%} of new pairs in English are told rightly after "
        f"{few} pairs and {shares['within_many']:.0%} after {many}, by an untrained network after {few} "
        f"{runs.twin['within_few'].mean():.0%}"
    )
    best = max(TAUGHT, key=lambda name: shares[f"within_{name}"])
    if shares[f"within_{best}"] < IN_PLACE:
        return f"{own}. The model *cannot do the task* in the language that taught it, so nothing can be carried over."
    return f"{own}; in the other languages {shares[f'across_{best}']:.0%}."


EXPERIMENTS = {"following-in-ten-languages": one_by_one(of_seed, 4 * ASKED)}
