"""Several small masked language models of one size trained at once, each on its own batches.

The weights of all models are stacked, so that one matrix product serves all of them; what comes out is what each would
have become alone, but for rounding. Depends on torch, `mlm_training` (the feeds) and the layout of `BertForMaskedLM`
without dropout. For models so small that the calls cost more than the arithmetic.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.func import stack_module_state
from torch.nn import functional as F

from bertology_utils.errors import BertologyError
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.tuning.descent import CLIP, descend

Batch = Mapping[str, Tensor]


@dataclasses.dataclass(frozen=True)
class Packed:
    """The batches of all models, their real pieces in one row a model.

    ids, positions, types: (models, pieces), padded at the end. rows: (sentences of all models, longest) indices into
    the flat pieces, real: which of these exist; back: (models * pieces,) indices into the flat rows. targets: (models,
    masked) indices into a model's pieces, labels alike; weights: the share of each in its model's loss, 0 for padding.
    firsts: (models, sentences) indices of [CLS], 0 for padding.
    """

    ids: Tensor
    positions: Tensor
    types: Tensor
    rows: Tensor
    real: Tensor
    back: Tensor
    targets: Tensor
    labels: Tensor
    weights: Tensor
    firsts: Tensor


def pack(batches: Sequence[Batch]) -> Packed:
    """Batches (sentences, longest) of several models, each padded in its own way, as one `Packed`.

    Pieces lie at the `position_ids` of the batches, which are counted where they have none.
    """
    pad = nn.utils.rnn.pad_sequence
    masks = [batch["attention_mask"].bool() for batch in batches]
    places = [mask.nonzero() for mask in masks]  # (pieces, 2): sentence, position

    def flat(key: str, fill: int = 0) -> Tensor:
        return pad([batch[key][mask] for batch, mask in zip(batches, masks, strict=True)], True, fill)

    labels = flat("labels", IGNORED)
    counted = pad([place[:, 1] for place in places], True)
    positions = flat("position_ids") if "position_ids" in batches[0] else counted
    length, longest = positions.shape[1], max(mask.shape[1] for mask in masks)
    rows, back = _rows(masks, places, length, longest)
    targets, chosen, weights = _targets(labels, pad([place[:, 0] for place in places], True), masks)
    firsts = pad([(place[:, 1] == 0).nonzero().flatten() for place in places], True)
    return Packed(
        flat("input_ids"),
        positions,
        flat("token_type_ids"),
        rows.clamp_min(0),
        rows >= 0,
        back,
        targets,
        chosen,
        weights,
        firsts,
    )


def _rows(masks, places, length: int, longest: int) -> tuple[Tensor, Tensor]:
    """Where each sentence's pieces lie among the flat pieces of all models (-1: nowhere), and the way back."""
    count = sum(len(mask) for mask in masks)
    rows = torch.full((count, longest), -1)
    back = torch.zeros(len(masks), length, dtype=torch.long)
    first = 0
    for model, (mask, place) in enumerate(zip(masks, places, strict=True)):
        sentence, position = place[:, 0] + first, place[:, 1]
        rows[sentence, position] = torch.arange(len(place)) + model * length
        back[model, : len(place)] = sentence * longest + position
        first += len(mask)
    return rows, back.flatten()


def _targets(labels: Tensor, sentence: Tensor, masks) -> tuple[Tensor, Tensor, Tensor]:
    """Masked places (models, masked), their labels and weights: the mean over sentences of each one's mean."""
    chosen = labels != IGNORED
    targets = nn.utils.rnn.pad_sequence([row.nonzero().flatten() for row in chosen], True)
    exists = torch.arange(targets.shape[1]) < chosen.sum(1, keepdim=True)
    owner = sentence.gather(1, targets)
    counts = torch.zeros(len(labels), max(map(len, masks))).scatter_add_(1, owner, exists.float())
    sizes = torch.tensor([len(mask) for mask in masks]).unsqueeze(1)
    weights = exists / (counts.gather(1, owner).clamp_min(1) * sizes)
    return targets, labels.gather(1, targets).clamp_min(0), weights


class Stack:
    """The stacked weights of several `BertForMaskedLM`, and their forward pass, through `regimens.adapt` where it is.

    Raises BertologyError: models that differ in size, or that have dropout.
    """

    def __init__(self, models: Sequence[nn.Module]) -> None:
        config = models[0].config
        if config.hidden_dropout_prob or config.attention_probs_dropout_prob:
            raise BertologyError("Models with dropout cannot be trained together: each would need its own draws.")
        if len({tuple(p.shape for p in model.parameters()) for model in models}) > 1:
            raise BertologyError("Models that are trained together must be of one size.")
        self.models, self.config = models, config
        stacked, _ = stack_module_state(list(models))
        self.weights = {name: w.detach().clone().requires_grad_(True) for name, w in stacked.items()}

    def _norm(self, x: Tensor, name: str) -> Tensor:
        weight, bias = (self.weights[f"{name}.{kind}"].unsqueeze(1) for kind in ("weight", "bias"))
        return F.layer_norm(x, x.shape[-1:], eps=self.config.layer_norm_eps) * weight + bias

    def _linear(self, x: Tensor, name: str) -> Tensor:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        mapped = torch.baddbmm(bias.unsqueeze(1), x, weight.transpose(1, 2))
        if f"{name}.adapter.up.weight" not in self.weights:
            return mapped
        return mapped + self._linear(F.gelu(self._linear(mapped, f"{name}.adapter.down")), f"{name}.adapter.up")

    def _embedded(self, ids: Tensor, kind: str) -> Tensor:
        table = self.weights[f"bert.embeddings.{kind}_embeddings.weight"]  # (models, entries, width)
        offsets = torch.arange(len(table)).unsqueeze(1) * table.shape[1]
        return F.embedding(ids + offsets, table.flatten(0, 1))

    def hidden(self, batch: Packed) -> Tensor:
        """Last hidden states of all pieces: (models, pieces, width)."""
        x = self.embedded(batch)
        for layer in range(self.config.num_hidden_layers):
            x = self.block(x, layer, batch)
        return x

    def embedded(self, batch: Packed) -> Tensor:
        """What the first block reads: (models, pieces, width)."""
        x = self._embedded(batch.ids, "word") + self._embedded(batch.types, "token_type")
        return self._norm(x + self._embedded(batch.positions, "position"), "bert.embeddings.LayerNorm")

    def block(self, x: Tensor, layer: int, batch: Packed) -> Tensor:
        """What one block, counted from 0, makes of its input: (models, pieces, width) both."""
        name = f"bert.encoder.layer.{layer}"
        mixed = self._linear(self._attention(x, f"{name}.attention.self", batch), f"{name}.attention.output.dense")
        x = self._norm(x + mixed, f"{name}.attention.output.LayerNorm")
        inner = F.gelu(self._linear(x, f"{name}.intermediate.dense"))
        return self._norm(x + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attention(self, x: Tensor, name: str, batch: Packed) -> Tensor:
        heads, shape = self.config.num_attention_heads, batch.rows.shape

        def in_rows(kind: str) -> Tensor:  # (sentences of all models, heads, longest, width of a head)
            flat = self._linear(x, f"{name}.{kind}").flatten(0, 1)[batch.rows.flatten()]
            return flat.view(*shape, heads, -1).transpose(1, 2)

        mixed = self.mixed(*map(in_rows, ("query", "key", "value")), batch.real[:, None, None, :])
        return mixed.transpose(1, 2).flatten(2).flatten(0, 1)[batch.back].view_as(x)

    def mixed(self, query: Tensor, key: Tensor, value: Tensor, real: Tensor) -> Tensor:
        """The values as each piece attends to them, (sentences, heads, pieces, width of a head) all."""
        return F.scaled_dot_product_attention(query, key, value, attn_mask=real)

    def masked_logits(self, hidden: Tensor, batch: Packed) -> Tensor:
        """What each model expects at its masked places: (models, masked, vocabulary)."""
        chosen = hidden.gather(1, batch.targets.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))
        head = "cls.predictions"
        chosen = self._norm(F.gelu(self._linear(chosen, f"{head}.transform.dense")), f"{head}.transform.LayerNorm")
        decoder = self.weights["bert.embeddings.word_embeddings.weight"].transpose(1, 2)
        return torch.baddbmm(self.weights[f"{head}.bias"].unsqueeze(1), chosen, decoder)

    def masked_losses(self, hidden: Tensor, batch: Packed) -> Tensor:
        """Each model's masked loss, as `mlm_training.masked_loss` averaged over its batch: (models,)."""
        logits = self.masked_logits(hidden, batch)
        losses = F.cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), reduction="none")
        return (losses.view_as(batch.weights) * batch.weights).sum(1)

    @torch.no_grad()
    def unstack(self) -> None:
        """Gives each model its weights."""
        for i, model in enumerate(self.models):
            for name, parameter in model.named_parameters():
                parameter.copy_(self.weights[name][i])
            model.eval()


def clip_each(parameters: Sequence[Tensor]) -> None:
    """Scales stacked gradients, (models, ...) each, so that no model's own norm is above `CLIP`."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norms = torch.stack([gradient.flatten(1).norm(dim=1) for gradient in gradients]).norm(dim=0)  # (models,)
    shares = (CLIP / (norms + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(shares.view(-1, *[1] * (gradient.dim() - 1)))


def train_together(
    specimens: Sequence[Specimen],
    feeds: Sequence[Iterator[Batch]],
    steps: int,
    learning_rate: float,
    only: str = "",
) -> list[Specimen]:
    """The specimens, trained in place for `steps` steps, each on its own endless feed of masked batches.

    Weights in whose names the regular expression `only` is not found stay as they are.
    """
    stack = Stack([specimen.model for specimen in specimens])
    for name, weight in stack.weights.items():
        weight.requires_grad_(re.search(only, name) is not None)
    trained = [weight for weight in stack.weights.values() if weight.requires_grad]

    def losses() -> Tensor:
        batch = pack([next(feed) for feed in feeds])
        return stack.masked_losses(stack.hidden(batch), batch)

    descend([{"params": trained, "lr": learning_rate}], losses, steps, clip_each)
    stack.unstack()
    return list(specimens)
