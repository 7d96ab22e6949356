"""The built page *Ask BERT* in headless browsers of two engines; skipped, with the reason, where one is missing."""

import pytest
from ask_questions import sentences, write_expected, write_step
from test_browser import ENGINES, HTML, checked, missing

from bertology_utils.pages import ask

CLOSE = 1e-4  # of logits, attention weights, and nats


@pytest.fixture(scope="module", params=ENGINES)
def report(request, tmp_path_factory) -> dict:
    reason = missing(request.param)
    if reason is None and not (HTML / ask.TARGET / ask.MANIFEST).is_file():
        reason = "the built book has no models: run `make book` first"
    if reason:
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
