"""Short masked-language-model training of a specimen, and its loss a sentence.

Depends on `models`, `text`, `descent` and the masking rule of `pretraining.examples`; for seconds of training inside a
notebook (continued training, bilingual models, distillation), where `pretraining` is for hours. The vocabulary is
scored at the masked positions alone.
"""

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.anatomy import head_sees
from bertology_utils.errors import NotAskable
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED, SpecialIds, mask_tokens
from bertology_utils.text import batches, encode_words, model_inputs
from bertology_utils.tuning.descent import descend, trainable


def special_ids(specimen: Specimen) -> SpecialIds:
    """The special pieces of a specimen's tokenizer; RoBERTa's names count as BERT's."""
    t = specimen.tokenizer
    return SpecialIds(t.pad_token_id, t.cls_token_id, t.sep_token_id, t.mask_token_id, specimen.vocabulary_size)


def mask_batch(batch: Mapping[str, Tensor], special: SpecialIds, generator: torch.Generator) -> dict[str, Tensor]:
    """The batch with 15 % of its pieces corrupted and `labels` (batch, pieces), at least one label a sequence."""
    corrupted, labels = mask_tokens(batch["input_ids"], special, generator)
    bare = (labels == IGNORED).all(1)
    real = batch["attention_mask"].bool() & ~torch.isin(batch["input_ids"], torch.tensor([special.cls, special.sep]))
    draws = torch.rand(labels.shape, generator=generator).masked_fill(~real, -1).argmax(1)
    rows = torch.nonzero(bare & real.any(1)).flatten()
    labels[rows, draws[rows]] = batch["input_ids"][rows, draws[rows]]
    corrupted[rows, draws[rows]] = special.mask
    return {**batch, "input_ids": corrupted, "labels": labels}


def masked_logits(model: nn.Module, batch: Mapping[str, Tensor], chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Logits at the `chosen` (batch, pieces) positions, (chosen, vocabulary), and the last hidden states of all."""
    last: list[Tensor] = []

    def chosen_rows(hidden: Tensor) -> Tensor:
        last.append(hidden)
        return hidden[chosen].unsqueeze(0)

    inputs = {key: value for key, value in batch.items() if key != "labels"}
    with head_sees(model.base_model, chosen_rows):
        output = model(**inputs, return_dict=True)
    logits = output.logits if "logits" in output else output.prediction_logits
    return logits[0], last[0]


def masked_loss(model: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """Mean cross-entropy (nats) over each example's masked pieces: (batch,). Fits `heads.head_importance`."""
    labels = batch["labels"]
    chosen = labels != IGNORED
    logits, _ = masked_logits(model, batch, chosen)
    losses = nn.functional.cross_entropy(logits, labels[chosen], reduction="none")
    rows = chosen.nonzero()[:, 0]
    sums = torch.zeros(len(labels), dtype=losses.dtype).index_add(0, rows, losses)
    return sums / chosen.sum(1).clamp_min(1)


def masked_batches(
    specimen: Specimen, sentences: Sequence[Sequence[str]], seed: int = 0, budget: int = 4096
) -> list[tuple[list[int], dict[str, Tensor]]]:
    """[(indices, masked batch)], the same masks for the same seed, whatever model is then scored."""
    encodings = encode_words(specimen, sentences)
    generator = torch.Generator().manual_seed(seed)
    special = special_ids(specimen)
    groups = batches(specimen, [len(e) for e in encodings], budget)
    plain = [model_inputs(specimen, [encodings[i] for i in group]) for group in groups]
    return [(group, mask_batch(batch, special, generator)) for group, batch in zip(groups, plain, strict=True)]


@torch.no_grad()
def mlm_losses(specimen: Specimen, sentences: Sequence[Sequence[str]], seed: int = 0, budget: int = 4096) -> np.ndarray:
    """Masked-token loss of each sentence (nats a masked piece): (sentences,)."""
    if not specimen.has_mlm_head:
        raise NotAskable(f"{specimen.name} has no masked-language-model head.")
    result = np.empty(len(sentences), dtype=np.float32)
    for rows, batch in masked_batches(specimen, sentences, seed, budget):
        result[rows] = masked_loss(specimen.model, batch).numpy()
    return result


def shuffled_rows(
    specimen: Specimen, encodings: Sequence, rng: np.random.Generator, budget: int
) -> Iterator[list[int]]:
    """One epoch: the rows of each batch of about `budget` pieces, in random order."""
    order = rng.permutation(len(encodings))
    groups = batches(specimen, [len(encodings[row]) for row in order], budget)
    for group in rng.permutation(len(groups)):
        yield [order[i] for i in groups[group]]


def endless_batches(specimen: Specimen, encodings: Sequence, seed: int, budget: int) -> Iterator[dict[str, Tensor]]:
    """Shuffled, freshly masked batches for ever."""
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    special = special_ids(specimen)
    padded, lengths = model_inputs(specimen, encodings), np.array([len(encoding) for encoding in encodings])
    while True:
        for rows in shuffled_rows(specimen, encodings, rng, budget):
            longest, places = lengths[rows].max(), torch.as_tensor(rows)
            yield mask_batch({key: values[places, :longest] for key, values in padded.items()}, special, generator)


def train_mlm(
    specimen: Specimen,
    sentences: Sequence[Sequence[str]],
    steps: int,
    seed: int = 0,
    *,
    learning_rate: float = 5e-4,
    budget: int = 1024,
) -> tuple[Specimen, np.ndarray]:
    """A copy of the specimen trained on for `steps` steps, and its losses (steps,).

    AdamW, 10 % warm-up, linear decay.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = copy.deepcopy(specimen.model)
        feed = endless_batches(specimen, encode_words(specimen, sentences), seed, budget)
        losses = optimise(model, lambda: masked_loss(model, next(feed)).mean(), steps, learning_rate)
    return dataclasses.replace(specimen, model=model.eval()), losses


def optimise(model: nn.Module, loss_of_step: Callable[[], Tensor], steps: int, learning_rate: float) -> np.ndarray:
    """`descend` on all of a model that is not frozen, dropout on meanwhile: losses (steps,)."""
    model.train()
    losses = descend([{"params": trainable(model), "lr": learning_rate}], loss_of_step, steps)
    model.eval()
    return losses
