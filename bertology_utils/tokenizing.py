"""Tokenizers that cut words as running text is cut, and that fit their model. Depends on transformers and `errors`."""

from collections.abc import Sequence

from tokenizers import normalizers
from transformers import AutoTokenizer, PreTrainedConfig, PreTrainedTokenizerFast

from bertology_utils.errors import BertologyError, first_line

TEXTS = (
    "The dogs didn't run 12 km .",
    "Der Bär schläft , nicht wahr ?",
    "Собаки бегут !",
    "unbelievably well - known (e.g. stories )",
)
"""What words and running text are compared on."""


def load_tokenizer(source: str, name: str, config: PreTrainedConfig, **options: bool) -> PreTrainedTokenizerFast:
    """The tokenizer of a folder or hub id, its words cut as in running text, its special pieces named.

    Raises BertologyError: there is none, it cannot tell which piece belongs to which word, or it cuts words otherwise
    than running text.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, use_fast=True, **options)
    except Exception as error:  # readers of tokenizer files have errors of their own
        raise BertologyError(f"The tokenizer of '{name}' cannot be read: {first_line(error)}") from None
    if not tokenizer.is_fast or len(tokenizer) < 10:
        raise BertologyError(f"'{name}' brings no fast tokenizer (tokenizer.json), which word alignment needs.")
    # Some files (MiniLM's) ask to cut and pad every input to one length.
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    _cut_words_as_text(tokenizer, name)
    _name_special_pieces(tokenizer, config)
    return tokenizer


def pieces_of(tokenizer: PreTrainedTokenizerFast, words: Sequence[str]) -> list[int]:
    """The pieces of a sentence given as words, without special ones."""
    return tokenizer(list(words), is_split_into_words=True, add_special_tokens=False)["input_ids"]


def pieces_of_text(tokenizer: PreTrainedTokenizerFast, text: str) -> list[list[int]]:
    """The pieces of running text at the start of a document and after a space; most tokenizers do not mind which."""
    return [tokenizer(start + text, add_special_tokens=False)["input_ids"] for start in ("", " ")]


def _cut_words_as_text(tokenizer: PreTrainedTokenizerFast, name: str) -> None:
    """Words are given one by one: without a space before each, RoBERTa would read "dogs" as the end of a longer word.

    Where they come out otherwise than in running text, each gets its space back; a tokenizer that still differs, such
    as one with pieces across words, is refused.
    """
    expected = {text: pieces_of_text(tokenizer, text) for text in TEXTS}

    def differing() -> list[str]:
        return [text for text in TEXTS if pieces_of(tokenizer, text.split()) not in expected[text]]

    if differing():
        backend = tokenizer.backend_tokenizer
        own = [backend.normalizer] if backend.normalizer is not None else []
        backend.normalizer = normalizers.Sequence([*own, normalizers.Prepend(" ")])
    if found := differing():
        raise BertologyError(f"The tokenizer of '{name}' cuts words otherwise than running text: '{found[0]}'.")


def _name_special_pieces(tokenizer: PreTrainedTokenizerFast, config: PreTrainedConfig) -> None:
    """Names the special pieces that the tokenizer itself puts around a sentence, those that the configuration knows by
    number, and one to pad with: any does that the attention mask hides."""
    config = config.get_text_config()
    encoded = tokenizer("a", return_special_tokens_mask=True)
    ids, special = encoded["input_ids"], encoded["special_tokens_mask"]
    found = {
        "cls": ids[0] if special and special[0] else None,
        "sep": ids[-1] if special and special[-1] else None,
        "mask": getattr(config, "mask_token_id", None),
        "pad": getattr(config, "pad_token_id", None),
    }
    for role, piece in found.items():
        token = tokenizer.convert_ids_to_tokens(piece) if isinstance(piece, int) and piece >= 0 else None
        if getattr(tokenizer, f"{role}_token") is None and token is not None:
            setattr(tokenizer, f"{role}_token", token)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.sep_token or tokenizer.unk_token or tokenizer.convert_ids_to_tokens(0)


def require_fit(tokenizer: PreTrainedTokenizerFast, rows: int, name: str) -> None:
    """Raises `BertologyError` where the tokenizer has a piece beyond the last row of the model's table."""
    last = max(tokenizer.get_vocab().values())
    if last >= rows:
        raise BertologyError(
            f"Tokenizer and model of '{name}' do not fit: there is a piece number {last:,}, and the table of the model "
            f"has {rows:,} rows."
        )
