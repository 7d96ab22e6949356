"""Chunks as clusters of span vectors: spans, vectors, mutual information against its definition, planted kinds."""

import numpy as np
import pytest
import torch
from sklearn.metrics import normalized_mutual_info_score

from bertology_utils.activations import word_vectors
from bertology_utils.errors import BertologyError
from bertology_utils.estimation import Linear, estimate
from bertology_utils.instruments.clusters import cluster, information_values
from bertology_utils.language.grammar import generate
from bertology_utils.samples import by_unit
from bertology_utils.studies.layers import chunks as layer_chunks
from bertology_utils.studies.layers.chunks import Span
from bertology_utils.studies.layers.scores import LayerFeatures


def related(n=300, noise=0.4, seed=0):
    """Labels, and clusters that follow them but for a share of noise."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(4, size=n)
    return np.where(generator.random(n) < noise, generator.integers(3, size=n), labels % 3), labels


def plain_information(clusters, labels):
    """2 I / (H + H), straight from the formula."""

    def entropy(things):
        shares = np.array([things.count(thing) for thing in set(things)]) / len(things)
        return -(shares * np.log(shares)).sum()

    clusters, labels = list(clusters), list(labels)
    both = list(zip(clusters, labels, strict=True))
    total = entropy(clusters) + entropy(labels)
    return 2 * (total - entropy(both)) / total


@pytest.mark.parametrize("noise", [0, 0.3, 1])
def test_the_mean_of_the_values_is_the_measure(noise):
    clusters, labels = related(noise=noise)
    measured = information_values(clusters, labels).mean()
    assert measured == pytest.approx(plain_information(clusters, labels))
    assert measured == pytest.approx(normalized_mutual_info_score(labels, clusters))


def test_same_clusters_score_one_and_unrelated_ones_zero():
    labels = np.repeat(["NP", "VP"], 20)
    assert information_values(labels == "NP", labels) == pytest.approx(np.ones(40))
    assert information_values(np.tile([0, 1], 20), labels).mean() == pytest.approx(0)
    with pytest.raises(ValueError, match="more than one"):
        information_values([0, 0], ["NP", "NP"])


def test_values_of_sentences_spread_as_the_measure_on_resampled_sentences():
    clusters, labels = related(600, seed=3)
    sentences = np.random.default_rng(1).integers(80, size=600)
    values = by_unit(information_values(clusters, labels), [(s,) for s in sentences])
    assert values.mean() == pytest.approx(plain_information(clusters, labels))
    error = estimate(Linear(float(values.mean()), {"x": 1.0}), {"x": values}).error
    generator, again = np.random.default_rng(2), []
    for _ in range(1000):
        rows = np.concatenate([np.flatnonzero(sentences == s) for s in generator.choice(np.unique(sentences), 80)])
        again.append(normalized_mutual_info_score(labels[rows], clusters[rows]))
    assert error == pytest.approx(np.std(again), rel=0.15)


def test_planted_kinds_are_found_in_their_layer_alone():
    generator = np.random.default_rng(0)
    labels = generator.integers(3, size=240)
    planted, noise = np.eye(3)[labels] * 6 + generator.normal(size=(240, 3)), generator.normal(size=(240, 3))
    layers = np.stack([noise, planted]).astype(np.float32)
    found = cluster(layers[:, :160], layers[:, 160:], 3, range(3), groups=range(160))
    assert found.shape == (2, 3, 80)
    noise_score, planted_score = (
        np.mean([information_values(c, labels[160:]).mean() for c in layer]) for layer in found
    )
    assert planted_score > 0.9 and noise_score < 0.1


def test_spans_are_the_chunks_and_what_lies_between():
    tags = ["B-NP", "I-NP", "B-VP", "B-NP", "O", "O", "B-PP", "B-NP", "O"]
    assert layer_chunks.spans_of(tags, 7) == [
        Span(7, 0, 1, "NP"), Span(7, 2, 2, "VP"), Span(7, 3, 3, "NP"), Span(7, 4, 5, "O"), Span(7, 6, 6, "PP"),
        Span(7, 7, 7, "NP"), Span(7, 8, 8, "O"),
    ]  # fmt: skip


def test_six_phrases_are_drawn_for_each_stretch_between_them():
    spans = layer_chunks.draw_spans(generate(60), 60)
    assert [span.label == "O" for span in spans].count(True) == 10 and len(spans) == 70
    assert spans == layer_chunks.draw_spans(generate(60), 60)
    assert layer_chunks.draw_spans(generate(60), 60, seed=1) != spans


def test_span_vectors_are_made_of_the_first_and_the_last_word(tiny):
    sentences = generate(5, split="test")
    spans = layer_chunks.draw_spans(sentences, 20)
    vectors = layer_chunks.span_vectors(LayerFeatures(tiny), sentences, spans)
    assert vectors.shape == (tiny.layers + 1, len(spans), 4 * tiny.width)
    span = max(spans, key=lambda s: s.last - s.first)
    (words,) = word_vectors(tiny, [list(sentences[span.sentence].words)])
    first, last = words[:, span.first], words[:, span.last]
    expected = torch.cat([first, last, first * last, first - last], dim=-1)
    np.testing.assert_allclose(vectors[:, spans.index(span)], expected, atol=1e-5)


def test_chunk_information_has_a_value_for_each_layer_seed_and_sentence(tiny):
    train, test = generate(20), generate(12, split="test")
    found = layer_chunks.chunk_information(LayerFeatures(tiny), train, test, (60, 200), seeds=2)
    assert found.shape == (tiny.layers + 1, 2, 12)
    assert np.all((found.mean(2) > -1e-9) & (found.mean(2) < 1))
    one = layer_chunks.chunk_information(LayerFeatures(tiny), train, test, (60, 200), seeds=2, only=[1])
    assert one.shape == (tiny.layers + 1, 1, 12) and not np.array_equal(one[:, 0], found[:, 0])
    with pytest.raises(BertologyError, match="more than one kind"):
        layer_chunks.chunk_information(LayerFeatures(tiny), train, test, (1, 1))
