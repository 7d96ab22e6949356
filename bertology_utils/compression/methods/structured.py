"""Attention heads and feed-forward rows that are cut out for good: the matrices get smaller and the network faster.

Depends on `lesson`, `traces` and the layout of BERT's blocks. A gate multiplies what a head or a row puts out; that is
the same as a factor on the columns of the next matrix, W_O or W_2, and so it is done here. A layer keeps one head and
one row at least, since transformers cannot split zero columns into heads.
"""

import copy
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.func import functional_call

from bertology_utils.compression.methods.lesson import Batch, Lesson, Method, Network, Small, asked, dense, hard_loss
from bertology_utils.compression.methods.traces import answers_loss
from bertology_utils.errors import BertologyError, NotAskable
from bertology_utils.instruments.blocks import encoder_layers
from bertology_utils.instruments.heads import head_grid

NEEDED = ("attention.self.query", "attention.output.dense", "intermediate.dense", "output.dense")
HALF = 0.5
# ff2 leaves 1 / 2.2 of BERT-large, embeddings whole: two fifths of its blocks.
KEPT = 0.4
STRETCH, LOW, HIGH = 2 / 3, -0.1, 1.1  # of the hard-concrete distribution, as its authors have them
OPEN = 2.0  # the log-odds at which gates start: nearly all of what passes
GATE_RATE, PENALTY = 0.3, 10.0
TEMPERATURE = 2.0
ASKED_BATCHES = 8  # for the importance of heads and rows


# ---------------------------------------------------------------- gates on columns, and the cut


def grids(network: Network) -> tuple[tuple[int, int], tuple[int, int]]:
    """(layers, heads) and (layers, feed-forward rows). Raises NotAskable for blocks that are not laid out as BERT's."""
    for block in encoder_layers(network.encoder):
        for path in NEEDED:
            try:
                block.get_submodule(path)
            except AttributeError:
                raise NotAskable(f"Blocks of {type(network.encoder).__name__} have no {path} to cut.") from None
    layers, heads = head_grid(network.encoder)
    return (layers, heads), (layers, network.encoder.config.intermediate_size)


def gated_weights(network: Network, heads: Tensor, rows: Tensor) -> dict[str, Tensor]:
    """Each W_O and W_2, its columns times their gates: parameter name -> (width, columns).

    heads: (layers, heads); rows: (layers, feed-forward rows).
    """
    made = {}
    for layer, block in enumerate(encoder_layers(network.encoder)):
        projection, inner = block.attention.output.dense.weight, block.output.dense.weight
        made[projection] = projection * heads[layer].repeat_interleave(projection.shape[1] // heads.shape[1])
        made[inner] = inner * rows[layer]
    return {name: made[weight] for name, weight in network.named_parameters() if weight in made}


def gated_answers(network: Network, heads: Tensor, rows: Tensor, batch: Batch) -> Tensor:
    """Logits (answers, classes) with gates on heads and rows."""
    return functional_call(network, gated_weights(network, heads, rows), (), asked(batch))


@torch.no_grad()
def cut(network: Network, heads: Tensor, rows: Tensor) -> None:
    """Takes away, in place, every head and row whose gate is 0, and folds the other gates into W_O and W_2."""
    for block, of_heads, of_rows in zip(encoder_layers(network.encoder), heads, rows, strict=True):
        attention = block.attention.self
        columns = of_heads.repeat_interleave(attention.attention_head_size)
        for linear in (attention.query, attention.key, attention.value):
            _keep_outputs(linear, columns > 0)
        _keep_inputs(block.attention.output.dense, columns)
        _keep_outputs(block.intermediate.dense, of_rows > 0)
        _keep_inputs(block.output.dense, of_rows)
        attention.all_head_size = attention.query.out_features
        attention.num_attention_heads = attention.all_head_size // attention.attention_head_size


def _keep_outputs(linear: nn.Linear, kept: Tensor) -> None:
    linear.weight, linear.bias = nn.Parameter(linear.weight[kept]), nn.Parameter(linear.bias[kept])
    linear.out_features = len(linear.weight)


def _keep_inputs(linear: nn.Linear, gates: Tensor) -> None:
    linear.weight = nn.Parameter((linear.weight * gates)[:, gates > 0])
    linear.in_features = linear.weight.shape[1]


def shapes(network: Network) -> tuple[list[int], list[int]]:
    """How many heads and how many rows each layer's matrices have room for."""
    blocks = encoder_layers(network.encoder)
    heads = [block.attention.output.dense.in_features // block.attention.self.attention_head_size for block in blocks]
    return heads, [block.output.dense.in_features for block in blocks]


@torch.no_grad()
def cut_difference(smaller: Network, whole: Network, heads: Tensor, rows: Tensor, batch: Batch) -> float:
    """Largest difference of two logits: the cut network's, and those of the whole one under gates.

    Infinite where the cut one's matrices have other sizes than the open gates. Summed in double precision, so that
    another order of the same sums does not count as a difference.
    """
    if shapes(smaller) != tuple((gates > 0).sum(1).tolist() for gates in (heads, rows)):
        return torch.inf
    factored = {name: weight.double() for name, weight in gated_weights(whole, heads, rows).items()}
    smaller, whole = (copy.deepcopy(network).double().eval() for network in (smaller, whole))
    expected = functional_call(whole, factored, (), asked(batch))
    return float((smaller(**asked(batch)) - expected).abs().max())


def most(scores: Tensor, share: float) -> Tensor:
    """The `share` of highest scores among all layers, and each layer's highest: booleans (layers, units)."""
    if not 0 < share <= 1:
        raise BertologyError(f"The share that is kept lies above 0 and up to 1, got {share}.")
    kept = scores == scores.amax(1, keepdim=True)
    order = scores.masked_fill(kept, torch.inf).flatten().argsort(descending=True)
    kept.view(-1)[order[: round(share * scores.numel())]] = True
    return kept


def _cut_out(lesson: Lesson, network: Network, heads: Tensor, rows: Tensor) -> tuple[Network, dict[str, float]]:
    """A copy without what the gates closed, and what was measured of it."""
    smaller = copy.deepcopy(network)
    cut(smaller, heads, rows)
    difference = cut_difference(smaller, network, heads, rows, next(lesson.feed()))
    of_heads, of_rows = map(sum, shapes(smaller))
    left = {"heads_kept": of_heads / heads.numel(), "rows_kept": of_rows / rows.numel()}
    return smaller, {"cut_difference": difference, **left}


# ---------------------------------------------------------------- gates that are learnt


class HardConcrete(nn.Module):
    """Gates in [0, 1] that are exactly 0 or 1 most of the time, and can be learnt: the L0 penalty's relaxation.

    Training draws them; evaluation gives each its middle value. `openness` are log-odds of the given shape; the lower
    the temperature, the more often a drawn gate is exactly 0 or 1.
    """

    def __init__(self, *shape: int, temperature: float = STRETCH) -> None:
        super().__init__()
        self.temperature = temperature
        self.openness = nn.Parameter(torch.full(shape, OPEN))

    def forward(self) -> Tensor:
        odds = self.openness
        if self.training:
            draw = torch.rand_like(odds).clamp(1e-6, 1 - 1e-6)
            odds = (odds + draw.logit()) / self.temperature
        return (odds.sigmoid() * (HIGH - LOW) + LOW).clamp(0, 1)

    def share_open(self) -> Tensor:
        """The expected share of gates that are not 0, a scalar."""
        return (self.openness - self.temperature * torch.tensor(-LOW / HIGH).log()).sigmoid().mean()

    @torch.no_grad()
    def settled(self, share: float) -> Tensor:
        """The values at evaluation of the `share` that is most open, 0 for the others; what is kept passes a little."""
        values = self.eval()().clamp_min(1e-3)
        return values * most(self.openness, share)


def gate_loss(heads: HardConcrete, rows: HardConcrete) -> Callable[[Network, Batch], Tensor]:
    """Cross-entropy under drawn gates, and a penalty on each kind's share of open ones above `KEPT`."""

    def loss(network: Network, batch: Batch) -> Tensor:
        logits = gated_answers(network, heads(), rows(), batch)
        excess = sum((gates.share_open() - KEPT).relu() for gates in (heads, rows))
        return nn.functional.cross_entropy(logits, batch["labels"]) + PENALTY * excess

    return loss


def _mccarley(lesson: Lesson) -> Small:
    """Gates that an L0 penalty closes, then the cut, then the teacher's answers (mccarley2020structured).

    Half of the steps for the gates, half for the cut network. Deviation: the penalty aims at a share, of which exactly
    so much is kept, where the study tries several penalties and takes what they leave.
    """
    network = lesson.copy_of_teacher()
    heads, rows = (HardConcrete(*grid) for grid in grids(network))
    first = lesson.steps // 2
    lesson.train(network, gate_loss(heads, rows), steps=first, also=(heads, rows), also_rate=GATE_RATE)
    smaller, facts = _cut_out(lesson, network, heads.settled(KEPT), rows.settled(KEPT))
    taught = partial(answers_loss, teacher=lesson.teacher, temperature=TEMPERATURE)
    lesson.train(smaller, taught, steps=lesson.steps - first)
    return dense(smaller, **facts)


# ---------------------------------------------------------------- gates that are measured


def importance(lesson: Lesson, network: Network) -> tuple[Tensor, Tensor]:
    """Mean size of the loss's slope at each open gate (michel2019sixteen): (layers, heads), (layers, rows).

    Deviation: of batches, not of single examples.
    """
    gates = [torch.ones(grid, requires_grad=True) for grid in grids(network)]
    sums, feed = [torch.zeros_like(gate) for gate in gates], lesson.feed()
    for _ in range(ASKED_BATCHES):
        batch = next(feed)
        loss = nn.functional.cross_entropy(gated_answers(network, *gates, batch), batch["labels"])
        for total, slope in zip(sums, torch.autograd.grad(loss, gates), strict=True):
            total += slope.abs()
    heads, rows = (total / ASKED_BATCHES for total in sums)
    return heads, rows


def _half(lesson: Lesson) -> Small:
    """Half of all heads and rows, those of least importance, cut out at once; then one more tuning."""
    network = lesson.copy_of_teacher()
    heads, rows = (most(scores, HALF).float() for scores in importance(lesson, network))
    smaller, facts = _cut_out(lesson, network, heads, rows)
    lesson.train(smaller, hard_loss)
    return dense(smaller, **facts)


_CUT = ("cut_difference", 0.0)
METHODS = (
    Method("McCarley et al., ff2", "pruning", _mccarley, defines=_CUT),
    Method("half of the heads and rows (structured)", "baseline", _half, counted="encoder", defines=_CUT),
)
