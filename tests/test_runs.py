"""Measurements draw themselves, fill sentences, and are absent where a model does not allow them."""

import numpy as np
import pytest

from bertology_utils import figures
from bertology_utils.absent import Absent, absent_in
from bertology_utils.errors import BertologyError, NotAskable
from bertology_utils.runs import Runs, filled
from bertology_utils.samples import by_unit

LAYERS = np.linspace(0, 1, 5)
RUNS = Runs({"best": np.array([0.5, 0.7]), "layers": LAYERS}, {"best": np.array([0.1, 0.3]), "layers": LAYERS[::-1]})
ABSENT = Absent("it has no masked-LM head")


def test_a_part_of_runs_is_a_part_of_each_side():
    assert RUNS["best"].map(np.mean) == Runs(pytest.approx(0.6), pytest.approx(0.2))
    joined = Runs.joined(a=RUNS["best"], b=3)
    assert joined.model["b"] == joined.twin["b"] == 3 and joined.others == ()


def test_what_a_model_cannot_be_asked_is_absent_and_other_errors_are_not():
    def fails(kind):
        def of(_):
            raise kind("it knows none of the words")

        return of

    assert RUNS.map(fails(NotAskable)).reason == "it knows none of the words"
    with pytest.raises(BertologyError, match="none of the words"):
        RUNS.map(fails(BertologyError))


def test_a_sample_without_items_is_absent_beside_others_that_are_there():
    found = RUNS.map(lambda side: {"none": np.empty(0), "some": side["best"]})
    assert found["none"].reason == "no item of 'none' can be asked"
    assert filled("{none:.2f} {twin.none:.2f} {some:.1f}", found) == "– – 0.6"


def test_samples_of_several_runs_stand_together():
    both = Runs.together(Runs({"a": 1}, {"a": 2}), Runs({"b": 3}, {"b": 4}))
    assert (both.model, both.twin) == ({"a": 1, "b": 3}, {"a": 2, "b": 4})
    assert Runs.together(RUNS, ABSENT) is ABSENT


def test_a_sentence_takes_its_numbers_from_model_twin_and_values():
    text = """It is {best:.0%}
    (twin {twin.best:.1f}), {more:.1f} and {word}."""
    assert filled(text, RUNS, more=np.array([1, 2]), word="done") == "It is 60% (twin 0.2), 1.5 and done."
    assert filled("{value:.2f} {twin.value:.2f}", RUNS["best"]) == "0.60 0.20"
    for missing in ("{bests}", "{twin.bests}"):
        with pytest.raises(BertologyError, match="no sample or value called 'bests'"):
            filled(missing, RUNS)


def test_lines_mark_the_twin_and_tell_what_the_study_showed():
    figure = RUNS.lines("layers", caption="A line.", claim="contextual-vs-static", here="Highest at {highest}.")
    assert figure.caption.startswith("A line. Ethayarajh (2019)") and figure.caption.endswith(
        "Highest at layer 4 of 4."
    )
    assert {"model", "twin"} <= set(figure.table) and "twin is highest at layer 0" in figure.alt


def test_bars_of_several_samples_are_grouped_by_their_words():
    runs = Runs({"one_thing": 0.4, "other": 0.6}, {"one_thing": 0.1, "other": 0.2})
    figure = runs.bars(beside={"rule": 0.5})
    assert list(figure.table["group"]) == ["one thing", "one thing", "other", "other", "rule"]
    assert list(runs.bars("other").table["name"]) == ["model", "twin"]


@pytest.mark.parametrize(
    "computed",
    [
        lambda a: a.model["x"].mean(0),
        lambda a: 1 - a["x"] / 2,
        lambda a: np.ones(3) * a,
        lambda a: np.mean(a.twin),
        lambda a: np.stack([a, np.ones(2)]),
        lambda a: a.map(len),
        lambda a: Runs.joined(a=a, b=RUNS),
    ],
)
def test_whatever_is_computed_of_what_is_absent_is_absent(computed):
    assert absent_in(computed(ABSENT)).reason == ABSENT.reason


def test_nothing_absent_is_drawn_or_told():
    assert figures.bars({"a": 1.0, "b": ABSENT}) is None and figures.layer_lines({"a": ABSENT.model["x"]}) is None
    assert f"{ABSENT.model:.2f}" == "–" and list(ABSENT) == []
    assert absent_in({"a": [1, {"b": ABSENT}]}) is ABSENT and absent_in([1, "a", None]) is None


def test_twins_of_one_seed_each_are_one_control_and_are_told_apart_when_it_is_judged():
    units = [by_unit(np.eye(6)[i][None], list("aabbcc")) for i in range(3)]
    pooled = Runs({"x": np.ones((3, 3)), "bar": 0.5}, *_apart({"x": u, "bar": 0.5} for u in units)).pooled()
    assert pooled.twin["x"].shape == (3, 3) and pooled.twin["x"].items == 6 and pooled.others == ()
    shifted = Runs.joined(x=pooled["x"], bar=0.25)
    assert [float(c["x"].sum()) for c in shifted.controls] == [float(u.sum()) for u in units]
    assert [c["bar"] for c in shifted.controls] == [0.25] * 3
    rule = np.array([0.0, 1.0, 1.0])  # knows no network
    assert [c["rule"] is rule for c in Runs.joined(x=pooled["x"], rule=rule).controls] == [True] * 3
    averaged = pooled.map(lambda side: {"x": side["x"].mean(0)})
    assert len(averaged.controls) == 1  # seeds that are gone cannot be told apart
    with pytest.raises(BertologyError, match="has none"):
        Runs(1, np.zeros(2), (np.ones(2),)).pooled()


def test_a_twin_whose_seeds_had_weights_of_their_own_is_as_many_networks():
    samples = {"x": np.arange(6.0).reshape(3, 2), "bar": np.array(0.5)}
    model = {"x": np.ones((3, 2)), "bar": np.array(0.5)}
    assert Runs(model, samples).controls == [samples]
    assert [float(control["x"].mean()) for control in Runs(model, samples).anew().controls] == [0.5, 2.5, 4.5]


def _apart(sides):
    first, *rest = sides
    return first, tuple(rest)
