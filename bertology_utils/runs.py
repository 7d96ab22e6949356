"""What one closure measured on a model and on its untrained twins, which draws itself and fills sentences with numbers.

Depends on `figures`, `samples`, `absent` and the claims (what a study's own figure showed stands with its claim).
"""

import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bertology_utils import figures
from bertology_utils.absent import Absent, absent_in, asked
from bertology_utils.errors import BertologyError, unknown
from bertology_utils.figures import Figure
from bertology_utils.samples import like
from bertology_utils.verdicts.claims import claim_by_id

TWIN = "twin"


@dataclass(frozen=True)
class Runs:
    """What one closure measured on the specimen, on its untrained twin, and on further untrained twins.

    `networks` is how many untrained networks stand in `twin`, one behind each of its seeds; see `pooled`.
    """

    model: Any
    twin: Any
    others: tuple[Any, ...] = ()
    networks: int = 1

    def _ipython_display_(self) -> None:
        """A cell that ends with it shows nothing: figures and sentences show what it holds."""

    def map(self, function: Callable[[Any], Any]) -> "Runs | Absent":
        """A function of each side; where it is absent for one, all is."""
        return Runs.of(*map(asked(function), (self.model, self.twin, *self.others)), networks=self.networks)

    def pooled(self) -> "Runs | Absent":
        """Twins that ran one seed each, as the seeds of one control: samples (1, ...) of each to (twins, ...)."""
        twins = (self.twin, *self.others)
        return Runs.of(self.model, _as_seeds(twins), networks=len(twins))

    def anew(self) -> "Runs | Absent":
        """The same samples of a twin whose weights were drawn anew for each seed: as many networks."""
        return replace(self, networks=min(len(part) for part in self.twin.values() if np.ndim(part) == 2))

    @property
    def controls(self) -> list[Any]:
        """The samples of each untrained network; what is the model's too, such as a rule's score, is that of each."""
        own = {name for name, part in self.twin.items() if not _alike(part, self.model.get(name))}
        if self.networks == 1 or not all(_has_row(self.twin[name], self.networks) for name in own):
            return [self.twin, *self.others]
        return [
            {name: part[i : i + 1] if name in own else part for name, part in self.twin.items()}
            for i in range(self.networks)
        ]

    def __getitem__(self, name: Any) -> "Runs | Absent":
        """One sample of each side, or one part of a sample."""
        return self.map(lambda side: side[name])

    @classmethod
    def of(cls, *sides: Any, networks: int = 1) -> "Runs | Absent":
        """The model's side, its twin's and those of further twins; where one is absent, all is."""
        model, twin, *others = sides
        return next((side for side in sides if isinstance(side, Absent)), cls(model, twin, tuple(others), networks))

    @classmethod
    def joined(cls, **named: Any) -> "Runs | Absent":
        """Named samples of each side from several runs; what is not a `Runs` is the same for all sides.

        Of untrained twins there are as many as each of the runs has.
        """
        if absent := absent_in(named):
            return absent
        count = min((len(runs.others) for runs in named.values() if isinstance(runs, cls)), default=0)

        def side(pick: Callable[["Runs"], Any]) -> dict[str, Any]:
            return {name: pick(runs) if isinstance(runs, cls) else runs for name, runs in named.items()}

        others = tuple(side(lambda runs, i=i: runs.others[i]) for i in range(count))
        networks = min((runs.networks for runs in named.values() if isinstance(runs, cls)), default=1)
        return cls(side(lambda runs: runs.model), side(lambda runs: runs.twin), others, networks)

    @classmethod
    def together(cls, *runs: "Runs | Absent") -> "Runs | Absent":
        """The named samples of several runs in one; a name of several is that of the last."""
        if absent := absent_in(runs):
            return absent
        return cls.joined(**{name: run[name] for run in runs for name in run.model})

    def lines(self, *names: str, claim: str = "", here: str = "", caption: str = "", **options: Any) -> Figure | None:
        """Lines over layers, model and twin: of the sample itself, or of the named ones.

        Args:
            claim: the one whose study drew such a figure; the caption tells what it showed (`Claim.figure`).
            here: about this run, with numbers as in `filled`; `{highest}` is where the model's line is highest.
            options: as of `figures.layer_lines`; `beside` adds lines; `x` is what the values stand at if not at all
                layers from the first, and then options are as of `figures.curve`.
        """
        series = self._series(names, options.pop("beside", {}))
        x = options.pop("x", None)
        place = [options.get("first_layer", 0)] if x is None else [0, x, options.setdefault("xlabel", "layer")]
        tops = {"highest": figures.highest(next(iter(series.values())), *place)}
        options |= {"caption": self._caption(caption, claim, here, tops), "controls": self._controls(series)}
        return figures.layer_lines(series, **options) if x is None else figures.curve(x, series, **options)

    def bars(self, *names: str, claim: str = "", here: str = "", caption: str = "", **options: Any) -> Figure | None:
        """Bars of model and twin: of the sample itself, of the named ones, or of all; otherwise as `lines`.

        `beside` adds bars, a value for the model alone or several by their names.
        """
        beside = options.pop("beside", {})
        names = names or (tuple(self.model) if isinstance(self.model, Mapping) else ())
        if len(names) < 2:
            shown = self._series(names, beside)
        else:
            shown = {_words(name): {"model": self.model[name], TWIN: self.twin[name]} for name in names}
            shown |= {name: value if isinstance(value, Mapping) else {"model": value} for name, value in beside.items()}
        words = self._caption(caption, claim, here)
        return figures.bars(shown, controls=self._controls([TWIN, *shown]), caption=words, **options)

    def _series(self, names: tuple[str, ...], beside: Mapping[str, Any]) -> dict[str, Any]:
        """Model and twin by the names that a legend shows."""
        if len(names) < 2:
            one = self[names[0]] if names else self
            return {"model": one.model, TWIN: one.twin, **beside}
        pairs = ((_words(name), self[name]) for name in names)
        return {label: v for name, one in pairs for label, v in _sides(name, one)} | dict(beside)

    @staticmethod
    def _controls(labels: Any) -> list[str]:
        return [label for label in labels if label == TWIN or label.endswith(f", {TWIN}")]

    def _caption(self, caption: str, claim: str, here: str, numbers: Mapping[str, Any] | None = None) -> str:
        study = claim_by_id(claim).figure or "" if claim else ""
        return " ".join(filter(None, (filled(text, self, **(numbers or {})) for text in (caption, study, here))))


def _as_seeds(twins: tuple[Any, ...]) -> Any:
    """Samples (1, ...) of several twins one above the other, in nested mappings too; of what is alike for all, one.

    Raises BertologyError: a sample that differs between twins and has no row for the seed.
    """
    first, *rest = twins
    if absent := absent_in(twins):
        return absent
    if isinstance(first, Mapping):
        return {name: _as_seeds(tuple(twin[name] for twin in twins)) for name in first}
    if np.ndim(first) > 1 and {len(twin) for twin in twins} == {1}:
        return like(first, np.concatenate(twins))
    if all(np.array_equal(first, other) for other in rest):
        return first
    raise BertologyError(f"Twins of one seed each are pooled by rows; a sample of shape {np.shape(first)} has none.")


def _has_row(sample: Any, seeds: int) -> bool:
    """Whether a sample has a row for each of the seeds."""
    return np.ndim(sample) == 2 and len(sample) == seeds


def _alike(sample: Any, other: Any) -> bool:
    """Whether a sample is exact or the same as another."""
    return np.ndim(sample) == 0 or np.array_equal(sample, other)


def _sides(name: str, one: Runs) -> Iterator[tuple[str, Any]]:
    yield name, one.model
    yield f"{name}, {TWIN}", one.twin


def _words(name: str) -> str:
    return name.replace("_", " ")


class _Means:
    """The means of named samples, by attribute and by item."""

    def __init__(self, samples: Any):
        self._samples = samples

    def __getattr__(self, name: str) -> Any:
        return _named(self._samples, name)

    __getitem__ = __getattr__


class _Template(string.Formatter):
    def get_value(self, key: Any, arguments: Any, named: Mapping[str, Any]) -> Any:
        return _named(named, key)


def _named(samples: Mapping[str, Any], name: str) -> Any:
    if name not in samples:
        raise unknown("sample or value", name, samples)
    return _number(samples[name])


def filled(template: str, *runs: "Runs | Absent", **values: Any) -> str:
    """A sentence with its numbers: `{name:.0%}` is the mean of the model's sample, `{twin.name:.0%}` of its twin's.

    Args:
        runs: where the samples are; of several, the last that has the name. One alone is `{value}`, `{twin.value}`.
        values: further numbers, arrays (their means) and words.

    Raises BertologyError: a name that is in none of them.
    """
    named: dict[str, Any] = {}
    twins: dict[str, Any] = {}
    for run in runs:
        for side, samples in ((named, getattr(run, "model", run)), (twins, getattr(run, TWIN, run))):
            side.update(samples if isinstance(samples, Mapping) else {"value": samples})
    return " ".join(_Template().vformat(template, (), named | {TWIN: _Means(twins)} | values).split())


def _number(value: Any) -> Any:
    """An array as its mean; words, numbers and namespaces as they are."""
    return float(np.mean(value)) if isinstance(value, np.ndarray | list) else value
