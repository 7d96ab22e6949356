"""A toy text and the smallest configurations, for the tests of pre-training."""

import gzip
import lzma
from pathlib import Path

import yaml

from bertology_utils.pretraining.config import PretrainingConfig

STORIES = [
    'The cook opened the door. "Who is there?" he asked. Nobody answered!',
    "Rain fell on the harbour. The boats stayed where they were. A gull slept.",
    "Ann Smith wrote a letter. She wrote about the garden and the old tree.\nShe sent it to New York on Monday.",
] * 4


def write_corpus(path: Path, stories: list[str] = STORIES) -> Path:
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)
    with opener(path, "wt", encoding="utf-8") as file:
        file.write("\n\n".join(stories) + "\n")
    return path


def settings(folder: Path, **changes) -> dict:
    base = {
        "name": "toy", "study": "devlin2019bert", "corpora": {"toy": str(folder / "toy.txt")},
        "work": str(folder / "work"), "vocabulary_size": 150, "layers": 1, "width": 16, "heads": 2, "positions": 32,
        "batch": 2, "warmup": 2, "cooldown": 2, "checkpoint_every": 3, "evaluation_batches": 1, "bf16": False,
        "phases": [{"steps": 6, "length": 32, "mixture": {"toy": 1.0}}],
    }  # fmt: skip
    return base | changes


def config(folder: Path, **changes) -> PretrainingConfig:
    return PretrainingConfig(**settings(folder, **changes))


def config_file(folder: Path, **changes) -> Path:
    path = folder / "toy.yaml"
    path.write_text(yaml.safe_dump(settings(folder, **changes)), encoding="utf-8")
    return path
