"""The specimens' page: what each embedded model is, and how much grammar it has: by paradigm, size, seed and step.

Depends on `families` (who belongs together), `figures` (curves) and on files: the models' folders and
`results/zorro.csv`, which `bertology score` writes.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bertology_utils import families
from bertology_utils.figures import Figure, curve
from bertology_utils.figures.dots import Dots, dots
from bertology_utils.files import read_csv, read_json
from bertology_utils.language.pairs import paradigm_title
from bertology_utils.pretraining.config import read_config
from bertology_utils.project import checkpoint_steps, embedded_models
from bertology_utils.running.checking import check_file
from bertology_utils.statistics import Measurement, beside_control
from bertology_utils.templates import render

SCORES = Path("results") / "zorro.csv"
RECIPES = Path("results") / "recipe.csv"
RECIPE = Path("configs") / "pretraining" / "recipe.yaml"
BASE = "masks-30"  # what every recipe differs from in one thing
AVERAGE = "average"
KEYS = ["model", "paradigm"]
MOST_MARKED = 4  # models in the dot plot: circle, square, diamond, triangle; more could not be told apart
LABEL = "Zorro, average of 23 (%)"


def read_scores(path: Path) -> pd.DataFrame:
    """The score table by model and paradigm; empty where nothing was scored yet."""
    table = pd.read_csv(path) if path.is_file() else pd.DataFrame(columns=KEYS)
    return table.set_index(KEYS)


def checks_part(root: Path, *_: object) -> str:
    """What `bertology check` found of each embedded model, as far as it was asked; a cross marks a fault."""
    kept = {name: check for name in embedded_models(root) if (check := read_json(check_file(root, name)))}
    shape = r"\d+ x \d+ "  # which differs between models
    found = {name: {re.sub(shape, "", part["part"]): part for part in own["parts"]} for name, own in kept.items()}
    heads = list(dict.fromkeys(part for check in found.values() for part in check))
    lines = [(name, *(_found(check.get(head)) for head in heads)) for name, check in found.items()]
    return render("checks.html", heads=["Model", *heads], lines=lines) if lines else ""


def _found(part: dict[str, object] | None) -> str:
    return "" if part is None else f"{part['found']}{'' if part['holds'] else ' ✗'}"


def recipes_part(root: Path, *_: object) -> str:
    """Held-out losses of `pocket-bert`'s body after equal pieces, beside the base's; empty where the base ran once."""
    losses: dict[str, list[float]] = {}
    for row in read_csv(root / RECIPES):
        losses.setdefault(row["config"], []).append(float(row["held_out_loss"]))
    base = losses.pop(BASE, [])
    if len(base) < 2 or not losses:
        return ""
    ordered = sorted(losses, key=lambda name: np.mean(losses[name]))
    told = {name: f"{read_config(root / f'{RECIPE}#{name}').about}: {np.mean(losses[name]):.2f}" for name in ordered}
    beside = _beside(base, losses)
    figure = dots(
        {f"One thing changed, beside {np.mean(base):.2f}": list(told.values())},
        {"nats beside the base": {told[name]: beside[name] for name in ordered}},
        caption="Held-out loss of each recipe beside the base's, which hides 30 % of the pieces; left is better. "
        "Small dots are seeds, filled marks are clear of zero, and the intervals hold together.",
        narrow=True,
    )
    return figure._repr_html_()


def _beside(base: Sequence[float], others: Mapping[str, Sequence[float]]) -> dict[str, Dots]:
    """How far each recipe's losses are from the base's mean, in nats."""
    bounds = zip(*beside_control(tuple(base), *map(tuple, others.values())), strict=True)
    differences = [np.array(own) - np.mean(base) for own in others.values()]
    return {
        name: Dots(found, found.mean(), low, high, low > 0 or high < 0)
        for name, found, (low, high) in zip(others, differences, bounds, strict=True)
    }


def averages(scores: pd.DataFrame) -> dict[str, pd.Series]:
    """The scores averaged over paradigms, by model."""
    return {model: row for (model, paradigm), row in scores.iterrows() if paradigm == AVERAGE}


def grammar_part(root: Path, *_: object) -> str:
    """What each model is, and how much grammar it has; the claims have no part in it."""
    scores = read_scores(root / SCORES)
    models = [name for name in families.groups(root).get("Specimens", []) if (name, AVERAGE) in scores.index]
    parts = (model_table(root, scores), paradigm_plot(scores, models), paradigm_table(scores, models))
    return "".join((*parts, growth_part(root, scores)))


def model_table(root: Path, scores: pd.DataFrame) -> str:
    """One line a model, in a table for each family: sizes, held-out loss, grammar, checkpoints."""
    groups = {heading: [_model(root, name) for name in names] for heading, names in families.groups(root).items()}
    return render("models.html", groups=groups, averages=averages(scores))


def _model(root: Path, name: str) -> dict[str, object]:
    folder = root / "models" / name
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return {
        "name": name,
        "steps": checkpoint_steps(folder),
        "shape": [config[key] for key in ("num_hidden_layers", "hidden_size", "num_attention_heads")],
        "parameters": families.parameters(name, root),
        "bytes": (folder / "model.safetensors").stat().st_size,
        "loss": families.held_out_loss(name, root),
        "read": _amounts(root, name),
    }


def _amounts(root: Path, name: str) -> list[dict[str, float]]:
    """Of each corpus the words that were read and how many times over; empty where a model's record has none."""
    *_, last = [{}, *families.evaluations(name, root)]
    return list(last.get("amounts", {}).values())


def by_accuracy(scores: pd.DataFrame, model: str = "") -> list[str]:
    """The average, then the model's paradigms from the best to the worst; none without a model."""
    if not model:
        return []
    mine = scores.loc[model].drop(AVERAGE).sort_values("accuracy", ascending=False, kind="stable")
    return [AVERAGE, *mine.index]


def paradigm_plot(scores: pd.DataFrame, models: Sequence[str]) -> str:
    """Inline SVG: one line a paradigm, one filled mark a model, a hollow ring for the untrained twin of the first."""
    return _paradigms("paradigm_plot.html", models[:MOST_MARKED], by_accuracy(scores, *models[:1]), scores)


def paradigm_table(scores: pd.DataFrame, models: Sequence[str]) -> str:
    """The numbers behind the plot, folded away."""
    return _paradigms("paradigms.html", models, list(scores.loc[models[0]].index) if models else [], scores)


def paradigm_map(models: Sequence[str], scores: pd.DataFrame) -> str:
    """A heat map that is a table: a row a paradigm, a column a model, accuracies in the cells, intervals on hover.

    Cells are the deeper the farther above chance; numbers are in the cells, so the table is its own alternative.
    """
    models = [model for model in models if (model, AVERAGE) in scores.index]
    return _paradigms("paradigm_map.html", models, by_accuracy(scores, *models[-1:]), scores)


def _paradigms(template: str, models: Sequence[str], names: Sequence[str], scores: pd.DataFrame) -> str:
    return render(template, models=models, names=names, title=paradigm_title, scores=scores.to_dict("index"))


def growth_part(root: Path, scores: pd.DataFrame) -> str:
    """Grammar over sizes and steps as curves, and of every paradigm and member as a map; empty without a ladder."""
    rungs = families.known(families.rungs, root)
    if rungs is None:
        return ""
    drawn = filter(None, (size_curve(root, rungs, scores), step_curve(root, rungs[0], scores)))
    return "".join([*(figure._repr_html_() for figure in drawn), paradigm_map(members(root, rungs), scores)])


def members(root: Path, rungs: Sequence[str]) -> list[str]:
    """The checkpoints of the lowest rung by step, it itself, its seeds, and the other rungs by size."""
    steps = families.known(families.checkpoints, rungs[0], root) or {}
    siblings = families.known(families.seeds, rungs[0], root) or []
    return list(dict.fromkeys([*steps.values(), *siblings, *rungs]))


def _measured(row: pd.Series, name: str) -> Measurement:
    return Measurement(row[name], row[f"{name}_low"], row[f"{name}_high"], int(row["pairs"]))


def size_curve(root: Path, rungs: Sequence[str], scores: pd.DataFrame) -> Figure | None:
    """Average accuracy against parameters, and the lowest rung's range over its seeds; None for fewer than two."""
    rows = {name: row for name, row in averages(scores).items() if name in rungs}
    scored = [name for name in rungs if name in rows]
    if len(scored) < 2:
        return None
    siblings = families.known(families.seeds, rungs[0], root) or []
    values = [row["accuracy"] for name, row in averages(scores).items() if name in siblings]
    bands = {f"{rungs[0]}, range over {len(values)} seeds": (min(values), max(values))} if len(values) > 1 else {}
    kinds = {"trained": "accuracy", "twins": "twin"}
    return curve(
        [families.parameters(name, root) / 1e6 for name in scored],
        {kind: [_measured(rows[name], key) for name in scored] for kind, key in kinds.items()},
        bands=bands,
        baselines={"chance": 50},
        xlabel="million parameters",
        ylabel=LABEL,
        logx=True,
        caption="Grammar against size: models of one recipe that differ in width.",
    )


def step_curve(root: Path, name: str, scores: pd.DataFrame) -> Figure | None:
    """Average accuracy against steps, step 0 as a line; None where fewer than two later steps are scored."""
    steps, rows = families.known(families.checkpoints, name, root) or {}, averages(scores)
    scored = {step: rows[model] for step, model in steps.items() if model in rows}
    untrained = scored.pop(0, None)
    if len(scored) < 2:
        return None
    start = {} if untrained is None else {"untrained, step 0": untrained["accuracy"]}
    return curve(
        list(scored),
        {name: [_measured(row, "accuracy") for row in scored.values()]},
        baselines={"chance": 50} | start,
        ylabel=LABEL,
        logx=True,
        caption=f"Grammar against steps: checkpoints of {name}.",
    )
