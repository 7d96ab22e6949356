"""The model card (the template `model_card.md`) and the checksums of a finished run.

Depends on `files`, `templates`, `pairs` and `objectives`.
"""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bertology_utils.files import read_yaml, write_json, write_text
from bertology_utils.language.pairs import paradigm_title
from bertology_utils.pretraining.objectives import PAIR_TASKS
from bertology_utils.templates import render

OBJECTIVES, UNITS = read_yaml(Path(__file__).with_name("card.yaml")).values()
GUESSES = {name: math.log(len(classes)) for name, classes in PAIR_TASKS.items()}  # the loss of one among the classes


def write_card(folder: Path, facts: Mapping[str, Any], remarks: Mapping[str, str]) -> None:
    """Writes `README.md` and `checksums.json` beside the weights; `remarks` are further lines of the table."""
    model, config = facts["model"], facts["config"]
    told = {
        "kind": type(model).__name__,
        "shape": model.config,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "masking": config.masking,
        "unit": UNITS[config.masking.unit],
        "objectives_told": [_told(config.objectives_of(phase)) for phase in config.phases],
        "guesses": GUESSES,
        "remarks": remarks,
    }
    text = render("model_card.md", **{**facts, **told})
    write_text(folder / "README.md", re.sub(r"\n{3,}", "\n\n", text) + "\n")
    files = ("model.safetensors", "tokenizer.json")
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
    write_json(folder / "checksums.json", sums)


def _told(weights: Mapping[str, float]) -> str:
    """The objectives of a phase, with the weights of their losses where they differ from 1."""
    return ", ".join(OBJECTIVES[name] + (f" (× {weight:g})" if weight != 1 else "") for name, weight in weights.items())


def add_scores(folder: Path, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Adds a table of scores to the card in `folder` as the section `title`, in place of one of the same name."""
    path = folder / "README.md"
    lines = [f"| {' | '.join(map(str, row))} |" for row in (columns, ["---"] * len(columns), *rows)]
    section = f"## {title}\n\n" + "\n".join(lines) + "\n\n"
    text = path.read_text(encoding="utf-8")
    subject = re.escape(title.partition(" (")[0])  # what it was scored on may have changed
    text = re.sub(rf"## {subject}( \(.*?\))?\n.*?(?=\n## |\Z)", "", text, flags=re.S)
    head, mark, tail = text.partition("## Intended use")
    write_text(path, re.sub(r"\n{3,}", "\n\n", f"{head}{section}{mark}{tail}"))


def add_grammar(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Adds the scores on minimal pairs to the card in `folder`; `rows` as `grammaticality.records` makes them."""
    pairs = min(row["pairs"] for row in rows)
    title = f"Grammar ({rows[0]['data'].capitalize()}, {pairs} pairs a paradigm, in per cent)"
    columns = ("Paradigm", "this model, 95 % interval", "untrained twin")
    add_scores(folder, title, columns, [_grammar_row(row) for row in rows])


def _grammar_row(row: Mapping[str, Any]) -> tuple[str, str, str]:
    interval = f"{row['accuracy']:.1f} [{row['accuracy_low']:.1f}, {row['accuracy_high']:.1f}]"
    return paradigm_title(row["paradigm"]), interval, f"{row['twin']:.1f}"
