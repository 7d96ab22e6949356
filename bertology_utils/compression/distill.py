"""One distilled student: every other layer of the teacher, taught by its predictions and hidden states.

Depends on `mlm_training` and the `Specimen` of `models`. The recipe is sanh2019distilbert's, but short.
"""

import copy
import dataclasses
import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.errors import BertologyError
from bertology_utils.instruments.blocks import encoder_layers
from bertology_utils.models import Specimen
from bertology_utils.text import encode_words
from bertology_utils.tuning.mlm_training import IGNORED, endless_batches, masked_logits, optimise

TEMPERATURE = 2.0


def kept_layers(teacher_layers: int, student_layers: int) -> list[int]:
    """0-based teacher layers the student starts from, spread evenly: 12 -> 6 gives 0, 2, 4, 7, 9, 11 as DistilBERT."""
    if not 1 <= student_layers <= teacher_layers:
        raise BertologyError(f"A student of this teacher has 1 to {teacher_layers} layers, not {student_layers}.")
    return [int(i + 0.5) for i in np.linspace(0, teacher_layers - 1, student_layers)]


def student_of(teacher: Specimen, layers: int | None = None, *, kept: Sequence[int] | None = None) -> Specimen:
    """An untaught student: embeddings, head and `layers` blocks (half of them by default) copied from the teacher.

    kept: which blocks, 0-based and rising; spread evenly unless given.
    """
    kept = kept_layers(teacher.layers, layers or max(1, teacher.layers // 2)) if kept is None else kept
    model = copy.deepcopy(teacher.model)
    blocks = encoder_layers(model.base_model)
    for i in reversed(range(len(blocks))):
        if i not in kept:
            del blocks[i]
    for config in {id(c): c for c in (model.config, model.base_model.config)}.values():
        config.num_hidden_layers = len(kept)
        if hasattr(config, "num_hidden_groups"):  # ALBERT's: one for each layer, see `models.load`
            config.num_hidden_groups = len(kept)
    return renamed(teacher, f"student-{len(kept)}", model)


def renamed(origin: Specimen, name: str, model: nn.Module) -> Specimen:
    """A model of its own, `origin/name`, with the origin's tokenizer."""
    name = f"{origin.name}/{name}"
    digest = hashlib.sha256(f"{origin.sha256}{name}".encode()).hexdigest()
    return dataclasses.replace(origin, name=name, model=model.eval(), sha256=digest)


def distillation_loss(student: nn.Module, teacher: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """5 KL(teacher || student at T = 2) T^2 + 2 masked-LM loss + 1 (1 - cosine of last hidden states), a scalar.

    Deviation: the KL is taken at masked positions only, the cosine over all real pieces.
    """
    chosen = batch["labels"] != IGNORED
    with torch.no_grad():
        target, teacher_hidden = masked_logits(teacher, batch, chosen)
    logits, hidden = masked_logits(student, batch, chosen)
    kl = nn.functional.kl_div(
        (logits / TEMPERATURE).log_softmax(-1),
        (target / TEMPERATURE).log_softmax(-1),
        log_target=True,
        reduction="batchmean",
    )
    mlm = nn.functional.cross_entropy(logits, batch["labels"][chosen])
    real = batch["attention_mask"].bool()
    cosine = nn.functional.cosine_similarity(hidden[real], teacher_hidden[real], dim=-1).mean()
    return 5 * kl * TEMPERATURE**2 + 2 * mlm + (1 - cosine)


def distill(
    teacher: Specimen,
    sentences: Sequence[Sequence[str]],
    steps: int = 100,
    seed: int = 0,
    *,
    layers: int | None = None,
    learning_rate: float = 3e-4,
    budget: int = 1024,
) -> tuple[Specimen, np.ndarray]:
    """The student after `steps` steps on the sentences, and its losses (steps,); needs a masked-LM head."""
    if not teacher.has_mlm_head:
        raise BertologyError(f"{teacher.name} has no masked-language-model head, so it has no predictions to teach.")
    student = student_of(teacher, layers)
    feed = endless_batches(teacher, encode_words(teacher, sentences), seed, budget)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        loss = lambda: distillation_loss(student.model, teacher.model, next(feed))  # noqa: E731 - one line, used once
        losses = optimise(student.model, loss, steps, learning_rate)
    return student, losses
