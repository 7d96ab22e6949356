"""How much of a score is the luck of a seed: series of runs in words and lines. Depends on `comparisons`.

A series is {what is drawn anew: booleans (runs, items)}, as `comparisons.seed_series` gives it (dodge2020finetuning).
"""

from collections.abc import Mapping

import numpy as np

from bertology_utils.tuning import comparisons

TITLES = {"start": "other starts", "order": "other orders", "run": "both"}
Series = Mapping[str, np.ndarray]


def sorted_accuracies(series: Series) -> dict[str, np.ndarray]:
    """Accuracies of the runs, the worst first, by what they draw anew: (runs,) each."""
    return {TITLES[name]: np.sort(scores.mean(1)) for name, scores in series.items()}


def one_run_repeated(series: Series) -> dict[str, np.ndarray]:
    """The control: as many runs without any luck."""
    return {name: scores[:1].repeat(len(scores), 0) for name, scores in series.items()}


def told(series: Series) -> str:
    """Range and deviation of each series, and the deviation of runs that change places."""
    return " ".join(_told(TITLES[name].capitalize(), scores) for name, scores in series.items())


def _told(title: str, scores: np.ndarray) -> str:
    accuracies, permuted = scores.mean(1), comparisons.permuted_spreads(scores)
    found = 100 * accuracies.std(ddof=1)
    return (
        f"{title}: accuracy from {accuracies.min():.2f} to {accuracies.max():.2f}, a standard deviation of {found:.1f} "
        f"points; of runs that change places {permuted.mean():.1f}, and as much as here in "
        f"{np.mean(permuted >= found):.1%} of {len(permuted):,} draws."
    )
