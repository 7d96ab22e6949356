"""A comparison of configurations at equal budget: every one over several seeds, one table. Depends on `engine`.

The budget is counted in pieces read. How many a step reads depends on how inputs are packed, so the phases of every
configuration are cut or prolonged in proportion until all read alike.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from bertology_utils.files import digest, read_csv, updating, write_csv
from bertology_utils.provenance import origin

from .config import PretrainingConfig, read_config
from .engine import Pretraining

RESULTS = Path("results") / "pretraining_objectives.csv"
SAMPLED_STEPS = 20  # by which the pieces a step reads are estimated
WORDS = (
    "name", "study", "about", "data", "language", "license", "attribution", "remarks", "work", "seed", "workers",
    "checkpoint_every", "keep_steps", "evaluation_mixture",
)  # fmt: skip
LATER = ("body", "scaled_start", "average")  # came when recipes had run already, and change nothing at their defaults
Score = Callable[[Path], Mapping[str, float]]


def run_comparison(
    configs: Sequence[Path],
    seeds: Sequence[int],
    tokens: int,
    out: Path = RESULTS,
    score: Score | None = None,
) -> list[dict[str, Any]]:
    """Trains every configuration with every seed on about `tokens` pieces and writes a row for each to `out`.

    score: gives further columns for the folder of a finished model, such as its accuracy on minimal pairs.

    Rows are written as they come, and runs that are in `out` with this budget are not repeated, whether or not their
    model is still there; a run that was broken off goes on. Rows of a recipe that was changed since give way to new
    ones. Raises BertologyError as `engine.pretrain`.
    """
    recipes = {Path(str(path).rpartition("#")[2]).stem: read_config(path) for path in configs}  # file or variant
    digests = {name: recipe_digest(recipe) for name, recipe in recipes.items()}
    rows = _kept(out, digests)
    done = {(row["config"], str(row["seed"]), str(row["budget"])) for row in rows}
    for name, recipe in recipes.items():
        for seed in seeds:
            if (name, str(seed), str(tokens)) not in done:
                row = _trained(recipe, name, seed, tokens, score)
                with updating(out):  # another comparison may have added rows since
                    stored = [*_kept(out, digests), row]
                    write_csv(out, stored, dict.fromkeys(column for row in stored for column in row))
                rows.append(row)
    return rows


def _kept(out: Path, digests: Mapping[str, str]) -> list[dict[str, Any]]:
    """The rows of the table that no recipe outdates."""
    rows = read_csv(out, ["config", "seed", "budget"])
    return [row for row in rows if row.get("recipe", "") in ("", digests.get(row["config"], row.get("recipe")))]


def _trained(config: PretrainingConfig, name: str, seed: int, tokens: int, score: Score | None) -> dict[str, Any]:
    recipe = recipe_digest(config)
    config = config.model_copy(update={"seed": seed, "name": f"{name}-{recipe}-seed-{seed}-{tokens}"})
    run = Pretraining(at_budget(config, tokens))
    with run.alone():
        run.resume()
        final = run.run()
    evaluation = run.evaluate(3 * config.evaluation_batches)
    return {
        "config": name,
        "recipe": recipe,
        "study": config.study,
        "objectives": " + ".join(config.all_objectives),
        "seed": seed,
        "budget": tokens,
        "steps": run.step,
        "tokens": run.tokens,
        "parameters": sum(p.numel() for p in run.model.parameters()),
        "seconds": round(run.seconds),
        "held_out_loss": round(evaluation["mlm_loss"], 4),
        **({key: round(float(value), 4) for key, value in score(final).items()} if score else {}),
        "corpora": " + ".join(source.title for source in config.corpora.values()),
        **origin(Path()),
    }


def recipe_digest(config: PretrainingConfig) -> str:
    """Eight letters that change with anything that decides what a recipe learns, seed and words about it aside."""
    unset = {key for key in LATER if getattr(config, key) == PretrainingConfig.model_fields[key].default}
    decides = config.model_dump(exclude={*WORDS, *unset})
    decides["corpora"] = {name: source.title for name, source in config.corpora.items()}
    return digest(decides)[:8]


def at_budget(config: PretrainingConfig, tokens: int) -> PretrainingConfig:
    """The configuration with its schedule stretched so that it reads about `tokens` pieces."""
    batches = Pretraining(config).batches
    total = 0.0
    ends = accumulate(phase.steps for phase in config.phases)
    for phase, end in zip(config.phases, ends, strict=True):
        start = end - phase.steps
        sampled = range(start, start + phase.steps, math.ceil(phase.steps / SAMPLED_STEPS))
        total += phase.steps * sum(int(batches[step]["attention_mask"].sum()) for step in sampled) / len(sampled)
    stretch = tokens / total
    phases = [p.model_copy(update={"steps": max(1, round(p.steps * stretch))}) for p in config.phases]
    shorter = {key: round(getattr(config, key) * stretch) for key in ("warmup", "cooldown", "average")}
    return config.model_copy(update={"phases": phases, **shorter})
