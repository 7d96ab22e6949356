"""Fine-tuning a specimen on labelled sentences, quickly enough to do it with several seeds in a notebook.

Depends on torch, `text` (pieces and batches), `regimens` (what is trained), `descent` (how) and the `Specimen` of
`models`; knows no task and no claim. A run gives per-item correctness and the tuned model; `changes` compares before
and after.
"""

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.errors import BertologyError
from bertology_utils.models import Specimen
from bertology_utils.text import BUDGET, encode_words, model_inputs
from bertology_utils.text import batches as length_batches
from bertology_utils.tuning.descent import Optimiser, adamw, descend, trainable
from bertology_utils.tuning.mlm_training import shuffled_rows
from bertology_utils.tuning.regimens import (
    INIT_DEVIATION,
    add_adapters,
    freeze_parameters,
    held_at_zero,
    mixing_out,
    reinitialise_top,
)

# ---------------------------------------------------------------- data and model


@dataclass(frozen=True)
class Examples:
    """Labelled sentences (sequences of words), or pairs of them; labels are classes 0..C-1, or grades."""

    sentences: Sequence[Sequence[str]]
    labels: Sequence[int] | Sequence[float]
    pairs: Sequence[Sequence[str]] | None = None
    graded: bool = False

    def __post_init__(self) -> None:
        lengths = {len(self.sentences), len(self.labels)} | ({len(self.pairs)} if self.pairs is not None else set())
        if len(lengths) > 1 or not len(self.labels):
            raise BertologyError("Examples need as many labels (and pairs) as sentences, and at least one.")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def outputs(self) -> int:
        """What a classifier puts out: a number for each class, or one grade."""
        return 1 if self.graded else int(max(self.labels)) + 1


def compared(u: Tensor, v: Tensor) -> Tensor:
    """Two vectors side by side with their difference and product: (..., width) twice -> (..., 4 width)."""
    return torch.cat([u, v, (u - v).abs(), u * v], -1)


class Classifier(nn.Module):
    """Encoder, pooling and one linear layer: batch -> logits (batch, classes), or one grade each (batch, 1).

    pool: "mean" of all pieces, "cls", or "pair", the means of both sentences of one input `compared`, for which
    `separator` is the number of the piece between them.
    """

    def __init__(self, encoder: nn.Module, classes: int, pool: str = "mean", separator: int | None = None) -> None:
        super().__init__()
        if pool not in ("mean", "cls", "pair"):
            raise BertologyError(f"Unknown pooling {pool!r}: choose mean, cls or pair.")
        if pool == "pair" and separator is None:
            raise BertologyError("Two sentences of one input are told apart by a separator, which the tokenizer lacks.")
        self.encoder, self.pool, self.separator = encoder, pool, separator
        self.head = nn.Linear(encoder.config.hidden_size * (4 if pool == "pair" else 1), classes)
        self.config = encoder.config

    @property
    def base_model(self) -> nn.Module:
        return self.encoder

    def features(self, **batch: Tensor) -> Tensor:
        """What the head sees: (batch, width), of "pair" (batch, 4 width)."""
        return pooled(self.encoder(**batch).last_hidden_state, batch, self.pool, self.separator)

    def forward(self, **batch: Tensor) -> Tensor:
        return self.head(self.features(**batch))


def pooled(hidden: Tensor, batch: Mapping[str, Tensor], pool: str, separator: int | None = None) -> Tensor:
    """States of pieces as one vector an input, as `Classifier` pools: (batch, pieces, width) -> (batch, width)."""
    if pool == "cls":
        return hidden[:, 0]
    real = batch["attention_mask"].bool()
    if pool == "mean":
        return _mean(hidden, real)
    ends = batch["input_ids"] == separator
    second = ends.cumsum(1) > 0
    return compared(_mean(hidden, real & ~second), _mean(hidden, real & second & ~ends))


def _mean(hidden: Tensor, chosen: Tensor) -> Tensor:
    """Of the chosen pieces: (batch, pieces, width), booleans (batch, pieces) -> (batch, width)."""
    mask = chosen.to(hidden).unsqueeze(-1)
    return (hidden * mask).sum(1) / mask.sum(1)


def classification_loss(model: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """Cross-entropy of each example, or its squared error where one grade is put out: (batch,); `batch` holds `labels`.

    Fits `heads.head_importance`.
    """
    inputs = {key: value for key, value in batch.items() if key != "labels"}
    return answer_losses(model(**inputs), batch["labels"])


def answer_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of each answer, or its squared error where one grade is put out: (batch, outputs) -> (batch,)."""
    if logits.shape[-1] == 1:
        return (logits[:, 0] - labels) ** 2
    return nn.functional.cross_entropy(logits, labels, reduction="none")


Objective = Callable[[Classifier], Callable[[Mapping[str, Tensor]], Tensor]]  # classifier -> (batch -> losses)


def plain(classifier: Classifier) -> Callable[[Mapping[str, Tensor]], Tensor]:
    """The objective of plain tuning: the loss of each example, `classification_loss`."""
    return partial(classification_loss, classifier)


# ---------------------------------------------------------------- batches


def batches(
    specimen: Specimen, examples: Examples, budget: int = BUDGET, order: np.random.Generator | None = None
) -> list[tuple[np.ndarray, dict[str, Tensor]]]:
    """[(indices, batch with labels)] of at most `budget` pieces each; `order` shuffles, None keeps them by length."""
    encodings = encode_words(specimen, examples.sentences, examples.pairs)
    return _batches(specimen, encodings, np.asarray(examples.labels), budget, order)


def _batches(specimen, encodings, labels: np.ndarray, budget: int, order: np.random.Generator | None) -> list:
    if order is None:
        groups = length_batches(specimen, [len(encoding) for encoding in encodings], budget)
    else:
        groups = shuffled_rows(specimen, encodings, order, budget)
    made = []
    for group in groups:
        batch = model_inputs(specimen, [encodings[i] for i in group])
        kind = torch.float32 if labels.dtype.kind == "f" else torch.long
        made.append((np.asarray(group), {**batch, "labels": torch.as_tensor(labels[group], dtype=kind)}))
    return made


# ---------------------------------------------------------------- fine-tuning

HEAD_OPTIONS = {"freeze", "pool", "epochs", "head_learning_rate", "order_seed"}  # of `finetune`: these move no encoder


@dataclass(frozen=True)
class FineTuned:
    """What one run gives.

    correct (items,) booleans and probabilities (items, classes) on the test examples, of grades the nearest whole one
    and the grade itself, (items, 1); features (items, width) what the head saw of them; `specimen` holds the tuned
    encoder, `classifier` encoder and head; `start` the classifier's state before training; losses one value a step.
    """

    correct: np.ndarray
    probabilities: np.ndarray
    features: Tensor = field(repr=False)
    classifier: Classifier
    specimen: Specimen
    losses: np.ndarray
    trained_share: float
    start: dict[str, Tensor] = field(repr=False)

    @property
    def accuracy(self) -> float:
        return float(self.correct.mean())


def finetune(
    specimen: Specimen,
    train: Examples,
    test: Examples,
    seed: int = 0,
    *,
    epochs: int = 3,
    learning_rate: float = 2e-4,
    head_learning_rate: float = 2e-3,
    freeze: str = "none",
    reinit_top: int = 0,
    mixout: float = 0.0,
    adapters: bool | int = False,
    masks: Mapping[str, Tensor] | None = None,
    pool: str = "mean",
    budget: int = 512,
    order_seed: int | None = None,
    head_first: bool = False,
    features: tuple[Tensor, Tensor] | None = None,
    kind: type[Classifier] = Classifier,
    objective: Objective = plain,
    optimiser: Optimiser = adamw,
) -> FineTuned:
    """Fine-tune a copy of the specimen's encoder with a new linear head, and score it on `test`.

    `seed` draws head, re-initialised layers, adapters and dropout; `order_seed` the data order (default: `seed`), the
    two factors of dodge2020finetuning. `adapters` is True (size 64) or a size; `masks` (encoder parameter name ->
    boolean) are applied first and held at zero; `head_first` trains the head alone before; `features` are those of a
    frozen encoder for train and test, where they are known; `kind` reads the encoder's states, and `objective` says
    what is made small (`all_layers`, `smoothing`). AdamW, or another `optimiser`; 10 % warm-up, linear decay to 0.
    """
    rng = np.random.default_rng(seed if order_seed is None else order_seed)
    outputs = max(train.outputs, test.outputs)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = copy.deepcopy(specimen.model)
        classifier = kind(model.base_model, outputs, pool, specimen.tokenizer.sep_token_id)
        start = _prepare(classifier, freeze, reinit_top, adapters, masks, seed)
        frozen = freeze == "encoder" and not adapters
        if frozen or head_first:
            known = encoder_features(classifier, specimen, train) if features is None else features[0]
            losses = _train_head(classifier.head, known, train.labels, rng, epochs, head_learning_rate)
        if not frozen:
            rates = (learning_rate, head_learning_rate)
            with held_at_zero(classifier.encoder, masks or {}), mixing_out(classifier.encoder, mixout):
                losses = _train(
                    classifier, specimen, train, rng, epochs, rates, budget, bool(mixout), objective, optimiser
                )
    classifier.eval()
    share = sum(p.numel() for p in classifier.parameters() if p.requires_grad)
    share /= sum(p.numel() for p in classifier.parameters())
    classifier.requires_grad_(True)
    asked = encoder_features(classifier, specimen, test) if features is None else features[1]
    probabilities = _probabilities(classifier.head, asked)
    tuned = dataclasses.replace(specimen, model=model.eval())
    return FineTuned(right(probabilities, test), probabilities, asked, classifier, tuned, losses, share, start)


def run_seeds(seed: int, count: int = 3) -> range:
    """The seeds of `count` training runs in the chapter's run `seed`: no two chapter runs share one."""
    return range(seed * count, (seed + 1) * count)


def finetune_seeds(specimen: Specimen, train: Examples, test: Examples, seeds: Sequence[int] = (0, 1, 2), **options):
    """One run a seed: ([FineTuned], correct (seeds, items)); a frozen encoder reads the examples once for all."""
    if set(options) <= HEAD_OPTIONS and options.get("freeze") == "encoder":
        options["features"] = _frozen_features(specimen, train, test, options.get("pool", "mean"))
    runs = [finetune(specimen, train, test, seed, **options) for seed in seeds]
    return runs, np.stack([run.correct for run in runs])


def _prepare(classifier: Classifier, freeze: str, reinit_top: int, adapters, masks, seed: int) -> dict[str, Tensor]:
    reinitialise_top(classifier.encoder, reinit_top, torch.Generator().manual_seed(seed))
    nn.init.normal_(classifier.head.weight, std=INIT_DEVIATION)
    nn.init.zeros_(classifier.head.bias)
    freeze_parameters(classifier.encoder, freeze)
    if adapters:
        add_adapters(classifier.encoder, 64 if adapters is True else int(adapters))
    for name, mask in (masks or {}).items():
        classifier.encoder.get_parameter(name).data.mul_(mask)
    return {name: value.clone() for name, value in classifier.state_dict().items()}


def _train(classifier, specimen, train, rng, epochs, rates, budget, mixing: bool, objective, optimiser) -> np.ndarray:
    encodings = encode_words(specimen, train.sentences, train.pairs)
    labels = np.asarray(train.labels)
    plan = [batch for _ in range(epochs) for _, batch in _batches(specimen, encodings, labels, budget, rng)]
    classifier.train()
    if mixing:  # mixout replaces dropout
        for module in classifier.modules():
            if isinstance(module, nn.Dropout):
                module.eval()
    encoder = set(classifier.encoder.parameters())
    parts = trainable(classifier.encoder), [own for own in trainable(classifier) if own not in encoder]
    groups = [{"params": part, "lr": rate} for part, rate in zip(parts, rates, strict=True) if part]
    feed, loss_of = iter(plan), objective(classifier)
    return descend(groups, lambda: loss_of(next(feed)).mean(), len(plan), optimiser_of=optimiser)


def _train_head(head: nn.Linear, features: Tensor, labels, rng, epochs: int, rate: float) -> np.ndarray:
    """With a frozen encoder its features (items, width) never change: 20 cheap passes for each epoch asked."""
    labels = torch.as_tensor(np.asarray(labels), dtype=torch.long)
    optimiser = torch.optim.AdamW(head.parameters(), lr=rate, weight_decay=0.01)
    losses = []
    for _ in range(20 * epochs):
        for rows in torch.as_tensor(rng.permutation(len(labels))).split(32):
            loss = nn.functional.cross_entropy(head(features[rows]), labels[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(float(loss.detach()))
    return np.array(losses)


# ---------------------------------------------------------------- scoring


@torch.no_grad()
def encoder_features(classifier: Classifier, specimen: Specimen, examples: Examples) -> Tensor:
    """What the head sees of each example without dropout, (items, width), in the order of the examples."""
    classifier.eval()
    result = torch.empty(len(examples), classifier.head.in_features)
    for rows, batch in batches(specimen, examples):
        del batch["labels"]
        result[torch.as_tensor(rows)] = classifier.features(**batch)
    return result


def _frozen_features(specimen: Specimen, train: Examples, test: Examples, pool: str) -> tuple[Tensor, Tensor]:
    with torch.random.fork_rng(devices=[]):  # a head is drawn that nobody reads
        classifier = Classifier(specimen.encoder, 2, pool, specimen.tokenizer.sep_token_id)
    return tuple(encoder_features(classifier, specimen, part) for part in (train, test))


@torch.no_grad()
def _probabilities(head: nn.Linear, features: Tensor) -> np.ndarray:
    logits = head(features)
    return (logits if logits.shape[-1] == 1 else logits.softmax(-1)).numpy()


def predict(classifier: Classifier, specimen: Specimen, examples: Examples) -> np.ndarray:
    """Class probabilities (items, classes), or grades (items, 1), in the order of the examples.

    The classifier is left without dropout.
    """
    return _probabilities(classifier.head, encoder_features(classifier, specimen, examples))


def correctness(classifier: Classifier, specimen: Specimen, examples: Examples) -> np.ndarray:
    """Is the most probable class, or the nearest whole grade, right? (items,) booleans."""
    return right(predict(classifier, specimen, examples), examples)


def right(predicted: np.ndarray, examples: Examples) -> np.ndarray:
    """Is the most probable class, or the nearest whole grade, right? What `predict` gives -> (items,) booleans."""
    if examples.graded:
        return predicted[:, 0].round() == np.round(examples.labels)
    return predicted.argmax(1) == np.asarray(examples.labels)


def task_score(predicted: np.ndarray, examples: Examples) -> float:
    """How a benchmark scores what `predict` gives: share of right classes, Pearson's r of grades, 0 where all agree."""
    if not examples.graded:
        return float(right(predicted, examples).mean())
    grades = predicted[:, 0]
    return float(np.corrcoef(grades, examples.labels)[0, 1]) if np.ptp(grades) > 0 else 0.0


def item_losses(classifier: Classifier, specimen: Specimen, examples: Examples) -> np.ndarray:
    """Cross-entropy of each example in nats: (items,)."""
    chosen = predict(classifier, specimen, examples)[np.arange(len(examples)), np.asarray(examples.labels)]
    return -np.log(np.maximum(chosen, 1e-12))
