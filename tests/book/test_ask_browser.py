"""The built page *Ask BERT* in headless browsers of two engines, and as a screen reader says it.

Skipped, with the reason, where something is missing.
"""

import pytest
from ask_questions import sentences, write_expected, write_step
from test_browser import ENGINES, FOLDER, HTML, checked, missing

from bertology_utils.pages import ask

CLOSE = 1e-4  # of logits, attention weights, and nats
READER = "@guidepup/virtual-screen-reader"


def lacking(engine: str) -> str | None:
    """What a check of this page lacks, None where it can run."""
    built = (HTML / ask.TARGET / ask.MANIFEST).is_file()
    return missing(engine) or (None if built else "the built book has no models: run `make book` first")


@pytest.fixture(scope="module", params=ENGINES)
def report(request, tmp_path_factory) -> dict:
    if reason := lacking(request.param):
        pytest.skip(reason)
    expected = tmp_path_factory.mktemp("expected")
    write_expected(expected, sentences())
    write_step(expected / "step.json")
    return checked("ask.mjs", expected, request.param)


def test_panels_work_and_say_what_the_book_was_built_with(report):
    assert report["problems"] == []


def test_a_step_of_a_training_answers_every_panel_as_in_python(report):
    far = report["step"]
    assert sorted(far) == ["fill", "heads", "layers", "neighbours", "sentences"]
    assert {kind: difference < CLOSE for kind, difference in far.items()} == dict.fromkeys(far, True)


@pytest.mark.parametrize("way", [0, 1], ids=["WebAssembly", "JavaScript"])
def test_fifty_sentences_come_out_as_in_python(report, way):
    found = report["ways"][way]
    assert found["tokens"] == []
    assert (found["forms"], found["patterns"]) == ([], [])
    numbers = ("logits", "maps", "scores", "neighbours")
    assert {name: found[name] < CLOSE for name in numbers} == dict.fromkeys(numbers, True)
    assert found["engine"] == ["WebAssembly", "JavaScript"][way]


def test_a_screen_reader_says_questions_answers_and_faults_once_and_by_name(tmp_path):
    if reason := lacking("chrome"):
        pytest.skip(reason)
    if not (FOLDER / "node_modules" / READER).is_dir():
        pytest.skip(f"{READER} is missing: run `npm install` in tests/book/browser first")
    assert checked("aloud.mjs", tmp_path, "chrome")["problems"] == []
