"""A hub cache on disk with random models of the hub's own kinds: what `from_pretrained` finds with the network off.

Kinds differ as the real ones do: WordPiece cased and uncased, byte-level BPE, SentencePiece; positions that start after
the padding index, no segments, one segment type, blocks that share weights, embeddings narrower than the blocks.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase

import pytest
import torch
import transformers
from huggingface_hub import constants
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TEXT = ["The dogs run in the garden.", "A bird sings. Nobody listens to it.", "Children like unbelievable stories."] * 3
LANGUAGES = [*TEXT, "Die Hunde laufen im Garten.", "Les chiens courent.", "Собаки бегут в саду.", "狗在花园里跑。"]
BRACKETS = {"unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "mask": "[MASK]"}
ANGLES = {"unk": "<unk>", "cls": "<s>", "sep": "</s>", "pad": "<pad>", "mask": "<mask>", "bos": "<s>", "eos": "</s>"}
SENTENCES = [
    ["The", "dogs", "run", "in", "the", "garden", "."],
    ["Nobody", "listens", "."],
    ["Children", "like", "unbelievable", "stories", "."],
    ["The", "bird", "sings", "in", "the", "garden", "."],
]
TINY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
PLACES = {"max_position_embeddings": 66}


def word_piece(text: Iterable[str], lowercase: bool) -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=160, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    backend.train_from_iterator(text, trainer)
    backend.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return wrapped(backend, BRACKETS)


def uncased() -> PreTrainedTokenizerFast:
    return word_piece(TEXT, lowercase=True)


def cased() -> PreTrainedTokenizerFast:
    return word_piece(TEXT, lowercase=False)


def multilingual() -> PreTrainedTokenizerFast:
    return word_piece(LANGUAGES, lowercase=False)


def byte_level() -> PreTrainedTokenizerFast:
    """As RoBERTa's file on the hub: without a space before the first word."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, special=True)]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(
        TEXT, trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet)
    )
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return wrapped(backend, ANGLES)


def unigram() -> PreTrainedTokenizerFast:
    """SentencePiece's unigram model, as ALBERT's: the words of the text, and single characters for the rest."""
    words = sorted({word for line in TEXT for word in line.lower().replace(".", " .").split()})
    special = [(piece, 0.0) for piece in ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")]
    pieces = special + [(f"▁{word}", -4.0) for word in words] + [(letter, -9.0) for letter in f"▁.{ascii_lowercase}"]
    backend = Tokenizer(models.Unigram(pieces, unk_id=1))
    backend.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return wrapped(backend, BRACKETS | {"unk": "<unk>", "pad": "<pad>"})


def wrapped(backend: Tokenizer, tokens: dict[str, str]) -> PreTrainedTokenizerFast:
    names = {f"{role}_token": token for role, token in tokens.items()}
    return PreTrainedTokenizerFast(tokenizer_object=backend, **names)


@dataclass(frozen=True)
class Kind:
    """A model of the hub: its architecture, tokenizer, what its configuration says beside the sizes, and its sizes."""

    family: str  # of the classes in transformers
    tokenizer: Callable[[], PreTrainedTokenizerFast]
    real: dict  # sizes and settings of the real configuration
    tiny: dict = field(default_factory=lambda: TINY | PLACES)
    said: dict = field(default_factory=dict)  # in tokenizer_config.json


BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
ROBERTA = {"type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
ALBERT = {"hidden_act": "gelu_new", "num_hidden_groups": 1, "inner_group_num": 1, "pad_token_id": 0}
TINY_DISTILBERT = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
KINDS = {
    "bert-base-uncased": Kind("Bert", uncased, BASE | {"vocab_size": 30_522}, said={"do_lower_case": True}),
    "bert-base-cased": Kind("Bert", cased, BASE | {"vocab_size": 28_996}, said={"do_lower_case": False}),
    "bert-base-multilingual-cased": Kind(
        "Bert", multilingual, BASE | {"vocab_size": 119_547}, said={"do_lower_case": False}
    ),
    "roberta-base": Kind(
        "Roberta",
        byte_level,
        BASE | ROBERTA | {"vocab_size": 50_265, "max_position_embeddings": 514},
        TINY | PLACES | ROBERTA,
    ),
    "distilbert-base-uncased": Kind(
        "DistilBert",
        uncased,
        {"dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072, "vocab_size": 30_522},
        TINY_DISTILBERT | PLACES,
        {"do_lower_case": True},
    ),
    "albert-base-v2": Kind(
        "Albert",
        unigram,
        BASE | ALBERT | {"embedding_size": 128, "vocab_size": 30_000, "max_position_embeddings": 512},
        TINY | PLACES | ALBERT | {"embedding_size": 16},
    ),
    "google/electra-small-generator": Kind(
        "Electra",
        uncased,
        {"hidden_size": 256, "num_hidden_layers": 12, "num_attention_heads": 4, "intermediate_size": 1024}
        | {"embedding_size": 128, "vocab_size": 30_522},
        TINY | PLACES | {"embedding_size": 16},
        {"do_lower_case": True},
    ),
}  # fmt: skip
"""The hub models that the book names, by hub id."""


def add_to_cache(cache: Path, name: str, commit: str = COMMIT, real: bool = False) -> Path:
    """Writes the model `name` into the cache as the hub's client would, and returns its snapshot.

    `real` gives it the real configuration instead of a tiny one, the vocabulary filled up to its size.
    """
    kind = KINDS[name]
    tokenizer = kind.tokenizer()
    settings = {"pad_token_id": tokenizer.pad_token_id, "vocab_size": len(tokenizer)} | (
        kind.real if real else kind.tiny
    )
    if real:
        tokenizer.add_tokens([f"filler{i}" for i in range(settings["vocab_size"] - len(tokenizer))])
    tokenizer.model_max_length = 512 if real else 64
    folder = cache / f"models--{name.replace('/', '--')}"
    snapshot = folder / "snapshots" / commit
    config = getattr(transformers, f"{kind.family}Config")(**settings)
    torch.manual_seed(3)
    getattr(transformers, f"{kind.family}ForMaskedLM")(config).save_pretrained(snapshot)
    tokenizer.save_pretrained(snapshot)
    stored = snapshot / "tokenizer_config.json"
    said = json.loads(stored.read_text()) | {"tokenizer_class": f"{kind.family}Tokenizer"} | kind.said
    stored.write_text(json.dumps(said))
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(commit)
    return snapshot


def use_only(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """No network, and no other cache than this one."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
