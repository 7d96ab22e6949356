"""A reason that says nothing about attention does not pass a claim, and what the claim means does."""

import numpy as np
import pytest

from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, UNABLE, judge, parse


def verdict(identity: str, samples: dict[str, np.ndarray]) -> str:
    claim = claim_by_id(identity)
    return judge(parse(claim.prediction), parse(claim.given) if claim.given else None, samples).verdict


@pytest.mark.parametrize(
    ("ahead", "behind", "expected"),
    [(-0.146, -0.154, UNABLE), (0.06, 0.05, UNABLE), (0.08, -0.06, REPLICATES), (0.03, 0.01, CONTRADICTS)],
)
def test_only_models_near_each_other_can_change_places(ahead, behind, expected):
    noise = np.random.default_rng(0).normal(0, 0.03, (2, 400))
    samples = {"ahead": ahead + noise[0], "behind": behind + noise[1]}
    assert verdict("tree-method-favours-model", samples) == expected
