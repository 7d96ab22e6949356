"""Proto-roles: every property by itself, layers chosen by other verbs, a baseline of verbs."""

from collections import Counter

import pytest

from bertology_utils.data.material import EMBEDDED
from bertology_utils.runs import Runs
from bertology_utils.studies.semantics.proto_roles import ProtoRoles, over_properties


@pytest.fixture(scope="module")
def arguments() -> ProtoRoles:
    return ProtoRoles.drawn(40, 0, EMBEDDED)


def test_properties_are_scored_by_layer_and_sampled_by_verb(arguments, tiny):
    scores = arguments.scores(tiny, seeds=2, epochs=1, steps=5)
    assert set(scores) == set(arguments.usual)
    assert all(values.shape == (tiny.layers + 1, 2, 80) for values in scores.values())
    samples = arguments.samples(scores)
    verbs = len(set(arguments.verbs))
    assert samples["best_layer"].shape == samples["layer_0"].shape == (2, verbs)
    assert samples["verb_majority"].shape == (verbs,) and 0 <= samples["layer"] <= tiny.layers
    assert samples["layer_0"].mean() == pytest.approx(over_properties(scores)[0].mean())
    assert samples["by_layer"].shape == (tiny.layers + 1, 80)


def test_the_table_has_a_row_a_property(arguments, tiny):
    scores = arguments.scores(tiny, seeds=1, epochs=1, steps=5)
    drawn = arguments.table(Runs(scores, scores), layer=1)
    assert len(drawn.table) == len(arguments.usual)
    assert (drawn.table["model"] == drawn.table["twin"]).all()
    assert "layer 1" in drawn.caption


def test_what_is_usual_for_new_verbs_is_a_constant_answer(arguments):
    assert not set.intersection(*({item.lemma for item in part} for part in arguments.parts))
    assert all(scores.mean() == pytest.approx(0.5) for scores in arguments.usual.values())


def test_no_verb_speaks_for_all(arguments):
    assert max(Counter(arguments.verbs).values()) <= 2
