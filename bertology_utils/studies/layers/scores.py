"""What each layer knows of the tasks: probes of every layer, read-outs of number, and what fine-tuning leaves of them.

Depends on `tasks`, `activations` and `probes`; every layer of a specimen is probed with the same probe.
"""

from collections.abc import Mapping, Sequence
from typing import Self
from weakref import WeakKeyDictionary

import numpy as np
import torch

from bertology_utils.activations import sentence_vectors, word_vectors
from bertology_utils.data.material import EMBEDDED
from bertology_utils.data.pair_sets import agreement_pairs
from bertology_utils.errors import BertologyError
from bertology_utils.figures import highest
from bertology_utils.instruments.layer_curves import pooled
from bertology_utils.instruments.layer_views import logits_of_layers
from bertology_utils.instruments.probes import encode_labels, probe_correctness, train_scalar_mix
from bertology_utils.instruments.structural import fit_depth_probe, score_depths
from bertology_utils.language.grammar_trees import Sentence
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit
from bertology_utils.studies.layers.tasks import Part, Task
from bertology_utils.tuning.changes import blocks_have_own_weights, representation_change
from bertology_utils.tuning.comparisons import restoration_and_change
from bertology_utils.tuning.mlm_training import IGNORED, masked_batches
from bertology_utils.tuning.training import Examples, correctness, finetune_seeds

Words = Sequence[Sequence[str]]
TRAINING = {"batch": 64, "steps": 200, "epochs": 1}  # of single probes and mixes alike


Kept = dict[tuple[str, ...], torch.Tensor]
_KEPT: WeakKeyDictionary[torch.nn.Module, tuple[Kept, Kept]] = WeakKeyDictionary()


class LayerFeatures:
    """Vectors of a specimen, computed once for each sentence."""

    def __init__(self, specimen: Specimen) -> None:
        self.specimen = specimen
        self._words: Kept = {}
        self._means: Kept = {}

    @classmethod
    def kept(cls, specimen: Specimen) -> Self:
        """Those of all who ask, as long as the model lives."""
        features = cls(specimen)
        features._words, features._means = _KEPT.setdefault(specimen.model, (features._words, features._means))
        return features

    def words(self, sentences: Words) -> list[torch.Tensor]:
        """For each sentence (layers + 1, words, width)."""
        keys = [tuple(sentence) for sentence in sentences]
        new = [key for key in dict.fromkeys(keys) if key not in self._words]
        if new:
            self._words |= zip(new, word_vectors(self.specimen, [list(key) for key in new]), strict=True)
        return [self._words[key] for key in keys]

    def means(self, sentences: Words) -> torch.Tensor:
        """The mean of the words of each sentence, (layers + 1, sentences, width); their vectors are not kept."""
        keys = [tuple(sentence) for sentence in sentences]
        unread = [key for key in dict.fromkeys(keys) if key not in self._means]
        self._means |= {key: self._words[key].mean(1) for key in unread if key in self._words}
        new = [key for key in unread if key not in self._words]
        if new:
            self._means |= zip(new, sentence_vectors(self.specimen, [list(key) for key in new]).unbind(1), strict=True)
        return torch.stack([self._means[key] for key in keys], dim=1)

    def of(self, part: Part) -> torch.Tensor:
        """Features (layers + 1, items, width) of a task's part; a pair gives difference and product, 2 * width.

        A sentence is the mean of its words: jawahar2019what reads [CLS], which a short training leaves untouched.
        """
        size = len(part.items[0])
        if size == 1:
            return self.means([part.sentences[i] for (i,) in part.items])
        vectors = self.words(part.sentences)
        if size == 2:
            return torch.stack([vectors[i][:, w] for i, w in part.items], dim=1)
        first, second = (torch.stack([vectors[item[0]][:, item[k]] for item in part.items], dim=1) for k in (1, 2))
        return torch.cat([(first - second).abs(), first * second], dim=-1)


def task_scores(features: LayerFeatures, task: Task, seeds: int = 3, **settings) -> np.ndarray:
    """0/1 of a linear probe on each layer: (layers + 1, seeds, items); settings as in `probes.train_probe`.

    Each seed trains on sentences of its own, so that an interval over seeds is one over training sentences too.
    """
    train, test, names = encode_labels(task.train.labels, task.test.labels)
    if len(names) < 2:
        raise BertologyError(f"The task '{task.name}' has a single label in training.")
    options = TRAINING | {"groups": task.train.groups} | settings
    return probe_correctness(
        features.of(task.train), train, features.of(task.test), test, classes=len(names), seeds=seeds, **options
    )


def scores_of(features: LayerFeatures, tasks: Mapping[str, Task], **fit) -> dict[str, np.ndarray]:
    """`task_scores` of each task."""
    return {name: task_scores(features, task, **fit) for name, task in tasks.items()}


def dealt_scores(
    specimen: Specimen, tasks: Mapping[str, Task], only: Sequence[int], seeds: int, seed: int = 0, **settings
) -> dict[str, dict]:
    """`scores_of` some of so many seeds, and the `tasks` as these read them (`Task.dealt`)."""
    own = {name: task.dealt(only, seeds) for name, task in tasks.items()}
    found = scores_of(LayerFeatures.kept(specimen), own, seeds=len(only), seed=seed + only[0], **settings)
    return {"scores": found, "tasks": own}


def over_seeds(scores: np.ndarray | Mapping[str, np.ndarray]) -> np.ndarray | dict[str, np.ndarray]:
    """What a line shows of scores (layers + 1, seeds, items): (layers + 1, items); of several by name as well."""
    if isinstance(scores, Mapping):
        return {name: values.mean(1) for name, values in scores.items()}
    return scores.mean(1)


def best_places(scores: Mapping[str, np.ndarray], names: Sequence[str]) -> str:
    """Where each of the named tasks is read best, as words."""
    return ", ".join(f"{name} at {highest(scores[name])}" for name in names)


def gains(scores: Mapping[str, np.ndarray], names: Sequence[str]) -> dict[str, float]:
    """What the `first_block` adds to the mean accuracy of the named tasks, and all blocks `above` it at most."""
    curve = pooled([scores[name] for name in names]).mean((1, 2))
    return {"first_block": float(curve[1] - curve[0]), "above": float(curve[1:].max() - curve[1])}


def number_readout(
    specimen: Specimen, train: int, test: int, seeds: int = 3, seed: int = 0, source: str = EMBEDDED, **settings
) -> np.ndarray:
    """Subject number read from the masked verb, one noun of the other number between: (layers + 1, seeds, items).

    A trained readout at every layer, where goldberg2019assessing asks the model's own last layer.
    """
    return task_scores(
        LayerFeatures(specimen),
        Task(
            "agreement",
            *(
                _masked_verbs(specimen, n, attractors, seed, split, source)
                for n, attractors, split in ((train, (0, 1), "train"), (test, (1,), "test"))
            ),
        ),
        seeds,
        seed=seed,
        **settings,
    )


def _masked_verbs(specimen: Specimen, n: int, attractors: Sequence[int], seed: int, split: str, source: str) -> Part:
    drawn = {"seed": seed, "split": split, "source": source}
    found = [pair for count in attractors for pair in agreement_pairs(n // len(attractors), count, **drawn)]
    mask = specimen.tokenizer.mask_token
    words = [[mask if i == p.focus else w for i, w in enumerate(p.good)] for p in found]
    return Part(words, [(i, p.focus) for i, p in enumerate(found)], [p.condition["number"] for p in found])


def agreement_subjects(test: int, seed: int = 0, source: str = EMBEDDED) -> list[str]:
    """The subject noun of each test item of `number_readout`, which items share; the sentence where none is named."""
    found = agreement_pairs(test, 1, seed=seed, split="test", source=source)
    places = [pair.condition.get("subject") for pair in found]
    return [
        " ".join(pair.good) if place is None else pair.good[int(place)].lower()
        for pair, place in zip(found, places, strict=True)
    ]


def over_subjects(
    samples: Mapping[str, np.ndarray], test: int, seed: int = 0, source: str = EMBEDDED
) -> dict[str, np.ndarray]:
    """Samples of the test items of `number_readout`, (..., items), as such of the subject nouns they share."""
    nouns = agreement_subjects(test, seed, source)
    return {name: by_unit(values, nouns) for name, values in samples.items()}


def depth_scores(
    features: LayerFeatures, train: Sequence[Sentence], test: Sequence[Sentence], **settings
) -> np.ndarray:
    """Spearman's correlation of probed and true depth in the tree: (layers + 1, seeds, sentences)."""
    options = {"rank": 32, "epochs": 6} | settings
    probe = fit_depth_probe(features.words([s.words for s in train]), [s.heads for s in train], **options)
    predicted = probe.depths(features.words([s.words for s in test]))
    return score_depths(predicted, [s.heads for s in test]).spearman


def mix_scores(features: LayerFeatures, task: Task, seeds: int = 3, **settings) -> tuple[np.ndarray, np.ndarray]:
    """Cumulative scores (layers + 1, seeds, items), shares of the full mix (seeds, layers + 1); tenney2019bert.

    Seeds are those of `task_scores`."""
    train, test, names = encode_labels(task.train.labels, task.test.labels)
    options = TRAINING | {"groups": task.train.groups} | settings
    mix = train_scalar_mix(features.of(task.train), train, cumulative=True, classes=len(names), seeds=seeds, **options)
    return mix.correct(features.of(task.test), test), mix.shares[-1].numpy()


@torch.no_grad()
def masked_word_hits(specimen: Specimen, sentences: Words, seed: int = 0) -> np.ndarray:
    """Does the model's own head name the masked piece from this layer's vector? (layers + 1, 1, sentences), shares.

    The pieces are chosen as in training and all masked: one that was left to stand would be read off the embeddings.
    Layers below the last were not trained to be read by that head; a drop towards the bottom is partly its doing.
    """
    result = np.empty((specimen.layers + 1, 1, len(sentences)))
    for rows, batch in masked_batches(specimen, [list(s) for s in sentences], seed, budget=1024):
        chosen = batch["labels"] != IGNORED
        inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
        inputs["input_ids"] = inputs["input_ids"].masked_fill(chosen, specimen.tokenizer.mask_token_id)
        logits = logits_of_layers(specimen, inputs, chosen)
        hits = (logits.argmax(-1) == batch["labels"][chosen]).float()  # (layers + 1, chosen)
        counts = chosen.sum(1)
        sums = torch.zeros(len(hits), len(counts)).index_add(1, chosen.nonzero()[:, 0], hits)
        result[:, 0, rows] = (sums / counts).numpy()
    return result


def finetuning_samples(specimen: Specimen, train: Examples, test: Examples, seeds: Sequence[int], **settings) -> dict:
    """Fine-tunes, then rolls layers back to the start (hao2019visualizing): `tuned`, `restored_bottom`, `restored_top`
    (seeds, items), and the `change` of sentence vectors, 1 - cosine, (layers + 1, seeds, items).

    `majority` (items,) is the share of the most frequent test label: a constant, since the labels are balanced by
    design and not drawn. Blocks that share their weights cannot be rolled back apart: no `restored_...` of them.
    """
    one = Examples(test.sentences[:1], test.labels[:1])  # the whole test is read below, by all layers at once
    runs, _ = finetune_seeds(specimen, train, one, seeds, **settings)
    half, layers = specimen.layers // 2, specimen.layers
    groups = {"tuned": (), "restored_bottom": range(half + 1), "restored_top": range(half + 1, layers + 1)}
    if blocks_have_own_weights(specimen.encoder):
        scores, change = restoration_and_change(runs, specimen, test, groups)
    else:
        scores = {"tuned": np.stack([correctness(run.classifier, specimen, test) for run in runs])}
        change = representation_change(specimen, [run.specimen for run in runs], test.sentences)
    found = {name: right.astype(float) for name, right in scores.items()}
    return found | {"change": change, "majority": np.full(len(test), np.bincount(test.labels).max() / len(test))}


def rolled_back(specimen: Specimen, tuning: Mapping[str, np.ndarray]) -> dict[str, object]:
    """Accuracy after fine-tuning and after a roll-back of half of the layers, seeds averaged: (items,).

    `lower_half` and `upper_half` are what the roll-back of each costs, `gained` what tuning brought above the majority.
    Raises KeyError for a model whose blocks share their weights: `finetuning_samples` rolls nothing back there.
    """
    names = ("tuned", "restored_bottom", "restored_top", "majority")
    found: dict[str, object] = {name: np.atleast_2d(tuning[name]).mean(0) for name in names}
    lost = {"lower_half": "restored_bottom", "upper_half": "restored_top"}
    found["gained"] = float(found["tuned"].mean() - found["majority"].mean())
    return found | {half: float(tuning["tuned"].mean() - tuning[name].mean()) for half, name in lost.items()}
