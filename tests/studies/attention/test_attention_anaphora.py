"""Agreement and antecedents: links to the right words, hits beside guesses, and planted attention that is found."""

import numpy as np
import pytest
import torch

from bertology_utils.language import coreference
from bertology_utils.samples import item_count
from bertology_utils.studies.attention import anaphora, evidence
from bertology_utils.text import encode_words
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, judge, parse
from bertology_utils.verdicts.published import published


def test_a_planted_average_gives_the_target_more_than_twice_its_share(tiny_eager, words):
    links = [(1, 0)] * len(words)
    found = anaphora.planted_shares(tiny_eager, words, links)
    sizes = [len(encoding) for encoding in encode_words(tiny_eager, words)]
    counts = [encoding.word_ids.count(0) for encoding in encode_words(tiny_eager, words)]
    plain = [
        (0.2 / count + 0.8 / size) * (size - 2) / (1 - 2 * 0.8 / size)
        for size, count in zip(sizes, counts, strict=True)
    ]  # what is left of a row without its two special pieces
    np.testing.assert_allclose(found, plain, rtol=1e-5)
    np.testing.assert_allclose(anaphora.planted_shares(tiny_eager, words, links, part=0), 1, rtol=1e-5)


@pytest.mark.parametrize(("part", "expected"), [(0.0, REPLICATES), (0.3, CONTRADICTS)])
def test_words_that_share_what_the_separator_leaves_are_near_even(tiny_eager, words, monkeypatch, part, expected):
    """Nine tenths go to [SEP]; of the rest, `part` to the target and the others evenly to all words."""

    def planted(specimen, sentences):
        for index, encoding in enumerate(encode_words(specimen, sentences)):
            row = np.where([word is None for word in encoding.word_ids], 0, 0.1 * (1 - part) / (len(encoding) - 2))
            row[-1] = 0.9
            row[encoding.word_ids.index(0)] += 0.1 * part
            yield index, encoding, torch.tensor(np.tile(row, (2, 4, len(encoding), 1)))

    monkeypatch.setattr(evidence, "attention_maps", planted)
    links = anaphora.Links(words, [(len(line) - 1, 0) for line in words])
    monkeypatch.setattr(anaphora, "separator_ratio", lambda *_: np.ones(len(words)))
    found = anaphora.over_heads(anaphora.target_attentions(tiny_eager, links))
    assert judge(parse(claim_by_id("attention-weak-for-sva-anaphora").prediction), None, found).verdict == expected


def test_the_average_is_one_of_attention_and_not_of_hits():
    """One strong head outweighs two that lean the other way: the average finds what most heads miss."""
    right, wrong = (np.array(values)[None, None] for values in ([0.9, 0.1, 0.1], [0.1, 0.2, 0.2]))
    found = {"antecedent": right, "rival": wrong}
    assert anaphora.antecedent_hits(found).tolist() == [[[1, 0, 0]]]
    assert anaphora.averaged_hits(found).tolist() == [1]
    assert anaphora.averaged_hits({"antecedent": wrong, "rival": right}).tolist() == [0]


def test_a_planted_head_is_as_good_as_it_was_planted(tiny_eager):
    items = coreference.coreferences(40, split="test")
    shares = {right: anaphora.planted_antecedents(tiny_eager, items, right=right) for right in (0, 0.8, 1)}
    assert shares[1].shape == (40, 1, 1) and shares[1].all() and not shares[0].any()
    assert 0.6 < shares[0.8].mean() < 1
    assert [a + b for a, b in zip(coreference.nearest_hits(items), coreference.farther_hits(items), strict=True)] == [
        1.0
    ] * 40


def test_links_lead_from_a_verb_to_its_subject_and_from_a_reflexive_to_its_antecedent():
    links = anaphora.target_links(6, 0, "embedded")
    assert len(links.sentences) == len(links.targets) == 12
    for sentence, (source, target), previous in zip(links.sentences, links.targets, links.previous, strict=True):
        assert target < source < len(sentence) and previous == (source, source - 1)
    for sentence, (source, target) in zip(links.sentences[6:], links.targets[6:], strict=True):
        assert sentence[source].endswith(("self", "selves")) and sentence[target + 1] == "that"


def test_what_averages_attention_keeps_sentences(tiny_eager):
    links = anaphora.target_links(4, 0, "embedded")
    found = anaphora.over_heads(anaphora.target_attentions(tiny_eager, links))
    assert {name: values.shape for name, values in found.items()} == dict.fromkeys(found, (8,))
    assert list(found) == ["target", "previous", "separator"]


def test_hits_and_their_rivals_are_of_the_odd_items_by_their_nouns(tiny_eager):
    items = coreference.coreferences(20, split="test")
    rivals = anaphora.antecedent_rivals(tiny_eager, items)
    found = anaphora.antecedent_samples(anaphora.antecedent_attentions(tiny_eager, items), items) | rivals
    nouns = {item.words[place] for item in items[1::2] for place in (item.antecedent, item.rival)}
    assert {(len(values), item_count(values)) for values in found.values()} == {(len(nouns), 10)}
    assert rivals["nearest"].mean() == pytest.approx(np.mean(coreference.nearest_hits(items)[1::2]))
    guesses = (rivals["nearest"].mean(), rivals["farther"].mean())
    assert anaphora.best_blind_guess(rivals) == max(*guesses, 0.5)


def test_the_axis_runs_from_a_guess_to_the_rules():
    np.testing.assert_allclose(anaphora.on_scale(np.array([0.5, 0.75, 1.0]), 0.5, 1.0), [0, 0.5, 1])
    head, nearest, rules = (
        published("clark2019what", f"coreference {item}") for item in ("head 5-4", "nearest mention", "rules")
    )
    np.testing.assert_allclose(anaphora.published_place(), (head - nearest) / (rules - nearest))


def test_distractors_differ_in_number_alone():
    pairs = anaphora.distractor_pairs(6, 0, "embedded")
    assert {name: len(found) for name, found in pairs.items()} == {"matching": 6, "mismatching": 6}
    assert all(pair.condition["attractors"] == 0 for pair in pairs["matching"])
