"""The blocks of an encoder: where they are, what each was called with, and runs that begin in the middle of the stack.

Depends on torch and on where encoders keep their blocks. What changes one block leaves those below as they were, so
that measuring the change need not run them again: `test_blocks.py` holds both ways equal.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from bertology_utils.errors import NotAskable

PROJECTIONS = {  # of the attention of BERT, RoBERTa and ELECTRA; DeBERTa; DistilBERT; ALBERT, by how their names end
    "query": ("attention.self.query", "attention.q_lin", "attention.query"),
    "key": ("attention.self.key", "attention.k_lin", "attention.key"),
    "value": ("attention.self.value", "attention.self.value_proj", "attention.v_lin", "attention.value"),
    "output": ("attention.output.dense", "attention.out_lin", "attention.dense"),
}


def attention_projections(model: nn.Module, kind: str) -> list[nn.Module]:
    """One of the `PROJECTIONS` of each block, first block first; a block that is shared appears once."""
    return [module for name, module in model.named_modules() if name.endswith(PROJECTIONS[kind])]


def encoder_layers(encoder: nn.Module) -> nn.ModuleList:
    """The blocks of an encoder like BERT, DistilBERT or ALBERT, or with one list of as many parts as layers, in order.

    ALBERT's blocks share their weights: what is frozen or drawn anew in one is so in all.
    """
    for path in ("encoder.layer", "transformer.layer", "encoder.albert_layer_groups"):
        try:
            return encoder.get_submodule(path)
        except AttributeError:
            continue
    lists = (module for module in encoder.modules() if isinstance(module, nn.ModuleList))
    alike = [found for found in lists if len(found) == encoder.config.num_hidden_layers]
    if len(alike) == 1:
        return alike[0]
    raise NotAskable(f"{type(encoder).__name__} has no list of layers that this module knows.")


def feed_forward_outputs(encoder: nn.Module) -> list[nn.Linear]:
    """The last matrix of each block's feed-forward part, first block first: the one that narrows to the model's width.

    Raises NotAskable where a block has none or several such.
    """
    width = encoder.config.hidden_size
    found = []
    for block in encoder_layers(encoder):
        linear = [module for module in block.modules() if isinstance(module, nn.Linear)]
        narrowing = [m for m in linear if m.out_features == width and m.in_features > width]
        if len(narrowing) != 1:
            raise NotAskable(f"It is not known where blocks of {type(encoder).__name__} keep their feed-forward part.")
        found += narrowing
    return found


@contextmanager
def gated_feed_forward(encoder: nn.Module, gates: Tensor) -> Iterator[None]:
    """Inside, what each feed-forward part puts out is multiplied by its gate: (layers,) or (batch, layers)."""
    gates = gates if gates.dim() == 2 else gates.unsqueeze(0)
    with ExitStack() as stack:
        for layer, module in enumerate(feed_forward_outputs(encoder)):
            gate = gates[:, layer, None, None]
            stack.enter_context(module.register_forward_hook(lambda _, given, output, gate=gate: gate * output))
        yield


BESIDE: WeakKeyDictionary[nn.Module, tuple | None] = WeakKeyDictionary()
"""What a block gave beside its states when `recorded_calls` saw it last; None where it gives states alone."""


@dataclass(frozen=True)
class BlockCall:
    """One block and what it was called with: `hidden` (batch, pieces, width) and the rest, such as the mask."""

    block: nn.Module
    hidden: Tensor
    rest: tuple
    settings: dict[str, Any]

    def again(self, rows: int) -> Tensor:
        """The block's output for `rows` copies of its one input: (rows, pieces, width)."""
        output = self.block(self.hidden.expand(rows, -1, -1), *self.rest, **self.settings)
        return output[0] if isinstance(output, tuple) else output


@contextmanager
def recorded_calls(encoder: nn.Module) -> Iterator[list[BlockCall]]:
    """A list that fills with the calls of all blocks, first to last, when the encoder runs inside."""
    calls: list[BlockCall] = []

    def keep(block: nn.Module, arguments: tuple, settings: dict) -> None:
        hidden, *rest = arguments
        calls.append(BlockCall(block, hidden, tuple(rest), settings))

    def keep_rest(block: nn.Module, _: tuple, output: Tensor | tuple) -> None:
        BESIDE[block] = output[1:] if isinstance(output, tuple) else None

    with ExitStack() as stack:
        for block in encoder_layers(encoder):
            stack.enter_context(block.register_forward_pre_hook(keep, with_kwargs=True))
            stack.enter_context(block.register_forward_hook(keep_rest))
        yield calls


@contextmanager
def watched(modules: Iterable[nn.Module], see: Callable[[nn.Module, tuple, Any], Any]) -> Iterator[list]:
    """A list that fills with `see(module, inputs, output)` at every run of these modules inside, in their order."""
    seen: list = []
    with ExitStack() as stack:
        for module in modules:
            stack.enter_context(module.register_forward_hook(lambda *run: seen.append(see(*run))))
        yield seen


@contextmanager
def put_back(parameters: Iterable[nn.Parameter]) -> Iterator[None]:
    """Whatever the block does to these weights, they are afterwards as they were."""
    saved = [(parameter, parameter.detach().clone()) for parameter in parameters]
    try:
        yield
    finally:
        for parameter, before in saved:
            parameter.data.copy_(before)


@contextmanager
def starting_at(
    encoder: nn.Module, layer: int, runs: Sequence[Sequence[Tensor]], recorded: nn.Module | None = None
) -> Iterator[None]:
    """Inside, the blocks below `layer` (from 0) do not run: in the n-th run block k gives back `runs[n][k + 1]`.

    A run is what the blocks were given before, (batch, pieces, width) each, in `recorded_calls` on the same inputs; it
    may be a run of another encoder of the same kind, which is then named as `recorded`.
    """
    seen = encoder_layers(recorded or encoder)
    with ExitStack() as stack:
        for place, block in enumerate(encoder_layers(encoder)[:layer]):
            rest = BESIDE.get(seen[place])
            given = iter([run[place + 1] if rest is None else (run[place + 1], *rest) for run in runs])
            block.forward = lambda *_, given=given, **__: next(given)
            stack.callback(delattr, block, "forward")
        yield


def inputs_of_runs(calls: Sequence[BlockCall], layers: int) -> list[list[Tensor]]:
    """What the blocks were given in each of several runs, one after the other, as `starting_at` takes it."""
    return [[call.hidden for call in calls[first : first + layers]] for first in range(0, len(calls), layers)]
