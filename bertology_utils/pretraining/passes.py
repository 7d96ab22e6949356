"""One pass of a network over a batch, as objectives see it. Depends on torch.

The network has `states`, a `prediction_head` and a `pool`; see `network`.
"""

from functools import cached_property

from torch import Tensor, nn

Batch = dict[str, Tensor]


class Pass:
    """One pass over a batch; what several objectives read is computed once, when first asked for."""

    def __init__(self, network: nn.Module, batch: Batch):
        self.network, self.batch = network, batch

    @cached_property
    def hidden(self) -> Tensor:
        """Last hidden states of the model that fills in blanks, `(batch, pieces, width)`."""
        return self.network.states(self.batch)

    @cached_property
    def scores(self) -> Tensor:
        """Scores of the vocabulary at the masked pieces alone, `(masked, vocabulary)`."""
        return self.network.prediction_head(self.at("masked"))

    @cached_property
    def pooled(self) -> Tensor:
        return self.network.pool(self.hidden)

    def at(self, places: str) -> Tensor:
        """Hidden states at the places that the batch names so, `(places, width)`."""
        return self.hidden.flatten(0, 1)[self.batch[places]]


def without_ids(batch: Batch) -> Batch:
    """What a body reads beside the pieces."""
    return {key: batch[key] for key in ("attention_mask", "token_type_ids", "position_ids")}
