"""The comparisons of fine-tuning studies: conditions, shallow baselines, seeds, and what attention turned to.

Depends on `training` (runs), `classification_tasks` (data), `attention` (maps) and scikit-learn (shallow baselines);
knows no claim. Scores are booleans over test items, with a leading axis of seeds where something random was trained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from bertology_utils.instruments.attention import head_statistics, map_similarity
from bertology_utils.studies.attention_effects import silenced_values
from bertology_utils.tuning.changes import restored
from bertology_utils.tuning.classification_tasks import task
from bertology_utils.tuning.regimens import INIT_DEVIATION
from bertology_utils.tuning.training import Examples, FineTuned, batches, correctness, finetune, finetune_seeds

if TYPE_CHECKING:
    from bertology_utils.models import Specimen


@dataclass(frozen=True)
class Plan:
    """The size of a comparison: training and test sentences a task, passes over the data, and the seeds."""

    train: int
    test: int
    epochs: int
    seeds: tuple[int, ...]
    data_seed: int = 0

    def examples(self, name: str) -> tuple[Examples, Examples]:
        """Training and test examples of a task, with different content words."""
        return task(name, self.train, self.data_seed, "train"), task(name, self.test, self.data_seed, "test")


def tune(specimen: Specimen, names: Sequence[str], plan: Plan, **options) -> dict[str, list[FineTuned]]:
    """Fine-tune on each task with each seed of the plan: {task: runs}; `options` go to `training.finetune`."""
    options = {"epochs": plan.epochs, "budget": 128} | options
    runs = {name: finetune_seeds(specimen, *plan.examples(name), plan.seeds, **options)[0] for name in names}
    # many runs live side by side in a chapter, and nothing here goes back to their first state
    return {name: [replace(run, start={}) for run in series] for name, series in runs.items()}


def correct(runs: Sequence[FineTuned]) -> np.ndarray:
    """(seeds, items) booleans."""
    return np.stack([run.correct for run in runs])


def over_tasks(scores: Mapping[str, np.ndarray]) -> np.ndarray:
    """Scores of several tasks side by side, (items of all tasks,) or (seeds, items of all tasks)."""
    return np.concatenate(list(scores.values()), axis=-1)


def named(scores: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """{condition: {task: scores}} as samples of a prediction: `task_condition`, and `condition` over all tasks."""
    single = {f"{name}_{condition}": array for condition, tasks in scores.items() for name, array in tasks.items()}
    return single | {condition: over_tasks(tasks) for condition, tasks in scores.items()}


# ---------------------------------------------------------------- conditions without fine-tuning


@torch.no_grad()
def features(specimen: Specimen, examples: Examples) -> dict[str, Tensor]:
    """Last layer of the frozen encoder, pooled as `mean` over all real pieces and as `cls`: (items, width) each."""
    found = {pool: torch.empty(len(examples), specimen.width) for pool in ("mean", "cls")}
    for rows, batch in batches(specimen, examples):
        del batch["labels"]
        hidden = specimen.encoder(**batch).last_hidden_state  # (batch, pieces, width)
        mask = batch["attention_mask"].to(hidden).unsqueeze(-1)
        found["mean"][torch.as_tensor(rows)] = (hidden * mask).sum(1) / mask.sum(1)
        found["cls"][torch.as_tensor(rows)] = hidden[:, 0]
    return found


def frozen_conditions(specimen: Specimen, train: Examples, test: Examples, heads: int = 20) -> dict[str, np.ndarray]:
    """Scores without touching the encoder (kovaleva2019revealing, peters2019tune).

    mean and cls: a linear classifier trained on the frozen vectors, (items,) booleans; untrained: `heads` random
    linear classifiers on them, the other reading of "no fine-tuning", (heads, items).
    """
    seen, new = features(specimen, train), features(specimen, test)
    labels = np.asarray(test.labels)
    scores = {}
    for pool in ("mean", "cls"):
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=500))
        scores[pool] = model.fit(seen[pool].numpy(), train.labels).predict(new[pool].numpy()) == labels
    random_heads = torch.randn(heads, specimen.width, 2, generator=torch.Generator().manual_seed(0)) * INIT_DEVIATION
    guesses = (new["mean"] @ random_heads).argmax(-1).numpy()  # (heads, items)
    return scores | {"untrained": guesses == labels}


# ---------------------------------------------------------------- what changed


def attention_change(before: Specimen, runs: Sequence[FineTuned], sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """1 - cosine of flattened attention maps, averaged over heads: (runs, sentences, layers); kovaleva2019revealing."""
    return np.stack([1 - map_similarity(before, run.specimen, sentences).mean(-1) for run in runs])


def separator_shift(before: Specimen, after: Specimen, sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """Growth of the attention to [SEP], in shares of each row, averaged over heads: (sentences, layers)."""
    old, new = (head_statistics(specimen, sentences)["sep"].mean(-1) for specimen in (before, after))
    return new - old


@torch.no_grad()
def without_separator(runs: Sequence[FineTuned], test: Examples, layers: Sequence[int]) -> np.ndarray:
    """Is the class right while the values of [SEP] are zero in these layers (1..L)? (seeds, items) booleans."""
    right = np.empty((len(runs), len(test)), dtype=bool)
    for run, row in zip(runs, right, strict=True):
        for places, batch in batches(run.specimen, test):
            labels = batch.pop("labels")
            with silenced_values(run.specimen, batch["input_ids"] == run.specimen.tokenizer.sep_token_id, layers):
                row[places] = (run.classifier(**batch).argmax(-1) == labels).numpy()
    return right


def restoration(
    runs: Sequence[FineTuned], pretrained: Specimen, test: Examples, groups: Mapping[str, Sequence[int]]
) -> dict[str, np.ndarray]:
    """Scores after rolling named groups of layers back to their values before tuning: (seeds, items) each.

    hao2019visualizing; layer 0 are the embeddings.
    """
    return {
        name: np.stack(
            [correctness(restored(run.classifier, pretrained.encoder, layers), pretrained, test) for run in runs]
        )
        for name, layers in groups.items()
    }


# ---------------------------------------------------------------- seeds


def seed_grid(
    specimen: Specimen, train: Examples, test: Examples, starts: Sequence[int], orders: Sequence[int], **options
) -> np.ndarray:
    """Every start (new head) with every data order: (starts, orders, items) booleans; dodge2020finetuning."""
    return np.stack(
        [
            [finetune(specimen, train, test, start, order_seed=order, **options).correct for order in orders]
            for start in starts
        ]
    )


def extremes(scores: np.ndarray) -> dict[str, np.ndarray]:
    """The best and the worst of several runs, chosen on the even items and scored on the odd ones.

    `scores` is (runs, items); each result (odd items,). The extremes of scores that differ by chance alone would look
    far apart on the items that chose them.
    """
    chosen = scores[:, ::2].mean(1)
    return {"best": scores[chosen.argmax(), 1::2], "worst": scores[chosen.argmin(), 1::2]}


def false_wins(scores: np.ndarray, margin: float = 0.01) -> np.ndarray:
    """For all ordered pairs of runs of one method, does the first win by more than `margin`? Booleans (pairs,).

    The chance that a change without any effect looks like a gain when each side is run once (crane2018questionable).
    """
    means = scores.mean(-1)
    return np.array([first - second > margin for first, second in permutations(means, 2)])


def grid_samples(grid: np.ndarray) -> dict[str, np.ndarray]:
    """Samples of a seed grid (starts, orders, items): best and worst start, order and run, and false wins."""
    starts, orders, runs = grid.mean(1), grid.mean(0), grid.reshape(-1, grid.shape[-1])
    samples = dict(extremes(runs), false_win=false_wins(runs))
    for factor, scores in (("start", starts), ("order", orders)):
        samples |= {f"{side}_{factor}": values for side, values in extremes(scores).items()}
    return samples


def best_of(scores: Sequence[float], most: int | None = None) -> np.ndarray:
    """Expected best score of 1..most runs drawn with replacement from `scores`: (most,); dodge2020finetuning."""
    ordered = np.sort(np.asarray(scores, dtype=float))
    count = len(ordered)
    share = np.arange(count + 1) / count
    draws = np.arange(1, (most or count) + 1)[:, None]
    return ((share[1:] ** draws - share[:-1] ** draws) * ordered).sum(1)
