"""Networks with weights: which class a checkpoint really fills, told by the report of its loading.

`from_pretrained` fills what is missing at random. Here a head of which a weight is missing is no head, and a body of
which one is missing is an error. Depends on transformers, `anatomy` and `errors`.
"""

from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import (
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_FOR_PRETRAINING_MAPPING,
    MODEL_MAPPING,
    AutoConfig,
    PreTrainedConfig,
    PreTrainedModel,
)

from bertology_utils.errors import BertologyError, first_line

POOLER = "pooler."


def read_config(source: str, name: str, **options: bool) -> PreTrainedConfig:
    """The configuration of an encoder. Raises `BertologyError` where it cannot be read or is of another kind."""
    try:
        config = AutoConfig.from_pretrained(source, **options)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BertologyError(f"The configuration of '{name}' cannot be read: {first_line(error)}") from None
    what = ", ".join([config.model_type, *(config.architectures or [])])
    if config.is_encoder_decoder:
        raise BertologyError(f"'{name}' is an encoder-decoder ({what}); masked language models are encoders alone.")
    if type(config) not in MODEL_MAPPING:
        raise BertologyError(f"'{name}' ({what}) is no encoder that transformers can build.")
    if getattr(config, "attention_type", None) == "block_sparse":
        config.attention_type = "original_full"  # BigBird turns to it by itself, and for good, at the first short input
    return config


def has_next_sentence_head(model: PreTrainedModel) -> bool:
    """Whether it has the head of BERT's second pre-training task."""
    return hasattr(getattr(model, "cls", None), "seq_relationship")


def fills_blanks(kind: type, config: PreTrainedConfig) -> bool:
    """Whether a class, one of `kinds`, has a masked-LM head."""
    return kind is not _bare(config)


def kinds(config: PreTrainedConfig) -> list[type]:
    """The classes that a checkpoint may fill, those with the most heads first, the bare encoder last.

    The class for pre-training counts where the configuration names it and it has a next-sentence head; ELECTRA's is
    its discriminator and fills no blanks.
    """
    pretraining = _named_for_pretraining(config)
    masked = MODEL_FOR_MASKED_LM_MAPPING.get(type(config), None)
    both = pretraining is not None and has_next_sentence_head(_outline(pretraining, config))
    return [kind for kind in (pretraining if both else None, masked, _bare(config)) if kind is not None]


def promised(config: PreTrainedConfig) -> type:
    """Of `kinds`, what the configuration says that the network is."""
    named = [kind for kind in kinds(config) if kind.__name__ in (config.architectures or [])]
    if named:
        return named[0]
    pretraining = _named_for_pretraining(config)  # of which others, such as ALBERT's, hold a masked-LM head too
    fills = pretraining is not None and _outline(pretraining, config).get_output_embeddings() is not None
    return kinds(config)[0] if fills else _bare(config)


def _named_for_pretraining(config: PreTrainedConfig) -> type | None:
    found = MODEL_FOR_PRETRAINING_MAPPING.get(type(config), None)
    return found if found is not None and found.__name__ in (config.architectures or []) else None


def _outline(kind: type, config: PreTrainedConfig) -> PreTrainedModel:
    """The modules without their weights."""
    with torch.device("meta"):
        return kind(config)


def _bare(config: PreTrainedConfig) -> type:
    found = MODEL_MAPPING[type(config)]
    return found[0] if isinstance(found, tuple) else found


def untrained(kind: type, config: PreTrainedConfig, name: str) -> PreTrainedModel:
    """A network with weights at random, in float32. Raises BertologyError where none can be built."""
    try:
        return kind(config)
    except Exception as error:  # whatever the constructor of an architecture raises
        raise BertologyError(f"No network can be built of the configuration of '{name}': {first_line(error)}") from None


def trained(
    source: str, name: str, config: PreTrainedConfig, attention: str, variant: str | None, **options: bool
) -> PreTrainedModel:
    """The network with the most heads of which every weight is in the file.

    Args:
        attention: "sdpa" takes what the architecture has.

    Raises BertologyError: the file cannot be read, or lacks weights of the body or holds them in another shape.
    """
    settings = {"attn_implementation": None if attention == "sdpa" else attention, "variant": variant, **options}
    for kind in kinds(config):
        model, report = _read(kind, source, name, config, settings)
        missing = _missing(model, report, name)
        if kind is _bare(config):
            return _without_pooler(model, missing)
        if not missing and (_has_own_head(model) or kind is promised(config)):
            return model
    raise AssertionError("the last kind is the bare encoder")


def _read(kind: type, source: str, name: str, config: PreTrainedConfig, settings: dict[str, Any]) -> tuple:
    try:
        return kind.from_pretrained(
            source,
            config=config,
            dtype=torch.float32,
            ignore_mismatched_sizes=True,  # so that the report names them
            output_loading_info=True,
            **settings,
        )
    except (
        SafetensorError, RuntimeError, UnpicklingError, EOFError, OSError, ValueError, TypeError, AssertionError,
        NotImplementedError, ImportError, KeyError,
    ) as error:  # fmt: skip
        raise BertologyError(f"The weights of '{name}' cannot be read: {first_line(error)}") from None


def _missing(model: PreTrainedModel, report: dict[str, Any], name: str) -> set[str]:
    """Names of missing weights, none of them of the body, whose error says what is missing or of another shape."""
    for weight, found, expected in sorted(report["mismatched_keys"]):
        raise BertologyError(
            f"The weights of '{name}' do not fit its configuration: {weight} is {tuple(found)} in the file and "
            f"{tuple(expected)} by the configuration."
        )
    for error in [*report.get("error_msgs", ()), *report.get("conversion_errors", {}).values()]:
        raise BertologyError(f"The weights of '{name}' cannot be read: {first_line(error)}")
    missing = set(report["missing_keys"])
    body = {id(parameter) for parameter in model.base_model.parameters()}
    own = {key for key, parameter in model.named_parameters(remove_duplicate=False) if id(parameter) in body}
    lost = sorted(key for key in missing & own if POOLER not in key)
    if lost:
        raise BertologyError(f"The weights of '{name}' lack {len(lost)} parts of its body, such as {lost[0]}.")
    return missing


def _has_own_head(model: PreTrainedModel) -> bool:
    """A head that is all shared with the body is in every file, and says nothing."""
    body = {id(parameter) for parameter in model.base_model.parameters()}
    return any(id(parameter) not in body for parameter in model.parameters())


def _without_pooler(model: PreTrainedModel, missing: set[str]) -> PreTrainedModel:
    """A bare encoder whose pooler is not in the file has none, rather than one at random."""
    if any(key.startswith(POOLER) for key in missing):
        model.pooler = None
    return model
