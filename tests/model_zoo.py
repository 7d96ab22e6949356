"""A small random model of every kind in transformers' masked-LM mapping, with a small tokenizer of the right kind."""

from collections.abc import Callable
from pathlib import Path

import torch
from hub_cache import byte_level, uncased, unigram
from transformers import CONFIG_MAPPING, MODEL_FOR_MASKED_LM_MAPPING, AutoTokenizer, PreTrainedTokenizerFast
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

KINDS = sorted(MODEL_FOR_MASKED_LM_MAPPING_NAMES)
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 66,
}
XLM = {"emb_dim": 32, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 66, "pad_index": 0}
SIGHT = {"model_type": "siglip_vision_model", "image_size": 32, "patch_size": 16} | {**SIZES, "num_hidden_layers": 1}
SIGHT.pop("max_position_embeddings")
OWN: dict[str, dict] = {
    "albert": SIZES | {"embedding_size": 16},
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 66},
    "electra": SIZES | {"embedding_size": 16},
    "eurobert": SIZES | {"head_dim": 8, "num_key_value_heads": 4},
    "flaubert": XLM,
    "funnel": {"block_sizes": [1, 1], "d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 64},
    "longformer": SIZES | {"attention_window": 8},
    "luke": SIZES | {"entity_vocab_size": 10, "entity_emb_size": 8},
    "mobilebert": SIZES | {"embedding_size": 16, "intra_bottleneck_size": 16, "true_hidden_size": 16},
    "modernvbert": {"vision_config": SIGHT, "image_token_id": 5},
    "neomme": SIZES | {"embedding_rank": 16, "hidden_size": 64, "head_dim": 16, "num_key_value_heads": 4},
    "perceiver": {"num_latents": 8, "d_latents": 32, "d_model": 32, "num_self_attends_per_block": 2}
    | {"num_self_attention_heads": 4, "num_cross_attention_heads": 4, "max_position_embeddings": 66},
    "reformer": {"hidden_size": 32, "num_attention_heads": 4, "attention_head_size": 8, "feed_forward_size": 64}
    | {"axial_pos_shape": [8, 8], "axial_pos_embds_dim": [16, 16], "max_position_embeddings": 64, "num_buckets": 4}
    | {"attn_layers": ["local", "lsh"], "local_attn_chunk_length": 8, "lsh_attn_chunk_length": 8},
    "rembert": SIZES | {"input_embedding_size": 16, "output_embedding_size": 16},
    "roc_bert": SIZES | {"pronunciation_vocab_size": 10, "pronunciation_embed_dim": 8}
    | {"shape_vocab_size": 10, "shape_embed_dim": 8},
    "squeezebert": SIZES | {"embedding_size": 32},
    "tapas": SIZES | {"type_vocab_sizes": [3, 8, 8, 2, 8, 8, 10]},
    "ultravbert": {"vision_config": SIGHT, "image_token_id": 5},
    "xlm": XLM,
}  # fmt: skip
TEXT_PART = {"modernvbert": "modernbert", "ultravbert": "ultrabert"}
BYTES = "bart camembert data2vec-text deberta eurobert gte ibert longformer luke modernbert modernvbert mvp nomic_bert "
BYTES += "roberta roberta-prelayernorm ultrabert ultravbert"
PIECES = (
    "albert big_bird deberta-v2 fnet jina_embeddings_v3 mbart neomme reformer rembert xlm-roberta xlm-roberta-xl xmod"
)
TOKENIZERS: dict[str, Callable[[], PreTrainedTokenizerFast]] = (
    dict.fromkeys(KINDS, uncased) | dict.fromkeys(BYTES.split(), byte_level) | dict.fromkeys(PIECES.split(), unigram)
)
REFUSED = {
    **dict.fromkeys(("bart", "mbart", "mvp"), "encoder-decoder"),
    **dict.fromkeys(("funnel", "reformer"), "state of each piece at every layer"),
    "mra": "no piece sees another",
    "perceiver": "cannot be run on a sentence",
    "xmod": "language",
}
"""What is not run, and the word that says why."""
WITHOUT_MAPS = {"fnet", "longformer", "squeezebert", "yoso"}
PADDING_SENSITIVE = {"convbert", "fnet", "nystromformer", "yoso"}


def settings(kind: str, tokenizer: PreTrainedTokenizerFast) -> dict:
    special = ("pad", "mask", "cls", "sep", "bos", "eos")
    ids = {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in special}
    said = {name: piece for name, piece in ids.items() if piece is not None} | {"vocab_size": len(tokenizer)}
    own = OWN.get(kind, SIZES) | said
    if kind in TEXT_PART:
        return own | {"text_config": {"model_type": TEXT_PART[kind], **SIZES, **said}}
    return own


def save_model(kind: str, folder: Path, tokenizer: PreTrainedTokenizerFast | None = None, **changes: object) -> Path:
    """A masked LM of a kind with random weights, and its tokenizer."""
    tokenizer = tokenizer or TOKENIZERS[kind]()
    config = CONFIG_MAPPING[kind](**settings(kind, tokenizer) | changes)
    torch.manual_seed(3)
    model = MODEL_FOR_MASKED_LM_MAPPING[type(config)](config)
    with torch.no_grad():  # far enough from zero that what depends on other pieces shows
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(3) if parameter.any() else parameter.normal_(std=0.1)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def plain_score(specimen, words: list[str]) -> float:
    """Pseudo-log-likelihood of running text by transformers' own classes, one mask and one forward pass at a time."""
    model = MODEL_FOR_MASKED_LM_MAPPING[type(specimen.model.config)].from_pretrained(specimen.source).eval()
    tokenizer = AutoTokenizer.from_pretrained(specimen.source)
    encoded = tokenizer(" " + " ".join(words), return_special_tokens_mask=True)
    ids, total = torch.tensor([encoded["input_ids"]]), 0.0
    for place, special in enumerate(encoded["special_tokens_mask"]):
        if not special:
            masked = ids.clone()
            masked[0, place] = tokenizer.mask_token_id
            with torch.no_grad():
                logits = model(input_ids=masked).logits[0, place]
            total += torch.log_softmax(logits, -1)[ids[0, place]].item()
    return total
