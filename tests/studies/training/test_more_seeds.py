"""Arms of more seeds: each has a language and weights of its own, whichever seeds it is trained with."""

import numpy as np
import pytest

from bertology_utils.samples import per_seed
from bertology_utils.studies.training import more_seeds
from bertology_utils.tuning import tiny_pretraining as tiny
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.formulas import clauses_of, names_of
from bertology_utils.verdicts.judging import judge_claim, needed

CLAIMS = {
    "masks": ("dynamic-masking",),
    "reading": ("more-data-longer-training",),
    "shapes": ("layers-over-heads",),
    "rare_words": ("frequency-subsampling",),
    "names": ("phrase-entity-masking",),
}
OF_THE_LADDER = {"third_of_steps", "all_steps"}


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """Steps and sentences that take a second."""
    monkeypatch.setattr(more_seeds, "RECIPE", more_seeds.replace(more_seeds.RECIPE, steps=6))
    monkeypatch.setattr(more_seeds, "LONG", 6)
    monkeypatch.setattr(more_seeds, "SENTENCES", 400)
    monkeypatch.setattr(more_seeds, "HELD_OUT", 20)
    more_seeds.sentences_of.cache_clear()
    yield
    more_seeds.sentences_of.cache_clear()


@pytest.mark.parametrize("name", list(CLAIMS))
def test_every_name_of_the_claims_is_a_sample_of_a_value_a_seed(name) -> None:
    found = getattr(more_seeds, name)([3, 4])
    assert all(
        names_of(clauses_of(formula)) - OF_THE_LADDER <= set(found.model)
        for claim in map(claim_by_id, CLAIMS[name])
        for formula in (claim.prediction, claim.given)
        if formula
    )
    assert {values.shape for values in (*found.model.values(), *found.twin.values())} == {(2, 1)}
    parts = {sample.partition("_")[0] for sample in found.twin} if name == "rare_words" else {""}
    for part in parts:
        losses = [v.mean() for sample, v in found.twin.items() if sample.startswith(part) and "agreement" not in sample]
        assert np.ptp(losses) == 0


def test_a_seed_learns_the_same_whichever_seeds_are_trained_with_it() -> None:
    alone, together = (more_seeds.masks(seeds).model["dynamic"][-1, 0] for seeds in ([4], [3, 4]))
    assert alone == pytest.approx(together, abs=1e-4)


def test_seeds_differ_in_their_words() -> None:
    first, second = ({word for words in more_seeds.words_of(seed) for word in words} for seed in (0, 1))
    assert len(first - second) > 20 and max(map(len, (first, second))) < more_seeds.WORDS


def test_the_first_words_stay_the_first() -> None:
    assert tiny.small_language(20, 3) == tiny.small_language(20, 3, drawn=False)


@pytest.mark.parametrize(
    ("by_layers", "by_heads", "verdict"),
    [
        ((0.2, 0.05, 0.0), (0.02, 0.0, 0.02), "replicates"),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), "cannot do the task"),  # no shape matters: ranges of noise
        ((0.0, 0.0, 0.2), (0.02, 0.0, 0.02), "cannot do the task"),  # layers lie apart, but depth does harm
        ((0.2, 0.05, 0.0), (0.3, 0.0, 0.1), "contradicts"),
    ],
)
def test_layers_and_heads_are_compared_where_depth_helps(by_layers, by_heads, verdict) -> None:
    rng, known = np.random.default_rng(0), claim_by_id("layers-over-heads")
    names = [f"{kind}_{n}" for kind, numbers in (("layers", (1, 2, 4)), ("heads", (1, 2, 8))) for n in numbers]
    means = dict(zip(names, (*by_layers, *by_heads), strict=True))
    means["heads_2"] = means["layers_2"]  # one arm under two names
    samples = {name: per_seed(4 + mean + rng.normal(0, 0.03, 48)) for name, mean in means.items()}
    assert judge_claim(known, needed(known, samples), [needed(known, samples)]).model.verdict == verdict
