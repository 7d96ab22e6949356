"""Modules that need not run on every row of a batch of masked copies, of which each is asked at one piece.

Nothing here knows an architecture: what is no number is let in at one end, and where it arrives tells what is read, as
zero weights do not stop it. Only modules without parts count that run once, on all rows. Depends on torch alone.
"""

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

Names = tuple[str, ...]
Inputs = dict[str, Tensor]
PLACE = 2  # of the piece that is watched in a trial


def modules_read_at(encoder: nn.Module, inputs: Inputs) -> Names:
    """Modules of whose output a piece's last state reads that piece's row alone, as behind the last attention.

    A gradient that is no number starts at one piece of an input (1, pieces) and arrives at each row that is read.
    """
    with torch.enable_grad(), _outputs(encoder, inputs) as outputs:
        state = encoder(**inputs).last_hidden_state[0, PLACE]
        found = torch.autograd.grad(state, [*outputs.values()], torch.full_like(state, math.nan), allow_unused=True)
    gradients = {name: rows[0] for name, rows in zip(outputs, found, strict=True) if rows is not None}
    return tuple(name for name, rows in gradients.items() if not (rows[:PLACE].any() or rows[PLACE + 1 :].any()))


def confirmed(encoder: nn.Module, names: Names, inputs: Inputs, positions: Tensor, noise: float) -> bool:
    """Whether the last states at positions (batch,) are the same, but for a share of the largest state, when spared."""
    every = torch.arange(len(positions))
    whole = encoder(**inputs).last_hidden_state[every, positions]
    with sparing(encoder, names, inputs["input_ids"].shape[1], positions):
        spared = encoder(**inputs).last_hidden_state[every, positions]
    return torch.allclose(whole, spared, rtol=0, atol=noise * whole.abs().max().item())


@contextmanager
def sparing(encoder: nn.Module, names: Names, pieces: int, positions: Tensor) -> Iterator[None]:
    """Inside, these modules run on one row of each input, at positions (batch,); what they give stands in all rows."""
    asked = torch.arange(len(positions)), positions
    with ExitStack() as stack:
        for module in map(encoder.get_submodule, names):
            stack.enter_context(module.register_forward_pre_hook(lambda _, given: (given[0][asked].unsqueeze(1),)))
            stack.enter_context(module.register_forward_hook(lambda _, given, output: output.expand(-1, pieces, -1)))
        stack.enter_context(_OneQuery(asked))
        yield


class _OneQuery(TorchFunctionMode):
    """Inside, attention asks once where all its queries (batch, heads, pieces, width) are one row standing in all."""

    def __init__(self, asked: tuple[Tensor, Tensor]) -> None:
        super().__init__()
        self.asked = asked

    def __torch_function__(self, function, types, given=(), named=None):
        named = named or {}
        if function is not scaled_dot_product_attention or len(given) < 3 or given[0].ndim != 4 or given[0].stride(2):
            return function(*given, **named)
        query, mask, (every, positions) = given[0], named.get("attn_mask"), self.asked
        if mask is not None:
            mask = mask.expand(len(query), -1, query.shape[2], -1)[every, :, positions].unsqueeze(2)
        return function(query[:, :, :1], *given[1:], **named | {"attn_mask": mask}).expand_as(query)


@contextmanager
def _outputs(encoder: nn.Module, inputs: Inputs) -> Iterator[dict[str, Tensor]]:
    """Inside, a dictionary that fills with what modules without parts give (1, pieces, width), by their names."""
    outputs: dict[str, Tensor] = {}
    ran: set[str] = set()

    def is_rows(value: object) -> bool:
        shaped = isinstance(value, Tensor) and value.ndim == 3 and value.is_floating_point()
        return shaped and value.shape[:2] == inputs["input_ids"].shape

    def keep(name: str, given: tuple, output: object) -> None:
        outputs.pop(name, None)
        if name not in ran and len(given) == 1 and is_rows(given[0]) and is_rows(output) and output is not given[0]:
            outputs[name] = output
        ran.add(name)

    with ExitStack() as stack:
        for name, module in encoder.named_modules():
            if not any(module.children()):
                hook = module.register_forward_hook(lambda _, given, output, name=name: keep(name, given, output))
                stack.enter_context(hook)
        yield outputs
