"""The fast masked-word scores against their plain definitions, on tiny random models of several architectures."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from scipy.spatial.distance import jensenshannon
from scipy.stats import spearmanr

from bertology_utils.errors import BertologyError
from bertology_utils.instruments import cloze
from bertology_utils.text import Encoding, encode_words

SIZES = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32}
ARCHITECTURES = {
    "Bert": SIZES,
    "Bert+NSP": SIZES,
    "Roberta": SIZES | {"max_position_embeddings": 66},
    "Albert": SIZES | {"embedding_size": 8},
    "Electra": SIZES | {"embedding_size": 8},
    "DistilBert": {"n_layers": 2, "n_heads": 2, "dim": 16, "hidden_dim": 32},
}


def vocabulary_words(specimen, single=True):
    """Lower-case words of the vocabulary, or continuation pieces."""
    vocabulary = sorted(specimen.tokenizer.get_vocab())
    return [w for w in vocabulary if w.isalpha()] if single else [w for w in vocabulary if w.startswith("##")]


@pytest.fixture
def sentences(tiny):
    words = [word for word in vocabulary_words(tiny) if cloze.single_piece(tiny, word) is not None]
    rng = np.random.default_rng(0)
    return [[str(word) for word in rng.choice(words, size)] for size in (3, 5, 4, 6, 5)]


@pytest.fixture(params=ARCHITECTURES)
def any_architecture(request, tiny):
    torch.manual_seed(0)
    tokenizer = tiny.tokenizer
    family = request.param.removesuffix("+NSP")
    config = getattr(transformers, f"{family}Config")(
        vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **ARCHITECTURES[request.param]
    )
    head = "ForPreTraining" if request.param == "Bert+NSP" else "ForMaskedLM"
    model = getattr(transformers, family + head)(config).eval()
    return replace(tiny, name=request.param, model=model)


def full_logits(specimen, ids):
    """Logits (pieces, vocabulary) of one input from the whole model, every position decoded."""
    with torch.no_grad():
        output = specimen.model(input_ids=torch.as_tensor(ids)[None])
    return (output.prediction_logits if "prediction_logits" in output else output.logits)[0]


def split_word_encoding(specimen):
    """Three words, the middle one of three pieces, without asking the tokenizer to split anything."""
    tokenizer, ids = specimen.tokenizer, [cloze.single_piece(specimen, w) for w in vocabulary_words(specimen)]
    ids = [i for i in ids if i is not None][:5]
    return Encoding([tokenizer.cls_token_id, *ids, tokenizer.sep_token_id], [None, 0, 1, 1, 1, 2, None], [0] * 7)


def naive_score(specimen, encoding, variant):
    """One mask, one forward pass, all logits: the plain definition."""
    total = 0.0
    for position, word in enumerate(encoding.word_ids):
        if word is None:
            continue
        ids = torch.tensor(encoding.input_ids)
        same = [i for i, w in enumerate(encoding.word_ids) if w == word]
        masked = {
            "original": [position],
            "within_word_l2r": [i for i in same if i >= position],
            "whole_word": same,
        }[variant]
        ids[masked] = specimen.tokenizer.mask_token_id
        total += torch.log_softmax(full_logits(specimen, ids)[position], -1)[encoding.input_ids[position]].item()
    return total


def test_masked_rows_equal_full_logits(any_architecture, sentences):
    specimen, encodings = any_architecture, encode_words(any_architecture, sentences)
    queries = [cloze.Query(tuple(e.input_ids), tuple(e.segment_ids), 2) for e in encodings]
    for indices, rows in cloze.decode(specimen, queries, budget=16):
        for index, row in zip(indices, rows, strict=True):
            full = full_logits(specimen, encodings[index].input_ids)[2]
            torch.testing.assert_close(row, torch.log_softmax(full, -1), atol=1e-4, rtol=0)


def test_hook_is_removed(tiny, sentences):
    cloze.pseudo_log_likelihood(tiny, sentences[:1])
    ids = encode_words(tiny, sentences)[0].input_ids
    assert full_logits(tiny, ids).shape == (len(ids), tiny.vocabulary_size)


@pytest.mark.parametrize("variant", cloze.VARIANTS)
def test_batched_score_equals_naive_loop(tiny, sentences, variant, monkeypatch):
    encodings = [*encode_words(tiny, sentences), split_word_encoding(tiny)]
    monkeypatch.setattr(cloze, "encode_words", lambda specimen, given: encodings)
    fast = cloze.pseudo_log_likelihood(tiny, [*sentences, ["one", "two", "three"]], variant, budget=40)
    np.testing.assert_allclose(fast, [naive_score(tiny, e, variant) for e in encodings], atol=1e-4)


def test_variants_mask_the_named_pieces(tiny):
    encoding, mask = split_word_encoding(tiny), tiny.tokenizer.mask_token_id
    masked = {
        variant: [i for i, piece in enumerate(cloze._mask_piece(tiny, encoding, 3, variant).input_ids) if piece == mask]
        for variant in cloze.VARIANTS
    }
    assert masked == {"original": [3], "within_word_l2r": [3, 4], "whole_word": [2, 3, 4]}


def test_equal_queries_run_once(tiny, sentences, monkeypatch):
    run, batches = [], cloze.batches

    def counted(specimen, lengths, *limits):
        run.extend(lengths)
        return batches(specimen, lengths, *limits)

    monkeypatch.setattr(cloze, "batches", counted)
    scores = cloze.pseudo_log_likelihood(tiny, [sentences[0]] * 4)
    assert len(run) == len(sentences[0]) and len(set(scores.tolist())) == 1


def test_unknown_variant_is_told(tiny, sentences):
    with pytest.raises(BertologyError, match="variant"):
        cloze.pseudo_log_likelihood(tiny, sentences, "global")


def test_candidates_outside_the_vocabulary_are_uncovered_not_wrong(tiny, sentences):
    known = vocabulary_words(tiny)[:2]
    scores = cloze.word_log_probability(tiny, sentences[:2], [1, 1], [known, [known[0], "qzxqzxqzx"]])
    assert scores.covered.tolist() == [True, False] and scores.coverage == 0.5
    assert np.isnan(scores.log_probabilities[1, 1]) and len(cloze.preferred(scores)) == 1


def test_word_log_probability_equals_full_logits(tiny, sentences):
    words = vocabulary_words(tiny)[:3]
    scores = cloze.word_log_probability(tiny, sentences[:1], [2], [words])
    encoding = encode_words(tiny, [cloze.mask_word(sentences[0], 2)])[0]
    position = encoding.input_ids.index(tiny.tokenizer.mask_token_id)
    full = torch.log_softmax(full_logits(tiny, encoding.input_ids)[position], -1)
    expected = [full[cloze.single_piece(tiny, word)].item() for word in words]
    np.testing.assert_allclose(scores.log_probabilities[0], expected, atol=1e-4)


def test_focus_preference_sees_a_planted_word(tiny, sentences):
    good, bad = vocabulary_words(tiny)[:2]

    class Pair:
        focus = 1

    Pair.good, Pair.bad = [sentences[0][0], good, *sentences[0][2:]], [sentences[0][0], bad, *sentences[0][2:]]
    output = tiny.model.get_output_embeddings()
    before = output.bias.detach().clone()
    try:
        output.bias.data[cloze.single_piece(tiny, good)] += 10.0
        assert cloze.preferred(cloze.focus_preference(tiny, [Pair])).tolist() == [True]
        filled = cloze.fill_in(tiny, [cloze.mask_word(Pair.good, 1)], k=2)
        assert filled.words[0][0] == good and filled.probabilities[0, 0] > filled.probabilities[0, 1]
    finally:
        output.bias.data.copy_(before)


def test_restricted_candidates_are_renormalised(tiny, sentences):
    words = vocabulary_words(tiny)[:3]
    filled = cloze.fill_in(tiny, [cloze.mask_word(sentences[0], 0)], candidates=[*words, "qzxqzxqzx"], k=10)
    assert sorted(filled.words[0]) == sorted(words) and filled.probabilities.sum() == pytest.approx(1.0, abs=1e-5)


def test_hits_are_counted_within_k(tiny, sentences):
    filled = cloze.fill_in(
        tiny, [cloze.mask_word(sentence, 0) for sentence in sentences[:3]], ["the", "a", "every", "no"], k=3
    )
    answers = [[filled.words[0][0]], [filled.words[1][2], "qzxqzxqzx"], ["qzxqzxqzx"]]
    assert cloze.hits_at(tiny, filled, answers, k=1).tolist() == [True, False, False]
    assert cloze.hits_at(tiny, filled, answers, k=3).tolist() == [True, True, False]
    assert cloze.answerable(tiny, answers).tolist() == [True, True, False]


def test_fill_in_wants_exactly_one_mask(tiny, sentences):
    with pytest.raises(BertologyError, match="Exactly one"):
        cloze.fill_in(tiny, [sentences[0]])


def test_no_head_is_told(tiny, sentences):
    headless = replace(tiny, has_mlm_head=False)
    with pytest.raises(BertologyError, match="no masked-language-model head"):
        cloze.pseudo_log_likelihood(headless, sentences)


def test_comparisons_equal_scipy(tiny, sentences):
    masked = [cloze.mask_word(sentence, 1) for sentence in sentences]
    first = cloze.masked_distributions(tiny, masked)
    second = first.roll(1, dims=0)
    compared = cloze.compare_distributions(first, second)
    p, q = first[0].exp().numpy().astype(float), second[0].exp().numpy().astype(float)
    assert compared["jensen_shannon"][0] == pytest.approx(jensenshannon(p, q) ** 2, abs=1e-6)
    assert compared["spearman"][0] == pytest.approx(spearmanr(p, q).statistic, abs=1e-5)
    assert compared["kl"][0] == pytest.approx((p * np.log(p / q)).sum(), abs=1e-5)
    alone = cloze.compare_distributions(first, second, ["kl"])
    assert list(alone) == ["kl"] and np.array_equal(alone["kl"], compared["kl"])
    same = cloze.compare_distributions(first, first)
    assert same["top1_agreement"].all() and np.allclose(same["kl"], 0) and np.allclose(same["spearman"], 1)
