"""The chapter object: one closure for model and twin, verdicts computed, records written once."""

import json
import operator
from dataclasses import replace

import numpy as np
import pytest

from bertology_utils.absent import Absent
from bertology_utils.chapter import Chapter, Runs
from bertology_utils.errors import BertologyError
from bertology_utils.samples import by_unit
from bertology_utils.verdicts.claims import load_claims
from bertology_utils.verdicts.judging import judged_again


@pytest.fixture
def chapter(tiny, tiny_twin, tmp_path):
    chapter = Chapter("syntax", tiny.name, "smoke", 0, str(tmp_path / "syntax.json"))
    chapter.__dict__["specimen"] = tiny
    chapter.__dict__["twin"] = tiny_twin
    return chapter


def test_measure_runs_one_closure_on_both(chapter):
    runs = chapter.measure(lambda specimen: specimen.name)
    assert (runs.model, runs.twin) == (chapter.specimen.name, chapter.twin.name)
    assert runs.map(len).model == len(runs.model)


def test_scale_follows_the_profile(chapter):
    assert chapter.scale(smoke=1, live=2, full=3) == 1


def test_a_table_tells_what_the_study_of_its_claim_showed(chapter):
    claim = next(claim for claim in load_claims() if claim.figure)
    shown = chapter.table([{"word": "cat"}], claim=claim.id, caption="Words.", here="One here.")
    assert shown.caption == f"Words. {claim.figure} One here."
    assert chapter.table([{"word": "cat"}], caption="Words.").caption == "Words."
    assert chapter.table(Absent("no head")) is None


def predicting(chapter, **fields):
    """The chapter with another prediction in place of the one of `sva-in-cloze`."""
    given = {"given": None, "failure": False, "specific": True, "checks": None}
    claim = type(chapter)._claim(chapter, "sva-in-cloze").model_copy(update=given | fields)
    chapter._claim = lambda identity: claim
    return claim


def test_a_test_is_recorded_with_its_control(chapter):
    names = ["bert", "baseline"]
    predicting(chapter, prediction="bert > baseline by 0.2")
    chapter.test("sva-in-cloze", {"bert": np.ones(60), "baseline": np.zeros(60)}, dict.fromkeys(names, np.zeros(60)))
    chapter.close()
    (result,) = json.loads(chapter.record_path.read_text(encoding="utf-8"))["results"]
    assert result["verdict"] == "replicates"
    assert (result["measured"], result["control"], result["n"], result["smallest"]) == (1.0, 0.0, 60, 0.2)
    assert 0.2 < result["ci_low"] <= result["difference"] <= result["ci_high"]
    assert result["p"] < 0.001 and result["lead"]["low"] > 0 and result["lead"]["twins"] == 1
    assert result["anchor"].endswith("#claim-sva-in-cloze")


def test_a_record_can_be_judged_again(chapter):
    claim = predicting(chapter, prediction="bert > baseline by 0.2")
    rng = np.random.default_rng(0)
    sides = [{name: (rng.random((3, 60)) < mean).astype(float) for name in ("bert", "baseline")} for mean in (0.8, 0.5)]
    chapter.test("sva-in-cloze", *sides)
    chapter.close()
    (result,) = json.loads(chapter.record_path.read_text(encoding="utf-8"))["results"]
    again = judged_again(claim, result)
    assert result["sealed"] == claim.version
    assert again["verdict"] == result["verdict"] and (result["n"], result["seeds"]) == (60, 3)
    for name in ("difference", "ci_low", "ci_high", "p"):
        assert again[name] == pytest.approx(result[name])
    assert again["lead"]["low"] == pytest.approx(result["lead"]["low"])
    easier = judged_again(claim.model_copy(update={"prediction": "bert > 0.5"}), result)
    assert easier["verdict"] == "replicates"


def test_further_twins_are_measured_with_other_weights_and_judged_together(chapter):
    predicting(chapter, prediction="value > 0.5")
    chapter.profile = "live"
    runs = chapter.measure(lambda specimen: next(specimen.model.parameters()).sum().item(), twins=3)
    assert len({runs.model, runs.twin, *runs.others}) == 4 and len(runs.others) == 2
    joined = Runs.joined(value=runs.map(lambda _: np.zeros(30)), same=np.ones(30))
    assert len(joined.others) == 2 and joined.others[0]["same"].all()
    able = Runs({"value": np.ones(30)}, joined.twin, joined.others)
    chapter.test("sva-in-cloze", able)
    (result,) = chapter.results
    assert result["lead"]["twins"] == 3 and len(result["control_samples"]) == 3 and result["verdict"] == "replicates"


def test_seeds_of_the_control_are_networks_of_their_own_and_count_as_such(chapter):
    def values(specimen, seeds):
        first = next(specimen.model.parameters()).detach().double().mean().item()
        return {"seed": np.array([[float(s)] for s in seeds]), "first": np.full((len(seeds), 4), first)}

    runs = chapter.measure(values, seeds=range(3, 6)).pooled()
    assert runs.model["seed"].ravel().tolist() == runs.twin["seed"].ravel().tolist() == [3, 4, 5]
    assert len(set(runs.model["first"][:, 0])) == 1 and len(set(runs.twin["first"][:, 0])) == 3
    predicting(chapter, prediction="seed > 1")
    chapter.test("sva-in-cloze", runs)
    assert len(chapter.results[0]["control_samples"]) == chapter.results[0]["lead"]["twins"] == 3


def test_there_may_be_fewer_twins_than_seeds_and_each_is_made_when_its_turn_comes(chapter, monkeypatch):
    alive = []
    monkeypatch.setattr("bertology_utils.chapter.twin", lambda *given: alive.append(len(alive)) or chapter.twin)
    runs = chapter.measure(lambda specimen, seeds: (seeds, len(alive)), seeds=range(3, 8), twins=3)
    assert runs.model == ([3, 4, 5, 6, 7], 0) and (runs.twin, *runs.others) == (([3], 0), ([4], 1), ([5], 2))


def test_twins_of_a_small_model_are_made_once(chapter, monkeypatch):
    chapter.profile = "live"
    first, again = (chapter.measure(lambda specimen: specimen.model, twins=3).others for _ in range(2))
    assert len(first) == 2 and all(map(operator.is_, first, again))
    monkeypatch.setattr("bertology_utils.chapter.SMALL", 0)
    chapter._twins_kept.clear()
    assert chapter.measure(lambda specimen: specimen.model, twins=3).others[0] is not first[0]
    assert not chapter._twins_kept


def test_a_smoke_run_has_one_twin(chapter):
    assert chapter.measure(lambda specimen: specimen.name, twins=5).others == ()


def test_units_and_items_are_told_apart(chapter):
    predicting(chapter, prediction="bert > 0.5")
    verbs = np.arange(60) % 12
    chapter.test("sva-in-cloze", {"bert": by_unit(np.ones(60), verbs)}, {"bert": by_unit(np.zeros(60), verbs)})
    assert [(r["n"], r["units"], r["seeds"]) for r in chapter.results] == [(60, 12, 1)]


def test_a_result_of_another_model_names_it(chapter, tiny_twin):
    predicting(chapter, prediction="bert > 0.5")
    chapter.test("sva-in-cloze", {"bert": np.ones(9)}, {"bert": np.zeros(9)}, specimen=tiny_twin)
    (result,) = chapter.results
    assert (result["model"], result["model_sha256"]) == (tiny_twin.name, tiny_twin.sha256)


def test_no_test_without_control(chapter):
    with pytest.raises(BertologyError, match="without a control"):
        chapter.test("sva-in-cloze", {"x": [1.0]})


def test_no_claim_twice(chapter):
    chapter.not_testable("sva-in-cloze", "a reason")
    with pytest.raises(BertologyError, match="twice"):
        chapter.not_testable("sva-in-cloze", "a reason")


def test_nothing_is_written_before_the_end(chapter):
    chapter.not_testable("sva-in-cloze", "a reason")
    assert not chapter.record_path.exists()


def test_unknown_chapter_and_profile_are_told():
    with pytest.raises(BertologyError, match="syntax"):
        Chapter("sintax", "m", "live", 0, None)
    with pytest.raises(BertologyError, match="live"):
        Chapter("syntax", "m", "life", 0, None)


def test_a_failed_positive_control_says_that_the_model_cannot(chapter):
    predicting(chapter, prediction="error < 0.2", given="skill > 0.6")
    able = {"error": np.ones(60), "skill": np.ones(60)}
    unable = {"error": np.zeros(60), "skill": np.zeros(60)}
    chapter.test("sva-in-cloze", unable, able)
    chapter.test("sva-in-cloze", able, unable)
    assert [r["verdict"] for r in chapter.results] == ["cannot do the task", "contradicts"]
    assert "positive control fails" in chapter.results[0]["reason"]


def test_a_control_without_the_ability_shows_a_pattern_but_no_failure(chapter):
    able = {"late": np.ones(60), "early": np.zeros(60), "skill": np.ones(60)}
    outcomes = {}
    for failure in (False, True):
        predicting(chapter, prediction="late > early", given="skill > 0.6", failure=failure)
        chapter.test("sva-in-cloze", able, able | {"skill": np.zeros(60)})
        outcomes[failure] = chapter.results.pop()
        del chapter._claim
    assert outcomes[False]["verdict"] == "replicates (not specific)"
    assert outcomes[True]["verdict"] == "replicates" and outcomes[True]["control_verdict"] == "cannot do the task"
    assert outcomes[True]["lead"]["text"] == "skill > 0.6"
    assert [c["text"] for c in outcomes[True]["control_conditions"]] == ["skill > 0.6"]


def test_a_synthesis_tells_results(chapter):
    chapter.not_testable("sva-in-cloze", "a reason")
    shown = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bertology_utils.chapter.display", lambda html: shown.append(html.data))
        chapter.conclude()
    assert shown[0].count("#claim-sva-in-cloze") == 1 and "Not testable here: " in shown[0]


def test_a_closure_may_read_the_same_sides_earlier_measurement(chapter):
    names = chapter.measure(lambda specimen: specimen.name)
    again = chapter.measure(lambda specimen, name: (specimen.name, name), after=names)
    assert again == names.map(lambda name: (name, name))


def test_a_closure_that_finds_nothing_to_measure_makes_all_of_it_absent(chapter):
    found = chapter.measure(lambda specimen: Absent("no such words"))
    assert isinstance(found, Absent) and chapter.test("sva-in-cloze", found) is found
    assert (chapter.results[0]["verdict"], chapter.results[0]["reason"]) == ("not testable here", "no such words")


def test_a_claim_about_words_that_the_model_does_not_know_is_not_testable(chapter, monkeypatch):
    claim = predicting(chapter, prediction="bert > baseline by 0.2")
    monkeypatch.setattr("bertology_utils.chapter.claim_by_id", lambda identity: claim)
    found = chapter.test("sva-in-cloze", lambda specimen: {"bert": np.empty(0), "baseline": 0.5})
    assert found.reason == "no item of 'bert' can be asked" == chapter.results[0]["reason"]
    with pytest.raises(BertologyError, match="not testable"):  # an error of another kind is none of the model's
        chapter.measure(lambda specimen: (_ for _ in ()).throw(BertologyError("not testable")))


def test_what_a_model_lacks_is_absent_and_its_claims_are_not_testable(chapter, tiny):
    claim = predicting(chapter, prediction="bert > baseline by 0.2", requires=("masked-LM head",))
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr("bertology_utils.chapter.claim_by_id", lambda identity: claim)
        assert chapter.measure(lambda specimen: 1, "sva-in-cloze").model == 1
        chapter.__dict__["specimen"] = replace(tiny, has_mlm_head=False)
        found = chapter.test("sva-in-cloze", lambda specimen: pytest.fail("measured"))
    assert found.reason.endswith("has no masked-LM head") and chapter.results[0]["verdict"] == "not testable here"
    assert chapter.measure(lambda specimen, past: past, after=found) is found
    chapter.say("{x} and {y}", found, y=1)


def test_a_chapter_ends_with_its_answer_also_where_no_twin_was_compared(chapter, capsys, monkeypatch):
    shown = []
    monkeypatch.setattr("bertology_utils.chapter.display", lambda output: shown.append(output.data))
    predicting(chapter, prediction="bert > baseline by 0.2")
    samples = {"bert": np.ones(60), "baseline": np.zeros(60)}
    chapter.test("sva-in-cloze", samples, {name: 0 * values for name, values in samples.items()})
    chapter.results[0]["control_clauses"] = []
    chapter.conclude()
    assert (
        shown[-1].startswith('<section class="chapter-answer"')
        and "Surest: verbs agree with their subjects, also behind" in shown[-1]
    )
