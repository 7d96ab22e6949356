"""Specimens: any masked language model, loaded with its identity and its untrained twin. Depends on transformers.

Layer 0 is the embedding output and 1..L are the blocks. Papers count differently, so every name that is printed comes
from `layer_name` and `head_name`.
"""

import hashlib
import json
import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from pickle import UnpicklingError

import torch
from safetensors import SafetensorError
from tokenizers import pre_tokenizers
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForPreTraining,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.utils import cached_file

from .errors import BertologyError, unknown
from .project import find_root

MODELS_FOLDER = find_root(Path(__file__).parent) / "models"
RANDOM_PREFIX = "random:"
HUB = "hub"  # the revision of a hub model until its files tell the commit
WEIGHTS = ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json", "pytorch_model.bin.index.json")


@dataclass(frozen=True)
class Specimen:
    """A loaded model with its tokenizer and identity.

    Attributes:
        name: what `--model` accepted, e.g. `pocket-bert` or `random:pocket-bert`.
        model: in evaluation mode; with a masked-LM head where `has_mlm_head`.
        revision: commit of a hub model, the seed of a random one, else "local".
        sha256: of the weights file; of name and seed for a random model.
        source: the folder or hub id that configuration and tokenizer came from.
    """

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    revision: str
    sha256: str
    source: str
    attention: str = "sdpa"
    has_mlm_head: bool = True
    seed: int | None = field(default=None)

    @property
    def layers(self) -> int:
        return self.model.config.num_hidden_layers

    @property
    def heads(self) -> int:
        return self.model.config.num_attention_heads

    @property
    def width(self) -> int:
        return self.model.config.hidden_size

    @property
    def vocabulary_size(self) -> int:
        return self.model.config.vocab_size

    @property
    def is_random(self) -> bool:
        return self.seed is not None

    @property
    def encoder(self) -> PreTrainedModel:
        """The bare transformer, without any head."""
        return self.model.base_model

    @cached_property
    def max_pieces(self) -> int:
        """The longest input in pieces, special ones included (RoBERTa loses two positions to padding)."""
        config = self.model.config
        offset = (config.pad_token_id or 0) + 1 if config.model_type in {"roberta", "xlm-roberta", "camembert"} else 0
        return config.max_position_embeddings - offset


def layer_name(layer: int) -> str:
    """`embeddings` for layer 0, else `layer 3`; a paper that counts blocks from 0 calls it 2."""
    return "embeddings" if layer == 0 else f"layer {layer}"


def head_name(layer: int, head: int) -> str:
    """1-based `layer-head` from a 1-based layer and a 0-based head index, as the survey prints it."""
    return f"{layer}-{head + 1}"


def embedded_models() -> list[str]:
    """Names of the models that lie in the project's `models/`."""
    return sorted(p.parent.name for p in MODELS_FOLDER.glob("*/config.json"))


def load(name: str, *, attention: str = "sdpa") -> Specimen:
    """Loads an embedded model, `random:<any>`, a local folder or a hub id.

    Args:
        attention: "sdpa", or "eager" where attention maps are read (other kernels return none).

    Raises:
        BertologyError: unknown name, folder without a model, weights that do not match their checksum, a hub id that
            is neither cached nor reachable.
    """
    if name.startswith(RANDOM_PREFIX):
        return _load_random(name.removeprefix(RANDOM_PREFIX), name, attention, seed=0)
    source, revision = _locate(name)
    has_head = _has_mlm_head(source)
    weights = _verified_weights(source, name)
    try:
        model = _model_class(source, has_head).from_pretrained(
            source, attn_implementation=attention, dtype=torch.float32, **_safe()
        )
    except (SafetensorError, RuntimeError, UnpicklingError, EOFError, OSError, ValueError) as error:
        raise BertologyError(f"The weights of '{name}' cannot be read: {_first_line(error)}") from None
    tokenizer = _tokenizer(source, name)
    if revision == HUB:
        revision = getattr(model.config, "_commit_hash", None) or HUB
    return Specimen(name, model.eval(), tokenizer, revision, _sha256(weights), source, attention, has_head)


def twin(specimen: Specimen, seed: int = 0) -> Specimen:
    """The untrained twin: same architecture and tokenizer, random weights; of a random specimen, another seed."""
    base = specimen.name.removeprefix(RANDOM_PREFIX)
    seed = specimen.seed + 1 if specimen.is_random else seed
    return _load_random(base, RANDOM_PREFIX + base, specimen.attention, seed)


def with_attention(specimen: Specimen, attention: str) -> Specimen:
    """The same specimen with another attention implementation; the weights are shared with a copy of the module."""
    if specimen.is_random:
        return _load_random(specimen.name.removeprefix(RANDOM_PREFIX), specimen.name, attention, specimen.seed)
    return replace(load(specimen.name, attention=attention), name=specimen.name)


def _load_random(base: str, name: str, attention: str, seed: int) -> Specimen:
    source, _ = _locate(base)
    config = _config(source)
    has_head = _has_mlm_head(source)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = _model_class(source, has_head).from_config(config, attn_implementation=attention, dtype=torch.float32)
    digest = hashlib.sha256(f"{config.to_json_string()}{seed}".encode()).hexdigest()
    return Specimen(
        name, model.eval(), _tokenizer(source, base), f"seed {seed}", digest, source, attention, has_head, seed
    )


def _locate(name: str) -> tuple[str, str]:
    """The folder or hub id behind a name, and its revision; fails at once instead of waiting for a network."""
    for folder in (MODELS_FOLDER / name, Path(name).expanduser()):
        if (folder / "config.json").is_file():
            return str(folder), "local"
        if folder.is_dir() and folder != MODELS_FOLDER:
            raise BertologyError(f"The folder {folder} holds no model: it has no config.json.")
    if not _looks_like_hub_id(name):
        raise unknown("model", name, [*embedded_models(), "random:pocket-bert", "bert-base-uncased", "roberta-base"])
    if _offline():
        config = _cached_config(name)
        if config is None:
            raise BertologyError(
                f"The hub model '{name}' is not in the local cache and the network is off.\n"
                f"Embedded models: {', '.join(embedded_models())}. With network: bertology run --online --model {name}"
            )
        return name, Path(config).parent.name
    return name, HUB


def _looks_like_hub_id(name: str) -> bool:
    known_families = ("bert-", "roberta-", "albert-", "distilbert-", "electra-", "xlm-")
    return (name.count("/") == 1 and not name.startswith((".", "/"))) or name.startswith(known_families)


def _safe() -> dict[str, bool]:
    """Loading another repository's files may run nothing (no remote code) and asks no network unless that is on."""
    return {"trust_remote_code": False, "local_files_only": _offline()}


def _offline() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "1").upper() not in {"0", "FALSE", "NO"}


def _cached_config(name: str) -> str | None:
    quietly = dict.fromkeys(("missing_entries", "connection_errors", "gated_repo"), False)
    settings = {f"_raise_exceptions_for_{case}": value for case, value in quietly.items()}
    return cached_file(name, "config.json", local_files_only=True, **settings)


def _config(source: str) -> PreTrainedConfig:
    try:
        return AutoConfig.from_pretrained(source, **_safe())
    except (OSError, ValueError, KeyError) as error:
        raise BertologyError(f"The configuration of '{source}' cannot be read: {_first_line(error)}") from None


def _has_mlm_head(source: str) -> bool:
    architectures = _config(source).architectures or []
    # ELECTRA's pre-training head is its discriminator; it fills in no blanks.
    return any("MaskedLM" in a or a == "BertForPreTraining" for a in architectures)


def _model_class(source: str, has_head: bool) -> type:
    if not has_head:
        return AutoModel
    architectures = _config(source).architectures or []
    return AutoModelForPreTraining if architectures == ["BertForPreTraining"] else AutoModelForMaskedLM


def _tokenizer(source: str, name: str) -> PreTrainedTokenizerFast:
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, use_fast=True, **_safe())
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise BertologyError(f"The tokenizer of '{name}' cannot be read: {_first_line(error)}") from None
    if not tokenizer.is_fast or len(tokenizer) < 10:
        raise BertologyError(f"'{name}' brings no fast tokenizer (tokenizer.json), which word alignment needs.")
    backend = tokenizer.backend_tokenizer
    if isinstance(backend.pre_tokenizer, pre_tokenizers.ByteLevel) and not backend.pre_tokenizer.add_prefix_space:
        # Words are given one by one: without this, RoBERTa would read "dogs" as the end of a longer word.
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(
            add_prefix_space=True, trim_offsets=True, use_regex=backend.pre_tokenizer.use_regex
        )
    return tokenizer


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:160]


def _verified_weights(source: str, name: str) -> Path | None:
    """The weights file, checked against `checksums.json` beside it where there is one."""
    folder = Path(source)
    if not folder.is_dir():
        return _cached_weights(source)
    weights = folder / "model.safetensors"
    sums = folder / "checksums.json"
    if sums.exists():
        if not weights.exists():
            raise BertologyError(f"The weights of '{name}' are missing: {weights}.")
        expected = json.loads(sums.read_text(encoding="utf-8"))["model.safetensors"]
        if _sha256(weights) != expected:
            raise BertologyError(f"The weights of '{name}' are damaged or altered: {weights} fails its checksum.")
    return next((folder / file for file in WEIGHTS if (folder / file).exists()), None)


def _cached_weights(source: str) -> Path | None:
    """The weights of a hub model, older ones in torch's own format; of a divided model the index stands for all."""
    quiet = {"_raise_exceptions_for_missing_entries": False, "_raise_exceptions_for_connection_errors": False}
    found = (cached_file(source, file, local_files_only=_offline(), **quiet) for file in WEIGHTS)
    return next((Path(path) for path in found if path), None)


def _sha256(path: Path | None) -> str:
    if path is None:
        return ""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
