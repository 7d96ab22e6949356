"""Which embedded models belong together: a ladder of sizes, seeds of one recipe, checkpoints of one run.

Read from the folders under `models/`: names say the family (`ladder-3m`, `ladder-1m-seed-2`, `name@step`), weights the
number of parameters, `evaluations.jsonl` the steps and the held-out losses. Depends on `project` alone.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bertology_utils.errors import BertologyError
from bertology_utils.project import DEFAULT_MODEL, EVALUATIONS, checkpoint_steps, embedded_models, find_root

Found = TypeVar("Found")
LADDER = "ladder"
_RUNG = re.compile(r"(?P<family>.+)-\d+m")
_DEPTH = re.compile(r"(?P<family>.+)-\d+-layers")
_SEED = re.compile(r"(?P<base>.+)-seed-\d+")
_TWIN = re.compile(r"twins-.+")
_MEMBER = re.compile(rf"{LADDER}-(\d+m(-seed-\d+)?|\d+-layers)|.+@\d+")
_ORDER = ("Specimens", "Bilingual pair", "Sizes", "Depths", "Seeds")


def _project(root: Path | None) -> Path:
    return root or find_root(Path(__file__).parent)


def _folder(name: str, root: Path | None) -> Path:
    return _project(root) / "models" / name


def parameters(name: str, root: Path | None = None) -> int:
    """How many numbers the weights of an embedded model hold (a tied matrix once); reads the file's header only."""
    with (_folder(name, root) / "model.safetensors").open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return sum(math.prod(entry["shape"]) for key, entry in header.items() if key != "__metadata__")


def evaluations(name: str, root: Path | None = None) -> list[dict]:
    """What was evaluated on held-out text during the pre-training, in order of steps; empty where that was not kept."""
    path = _folder(name, root) / EVALUATIONS
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [json.loads(line) for line in lines]


def held_out_loss(name: str, root: Path | None = None) -> float | None:
    """The last held-out loss (nats a masked piece), None where none was kept."""
    found = evaluations(name, root)
    return found[-1]["mlm_loss"] if found else None


def rungs(root: Path | None = None, family: str = LADDER) -> list[str]:
    """The models of one recipe in order of size, smallest first: those called `<family>-<millions>m`.

    Raises BertologyError where there are fewer than two.
    """
    base = _project(root)
    names = [name for name in embedded_models(base) if (m := _RUNG.fullmatch(name)) and m["family"] == family]
    if len(names) < 2:
        raise BertologyError(f"The family '{family}' needs two models in {base / 'models'}, which has {len(names)}.")
    return sorted(names, key=lambda name: parameters(name, base))


def depths(root: Path | None = None, family: str = LADDER) -> dict[int, str]:
    """Number of layers -> model, shallowest first: those called `<family>-<layers>-layers`, and the rung as wide.

    Raises BertologyError where there are fewer than two.
    """
    base = _project(root)
    named = [name for name in embedded_models(base) if (m := _DEPTH.fullmatch(name)) and m["family"] == family]
    sizes = {name: _sizes(name, base) for name in (*named, *(known(rungs, base, family) or []))}
    wide = {sizes[name]["hidden_size"] for name in named}
    found = {own["num_hidden_layers"]: name for name, own in sizes.items() if own["hidden_size"] in wide}
    if len(found) < 2:
        raise BertologyError(f"Depths of the family '{family}' need two models in {base / 'models'}.")
    return dict(sorted(found.items()))


def _sizes(name: str, root: Path) -> dict:
    return json.loads((_folder(name, root) / "config.json").read_text(encoding="utf-8"))


def seeds(name: str, root: Path | None = None) -> list[str]:
    """The model and its siblings that differ in the seed alone, `<name>-seed-<number>`; at least two, else an error."""
    base = _project(root)
    siblings = [other for other in embedded_models(base) if (m := _SEED.fullmatch(other)) and m["base"] == name]
    if not siblings:
        raise BertologyError(f"The model '{name}' has no siblings of another seed in {base / 'models'}.")
    return [name, *siblings]


def checkpoints(name: str, root: Path | None = None) -> dict[int, str]:
    """Step of the pre-training -> model name, the finished model last.

    Raises BertologyError where no checkpoints or no evaluations, which name the last step, lie beside the weights.
    """
    steps, found = checkpoint_steps(_folder(name, root)), evaluations(name, root)
    if not steps or not found:
        missing = EVALUATIONS if steps else "checkpoints"
        raise BertologyError(f"The model '{name}' comes without {missing} of its pre-training.")
    return {step: f"{name}@{step}" for step in steps} | {found[-1]["step"]: name}


def known(family: Callable[..., Found], *arguments: object) -> Found | None:
    """What `rungs`, `seeds` or `checkpoints` finds; None where the project has no such family."""
    try:
        return family(*arguments)
    except BertologyError:
        return None


def is_member(name: str) -> bool:
    """Whether a model is one of a series that is shown together: a rung of the ladder, its seeds, a checkpoint."""
    return _MEMBER.fullmatch(name) is not None


def groups(root: Path | None = None) -> dict[str, list[str]]:
    """All embedded models by size under headings: specimens, the book's own first, then pairs, ladders and seeds."""
    base = _project(root)
    found: dict[str, list[str]] = defaultdict(list)
    for name in embedded_models(base):
        found[_heading(name)].append(name)
    order = [heading for kind in _ORDER for heading in sorted(found) if heading.startswith(kind)]
    return {
        heading: sorted(found[heading], key=lambda name: (name != DEFAULT_MODEL, parameters(name, base)))
        for heading in order
    }


def members(root: Path | None = None) -> list[str]:
    """All embedded models in the order of `groups`, each behind the steps of its pre-training that were kept."""
    kept = {name: checkpoint_steps(_folder(name, root)) for own in groups(root).values() for name in own}
    return [member for name, steps in kept.items() for member in (*(f"{name}@{step}" for step in steps), name)]


def _heading(name: str) -> str:
    if seed := _SEED.fullmatch(name):
        return f"Seeds of {seed['base']}"
    if rung := _RUNG.fullmatch(name):
        return f"Sizes: {rung['family']}"
    if depth := _DEPTH.fullmatch(name):
        return f"Depths: {depth['family']}"
    return "Bilingual pair" if _TWIN.fullmatch(name) else "Specimens"
