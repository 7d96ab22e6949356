"""How steadily fine-tuning ends: heads on raw or normalised [CLS] vectors.

Depends on `laboratory` (units), `activations` and torch; section 6 of the survey.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from bertology_utils.activations import sentence_vectors
from bertology_utils.language.grammar import generate
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit, per_seed
from bertology_utils.studies.training.laboratory import nouns_of
from bertology_utils.tuning.tiny_pretraining import number_examples
from bertology_utils.tuning.training import Examples


def off_centre(vectors: Tensor) -> np.ndarray:
    """Cosine of each vector with the mean of all: (items,). About 0 where a cloud is centred on zero, 1 far from it."""
    vectors = vectors.float()
    return torch.nn.functional.cosine_similarity(vectors, vectors.mean(0, keepdim=True)).numpy()


def standardised(train: Tensor, test: Tensor) -> tuple[Tensor, Tensor]:
    """Both sets (items, width) with the training set's mean and deviation taken out (zhou2019improving)."""
    mean, deviation = train.mean(0), train.std(0).clamp_min(1e-6)
    return (train - mean) / deviation, (test - mean) / deviation


def linear_heads(
    train: Tensor,
    labels: Sequence[int],
    test: Tensor,
    test_labels: Sequence[int],
    seeds: int = 10,
    epochs: int = 10,
    learning_rate: float = 1e-3,
) -> np.ndarray:
    """Linear classifiers trained as in fine-tuning, all seeds at once: correctness (seeds, test items).

    Seeds differ in initial weights and in data order; Adam, batches of 32, no normalisation of the features.
    """
    generator = torch.Generator().manual_seed(0)
    target, gold = torch.as_tensor(np.asarray(labels)), np.asarray(test_labels)
    classes = int(max(target.max(), gold.max())) + 1
    weight = (0.02 * torch.randn(seeds, train.shape[1], classes, generator=generator)).requires_grad_(True)
    bias = torch.zeros(seeds, 1, classes, requires_grad=True)
    optimiser = torch.optim.Adam([weight, bias], lr=learning_rate)
    for _ in range(epochs):
        orders = torch.stack([torch.randperm(len(train), generator=generator) for _ in range(seeds)])
        for rows in orders.split(32, dim=1):  # rows: (seeds, batch)
            logits = train[rows] @ weight + bias
            loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), target[rows], reduction="none")
            optimiser.zero_grad()
            loss.mean(1).sum().backward()
            optimiser.step()
    with torch.no_grad():
        return ((test @ weight + bias).argmax(-1).numpy() == gold).astype(float)


def number_parts(train: int, test: int, seed: int) -> dict[str, Examples]:
    """Is the subject plural? Examples of one-clause sentences by part; no content word is in both."""
    sizes = {"train": train, "test": test}
    return {part: number_examples(generate(n, seed=seed, split=part, kind="simple")) for part, n in sizes.items()}


def heads_on_cls(specimen: Specimen, parts: Mapping[str, Examples], seeds: int) -> dict[str, np.ndarray]:
    """Linear heads on raw and on normalised [CLS] vectors of the last layer (zhou2019improving).

    `off_centre` (nouns,): cosine with the mean; `raw` and `normalised` (seeds, nouns of the test): correctness;
    `spread_...` (seeds, 1): how far each head's accuracy lies from the mean; `majority`: of always the same answer.
    """
    fit, test = (sentence_vectors(specimen, parts[part].sentences, pool="cls")[-1] for part in ("train", "test"))
    gold = parts["test"].labels
    found = {"off_centre": by_unit(off_centre(fit), nouns_of(parts["train"]))}
    for name, (seen, new) in {"raw": (fit, test), "normalised": standardised(fit, test)}.items():
        found[name] = by_unit(linear_heads(seen, parts["train"].labels, new, gold, seeds), nouns_of(parts["test"]))
        means = found[name].mean(1)
        found[f"spread_{name}"] = per_seed(np.abs(means - means.mean()))
    plural = np.mean(gold)
    return found | {"majority": max(plural, 1 - plural)}
