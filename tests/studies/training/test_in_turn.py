"""Words predicted in turn: who sees whom, what names are worth, and that the samples are the claim's."""

import numpy as np
import pytest

from bertology_utils.studies.training import in_turn
from bertology_utils.studies.training.engine_arms import Arm, train
from bertology_utils.verdicts.claims import claim_by_id


@pytest.fixture(scope="module")
def permuted():
    """Before its first step and after a few, on tight names."""
    read = in_turn.sentences(200, np.random.default_rng(3), range(12))
    return train(
        Arm([[words] for words in read], in_turn.RECIPE | {"objectives": {"permutation": 1.0}}), in_turn.ALL, 3000, 3
    )


def test_a_name_has_one_second_word_or_any():
    tight, loose = (in_turn.sentences(300, np.random.default_rng(0), own) for own in (range(12), None))
    first, last = in_turn.NAME
    assert {s[last] == in_turn.LAST[in_turn.FIRST.index(s[first])] for s in tight} == {True}
    assert len({(s[first], s[last]) for s in loose}) > 100


def test_the_first_word_sees_nothing_of_the_name_and_the_second_the_first(permuted):
    model = permuted[-1]
    asked = [("the", "judge", "loves", "new", "york", "often", ".")]
    costs = in_turn.costs_in_turn(model, asked)[0]
    shown = {place: [tuple("cape" if i == place else w for i, w in enumerate(asked[0]))] for place in in_turn.NAME}
    words = model.tokenizer.convert_tokens_to_ids
    assert costs.shape == (2,) and words("york") != words("cape")
    # another first word: the second one's cost moves; another second word: the first one's does not
    assert in_turn.costs_in_turn(model, shown[in_turn.NAME[0]])[0][1] != pytest.approx(costs[1], abs=1e-6)
    assert in_turn.costs_in_turn(model, shown[in_turn.NAME[1]])[0][0] == pytest.approx(costs[0], abs=1e-5)


def test_the_samples_are_those_of_the_claim(monkeypatch):
    monkeypatch.setattr(in_turn, "READ", 200)
    monkeypatch.setattr(in_turn, "PIECES", 3000)
    trained, untrained = in_turn.in_turn(5)
    names = claim_by_id("xlnet-permutation-lm").parsed_prediction.names
    assert names | {"asked_in_turn", "second_of_masked"} <= set(trained) and set(trained) == set(untrained)
    assert untrained["masked"] == pytest.approx(untrained["permuted"], abs=0.1)
