"""MNLI and HANS from small files of their formats: two classes by turns, and scores by heuristic."""

import json

import numpy as np
import pytest

from bertology_utils.data.material import EMBEDDED
from bertology_utils.errors import NotAskable
from bertology_utils.studies.generalization import real_pairs
from bertology_utils.tuning.shortcuts import lexical_overlap
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import judge_claim, needed

HEAD = "gold_label\tsentence1\tsentence2\tpairID\theuristic\tsubcase\ttemplate\n"
LABELS = ("entailment", "neutral", "contradiction")


@pytest.fixture
def small_sets(data_folder) -> None:
    for split in ("train", "dev"):
        said = [(f"the king of {split} {i} met the cook .", label) for i in range(5) for label in LABELS]
        pairs = {i: {"text_a": a, "text_b": "the king was there .", "label": own} for i, (a, own) in enumerate(said)}
        data_folder(f"glue/subsets_prompt/glue_pretrain/MNLI/{split}.json", json.dumps(pairs))
    lines = [
        f"{label}\tThe king {i} met the cook .\tThe cook met the king {i} .\te\t{heuristic}\tx\tt\n"
        for heuristic in real_pairs.HEURISTICS
        for label in ("non-entailment", "entailment")
        for i in range(4)
    ]
    data_folder("glue/HANS/hans_small.tsv", HEAD + "".join(lines))


def test_two_classes_by_turns(small_sets) -> None:
    sets = real_pairs.pair_sets(train=8, test=12)
    assert [len(own) for own in (sets.lessons, sets.in_domain, sets.challenge)] == [8, 10, 12]
    for own in (sets.lessons, sets.in_domain, sets.challenge):
        assert list(own.labels) == [1, 0] * (len(own) // 2)
    assert (lexical_overlap(sets.challenge) == 1).all() and not set(sets.lessons.sentences) & set(
        sets.in_domain.sentences
    )


def test_readers_are_asked_by_heuristic_under_full_alone(tiny, small_sets) -> None:
    found = real_pairs.tuned(tiny, "mnli + hans", [0, 1], 1, train=8, test=12)
    assert found["in_domain"].shape == (2, 5) and found["challenge"].shape == (2, 6)
    assert all(
        found[f"{name}_{side}"].shape == (2, 2) for name in real_pairs.HEURISTICS for side in ("follows", "does_not")
    )
    with pytest.raises(NotAskable, match="full"):
        real_pairs.tuned(tiny, EMBEDDED, [0], 1)


@pytest.mark.parametrize(
    ("learnt", "yes", "verdict"),
    [
        (0.9, 0.95, "replicates"),
        (0.9, 0.5, "replicates"),
        (0.9, None, "contradicts"),
        (0.55, 0.95, "cannot do the task"),
    ],
)
def test_planted_readers_of_hans(learnt, yes, verdict) -> None:
    """yes: how often a reader says that a pair of HANS follows; None: one that knows."""
    rng, follows = np.random.default_rng(0), np.arange(600) % 2 == 0
    said = rng.random((5, 600)) < (0.5 if yes is None else yes)
    challenge = rng.random((5, 600)) < 0.9 if yes is None else said == follows
    scores = {"in_domain": rng.random((5, 600)) < learnt, "challenge": challenge}
    found, claim = real_pairs.by_heuristic(scores), claim_by_id("hans-lexical-overlap")
    if yes:
        assert found["subsequence_follows"].mean() == pytest.approx(yes, abs=0.06)
        assert found["constituent_does_not"].mean() == pytest.approx(1 - yes, abs=0.06)
    control = {name: np.full_like(own, 0.5, dtype=float) for name, own in found.items()}
    assert judge_claim(claim, needed(claim, found), [needed(claim, control)]).verdict == verdict
