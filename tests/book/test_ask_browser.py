"""The built page *Ask BERT* in a headless browser; skipped, with the reason, where something it needs is missing."""

import json
import os
import shutil
import subprocess

import pytest
from ask_questions import sentences, write_expected
from test_browser import BROWSERS, FOLDER, HTML, ROOT, missing

from bertology_utils.pages import ask

CLOSE = 1e-4  # of logits, attention weights, and nats


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> dict:
    reason = missing()
    if reason is None and not (HTML / ask.TARGET / ask.MANIFEST).is_file():
        reason = "the built book has no models: run `make book` first"
    if reason:
        pytest.skip(reason)
    expected = tmp_path_factory.mktemp("expected")
    write_expected(expected, sentences())
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    command = ["node", str(ROOT / "tests/book/browser/ask.mjs"), str(HTML), str(expected), browser]
    environment = os.environ | {"BROWSER_MODULES": str(FOLDER)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_panels_work_and_say_what_the_book_was_built_with(report):
    assert report["problems"] == []


@pytest.mark.parametrize("engine", [0, 1], ids=["WebAssembly", "JavaScript"])
def test_fifty_sentences_come_out_as_in_python(report, engine):
    found = report["engines"][engine]
    assert found["tokens"] == []
    assert {name: found[name] < CLOSE for name in ("logits", "maps", "scores")} == dict.fromkeys(
        ("logits", "maps", "scores"), True
    )
    assert found["engine"] == ["WebAssembly", "JavaScript"][engine]
