"""The two published sizes of BERT: their parameters, by a formula and counted, and the work of training them.

Depends on `anatomy` (the formula) and `accounting` (counts of models that hold no numbers).
"""

from collections.abc import Mapping

from bertology_utils.compression.accounting import counts, training_operations
from bertology_utils.studies.overview.anatomy import parameter_formula

SIZES = {"bert-base": (12, 768), "bert-large": (24, 1024)}
TOKENS = 1e6 * 256 * 512  # a million steps of full batches: an upper bound, for most steps read shorter inputs
YEAR = 3600 * 24 * 365  # seconds


def rows() -> list[dict[str, object]]:
    """Millions of parameters by part, their sum, and the count over all tensors: rows of a table."""
    by_part = {name: parameter_formula(*shape) for name, shape in SIZES.items()}
    return [
        {
            "model": name,
            **{part: round(n / 1e6, 1) for part, n in parts.items()},
            "sum": round(sum(parts.values()) / 1e6, 1),
            "tensors": round(counts(name).all / 1e6, 1),
        }
        for name, parts in by_part.items()
    ]


def counted() -> dict[str, float]:
    """Parameters of both by the `formula` and over all `tensors`; of `base` and of `large`, in millions."""
    return {
        "formula": sum(sum(parameter_formula(*shape).values()) for shape in SIZES.values()),
        "tensors": sum(counts(name).all for name in SIZES),
        "base": counts("bert-base").all / 1e6,
        "large": counts("bert-large").all / 1e6,
    }


def training_work() -> dict[str, float]:
    """Floating-point operations of pre-training both, over TOKENS tokens."""
    return {
        f"{name}_operations": training_operations(counts(f"bert-{name}").encoder, TOKENS) for name in ("large", "base")
    }


def share_of_embeddings(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, float]:
    """Share of the parameters that lies in the embeddings, by the formula, of named shapes."""
    parts = {name: parameter_formula(*shape) for name, shape in shapes.items()}
    return {name: counted["embeddings"] / sum(counted.values()) for name, counted in parts.items()}
