"""The generated tasks: balance, determinism, held-out words, and labels that can be read off the sentence."""

from collections import Counter

import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.language.lexicon import FUNCTION_WORDS, load_lexicon
from bertology_utils.tuning.classification_tasks import TASKS, shared_parts, task


@pytest.mark.parametrize("name", TASKS)
def test_balanced_deterministic_and_shuffled(name):
    examples = task(name, 41, seed=3)
    assert sorted(examples.labels) == [0] * 21 + [1] * 20
    assert examples.labels != tuple(sorted(examples.labels))
    assert (examples.pairs is not None) == TASKS[name].paired
    again, other = task(name, 41, seed=3), task(name, 41, seed=4)
    assert again == examples and other.sentences != examples.sentences


@pytest.mark.parametrize("name", TASKS)
def test_the_splits_share_no_content_word(name):
    seen = {}
    for split in ("train", "test"):
        examples = task(name, 60, split=split)
        seen[split] = {word for words in [*examples.sentences, *(examples.pairs or [])] for word in words}
    shared = seen["train"] & seen["test"] - set(FUNCTION_WORDS)
    assert not shared


def test_labels_follow_the_words():
    voice = task("voice", 60)
    for words, label in zip(voice.sentences, voice.labels, strict=True):
        assert not label or {"is", "are", "was", "were", "am"} & set(words)
    food = {f.form("singular") for kind in ("food", "drink") for f in load_lexicon("train").nouns[kind]}
    food |= {f.form("plural") for kind in ("food", "drink") for f in load_lexicon("train").nouns[kind]}
    topic = task("topic", 60)
    for words, label in zip(topic.sentences, topic.labels, strict=True):
        assert bool(food & set(words)) == bool(label)


def test_entailment_cannot_be_told_from_the_words():
    examples = task("entailment", 80)
    for first, second in zip(examples.sentences, examples.pairs, strict=True):
        assert set(first) ^ set(second) <= {"was", "by"} | load_lexicon("train").forms()
        nouns = [[w for w, before in zip(s[1:], s, strict=False) if before == "the"] for s in (first, second)]
        assert set(nouns[0]) == set(nouns[1])
    same_order = [first[1] == second[1] for first, second in zip(examples.sentences, examples.pairs, strict=True)]
    # in the other voice the same roles stand in the other order
    assert all(same != bool(label) for same, label in zip(same_order, examples.labels, strict=True))


def test_paraphrases_share_both_persons():
    examples = task("paraphrase", 60)
    for first, second, label in zip(examples.sentences, examples.pairs, examples.labels, strict=True):
        nouns = [{w for w, before in zip(s[1:], s, strict=False) if before == "the"} for s in (first, second)]
        assert len(nouns[0] & nouns[1]) == (2 if label else 1)


def test_unknown_names_are_told():
    with pytest.raises(BertologyError):
        task("sarcasm", 10)
    with pytest.raises(BertologyError):
        task("tense", 10, split="dev")


def test_shared_parts_are_graded_by_the_people_and_the_deed_that_return():
    examples = shared_parts(48, 0, "test")
    assert Counter(examples.labels) == dict.fromkeys(range(4), 12) and examples.outputs == 1
    kept_people = []
    for first, second, grade in zip(examples.sentences, examples.pairs, examples.labels, strict=True):
        assert ("by" in first) != ("by" in second)  # one tells it in the other voice
        nouns = [{w for w, before in zip(s[1:], s, strict=False) if before == "the"} for s in (first, second)]
        kept_people.append(grade - len(nouns[0] & nouns[1]))
    assert set(kept_people) == {0, 1}  # what is left of the grade is the deed
    assert examples == shared_parts(48, 0, "test") != shared_parts(48, 1, "test")
