"""Crossed clozes: no preference can win, planted knowledge does, and the items are what they say."""

from types import SimpleNamespace
from zlib import crc32

import numpy as np
import pytest

from bertology_utils.errors import BertologyError, NotAskable
from bertology_utils.instruments import crossed_clozes as crossed
from bertology_utils.instruments.cloze import CandidateScores, focus_preference, preferred
from bertology_utils.language.items import ITEMS
from bertology_utils.language.listed_pairs import role_reversal_pairs
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, UNABLE, parse


def scored(monkeypatch, score) -> None:
    def fake(specimen, sentences, positions, candidates):
        rows = zip(sentences, candidates, strict=True)
        values = np.array([[score(words, word) for word in row] for words, row in rows])
        return CandidateScores(values, np.ones(len(values), bool))

    monkeypatch.setattr(crossed, "word_log_probability", fake)


def test_a_preference_for_one_word_never_wins(monkeypatch) -> None:
    scored(monkeypatch, lambda words, word: float(len(word)))
    assert not crossed.crossed_accuracy(None, crossed.affordance_items()).any()


def test_knowledge_wins_in_spite_of_a_preference(monkeypatch) -> None:
    table = ITEMS["affordances"]
    scored(monkeypatch, lambda words, word: 10.0 * (word == "eat") + (table[words[4]] == word))
    assert crossed.crossed_accuracy(None, crossed.affordance_items()).all()


def test_chains_need_the_asked_number_of_steps() -> None:
    for hops in (1, 2, 3):
        for item in crossed.chain_items(20, hops):
            sentences = " ".join(item.first).split(" . ")
            inside = {s.split()[1]: s.split()[-1] for s in sentences[:-1]}
            place = sentences[-1].split()[2]
            for _ in range(hops):
                place = inside[place]
            assert place == item.targets[0]
            assert item.first[:-7] == item.second[:-7]  # same premises, other question


def test_premises_stand_in_no_order() -> None:
    firsts = [item.first.index(item.targets[0]) for item in crossed.chain_items(300, 3)]
    assert np.mean([first < 21 for first in firsts]) == pytest.approx(0.5, abs=0.1)  # six premises of seven words


def test_a_chain_has_limits() -> None:
    with pytest.raises(BertologyError, match="levels"):
        crossed.chain_items(1, hops=5)


def test_every_item_has_one_mask_a_context_and_two_targets() -> None:
    groups = [crossed.property_items(), crossed.comparison_items(), crossed.fact_items("colour")]
    groups += [crossed.event_items(), crossed.event_items(mention=True), *crossed.premise_items().values()]
    for item in (item for group in groups for item in group):
        assert item.first.count("[MASK]") == item.second.count("[MASK]") == 1
        assert item.targets[0] != item.targets[1] and item.first != item.second


def test_told_items_hold_their_answer_and_the_same_question() -> None:
    (item,) = crossed.told_items(crossed.chain_items(1, 2, levels=2))
    for context, answer, other in ((item.first, *item.targets), (item.second, *item.targets[::-1])):
        text = " ".join(context)
        assert f"in the {answer} . so the" in text and text.endswith("in the [MASK] .")
        assert context.count(answer) == context.count(other) + 1
    (fact,) = crossed.told_items(crossed.property_items(1))
    first = " ".join(fact.first)
    assert first == f"{first[: len(first) // 2].replace('[MASK]', 'big').strip()} {first[len(first) // 2 :].strip()}"


def test_invented_things_are_known_by_what_is_told_alone() -> None:
    size, colour = crossed.property_items(1), crossed.fact_items("colour", 1)
    (item,) = crossed.invented_items(size)
    assert " ".join(item.first) == "a dax is very big . a dax is very [MASK] ." and item.labels == size[0].labels
    assert " ".join(item.second) == "a wug is very small . a wug is very [MASK] ."
    (item,) = crossed.invented_items(colour)
    assert not set(colour[0].labels) & {*item.first, *item.second} and item.targets[0] in item.first
    (item,) = crossed.invented_items([crossed.cross("{ax} is [MASK] .", "oil can", "ant", ("big", "small"))])
    assert " ".join(item.first) == "a dax is big . a dax is [MASK] ."


def test_described_comparisons_tell_sizes_and_no_answer() -> None:
    (item,) = crossed.described_items(crossed.comparison_items(1))
    told = "a dax is very big . a wug is very small ."
    assert " ".join(item.first) == f"{told} a dax is [MASK] than a wug ."
    assert " ".join(item.second) == f"{told} a wug is [MASK] than a dax ."
    assert item.targets == ("larger", "smaller")


def test_a_model_that_reads_passes_invented_things_and_one_that_knows_does_not(monkeypatch) -> None:
    items = crossed.invented_items(crossed.affordance_items())
    scored(monkeypatch, lambda words, word: float(word in words))
    assert crossed.crossed_accuracy(None, items).all()
    table = ITEMS["affordances"]
    scored(monkeypatch, lambda words, word: float(any(table.get(thing) == word for thing in words)))
    assert not crossed.crossed_accuracy(None, items).any()


def test_chains_are_the_same_for_every_number_of_hops() -> None:
    one, three = crossed.chain_items(20, 1, seed=4), crossed.chain_items(20, 3, seed=4)
    assert [item.first for item in one] == [item.first for item in three]
    assert [item.labels for item in one] == [item.labels for item in three]
    assert all(item.labels[0] in item.first[-9:] and item.labels[1] in item.second[-9:] for item in one)


def test_every_two_situations_of_a_sentence_are_crossed() -> None:
    items = crossed.event_items()
    situations = {label for item in items for label in item.labels}
    assert len(items) == 2 * len(situations) and len(crossed.event_items(mention=True)) == len(items)


def test_groups_that_are_asked_at_once_are_as_if_asked_alone(tiny) -> None:
    groups = {"affordance": crossed.affordance_items(40), "colour": crossed.fact_items("colour", 40)}
    together = crossed.group_accuracy(tiny, groups)
    for name, items in groups.items():
        assert np.array_equal(together[name], crossed.group_accuracy(tiny, {name: items})[name])


def test_known_premises_select_the_conclusions() -> None:
    items = [crossed.cross("{ax} x [MASK] .", a, b, ("y", "z")) for a, b in ("ab", "bc", "cd")]
    correct = ([1, 1, 0], [1, 0, 1], [1, 0, 0])
    samples = crossed.known_premises(*(np.array(values, bool) for values in correct), items=items)
    assert samples["conclusion_known"].tolist() == [1.0, 1.0]  # of the one item's two things
    assert samples["premises"].mean() == pytest.approx(4 / 6)


def compared(known, conclusion):
    """The claim's own prediction on premises that are known or not, and on conclusions."""
    items = [crossed.cross("{ax} x [MASK] .", f"a{i}", f"b{i}", ("y", "z")) for i in range(len(known))]
    samples = crossed.known_premises(known, known, conclusion, items=items)
    (clause,) = parse(claim_by_id("no-reasoning-on-facts").prediction).judge(samples)
    return clause.verdict


def test_few_unknown_premises_do_not_hide_what_known_ones_add() -> None:
    known = np.arange(4000) % 20 > 0  # all but a few, so that the known ones are nearly all
    assert compared(known, known) == CONTRADICTS
    assert compared(known, np.arange(4000) % 9 > 0) == REPLICATES  # as often right without


def test_where_all_premises_are_known_nothing_is_compared() -> None:
    with pytest.raises(NotAskable, match="left to compare"):
        compared(np.ones(9, bool), np.ones(9, bool))


def test_changed_share_of_fillers() -> None:
    assert crossed._changed(np.array([[1, 2, 3, 4]]), np.array([[4, 3, 9, 8]])).tolist() == [0.5]


def test_roles_are_samples_over_events(tiny) -> None:
    pairs = role_reversal_pairs(listed="living_roles")
    events = len({pair.condition["event"] for pair in pairs})
    items = crossed.role_items()
    assert all(set(item.likely) == set(item.reversed) for item in items)
    assert np.mean([set(item.likely) != set(item.replaced) for item in items]) > 0.98, "some events share their nouns"
    changes = crossed.role_changes(tiny, items)
    assert {len(values) for values in changes.values()} == {events} and events == len(pairs) / 4
    scores = focus_preference(tiny, pairs)
    sensitivity = crossed.role_sensitivity(tiny, pairs)
    assert len(sensitivity) <= events and sensitivity.mean() == pytest.approx(preferred(scores).mean())


@pytest.mark.parametrize(("reads", "expected"), [("edits", UNABLE), ("nouns", REPLICATES), ("roles", CONTRADICTS)])
def test_roles_are_weakly_known_by_what_they_change_beyond_any_edit(monkeypatch, reads, expected) -> None:
    """Guesses that go by the words as they stand, by the nouns in any order, or by the nouns in their order."""

    def guesses(specimen, sentences, k):
        seen = [[w for w in s if reads == "edits" or w not in ("the", "that")] for s in sentences]
        keys = [" ".join(sorted(words) if reads == "nouns" else words) for words in seen]
        return SimpleNamespace(ids=np.array([[crc32(f"{key}{i}".encode()) for i in range(k)] for key in keys]))

    monkeypatch.setattr(crossed, "fill_in", guesses)
    changes = crossed.role_changes(None, crossed.role_items())
    claim = claim_by_id("role-event-knowledge-weak")
    (clause,) = parse(claim.prediction).judge(changes)
    able = all(clause.passed for clause in parse(claim.given).judge(changes))
    assert (clause.verdict if able else UNABLE) == expected
