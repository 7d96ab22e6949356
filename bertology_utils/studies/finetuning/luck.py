"""How much of a score is the luck of a seed: a grid of starts and orders in words and lines. Depends on `comparisons`.

A grid is booleans (starts, orders, items), as `comparisons.seed_grid` gives it (dodge2020finetuning).
"""

import numpy as np

from bertology_utils.tuning import comparisons

TITLES = {"start": "other starts", "order": "other orders", "run": "both"}


def sorted_accuracies(grid: np.ndarray) -> dict[str, np.ndarray]:
    """Accuracies of runs, the worst first, by what they draw anew, mean over series: (runs,) each."""
    series = comparisons.series(grid.mean(-1))
    return {TITLES[name]: np.sort(accuracies, 1).mean(0) for name, accuracies in series.items()}


def told(grid: np.ndarray) -> str:
    """The range of all runs, and the deviations of each kind beside those of runs that change places."""
    accuracies, chance = grid.mean(-1), comparisons.chance_spreads(grid)
    parts = ", ".join(
        f"{TITLES[name]} {found:.1f} (by chance {chance[name]:.1f})"
        for name, found in comparisons.spreads(accuracies).items()
    )
    return (
        f"Accuracy from {accuracies.min():.2f} to {accuracies.max():.2f} over {accuracies.size} runs. Standard "
        f"deviations in points: {parts}."
    )
