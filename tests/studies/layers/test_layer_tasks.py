"""Tasks from annotation: labels, balance, held-out words; the readout of layers; coreference items and rules."""

import copy
import gc
from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils.activations import pooled_vectors, word_vectors
from bertology_utils.data.material import Treebank, train_and_test
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.blocks import encoder_layers
from bertology_utils.instruments.subjects import subject_scores
from bertology_utils.language.coreference import coreferences, nearest_hits, rule_hits
from bertology_utils.language.grammar import generate
from bertology_utils.studies.layers import scores, tasks
from bertology_utils.tuning import classification_tasks, comparisons, pooling, training
from bertology_utils.tuning.mlm_training import IGNORED, masked_batches, masked_logits


@pytest.mark.parametrize("name", tasks.GROUPS)
def test_every_sentence_task_has_labels_and_items(name):
    task = tasks.sentence_task(name, 60, 40)
    for part in (task.train, task.test):
        assert len(part.items) == len(part.labels) > 10
        assert len(set(part.labels)) > 1
        assert max(i for (i,) in part.items) < len(part.sentences)


@pytest.mark.parametrize("name", tasks.ALTERATIONS)
def test_altered_sentences_differ_where_the_label_says_so(name):
    part = tasks.sentence_task(name, 40, 40).train
    original = {s.words for s in generate(200, 0, "train")}
    for words, label in zip(part.sentences, part.labels, strict=True):
        assert label == 1 or tuple(words) in original
    assert abs(np.mean(part.labels) - 0.5) < 0.1


def test_word_task_labels_the_right_words():
    sentences = generate(20, split="train")
    part = tasks.word_task("dependency", Treebank(sentences, [], sentences), 50).train
    for (sentence, word), label in zip(part.items, part.labels, strict=True):
        assert sentences[sentence].deprels[word] == label not in ("punct", "root")


def test_the_test_part_may_be_larger_than_the_training_part():
    bank = train_and_test(20, 20)
    task = tasks.word_task("pos", bank, 30, tested=90)
    assert (len(task.train.items), len(task.test.items)) == (30, 90)
    assert task.train == tasks.word_task("pos", bank, 30).train


def test_items_share_their_word_forms_and_tasks_have_the_same_weight():
    bank = train_and_test(20, 20)
    both = {"pos": tasks.word_task("pos", bank, 60), "coreference": tasks.coreference_task(10, 10)}
    part = both["coreference"].test
    assert part.forms[0] == part.sentences[0][part.items[0][2]]
    found = {name: np.full((3, 2, len(task.test.items)), place) for place, (name, task) in enumerate(both.items())}
    together = tasks.tasks_together(found, both)
    assert together.shape[:2] == (3, 2) and together.mean() == pytest.approx(0.5) and together.items == 80
    hits = np.random.default_rng(0).random((2, len(part.items))) < 0.5
    found = tasks.over_words({"x": hits}, part)["x"]
    assert found.shape == (2, len(set(part.forms))) and found.mean() == pytest.approx(hits.mean())


def test_every_agreement_item_has_a_subject():
    nouns = scores.agreement_subjects(40)
    assert len(nouns) == 40 and len(set(nouns)) < 40


def test_unknown_tasks_are_named():
    with pytest.raises(BertologyError):
        tasks.sentence_task("lenght", 10, 10)


def test_pairs_are_two_for_each_pronoun():
    part = tasks.coreference_task(10, 10).train
    assert part.labels[:2] == ["same", "other"] and len({len(item) for item in part.items}) == 1


def test_pronoun_and_antecedents_are_where_the_item_says():
    items = coreferences(40, split="test")
    assert all(item.words[item.pronoun] in ("he", "she", "they") for item in items)
    assert all(item.words[item.antecedent - 1] != "," and item.antecedent < item.pronoun for item in items)
    assert np.mean(nearest_hits(items)) == 0.5
    assert np.mean(rule_hits(coreferences(40))) > 0.9 > 0.5 <= np.mean(rule_hits(items))


def test_position_is_read_by_the_probe_and_noise_is_not(tiny):
    bank = train_and_test(60, 30)
    features = scores.LayerFeatures(tiny)
    found = scores.task_scores(features, tasks.word_task("position", bank, 200), seeds=2)
    assert found.shape[:2] == (tiny.layers + 1, 2)
    assert found[0].mean() > 0.3  # chance is about 0.1; position vectors are added at layer 0


def test_seeds_share_out_sentences_and_all_of_them_read_the_whole_task(tiny):
    task = tasks.word_task("position", train_and_test(60, 30), 200)
    every = task.dealt(range(7), 7)
    assert (every.train.items, every.test.items) == (task.train.items, task.test.items)
    one = task.dealt([1], 7)
    assert 0 < len(one.train.items) < len(task.train.items) / 4 and 0 < len(one.test.items) < len(task.test.items) / 2
    words = [one.train.sentences[sentence][word] for sentence, word in one.train.items]
    assert all(word < 10 and label == word for (_, word), label in zip(one.train.items, one.train.labels, strict=True))
    hands = [task.train.dealt([hand], 7) for hand in range(7)]
    assert sum(len(part.items) for part in hands) == len(task.train.items) and len(words) == len(hands[1].items)
    dealt = [sentence for part in hands for sentence in part.sentences]
    assert sorted(map(str, dealt)) == sorted(map(str, task.train.sentences))


def test_probes_of_all_seeds_are_those_of_the_whole_task(tiny):
    task = {"position": tasks.word_task("position", train_and_test(60, 30), 200)}
    found = scores.dealt_scores(tiny, task, range(2), seeds=2, seed=3, steps=20)
    expected = scores.scores_of(scores.LayerFeatures(tiny), task, seeds=2, seed=3, steps=20)
    np.testing.assert_array_equal(found["scores"]["position"], expected["position"])
    alone = scores.dealt_scores(tiny, task, [1], seeds=2, steps=20)
    assert alone["scores"]["position"].shape[1:] == (1, len(alone["tasks"]["position"].test.items))


def test_the_subject_is_asked_of_all_seeds_or_of_some(tiny):
    every = subject_scores(tiny, 24, 8, seeds=3, steps=5)
    assert every.shape == (tiny.layers + 1, 3, 8)
    np.testing.assert_array_equal(every, subject_scores(tiny, 24, 8, seeds=3, steps=5, only=range(3)))
    assert subject_scores(tiny, 24, 8, seeds=3, steps=5, only=[2]).shape[:2] == (tiny.layers + 1, 1)


def test_vectors_are_kept_as_long_as_their_model_lives(tiny):
    model = copy.deepcopy(tiny.model)
    specimen, sentence = replace(tiny, model=model), ["the", "cat", "sleeps", "."]
    scores.LayerFeatures.kept(specimen).words([sentence])
    words, means = scores._KEPT[model]
    assert tuple(sentence) in words and tuple(sentence) not in scores.LayerFeatures(specimen)._words
    again = scores.LayerFeatures.kept(specimen)
    assert again._words is words and again._means is means
    kept = len(scores._KEPT)
    del model, specimen, again
    gc.collect()
    assert len(scores._KEPT) < kept


def test_the_mean_of_a_sentence_is_that_of_its_words_whether_these_are_kept_or_not(tiny):
    sentences = [list(s.words) for s in generate(6)]
    features, fresh = scores.LayerFeatures(tiny), scores.LayerFeatures(tiny)
    expected = torch.stack([vectors.mean(1) for vectors in features.words(sentences)], dim=1)
    for some in (features, fresh):
        torch.testing.assert_close(some.means(sentences + sentences[:2])[:, :6], expected, atol=1e-5, rtol=1e-4)
    assert not fresh._words
    part = tasks.Part(sentences, [(4,), (1,)], ["a", "b"])
    torch.testing.assert_close(fresh.of(part), expected[:, [4, 1]], atol=1e-5, rtol=1e-4)


def test_a_sentence_is_read_once_and_as_it_is_read_alone(tiny, monkeypatch):
    read = []
    monkeypatch.setattr(scores, "word_vectors", lambda specimen, new: read.extend(new) or word_vectors(specimen, new))
    first, second = [list(s.words) for s in generate(6)], [list(s.words) for s in generate(9)]
    features = scores.LayerFeatures(tiny)
    features.words(first)
    found = features.words(second + first)
    assert sorted(read) == sorted(second)
    for vectors, sentence in zip(found, second + first, strict=True):
        torch.testing.assert_close(vectors, word_vectors(tiny, [sentence])[0], atol=1e-5, rtol=1e-4)


def test_the_last_layer_is_read_as_the_model_reads_it(tiny):
    sentences = [list(s.words) for s in generate(6, split="test")]
    hits = scores.masked_word_hits(tiny, sentences)
    expected = np.empty(len(sentences))
    for rows, batch in masked_batches(tiny, sentences, 0, budget=1024):
        chosen = batch["labels"] != IGNORED
        batch["input_ids"][chosen] = tiny.tokenizer.mask_token_id
        with torch.no_grad():
            right = masked_logits(tiny.model, batch, chosen)[0].argmax(-1) == batch["labels"][chosen]
        for row, mask in zip(rows, chosen.nonzero()[:, 0][None] == torch.arange(len(rows))[:, None], strict=True):
            expected[row] = right[mask].float().mean()
    np.testing.assert_allclose(hits[-1, 0], expected, atol=1e-6)


def test_no_chosen_piece_is_left_to_be_read(tiny, monkeypatch):
    seen = []

    def logits(specimen, inputs, chosen):
        seen.append(inputs["input_ids"][chosen])
        return torch.zeros(tiny.layers + 1, int(chosen.sum()), 3)

    monkeypatch.setattr(scores, "logits_of_layers", logits)
    scores.masked_word_hits(tiny, [list(s.words) for s in generate(40)])
    assert (torch.cat(seen) == tiny.tokenizer.mask_token_id).all()


@pytest.mark.parametrize(("attractors", "split"), [((0, 1), "train"), ((1,), "test")])
def test_the_halves_of_the_masked_verbs_have_the_same_labels(tiny, attractors, split):
    part = scores._masked_verbs(tiny, 480, attractors, 0, split, tasks.EMBEDDED)
    plural = np.array(part.labels) == "plural"
    assert abs(plural.mean() - 0.5) < 0.05
    for half, other in ((plural[::2], plural[1::2]), (plural[:240], plural[240:])):
        assert abs(half.mean() - other.mean()) < 0.1


def test_the_majority_is_that_of_the_training_labels():
    train, test = (tasks.Part([["a"]] * n, [(i,) for i in range(n)], labels) for n, labels in ((3, "aab"), (2, "ab")))
    assert tasks.majority_hits(tasks.Task("planted", train, test)).tolist() == [1, 0]


def test_fine_tuning_samples_have_their_shapes_and_leave_the_specimen_alone(tiny):
    before = {name: value.clone() for name, value in tiny.model.state_dict().items()}
    train, test = classification_tasks.number_examples(12), classification_tasks.number_examples(8, split="test")
    found = scores.finetuning_samples(tiny, train, test, [0, 1], epochs=1)
    assert found["change"].shape == (tiny.layers + 1, 2, len(test)) and found["restored_top"].shape == (2, len(test))
    assert found["majority"].tolist() == [max(np.mean(test.labels), 1 - np.mean(test.labels))] * len(test)
    pooled = pooling.pooling_samples(tiny, train, test, seeds=(0, 1), epochs=1)
    assert {values.shape for values in pooled.values()} == {(2, len(test))}
    runs, _ = training.finetune_seeds(tiny, train, test, training.run_seeds(0, 2), pool="cls", epochs=1)
    after = [
        [
            {pool: own[-1:] for pool, own in pooled_vectors(run.specimen, part.sentences).items()}
            for part in (train, test)
        ]
        for run in runs
    ]
    given = pooling.pooling_samples(tiny, train, test, seeds=(0, 1), after=after)
    assert all(np.array_equal(given[name], values) for name, values in pooled.items())
    assert all(torch.equal(value, before[name]) for name, value in tiny.model.state_dict().items())


def test_the_halves_that_are_rolled_back_are_those_of_their_names(tiny, monkeypatch):
    as_before = []

    def watched(classifier, specimen, test):
        pairs = zip(encoder_layers(classifier.encoder), encoder_layers(specimen.encoder), strict=True)
        as_before.append([all(map(torch.equal, new.parameters(), old.parameters())) for new, old in pairs])
        return np.ones(len(test), bool)

    monkeypatch.setattr(comparisons, "correctness", watched)
    train, test = classification_tasks.number_examples(12), classification_tasks.number_examples(8, split="test")
    scores.finetuning_samples(tiny, train, test, [0], epochs=1)
    half = tiny.layers // 2
    bottom = [True] * half + [False] * (tiny.layers - half)
    assert half and as_before == [[False] * tiny.layers, bottom, [not same for same in bottom]]


def test_either_half_tells_what_it_costs_of_what_was_gained():
    right = {"tuned": 0.9, "restored_bottom": 0.75, "restored_top": 0.88, "majority": 0.5}
    found = scores.rolled_back(None, {name: np.full((2, 10), value) for name, value in right.items()})
    costs = {"gained": 0.4, "lower_half": 0.15, "upper_half": 0.02}
    assert {name: found[name] for name in costs} == pytest.approx(costs)
