"""Words of parallel sentences: planted alignments by words and by tags alone, and classes that differ by language."""

import numpy as np
import pytest
import torch

from bertology_utils.language.ten_languages import gold_alignment, parallel_corpus
from bertology_utils.samples import by_unit
from bertology_utils.studies.mbert import aligned_words
from bertology_utils.studies.mbert.aligned_words import Alignment
from bertology_utils.studies.mbert.crosslingual import selected
from bertology_utils.studies.mbert.parallel_text import Vectors
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, judge

CORPUS = parallel_corpus(40, "test")


def planted(corpus, words=False) -> Vectors:
    """Two layers: at 0 noise, at 1 a direction of each word's role, or of the word itself, alike in all languages."""
    generator, directions = torch.Generator().manual_seed(0), {}

    def vector(english, role):
        said = dict(zip(english.roles, english.words, strict=True))
        key = said.get(role, role).lower() if words else role
        noise = torch.randn(64, generator=generator)
        return torch.stack([noise, directions.setdefault(key, torch.randn(64, generator=generator)) + 0.1 * noise])

    def of(rows):
        pairs = zip(corpus["en"], rows, strict=True)
        return [torch.stack([vector(english, role) for role in row.roles], 1) for english, row in pairs]

    return Vectors({code: of(rows) for code, rows in corpus.items()})


def test_alignment_of_planted_roles_is_nearly_perfect_and_full_stops_do_not_count():
    alignments = aligned_words.align(planted(CORPUS), CORPUS, limit=12)
    assert len(alignments) == 12 * 9
    scores = aligned_words.alignment_scores(alignments)
    assert scores.shape == (2, 108) and scores[1].mean() > 0.9 > 0.6 > scores[0].mean()
    assert all(i < len(a.source.words) - 1 for a in alignments for links in a.predicted for i, _ in links)
    found = aligned_words.links_found(alignments)
    assert found["closed_class"].mean() > 0.9 and found["open_class"].mean() > 0.9
    closed = {a.target.language for a in alignments[1::2] if a.found(1, closed=True)}
    both = [a for a in alignments[1::2] if a.target.language in closed]
    assert "tr" not in closed  # Turkish has no link of a closed class
    assert found["closed_class"].items + found["open_class"].items == sum(len(a.gold) for a in both)
    assert found["open_class"].shape == (len({a.unit for a in alignments[1::2]}),)


def test_diagonal_and_found_links_by_hand():
    en, de = (CORPUS[code][0] for code in ("en", "de"))
    gold = Alignment(en, de, ()).gold
    some = Alignment(en, de, (gold[:1], gold))
    assert some.f1 == [pytest.approx(2 / (1 + len(gold))), 1]
    words = min(len(en.words), len(de.words)) - 1
    hits = sum((i, i) in gold for i in range(words))
    assert some.diagonal == pytest.approx(2 * hits / (words + len(gold)))
    closed = [en.upos[i] in ("ADP", "AUX", "DET") for i, _ in gold]
    assert some.found(1, closed=True) == [True] * sum(closed)
    assert some.found(0, closed=closed[0]) == [True] + [False] * (closed.count(closed[0]) - 1)


def test_samples_of_an_alignment_are_of_its_odd_pairs():
    alignments = aligned_words.align(planted(CORPUS), CORPUS, limit=6)
    found = aligned_words.alignment_samples(alignments)
    assert found["alignment"].mean() == pytest.approx(selected(aligned_words.alignment_scores(alignments)).mean())
    assert found["diagonal"].mean() == pytest.approx(aligned_words.rivals(alignments[1::2])["diagonal"])
    assert (found["open_class"] == aligned_words.links_found(alignments)["open_class"]).all()


def verdict(**samples):
    return judge(claim_by_id("mbert-word-alignment").parsed_prediction, None, samples).verdict


@pytest.mark.parametrize("words", [False, True])
def test_who_knows_roles_alone_links_all_words_and_is_told_from_who_knows_words(words):
    """Planted: vectors of roles align perfectly and do not find a word among others of its role; those of words do."""
    vectors = planted(CORPUS, words)
    samples = aligned_words.alignment_samples(aligned_words.align(vectors, CORPUS, limit=40))
    own = aligned_words.own_translations(vectors, CORPUS, limit=40)
    assert samples["alignment"].mean() > 0.9
    assert own.mean() > 0.95 if words else 0.4 < own.mean() < 0.6
    assert verdict(own_translation=own, **samples) == (REPLICATES if words else CONTRADICTS)


def test_tags_in_their_order_link_all_words_of_these_sentences():
    alignments = aligned_words.align(planted(CORPUS), CORPUS, limit=40)
    assert aligned_words.rivals(alignments)["by_tags"] == pytest.approx(1, abs=0.02)


def test_mates_stand_in_one_role_of_sentences_built_alike_and_are_other_words():
    links = aligned_words._links(CORPUS["en"], CORPUS["fr"])
    chosen = np.argwhere(aligned_words.mates(links))
    assert len(chosen) and all(links[i].built == links[j].built for i, j in chosen)
    assert all(a != b for i, j in chosen for a, b in zip(links[i].forms, links[j].forms, strict=True))
    assert sorted((link.source, link.target) for link in links if not link.row) == gold_alignment(
        CORPUS["en"][0], CORPUS["fr"][0]
    )


def test_a_share_is_of_what_could_be_taken_for_it():
    axes = torch.eye(3)[None]
    others = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]], bool)
    nearer, asked = aligned_words.share_nearer(axes, axes[:, [0, 0, 2]], others)
    assert asked.tolist() == [True, True, False] and nearer.tolist() == [[0.5, 0.0]]


def test_classes_that_differ_by_language_alone_do_not_differ():
    """Planted: one language is always linked and has nearly all of the closed words, another never."""
    languages = ["de"] * 100 + ["tr"] * 4
    closed = aligned_words.counting_alike([1.0] * 100 + [0.0] * 4, languages)
    opened = aligned_words.counting_alike([1.0] * 4 + [0.0] * 100, ["de"] * 4 + ["tr"] * 100)
    assert closed.mean() == pytest.approx(0.5) == opened.mean()
    real = aligned_words.counting_alike([1.0] * 100 + [1.0, 0, 0, 0], languages)
    assert real.mean() == pytest.approx((1 + 0.25) / 2)
    assert by_unit(real, list(map(str, range(104)))).std() > by_unit([1.0] * 101 + [0.0] * 3, languages).std() > 0
