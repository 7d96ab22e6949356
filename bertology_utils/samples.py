"""What was measured, as samples of a declared design. Depends on numpy and `errors`.

A sample is a number, values over units, or values over seeds and units:

- a plain array `(items,)` or `(seeds, items)` says that the items are independent;
- `by_unit` says that items share their verbs, relations or names, which are then what was drawn;
- `per_seed` says that each seed gives one value;
- `census` says that everything that exists was measured (all heads, all rows of a table), so that nothing was drawn.

Samples with as many units are of the same units, those with as many seeds of the same seeds; where they are not, their
covariance is zero but for chance, so that this says nothing wrong.
"""

import base64
import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from bertology_utils.absent import absent_in
from bertology_utils.errors import BertologyError, NotAskable

Samples = Mapping[str, np.ndarray]


class UnitSamples(np.ndarray):
    """Values of units that know of how many `items` they were made, and whether these were right or wrong."""

    items: int
    binary: bool

    def __array_finalize__(self, source: np.ndarray | None) -> None:
        self.items = getattr(source, "items", self.shape[-1] if self.ndim else 1)
        self.binary = getattr(source, "binary", False)

    def __array_wrap__(self, array: np.ndarray, context: object = None, return_scalar: bool = False) -> np.ndarray:
        """What was computed from rights and wrongs, such as a difference, is neither."""
        computed = super().__array_wrap__(array, context, return_scalar)
        if isinstance(computed, UnitSamples):
            computed.binary = False
        return computed


def _made_of(values: np.ndarray, items: int, binary: bool = False) -> UnitSamples:
    samples = np.asarray(values, dtype=float).view(UnitSamples)
    samples.items, samples.binary = items, binary
    return samples


def like(sample: np.ndarray, values: np.ndarray) -> UnitSamples:
    """Other values of the same units."""
    return _made_of(values, item_count(sample), is_binary(sample))


def as_samples(samples: Mapping[str, object]) -> dict[str, np.ndarray]:
    """Named samples as float arrays: 0-d exact, 1-d over units, 2-d `(seeds, units)`.

    Raises BertologyError: another shape, no values, or values that are not a number; NotAskable: one is absent.
    """
    if absent := absent_in(samples):
        raise NotAskable(absent.reason)
    arrays = {name: np.asanyarray(values, dtype=float) for name, values in samples.items()}
    for name, array in arrays.items():
        if array.ndim > 2 or array.size == 0:
            raise BertologyError(
                f"The sample '{name}' must be a number, (items,) or (seeds, items), not {array.shape}."
            )
        if not np.isfinite(array).all():
            raise BertologyError(f"The sample '{name}' holds values that are not a number.")
    return arrays


def by_unit(values: Sequence[float] | np.ndarray, units: Sequence[str] | Sequence[Sequence[str]]) -> UnitSamples:
    """One value for each unit that items are made of, in sorted order: (..., items) to (..., units).

    Items that share their things are not independent: 120 pairs of 16 things know of 16 things. `units` names the one
    of each item, or k of them, alike for all. A unit's value is the mean plus k times how far its own items lie off it
    (Hajek's projection): the mean stays that of the items, and the spread is what other things would have given. No
    items have no units.
    """
    values, parts = np.asarray(values, dtype=float), np.array(units)
    if not values.shape[-1]:
        return _made_of(values, 0)
    parts = parts.reshape(len(parts), -1)
    names, places = np.unique(parts, return_inverse=True)

    def of_row(row: np.ndarray) -> np.ndarray:
        off = np.repeat(row - row.mean(), parts.shape[1])
        return row.mean() + np.bincount(places.ravel(), off, len(names)) * len(names) / len(row)

    return _made_of(np.apply_along_axis(of_row, -1, values), values.shape[-1], _zeros_and_ones(values))


def per_seed(values: Sequence[float] | np.ndarray, items: int = 1) -> UnitSamples:
    """One value a seed, such as a loss or a variance, or a share of so many `items`: (seeds,) to (seeds, 1)."""
    values = np.asarray(values, dtype=float)
    if values.ndim != 1:
        raise BertologyError(f"One value a seed is expected, not {values.shape}.")
    return _made_of(values[:, None], items)


def census(values: Sequence[float] | np.ndarray) -> UnitSamples:
    """The mean over units that are all there are: (units,) to a number, (seeds, units) to (seeds, 1)."""
    values = np.asarray(values, dtype=float)
    mean = values.mean(-1, keepdims=values.ndim > 1)
    return _made_of(mean, values.shape[-1] if values.ndim else 1)


def is_binary(array: np.ndarray) -> bool:
    """Whether the values are rights and wrongs, or units of such; a mean of several items is neither, even at 1."""
    alone = array.ndim > 0 and item_count(array) == array.shape[-1]
    return array.ndim > 0 and (getattr(array, "binary", False) or (alone and _zeros_and_ones(array)))


def of_single_items(array: np.ndarray) -> bool:
    """Whether a sample is of independent rights and wrongs: `(items,)`, one a unit, fresh or from a record."""
    return array.ndim == 1 and item_count(array) == len(array) and _zeros_and_ones(array)


def _zeros_and_ones(array: np.ndarray) -> bool:
    return bool(np.isin(array, (0.0, 1.0)).all())


def item_count(array: np.ndarray) -> int:
    """Items a seed behind a sample."""
    return int(getattr(array, "items", array.shape[-1] if array.ndim else 1))


def packed(array: np.ndarray) -> dict[str, object]:
    """A sample as a record keeps it: shape, items, and its values as bits or single-precision offsets in base64.

    Offsets are scaled by the largest; means are kept apart, to the record's own precision.
    """
    array = np.asanyarray(array, dtype=float)
    mean = float(array.mean())
    kept = {"shape": list(array.shape), "items": item_count(array), "binary": is_binary(array), "mean": mean}
    if array.ndim and _zeros_and_ones(array):
        return kept | {"bits": _text(np.packbits(array.astype(bool)))}
    scale = float(np.abs(array - mean).max()) or 1.0
    return kept | {
        "scale": scale,
        "singles": _text(np.asarray((array - mean) / scale, np.float32)) if array.ndim else "",
    }


def _text(raw: np.ndarray) -> str:
    return base64.b64encode(zlib.compress(raw.tobytes(), 9)).decode()


def unpacked(kept: Mapping[str, object]) -> np.ndarray:
    """The sample that `packed` kept."""
    shape, mean = tuple(kept["shape"]), float(kept["mean"])
    if not shape:
        return _made_of(np.asarray(mean), kept["items"])
    if "bits" in kept:
        raw = np.frombuffer(zlib.decompress(base64.b64decode(kept["bits"])), np.uint8)
        values = np.unpackbits(raw)[: int(np.prod(shape))].astype(float)
    else:
        values = np.frombuffer(zlib.decompress(base64.b64decode(kept["singles"])), np.float32).astype(float)
        values = (values - values.mean()) * float(kept["scale"]) + mean
    return _made_of(values.reshape(shape), kept["items"], kept["binary"])
