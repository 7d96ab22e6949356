"""Facts asked of the tiny model: rows of tables, groups of bars, shares of facts."""

import numpy as np
import pytest

from bertology_utils.absent import Absent
from bertology_utils.figures import Figure
from bertology_utils.instruments import knowledge
from bertology_utils.runs import Runs
from bertology_utils.studies.world_knowledge import asking, mined_templates

CLAIM = "mlm-fill-blank-knowledge"


@pytest.fixture(scope="module")
def found(tiny):
    return asking.ask(tiny, ["class", "opposite"], knowledge.REWRITES[:1], 24)


def test_first_guesses_are_rows_of_a_table(tiny) -> None:
    (row,) = asking.first_guesses(tiny, ["the dog is [MASK] ."], k=3)
    assert row["prompt"] == "the dog is [MASK] ." and len(row["first guesses"].split(", ")) == 3


def test_bars_of_relations_stand_beside_three_baselines(found) -> None:
    figure = asking.relation_bars(Runs(found, found), CLAIM, "Facts.", most=1)
    assert isinstance(figure, Figure) and "Petroni" in figure.caption
    assert list(figure.table["name"]) == ["model", "model, raw", "twin", "most frequent object", "guess"]
    assert asking.relation_bars(Absent("no head"), CLAIM, "Facts.") is None


def test_among_all_pieces_ten_guesses_hold_the_first(tiny, found) -> None:
    shares = asking.among_all_pieces(tiny, found)
    assert shares["facts"] == sum(len(one.facts) for one in found) and shares["first_ten"] >= shares["first"]


def test_triples_and_primes_are_joined_over_relations(tiny, found) -> None:
    assert {len(values) for values in asking.ranked_triples(tiny, found, None, 0).values()} == {2}
    primed = asking.misprimed(tiny, found, 0)
    assert {len(values) for values in primed.values()} == {sum(len(one.facts) for one in found)}


def test_negation_has_a_group_for_each_measure(tiny) -> None:
    effects = asking.negation_effects(tiny, [], 3)
    assert {label: tuple(group) for label, group in effects.items()} == dict.fromkeys(
        ("same first guess", "rank correlation"), asking.NEGATED
    )


def test_mined_templates_are_the_frames_that_were_written(tiny) -> None:
    telling, silent = ["a {first} is a {second} ."], ["the {second} was near the {first} ."]
    mined = mined_templates.mine(tiny, telling, silent, 24)
    assert set(mined.templates) == {*telling, *silent} and len(mined.rows) == 2
    assert mined.templates[mined.telling[0] - 1] == telling[0]


def test_the_sentence_tells_ties_from_a_filter_that_works() -> None:
    tied = mined_templates.Mined(("a", "b"), (0.5, 0.5), (0.0, 0.0), (2,), 4)
    works = mined_templates.Mined(("a", "b"), (0.5, 0.2), (0.5, 0.0), (1,), 4)
    assert "cannot choose" in tied.sentence and "so the filter drops" in works.sentence
    assert "does not drop" in mined_templates.Mined(("a", "b"), (0.5, 0.2), (0.5, 0.0), (2,), 4).sentence
    assert np.all([row["template"] in "ab" for row in works.rows])
