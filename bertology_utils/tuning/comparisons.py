"""The comparisons of fine-tuning studies: conditions, shallow baselines, seeds, and what attention turned to.

Depends on `training` (runs), `classification_tasks` (data), `attention` (maps) and scikit-learn (shallow baselines);
knows no claim. Scores are booleans over test items, with a leading axis of seeds where something random was trained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Self

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from bertology_utils.activations import sentence_vectors
from bertology_utils.instruments.attention import attention_maps, mean_values, silenced_values, word_level_map
from bertology_utils.instruments.blocks import inputs_of_runs, recorded_calls, starting_at
from bertology_utils.language.grammar import Sentence
from bertology_utils.models import Specimen
from bertology_utils.samples import per_seed
from bertology_utils.text import Encoding
from bertology_utils.tuning.changes import restored
from bertology_utils.tuning.classification_tasks import task
from bertology_utils.tuning.regimens import INIT_DEVIATION
from bertology_utils.tuning.training import (
    Examples,
    FineTuned,
    batches,
    correctness,
    finetune,
    finetune_seeds,
    pooled,
    right,
)

STRENGTH = 0.1  # of what frozen vectors may be weighted with: the inverse of the penalty
DRAWN = ("start", "order", "run")  # what runs of a grid draw anew: one of the two factors, or both
TARGETS = ("sep", "relation")  # what attention may turn to


@dataclass(frozen=True)
class Plan:
    """The size of a comparison: training and test sentences a task, passes over the data, and the seeds."""

    train: int
    test: int
    epochs: int
    seeds: tuple[int, ...]
    data_seed: int = 0

    def of_seeds(self, seeds: Sequence[int]) -> Self:
        """The same with other seeds."""
        return replace(self, seeds=tuple(seeds))

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


@torch.no_grad()
def features(specimen: Specimen, examples: Examples) -> dict[str, Tensor]:
    """Last layer of the frozen encoder as a classifier would see it, (items, width) each.

    mean: averaged over all real pieces, of pairs over each sentence and `compared`, (items, 4 width); cls: that of
    [CLS].
    """
    separator, found = specimen.tokenizer.sep_token_id, {"mean": [], "cls": []}
    order = []
    for rows, batch in batches(specimen, examples):
        del batch["labels"]
        hidden = specimen.encoder(**batch).last_hidden_state  # (batch, pieces, width)
        order.extend(rows)
        found["mean"].append(pooled(hidden, batch, "pair" if examples.pairs else "mean", separator))
        found["cls"].append(pooled(hidden, batch, "cls"))
    back = torch.as_tensor(np.argsort(order))
    return {pool: torch.cat(parts)[back] for pool, parts in found.items()}


def frozen_predictions(
    specimen: Specimen, train: Examples, test: Examples, heads: int = 20, seed: int = 0
) -> dict[str, np.ndarray]:
    """What `training.predict` would give without touching the encoder (kovaleva2019revealing, peters2019tune).

    mean and cls: of a linear classifier, or a ridge regression of grades, on the frozen vectors, (items, classes);
    untrained: of `heads` random linear layers on them, the other reading of "no fine-tuning", (heads, items, classes).
    """
    seen, new = features(specimen, train), features(specimen, test)
    found = {pool: _read_off(seen[pool].numpy(), train, new[pool].numpy()) for pool in ("mean", "cls")}
    shape = (heads, new["mean"].shape[1], max(train.outputs, test.outputs))
    layers = torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * INIT_DEVIATION
    return found | {"untrained": (new["mean"] @ layers).numpy()}


def _read_off(seen: np.ndarray, train: Examples, new: np.ndarray) -> np.ndarray:
    """What a reader, trained on the vectors seen, says of new ones: (items, classes), of grades (items, 1)."""
    if train.graded:
        return make_pipeline(StandardScaler(), Ridge(1 / STRENGTH)).fit(seen, train.labels).predict(new)[:, None]
    reader = make_pipeline(StandardScaler(), LogisticRegression(C=STRENGTH, max_iter=500))
    return reader.fit(seen, train.labels).predict_proba(new)


def frozen_conditions(specimen: Specimen, train: Examples, test: Examples, heads: int = 20) -> dict[str, np.ndarray]:
    """Which answers of `frozen_predictions` are right: (items,) booleans, of the random heads (heads, items)."""
    found = frozen_predictions(specimen, train, test, heads)
    guesses = np.stack([right(own, test) for own in found.pop("untrained")])
    return {pool: right(own, test) for pool, own in found.items()} | {"untrained": guesses}


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
    """Is the class right while the values of [SEP] are their mean over the test in these layers (1..L)? (seeds, items).

    The mean stays, since later layers may rely on a constant as on a bias (see `mean_values`).
    """
    right = np.empty((len(runs), len(test)), dtype=bool)
    for run, row in zip(runs, right, strict=True):
        parts = [(places, batch, batch.pop("labels")) for places, batch in batches(run.specimen, test)]
        separators = [batch["input_ids"] == run.specimen.tokenizer.sep_token_id for _, batch, _ in parts]
        constant = mean_values(run.specimen, [batch for _, batch, _ in parts], separators)
        for (places, batch, labels), silent in zip(parts, separators, strict=True):
            with silenced_values(run.specimen, silent, layers, constant):
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


@torch.no_grad()
def restoration_and_change(
    runs: Sequence[FineTuned], pretrained: Specimen, test: Examples, groups: Mapping[str, Sequence[int]]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """`restoration` and `changes.representation_change` of the same runs, for which each model reads the test once.

    Up to some layer a restored model is the pre-trained or the tuned one, and it need not run below.
    """
    before, given = _vectors_and_inputs(pretrained, test)
    scores, change = {name: [] for name in groups}, []
    for run in runs:
        after, own = _vectors_and_inputs(run.specimen, test)
        change.append(1 - torch.cosine_similarity(before, after, dim=-1))
        for name, layers in groups.items():
            model = restored(run.classifier, pretrained.encoder, layers)
            source, inputs = (pretrained, given) if 0 in layers else (run.specimen, own)
            with starting_at(model.encoder, _first_other(layers, pretrained.layers) - 1, inputs, source.encoder):
                scores[name].append(correctness(model, pretrained, test))
    return {name: np.stack(right) for name, right in scores.items()}, torch.stack(change, dim=1).numpy()


def _vectors_and_inputs(specimen: Specimen, test: Examples) -> tuple[Tensor, list[list[Tensor]]]:
    """Sentence vectors (layers + 1, items, width), and what each block was given in each batch."""
    with recorded_calls(specimen.encoder) as calls:
        vectors = sentence_vectors(specimen, test.sentences, pairs=test.pairs)
    return vectors, inputs_of_runs(calls, specimen.layers)


def _first_other(layers: Sequence[int], last: int) -> int:
    """The first of the layers 1 to `last` that is not chosen where layer 0 is, or the other way round; or the last."""
    return next((layer for layer in range(1, last) if (layer in layers) != (0 in layers)), last)


def seed_grid(specimen: Specimen, train: Examples, test: Examples, seeds: Sequence[int], **options) -> np.ndarray:
    """Every start with every order of the data, the two factors of dodge2020finetuning: (starts, orders, items).

    A start is the head that is drawn; both have the same seeds. Booleans.
    """

    def score(start: int, order: int) -> np.ndarray:
        return finetune(specimen, train, test, start, order_seed=order, **options).correct

    return np.stack([[score(start, order) for order in seeds] for start in seeds])


def series(grid: np.ndarray) -> dict[str, np.ndarray]:
    """Runs of a grid (seeds, seeds, ...) by what they draw anew: (series, runs, ...) each.

    start: all starts under one order, for each order; order: the other way round; run: no two share a start or an
    order, once for each place where the first order may stand.
    """
    places = np.arange(len(grid))
    diagonals = [grid[places, np.roll(places, -shift)] for shift in places]
    return dict(zip(DRAWN, (grid.swapaxes(0, 1), grid, np.stack(diagonals)), strict=True))


def spreads(accuracies: np.ndarray) -> dict[str, float]:
    """The standard deviation of accuracy over each of the `series` of a grid (starts, orders), in points."""
    return {name: 100 * float(np.sqrt(own.var(1, ddof=1).mean())) for name, own in series(accuracies).items()}


def chance_spreads(grid: np.ndarray) -> dict[str, float]:
    """What `spreads` would show if all runs of a grid (starts, orders, items) were equally good.

    On each item they are then right by chance alone, as if they had changed places there.
    """
    items = grid.shape[-1]
    return {name: 100 * float(np.sqrt(own.var(1, ddof=1).sum(-1).mean())) / items for name, own in series(grid).items()}


LEAST_SPREADS = {"run": 0.84, "start": 0.5, "order": 0.5, "drama": 1.0}


def spread_samples(found: Sequence[Mapping[str, float]], chance: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """`spreads` of grids on training sentences of their own, beside the least that would matter: one value a grid.

    The least is what the test items cause and a true deviation together. run_floor: one run truly beats another by more
    than a point in one of five pairs; start_floor and order_floor: half a point; drama_floor, of starts: a point, so
    that of twenty the best lies almost four above the worst.
    """
    samples = {f"{name}_spread": per_seed([own[name] for own in found]) for name in DRAWN}
    for name, least in LEAST_SPREADS.items():
        of_items = [own["start" if name == "drama" else name] for own in chance]
        samples[f"{name}_floor"] = per_seed(np.hypot(of_items, least))
    return samples


def best_of(scores: Sequence[float]) -> np.ndarray:
    """Expected best score of 1, 2, ... runs drawn with replacement from `scores`: (scores,); dodge2020finetuning."""
    ordered = np.sort(np.asarray(scores, dtype=float))
    count = len(ordered)
    share = np.arange(count + 1) / count
    draws = np.arange(1, count + 1)[:, None]
    return ((share[1:] ** draws - share[:-1] ** draws) * ordered).sum(1)


def stopped_early(early: np.ndarray, choice: np.ndarray, asked: np.ndarray, kept: int, whole: int) -> dict[str, float]:
    """What the run is expected to score on test items that is chosen on development items; each (runs,).

    stopped: chosen among the `kept` runs that scored best early; blind: among any `kept`; whole: among any `whole`
    runs; best: among all (dodge2020finetuning).
    """

    def chosen(runs: Sequence[int]) -> float:
        return float(asked[max(runs, key=choice.__getitem__)])

    def any_of(count: int) -> float:
        return float(np.mean([chosen(runs) for runs in combinations(range(len(asked)), count)]))

    best_early = np.argsort(-early, kind="stable")[:kept]
    return {"stopped": chosen(best_early), "blind": any_of(kept), "whole": any_of(whole), "best": any_of(len(asked))}
