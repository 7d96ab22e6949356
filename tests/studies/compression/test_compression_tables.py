"""Tables of the chapter: the survey's own, recounted, and one row a recipe."""

import numpy as np

from bertology_utils.absent import Absent
from bertology_utils.compression.outliers import Outlier
from bertology_utils.compression.scorecard import factor_agreement
from bertology_utils.runs import Runs
from bertology_utils.studies.compression import dimensions, families, table1
from bertology_utils.studies.compression.dimensions import SwitchedOff, switched_off


def test_unknown_architectures_have_no_counts():
    rows = table1.recounted().set_index("name")
    assert rows.loc["TinyBERT", "× all"] and not rows.loc["WaLDORf", "× all"]
    assert "evaluation" not in set(table1.changed_cells()["column"])


def test_a_printed_factor_is_called_what_it_counts():
    said = table1.recounted().set_index("name")["v3 is"]
    wanted = {"TinyBERT": "right", "DistilBERT": "wrong", "Soft MvP": "encoder alone", "BERT-48": "undefined"}
    assert {name: said[name] for name in wanted} == wanted


def test_what_is_assumed_is_told_once_with_all_of_its_rows():
    clauses = table1.assumptions().split("; ")
    assert (
        clauses[0].startswith("BERT-48 and BERT-192: ") and "WaLDORf and McCarley et al., ff2: " in table1.assumptions()
    )


def test_rows_that_disagree_are_told_with_both_factors():
    text = table1.disagreeing(factor_agreement())
    assert "DistilBERT (printed 1.5, counted 1.6" in text and "TinyBERT" not in text


def test_what_is_kept_is_of_the_full_model_and_of_its_lead():
    full = Runs(*({"loss": np.full(4, loss), "agreement": np.full(4, 0.8)} for loss in (2.0, 6.0)))
    small = Runs({"loss": np.full(4, 4.0), "agreement": np.full(4, 0.4)}, {})
    row = families.recipes_table([("small", small, 2.0, 1.0, "")], full).table.iloc[0]
    assert (row["kept"], row["kept of the lead"], row["× smaller"]) == ("50%", "50%", "2.00")
    assert families.recipes_table([("small", small, 2.0, 1.0, "")], Absent("no head")) is None


def test_a_student_and_integers_are_timed_too(tiny):
    assert set(families.milliseconds(tiny, 1)) == {"full", "student", "8 bits"}


def test_where_no_dimension_stands_out_nothing_is_switched_off():
    off = SwitchedOff([], {"nothing": np.ones(3)})
    assert off.figure() is None and "nothing to switch off" in off.sentence


def test_outliers_go_beside_as_many_others(tiny, monkeypatch):
    outliers = [Outlier(place, 1, 1) for place in (3, 5)]
    monkeypatch.setattr(dimensions, "outlier_dimensions", lambda model: outliers)
    off = switched_off(tiny, [("the", "cat", "sleeps", ".")] * 2, np.ones(2), seed=0)
    assert list(off.losses) == ["outliers", "random 1", "random 2", "random 3", "nothing"]
    assert off.sentence.startswith("Dimensions [3, 5] off") and off.sentence.endswith("none off: 1.00.")
    assert "2 dimensions" in off.figure().caption
