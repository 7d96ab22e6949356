"""Heads of relations and frames: chosen on other items than scored, alone and together, beside what is planted."""

import dataclasses

import numpy as np
import pytest
import torch

from bertology_utils.absent import Absent
from bertology_utils.instruments.relations import RelationScore, relation_scores
from bertology_utils.language.grammar import generate
from bertology_utils.studies.attention import evidence, relation_heads
from bertology_utils.text import encode_words
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, judge, parse


def test_the_head_of_the_separator_test_brings_its_hits(tiny_eager, sentences):
    scores = [relation_scores(tiny_eager, sentences, minimum=5)[name] for name in ("obj", "det")]
    found = relation_heads.applicable_separator_mass(tiny_eager, sentences[1::2], scores)
    hits = {"head": [score.head_hits for score in scores], "offset": [score.offset_hits for score in scores]}
    for name, values in hits.items():
        assert found[name].mean() == pytest.approx(np.concatenate(values).mean())
    pieces = sum(len(encoding) - 2 for encoding in encode_words(tiny_eager, [s.words for s in sentences[1::2]]))
    assert found["applicable"].items + found["not_applicable"].items == 2 * pieces  # one value a head and piece


def scored(right, of=100):
    """A relation whose best head is right so often, and whose best offset never."""
    hits = np.arange(of) < right
    return RelationScore("x", 1, 0, "head", 1, hits, np.zeros(of, bool), np.full(of, "x"), np.arange(of))


def test_a_relation_with_few_items_does_not_win_by_luck():
    found = {"all": scored(9, 10), "rare": scored(3, 3), "frequent": scored(90)}
    assert relation_heads.strongest_relations(found, 1) == ["frequent"]


@pytest.mark.parametrize("direction", ["dependent", "head"])
def test_a_relation_applies_to_the_word_that_attends(sentences, direction):
    sentence = next(s for s in sentences if "det" in s.deprels)
    place = sentence.deprels.index("det")
    score = dataclasses.replace(scored(1), relation="det", direction=direction)
    assert (sentence.heads[place] if direction == "head" else place) in relation_heads._sources(sentence, score)


def test_three_relations_are_chosen_on_other_sentences_and_a_missing_one_is_not_made_up():
    selection = {name: scored(right) for name, right in zip("abcd", (90, 80, 70, 60), strict=True)}
    scores = {"all": scored(1), "b": scored(11), "c": scored(12), "d": scored(13), "e": scored(99)}
    found = relation_heads.three_relations(relation_heads.leading_three(scores, selection))
    assert [found[name].sum() for name in ("first", "second", "third")] == [11, 12, 13]
    assert not found["third_offset"].any()
    fewer = {name: scores[name] for name in ("all", "b", "c", "e")}
    assert isinstance(relation_heads.leading_three(fewer, selection), Absent)


def test_a_lead_that_one_of_many_relations_has_by_luck_is_not_clear():
    """Two even halves differ by chance: of 100 relations without a lead some reach ten points and a 95 % interval."""
    rng = np.random.default_rng(0)
    names = [f"relation {i}" for i in range(100)]
    made = {name: RelationScore(name, 1, 0, "head", 1, *rng.integers(2, size=(2, 60), dtype=bool), np.full(60, name),
                                np.arange(60)) for name in names}  # fmt: skip
    assert relation_heads.clear_relations(made) == []
    assert sum(relation_heads.clear_relations({name: made[name]}) == [name] for name in names) >= 1
    assert relation_heads.clear_relations(made | {"real": scored(40)}) == ["real"]


def candidates(n, holding, generator, heads=4):
    """Dependents of six words, whose head stands one further on; `holding` heads lean to it, the others to nothing."""
    gold = generator.integers(1, 6, size=n)
    features = generator.random((n, 6, heads)) * 0.3
    for i, g in enumerate(gold):
        features[i, g, :holding] += 0.15
    return relation_heads.Candidates(list(features), gold.tolist(), (gold - 1).tolist())


def test_several_heads_find_what_two_hold_together():
    generator = np.random.default_rng(0)
    known, asked = (candidates(count, 2, generator) for count in (150, 100))
    found = relation_heads.combined_heads(known, asked)
    for name in ("several", "combined"):
        assert found[name].mean() > found["best"].mean() + 0.05
    assert found["offset"].all()
    alone = relation_heads.combined_heads(known, asked, seeds=(3,))
    assert all(np.array_equal(alone[name], found[name][3:4]) for name in found)


def test_where_one_head_holds_all_several_find_no_more():
    generator = np.random.default_rng(0)
    found = relation_heads.combined_heads(candidates(300, 1, generator), candidates(300, 1, generator))
    assert found["several"].mean() < found["best"].mean() + 0.03


def test_heads_are_added_while_they_add_anything_and_a_shorter_sentence_has_no_further_words():
    gold = np.array([1, 0, 1])
    one, rest = np.eye(2)[gold], np.zeros((3, 2))
    assert relation_heads.greedy_heads(np.stack([rest, one], axis=-1), gold, 6) == [1]
    assert relation_heads.greedy_heads(np.stack([rest, one], axis=-1), gold, 1) == [1]
    padded = relation_heads._padded_features([np.zeros((2, 3)), np.zeros((4, 3))])
    assert padded.shape == (2, 4, 3) and (padded[0, 2:] < padded[0, :2].min()).all()


def test_samples_of_the_relation_table(tiny_eager, sentences):
    scores = relation_scores(tiny_eager, sentences, minimum=12)
    samples = relation_heads.score_samples(scores)
    single, every = {name: score for name, score in scores.items() if name != "all"}, scores["all"]
    wins = [score.head_hits.mean() > score.offset_hits.mean() for score in single.values()]
    assert samples["wins"].mean() == pytest.approx(np.mean(wins))
    assert len({(len(samples[name]), samples[name].items) for name in ("all_head", "all_offset", "oracle")}) == 1
    mine = np.isin(every.names, list(single))  # the same edges for all three
    assert samples["all_head"].mean() == pytest.approx(every.head_hits[mine].mean())
    assert samples["oracle"].items == mine.sum() and len(samples["oracle"]) == len(set(every.sentences[mine]))
    rows = relation_heads.relation_rows(scores, scores)
    assert next(row for row in rows if row["relation"] == "det")["published head %"].startswith("94.3")


def test_the_share_of_wins_spreads_as_other_sentences_would_have_made_it():
    """Ten relations, half of them with a lead near zero: the error is that of the share over drawn sentences."""
    leads = np.array([0.5] * 5 + [0.52] * 5)

    def drawn(seed):
        rng = np.random.default_rng(seed)
        return [RelationScore(str(i), 1, 0, "head", 1, rng.random(200) < lead + 0.1 * (i < 5), rng.random(200) < 0.5,
                              np.full(200, str(i)), np.arange(200)) for i, lead in enumerate(leads)]  # fmt: skip

    found = [relation_heads.share_of_wins(drawn(seed)) for seed in range(60)]
    errors = np.mean([values.std(ddof=1) / np.sqrt(200) for values in found])
    assert 0.7 < errors / np.std([values.mean() for values in found]) < 1.6
    sure = [scored(90), scored(95)]
    np.testing.assert_array_equal(relation_heads.share_of_wins(sure), 1)


def test_frame_pairs_keep_their_distance(sentences):
    for index, (verb, filler), (a, b) in relation_heads.frame_edges(sentences):
        assert filler - verb == b - a and sentences[index].upos[verb] == "VERB"
        assert sentences[index].heads[a] != b and sentences[index].heads[b] != a
        assert sentences[index].upos[filler] == sentences[index].upos[b] == "NOUN"


@pytest.mark.parametrize(("looks", "expected"), [("nouns", CONTRADICTS), ("fillers", REPLICATES)])
def test_a_head_that_looks_at_nouns_follows_no_frames(tiny_eager, monkeypatch, looks, expected):
    """One head looks at all nouns alike, or from a verb at those that fill its roles; the others look evenly."""
    read = generate(120, split="test")

    def planted(specimen, texts):
        for index, encoding in enumerate(encode_words(specimen, texts)):
            sentence = next(s for s in read if list(s.words) == list(texts[index]))
            maps = torch.full((1, 4, len(encoding), len(encoding)), 1.0)
            for column, word in enumerate(encoding.word_ids):
                if word is not None and sentence.upos[word] == "NOUN":
                    mine = [looks == "nouns" or source == sentence.heads[word] for source in encoding.word_ids]
                    maps[0, 0, :, column] += 20 * torch.tensor(mine).float()
            yield index, encoding, maps / maps.sum(-1, keepdim=True)

    monkeypatch.setattr(evidence, "attention_maps", planted)
    found = relation_heads.frame_samples(relation_heads.frame_attention(tiny_eager, read))
    assert judge(parse(claim_by_id("frame-relation-heads").prediction), None, found).verdict == expected


def test_rivals_are_the_relations_that_are_there():
    scores = {"obj": scored(3), "det": scored(5)}
    found = relation_heads.rivals(scores, {"obj": scored(1), "det": scored(2)}, ["obj", "case"])
    assert {name: hits.sum() for name, hits in found["obj"].items()} == {
        "best head": 3,
        "best offset": 0,
        "twin's best head": 1,
    }
    assert list(found) == ["obj"] and relation_heads.best_heads(scores) == [(0, 0)]


def test_frame_heads_are_chosen_on_even_edges_and_read_on_odd_ones():
    attention = {name: np.zeros((6, 2, 2)) for name in ("frame", "matched")}
    attention["frame"][::2, 0, 1], attention["frame"][::2, 1, 0] = 3.0, 2.0
    attention["frame"][1::2] = [[9.0, 1.0], [2.0, 9.0]]
    attention["frame"][::2, 0, 0] = attention["matched"][::2, 0, 0] = 9.0  # looks there in any case
    assert relation_heads.frame_heads(attention) == [(0, 1), (1, 0)]
    found = relation_heads.frame_samples(attention)
    assert found["frame"].tolist() == [1.5] * 3 and not found["matched"].any()
