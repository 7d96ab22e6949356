"""Minimal pairs judged as whole sentences, by pseudo-log-likelihood, beside rules that know no grammar.

Scores and rules come from `grammaticality`, items from `pair_sets`.
"""

from collections.abc import Mapping
from random import Random

import numpy as np

from bertology_utils import figures
from bertology_utils.absent import unless_absent
from bertology_utils.data import pair_sets
from bertology_utils.data.material import EMBEDDED
from bertology_utils.data.pair_sets import agreement_pairs, npi_pairs
from bertology_utils.figures import Figure
from bertology_utils.instruments.grammaticality import RULES, SCORED, baselines, best_rule, judgements, load_suite
from bertology_utils.language.agreement_verbs import agreement_verbs
from bertology_utils.language.lexicon import NUMERALS, load_lexicon
from bertology_utils.language.pairs import MinimalPair
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs

PLL_VARIANTS = {"one_piece": SCORED, "later_pieces": "within_word_l2r", "whole_word": "whole_word"}
"""What is masked beside the piece that is scored: salazar2020masked, then the two of kauf2023better."""


def paradigms(
    specimen: Specimen, n: int, seed: int = 0, source: str = EMBEDDED, variant: str = SCORED
) -> dict[str, np.ndarray]:
    """Minimal pairs judged as wholes, by pseudo-log-likelihood: `grammaticality.judgements` of each paradigm, (pairs,).

    At most `n` pairs of a paradigm; see `suite`.
    """
    return {name: judgements(specimen, pairs, variant) for name, pairs in suite(n, seed, source).items()}


def by_variant(specimen: Specimen, n: int, seed: int = 0, source: str = EMBEDDED) -> dict[str, float]:
    """The share of pairs judged rightly, a mean over `paradigms`, by what is masked (`PLL_VARIANTS`)."""
    found = {name: paradigms(specimen, n, seed, source, variant) for name, variant in PLL_VARIANTS.items()}
    return {name: float(np.mean([right.mean() for right in by_name.values()])) for name, by_name in found.items()}


def rules_of_paradigms(
    specimen: Specimen, n: int, seed: int = 0, source: str = EMBEDDED
) -> dict[str, dict[str, np.ndarray]]:
    """What rules without grammar make of the same pairs: `grammaticality.baselines` of each paradigm."""
    return {name: baselines(specimen, pairs) for name, pairs in suite(n, seed, source).items()}


def suite(n: int, seed: int = 0, source: str = EMBEDDED) -> dict[str, list[MinimalPair]]:
    """Pairs by paradigm: "zorro" has 23, drawn as for its recorded scores, and the book's own pairs make four."""
    if source != EMBEDDED:
        return load_suite(source, n, seed).paradigms
    drawn = {"seed": seed, "split": "test"}
    return {
        "agreement": agreement_pairs(n, **drawn),
        "agreement, attractor": agreement_pairs(n, 1, **drawn),
        "reflexive": pair_sets.reflexive_pairs(n, 1, **drawn),
        "npi licensor": npi_pairs(n, **drawn),
    }


def against_rules(judged: Runs, rules: Runs) -> list[dict[str, str]]:
    """One row a paradigm, for a table: model and twin, the twin with all words masked, the rules, and the model's lead.

    `judged` holds `paradigms` of both sides, and `rules` their `rules_of_paradigms`.
    """
    rows = []
    for name, values in judged.model.items():
        known, untrained = rules.model[name], rules.twin[name]
        row = {"model": values, "twin": judged.twin[name], "twin, blind": untrained["blind"]}
        row |= {rule: known[rule] for rule in RULES}
        lead = 100 * (values.mean() - best_rule(known))
        rows.append({"paradigm": name} | {key: f"{x.mean():.0%}" for key, x in row.items()}
                    | {"over the best rule": f"{lead:+.0f}"})  # fmt: skip
    return rows


@unless_absent
def rules_table(judged: Runs, rules: Runs, caption: str) -> Figure:
    """The rows of `against_rules` as a table."""
    return figures.table(against_rules(judged, rules), caption=caption)


CONTRASTS = {
    "only / even": ("only the {noun} could ever {verb} .", "even the {noun} could ever {verb} ."),
    "more than / at least": ("no {noun} saw more than {count} dogs .", "no {noun} saw at least {count} dogs ."),
}
"""Pairs whose sentences differ in the same words each time, like the paradigms of Zorro on which twins score 0 or 1."""


def fixed_contrasts(specimen: Specimen, n: int, seed: int = 0) -> dict[str, dict[str, np.ndarray]]:
    """`judgements` of pairs that differ in one fixed contrast, and those with all words masked (`blind`), (n,) each."""
    rng, nouns = Random(seed), [noun.singular for noun in load_lexicon("test").nouns["animal"]]
    found = {}
    for name, frames in CONTRASTS.items():
        drawn = [{"noun": rng.choice(nouns), "verb": rng.choice(agreement_verbs()[:40]).base,
                  "count": rng.choice(NUMERALS)} for _ in range(n)]  # fmt: skip
        pairs = [MinimalPair(*(tuple(f.format(**words).split()) for f in frames), 0, name) for words in drawn]
        found[name] = {"judged": judgements(specimen, pairs), "blind": baselines(specimen, pairs)["blind"]}
    return found


def same_answers(found: Mapping[str, Mapping[str, np.ndarray]]) -> float:
    """Of `fixed_contrasts`: the share of pairs judged alike with and without the words."""
    return float(np.mean([(judged["judged"] == judged["blind"]).mean() for judged in found.values()]))


@unless_absent
def contrast_table(runs: Runs, caption: str) -> Figure:
    """The shares of `fixed_contrasts` that are judged rightly, one row a network: the model and its random twins."""
    networks = {"model": runs.model} | {f"random {i}": found for i, found in enumerate((runs.twin, *runs.others), 1)}
    rows = [
        {"network": network}
        | {
            f"{contrast}{', words masked' * (kind == 'blind')}": f"{right.mean():.0%}"
            for contrast, judged in found.items()
            for kind, right in judged.items()
        }
        for network, found in networks.items()
    ]
    return figures.table(rows, caption=caption)
