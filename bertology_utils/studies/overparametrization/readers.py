"""What a sub-network is held against: answers alone, a bag of words, and recurrent readers of the same examples.

Depends on `compression.methods.recurrent` and `training`. As in the talk's table of prasanna2020bert, one recurrent
network reads vectors of single words and one those that a frozen encoder makes of the sentence; in place of GloVe and
ELMo stand the specimen's own table of pieces and its own layers.
"""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from bertology_utils.compression.methods.recurrent import RATE, UNITS, BiLSTM, Recurrent
from bertology_utils.models import Specimen
from bertology_utils.tuning.descent import descend, trainable
from bertology_utils.tuning.training import (
    Classifier,
    Examples,
    batches,
    classification_loss,
    predict,
    task_score,
)

PASSES = 12
BUDGET = 256  # pieces of a batch


class Bag(nn.Module):
    """An encoder whose state of a piece is its row of a frozen table."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = nn.Embedding.from_pretrained(table.detach().clone())
        self.config = SimpleNamespace(hidden_size=table.shape[1])

    def forward(self, input_ids: Tensor, **others: Tensor) -> BaseModelOutput:
        return BaseModelOutput(self.table(input_ids))


class Contextual(Recurrent):
    """A recurrent body that reads a learnt mix of a frozen encoder's layers, as ELMo's states are read."""

    def __init__(self, encoder: nn.Module, units: int) -> None:
        super().__init__(encoder.get_input_embeddings().weight, units)
        self._frozen = (encoder,)  # not a part of this network: nothing trains or counts it
        self.mix = nn.Parameter(torch.zeros(encoder.config.num_hidden_layers + 1))

    def read(self, input_ids: Tensor, lengths: Tensor) -> Tensor:
        real = torch.arange(input_ids.shape[1]) < lengths[:, None]
        with torch.no_grad():
            states = self._frozen[0](input_ids, attention_mask=real.long(), output_hidden_states=True).hidden_states
        return torch.einsum("l,lbpw->bpw", self.mix.softmax(0), torch.stack(states))


class Reader(BiLSTM):
    """A recurrent body under one linear layer, so that what that sees is what `predict` reads."""

    def __init__(self, body: Recurrent, classes: int, *how) -> None:
        super().__init__(body, classes, *how)
        self.head = nn.Linear(self.head[0].in_features, classes)


def scores(specimen: Specimen, train: Examples, test: Examples, seed: int) -> dict[str, float]:
    """The task's score of each reader, trained on the same examples: `majority`, `bag`, `recurrent`, `contextual`."""
    units, encoder = max(1, round(UNITS * specimen.width)), specimen.encoder
    table, outputs = encoder.get_input_embeddings().weight, max(train.outputs, test.outputs)
    how = ("pair" if train.pairs else "mean", specimen.tokenizer.sep_token_id)
    networks: dict[str, Callable[[], Classifier]] = {
        "bag": lambda: Classifier(Bag(table), outputs, *how),
        "recurrent": lambda: Reader(_static(table, units), outputs, units, *how),
        "contextual": lambda: Reader(Contextual(encoder, units), outputs, units, *how),
    }
    found = {name: predict(_fitted(make, specimen, train, seed), specimen, test) for name, make in networks.items()}
    return {"majority": _majority(train, test)} | {name: task_score(given, test) for name, given in found.items()}


def _static(table: Tensor, units: int) -> Recurrent:
    body = Recurrent(table, units)
    body.vectors.requires_grad_(False)
    return body


def _majority(train: Examples, test: Examples) -> float:
    """Of the most frequent class; one grade for all has no correlation with anything, and scores 0."""
    if train.graded:
        return 0.0
    return float((np.asarray(test.labels) == np.bincount(train.labels).argmax()).mean())


def _fitted(make: Callable[[], Classifier], specimen: Specimen, train: Examples, seed: int) -> Classifier:
    rng = np.random.default_rng(seed)
    feed = [batch for _ in range(PASSES) for _, batch in batches(specimen, train, BUDGET, rng)]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = make().train()
        left = iter(feed)
        groups = [{"params": trainable(network), "lr": RATE}]
        descend(groups, lambda: classification_loss(network, next(left)).mean(), len(feed))
    return network.eval()
