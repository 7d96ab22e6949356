"""The chapter object: one closure for model and twin, verdicts computed, records written once."""

import json

import numpy as np
import pytest

from bertology_utils.chapter import Chapter
from bertology_utils.errors import BertologyError


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


def test_a_test_is_recorded_with_its_control(chapter):
    names = ["bert", "baseline"]
    claim = chapter._claim("sva-in-cloze").model_copy(update={"prediction": "bert > baseline + 0.2"})
    chapter._claim = lambda identity: claim
    chapter.test("sva-in-cloze", {"bert": np.ones(60), "baseline": np.zeros(60)}, dict.fromkeys(names, np.zeros(60)))
    chapter.close()
    (result,) = json.loads(chapter.record_path.read_text(encoding="utf-8"))["results"]
    assert result["verdict"] == "replicates"
    assert (result["measured"], result["control"], result["n"]) == (1.0, 0.0, 60)
    assert result["ci_low"] <= result["difference"] <= result["ci_high"]
    assert result["detectable"] == result["clauses"][0]["detectable"] > 0
    assert result["anchor"].endswith("#claim-sva-in-cloze")


def test_a_result_of_another_model_names_it(chapter, tiny_twin):
    claim = chapter._claim("sva-in-cloze").model_copy(update={"prediction": "bert > 0.5"})
    chapter._claim = lambda identity: claim
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


def test_a_failed_positive_control_is_inconclusive(chapter):
    claim = chapter._claim("sva-in-cloze").model_copy(update={"prediction": "error < 0.2", "given": "skill > 0.6"})
    chapter._claim = lambda identity: claim
    able = {"error": np.ones(60), "skill": np.ones(60)}
    unable = {"error": np.zeros(60), "skill": np.zeros(60)}
    chapter.test("sva-in-cloze", unable, able)
    chapter.test("sva-in-cloze", able, unable)
    assert [r["verdict"] for r in chapter.results] == ["inconclusive", "contradicts"]
    assert "positive control failed" in chapter.results[0]["reason"]


def test_a_control_without_the_ability_shows_a_pattern_but_no_failure(chapter):
    pattern = {"prediction": "late > early", "given": "skill > 0.6"}
    outcomes = {}
    for failure in (False, True):
        claim = chapter._claim("sva-in-cloze").model_copy(update=pattern | {"failure": failure})
        chapter._claim = lambda identity, claim=claim: claim
        able = {"late": np.ones(60), "early": np.zeros(60), "skill": np.ones(60)}
        chapter.test("sva-in-cloze", able, able | {"skill": np.zeros(60)})
        outcomes[failure] = chapter.results[-1]
        chapter._claim = type(chapter)._claim.__get__(chapter)
        chapter.results.clear()
    assert outcomes[False]["verdict"] == "replicates (not specific)"
    assert outcomes[True]["verdict"] == "replicates" and outcomes[True]["control_verdict"] == "inconclusive"
    assert [c["text"] for c in outcomes[True]["control_conditions"]] == ["skill > 0.6"]


def test_a_synthesis_tells_results_and_names_only_claims_that_exist(chapter):
    chapter.not_testable("sva-in-cloze", "a reason")
    shown = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bertology_utils.chapter.display", lambda html: shown.append(html.data))
        chapter.conclude({"Behaviour": {"sva-in-cloze": "verbs agree"}})
    assert shown[0].count("#claim-sva-in-cloze") == 1 and "Not testable here: " in shown[0]
    with pytest.raises(BertologyError):
        chapter.conclude({"Behaviour": {"no-such-claim": "words"}})
