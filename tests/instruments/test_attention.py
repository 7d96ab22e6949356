"""Streamed statistics against whole arrays, word-level maps, distances, relations and patterns on planted maps."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from scipy.spatial.distance import jensenshannon

from bertology_utils.errors import BertologyError
from bertology_utils.instruments import attention, relations
from bertology_utils.text import Encoding, encode_words

ENCODING = Encoding([1] * 6, [None, 0, 0, 1, 2, None], [0] * 6)


@pytest.fixture
def eager(tiny_eager):
    return tiny_eager


@pytest.fixture
def sentences(tiny):
    words = [w for w in sorted(tiny.tokenizer.get_vocab()) if w.isalpha()]
    rng = np.random.default_rng(1)
    return [[*(str(w) for w in rng.choice(words, size)), "."] for size in (3, 6, 4, 6, 5)]


def random_maps(*shape):
    return torch.softmax(torch.randn(*shape, generator=torch.Generator().manual_seed(0)), dim=-1)


# --- maps and statistics


def test_other_kernels_are_refused(tiny, sentences):
    with pytest.raises(BertologyError, match="eager"):
        next(attention.attention_maps(tiny, sentences))


def test_streamed_statistics_equal_whole_array(eager, sentences):
    streamed = attention.head_statistics(eager, sentences, budget=12)
    for index, encoding in enumerate(encode_words(eager, sentences)):
        ids = torch.tensor([encoding.input_ids])
        with torch.no_grad():
            maps = torch.stack(eager.encoder(input_ids=ids, output_attentions=True).attentions)[:, 0].numpy()
        size = maps.shape[-1]
        expected = {
            "cls": maps[..., 0].mean(-1),
            "sep": maps[..., -1].mean(-1),
            "previous": np.mean([maps[..., i, i - 1] for i in range(1, size)], axis=0),
            "next": np.mean([maps[..., i, i + 1] for i in range(size - 1)], axis=0),
            "self": np.mean([maps[..., i, i] for i in range(size)], axis=0),
            "punctuation": maps[..., -2].mean(-1),
            "end": maps[..., -2:].sum(-1).mean(-1),
            "own_segment": maps[..., 1:-1].sum(-1).mean(-1),
            "entropy": -(maps * np.log(maps)).sum(-1).mean(-1),
        }
        for name, values in expected.items():
            np.testing.assert_allclose(streamed[name][index], values, atol=1e-5, err_msg=name)
    assert np.isnan(streamed["other_segment"]).all()


def test_pairs_have_another_segment(eager, sentences):
    statistics = attention.head_statistics(eager, sentences[:2], pairs=sentences[2:4], sources="words")
    total = sum(statistics[name] for name in ("own_segment", "other_segment", "cls", "sep"))
    np.testing.assert_allclose(total, 1, atol=1e-5)
    with pytest.raises(BertologyError, match="source"):
        attention.head_statistics(eager, sentences, sources="verbs")


def test_norm_weighting_equals_explicit_products(eager, sentences):
    _, encoding, weighted = next(attention.attention_maps(eager, sentences[:1], weighting="norm"))
    ids = torch.tensor([encoding.input_ids])
    with torch.no_grad():
        out = eager.encoder(input_ids=ids, output_attentions=True, output_hidden_states=True)
    block, size = eager.encoder.encoder.layer[1].attention, eager.width // eager.heads
    with torch.no_grad():
        values = block.self.value(out.hidden_states[1])[0, :, -size:]  # last head of the second block
        moved = values @ block.output.dense.weight[:, -size:].T
        expected = (out.attentions[1][0, -1][:, :, None] * moved[None]).norm(dim=-1)
    torch.testing.assert_close(weighted[1, -1], expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("family", ["Albert", "DistilBert", "Roberta", "Electra"])
def test_maps_of_other_architectures(eager, sentences, family):
    """Norm-weighted rows of one head are its attention rows scaled by column, wherever the projections live."""
    sizes = {"num_hidden_layers": 3, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32}
    config = getattr(transformers, f"{family}Config")(vocab_size=len(eager.tokenizer), pad_token_id=0, **sizes)
    config._attn_implementation = "eager"
    specimen = replace(eager, name=family, model=getattr(transformers, f"{family}ForMaskedLM")(config).eval())
    runs = [attention.attention_maps(specimen, sentences, weighting=name) for name in ("attention", "norm")]
    for (_, _, maps), (_, _, weighted) in zip(*runs, strict=True):
        assert maps.shape[:2] == (3, 2)
        factors = weighted / maps
        torch.testing.assert_close(factors, factors[..., :1, :].expand_as(factors))
        assert (factors > 0).all()


def test_word_level_map_sums_targets_and_averages_sources():
    maps = random_maps(2, 3, 6, 6)
    words = attention.word_level_map(maps, ENCODING)
    assert words.shape == (2, 3, 3, 3)
    torch.testing.assert_close(words[..., 1, 0], maps[..., 3, 1] + maps[..., 3, 2])
    torch.testing.assert_close(words[..., 0, 2], (maps[..., 1, 4] + maps[..., 2, 4]) / 2)
    whole = attention.word_level_map(maps, ENCODING, keep_special=True)
    torch.testing.assert_close(whole.sum(-1), torch.ones(2, 3, 5))
    assert (words.sum(-1) < 1).all()


def test_jensen_shannon_identity_equals_definition():
    heads = random_maps(4, 3, 6).double()
    expected = [[sum(jensenshannon(a[r], b[r]) ** 2 for r in range(3)) for b in heads.numpy()] for a in heads.numpy()]
    np.testing.assert_allclose(attention.summed_divergence(heads), expected, atol=1e-6)


def test_head_distances_are_a_symmetric_matrix(eager, sentences):
    distances = attention.head_distances(eager, sentences)
    assert distances.shape == (eager.layers * eager.heads,) * 2
    np.testing.assert_allclose(distances, distances.T)
    np.testing.assert_allclose(np.diag(distances), 0, atol=1e-9)


# --- relations


class Tree:
    """Words that all hang on the word before them, the first being the root."""

    def __init__(self, words):
        self.words, self.heads, self.deprels = tuple(words), tuple(range(-1, len(words) - 1)), ("root",)
        self.deprels += ("dep",) * (len(words) - 1)


def test_a_planted_head_wins_and_is_named(eager, sentences, monkeypatch):
    """Head 2-1 attends to the head of each word; the offset of -1 is exact too, since trees are chains."""

    def planted(specimen, words, **_):
        for index, encoding in enumerate(encode_words(specimen, words)):
            size = len(encoding.input_ids)
            maps = torch.full((specimen.layers, specimen.heads, size, size), 1.0 / size)
            maps[1, 0] = 0.9 * torch.roll(torch.eye(size), -1, dims=1) + 0.1 / size
            yield index, encoding, maps

    monkeypatch.setattr(relations, "attention_maps", planted)
    score = relations.relation_scores(eager, [Tree(s) for s in sentences])["all"]
    assert score.name == "2-1" and score.direction == "dependent" and score.offset == -1
    assert score.head_hits.all() and score.offset_hits.all() and score.n == sum(len(s) - 1 for s in sentences[1::2])


def test_roots_and_punctuation_are_no_relations():
    tree = Tree(["a", "b", "."])
    tree.deprels = ("root", "dep", "punct")
    assert relations.gold_edges([tree]) == [relations.Edge(0, 1, 0, "dep")]


def test_a_relation_is_frequent_where_either_half_holds_enough_of_it():
    trees = [Tree(["a", "b", "c"]) for _ in range(4)]
    trees[0].deprels = trees[2].deprels = ("root", "dep", "rare")
    trees[1].deprels = ("root", "dep", "rare")
    assert relations.frequent_relations(trees, 2) == ["dep"]
    assert relations.frequent_relations(trees, 1) == ["dep", "rare"]


def test_the_relations_that_are_asked_for_are_scored(eager, sentences):
    scores = relations.relation_scores(eager, [Tree(s) for s in sentences], ["dep"])
    assert set(scores) == {"all", "dep"}


def test_heads_and_baselines_share_the_scorer():
    edges = [relations.Edge(0, 0, 1, "det"), relations.Edge(0, 1, 2, "nsubj"), relations.Edge(1, 2, 0, "obj")]
    hits = relations.evaluate_predictor(relations.fixed_offsets([3, 3], offsets=(1, -2)), edges)
    assert hits.correct.tolist() == [[True, False], [True, False], [False, True]]
    assert hits.of("det").tolist() == [True, False, False] and hits.of("all").all()
    single = relations.evaluate_predictor(lambda index: np.array([1, 2, 0]), edges)
    assert single.correct.tolist() == [True, True, True]
    with pytest.raises(BertologyError):
        relations.evaluate_predictor(lambda index: np.zeros(3), [])


def test_argmax_never_takes_the_word_itself_or_special_pieces(eager, sentences):
    predictors = relations.head_predictors(eager, sentences)
    for predict in predictors.values():
        for index, sentence in enumerate(sentences):
            partners = predict(index)
            assert partners.shape == (eager.layers, eager.heads, len(sentence))
            assert (partners != np.arange(len(sentence))).all() and partners.max() < len(sentence)


def test_relation_scores_of_a_real_run(eager, sentences):
    scores = relations.relation_scores(eager, [Tree(s) for s in sentences], minimum=5)
    assert set(scores) == {"all", "dep"} and scores["all"].head_hits.dtype == bool


# --- patterns

PAIR_WORDS = np.array([False, *[True] * 6, False, *[True] * 6, False])
PAIR_SEGMENTS = np.array([0] * 8 + [1] * 7)
SIZE = len(PAIR_WORDS)


def synthetic(kind, noise):
    """A map (pieces, pieces) of a known pattern, mixed with a share of random attention."""
    column, after, before = np.zeros((SIZE, SIZE)), np.eye(SIZE, k=1), np.eye(SIZE, k=-1)
    column[:, ~PAIR_WORDS] = 1
    block = (PAIR_SEGMENTS[:, None] == PAIR_SEGMENTS[None, :]).astype(float)
    neighbours = after + before + 1e-9
    shape = {
        "vertical": column,
        "diagonal": neighbours,
        "vertical+diagonal": column / column.sum(1, keepdims=True) + neighbours / neighbours.sum(1, keepdims=True),
        "block": block,
        "broad": np.ones((SIZE, SIZE)),
        "heterogeneous": np.eye(SIZE)[np.random.default_rng(1).choice(np.flatnonzero(PAIR_WORDS), SIZE)] + 1e-9,
    }[kind]
    shape = shape / shape.sum(1, keepdims=True)
    random = np.random.default_rng(0).dirichlet([0.3] * SIZE, size=SIZE)
    return (1 - noise) * shape + noise * random


@pytest.mark.parametrize("kind", relations.PATTERNS)
@pytest.mark.parametrize("noise", [0.0, 0.2, 0.3])
def test_synthetic_maps_are_recognised(kind, noise):
    same = PAIR_SEGMENTS[:, None] == PAIR_SEGMENTS[None, :]
    masks = {
        "previous": np.eye(SIZE, k=-1, dtype=bool),
        "next": np.eye(SIZE, k=1, dtype=bool),
        "own_segment": same & PAIR_WORDS,
        "other_segment": ~same & PAIR_WORDS,
    }
    maps = torch.from_numpy(synthetic(kind, noise))
    code = relations.classify_patterns(relations.pattern_features(maps, masks, PAIR_WORDS))
    assert relations.PATTERNS[int(code)] == kind


def test_broad_is_what_no_other_rule_claims():
    """A map that is even over its own segment is a block, though its entropy may be near the greatest."""
    features = relations.PatternFeatures(*(np.array([x]) for x in (0.0, 0.0, 0.9, 0.9, 0.85)))
    assert relations.PATTERNS[int(relations.classify_patterns(features)[0])] == "block"
    features = relations.PatternFeatures(*(np.array([x]) for x in (0.0, 0.0, 0.1, 0.9, 0.75)))
    assert relations.PATTERNS[int(relations.classify_patterns(features)[0])] == "heterogeneous"


def test_patterns_of_a_real_run(eager, sentences):
    patterns = relations.map_patterns(eager, sentences[:2], pairs=sentences[2:4])
    assert patterns.shape == (2, eager.layers, eager.heads)
    assert set(patterns.flat) <= set(range(len(relations.PATTERNS)))
    planted = relations.planted_patterns(eager, sentences[:2], sentences[2:4])
    assert planted["scattered"].shape == (2, 1, 1)
    for name, pattern in (("scattered", "heterogeneous"), ("even", "broad")):
        assert (planted[name] == relations.PATTERNS.index(pattern)).all()
    single = relations.map_patterns(eager, sentences)
    assert (single != relations.PATTERNS.index("block")).all()
