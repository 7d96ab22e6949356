"""Every kind of masked language model that transformers knows: it runs as in plain transformers, or one line says why
not."""

import numpy as np
import pytest
import torch
from model_zoo import KINDS, PADDING_SENSITIVE, REFUSED, WITHOUT_MAPS, plain_score, save_model

from bertology_utils.activations import word_vectors
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.attention import attention_maps
from bertology_utils.instruments.cloze import pseudo_log_likelihood
from bertology_utils.models import load, twin, with_attention

SENTENCES = [["Nobody", "listens", "to", "the", "dogs", "."], ["A", "bird", "sings", "."], ["The", "dogs", "run", "."]]

ALL_ROWS_LAST = {"flaubert", "longformer", "squeezebert", "xlm"}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in REFUSED])
def test_a_masked_lm_scores_and_is_read_as_in_plain_transformers(kind, tmp_path):
    specimen = load(str(save_model(kind, tmp_path)))
    assert specimen.has_mlm_head and specimen.anatomy.head_reads_rows
    assert (specimen.layers, specimen.width) == (2, specimen.model.config.get_text_config().hidden_size)
    scores = pseudo_log_likelihood(specimen, SENTENCES, "original")
    assert scores[0] == pytest.approx(plain_score(specimen, SENTENCES[0]), abs=1e-4)
    assert bool(specimen.anatomy.read_at) == (kind not in ALL_ROWS_LAST)
    alone = [pseudo_log_likelihood(specimen, [words], "original")[0] for words in SENTENCES]
    np.testing.assert_allclose(scores, alone, atol=1e-4)
    vectors = word_vectors(specimen, SENTENCES)
    assert torch.allclose(vectors[1], word_vectors(specimen, SENTENCES[1:2])[0], atol=1e-4)
    assert specimen.anatomy.mixes_padding == (kind in PADDING_SENSITIVE)
    longest = torch.full((1, specimen.max_pieces), 9)
    with torch.no_grad():
        assert specimen.encoder(input_ids=longest).last_hidden_state.shape == (1, specimen.max_pieces, specimen.width)
    assert specimen.has_attention_maps == (kind not in WITHOUT_MAPS)
    if specimen.has_attention_maps:
        for _, encoding, maps in attention_maps(with_attention(specimen, "eager"), SENTENCES):
            assert maps.shape == (2, specimen.heads, len(encoding), len(encoding))
            assert torch.allclose(maps.sum(-1), torch.ones(()), atol=1e-3)
    assert not torch.allclose(word_vectors(twin(specimen), SENTENCES[:1])[0], vectors[0])


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_is_told_in_one_line(kind, tmp_path):
    with pytest.raises(BertologyError, match=REFUSED[kind]) as error:
        load(str(save_model(kind, tmp_path)))
    assert "\n" not in str(error.value)
