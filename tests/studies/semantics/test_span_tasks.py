"""Tasks of spans: what a probe is given, its own test, and labels that only memory can read."""

import numpy as np
import pytest

from bertology_utils.data import semantic_sets
from bertology_utils.data.material import EMBEDDED
from bertology_utils.language.semantic_tasks import WordItem
from bertology_utils.studies.semantics import span_tasks
from bertology_utils.studies.semantics.span_tasks import SpanTask

QUICK = {"seeds": 2, "epochs": 1, "steps": 10}


def test_two_spans_stand_side_by_side_and_one_by_itself(tiny):
    pairs = SpanTask.drawn(semantic_sets.relation_items, 6, 0, EMBEDDED)
    words = SpanTask.drawn(semantic_sets.role_items, 6, 0, EMBEDDED)
    for task, width in ((pairs, 2 * tiny.width), (words, tiny.width)):
        assert [part.shape for part in task.features(tiny)] == [(tiny.layers + 1, 6, width)] * 2
        assert [len(labels) for labels in task.labels] == [6, 6]
    assert set(pairs.labels[0]) == {"origin", "destination", "other"}


def test_the_best_layer_and_layer_0_are_samples_of_sentences(tiny):
    task = SpanTask.drawn(semantic_sets.role_items, 12, 0, EMBEDDED)
    correct = task.correct(tiny, **QUICK)
    samples = span_tasks.compared({"role": task}, {"role": correct})
    assert correct.shape == (tiny.layers + 1, 2, 12)
    assert samples["role"].shape == samples["role_layer_0"].shape == (2, len(set(task.sentences)))
    assert samples["role_layer_0"].mean() == pytest.approx(correct[0].mean())


def test_planted_labels_are_read_and_the_mix_finds_their_layer(tiny):
    task = SpanTask.drawn(semantic_sets.relation_items, 60, 0, EMBEDDED)
    found = span_tasks.planted_labels(tiny, task, layer=1, steps=60)
    assert found["planted"].mean() > max(0.8, found["shuffled"].mean())
    assert 1 / 3 < found["share"] <= 1 and 1 / 3 <= found["majority"] < 1


def test_a_word_has_one_random_label_and_only_known_words_are_asked():
    items = [WordItem((word,), 0, -1, label) for word, label in zip("abcdabxd", "rrssrsrs", strict=True)]
    real, control = span_tasks.of_known_words(items)
    assert [item.words for item in real.test] == [item.words for item in control.test] == [("a",), ("b",), ("d",)]
    assert real.labels == (list("rrss"), list("rss"))
    labels = {item.words: item.label for item in (*control.train, *control.test)}
    assert [labels[item.words] for item in control.test] == [item.label for item in control.test]
    assert set(labels.values()) <= {"r", "s"} and np.isin(control.labels[0], ["r", "s"]).all()
