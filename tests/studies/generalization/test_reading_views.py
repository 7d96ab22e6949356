"""Reading comprehension for the chapter: the items it takes, the tables and figures of their views."""

import numpy as np
import pytest

from bertology_utils.absent import Absent
from bertology_utils.runs import Runs
from bertology_utils.samples import item_count
from bertology_utils.studies.generalization import reading_comprehension as rc


def test_chosen_items_are_known_and_shown_under_every_view(tiny):
    items = rc.chosen_items(tiny, 5, 0)
    assert len(items) == 5 and items == rc.known_items(tiny, items)
    assert list(rc.shown(items[0]).table["view"]) == list(rc.VIEWS)


def test_answers_are_samples_of_the_words_that_items_share(tiny):
    items = rc.chosen_items(tiny, 6, 0)
    words = {word for item in items for word in (*item.options, item.question[2])}
    found = rc.under_views(tiny, items)
    assert {(len(right), item_count(right)) for right in found.values()} == {(len(words), 6)}
    assert found["full"].mean() == pytest.approx(rc.answers_right(tiny, items).mean())


def test_a_twin_may_read_a_part_of_the_items(tiny):
    items = rc.chosen_items(tiny, 12, 0)
    found = rc.under_views(tiny, items, parts=[1])
    assert item_count(found["full"]) == 3
    assert found["full"].mean() == pytest.approx(rc.answers_right(tiny, items[1 :: rc.PARTS]).mean())


def test_the_figure_has_a_group_a_view_and_is_left_out_where_nothing_was_read():
    right = {view: np.ones(4) for view in rc.VIEWS}
    assert len(rc.views_figure(Runs(right, right), right, "").table) == 3 * len(rc.VIEWS)
    assert rc.views_figure(Absent("no head"), right, "") is None


def test_a_fall_is_what_the_paraphrase_costs():
    voices = rc.paraphrases({"full": np.array([True, True]), "paraphrased": np.array([True, False])})
    assert voices["fall"].tolist() == [0, 1]
