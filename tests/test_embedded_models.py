"""The models in the repository: whole, told by a card, small enough, and scored as the table of scores says."""

import json
import re
from pathlib import Path

import pytest

from bertology_utils.models import embedded_models, load
from bertology_utils.pages.specimens import SCORES, read_scores
from bertology_utils.project import is_untrained

ROOT = Path(__file__).parents[1]
MODELS = ROOT / "models"
MOST_BYTES = 200e6


@pytest.mark.parametrize("name", embedded_models())
def test_a_model_is_whole_and_its_card_tells_what_a_user_must_know(name):
    specimen = load(name)  # verifies the checksum
    card = (MODELS / name / "README.md").read_text(encoding="utf-8")
    for told in ("license: ", "## Data", "Held-out loss", "million pieces", "## Licence", "## Grammar"):
        assert told in card
    assert specimen.sha256 == json.loads((MODELS / name / "checksums.json").read_text())["model.safetensors"]
    assert specimen.has_mlm_head


def test_all_models_together_fit_the_repository():
    assert sum(path.stat().st_size for path in MODELS.rglob("*") if path.is_file()) <= MOST_BYTES


@pytest.mark.parametrize("name", embedded_models())
def test_the_recorded_scores_are_those_of_these_weights(name):
    rows = read_scores(ROOT / SCORES).loc[name]
    assert len(rows) == 24 and set(rows["model_sha256"]) == {load(name).sha256}


def test_recorded_runs_are_those_of_these_weights():
    for path in sorted(ROOT.glob("results/runs/*/*/*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        # a chapter may test another model too
        sums = {(result["model"], result["model_sha256"]) for result in record["results"]}
        own = {checksum for name, checksum in sums if name == record["run"]["model"]}
        assert is_untrained(record["run"]["model"]) or own <= {record["run"]["model_sha256"]}
        embedded = {name for name, _ in sums} & set(embedded_models())
        assert {pair for pair in sums if pair[0] in embedded} == {(name, load(name).sha256) for name in embedded}


def test_the_readme_names_every_licence_of_the_weights():
    told = (ROOT / "README.md").read_text(encoding="utf-8").split("## Licence")[1].lower().replace(" ", "-")
    cards = [path.read_text(encoding="utf-8") for path in ROOT.glob("models/*/README.md")]
    licences = {re.search(r"^license: (\S+)$", card, re.MULTILINE)[1].removesuffix("-4.0") for card in cards}
    assert len(licences) > 1 and all(licence in told for licence in licences)
