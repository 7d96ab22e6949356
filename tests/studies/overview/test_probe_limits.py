"""The exclusive or needs a hidden layer; removal takes away what a probe read, and the head is asked without it."""

import numpy as np
import torch

from bertology_utils.language.grammar import generate
from bertology_utils.studies.overview import probe_limits
from bertology_utils.studies.overview.anatomy import masked_queries, masked_scores

SENTENCES = [sentence.words for sentence in generate(20, seed=3)]
MORE = generate(240, seed=4)  # 40 items would teach the probe too little


def planted(monkeypatch) -> None:
    """Sentence vectors that count people: one informative dimension among noise."""

    def fake(specimen, sentences):
        people = set(" ".join(probe_limits.PEOPLE.values()).split())
        counts = torch.tensor([float(sum(word in people for word in words)) for words in sentences])
        noise = torch.randn(len(counts), 5, generator=torch.Generator().manual_seed(len(sentences)))
        return torch.cat([counts[:, None], 0.1 * noise], dim=1)[None].repeat(specimen.layers + 1, 1, 1)

    monkeypatch.setattr(probe_limits, "sentence_vectors", fake)


def test_only_the_deeper_probe_finds_the_exclusive_or(monkeypatch, tiny) -> None:
    planted(monkeypatch)
    found = probe_limits.exclusive_or(tiny, 200)
    assert found["mlp"].mean() > 0.9 and abs(found["linear"].mean() - 0.5) < 0.15


def test_labels_are_balanced_and_nouns_unseen() -> None:
    (train, labels), (test, _) = probe_limits.same_kind(80), probe_limits.same_kind(80, "test")
    assert labels.sum() == 40
    assert not {s[1] for s in train} & {s[1] for s in test}


def test_removal_takes_the_property_away(monkeypatch, tiny) -> None:
    def fake(specimen, queries):
        vectors = torch.randn(len(queries), specimen.width, generator=torch.Generator().manual_seed(0))
        vectors[:, 3] += torch.tensor([8.0 * (2 * q.position < len(q.input_ids)) for q in queries])
        return vectors

    monkeypatch.setattr(probe_limits, "query_vectors", fake)
    found = probe_limits.unused_property(tiny, MORE)
    assert found["found"].mean() > 0.9 and found["removed"].mean() < 0.75
    assert found["effect"].shape == found["found"].shape and len(found["effect"]) == 5


def test_the_head_says_of_last_vectors_what_the_model_says_of_blanks(tiny) -> None:
    queries, targets = masked_queries(tiny, SENTENCES[:4])
    vectors = probe_limits.query_vectors(tiny, queries)
    expected = masked_scores(tiny, queries, targets)["loss"]
    assert np.allclose(probe_limits.losses(tiny, vectors, targets, rows=3), expected, atol=1e-5)
    assert not np.allclose(probe_limits.losses(tiny, torch.zeros_like(vectors), targets), expected)


def test_a_control_word_has_one_class_wherever_it_stands(tiny) -> None:
    tags = probe_limits.TagTask.of(12)
    assert len(tags.tags[1]) == len(tags.control[1]) == len(tags.words)
    classes = {(word, label) for word, label in zip(tags.words, tags.control[1], strict=True)}
    assert len(classes) == len(set(tags.words))
    found = tags.selectivities(tiny)
    assert set(found) == {"linear_selectivity", "mlp_selectivity"}
    assert all(v.shape[1] == len(set(tags.words)) and abs(v.mean()) <= 1 for v in found.values())  # (seeds, words)
