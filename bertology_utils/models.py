"""Specimens: any masked language model, loaded with its identity and its untrained twin. Depends on transformers.

Layer 0 is the embedding output and 1..L are the blocks. Papers count differently, so a head is
printed by `head_name`.
"""

import copy
import hashlib
import os
import shutil
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import torch
from torch import nn
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast
from transformers.utils import cached_file

from bertology_utils.anatomy import Anatomy, examine, require_numbers
from bertology_utils.errors import BertologyError, unknown
from bertology_utils.files import read_json, replacing, write_json
from bertology_utils.project import (
    EXTRA_MODELS,
    RANDOM_PREFIX,
    checkpoint_file,
    find_root,
    is_untrained,
    model_folder,
    not_installed,
    require_model,
    split_model,
)
from bertology_utils.project import embedded_models as embedded_in
from bertology_utils.tokenizing import load_tokenizer, require_fit
from bertology_utils.weights import fills_blanks, has_next_sentence_head, promised, read_config, trained, untrained

ROOT = find_root(Path(__file__).parent)
LONGEST = 1_000_000  # pieces; a tokenizer that says more says nothing
UNSAID = 512  # pieces of the longest input where nobody says it
HUB = "hub"  # the revision of a hub model until its files tell the commit
WEIGHTS = ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json", "pytorch_model.bin.index.json")


@dataclass(frozen=True)
class Specimen:
    """A loaded model with its tokenizer and identity.

    Attributes:
        name: what `--model` accepted, e.g. `pocket-bert` or `random:pocket-bert`.
        model: in evaluation mode; with a masked-LM head where `has_mlm_head`, whose weights were all there.
        revision: commit of a hub model, the seed of a random one, the step of a checkpoint, else "local".
        sha256: of the weights file; of name and seed for a random model.
        source: the folder or hub id that configuration and tokenizer came from.
        attention: the implementation that runs.
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
    def identity(self) -> str:
        """How tables of recorded results name it: its name and the first digits of the weights' checksum."""
        return f"{self.name} {self.sha256[:12]}"

    @cached_property
    def anatomy(self) -> Anatomy:
        """What the network is, found out by running it on a few short inputs."""
        return examine(self.model, self.name, self.is_random)

    @property
    def has_next_sentence_head(self) -> bool:
        """Whether the model kept the head of its second pre-training task; most releases do not."""
        return has_next_sentence_head(self.model)

    @property
    def has_attention_maps(self) -> bool:
        """Whether every head gives a map of pieces by pieces; windows, sketches and Fourier transforms do not."""
        return self.anatomy.has_maps

    @property
    def layers(self) -> int:
        return self.anatomy.layers

    @property
    def heads(self) -> int:
        """Of a layer; 0 without attention."""
        return self.anatomy.heads

    @property
    def width(self) -> int:
        return self.anatomy.width

    @property
    def vocabulary_size(self) -> int:
        return self.model.config.get_text_config().vocab_size

    @property
    def is_random(self) -> bool:
        return self.seed is not None

    @property
    def encoder(self) -> PreTrainedModel:
        """The bare transformer, without any head."""
        return self.model.base_model

    @property
    def max_pieces(self) -> int:
        """The longest input in pieces, special ones included; what the tokenizer says where the model does not."""
        said = self.tokenizer.model_max_length
        return self.anatomy.longest or (said if said <= LONGEST else UNSAID)


def head_name(layer: int, head: int) -> str:
    """1-based `layer-head` from a 1-based layer and a 0-based head index, as the survey prints it."""
    return f"{layer}-{head + 1}"


def embedded_models() -> list[str]:
    """Names of the models that lie in the project's `models/`."""
    return embedded_in(ROOT)


def add_checkpoint(folder: Path, step: int, weights: Path) -> None:
    """Stores weights of a pre-training step beside the finished model in `folder`, as `name@step`, with a checksum.

    Configuration and tokenizer are the finished model's, so the weights must be of the same architecture.
    """
    target, sums = folder / checkpoint_file(step), folder / "checksums.json"
    with replacing(target) as part:
        shutil.copyfile(weights, part)
    known = read_json(sums) or {"model.safetensors": _sha256(folder / "model.safetensors")}
    write_json(sums, known | {target.name: _sha256(target)})


def load(name: str, *, attention: str = "sdpa") -> Specimen:
    """Loads an embedded model, `minilm`, `name@step`, `random:<any>`, a local folder or a hub id.

    Args:
        attention: "sdpa", the quickest that the architecture has, or "eager" where attention maps are read (other
            kernels return none).

    Raises BertologyError: unknown name or step, folder without a model, package that is not installed, weights that do
    not match their checksum or lack a part of the body, a hub id that is neither cached nor reachable, a tokenizer that
    does not fit, an architecture that does not read words in both directions.
    """
    if is_untrained(name):
        return _load_random(name.removeprefix(RANDOM_PREFIX), name, attention, seed=0)
    source, revision = _locate(name)
    config = read_config(source, name, **_safe())
    sha256, step = verified_sha256(source, name), split_model(name)[2]
    model = trained(source, name, config, attention, None if step is None else f"step-{step}", **_safe())
    if revision == HUB:
        revision = getattr(model.config, "_commit_hash", None) or HUB
    return _specimen(name, model, revision, sha256, source)


def twin(specimen: Specimen, seed: int | None = None) -> Specimen:
    """The untrained twin: same architecture and tokenizer, random weights of `seed`.

    seed: by default 0, and of a random specimen the one after its own, which it also gets where its own is given: a
        twin is never the specimen itself.
    """
    base = specimen.name.removeprefix(RANDOM_PREFIX)
    if specimen.is_random and seed in (None, specimen.seed):
        seed = specimen.seed + 1
    return _load_random(base, RANDOM_PREFIX + base, specimen.attention, seed or 0, type(specimen.model))


def plain_model(specimen: Specimen) -> PreTrainedModel:
    """The network as transformers itself loads it; of a random specimen its own, which is in no file."""
    if specimen.is_random:
        return specimen.model
    step = split_model(specimen.name)[2]
    variant = None if step is None else f"step-{step}"
    return type(specimen.model).from_pretrained(specimen.source, variant=variant, dtype=torch.float32, **_safe()).eval()


def plain_tokenizer(specimen: Specimen) -> PreTrainedTokenizerFast:
    """The tokenizer as transformers itself loads it."""
    return AutoTokenizer.from_pretrained(specimen.source, use_fast=True, **_safe())


def with_attention(specimen: Specimen, attention: str) -> Specimen:
    """The same specimen with another attention implementation: a copy of its weights as they are now, tuned or pruned.

    Raises BertologyError where the architecture has no such implementation.
    """
    model = copy.deepcopy(specimen.model)
    model.set_attn_implementation(attention)
    if model.config._attn_implementation != attention:
        raise BertologyError(f"The model '{specimen.name}' cannot run with the attention '{attention}'.")
    return replace(specimen, model=model.eval(), attention=attention)


def _load_random(base: str, name: str, attention: str, seed: int, kind: type | None = None) -> Specimen:
    """An untrained network of the class `kind`, by default of the one that the configuration names."""
    source, _ = _locate(base)
    config = read_config(source, name, **_safe())
    config.dtype = torch.float32  # which the identity holds
    digest = hashlib.sha256(f"{config.to_json_string()}{seed}".encode()).hexdigest()
    if attention != "sdpa":
        config._attn_implementation = attention
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = untrained(kind or promised(config), config, name)
    return _specimen(name, model, f"seed {seed}", digest, source, seed)


def _specimen(
    name: str, model: PreTrainedModel, revision: str, sha256: str, source: str, seed: int | None = None
) -> Specimen:
    """Model and tokenizer together; without a piece that masks there is nothing that a head could fill in."""
    _separate_layers(model.eval())
    require_numbers(model, name)
    examine(model, name, seed is not None)  # an architecture that cannot be read is told now
    tokenizer = load_tokenizer(source, name, model.config, **_safe())
    require_fit(tokenizer, len(model.get_input_embeddings().weight), name)
    has_head = fills_blanks(type(model), model.config) and tokenizer.mask_token_id is not None
    attention = model.config._attn_implementation
    return Specimen(name, model, tokenizer, revision, sha256, source, attention, has_head, seed)


def _locate(name: str) -> tuple[str, str]:
    """The folder or hub id behind a name, and its revision; fails at once instead of waiting for a network."""
    _, base, step = split_model(name)
    folder = model_folder(ROOT, name)
    if folder is not None:
        require_model(folder, name)
        return str(folder), "local" if step is None else f"step {step}"
    if base in EXTRA_MODELS:
        raise not_installed(base)
    if step is not None or not _looks_like_hub_id(name):
        known = [*embedded_models(), *EXTRA_MODELS, "random:pocket-bert", "bert-base-uncased", "roberta-base"]
        raise unknown("model", name, known)
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


def _separate_layers(model: PreTrainedModel) -> None:
    """Gives each of ALBERT's layers a module of its own that holds the very same parameters.

    One block runs in every layer there, so that no hook could tell the layers apart; results, gradients and the number
    of parameters stay as they are.
    """
    groups = getattr(getattr(model.base_model, "encoder", None), "albert_layer_groups", None)
    if groups is None:
        return
    layers = model.config.num_hidden_layers
    shared = {id(parameter): parameter for parameter in groups.parameters()} | {id(model.config): model.config}
    chosen = [groups[layer * len(groups) // layers] for layer in range(layers)]
    model.base_model.encoder.albert_layer_groups = nn.ModuleList(
        copy.deepcopy(group, shared.copy()) for group in chosen
    )
    model.config.num_hidden_groups = layers


def verified_sha256(source: str, name: str) -> str:
    """sha256 of the weights file; raises where it is not the pinned one or the one in `checksums.json` beside it."""
    folder = Path(source)
    if not folder.is_dir():
        return _sha256(_cached_weights(source))
    _, base, step = split_model(name)
    expected = _expected_sha256(folder, base, checkpoint_file(step))
    if expected is None:
        files = WEIGHTS if step is None else (checkpoint_file(step),)
        return _sha256(next((folder / file for file in files if (folder / file).exists()), None))
    weights = folder / checkpoint_file(step)
    if not weights.exists():
        raise BertologyError(f"The weights of '{name}' are missing: {weights}.")
    sha256 = _sha256(weights)
    if sha256 != expected:
        raise BertologyError(f"The weights of '{name}' are damaged or altered: {weights} fails its checksum.")
    return sha256


def _expected_sha256(folder: Path, base: str, file: str) -> str | None:
    """The checksum that a weights file must have, None where nobody wrote one down."""
    if base in EXTRA_MODELS:
        return EXTRA_MODELS[base].sha256
    sums = folder / "checksums.json"
    if not sums.exists():
        return None
    known = read_json(sums)
    if not isinstance(known, dict) or file not in known:
        raise BertologyError(f"{sums} names no checksum for {file}.")
    return known[file]


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
