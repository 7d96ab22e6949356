"""Any masked language model by its hub id: seven kinds with their kinds of tokenizers, from a cache on disk.

The models are small and random; the cache has the hub's own layout (blobs apart, a snapshot by commit, refs/main).
"""

import numpy as np
import pytest
import torch
from hub_cache import COMMIT, KINDS

from bertology_utils.activations import sentence_vectors, word_vectors
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.cloze import fill_in, pseudo_log_likelihood
from bertology_utils.models import load, twin, with_attention
from bertology_utils.text import encode_words

pytestmark = pytest.mark.usefixtures("only_this_cache")
SENTENCES = [["The", "dogs", "sing", "unbelievably", "."], ["Nobody", "listens", "."]]


@pytest.fixture(params=KINDS, scope="module")
def name(request):
    return request.param


def test_identity_is_the_commit_and_the_weights(name):
    specimen = load(name)
    assert specimen.revision == COMMIT and len(specimen.sha256) == 64 and specimen.has_mlm_head
    assert (specimen.layers, specimen.heads, specimen.width) == (2, 4, 32)


def test_no_word_is_lost_or_unknown(name):
    specimen = load(name)
    for sentence, encoding in zip(SENTENCES, encode_words(specimen, SENTENCES), strict=True):
        assert {w for w in encoding.word_ids if w is not None} == set(range(len(sentence)))
        assert encoding.word_ids[0] is None and encoding.word_ids[-1] is None
        assert specimen.tokenizer.unk_token_id not in encoding.input_ids[1:3]


def test_invisible_words_count_as_unknown_ones(name):
    words = ["The", "\u200b", "dogs", "\u00ad"]
    encoding = encode_words(load(name), [words], [["\u200b"]])[0]
    assert set(encoding.word_ids) == {None, 0, 1, 2, 3, 4}


def test_byte_level_pieces_know_that_a_word_begins():
    specimen = load("roberta-base")
    pieces = specimen.tokenizer.convert_ids_to_tokens(encode_words(specimen, [["The", "dogs", "run"]])[0].input_ids)
    assert pieces[-3:-1] == ["Ġdogs", "Ġrun"]


def test_vectors_are_those_of_the_plain_model(name):
    specimen = load(name)
    together = word_vectors(specimen, SENTENCES)
    encoding = encode_words(specimen, SENTENCES)[1]
    with torch.no_grad():
        plain = specimen.encoder(torch.tensor([encoding.input_ids]), output_hidden_states=True).hidden_states
    assert together[1].shape == (3, 3, 32) and len(plain) == 3
    first = [p for p, w in enumerate(encoding.word_ids) if w == 0]
    for layer, hidden in enumerate(plain):
        assert torch.allclose(together[1][layer, 0], hidden[0, first].mean(0), atol=1e-5)
    assert sentence_vectors(specimen, SENTENCES).shape == (3, 2, 32)


def test_pseudo_log_likelihood_is_that_of_the_plain_model(name):
    specimen = load(name)
    encoding = encode_words(specimen, SENTENCES[1:])[0]
    expected = 0.0
    for position, word in enumerate(encoding.word_ids):
        if word is not None:
            ids = list(encoding.input_ids)
            ids[position] = specimen.tokenizer.mask_token_id
            with torch.no_grad():
                logits = specimen.model(torch.tensor([ids])).logits[0, position]
            expected += torch.log_softmax(logits, -1)[encoding.input_ids[position]].item()
    scores = pseudo_log_likelihood(specimen, SENTENCES, variant="original")
    assert np.isclose(scores[1], expected, atol=1e-3) and scores.shape == (2,)


def test_blanks_are_filled_in(name):
    specimen = load(name)
    completions = fill_in(specimen, [["The", "dogs", "[MASK]", "."]], k=3)
    assert completions.probabilities.shape == (1, 3) and 0 < completions.probabilities.sum() <= 1


def test_twin_and_attention_maps(name):
    specimen = load(name)
    other = twin(specimen)
    assert other.name == f"random:{name}" and other.vocabulary_size == specimen.vocabulary_size
    with torch.no_grad():
        maps = with_attention(other, "eager").encoder(torch.tensor([[2, 6, 3]]), output_attentions=True).attentions
    assert len(maps) == 2 and maps[0].shape == (1, 4, 3, 3)
    vectors = [word_vectors(s, SENTENCES)[0] for s in (specimen, with_attention(specimen, "eager"))]
    assert torch.allclose(*vectors, atol=1e-5)
    assert not torch.allclose(word_vectors(specimen, SENTENCES)[0], word_vectors(other, SENTENCES)[0])


def test_what_is_too_long_is_told_before_the_model_fails(name):
    specimen = load(name)
    longest = specimen.max_pieces
    with torch.no_grad():
        specimen.encoder(torch.full((1, longest), 6))  # the promised length is accepted
    with pytest.raises(BertologyError, match="too long"):
        encode_words(specimen, [["dogs"] * 80])


def test_what_is_not_cached_is_told_at_once():
    with pytest.raises(BertologyError, match="not in the local cache"):
        load("bert-large-uncased")
