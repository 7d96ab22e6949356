"""The comparisons of fine-tuning studies: conditions, shallow baselines, seeds, and what attention turned to.

Depends on `training` (runs), `classification_tasks` (data), `attention` (maps) and scikit-learn (shallow baselines);
knows no claim. Scores are booleans over test items, with a leading axis of seeds where something random was trained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from bertology_utils.instruments.attention import attention_maps, silenced_values, word_level_map
from bertology_utils.language.grammar import Sentence
from bertology_utils.models import Specimen
from bertology_utils.text import Encoding
from bertology_utils.tuning.changes import restored
from bertology_utils.tuning.classification_tasks import task
from bertology_utils.tuning.regimens import INIT_DEVIATION
from bertology_utils.tuning.training import Examples, FineTuned, batches, correctness, finetune, finetune_seeds

TARGETS = ("sep", "relation")  # what attention may turn to


@dataclass(frozen=True)
class Plan:
    """The size of a comparison: training and test sentences a task, passes over the data, and the seeds."""

    train: int
    test: int
    epochs: int
    seeds: tuple[int, ...]
    data_seed: int = 0

    def of_seeds(self, count: int) -> Self:
        """The same with the first seeds alone."""
        return replace(self, seeds=self.seeds[:count])

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


def attention_targets(specimen: Specimen, sentences: Sequence[Sentence]) -> dict[str, np.ndarray]:
    """Shares of attention averaged over heads: (sentences, layers) each.

    sep: of all pieces on [SEP]; relation: of words on their grammatical head and dependents.
    """
    found = {name: np.empty((len(sentences), specimen.layers)) for name in TARGETS}
    for index, encoding, maps in attention_maps(specimen, [sentence.words for sentence in sentences]):
        for name, shares in _targets(specimen, sentences[index], encoding, maps).items():
            found[name][index] = shares
    return found


def _targets(specimen: Specimen, sentence: Sentence, encoding: Encoding, maps: Tensor) -> dict[str, np.ndarray]:
    """`attention_targets` of one sentence, from its maps (layers, heads, pieces, pieces): (layers,) each."""
    maps = maps.mean(1)
    separators = torch.tensor(encoding.input_ids) == specimen.tokenizer.sep_token_id
    words = word_level_map(maps, encoding).numpy()  # (layers, words, words)
    related = np.zeros(words.shape[-2:], dtype=bool)
    for head, dependent, _ in sentence.arcs():
        related[head, dependent] = related[dependent, head] = True
    shares = maps[..., separators].sum(-1).mean(-1).numpy(), (words * related).sum(-1).mean(-1)
    return dict(zip(TARGETS, shares, strict=True))


def attention_effects(
    before: Specimen, runs: Sequence[FineTuned], sentences: Sequence[Sentence]
) -> dict[str, np.ndarray]:
    """What tuning did to attention maps, which every model makes once: (runs, sentences, layers) each.

    change: 1 - cosine of the flattened maps, averaged over heads (kovaleva2019revealing); sep, relation: how much each
    of `attention_targets` grew.
    """
    words = [sentence.words for sentence in sentences]
    old = {
        index: (maps.flatten(2), _targets(before, sentences[index], encoding, maps))
        for index, encoding, maps in attention_maps(before, words)
    }
    found = {name: np.empty((len(runs), len(sentences), before.layers)) for name in ("change", *TARGETS)}
    for place, run in enumerate(runs):
        for index, encoding, maps in attention_maps(run.specimen, words):
            then, targets = old[index]
            found["change"][place, index] = 1 - torch.cosine_similarity(then, maps.flatten(2), dim=-1).mean(-1).numpy()
            for name, shares in _targets(run.specimen, sentences[index], encoding, maps).items():
                found[name][place, index] = shares - targets[name]
    return found


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


def seed_series(
    specimen: Specimen, train: Examples, test: Examples, seeds: Sequence[int], **options
) -> dict[str, np.ndarray]:
    """Runs of one recipe in three series of booleans (seeds, items); the factors are those of dodge2020finetuning.

    start: a new head each time, the data in the order of the first seed; order: the other way round; run: both new.
    """
    first, *others = seeds

    def score(start: int, order: int) -> np.ndarray:
        return finetune(specimen, train, test, start, order_seed=order, **options).correct

    common = score(first, first)  # a run of all three
    places = {
        "start": lambda seed: (seed, first),
        "order": lambda seed: (first, seed),
        "run": lambda seed: (seed, seed),
    }
    return {name: np.stack([common, *(score(*place(seed)) for seed in others)]) for name, place in places.items()}


def spread_values(scores: np.ndarray) -> np.ndarray:
    """The standard deviation of accuracy over runs, in points, as one value a run: (runs, items) to (runs,).

    Jackknife pseudo-values: their mean is the deviation, their spread says how surely so many runs tell it.
    """
    points = 100.0 * scores.mean(1)
    runs = len(points)
    without = [np.delete(points, i).std(ddof=1) for i in range(runs)]
    return runs * points.std(ddof=1) - (runs - 1) * np.array(without)


def chance_spread(scores: np.ndarray, least: float = 0.0) -> float:
    """The standard deviation that accuracy would show over runs whose true accuracies have a deviation of `least`.

    Both in points. With none, runs are right on different items by chance alone, as if on each item they had changed
    places; `permuted_spreads` draws what this is the mean square of.
    """
    of_items = scores.var(0, ddof=1).sum() / scores.shape[1] ** 2
    return float(np.sqrt(1e4 * of_items + least**2))


def permuted_spreads(scores: np.ndarray, draws: int = 1000, seed: int = 0) -> np.ndarray:
    """Standard deviations over runs of which none differs: on each item the runs change places; (draws,)."""
    rng = np.random.default_rng(seed)
    return np.array([100.0 * rng.permuted(scores, axis=0).mean(1).std(ddof=1) for _ in range(draws)])


def spread_samples(series: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """`spread_values` of each of `seed_series`, and the least spreads that would matter, by chance and by seeds.

    run_floor: one run truly beats another by more than a point in one of five pairs; start_floor and order_floor: half
    a point of deviation; drama_floor: a point, so that of twenty starts the best lies almost four above the worst.
    """
    least = {"run": 0.84, "start": 0.5, "order": 0.5}
    spreads = {f"{name}_spread": spread_values(scores) for name, scores in series.items()}
    floors = {f"{name}_floor": chance_spread(scores, least[name]) for name, scores in series.items()}
    return spreads | floors | {"drama_floor": chance_spread(series["start"], 1.0)}


def best_of(scores: Sequence[float]) -> np.ndarray:
    """Expected best score of 1, 2, ... runs drawn with replacement from `scores`: (scores,); dodge2020finetuning."""
    ordered = np.sort(np.asarray(scores, dtype=float))
    count = len(ordered)
    share = np.arange(count + 1) / count
    draws = np.arange(1, count + 1)[:, None]
    return ((share[1:] ** draws - share[:-1] ** draws) * ordered).sum(1)
