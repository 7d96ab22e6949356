"""Where things lie: chapters, profiles, embedded models and the paths of what a run writes. Depends on errors only.

The runner, the freshness check, the build and the command line agree on names through this module alone; it imports
nothing heavy, so that `bertology --help` stays quick.
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from bertology_utils.errors import BertologyError, unknown

CHAPTERS = (
    "overview",
    "embeddings",
    "syntax",
    "semantics",
    "world_knowledge",
    "attention",
    "layers",
    "training",
    "finetuning",
    "overparametrization",
    "compression",
    "mbert",
    "generalization",
)
PROFILES = ("smoke", "live", "full")
DEFAULT_MODEL = "pocket-bert"
DEFAULT_PROFILE = "live"
EXTRA_MODELS = ("minilm",)
"""Models that `--model` accepts beside the embedded ones; their weights come with an optional package."""


@dataclass(frozen=True)
class Job:
    """One chapter on one model under one profile; `part` paths are moved over the final ones when complete."""

    root: Path
    chapter: str
    model: str = DEFAULT_MODEL
    profile: str = DEFAULT_PROFILE
    seed: int = 0

    @property
    def label(self) -> str:
        return f"{self.chapter} · {self.model}"

    @property
    def source(self) -> Path:
        return self.root / "notebooks" / f"{self.chapter}.ipynb"

    @property
    def folder(self) -> Path:
        return self.root / "_executed" / self.profile / model_slug(self.model)

    @property
    def notebook(self) -> Path:
        return self.folder / f"{self.chapter}.ipynb"

    @property
    def record(self) -> Path:
        return self.folder / f"{self.chapter}.json"

    @property
    def notebook_part(self) -> Path:
        return self.folder / f"{self.chapter}.ipynb.part"

    @property
    def record_part(self) -> Path:
        return self.folder / f"{self.chapter}.json.part"

    @property
    def traceback(self) -> Path:
        """The full text of the last failure; absent after a success."""
        return self.folder / f"{self.chapter}.error.txt"

    def discard_parts(self) -> None:
        for path in (self.notebook_part, self.record_part):
            path.unlink(missing_ok=True)


def model_slug(model: str) -> str:
    """The folder name of a model: `random:pocket-bert` -> `random-pocket-bert`, `org/name` -> `org--name`."""
    prefix, _, rest = model.rpartition(":")
    if os.path.isabs(rest):  # two folders of one name must not share results
        rest = f"{Path(rest).name}-{hashlib.sha256(rest.encode()).hexdigest()[:8]}"
    joined = f"{prefix}-{rest}" if prefix else rest
    return re.sub(r"[^A-Za-z0-9._@-]", "-", joined.replace("/", "--"))


def find_root(start: Path | None = None) -> Path:
    """The project's folder: the nearest one above `start` with notebooks and a `_toc.yml`, else the package's own."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents, Path(__file__).resolve().parents[1]):
        if (folder / "notebooks").is_dir() and (folder / "_toc.yml").is_file():
            return folder
    raise BertologyError("No book here: neither this folder nor one above it has notebooks/ and _toc.yml.")


def chapters(root: Path) -> list[str]:
    """The chapters that exist, in the survey's order; notebooks outside that order follow by name."""
    present = {path.stem for path in (root / "notebooks").glob("*.ipynb")}
    ordered = [name for name in CHAPTERS if name in present]
    return ordered + sorted(present.difference(CHAPTERS))


def embedded_models(root: Path) -> list[str]:
    """Names of the models stored under `models/`."""
    return sorted(path.parent.name for path in (root / "models").glob("*/config.json"))


def model_folder(root: Path, model: str) -> Path | None:
    """The local folder whose files decide what `model` is, None for a model of the hub."""
    name = model.removeprefix("random:")
    candidate = root / "models" / name.partition("@")[0]
    if candidate.is_dir():
        return candidate
    return Path(name) if Path(name).is_dir() else None


def hub_folder(model: str) -> Path:
    """Where the Hugging Face cache keeps a hub model, whether or not it is there."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    cache = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    return cache / f"models--{model.removeprefix('random:').replace('/', '--')}"


def resolve_model(root: Path, model: str, online: bool = False) -> str:
    """Check a `--model` value and make a folder absolute; notebooks run in another folder than the command.

    Raises `BertologyError` with the nearest names where nothing can be loaded under that name.
    """
    prefix = "random:" if model.startswith("random:") else ""
    name = model.removeprefix("random:")
    folder = model_folder(root, name)
    if folder is not None:
        if not (folder / "config.json").is_file():
            raise BertologyError(f"The folder {folder} holds no model: it has no config.json.")
        return model if folder.parent == root / "models" else prefix + str(folder.resolve())
    if name in EXTRA_MODELS or hub_folder(name).is_dir() or (online and re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name)):
        return model
    error = unknown("model", model, [*embedded_models(root), *EXTRA_MODELS])
    hint = "" if online else " A model of the hub needs --online the first time."
    raise BertologyError(f"{error}{hint}")


def plan(
    root: Path,
    names: list[str] | None = None,
    models: list[str] | None = None,
    profile: str = DEFAULT_PROFILE,
    seed: int = 0,
    online: bool = False,
) -> list[Job]:
    """The jobs of a run: chapters x models, all names checked before anything starts."""
    known = chapters(root)
    if not known:
        raise BertologyError(f"There is no notebook in {root / 'notebooks'}.")
    for name in names or []:
        if name not in known:
            raise unknown("chapter", name, known)
    if profile not in PROFILES:
        raise unknown("profile", profile, PROFILES)
    resolved = [resolve_model(root, model, online) for model in models or [DEFAULT_MODEL]]
    wanted = list(dict.fromkeys(names or known))
    return [Job(root, chapter, model, profile, seed) for model in dict.fromkeys(resolved) for chapter in wanted]


def read_json(path: Path) -> dict | list | None:
    """The content of a json file, None where it is missing or broken."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_json(path: Path, value: object) -> None:
    """Write readable json, one value a line."""
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
