"""Checkpoints of a run: written whole, read safely, and refused by another configuration. Depends on torch."""

from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from bertology_utils.errors import BertologyError
from bertology_utils.files import replacing

from .config import PretrainingConfig
from .sources import CorpusSource

# What may differ on resuming: words, bookkeeping, and the end of the schedule, so that a run can be prolonged. Where
# files lie may differ too; their names may not.
FREE = {
    "name", "study", "about", "data", "language", "license", "attribution", "remarks", "work", "tokenizer", "cooldown",
    "checkpoint_every", "evaluation_batches", "evaluation_mixture", "keep_steps", "workers", "phases", "corpora",
    "start", "bf16",
}  # fmt: skip


def save(path: Path, state: Mapping[str, Any]) -> None:
    """Writes a checkpoint, or leaves the one before it."""
    with replacing(path) as part:
        torch.save(dict(state), part)


def read(path: Path, device: torch.device | str = "cpu") -> dict[str, Any]:
    """A checkpoint; `BertologyError` for a damaged one."""
    try:
        return torch.load(path, map_location=device, weights_only=True)
    except (RuntimeError, EOFError, UnpicklingError) as error:
        raise BertologyError(f"The checkpoint {path} is damaged ({str(error).splitlines()[0][:100]}).") from None


def check_same_run(path: Path, state: Mapping[str, Any], config: PretrainingConfig, tokenizer: str) -> None:
    """Raises `BertologyError` unless the checkpoint is of this configuration, or of a shorter schedule of it."""
    stored, own = state["config"], config.model_dump()
    changed = [key for key in stored if key in own and key not in FREE and stored[key] != own[key]]
    if _titles(stored["corpora"]) != _titles(own["corpora"]):
        changed.append("corpora")
    if bool(stored.get("start")) != bool(own["start"]):
        changed.append("start")
    if _schedule(stored["phases"], state["step"]) != _schedule(own["phases"], state["step"]):
        changed.append("phases")
    if state.get("tokenizer", tokenizer) != tokenizer:
        changed.append("tokenizer")
    if changed:
        raise BertologyError(f"{path} is of another configuration ('{changed[0]}' differs). Choose another name.")


def _titles(corpora: Mapping[str, Any]) -> dict[str, str]:
    """Each corpus with all that shapes its text, without the folder where it lies."""
    sources = {name: {"path": source} if isinstance(source, str) else source for name, source in corpora.items()}
    return {name: CorpusSource.model_validate(source).title for name, source in sources.items()}


def _schedule(phases: list[dict[str, Any]], step: int) -> list[dict[str, Any]]:
    """The phases up to a step."""
    done = []
    for phase in phases:
        if step > 0:
            done.append({"objectives": None, **phase, "steps": min(step, phase["steps"])})
        step -= phase["steps"]
    return done
