"""What a smaller model keeps: masked-word loss, agreement choices, latency; and two recipes used as comparisons.

Depends on `mlm_training` and `cloze` for the scores and on `accounting` for the printed factors. Retention is the ratio
of a small model's score to the full model's on the same items, the definition under the survey's Table 1.
"""

import copy
import dataclasses
import re
import time
from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from torch import nn

from bertology_utils.compression.accounting import recomputed_table
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.cloze import focus_preference, preferred
from bertology_utils.language.pairs import MinimalPair
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit
from bertology_utils.tuning.mlm_training import mlm_losses


@dataclasses.dataclass(frozen=True)
class Kept:
    """Scores of one model: masked-word losses (sentences,) in nats, and agreement choices (pairs,), right or wrong.

    `verbs` names the verb of each pair by its two forms: pairs share their verbs.
    """

    losses: np.ndarray
    agreement: np.ndarray
    verbs: tuple[str, ...] = ()

    @property
    def by_verb(self) -> np.ndarray:
        """The agreement choices as a sample of verbs, as `samples.by_unit`."""
        return by_unit(self.agreement, self.verbs)

    @property
    def loss(self) -> float:
        return float(self.losses.mean())

    @property
    def accuracy(self) -> float:
        return float(self.agreement.mean())


def with_model(specimen: Specimen, model: nn.Module) -> Specimen:
    """The specimen's tokenizer and identity around a changed model."""
    return dataclasses.replace(specimen, model=model)


def kept(specimen: Specimen, sentences: Sequence[Sequence[str]], pairs: Sequence[MinimalPair]) -> Kept:
    """Scores on the same sentences, masks and pairs whatever the model; pairs with unknown words are left out."""
    scores = focus_preference(specimen, pairs)
    verbs = tuple(pair.forms for pair, known in zip(pairs, scores.covered, strict=True) if known)
    return Kept(mlm_losses(specimen, sentences), preferred(scores), verbs)


@torch.no_grad()
def latency(model: nn.Module, pieces: int = 32, repeats: int = 15) -> float:
    """Median milliseconds of one forward pass over one sequence on this machine, after two warm-up passes."""
    ids = torch.full((1, pieces), 5)
    taken = []
    for _ in range(repeats + 2):
        start = time.perf_counter()
        model(input_ids=ids, attention_mask=torch.ones_like(ids))
        taken.append(time.perf_counter() - start)
    return 1000 * float(np.median(taken[2:]))


def count(model: nn.Module) -> int:
    """All parameters of a model, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())


@torch.no_grad()
def prune_everywhere(model: nn.Module, factor: float) -> nn.Module:
    """A copy that is `factor` times smaller: the smallest weights of each matrix, embeddings included, are zero.

    Zeros are taken to cost nothing, as in the studies of pruning; the same share goes from every matrix.
    Raises BertologyError where the matrices do not hold enough weights.
    """
    changed = copy.deepcopy(model)
    matrices = [parameter for parameter in changed.parameters() if parameter.dim() == 2]
    share = count(changed) * (1 - 1 / factor) / sum(matrix.numel() for matrix in matrices)
    if not 0 <= share < 1:
        raise BertologyError(f"Pruning cannot make this model {factor} times smaller.")
    for matrix in matrices:
        sizes = matrix.abs().flatten()
        smallest = torch.from_numpy(np.argpartition(sizes.numpy(), k := round(share * len(sizes)))[:k])
        matrix.view(-1)[smallest] = 0
    return changed


def embedding_rank(model: nn.Module, share: float = 0.5) -> int:
    """The largest rank at which two factors of the token table hold at most `share` of its parameters."""
    rows, width = model.get_input_embeddings().weight.shape
    return int(share * rows * width / (rows + width))


@torch.no_grad()
def low_rank_embeddings(model: nn.Module, rank: int, how: str = "svd", seed: int = 0) -> nn.Module:
    """A copy whose token table has this rank: its best approximation ("svd") or one in random directions ("random").

    Written back at full size, so it runs anywhere; a tied decoder changes along, as sharing demands. Deviation from
    lan2019albert, who train the factors: here they are cut out of a trained table.
    """
    changed = copy.deepcopy(model)
    weight = changed.get_input_embeddings().weight
    if how == "svd":
        directions = torch.linalg.eigh(weight.T @ weight).eigenvectors[:, -rank:]  # (width, rank)
    elif how == "random":
        draws = torch.randn(weight.shape[1], rank, generator=torch.Generator().manual_seed(seed))
        directions = torch.linalg.qr(draws).Q
    else:
        raise BertologyError(f"Unknown way {how!r}: choose svd or random.")
    weight.copy_(weight @ directions @ directions.T)
    return changed


def printed_factor(text: str) -> float | None:
    """The number in a printed factor such as "1.7‡" or "6**"; None for an empty cell or a range."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)[*‡†§¶∥]*", text.strip())
    return float(found[1]) if found else None


def factor_agreement(tolerance: float = 0.05) -> pd.DataFrame:
    """Rows of Table 1 (journal) with a printed factor and an architecture known for certain, and whether they agree.

    `agrees`: the ratio of all parameters (bytes, for quantisation) is within `tolerance` of the printed factor;
    `agrees_encoder` the same for the encoder alone. The reference row is left out: it agrees by definition.
    """
    table = recomputed_table()
    table["printed"] = [printed_factor(text) for text in table["compression_v3"]]
    certain = table["printed"].notna() & table["factor_all"].notna() & (table["note"] == "")
    rows = table[certain & (table["name"] != "BERT-base")]
    rows = rows[["name", "printed", "factor_all", "factor_encoder"]].reset_index(drop=True)
    for column, factor in (("agrees", "factor_all"), ("agrees_encoder", "factor_encoder")):
        rows[column] = (rows[factor] / rows["printed"] - 1).abs() <= tolerance
    return rows
