"""What a name alone tells of people, invented ones and LAMA's: the test behind LAMA-UHN (poerner2019bert).

Depends on `knowledge` (facts that were asked) and `cloze`. The study drops a fact where a part of the name, asked about
as a name, gives the answer away; here the facts are divided by that, and both parts scored.
"""

from collections.abc import Sequence

import numpy as np

from bertology_utils.data.material import EMBEDDED
from bertology_utils.errors import BertologyError
from bertology_utils.instruments import knowledge
from bertology_utils.instruments.cloze import MASK, word_log_probability
from bertology_utils.instruments.knowledge import RelationScores, filled, joined
from bertology_utils.language.facts import invented_people
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit
from bertology_utils.verdicts.published import published

FIRST = 3
# What the objects of a relation of people are.
KINDS = {"P19": "city", "P20": "city", "P27": "country", "P103": "language", "P1412": "language"}


def example(people: int, seed: int) -> str:
    """The birthplace of the first invented person whose name says another one, and the question."""
    person = invented_people(people, False, seed)[0]
    return " ".join((*person.statement(), *person.prompts("language")[0].words))


def judged_by_name(
    specimen: Specimen, found: Sequence[RelationScores], people: int, seed: int, source: str = EMBEDDED
) -> dict[str, np.ndarray]:
    """`knowledge.names_test` of so many invented people, who agree with their name and do not, or `names_test`."""
    if source == EMBEDDED:
        same, clashing = (invented_people(people, congruent, seed) for congruent in (True, False))
        return knowledge.names_test(specimen, same, clashing)
    return names_test(specimen, found)


def published_losses() -> dict[str, float]:
    """Share of BERT-base's right answers that are lost where facts that a name gives away are left out."""
    return {
        f"{name}, BERT-base": 1
        - published("poerner2019bert", f"{name} UHN base") / published("petroni2019language", f"{name} base")
        for name in ("T-REx", "Google-RE")
    }


def names_test(specimen: Specimen, found: Sequence[RelationScores]) -> dict[str, np.ndarray]:
    """Samples over people, named as in `knowledge.names_test`; a fact is *congruent* with a name that tells it.

    A name tells a fact if the object is among its three best guesses (`FIRST`), candidates of the relation less each
    one's mean over all names, where the study takes guesses among all words. `style`: the best guess is the object;
    `constant`: what a guess among the relation's candidates hits, for scores less their mean know no frequencies (the
    most frequent object is the baseline of raw ones); `congruent` and `incongruent`: the plain prompt finds the
    object, over as many facts of each relation, so that both choose among the same candidates, and over all facts
    where there are none; `misled`: it finds the best guess instead; `told`, the positive control: it finds the object
    behind the sentence that says it. Candidates are taken less their mean throughout.
    Raises BertologyError where no relation is about people.
    """
    asked = [scores for scores in found if scores.relation in KINDS]
    if not asked:
        raise BertologyError(f"No relation of people was asked; they are: {', '.join(KINDS)}.")
    people = joined([_of_relation(specimen, scores) for scores in asked])
    subjects = np.array([fact.subject for scores in asked for fact in scores.facts])
    hits = people.pop("hits")
    parts = {name: people.pop(f"as_{name}") for name in ("congruent", "incongruent")}
    chosen = {name: mask if mask.any() else np.ones_like(mask) for name, mask in parts.items()}
    samples = {name: by_unit(values, subjects) for name, values in people.items()}
    return samples | {name: by_unit(hits[mask], subjects[mask]) for name, mask in chosen.items()}


def _of_relation(specimen: Specimen, scores: RelationScores) -> dict[str, np.ndarray]:
    """Samples (facts,) of one relation: booleans, and the share that a guess hits."""
    order = name_scores(specimen, scores).argsort(-1)[:, ::-1]
    guess = np.full(len(scores.facts), 1 / len(scores.candidates))
    right = order == scores.answers[:, None]
    misled = ~right[:, 0] & (scores.calibrated[0].argmax(-1) == order[:, 0])
    tells = right[:, :FIRST].any(1)
    same = min(tells.sum(), (~tells).sum())  # the facts are in random order, so the first ones are a sample
    return {"style": right[:, 0], "constant": guess, "misled": misled, "hits": scores.hits[0],
            "told": told_hits(specimen, scores), "as_congruent": tells & (tells.cumsum() <= same),
            "as_incongruent": ~tells & ((~tells).cumsum() <= same)}  # fmt: skip


def told_hits(specimen: Specimen, scores: RelationScores) -> np.ndarray:
    """Booleans (facts,): the plain prompt finds the object behind the same sentence with the object in it."""
    prompts = [fact.prompts()[0] for fact in scores.facts]
    words = [(*filled(prompt), *prompt.words) for prompt in prompts]
    places = [len(prompt.words) + prompt.focus for prompt in prompts]
    values = word_log_probability(specimen, words, places, [scores.candidates] * len(words)).log_probabilities
    return (values - values.mean(0)).argmax(-1) == scores.answers


def name_scores(specimen: Specimen, scores: RelationScores) -> np.ndarray:
    """How well a name fits each candidate, (facts, candidates): log probabilities less their mean, best over parts."""
    parts = [(i, part) for i, fact in enumerate(scores.facts) for part in fact.subject.split()]
    question = f"is a common name in the following {KINDS[scores.relation]} : {MASK} .".split()
    words = [(part, *question) for _, part in parts]
    places = [1 + question.index(MASK)] * len(words)
    values = word_log_probability(specimen, words, places, [scores.candidates] * len(words)).log_probabilities
    best = np.full((len(scores.facts), len(scores.candidates)), -np.inf)
    np.maximum.at(best, [i for i, _ in parts], values - values.mean(0))
    return best
