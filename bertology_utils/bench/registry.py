"""The benchmarks, in one list: later ones are added here. Importing it loads torch and transformers."""

from bertology_utils.errors import unknown

from . import instruments, memory, training
from .measure import Benchmark


def _structural(name: str, what: str, train: int, **ours: int) -> Benchmark:
    """Structural probes trained on so many sentences, in 20 epochs, or ours in `own_epochs`."""
    return Benchmark(
        name,
        what,
        "run",
        instruments.prepare_structural,
        smoke={"train": 20, "test": 4, "epochs": 1, "rank": 4, "every": 16},
        full={"train": train, "test": 400, "epochs": 20, "rank": 64, **ours},
        bar=20.0,
    )


_LIST = (
    Benchmark(
        "pretraining",
        "a training step of an 8 x 256 BERT, batch included, beside the Trainer of transformers",
        "step",
        training.prepare,
        smoke={"layers": 2, "width": 32, "heads": 4, "vocabulary": 300, "batch": 4, "steps": 2, "sentences": 600},
        full={
            "layers": 8,
            "width": 256,
            "heads": 8,
            "vocabulary": 12_000,
            "batch": 32,
            "steps": 8,
            "sentences": 30_000,
        },
        bar=1.3,
    ),
    Benchmark(
        "pseudo-log-likelihood",
        "scores of sentences of 4 to 40 words",
        "run",
        instruments.prepare_likelihood,
        smoke={"sentences": 3},
        full={"sentences": 1000},
        bar=2.0,
        rounds=1,
    ),
    _structural(
        "structural-probe", "distance probes at every layer from 600 sentences, beside the original procedure", 600
    ),
    _structural(
        "structural-probe-2000",
        "the same from 2,000 sentences, where starting a process for each layer weighs less",
        2000,
    ),
    _structural(
        "structural-probe-same-trees",
        "the same from 2,000 sentences until it finds the same trees, for which ours takes 5 epochs and not 20",
        2000,
        own_epochs=5,
    ),
    Benchmark(
        "self-similarity",
        "mean cosine between a word's occurrences, beside sampled pairs",
        "run",
        instruments.prepare_self_similarity,
        smoke={"sentences": 60, "minimum": 10, "pairs": 400},
        full={"sentences": 400, "minimum": 20, "pairs": 1000},
        bar=100.0,
    ),
    Benchmark(
        "likelihood-memory",
        "peak memory of pseudo-log-likelihoods: a long sentence beside many short ones",
        "run",
        memory.prepare_long_sentence,
        smoke={"sentences": 2, "words": 10},
        full={"sentences": 1000, "words": 400},
        bar=0.8,
        rounds=1,
        quantity="MiB",
    ),
    Benchmark(
        "attention-memory",
        "peak memory of attention statistics: ten times as many sentences",
        "run",
        memory.prepare_attention,
        smoke={"few": 1, "many": 2},
        full={"few": 100, "many": 1000},
        bar=0.8,
        rounds=1,
        quantity="MiB",
    ),
    Benchmark(
        "roofline",
        "share of the machine's peak in matrix products that the forward pass reaches, in float32",
        "1e9 MACs",
        instruments.prepare_roofline,
        smoke={"size": 128, "rows": 2, "length": 16},
        full={"size": 1536, "rows": 32, "length": 128},
    ),
)
BENCHMARKS = {benchmark.name: benchmark for benchmark in _LIST}


def benchmark(name: str) -> Benchmark:
    """The benchmark of that name; raises `BertologyError` with the nearest names."""
    if name not in BENCHMARKS:
        raise unknown("benchmark", name, BENCHMARKS)
    return BENCHMARKS[name]
