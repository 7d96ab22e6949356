"""Bodies that students begin with: a smaller one of the teacher's kind with random weights; and who is whose heir.

Depends on `models`, `weights` and the list of matrices of `prune`. Copies of some of the teacher's own blocks come from
`distill.student_of`.
"""

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bertology_utils.compression.distill import renamed
from bertology_utils.compression.prune import prunable
from bertology_utils.errors import BertologyError, NotAskable
from bertology_utils.models import Specimen
from bertology_utils.weights import untrained

ALIKE = 0.5  # correlation of two matrices: those of two trainings that share no start have none
BLOCK = re.compile(r"\.\d+\.")


@dataclass(frozen=True)
class Size:
    """Of a body: blocks, heads of each, width of a head, width of the inner layer of the feed-forward part."""

    layers: int
    heads: int
    head_width: int
    inner: int

    @classmethod
    def of(cls, specimen: Specimen) -> "Size":
        """Raises NotAskable for a body without heads, or with an inner layer that its configuration does not name."""
        inner = _inner(specimen)
        if not specimen.heads or inner is None:
            raise NotAskable(f"{specimen.name} has no heads or no inner layer of which a student could have a share.")
        width = specimen.width // specimen.heads
        return cls(specimen.layers, specimen.heads, width, getattr(specimen.model.config, inner))

    def share(self, depth: float = 1.0, heads: float = 1.0, head_width: float = 1.0) -> "Size":
        """These shares of it, rounded, of everything at least one; the inner layer shrinks as the width does."""
        if not all(0 < part <= 1 for part in (depth, heads, head_width)):
            raise BertologyError("A student has a share of its teacher's size above 0 and at most 1.")
        whole = ((self.layers, depth), (self.heads, heads), (self.head_width, head_width))
        layers, heads, head_width = (max(1, round(count * part)) for count, part in whole)
        inner = self.inner * heads * head_width / (self.heads * self.head_width)
        return Size(layers, heads, head_width, max(1, round(inner)))


def _inner(specimen: Specimen) -> str | None:
    """What the configuration calls the width of the inner layer; DistilBERT has a name of its own."""
    return next((name for name in ("intermediate_size", "hidden_dim") if hasattr(specimen.model.config, name)), None)


def newborn(origin: Specimen, size: Size) -> Specimen:
    """A network of the origin's kind and tokenizer, of another size, with weights at random (torch's own seed)."""
    config = copy.deepcopy(origin.model.config)
    config.num_hidden_layers, config.num_attention_heads = size.layers, size.heads
    config.hidden_size = size.heads * size.head_width
    setattr(config, _inner(origin), size.inner)
    if hasattr(config, "num_hidden_groups"):  # ALBERT's: one for each layer, see `models.load`
        config.num_hidden_groups = size.layers
    name = f"newborn-{size.layers}x{config.hidden_size}"
    return renamed(origin, name, untrained(type(origin.model), config, f"{origin.name}/{name}"))


def inherited(student: nn.Module, teacher: nn.Module) -> int:
    """How many of a student's matrices are like one of the teacher's of the same kind, in any block.

    Both are bare encoders. Alike: they correlate, in the corner that both have; training as long as here leaves a copy
    like its model.
    """
    theirs = list(_matrices(teacher))
    return sum(
        any(kind == other and _correlation(own, target) > ALIKE for other, target in theirs)
        for kind, own in _matrices(student)
    )


def _matrices(encoder: nn.Module) -> Iterator[tuple[str, Tensor]]:
    yield "embeddings", encoder.get_input_embeddings().weight.detach()
    for name, parameter in prunable(encoder).items():
        yield BLOCK.sub(".", name), parameter.detach()


def _correlation(a: Tensor, b: Tensor) -> float:
    rows, columns = (min(sizes) for sizes in zip(a.shape, b.shape, strict=True))
    return float(torch.corrcoef(torch.stack([m[:rows, :columns].flatten() for m in (a, b)]))[0, 1])
