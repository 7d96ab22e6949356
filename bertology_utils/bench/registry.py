"""The benchmarks, `benchmarks.yaml`: later ones are added there. Importing it loads torch and transformers."""

from pathlib import Path

from bertology_utils.errors import unknown
from bertology_utils.files import read_yaml

from . import instruments, memory, throughput, training
from .measure import Benchmark

TABLE = Path(__file__).with_name("benchmarks.yaml")
PREPARE = {
    name: function
    for module in (instruments, memory, throughput, training)
    for name, function in vars(module).items()
    if name.startswith("prepare_")
}
BENCHMARKS = {
    row["name"]: Benchmark(**row | {"prepare": PREPARE[f"prepare_{row['prepare']}"]}) for row in read_yaml(TABLE)
}


def benchmark(name: str) -> Benchmark:
    """The benchmark of that name; raises `BertologyError` with the nearest names."""
    if name not in BENCHMARKS:
        raise unknown("benchmark", name, BENCHMARKS)
    return BENCHMARKS[name]
