"""The calibration finds what is wrong with an estimator, and nothing wrong with today's on a few designs."""

from functools import partial

import numpy as np
import pytest

from bertology_utils import cli
from bertology_utils.files import read_rows
from bertology_utils.pages.run_record import calibration_table
from bertology_utils.verdicts import calibration
from bertology_utils.verdicts.calibration import MIXES, NEW, OLD, Calibration, Design, M, calibrate, two_arms

ALL = {design.kind: design for design in calibration.designs()}
PAIRED = Design("audit", "paired", "a - b", partial(two_arms, 3, 64, 0, MIXES["items vary"], (0.786, 0.6)))


@pytest.fixture
def planted(monkeypatch):
    """An estimator whose interval is today's, so many times as wide and shifted by so many half-widths."""

    def plant(width: float, shift: float = 0.0) -> str:
        def interval(formula, samples):
            low, high = calibration.judged_interval(formula, samples)
            middle, half = (low + high) / 2, (high - low) / 2
            return middle + (shift - width) * half, middle + (shift + width) * half

        monkeypatch.setitem(calibration.ESTIMATORS, "planted", interval)
        return "planted"

    return plant


@pytest.mark.parametrize("kind", sorted(ALL))
def test_no_kind_of_design_undercovers(kind):
    found = calibrate(ALL[kind], repeats=80)
    assert not [said for said in calibration.misses(found) if not said.endswith("more than it should")], found


@pytest.mark.parametrize(("width", "shift", "said"), [(0.4, 0, "covers"), (1, 1.0, "lies above")])
def test_an_estimator_that_is_off_is_found(planted, width, shift, said):
    found = calibrate(PAIRED, planted(width, shift), repeats=120)
    assert any(words.startswith(said) for words in calibration.misses(found)), found


@pytest.mark.parametrize(
    ("repeats", "coverage", "above", "said"),
    [
        (1000, 0.999, 0.001, "covers 0.999, more than it should"),
        (100, 0.999, 0.001, None),
        (1000, 0.94, 0.06, "lies above in 0.060"),
        (1000, 0.95, 0.03, None),
        (1000, 0.89, 0.03, "covers 0.890"),
    ],
)
def test_a_miss_is_more_than_chance(repeats, coverage, above, said):
    found = Calibration(NEW, "audit", "one", repeats, coverage, above, 0.0, 0.5, 0.1)
    assert calibration.misses(found) == ([said] if said else [])


def test_the_former_estimator_hardly_decides_what_others_do():
    found = {name: calibrate(PAIRED, name, repeats) for name, repeats in ((NEW, 100), (M, 100), (OLD, 12))}
    assert found[OLD].coverage == 1 and found[OLD].decided < 0.4 < found[NEW].decided
    assert calibration.behind(found.values()) == []


def test_less_than_the_reference_is_found(planted):
    mine = calibrate(PAIRED, planted(3), repeats=80)
    (said,) = calibration.behind([type(mine)(**vars(mine) | {"estimator": NEW}), calibrate(PAIRED, M, repeats=80)])
    assert said.startswith("paired: decides")


@pytest.mark.parametrize("units", [0, 8])
def test_the_truth_is_the_mean_of_all_draws(units):
    rng = np.random.default_rng(0)
    draws = [two_arms(5, 64, units, MIXES["all vary"], (0.75, 0.6), rng) for _ in range(200)]
    assert np.mean([s["a"].mean() - s["b"].mean() for s, _ in draws]) == pytest.approx(0.15, abs=0.02)
    assert {round(truth, 9) for _, truth in draws} == {0.15}


def test_the_audits_designs_are_in_under_every_mix():
    audit = [design for design in calibration.designs() if design.kind == "audit"]
    assert len(audit) == 4 * len(MIXES) and len({design.name for design in audit}) == len(audit)


def test_a_table_is_kept_and_read_back(tmp_path):
    found = list(calibration.calibrations(20, [PAIRED]))
    path = tmp_path / "calibration.csv"
    calibration.write(path, found, {"commit": "abc", "date": "2026"})
    assert read_rows(path, calibration.Calibration) == found and [row.estimator for row in found] == [NEW, OLD, M]
    table = calibration_table(path)
    assert "Calibration of intervals" in table and table.count("<tr>") >= 3
    assert calibration_table(tmp_path / "none.csv") == ""


@pytest.mark.parametrize("width", [1, 0.3])
def test_the_command_fails_where_a_design_misses(planted, monkeypatch, capsys, width):
    planted(width)
    monkeypatch.setitem(calibration.ESTIMATORS, NEW, calibration.ESTIMATORS["planted"])
    monkeypatch.setattr(calibration, "designs", lambda: iter([PAIRED]))
    assert cli.main(["calibrate", "-n", "40"]) == (width < 1)
    out = capsys.readouterr()
    assert out.out.startswith("estimator\tkind") and ("1 of 1 designs miss" in out.err) == (width < 1)
