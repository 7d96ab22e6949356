"""What a network is, found out by running it: its layers and heads, its longest input, what it does with padding.

Nothing here knows an architecture by its name: a few short inputs tell. Depends on torch and `errors`.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedModel

from bertology_utils import rows
from bertology_utils.errors import BertologyError, first_line

LENGTHS = (7, 12)  # pieces of the trial inputs: of two lengths, no window of attention fits both
PADDING = 5  # pieces
NOISE = 2e-5  # of the largest state: what sums in another order may differ by in float32
UNEVEN = 1e-3  # what the sum of a map's row may differ from one by

Inputs = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Anatomy:
    """What a trial found.

    Attributes:
        heads: of a layer; 0 without attention.
        has_maps: whether eager attention gives a map of pieces by pieces whose rows sum to one.
        longest: pieces of the longest input, special ones included; None where neither a table of positions nor the
            configuration ends it.
        padding: by how much states of an input change when it is padded, as a share of the largest state.
        head_reads_rows: whether the head gives the same for a few states as for the whole input.
        read_at: modules that need to run on one row of an input, where one piece's last state is asked.
    """

    layers: int
    width: int
    heads: int
    has_maps: bool
    longest: int | None
    padding: float
    head_reads_rows: bool
    read_at: rows.Names

    @property
    def mixes_padding(self) -> bool:
        """Whether results would depend on what an input is batched with."""
        return not self.padding <= NOISE


_EXAMINED: dict[str, Anatomy] = {}


def examine(model: PreTrainedModel, name: str, untrained: bool = False) -> Anatomy:
    """What a model's class and configuration make of it: the first of its kind is run on a few short inputs.

    Args:
        untrained: some architectures begin with attention that moves nothing; it is no fault then.

    Raises BertologyError: it fails on an input of pieces alone, reads from left to right, has no state of each piece at
    every layer, or gives numbers that are none.
    """
    kind = f"{type(model).__name__} {untrained} {model.config.to_json_string()}"
    if kind not in _EXAMINED:
        _EXAMINED[kind] = _examined_now(model, name, untrained)
    return _EXAMINED[kind]


def require_numbers(model: PreTrainedModel, name: str) -> None:
    """Raises BertologyError for damaged weights, of which what `examine` knows of a kind says nothing."""
    if not all(bool(weights.detach().isfinite().all()) for weights in model.parameters()):
        raise BertologyError(f"'{name}' ({model.config.model_type}) has weights that are not finite: they are damaged.")


@torch.inference_mode(False)
@torch.no_grad()
def _examined_now(model: PreTrainedModel, name: str, untrained: bool) -> Anatomy:
    training = model.training
    model.eval()
    try:
        return _examined(model, name, untrained)
    except BertologyError:
        raise
    except Exception as error:  # whatever somebody's network raises
        kind = model.config.model_type
        raise BertologyError(f"'{name}' ({kind}) cannot be run on a sentence: {first_line(error)}") from None
    finally:
        model.train(training)


def _examined(model: PreTrainedModel, name: str, untrained: bool) -> Anatomy:
    config = model.config.get_text_config()
    short, long = (_trial(model, length) for length in LENGTHS)
    with _tables_read(model.base_model) as read:
        states = _states(model, long)
    _require_states(states, long, name, config.model_type)
    _require_both_sides(model, long, states[-1], name, untrained)
    maps = [_maps(model, inputs) for inputs in (short, long)]
    given = maps[0] is not None and maps[1] is not None and len(maps[0]) == len(states) - 1
    return Anatomy(
        layers=len(states) - 1,
        width=states[0].shape[-1],
        heads=maps[0][0].shape[1] if given else getattr(config, "num_attention_heads", 0),
        has_maps=given,
        longest=_longest(read, getattr(config, "max_position_embeddings", None)),
        padding=_change_by_padding(model, long, states),
        head_reads_rows=_head_reads_rows(model, long),
        read_at=_read_at(model, long),
    )


def _trial(model: PreTrainedModel, length: int) -> Inputs:
    """An input of ordinary pieces, never two that follow each other in the table."""
    rows = len(model.base_model.get_input_embeddings().weight)
    config = model.config.get_text_config()
    special = {value for key, value in config.to_dict().items() if key.endswith("_token_id")}
    ordinary = [piece for piece in range(rows - 1, -1, -2) if piece not in special]
    ids = [ordinary[i * len(ordinary) // length] for i in range(length)]
    return {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, length, dtype=torch.long)}


def _states(model: PreTrainedModel, inputs: Inputs) -> tuple[torch.Tensor, ...]:
    return model.base_model(**inputs, output_hidden_states=True, return_dict=True).hidden_states or ()


def _require_states(states: tuple[torch.Tensor, ...], inputs: Inputs, name: str, kind: str) -> None:
    shapes = [tuple(state.shape) for state in states]
    if len(set(shapes)) != 1 or shapes[0][:2] != inputs["input_ids"].shape:
        raise BertologyError(f"'{name}' ({kind}) keeps no state of each piece at every layer, which all is read from.")
    if not all(state.isfinite().all() for state in states):
        raise BertologyError(f"'{name}' ({kind}) gives states that are not finite: its weights are damaged.")


def _require_both_sides(
    model: PreTrainedModel, inputs: Inputs, before: torch.Tensor, name: str, untrained: bool
) -> None:
    """Raises `BertologyError` where no piece sees a later one, as in GPT-2, or none sees any other, as in a network
    whose attention is missing on this device."""
    seen = {place: _sees_change(model, inputs, before, place) for place in (0, -1)}
    what = ", ".join([model.config.model_type, *(model.config.architectures or [])])
    if seen[0] and not seen[-1]:
        raise BertologyError(f"'{name}' ({what}) reads from left to right (a causal mask); this needs both sides.")
    if not untrained and not (seen[0] or seen[-1]) and before.std() > 0:
        raise BertologyError(f"In '{name}' ({what}) no piece sees another, at least not on this processor.")


def _sees_change(model: PreTrainedModel, inputs: Inputs, before: torch.Tensor, place: int) -> bool:
    """Whether another piece at one end changes the state of a piece elsewhere."""
    ids = inputs["input_ids"].clone()
    ids[0, place] = ids[0, 3]
    after = _states(model, inputs | {"input_ids": ids})[-1]
    others = slice(1, None) if place == 0 else slice(None, -1)
    return not torch.equal(before[:, others], after[:, others])


def _change_by_padding(model: PreTrainedModel, inputs: Inputs, states: tuple[torch.Tensor, ...]) -> float:
    """The largest change of a state, as a share of the largest state."""
    length = inputs["input_ids"].shape[1]
    padding = getattr(model.config.get_text_config(), "pad_token_id", None) or 0
    ids = torch.nn.functional.pad(inputs["input_ids"], (0, PADDING), value=padding)
    padded = _states(
        model, {"input_ids": ids, "attention_mask": (torch.arange(length + PADDING) < length)[None].long()}
    )
    pairs = zip(states, padded, strict=True)
    changes = [(a - b[:, :length]).abs().max() / a.abs().max().clamp(min=1e-30) for a, b in pairs]
    return torch.stack(changes).max().item()  # of which one that is no number is the largest


def _maps(model: PreTrainedModel, inputs: Inputs) -> tuple[torch.Tensor, ...] | None:
    """Maps (1, heads, pieces, pieces) of every layer; None where the network gives nothing that is one."""
    length = inputs["input_ids"].shape[1]
    with eager(model):
        try:
            output = model.base_model(**inputs, output_attentions=True, return_dict=True)
        except (TypeError, ValueError, NotImplementedError):  # it takes no such argument
            return None
    maps = getattr(output, "attentions", None)
    return maps if maps and are_maps(maps, length) else None


def are_maps(maps: tuple[torch.Tensor | None, ...], length: int) -> bool:
    """Whether each is of shape (batch, heads, length, length), with as many heads as the others, and rows of one."""
    if any(one is None or one.ndim != 4 or one.shape[2:] != (length, length) for one in maps):
        return False
    sums = [one.float().sum(-1) for one in maps]
    return len({one.shape for one in maps}) == 1 and all(((s - 1).abs() <= UNEVEN).all() for s in sums)


@contextmanager
def eager(model: PreTrainedModel) -> Iterator[None]:
    """Inside, the model computes its attention maps, which other kernels do not keep."""
    before = model.config._attn_implementation
    if before != "eager":
        model.set_attn_implementation("eager")
    try:
        yield
    finally:
        if before != "eager":
            model.set_attn_implementation(before)


@contextmanager
def _tables_read(network: torch.nn.Module) -> Iterator[list[tuple[int, torch.Tensor]]]:
    """Inside, a list that fills with each look-up in a table: its number of rows, and the rows that were read."""
    read: list[tuple[int, torch.Tensor]] = []

    def keep(module: torch.nn.Module, arguments: tuple, named: Mapping[str, Any]) -> None:
        given = next(iter([*arguments, *named.values()]), None)
        if isinstance(given, torch.Tensor) and not given.is_floating_point():
            read.append((len(module.weight), given.flatten()))

    with ExitStack() as stack:
        for module in network.modules():
            weight = getattr(module, "weight", None)
            if isinstance(weight, torch.Tensor) and weight.ndim == 2:
                stack.enter_context(module.register_forward_pre_hook(keep, with_kwargs=True))
        yield read


def _longest(read: list[tuple[int, torch.Tensor]], said: int | None) -> int | None:
    """A table of positions was read at one row after the other, then perhaps at one for padding that the network adds
    itself; what lies before the first row is not for positions."""
    places = torch.arange(LENGTHS[1])
    ends = [
        rows - int(ids[0])
        for rows, ids in read
        if torch.equal(ids[: len(places)] - ids[0], places) and len(ids[len(places) :].unique()) <= 1
    ]
    return min(ends, default=said)


def _head_reads_rows(model: PreTrainedModel, inputs: Inputs) -> bool:
    """Whether the head can be handed two states in place of all of them."""
    if model.base_model is model:
        return False
    rows = torch.tensor([[1, inputs["input_ids"].shape[1] - 2]])
    whole = logits_of(model(**inputs, return_dict=True))[0, rows[0]]
    try:
        with head_sees(model.base_model, lambda hidden: hidden[0, rows]):
            few = logits_of(model(**inputs, return_dict=True))[0]
    except (RuntimeError, ValueError, IndexError, AttributeError):  # it needs the others too
        return False
    return few.shape == whole.shape and torch.allclose(few, whole, rtol=0, atol=NOISE * whole.abs().max().item())


def _read_at(model: PreTrainedModel, inputs: Inputs) -> rows.Names:
    """What `rows.modules_read_at` finds, where a trial on masked and padded copies confirms it; else nothing."""
    encoder, config = model.base_model, model.config.get_text_config()
    ids = inputs["input_ids"].repeat(6, 1)
    ids[1:4, 3] = ids[2, 5] = getattr(config, "mask_token_id", None) or ids[0, 4]
    ids[3, -PADDING:] = getattr(config, "pad_token_id", None) or 0
    mask = torch.ones_like(ids)
    mask[3, -PADDING:] = 0
    copies, positions = {"input_ids": ids, "attention_mask": mask}, torch.tensor([3, 3, 5, 3, 1, 6])
    try:
        names = rows.modules_read_at(encoder, inputs)
        return names if rows.confirmed(encoder, names, copies, positions, NOISE) else ()
    except Exception:  # whatever somebody's network cannot do: then it runs as it is
        return ()


def logits_of(output: Any) -> torch.Tensor:
    """Logits over the vocabulary; models with a next-sentence head too name them apart."""
    return output.prediction_logits if "prediction_logits" in output else output.logits


@contextmanager
def head_sees(encoder: torch.nn.Module, choose: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """Inside, the head gets `choose(hidden)` in place of the last hidden states `(batch, pieces, width)`."""

    def chosen_rows(module, arguments, output):
        output.last_hidden_state = choose(output.last_hidden_state)
        return output

    with encoder.register_forward_hook(chosen_rows):
        yield


def segment_types(encoder: PreTrainedModel) -> int:
    """How many kinds of segments the network tells apart by `token_type_ids`; 0 where it takes none."""
    if "token_type_ids" not in inspect.signature(encoder.forward).parameters:
        return 0
    return getattr(encoder.config.get_text_config(), "type_vocab_size", None) or 0
