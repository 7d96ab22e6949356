"""Facts asked of a model: what it fills in, how it does relation by relation, and how easily it is led astray.

Depends on `knowledge` (what is measured) and `figures`; `found` are the relations that were asked.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from bertology_utils.absent import unless_absent
from bertology_utils.data import lama
from bertology_utils.data.material import EMBEDDED
from bertology_utils.figures import Figure, bars
from bertology_utils.instruments import knowledge
from bertology_utils.instruments.cloze import fill_in
from bertology_utils.instruments.knowledge import RelationScores
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.verdicts.claims import claim_by_id

Found = Sequence[RelationScores]
NEGATED = ("capital", "class")  # of the book's own relations


def first_guesses(specimen: Specimen, prompts: Sequence[str], k: int = 4) -> list[dict[str, str]]:
    """What a model expects at the "[MASK]" of each prompt, from the whole vocabulary: rows of a table."""
    best = fill_in(specimen, [prompt.split() for prompt in prompts], k=k).words
    return [{"prompt": prompt, "first guesses": ", ".join(words)} for prompt, words in zip(prompts, best, strict=True)]


def ask(specimen: Specimen, relations: Sequence[str], *how: object) -> list[RelationScores]:
    """`knowledge.relation_scores` of several relations: frames, facts a relation, source and seed say how."""
    return [knowledge.relation_scores(specimen, name, *how) for name in relations]


@unless_absent
def relation_bars(scores: Runs, claim: str, caption: str, most: int = 9) -> Figure:
    """P@1 of the first relations, one plain prompt each, beside three baselines."""
    values = {
        one.relation: {
            "model": one.hits[0],
            "model, raw": one.raw_hits[0],
            "twin": other.hits[0],
            "most frequent object": one.majority,
            "guess": 1 / len(one.candidates),
        }
        for one, other in list(zip(scores.model, scores.twin, strict=True))[:most]
    }
    return bars(
        values,
        controls=["twin", "most frequent object", "guess"],
        ylabel="P@1 among candidates",
        caption=f"{caption} {claim_by_id(claim).figure}",
    )


def among_all_pieces(specimen: Specimen, found: Found) -> dict[str, float]:
    """Share of all facts whose object is the first, or one of the first ten, of the whole vocabulary; how many."""
    ranks = np.concatenate([knowledge.vocabulary_ranks(specimen, one) for one in found])
    return {"first": (ranks < 1).mean(), "first_ten": (ranks < 10).mean(), "facts": len(ranks)}


def ranked_triples(specimen: Specimen, found: Found, corrupted: int | None, seed: int) -> dict[str, np.ndarray]:
    """`knowledge.triple_ranking` over relations: `mlm`, `classifier_seen` and `classifier_unseen`, (relations,)."""
    return knowledge.over_relations([knowledge.triple_ranking(specimen, one, corrupted, seed) for one in found])


def negation_effects(
    specimen: Specimen, relations: Sequence[str], limit: int | None, source: str = EMBEDDED
) -> dict[str, Mapping[str, np.ndarray]]:
    """`knowledge.negation_effect` as groups of bars; of LAMA's relations the first four that can be negated."""
    chosen = NEGATED if source == EMBEDDED else sorted(lama.altered().intersection(relations))[:4]
    effects = {name: knowledge.negation_effect(specimen, name, limit, source) for name in chosen}
    words = {"same first guess": "top1_agreement", "rank correlation": "spearman"}
    return {label: {name: effect[measure] for name, effect in effects.items()} for label, measure in words.items()}


def misprimed(specimen: Specimen, found: Found, seed: int, source: str = EMBEDDED) -> dict[str, np.ndarray]:
    """`knowledge.mispriming_effect` of all relations that have such primes: `plain`, `misprimed`, `gives_the_prime`."""
    chosen = [one for one in found if source == EMBEDDED or one.relation in lama.altered()]
    return knowledge.joined([knowledge.mispriming_effect(specimen, one, seed, source) for one in chosen])
