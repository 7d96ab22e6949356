"""Grammar over sizes, seeds and steps, for the specimens' page: two small curves, and every paradigm of every model.

Depends on `families` (who belongs together), `figures` (curves) and the scores of `specimens`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from bertology_utils import families
from bertology_utils.figures import Figure, curve
from bertology_utils.language.pairs import paradigm_title
from bertology_utils.pages.specimens import AVERAGE, Table
from bertology_utils.statistics import Measurement

LABEL = "Zorro, average of 23 (%)"
NOTHING = '<p class="empty">No scores of the ladder are recorded yet: <code>bertology score</code> writes them.</p>'


def growth_part(root: Path, scores: Sequence[dict[str, str]]) -> str:
    """Curves and map, or what is missing; empty where the project has no ladder."""
    rungs = families.known(families.rungs, root)
    if rungs is None:
        return ""
    table = {(row["model"], row["paradigm"]): row for row in scores}
    drawn = [figure for figure in (size_curve(root, rungs, table), step_curve(root, rungs[0], table)) if figure]
    return "".join(figure._repr_html_() for figure in drawn) + paradigm_map(members(root, rungs), table)


def members(root: Path, rungs: Sequence[str]) -> list[str]:
    """The checkpoints of the lowest rung by step, it itself, its seeds, and the other rungs by size."""
    steps = families.known(families.checkpoints, rungs[0], root) or {}
    siblings = families.known(families.seeds, rungs[0], root) or []
    return list(dict.fromkeys([*steps.values(), *siblings, *rungs]))


def _measured(row: dict[str, str], name: str) -> Measurement:
    value, low, high = (float(row[key]) for key in (name, f"{name}_low", f"{name}_high"))
    return Measurement(value, low, high, int(row["pairs"]))


def size_curve(root: Path, rungs: Sequence[str], table: Table) -> Figure | None:
    """Average accuracy against parameters, and the lowest rung's range over its seeds; None for fewer than two."""
    scored = [name for name in rungs if (name, AVERAGE) in table]
    if len(scored) < 2:
        return None
    rows = [table[name, AVERAGE] for name in scored]
    return curve(
        [families.parameters(name, root) / 1e6 for name in scored],
        {kind: [_measured(row, key) for row in rows] for kind, key in (("trained", "accuracy"), ("twins", "twin"))},
        bands=_seed_band(root, rungs[0], table),
        baselines={"chance": 50},
        xlabel="million parameters",
        ylabel=LABEL,
        logx=True,
        caption="Grammar against size: models of one recipe that differ in width.",
    )


def _seed_band(root: Path, name: str, table: Table) -> dict[str, tuple[float, float]]:
    siblings = families.known(families.seeds, name, root) or []
    values = [float(table[sibling, AVERAGE]["accuracy"]) for sibling in siblings if (sibling, AVERAGE) in table]
    return {f"{name}, range over {len(values)} seeds": (min(values), max(values))} if len(values) > 1 else {}


def step_curve(root: Path, name: str, table: Table) -> Figure | None:
    """Average accuracy against steps, step 0 as a line; None where fewer than two later steps are scored."""
    steps = families.known(families.checkpoints, name, root) or {}
    scored = {step: table[model, AVERAGE] for step, model in steps.items() if (model, AVERAGE) in table}
    untrained = scored.pop(0, None)
    if len(scored) < 2:
        return None
    start = {"untrained, step 0": float(untrained["accuracy"])} if untrained else {}
    return curve(
        list(scored),
        {name: [_measured(row, "accuracy") for row in scored.values()]},
        baselines={"chance": 50} | start,
        ylabel=LABEL,
        logx=True,
        caption=f"Grammar against steps: checkpoints of {name}.",
    )


def paradigm_map(models: Sequence[str], table: Table) -> str:
    """A heat map that is a table: a row a paradigm, a column a model, accuracies in the cells, intervals on hover.

    Cells are the deeper the farther above chance; numbers are in the cells, so the table is its own alternative.
    """
    models = [model for model in models if (model, AVERAGE) in table]
    if not models:
        return NOTHING
    last = models[-1]
    names = [name for model, name in table if model == last and name != AVERAGE]
    names = [AVERAGE, *sorted(names, key=lambda name: -float(table[last, name]["accuracy"]))]
    heads = "".join(f'<th scope="col"><code>{escape(model)}</code></th>' for model in models)
    lines = "".join(_line(name, [table.get((model, name)) for model in models]) for name in names)
    caption = (
        f"Accuracy in per cent by paradigm of Zorro and model, sorted by {escape(last)}; 50 is chance. The deeper a "
        "cell, the farther above chance; the interval and the untrained twin show on hover."
    )
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Grammar by paradigm, size, seed and step">'
        f'<table class="plain grammar-map"><caption><span>{caption}</span></caption><thead><tr>'
        f'<th scope="col">Paradigm</th>{heads}</tr></thead><tbody>{lines}</tbody></table></div>'
    )


def _line(name: str, rows: Sequence[dict[str, str] | None]) -> str:
    return f'<tr><th scope="row">{escape(paradigm_title(name))}</th>{"".join(map(_cell, rows))}</tr>'


def _cell(row: dict[str, str] | None) -> str:
    if row is None:
        return "<td>–</td>"
    value, twin = float(row["accuracy"]), float(row["twin"])
    low, high = (float(row[f"accuracy_{end}"]) for end in ("low", "high"))
    told = f"{value:.1f} %, interval {low:.0f} to {high:.0f}; untrained twin {twin:.1f} %"
    return f'<td style="--depth: {max(0.0, value - 50) / 2:.0f}%" title="{told}">{value:.0f}</td>'
