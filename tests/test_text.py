"""Words and pieces: pooling, batching and encodings."""

import pytest
import torch

from bertology_utils.activations import sentence_vectors, word_vectors
from bertology_utils.errors import BertologyError
from bertology_utils.text import collate, encode_words, pool_pieces, token_budget_batches, word_matrix

SENTENCES = [["the", "dog", "unbelievable", "."], ["a", "bird"]]


def test_words_of_several_pieces_are_tracked(tiny):
    encoding = encode_words(tiny, SENTENCES)[0]
    assert encoding.word_ids[0] is None and encoding.word_ids[-1] is None
    assert encoding.word_ids.count(2) > 1
    assert len(encoding) == len(encoding.word_ids) == len(encoding.segment_ids)


def test_second_segments_continue_the_count(tiny):
    encoding = encode_words(tiny, [["the", "dog"]], [["a", "bird"]])[0]
    assert [w for w in encoding.word_ids if w is not None][-1] == 3
    assert encoding.segment_ids[-1] == 1


def test_batches_hold_every_index_once_within_the_budget():
    lengths = [5, 90, 7, 33, 8, 61, 5, 200]
    batches = token_budget_batches(lengths, budget=100)
    assert sorted(i for b in batches for i in b) == list(range(len(lengths)))
    assert all(len(b) == 1 or len(b) * max(lengths[i] for i in b) <= 100 for b in batches)


def test_the_averaging_matrix_is_pooling_by_mean(tiny):
    encodings = encode_words(tiny, SENTENCES)
    pieces = collate(encodings, tiny.tokenizer.pad_token_id)["input_ids"].shape[1]
    hidden = torch.randn(2, pieces, 8)
    pooled = word_matrix(encodings, pieces) @ hidden
    for row, encoding in enumerate(encodings):
        expected = pool_pieces(hidden[row, : len(encoding)], encoding.word_ids)
        assert torch.allclose(pooled[row, : len(expected)], expected, atol=1e-6)


def test_first_last_and_mean_of_pieces():
    hidden = torch.arange(5.0)[:, None]
    word_ids = [None, 0, 1, 1, None]
    assert pool_pieces(hidden, word_ids).flatten().tolist() == [1, 2.5]
    assert pool_pieces(hidden, word_ids, "first").flatten().tolist() == [1, 2]
    assert pool_pieces(hidden, word_ids, "last").flatten().tolist() == [1, 3]


def test_batching_and_padding_do_not_change_vectors(tiny):
    together = word_vectors(tiny, SENTENCES)
    for sentence, vectors in zip(SENTENCES, together, strict=True):
        assert vectors.shape == (tiny.layers + 1, len(sentence), tiny.width)
        assert torch.allclose(word_vectors(tiny, [sentence])[0], vectors, atol=1e-5)


def test_sentence_vectors_are_the_mean_over_words(tiny):
    means = sentence_vectors(tiny, SENTENCES)
    for i, vectors in enumerate(word_vectors(tiny, SENTENCES)):
        assert torch.allclose(means[:, i], vectors.mean(1), atol=1e-5)


def test_what_does_not_fit_is_told(tiny):
    with pytest.raises(BertologyError, match="too long"):
        encode_words(tiny, [["dog"] * 500])
    with pytest.raises(BertologyError, match="without words"):
        encode_words(tiny, [[]])
