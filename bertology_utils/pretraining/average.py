"""The mean of the weights of several finished runs, as a run of its own. Depends on the engine.

After wortsman2022model: runs that went on from the same weights often end in one basin, and their mean is then better
than each of them at the price of one. Whether that holds is measured: all are evaluated on the same held-out text.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from bertology_utils.errors import BertologyError

from . import checkpoints
from .config import PretrainingConfig, read_config
from .engine import Pretraining, console


def average(name: str, configs: Sequence[Path]) -> Path:
    """Writes the mean of the runs of several configurations as the finished run `name`, beside the first of them.

    Pieces and seconds are those of all runs; the model card says which runs they are and how each does on the held-out
    text of the first. Returns the model's folder.

    Raises BertologyError: fewer than two runs, one that is not finished or has another tokenizer or other sizes, or a
    run called `name` that is there already.
    """
    settings = [read_config(path) for path in configs]
    if len(settings) < 2:
        raise BertologyError("A mean needs the configurations of at least two runs.")
    if name in ("", ".", "..") or Path(name).name != name:
        raise BertologyError(f"'{name}' is no name of a run: it becomes a folder beside the others.")
    run = Pretraining(settings[0].model_copy(update={"name": name}))
    if run.has_progress():
        raise BertologyError(f"{run.folder} holds a run already: choose another name.")
    states = [_finished_state(config) for config in settings]
    _check_alike(settings, states)
    told = []
    for config, state in zip(settings, states, strict=True):
        run.load_weights(state)
        loss = run.evaluate(3 * config.evaluation_batches)["mlm_loss"]
        console.print(f"{config.name}: held-out loss {loss:.3f}")
        told.append(f"`{config.name}` ({config.steps:,} steps, held-out loss {loss:.3f})")
    run.load_weights({part: _mean([state[part] for state in states]) for part in ("model", "heads")})
    run.step = settings[0].steps
    run.tokens, run.seconds = (sum(state[key] for state in states) for key in ("tokens", "seconds"))
    kept = f"the mean of those of {' and '.join(told)}; pieces and minutes above are those of all of them"
    return run.finish({"Weights kept": kept} | settings[0].remarks)


def _finished_state(config: PretrainingConfig) -> dict[str, Any]:
    path = Path(config.work).expanduser() / config.name / "checkpoint.pt"
    if not path.exists():
        raise BertologyError(f"The run '{config.name}' has no checkpoint: {path}.")
    state = checkpoints.read(path)
    if state["step"] < config.steps:
        raise BertologyError(f"The run '{config.name}' stands at step {state['step']} of {config.steps}.")
    return state


def _check_alike(settings: Sequence[PretrainingConfig], states: Sequence[dict[str, Any]]) -> None:
    first = states[0]
    for config, state in zip(settings[1:], states[1:], strict=True):
        if state["tokenizer"] != first["tokenizer"]:
            raise BertologyError(f"The run '{config.name}' has another tokenizer than '{settings[0].name}'.")
        if _shapes(state) != _shapes(first):
            raise BertologyError(f"The run '{config.name}' has other sizes or heads than '{settings[0].name}'.")


def _shapes(state: dict[str, Any]) -> dict[str, torch.Size]:
    return {name: tensor.shape for part in ("model", "heads") for name, tensor in state[part].items()}


def _mean(weights: Sequence[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Tensor by tensor; counters, which are whole numbers, are those of the first."""
    return {
        name: torch.stack([one[name] for one in weights]).mean(0) if tensor.is_floating_point() else tensor
        for name, tensor in weights[0].items()
    }
