"""Words, pieces and batches of any text: what must hold of all of it, tried on texts that nobody would think of."""

from itertools import chain

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertology_utils.activations import word_vectors
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.cloze import pseudo_log_likelihood
from bertology_utils.text import collate, encode_words, pool_pieces, token_budget_batches, word_matrix

WORD = st.one_of(
    st.text(max_size=6), st.sampled_from(["dog", "dogs", "[SEP]", "[MASK]", "\u200b", "e\u0301", "\ufeff", "a b"])
)
SENTENCE = st.lists(WORD, min_size=1, max_size=6)
SENTENCES = st.lists(SENTENCE, min_size=1, max_size=5)


@given(first=SENTENCES, second=SENTENCE)
def test_every_word_has_pieces_and_every_piece_its_word(tiny, first, second):
    for pairs in (None, [second] * len(first)):
        for sentence, encoding in zip(first, encode_words(tiny, first, pairs), strict=True):
            of_words = [w for w in encoding.word_ids if w is not None]
            count = len(sentence) + (len(second) if pairs else 0)
            assert of_words == sorted(of_words) and set(of_words) == set(range(count))
            assert len(encoding) == len(encoding.word_ids) == len(encoding.segment_ids)


@given(sentences=SENTENCES)
def test_averaging_by_matrix_is_averaging_by_word(tiny, sentences):
    encodings = encode_words(tiny, sentences)
    width = max(map(len, encodings))
    matrix = word_matrix(encodings, width)
    for row, encoding in enumerate(encodings):
        hidden = torch.randn(width, 3)
        by_word = pool_pieces(hidden[: len(encoding)], encoding.word_ids)
        assert torch.allclose(matrix[row, : len(by_word)] @ hidden, by_word, atol=1e-6)
        assert not matrix[row, len(by_word) :].any()


@given(sentences=SENTENCES)
def test_padding_adds_nothing(tiny, sentences):
    encodings = encode_words(tiny, sentences)
    batch = collate(encodings, tiny.tokenizer.pad_token_id)
    for row, encoding in enumerate(encodings):
        assert batch["attention_mask"][row].sum() == len(encoding)
        assert batch["input_ids"][row, : len(encoding)].tolist() == encoding.input_ids
        assert (batch["input_ids"][row, len(encoding) :] == tiny.tokenizer.pad_token_id).all()


@given(
    lengths=st.lists(st.integers(1, 600), max_size=40), budget=st.integers(1, 1024),
    most=st.none() | st.integers(1, 8), equal=st.booleans(),
)  # fmt: skip
def test_batches_hold_each_input_once_within_the_budget(lengths, budget, most, equal):
    batches = token_budget_batches(lengths, budget, most, equal)
    assert sorted(chain.from_iterable(batches)) == list(range(len(lengths)))
    for batch in batches:
        own = [lengths[i] for i in batch]
        assert len(batch) == 1 or (len(batch) * max(own) <= budget and len(batch) <= (most or budget))
        assert not equal or len(set(own)) == 1


@given(sentences=SENTENCES)
def test_a_sentence_means_the_same_alone_and_in_company(tiny, sentences):
    together = word_vectors(tiny, sentences)
    scores = pseudo_log_likelihood(tiny, sentences)
    for i, sentence in enumerate(sentences):
        assert torch.allclose(together[i], word_vectors(tiny, [sentence])[0], atol=1e-5)
        assert scores[i] == pytest.approx(pseudo_log_likelihood(tiny, [sentence])[0], abs=1e-3)


@given(given=st.one_of(st.text(), st.lists(st.text()), st.lists(st.lists(st.none() | st.integers() | st.text()))))
def test_what_is_no_list_of_sentences_is_refused_or_read(tiny, given):
    try:
        encodings = encode_words(tiny, given)
    except BertologyError as error:
        assert len(str(error).splitlines()) <= 2
    else:
        assert len(encodings) == len(given)
