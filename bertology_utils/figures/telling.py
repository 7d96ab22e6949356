"""What is seen in a figure, in sentences computed from its data: extremes, trends, who leads, where the twins lie.

Depends on style (series, which of them are controls) and `statistics`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bertology_utils.figures.style import Series, ranks
from bertology_utils.statistics import short

Bars = Sequence[tuple[str, str, tuple[float, float, float]]]
"""(group, name, (value, low, high)) of each bar."""


def told_line(name: str, x: Sequence, line: Series, xlabel: str) -> str:
    """Where a line is highest and lowest, and how it runs."""
    values = line.value
    if np.isnan(values).all():
        return f"{name} has no values."
    if np.nanmin(values) == np.nanmax(values):
        return f"{name} is {short(values[0])} throughout."
    best, least = int(np.nanargmax(values)), int(np.nanargmin(values))
    ends = f", 95 % interval {short(line.low[best])} to {short(line.high[best])}" if line.has_interval else ""
    return (
        f"{name} is highest at {xlabel} {x[best]} ({short(values[best])}{ends}) "
        f"and lowest at {x[least]} ({short(values[least])}){_told_run(values)}."
    )


def _told_run(values: np.ndarray) -> str:
    """How a line gets from its first to its last value, where its extremes do not tell."""
    values = values[~np.isnan(values)]
    steps = np.diff(values)
    if (steps >= 0).all() or (steps <= 0).all():
        return f"; it never {'falls' if values[-1] > values[0] else 'rises'}"
    if {values.argmax(), values.argmin()} == {0, len(values) - 1}:
        return ""
    return f"; it goes from {short(values[0])} to {short(values[-1])}"


def told_lead(lines: Mapping[str, Series], controls: Sequence[str] = ()) -> Iterator[str]:
    """Which of several lines is on top most often, and how often each lies above and below its control."""
    kinds = ranks(list(lines), controls)
    models, twins = (
        [name for name, (_, kind) in zip(lines, kinds, strict=True) if kind == wanted] for wanted in (0, 1)
    )
    if len(models) > 1:
        top = np.argmax([np.nan_to_num(lines[name].value, nan=-np.inf) for name in models], axis=0)
        (leader, count), *_ = Counter(top.tolist()).most_common(1)
        yield f"{models[leader]} is the highest{' but for controls' * bool(twins)} at {count} of {len(top)} points."
    for model, twin in zip(models, twins, strict=True) if len(models) == len(twins) else ():
        ours, theirs = lines[model], lines[twin]
        above, below = (ours.value > theirs.value).sum(), (ours.value < theirs.value).sum()
        apart = ((ours.low > theirs.high) | (ours.high < theirs.low)).sum()
        sure = f"; intervals are apart at {apart}" if ours.has_interval else ""
        yield f"{model} lies above {twin} at {above} of {len(ours.value)} points, below at {below}{sure}."


def told_axis(axis: str, values: np.ndarray, names: Sequence[str] | None) -> str:
    """From where to where the points of a scatter plot lie, and which they are where points have names."""
    ends = (int(values.argmin()), int(values.argmax()))
    first, last = (f"{values[i]:.3g}" + (f" ({names[i]})" if names is not None else "") for i in ends)
    return f"{axis} runs from {first} to {last}."


def told_bars(bars: Bars) -> str:
    """All bars where they are few; of many, the range of each name and how often it leads its group."""
    if len(bars) <= 8:
        return "; ".join(_told_bar(*bar) for bar in bars)
    if not bars[0][0]:
        ordered = sorted(bars, key=lambda bar: -bar[2][0])
        return f"highest {_told_bar(*ordered[0])}, lowest {_told_bar(*ordered[-1])}"
    groups = list(dict.fromkeys(group for group, _, _ in bars))
    leads = Counter(max((bar for bar in bars if bar[0] == group), key=lambda bar: bar[2][0])[1] for group in groups)
    names = dict.fromkeys(name for _, name, _ in bars)
    return "; ".join(
        f"{_told_range(name, bars)}, highest of its group in {leads[name]} of {len(groups)}" for name in names
    )


def _told_range(name: str, bars: Bars) -> str:
    ordered = sorted((value, group) for group, other, (value, _, _) in bars if other == name)
    (low, first), (high, last) = ordered[0], ordered[-1]
    return f"{name} {low:.3g} ({first})" + (f" to {high:.3g} ({last})" if len(ordered) > 1 else "")


def _told_bar(group: str, name: str, value: tuple[float, float, float]) -> str:
    ends = f" ({value[1]:.3g} to {value[2]:.3g})" if value[2] > value[1] else ""
    return f"{group + ', ' if group else ''}{name} {value[0]:.3g}{ends}"
