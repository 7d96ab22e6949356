"""The network that is trained: a model of transformers with the heads of its objectives. Depends on `tasks`.

Plain runs train a BertForPreTraining, shared layers or factorised embeddings an AlbertForPreTraining, replaced-token
detection an ElectraForPreTraining with a small ElectraForMaskedLM. What is saved is always a class of transformers.
"""

import copy
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    AlbertConfig,
    AlbertForMaskedLM,
    AlbertForPreTraining,
    AutoConfig,
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    ElectraConfig,
    ElectraForMaskedLM,
    ElectraForPreTraining,
    ModernBertConfig,
    ModernBertForMaskedLM,
    NomicBertConfig,
    NomicBertForMaskedLM,
    PreTrainedModel,
    RobertaPreLayerNormConfig,
    RobertaPreLayerNormForMaskedLM,
    RoFormerConfig,
    RoFormerForMaskedLM,
)

from bertology_utils.errors import BertologyError
from bertology_utils.models import verified_sha256

from .config import PretrainingConfig
from .passes import Batch, Pass, without_ids
from .tasks import Objective

Sizes = Mapping[str, Any]
"""Options of a BertConfig."""
NORMALISATION = "cls-normalisation"
GENERATOR = "generator"
GENERATOR_SHARE = 4  # the generator is a quarter as wide (clark2020electra)
GATED = 2 / 3  # a gate is a third matrix: with two thirds of the inner width a block has as many weights as BERT's


def build_model(config: PretrainingConfig, vocabulary_size: int, segments: int = 2) -> PreTrainedModel:
    """The model at the first step: from nothing, or the weights of `start` with dropout off and fresh heads it lacks.

    segments: how many segment embeddings it has; more than two where labels take their place.
    """
    torch.manual_seed(config.seed)
    if config.start is not None:
        return _started(config, segments)
    model = _fresh(config, vocabulary_size, segments)
    if config.scaled_start:
        _scale_outputs(model)
    return model


def _fresh(config: PretrainingConfig, vocabulary_size: int, segments: int) -> PreTrainedModel:
    sizes = {
        "vocab_size": vocabulary_size,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.inner or 4 * config.width,
        "max_position_embeddings": config.positions,
        "type_vocab_size": segments,
        "initializer_range": config.initializer_range,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    if "replaced-tokens" in config.all_objectives:
        return ElectraForPreTraining(ElectraConfig(**sizes, embedding_size=config.width))
    if config.shared_layers or config.embedding_width:
        groups = 1 if config.shared_layers else config.layers
        factorised = {"embedding_size": config.embedding_width or config.width, "num_hidden_groups": groups}
        return AlbertForPreTraining(AlbertConfig(**sizes, **factorised, classifier_dropout_prob=0.0))
    return BODIES[config.body](sizes)


def _norms_first(sizes: Sizes) -> PreTrainedModel:
    """Place 0, where [CLS] stands, is this class's padding and stays without a vector."""
    return RobertaPreLayerNormForMaskedLM(RobertaPreLayerNormConfig(**sizes, pad_token_id=0))


def _gated(sizes: Sizes) -> PreTrainedModel:
    """A BERT with rotary places whose feed-forward blocks are gated, without biases (Nussbaum et al., 2024)."""
    inner = round(sizes["intermediate_size"] * GATED)
    return NomicBertForMaskedLM(NomicBertConfig(**sizes | {"intermediate_size": inner}, hidden_act="gelu"))


def _modern(sizes: Sizes) -> PreTrainedModel:
    """Norms first, gated feed-forward blocks, rotary places and no biases (Warner et al., 2024), seeing all pieces."""
    taken = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings")
    return ModernBertForMaskedLM(
        ModernBertConfig(
            **{name: sizes[name] for name in (*taken, "initializer_range")},
            intermediate_size=round(sizes["intermediate_size"] * GATED),
            layer_types=["full_attention"] * sizes["num_hidden_layers"],
            **dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 0),
        )
    )


BODIES = {
    "bert": lambda sizes: BertForPreTraining(BertConfig(**sizes)),
    "norms-first": _norms_first,
    "rotary": lambda sizes: RoFormerForMaskedLM(RoFormerConfig(**sizes)),
    "gated": _gated,
    "modern": _modern,
}
"""Body -> the model of these sizes at its first step."""


@torch.no_grad()
def _scale_outputs(model: PreTrainedModel) -> None:
    """The matrices that write into the residual stream, over the root of how many there are (Radford et al., 2019)."""
    blocks = model.base_model.encoder.layer
    for block in blocks:
        for written in (block.attention.output.dense, block.output.dense):
            written.weight /= (2 * len(blocks)) ** 0.5


def _started(config: PretrainingConfig, segments: int) -> BertForPreTraining:
    """The model of the folder `start`; its segment embeddings are fresh where the data need more of them."""
    folder = Path(config.start).expanduser()
    quiet = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "dtype": torch.float32}
    try:
        found = AutoConfig.from_pretrained(folder, local_files_only=True)
        if found.model_type != "bert":
            raise BertologyError(
                f"A run can start from a BERT only; {folder} holds a model of type {found.model_type}."
            )
        _compare_sizes(config, found)
        verified_sha256(str(folder), str(folder))
        model = BertForPreTraining.from_pretrained(folder, local_files_only=True, **quiet)
    except (OSError, ValueError) as error:
        raise BertologyError(f"No model to start from in {folder}: {str(error).splitlines()[0][:120]}") from None
    if model.config.type_vocab_size < segments:
        table = nn.Embedding(segments, model.config.hidden_size)
        nn.init.normal_(table.weight, std=model.config.initializer_range)
        model.bert.embeddings.token_type_embeddings = table
        model.config.type_vocab_size = segments
    return model


def _compare_sizes(config: PretrainingConfig, found: BertConfig) -> None:
    """The sizes of `start` count; a configuration that states others contradicts itself."""
    names = {
        "layers": "num_hidden_layers", "width": "hidden_size", "heads": "num_attention_heads",
        "inner": "intermediate_size", "positions": "max_position_embeddings",
    }  # fmt: skip
    for key, name in names.items():
        stated, actual = getattr(config, key), getattr(found, name)
        too_long = key == "positions" and stated > actual
        if (key in config.model_fields_set and stated != actual) or too_long:
            raise BertologyError(f"'{key}' is {stated}, but the model to start from has {actual}.")


def build_generator(model: ElectraForPreTraining) -> ElectraForMaskedLM:
    """A narrow masked LM that shares all embeddings with the discriminator."""
    config = copy.deepcopy(model.config)
    config.num_attention_heads = max(1, config.num_attention_heads // GENERATOR_SHARE)
    width = max(1, config.hidden_size // GENERATOR_SHARE // config.num_attention_heads) * config.num_attention_heads
    config.hidden_size, config.intermediate_size = width, max(1, config.intermediate_size // GENERATOR_SHARE)
    generator = ElectraForMaskedLM(config)
    generator.electra.embeddings = model.electra.embeddings
    generator.generator_lm_head.weight = model.electra.embeddings.word_embeddings.weight
    return generator


class _Head(nn.Module):
    """The prediction head of another class under the names of BERT's."""

    def __init__(self, transform: nn.Module, decoder: nn.Module):
        super().__init__()
        self.transform, self.decoder = transform, decoder

    def forward(self, states: Tensor) -> Tensor:
        return self.decoder(self.transform(states))


class Network(nn.Module):
    """Model, heads and objectives; calling it gives the loss of each active objective."""

    def __init__(self, model: PreTrainedModel, objectives: Mapping[str, Objective], cls_normalisation: bool = False):
        super().__init__()
        self.model = model
        self.objectives = dict(objectives)
        self.heads = nn.ModuleDict()
        if isinstance(model, ElectraForPreTraining):
            self.heads[GENERATOR] = build_generator(model)
        for name, objective in objectives.items():
            head = objective.head(model.config)
            if head is not None and not (name == "next-sentence" and isinstance(model, BertForPreTraining)):
                self.heads[name] = head
        if cls_normalisation:
            self.heads[NORMALISATION] = nn.BatchNorm1d(model.config.hidden_size, affine=False)

    @property
    def filler(self) -> PreTrainedModel:
        """The model that fills in blanks: the generator where there is one."""
        if GENERATOR in self.heads:
            return self.heads[GENERATOR]
        return self.model

    @property
    def prediction_head(self) -> nn.Module:
        """States `(n, width)` to scores `(n, vocabulary)`; its `decoder` is tied to the word embeddings."""
        if GENERATOR in self.heads:
            generator = self.heads[GENERATOR]
            return _Head(generator.generator_predictions, generator.generator_lm_head)
        if isinstance(self.model, ModernBertForMaskedLM):
            return _Head(self.model.head, self.model.decoder)
        if isinstance(self.model, RobertaPreLayerNormForMaskedLM):
            return self.model.lm_head
        return self.model.predictions if isinstance(self.model, AlbertForPreTraining) else self.model.cls.predictions

    @property
    def fresh_head(self) -> list[nn.Parameter]:
        """The parameters of the prediction head that no body brings along."""
        if isinstance(self.model, BertForPreTraining):
            return list(self.model.cls.predictions.transform.parameters())
        return []

    @property
    def matrices(self) -> list[nn.Parameter]:
        """The matrices of the blocks."""
        bodies = {id(m): m for m in (self.model, self.filler)}.values()
        return [p for body in bodies for p in _blocks(body).parameters() if p.ndim == 2 and p.requires_grad]

    def states(self, batch: Batch) -> Tensor:
        """Last hidden states of the model that fills in blanks, `(batch, pieces, width)`."""
        body = self.filler.base_model
        known = inspect.signature(body.forward).parameters  # some have no segments, some count places by themselves
        read = {name: values for name, values in without_ids(batch).items() if name in known}
        return body(input_ids=batch["input_ids"], **read).last_hidden_state

    def pair_head(self, name: str) -> nn.Module:
        if name in self.heads:
            return self.heads[name]
        return self.model.cls.seq_relationship

    def pool(self, hidden: Tensor) -> Tensor:
        """The [CLS] vector through the pooler, standardised first where the configuration says so: `(batch, width)`."""
        cls = hidden[:, 0]
        if NORMALISATION in self.heads:
            cls = self.heads[NORMALISATION](cls.float())
        return torch.tanh(_pooler(self.model)(cls))

    def discriminate(self, input_ids: Tensor, batch: Batch) -> Tensor:
        """How false each piece looks to the discriminator: logits `(batch, pieces)`."""
        return self.model(input_ids=input_ids, **without_ids(batch)).logits

    def forward(self, batch: Batch, names: Sequence[str]) -> dict[str, Tensor]:
        """The losses (nats) of these objectives."""
        seen = Pass(self, batch)
        return {name: self.objectives[name].loss(seen) for name in names}

    def masked_loss(self, batch: Batch) -> Tensor:
        """The masked-token loss alone, whatever the network is trained for."""
        seen = Pass(self, batch)
        return nn.functional.cross_entropy(seen.scores.float(), batch["labels"])

    def finished(self) -> dict[str, PreTrainedModel]:
        """What is saved, by the folder inside the model folder: the class of transformers that has what was trained.

        A BERT keeps its next-sentence head only where it was trained as one; the standardisation of [CLS], a linear map
        once training is over, becomes part of the pooler.
        """
        model = copy.deepcopy(self.model)
        if NORMALISATION in self.heads:
            _fold(self.heads[NORMALISATION], _pooler(model))
        if GENERATOR in self.heads:
            return {"": model, GENERATOR: copy.deepcopy(self.heads[GENERATOR])}
        own_pairs = isinstance(model, BertForPreTraining) and "next-sentence" in self.objectives
        if own_pairs or not isinstance(model, BertForPreTraining | AlbertForPreTraining):
            return {"": model}
        plain = (BertForMaskedLM if isinstance(model, BertForPreTraining) else AlbertForMaskedLM)(model.config)
        state = model.state_dict()
        plain.load_state_dict({name: state[name] for name in plain.state_dict()})
        return {"": plain}


def _blocks(model: PreTrainedModel) -> nn.Module:
    body = model.base_model
    return body.layers if hasattr(body, "layers") else body.encoder


def _pooler(model: PreTrainedModel) -> nn.Linear:
    return model.bert.pooler.dense if isinstance(model, BertForPreTraining) else model.albert.pooler


@torch.no_grad()
def _fold(norm: nn.BatchNorm1d, dense: nn.Linear) -> None:
    """W (x - mean) / deviation + b as one linear map of x."""
    dense.weight /= torch.sqrt(norm.running_var + norm.eps)
    dense.bias -= dense.weight @ norm.running_mean


def compile_blocks(model: PreTrainedModel) -> None:
    """Compiles the blocks in place, for inputs of any shape: a GPU is waiting for Python otherwise.

    Blocks of one kind share their code, so that one is compiled for all.
    """
    blocks = _blocks(model)
    for block in getattr(blocks, "layer", blocks if isinstance(blocks, nn.ModuleList) else ()):
        block.compile(dynamic=True)


def stack_layers(shallow: dict[str, Tensor], layers: int) -> dict[str, Tensor]:
    """Weights of a model of `layers` layers whose blocks repeat those of a shallower one (Gong et al. 2019)."""
    prefix = "bert.encoder.layer."
    own = {int(name.removeprefix(prefix).split(".")[0]) for name in shallow if name.startswith(prefix)}
    if not own or layers % len(own):
        raise BertologyError(f"{layers} layers are not a multiple of the {len(own)} of the run to stack.")
    stacked = {name: tensor for name, tensor in shallow.items() if not name.startswith(prefix)}
    for name in shallow.keys() - stacked.keys():
        layer, _, part = name.removeprefix(prefix).partition(".")
        stacked |= {f"{prefix}{place}.{part}": shallow[name].clone() for place in range(int(layer), layers, len(own))}
    return stacked
