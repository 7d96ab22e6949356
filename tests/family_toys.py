"""A project with a family of embedded models: weights of any shape, configurations and logs, nothing trained."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file


def add_model(root: Path, name: str, width: int, steps: tuple[int, ...] = (), loss: float | None = None) -> Path:
    """A model folder of `width` squared weights with stored steps; with a log of two evaluations where `loss` is."""
    folder = root / "models" / name
    folder.mkdir(parents=True)
    config = {"num_hidden_layers": 2, "hidden_size": width, "num_attention_heads": 4, "vocab_size": 1234}
    (folder / "config.json").write_text(json.dumps(config))
    for file in ("model.safetensors", *(f"model.step-{step}.safetensors" for step in steps)):
        save_file({"weight": torch.zeros(width, width), "bias": torch.zeros(3)}, folder / file)
    if loss is not None:
        log = [{"step": 50, "mlm_loss": loss + 1}, {"step": 100, "mlm_loss": loss}]
        (folder / "evaluations.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log))
    return folder


def make_family(root: Path) -> Path:
    """A specimen, a ladder of two rungs whose names do not sort by size, seeds and checkpoints of the lower one."""
    add_model(root, "pocket", 16)
    add_model(root, "ladder-10m", 12, loss=3.0)
    add_model(root, "ladder-2m", 8, steps=(0, 5, 40), loss=4.0)
    add_model(root, "ladder-2m-seed-1", 8, loss=4.1)
    return root
