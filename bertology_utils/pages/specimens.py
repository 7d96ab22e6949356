"""The specimens' page as HTML: what each embedded model is, and how much grammar it has, paradigm by paradigm.

Depends on `parts` for tables and numbers, `families` for who belongs together, and on files: the models' folders
and `results/zorro.csv`, which `bertology score` writes. Pure functions from data to text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from bertology_utils import families
from bertology_utils.files import read_csv
from bertology_utils.language.pairs import paradigm_title
from bertology_utils.pages.parts import simple_table
from bertology_utils.project import checkpoint_steps

SCORES = Path("results") / "zorro.csv"
AVERAGE = "average"
Table = dict[tuple[str, str], dict[str, str]]
_LEFT, _WIDTH, _ROW = 360, 265, 26  # of the dot plot, in its own units
_MARKS = ("circle", "square", "diamond", "triangle")
MOST_MARKED = len(_MARKS)


def read_scores(path: Path) -> list[dict[str, str]]:
    """The rows of the score table; none where nothing was scored yet."""
    return read_csv(path)


def model_table(root: Path, scores: Sequence[dict[str, str]]) -> str:
    """One line a model, in a table for each family: sizes, held-out loss, grammar, checkpoints."""
    average = {row["model"]: row for row in scores if row["paradigm"] == AVERAGE}
    heads = ("Layers × width × heads", "Parameters", "Weights", "Held-out loss", "Zorro, average of 23")
    return "".join(
        simple_table(heading, (escape(heading), *heads), [_model(root, name, average) for name in names])
        for heading, names in families.groups(root).items()
    )


def _model(root: Path, name: str, average: dict[str, dict[str, str]]) -> tuple[str, ...]:
    folder = root / "models" / name
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    shape = [config[key] for key in ("num_hidden_layers", "hidden_size", "num_attention_heads")]
    megabytes, loss = (folder / "model.safetensors").stat().st_size / 1e6, families.held_out_loss(name, root)
    row, steps = average.get(name), ", ".join(f"@{step}" for step in checkpoint_steps(folder))
    return (
        f"<code>{escape(name)}</code>" + (f"<br>also {steps}" if steps else ""),
        " × ".join(map(str, shape)),
        f"{families.parameters(name, root) / 1e6:.1f} million",
        f"{megabytes:.0f} MB",
        "–" if loss is None else f"{loss:.2f} nats",
        f"{_percent(row, 'accuracy')} (twin {_percent(row, 'twin')})" if row else "–",
    )


def _scored(scores: Sequence[dict[str, str]], models: Sequence[str]) -> tuple[Table, list[str]]:
    """The rows by model and paradigm, and those models that have any."""
    table = {(row["model"], row["paradigm"]): row for row in scores}
    return table, [model for model in models if (model, AVERAGE) in table]


def _percent(row: dict[str, str], name: str) -> str:
    return f"{float(row[name]):.1f} %"


def paradigm_plot(scores: Sequence[dict[str, str]], models: Sequence[str]) -> str:
    """Inline SVG: one line a paradigm, one filled mark a model, a hollow ring for the untrained twin of the first.

    The first four scored models are shown; more could not be told apart.
    """
    table, models = _scored(scores, models)
    models = models[:MOST_MARKED]
    if not models:
        return '<p class="empty">No scores are recorded yet: <code>bertology score</code> writes them.</p>'
    first = models[0]
    names = [row["paradigm"] for row in scores if row["model"] == first and row["paradigm"] != AVERAGE]
    ordered = [AVERAGE, *sorted(names, key=lambda name: -float(table[first, name]["accuracy"]))]
    lines = "".join(_line(place, name, table, models) for place, name in enumerate(ordered))
    height = _ROW * (len(ordered) + 1) + 10
    ticks = "".join(_tick(share, height) for share in (0, 25, 50, 75, 100))
    said = "; ".join(f"{model} {_percent(table[model, AVERAGE], 'accuracy')} on average" for model in models)
    said += f"; untrained twin of {first} {_percent(table[first, AVERAGE], 'twin')}"
    key = "".join(f'<span class="sign sign-{i}">{escape(model)}</span> ' for i, model in enumerate(models))
    caption = (
        "Share of minimal pairs in which the grammatical sentence scores higher, by paradigm of Zorro, with 95 % "
        "intervals; sorted by the first model. The dashed line is chance."
    )
    label = escape(f"Dot plot of 23 paradigms of grammar. {said}.", quote=True)
    key += '<span class="sign sign-twin">untrained twin</span>'
    svg = f'<svg viewBox="0 0 656 {height}" role="img" aria-label="{label}">{ticks}{lines}</svg>'
    svg = f'<div class="scroll" tabindex="0" role="region" aria-label="Grammar by paradigm">{svg}</div>'
    return f'<figure class="paradigms">{svg}<figcaption><p>{key}</p><p>{caption}</p></figcaption></figure>'


def paradigm_table(scores: Sequence[dict[str, str]], models: Sequence[str]) -> str:
    """The numbers behind the plot, folded away."""
    table, models = _scored(scores, models)
    if not models:
        return ""
    names = [row["paradigm"] for row in scores if row["model"] == models[0]]
    columns = [(model, part) for model in models for part in ("accuracy", "twin")]
    lines = [
        (escape(paradigm_title(name)), *(_cell(table[model, name], part) for model, part in columns)) for name in names
    ]
    heads = ("Paradigm", *(text for model in models for text in (f"<code>{escape(model)}</code>", "its twin")))
    body = simple_table("Accuracy by paradigm", heads, lines)
    return f"<details><summary>The numbers, with 95 % intervals</summary>{body}</details>"


def _cell(row: dict[str, str], name: str) -> str:
    low, high = (float(row[f"{name}_{end}"]) for end in ("low", "high"))
    return f"{float(row[name]):.1f} [{low:.0f}, {high:.0f}]"


def _x(share: float) -> float:
    return _LEFT + _WIDTH * share / 100


def _tick(share: int, height: int) -> str:
    kind = "chance" if share == 50 else "grid"
    line = f'<line class="{kind}" x1="{_x(share):.0f}" x2="{_x(share):.0f}" y1="22" y2="{height}"/>'
    return line + f'<text class="tick" text-anchor="middle" x="{_x(share):.0f}" y="15">{share} %</text>'


def _line(place: int, name: str, table: Table, models: Sequence[str]) -> str:
    y = 22 + _ROW * (place + 0.6)
    weight = ' class="average"' if name == AVERAGE else ""
    text = f'<text{weight} text-anchor="end" x="{_LEFT - 14}" y="{y + 4:.0f}">{escape(paradigm_title(name))}</text>'
    ring = f'<circle class="ring" cx="{_x(float(table[models[0], name]["twin"])):.1f}" cy="{y:.1f}" r="4.5"/>'
    return text + ring + "".join(_mark(i, table[model, name], y) for i, model in enumerate(models))


def _mark(index: int, row: dict[str, str], y: float) -> str:
    """A mark with its interval; shapes differ as well as colours."""
    x, low, high = (_x(float(row[key])) for key in ("accuracy", "accuracy_low", "accuracy_high"))
    bar = f'<line class="mark-{index}" x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
    shape = _MARKS[index % len(_MARKS)]
    if shape == "circle":
        return bar + f'<circle class="mark-{index}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
    if shape == "triangle":
        points = f"{x:.1f},{y - 5.5:.1f} {x - 5.5:.1f},{y + 4.5:.1f} {x + 5.5:.1f},{y + 4.5:.1f}"
        return bar + f'<polygon class="mark-{index}" points="{points}"/>'
    turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if shape == "diamond" else ""
    return bar + f'<rect class="mark-{index}" x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9"{turn}/>'
