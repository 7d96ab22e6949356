"""The comparison of objectives in small: the engine of `pretraining` on a generated language, in seconds.

What trains here is what trained the recorded comparison, with a smaller net, fewer pieces and a text that the grammar
makes. Depends on `pretraining` and `stories` of `tiny_pretraining`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from transformers.utils.logging import disable_progress_bar

from bertology_utils.pretraining import engine
from bertology_utils.pretraining.compare import run_comparison

OBJECTIVES: dict[str, dict[str, Any]] = {
    "nano": {"objectives": {"masked-tokens": 1}},
    "spans": {"objectives": {"masked-tokens": 1, "span-boundary": 1}, "masking": {"unit": "span"}},
    "next-sentence": {"objectives": {"masked-tokens": 1, "next-sentence": 1}},
}
TINY = {
    "layers": 2, "width": 64, "heads": 2, "positions": 64, "initializer_range": 0.04, "vocabulary_size": 500,
    "learning_rate": 4.0e-3, "matrix_learning_rate": None, "bf16": False, "batch": 32,
    "warmup": 1, "cooldown": 4, "checkpoint_every": 100_000, "evaluation_batches": 2,
    "phases": [{"steps": 8, "length": 64}],
}  # fmt: skip
"""As `configs/pretraining/compare/nano.yaml`, in small; the schedule is stretched to the budget."""


def train_comparison(
    documents: Sequence[Sequence[Sequence[str]]],
    tokens: int,
    seeds: Sequence[int] = (0, 1, 2),
    objectives: Mapping[str, Mapping[str, Any]] = OBJECTIVES,
) -> list[dict[str, Any]]:
    """Trains every objective with every seed on about `tokens` pieces of the documents (lists of sentences of words).

    Returns rows as in the table of `pretraining.compare`; nothing is left on the disk. The last two per cent of the
    documents are held out.
    """
    with TemporaryDirectory() as folder, quiet():
        corpus = Path(folder) / "corpus.txt"
        corpus.write_text("\n\n".join("\n".join(map(" ".join, document)) for document in documents), "utf-8")
        files = [_write(Path(folder), corpus, name, changes) for name, changes in objectives.items()]
        return run_comparison(files, seeds, tokens, Path(folder) / "table.csv")


def _write(folder: Path, corpus: Path, name: str, changes: Mapping[str, Any]) -> Path:
    path = folder / f"{name}.yaml"
    own = {"name": name, "study": "rogers2020primer", "corpora": {"stories": str(corpus)}, "work": str(folder / "work")}
    path.write_text(yaml.safe_dump({**TINY, **own, **changes}), "utf-8")
    return path


@contextmanager
def quiet() -> Iterator[None]:
    """Without the engine's lines on the page."""
    disable_progress_bar()
    before, engine.console.quiet = engine.console.quiet, True
    try:
        yield
    finally:
        engine.console.quiet = before
