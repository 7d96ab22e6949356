"""Stories and the labelled task: right segments, balanced labels, unseen words."""

from random import Random

from bertology_utils.studies.overview import stories


def test_every_story_has_eight_sentences() -> None:
    for index in range(len(stories.STORIES)):
        told = stories.tell(index, Random(0))
        assert len(told) == 8 and all(sentence[-1] == "." and len(sentence) > 3 for sentence in told)


def test_only_the_true_segment_follows() -> None:
    pairs = stories.second_segments()
    assert len(pairs) == 2 * 3 * len(stories.STORIES)
    for four in zip(pairs.true, pairs.other_document, pairs.same_document, pairs.first, strict=True):
        assert len(set(map(tuple, four))) == 4


def test_the_task_is_balanced_and_its_words_are_unseen() -> None:
    train, test = stories.who_acts(400), stories.who_acts(400, "test")
    assert sum(train.labels) == sum(test.labels) == 200
    function_words = set(" ".join(stories.TOLD["frames"]).format(a="", b="", v="").split())
    seen, unseen = ({w for s in part.sentences for w in s} - function_words for part in (train, test))
    assert not seen & unseen


def test_the_label_is_who_acts() -> None:
    people, animals = (set(" ".join(part.values()).split()) for part in (stories.PEOPLE, stories.ANIMALS))
    examples = stories.who_acts(60)
    for words, label in zip(examples.sentences, examples.labels, strict=True):
        named = [word for word in words if word in people | animals]
        actor = named[1] if "by" in words else named[0]
        assert (actor in people) == bool(label)


def test_places_repeat_with_each_telling() -> None:
    once = 3 * len(stories.STORIES)
    places = stories.second_segments(tellings=2).places
    assert places[:once] == places[once:] and len(set(places)) == once


def test_told_once_holds_every_story() -> None:
    assert len(stories.told_once()) == 8 * len(stories.STORIES)
