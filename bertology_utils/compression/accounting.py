"""Exact parameters, bytes and multiply-accumulates of every architecture in the survey's Table 1, with no download.

Models are built on torch's meta device, which knows shapes and holds no numbers, so a count takes milliseconds. Depends
on torch and transformers; the table itself, in the preprint's version (v1) and the journal's (v3), is `table1.csv`.
Weights are taken as 32-bit floats unless a row's scheme says otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from transformers import (
    AlbertConfig,
    AutoModel,
    BertConfig,
    DistilBertConfig,
    MobileBertConfig,
    PreTrainedConfig,
    T5Config,
)

from bertology_utils.errors import unknown
from bertology_utils.files import read_csv

REFERENCE = "bert-base"
PIECES = 128  # of a sequence whose multiply-accumulates are counted


# ---------------------------------------------------------------- architectures


def bert_config(layers: int, width: int, inner: int | None = None, vocabulary: int = 30522) -> BertConfig:
    """A BERT of this size with the usual heads of 64 dimensions (one head where the width has no such division)."""
    heads = width // 64 if width % 64 == 0 else (12 if width % 12 == 0 else 1)
    return BertConfig(
        num_hidden_layers=layers,
        hidden_size=width,
        intermediate_size=inner or 4 * width,
        num_attention_heads=heads,
        vocab_size=vocabulary,
    )


def _albert(width: int, heads: int, inner: int) -> AlbertConfig:
    return AlbertConfig(
        hidden_size=width, num_attention_heads=heads, intermediate_size=inner, num_hidden_layers=12, embedding_size=128
    )


class _BiLSTM(nn.Module):
    """Tang et al.'s student: 300-d word vectors (not counted by its authors), BiLSTM of 150, two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.LSTM(300, 150, bidirectional=True, batch_first=True)
        self.hidden, self.output = nn.Linear(2 * 150, 200), nn.Linear(200, 2)

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        return self.output(self.hidden(self.encoder(vectors)[0][:, -1]).relu())


ARCHITECTURES: dict[str, Callable[[], PreTrainedConfig | nn.Module]] = {
    "bert-base": lambda: bert_config(12, 768),
    "bert-large": lambda: bert_config(24, 1024),
    "distilbert": DistilBertConfig,
    "L6-768": lambda: bert_config(6, 768),
    "L3-768": lambda: bert_config(3, 768),
    "L6-512": lambda: bert_config(6, 512),
    "L4-512": lambda: bert_config(4, 512),
    "tinybert4": lambda: bert_config(4, 312, 1200),
    "mobilebert": MobileBertConfig,
    "albert-base": lambda: _albert(768, 12, 3072),
    "albert-xxlarge": lambda: _albert(4096, 64, 16384),
    "L12-48": lambda: bert_config(12, 48, vocabulary=4928),
    "L12-192": lambda: bert_config(12, 192, vocabulary=4928),
    "mbert": lambda: bert_config(12, 768, vocabulary=119547),
    "minibert": lambda: bert_config(3, 256, vocabulary=119547),
    "bilstm": _BiLSTM,
    "t5-11b": lambda: T5Config(d_model=1024, d_kv=128, d_ff=65536, num_layers=24, num_heads=128, vocab_size=32128),
}
"""Name -> configuration. "L6-768" is 6 layers of width 768 with a pooler (BERT6-PKD, Theseus, MiniLM, PD)."""

ASSUMED = {
    "L12-48": "inner size 4 x width and 4,928 pieces are assumed",
    "L12-192": "inner size 4 x width and 4,928 pieces are assumed",
    "minibert": "3 layers of width 256 on the multilingual vocabulary are assumed",
    "bilstm": "hidden sizes 150 and 200 are assumed; word vectors are not counted",
}
"""What the sources do not state about an architecture; such counts are not exact reconstructions."""

REFERENCES = {"minibert": "mbert"}  # the survey compares this row with multilingual BERT
FOOTNOTE_LARGE = "‡"


def build(architecture: str | PreTrainedConfig) -> nn.Module:
    """The bare encoder on the meta device, from a name in ARCHITECTURES or any transformers configuration."""
    if isinstance(architecture, str):
        if architecture not in ARCHITECTURES:
            raise unknown("architecture", architecture, ARCHITECTURES)
        with torch.device("meta"):
            made = ARCHITECTURES[architecture]()
    else:
        made = architecture
    if isinstance(made, nn.Module):
        return made
    with torch.device("meta"):
        return AutoModel.from_config(made, attn_implementation="eager")


# ---------------------------------------------------------------- parameters


@dataclass(frozen=True)
class Counts:
    """Parameters by part, shared ones (ALBERT) once; `linear` is the encoder's weight matrices, within `encoder`."""

    embeddings: int
    encoder: int
    pooler: int
    linear: int

    @property
    def all(self) -> int:
        return self.embeddings + self.encoder + self.pooler

    @property
    def bytes(self) -> int:
        return 4 * self.all


def _part(name: str) -> str:
    if "embedding" in name:  # includes the maps from embedding to hidden width of ALBERT and MobileBERT
        return "embeddings"
    return "pooler" if name.startswith("pooler") else "encoder"


def count_parameters(model: nn.Module) -> Counts:
    """Exact counts of a bare encoder, on any device, meta included."""
    sizes = {"embeddings": 0, "encoder": 0, "pooler": 0, "linear": 0}
    for name, parameter in model.named_parameters():
        part = _part(name)
        sizes[part] += parameter.numel()
        if part == "encoder" and parameter.dim() == 2:
            sizes["linear"] += parameter.numel()
    return Counts(**sizes)


@cache
def counts(architecture: str) -> Counts:
    """`count_parameters` of a named architecture."""
    return count_parameters(build(architecture))


# ---------------------------------------------------------------- multiply-accumulates


def count_macs(model: nn.Module, pieces: int = PIECES) -> int:
    """Multiply-accumulates of one forward pass over one sequence of `pieces`, attention products included.

    Runs on the meta device (shapes only). Embedding look-ups, norms and activations are not counted, as usual.
    """
    model = model.to("meta").eval()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        if isinstance(model, _BiLSTM):
            return pieces * sum(p.numel() for p in model.encoder.parameters() if p.dim() == 2) + 300 * 200 + 400
        ids = torch.zeros(1, pieces, dtype=torch.long, device="meta")
        model(input_ids=ids, attention_mask=torch.zeros(1, 1, pieces, pieces, device="meta"))
    return counter.get_total_flops() // 2


@cache
def macs(architecture: str) -> int:
    """`count_macs` of a named architecture."""
    return count_macs(build(architecture))


def training_operations(parameters: float, tokens: float) -> float:
    """Floating-point operations of pre-training, by the rule of thumb 6 N D: two forward, four backward a weight."""
    return 6 * parameters * tokens


# ---------------------------------------------------------------- compression factors


@dataclass(frozen=True)
class Factors:
    """Compression against a reference, by what is counted. Kept weights count once, and masks cost nothing."""

    all: float
    encoder: float
    embeddings: int
    size: float


def factors(architecture: str, scheme: str = "", reference: str = REFERENCE) -> Factors:
    """How much smaller, counting everything and counting encoder weights alone; sizes in 32-bit parameter equivalents.

    scheme: "" (dense), "kept-0.03" (this share of the encoder's weight matrices is non-zero; embeddings stay dense),
    "bits-2.5-8" (average bits of the encoder's matrices and of the embeddings; everything else 32-bit). With a scheme,
    `encoder` compares weight matrices alone, which is what the studies of pruning and quantisation report.
    """
    size, base = counts(architecture), counts(reference)
    kind, *values = scheme.split("-") if scheme else ("",)
    linear, embeddings = float(size.linear), float(size.embeddings)
    if kind == "kept":
        linear *= float(values[0])
    elif kind == "bits":
        linear *= float(values[0]) / 32
        embeddings *= float(values[1]) / 32
    elif kind:
        raise unknown("scheme", scheme, ["kept-SHARE", "bits-ENCODER-EMBEDDINGS"])
    encoder = linear + size.encoder - size.linear
    total = embeddings + encoder + size.pooler
    by_encoder = base.linear / linear if kind else base.encoder / encoder
    return Factors(base.all / total, by_encoder, size.embeddings, total)


def pruning_ceiling() -> float:
    """The factor (all) of removing BERT-base's whole encoder and pooler: no encoder-only pruning can exceed it."""
    size = counts(REFERENCE)
    return size.all / size.embeddings


# ---------------------------------------------------------------- the table


@cache
def table1() -> list[dict[str, str]]:
    """Table 1 as printed, one row a study, columns `*_v1` (preprint) and `*_v3` (journal); "" if absent.

    Footnotes as printed: * smaller vocabulary, † smaller hidden layers, ‡ compared to BERT-large, ** compared to
    multilingual BERT, § as reported by jiao2019tinybert, ¶ on the dev set, ∥ convolutional layers.
    """
    return read_csv(Path(__file__).with_name("table1.csv"))


def table1_differences() -> pd.DataFrame:
    """What changed between the versions, for rows that are in both: columns name, column, v1, v3."""
    rows = []
    for row in table1():
        if not row["compression_v1"]:
            continue
        for column in ("model", "compression", "retention", "speedup", "evaluation"):
            old, new = row[f"{column}_v1"], row[f"{column}_v3"]
            if old != new:
                rows.append({"name": row["name"], "column": column, "v1": old, "v3": new})
    return pd.DataFrame(rows)


def recomputed_table() -> pd.DataFrame:
    """Each row of Table 1 with its exact counts: millions of parameters, factors, GMACs of 128 pieces, and a note.

    A row whose architecture is not known well enough has empty (nan) counts. The speed column of the survey mixes
    hardware and batch sizes; the ratio of MACs is the part of it that arithmetic can give.
    """
    return pd.DataFrame(list(map(_recomputed, table1())))


def _recomputed(row: dict[str, str]) -> dict[str, object]:
    architecture = row["architecture"]
    shared = {key: row[key] for key in ("family", "name", "study", "architecture", "compression_v1", "compression_v3")}
    if not architecture:
        return {**shared, "note": "the architecture is not described well enough to rebuild"}
    large = FOOTNOTE_LARGE in row["compression_v3"]
    reference = "bert-large" if large else REFERENCES.get(architecture, REFERENCE)
    size, factor = counts(architecture), factors(architecture, row["scheme"], reference)
    return {
        **shared,
        "reference": reference,
        "embeddings": size.embeddings / 1e6,
        "encoder": size.encoder / 1e6,
        "all": size.all / 1e6,
        "factor_all": factor.all,
        "factor_encoder": factor.encoder,
        "gmacs": macs(architecture) / 1e9,
        "factor_macs": macs(reference) / macs(architecture),
        "note": ASSUMED.get(architecture, ""),
    }
