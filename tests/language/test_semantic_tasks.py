"""Items and measures of meaning: no leak between splits, planted effects, fast versions against plain definitions."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from bertology_utils import activations
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.geometry import random_pair_similarity, remove_top_components, unit
from bertology_utils.language import semantic_tasks as tasks
from bertology_utils.language.items import ITEMS
from bertology_utils.samples import by_unit
from bertology_utils.studies.embeddings import input_slots as slots
from bertology_utils.studies.embeddings import word_geometry, word_neighbours
from bertology_utils.studies.semantics import answers as semantic_answers
from bertology_utils.studies.semantics import number_measures, span_probes
from bertology_utils.text import encode_words


def content(items, lemma):
    frames = set(" ".join(ITEMS["sense_frames"]).replace("{a}", "").replace("{b}", "").split())
    return {word for item in items if item.lemma == lemma for word in item.words} - frames - {lemma}


def test_sense_contexts_share_no_cue_between_splits_or_senses():
    train, test = tasks.sense_items(6), tasks.sense_items(6, "test")
    for lemma, senses in tasks.sense_table().items():
        first, second = map(set, senses.values())
        assert len(first) >= 7 and len(second) >= 7 and not first & second
        assert not content(train, lemma) & content(test, lemma)
    assert all(item.words[item.place] == item.lemma for item in train)


def test_sense_frames_do_not_tell_the_sense():
    items = tasks.sense_items(6, words=1)
    halves = [[i for i in items if i.sense == sense] for sense in sorted({i.sense for i in items})]
    assert [i.place for i in halves[0]] == [i.place for i in halves[1]]


def test_relations_come_in_threes_over_one_sentence():
    items = tasks.relation_items(30)
    assert [i.relation for i in items[:3]] == ["other", "origin", "destination"]
    assert items[0].words == items[2].words and len({items[0].second, items[1].second, items[2].second}) == 3
    names = {i.words[i.second] for i in items}
    assert not names & {i.words[i.second] for i in tasks.relation_items(30, "test")}


def test_properties_follow_role_verb_and_noun():
    assert tasks.properties("agent", "run", True) == ("volition", "sentience", "change_of_place")
    assert tasks.properties("patient", "break", False) == ("change_of_state",)
    assert tasks.property_matrix(["volition+sentience", ""]) == [[1, 1, 0, 0], [0, 0, 0, 0]]
    assert len(tasks.role_items(80)) == len(tasks.proto_role_items(80, "test")) == len(tasks.entity_items(80)) == 80


def test_outcomes_are_balanced_and_swaps_change_one_word():
    items = tasks.outcome_items(20, swaps=3)
    assert sum(item.label for item in items) == 10
    for item in items:
        for version in item.name_swaps + item.noun_swaps:
            assert sum(a != b for a, b in zip(item.words, version, strict=True)) == 1
        assert {item.verb, item.names[0], item.nouns[0]} <= set(item.words)
    verbs = [{v for side in tasks.outcome_verbs(split).values() for v in side} for split in ("train", "test")]
    assert not verbs[0] & verbs[1]


def test_outcomes_have_known_verbs_in_half_of_the_tests_and_nouns_that_stand_for_names():
    partners = dict(zip(*tasks.outcome_words("test"), strict=False))
    items = tasks.outcome_items(16, "test", swaps=2, partners=partners)
    known = {verb for side in tasks.outcome_verbs("train").values() for verb in side}
    assert sum(item.verb in known for item in items) == 8
    assert sum(item.label for item in items if item.verb in known) == 4
    assert all(item.nouns == tuple(partners[name] for name in item.names) for item in items)


def test_partners_have_equal_length():
    own, first, second = tasks.partner_triples(20)
    assert len(own) == len(first) == len(second) == 20
    assert all(len(a) == len(b) and a != b for a, b in zip(first, second, strict=True))


def test_unknown_split_is_refused():
    with pytest.raises(BertologyError):
        tasks.sense_items(2, "dev")


def nearest_sense(vector, lemma, known, items):
    """The sense of the occurrence of the same lemma that is nearest by cosine (wiedemann2019does)."""
    rivals = [place for place, item in enumerate(items) if item.lemma == lemma]
    return items[max(rivals, key=lambda place: unit(vector) @ unit(known[place]))].sense


def test_silhouettes_tell_clouds_from_a_cloud_and_skip_words_with_one_sense():
    generator = np.random.default_rng(0)
    items = [SimpleNamespace(lemma=lemma, sense=sense) for lemma in "ab" for sense in (0, 1) for _ in range(10)]
    items += [SimpleNamespace(lemma="c", sense=0)] * 5
    noise = generator.normal(size=(len(items), 8))
    apart = noise + 20 * np.array([[item.sense, 1 - item.sense, *[0] * 6] for item in items])
    cloud, clouds = (word_neighbours.sense_silhouettes(vectors, items) for vectors in (noise, apart))
    assert cloud.shape == (2,) and abs(cloud.mean()) < 0.1 and clouds.mean() > 0.7


def test_nearest_senses_equals_the_plain_definition():
    rng = np.random.default_rng(0)
    train, test = tasks.sense_items(3, words=4), tasks.sense_items(2, "test", words=4)
    a, b = rng.normal(size=(2, len(train), 5)), rng.normal(size=(2, len(test), 5))
    fast = word_neighbours.nearest_senses(a, train, b, test)
    for layer in range(2):
        plain = [nearest_sense(v, i.lemma, a[layer], train) == i.sense for v, i in zip(b[layer], test, strict=True)]
        assert fast[layer].tolist() == plain


def test_static_share_is_what_one_direction_explains_beyond_any_words():
    rng = np.random.default_rng(0)
    line, ball = np.zeros((1, 6, 4)), rng.normal(size=(1, 6, 4))
    line[0, :, 0] = np.arange(1, 7)
    share = word_geometry.static_share([line, ball])
    assert share.shape == (1, 2) and share[0, 0] > share[0, 1]
    pooled = np.linalg.svd(np.concatenate([line, ball], axis=1)[0], compute_uv=False) ** 2
    assert np.isclose(share[0, 0], 1 - pooled[0] / pooled.sum())


def test_samples_over_lemmas_are_the_means_of_their_items():
    items = [SimpleNamespace(lemma=lemma) for lemma in "baab"]
    values = np.array([[1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.0]])
    assert np.allclose(word_neighbours.over_lemmas(values, items), [[0.5, 1.0], [0.5, 0.0]])


def test_leave_one_out_does_not_find_the_item_itself():
    items = tasks.sense_items(1, words=1)  # one occurrence a sense: the only neighbour has the other sense
    assert not word_neighbours.nearest_senses(np.ones((1, 2, 3)), items).any()


def test_word_anisotropy_agrees_with_the_pooled_measure():
    rng = np.random.default_rng(1)
    groups = [rng.normal(size=(2, 6, 4)) + 1 for _ in range(3)]  # equal counts: the words' mean is the pooled mean
    assert np.allclose(word_geometry.word_anisotropy(groups).mean(1), random_pair_similarity(groups))
    assert abs(word_geometry.centred(groups)[0].sum()) < abs(groups[0].sum())


def test_static_vectors_have_no_variance_within_a_word(tiny):
    sentences = [["the", "dog", "sleeps"], ["a", "dog", "the"]]
    tables = activations.token_table_vectors(tiny, sentences)
    groups = [np.stack([tables[0][:, 1], tables[1][:, 1]], 1), np.random.default_rng(0).normal(size=(1, 9, 4))]
    shares = word_geometry.within_word_variance(groups)[0]
    assert shares[0] == pytest.approx(0, abs=1e-12) and 0.5 < shares[1] <= 1


def test_layer_trend_and_overlap():
    falling = np.array([[3.0, 1], [2, 1], [1, 1]])
    assert word_geometry.layer_trend(falling).tolist() == [-1, 0]
    space = np.random.default_rng(2).normal(size=(30, 6))
    assert (word_neighbours.neighbour_overlap(space, space, 5) == 1).all()
    assert word_neighbours.neighbour_overlap(space, np.random.default_rng(3).normal(size=(30, 6)), 5).mean() < 0.5


def test_both_changes_put_a_sentence_into_the_second_slot(tiny):
    first, partner = [["the", "dog", "saw", "a", "cat", "."]], [["a", "boy", "slept", "."]]
    moved = slots.slot_vectors(tiny, first, partner, segment=True, position=True)[0]
    real = encode_words(tiny, partner, first)[0]
    with torch.inference_mode():
        batch = {"input_ids": torch.tensor([real.input_ids]), "token_type_ids": torch.tensor([real.segment_ids])}
        hidden = torch.stack(tiny.encoder(**batch, output_hidden_states=True).hidden_states)[:, 0]
    rows = [real.word_ids.index(4 + word) for word in range(6)]
    # exact only where each word is one piece
    single = [w for w in range(6) if real.word_ids.count(4 + w) == 1]
    assert len(single) > 3
    assert torch.allclose(moved[:, single], hidden[:, [rows[w] for w in single]], atol=1e-5)


def test_slot_cosines_separate_the_factors(tiny):
    own, first, second = tasks.partner_triples(4)
    cosines = slots.slot_cosines(tiny, own, first, second)
    assert cosines.context[0] == pytest.approx(1, abs=1e-5)  # layer 0 knows no context
    assert (cosines.segment[0] < 1).all() and (cosines.same_slot[0] > cosines.other_slot[0]).all()


def test_balanced_scores_and_verb_majorities():
    gold, names = np.array([[1, 0], [0, 0], [0, 0], [0, 0]]), ("first", "never")
    constant = span_probes.balanced_property_scores(np.zeros_like(gold), gold, names)
    assert list(constant) == ["first"] and constant["first"].mean() == 0.5
    assert span_probes.balanced_property_scores(gold, gold, names)["first"].mean() == pytest.approx(1)
    with pytest.raises(BertologyError):
        span_probes.balanced_property_scores(gold[1:], gold[1:], names)
    guess = span_probes.verb_majorities(["eat", "eat", "run"], [[1, 0], [1, 0], [0, 1]], ["eat", "fly"])
    assert guess.tolist() == [[1, 0], [1, 0]]


def test_a_rare_property_is_read_where_it_is_likelier_than_usual():
    classes = np.array([[0, 0], [1, 0], [1, 1]])  # what each combination holds
    logits = torch.tensor([[0.5, 0.3, 0.2], [0.9, 0.05, 0.05]]).log()
    read = span_probes.read_properties(logits, classes, usual=np.array([0.4, 0.1]))
    assert read.tolist() == [[1, 1], [0, 0]]  # 0.5 > 0.4 and 0.2 > 0.1 although no property is likelier than 1/2


def test_choice_of_layer_does_not_see_the_scored_units():
    correct, units = np.zeros((2, 3, 9)), list("aabbccdda")
    first = np.isin(units, ("a", "c"))
    correct[1, :, first], correct[0, :, ~first] = 1, 1  # each half is best where the other one fails
    layers, scores = span_probes.chosen_layer(correct, units)
    assert layers == [0, 1] and scores.shape == (3, 4) and not scores.any()
    correct[0], correct[1] = 0, 1
    assert span_probes.chosen_layer(correct, units)[1].min() == 1
    with pytest.raises(BertologyError):
        span_probes.chosen_layer(correct, ["a"] * 9)


def test_units_have_the_mean_of_their_items():
    scores = np.array([0.0, 0, 1, 1, 1, 0])
    assert np.allclose(by_unit(scores, list("aabbcc")), [0, 1, 0.5])
    assert by_unit(scores, list("abbccc")).mean() == pytest.approx(scores.mean())


def test_digit_one_hots_read_decimals_exactly():
    texts = [str(value) for value in tasks.decimals(tasks.integers(1000, 10_000, 150))]
    features, values = number_measures.digit_one_hots(texts), [float(text) for text in texts]
    _, predicted = number_measures.read_values(features[:, :120], values[:120], features[:, 120:])
    assert number_measures.explained(predicted, values[120:]).mean() > 0.99


def test_planted_values_are_read_outside_the_trained_range():
    inside, outside = np.arange(100, 300), np.arange(300, 500)
    vectors = torch.randn(3, 400, 16, generator=torch.Generator().manual_seed(0))
    planted = number_measures.plant_values(vectors, [*inside, *outside], inside.std())
    errors = [
        np.mean((number_measures.read_values(v[:, :200], inside, v[:, 200:])[1] - outside) ** 2)
        for v in (vectors, planted)
    ]
    assert errors[1] < 0.5 * inside.var() < errors[0]


def test_a_planted_label_stands_in_one_layer_only():
    labels = np.arange(40) % 2
    features = span_probes.plant(torch.randn(3, 40, 8), labels, layer=1)
    gaps = features[:, labels == 0].mean(1) - features[:, labels == 1].mean(1)
    assert gaps[1].norm() > 3 * max(gaps[0].norm(), gaps[2].norm())


def test_fillers_gain_from_context_only(tiny):
    preferences = semantic_answers.filler_preferences(tiny, tasks.filler_items())
    assert 0 < len(preferences["right_over_related"]) <= len(tasks.filler_items())
    sentence = tuple(tasks.FRAMES_OF_PRIOR[0].split())
    item = tasks.FillerItem(sentence, sentence.index("X"), ("dog", "dog", "dog"), "scene")
    assert not semantic_answers.filler_preferences(tiny, [item])["right_over_related"].any()  # ties are no preference


def test_flips_count_changed_classes(monkeypatch):
    def by_name(classifier, specimen, examples):
        return np.eye(2)[[int(words[0] == "mary") for words in examples.sentences]]

    monkeypatch.setattr(semantic_answers, "predict", by_name)
    tuned = SimpleNamespace(classifier=None, specimen=None)
    sentences = [["mary", "left"], ["tom", "left"]]
    versions = [[["anna", "left"], ["mary", "left"]], [["jack", "left"], ["ben", "left"]]]
    assert semantic_answers.flips(tuned, sentences, versions).tolist() == [[True, False], [False, False]]


def test_seeds_that_agree_flip_nothing_and_the_odd_one_out_always():
    correct = np.array([[1, 1], [1, 1], [0, 1]])
    assert semantic_answers.seed_flips(correct).tolist() == [[0.5, 0], [0.5, 0], [1, 0]]
    with pytest.raises(BertologyError):
        semantic_answers.seed_flips(correct[:1])


def test_nouns_stand_for_names_of_as_many_pieces_and_like_rank(monkeypatch):
    pieces = {"ann": [10], "bob": [1000], "zed": [7, 8], "box": [900], "cup": [12], "jar": [9, 8], "sun": [5000]}

    def encode(specimen, sentences):
        rows = [[0, *pieces[word], 0] for (word,) in sentences]  # between [CLS] and [SEP]
        return [SimpleNamespace(input_ids=row, word_ids=[None, *[0] * (len(row) - 2), None]) for row in rows]

    monkeypatch.setattr(semantic_answers, "encode_words", encode)
    found = semantic_answers.matched_nouns(None, ["ann", "bob", "zed"], ["sun", "box", "jar", "cup"])
    assert found == {"ann": "cup", "bob": "box", "zed": "jar"}


def numbers_cut(cut):
    return {m: cut(str(m)) for m in range(10, 1000)}


def test_pairs_differ_in_their_split_and_in_nothing_else():
    def cut(text):  # 12|3, but 1|23 below five
        return (text[:1], text[1:]) if int(text[-1]) < 5 else (text[:-1], text[-1:])

    same, changed = number_measures.alike_but_for_split(numbers_cut(cut), 30)
    assert len(same) == len(changed) == 30 and all(m % 10 == 4 for m in changed)
    assert all(m % 10 not in (4, 9) for m in same)
    assert sorted(len(str(m)) for m in same) == sorted(len(str(m)) for m in changed)
    with pytest.raises(BertologyError):
        number_measures.alike_but_for_split(numbers_cut(tuple), 30)


def test_number_vectors_hold_means_and_last_pieces(tiny):
    vectors = number_measures.number_vectors(tiny, [7, 12.5])
    layers = tiny.layers + 1
    assert vectors.shape == (2 * layers, 2, tiny.width)
    assert torch.equal(vectors[:layers, 0], vectors[layers:, 0])  # one piece: both are the same
    assert not torch.allclose(vectors[:layers, 1], vectors[layers:, 1])


def test_the_control_of_top_directions_takes_strong_ones_of_the_rest():
    vectors = np.random.default_rng(0).normal(size=(300, 20)) * np.logspace(0.5, -0.5, 20) + 3
    left = word_geometry.without_matched_directions(vectors, 2)
    top = remove_top_components(vectors, 2)
    assert np.allclose(left.mean(0), 0) and np.linalg.matrix_rank(left) == 18
    axes = np.linalg.svd(vectors - vectors.mean(0), full_matrices=False)[2]
    taken = ((vectors - vectors.mean(0) - left) @ axes.T).var(0)
    assert taken[:2].max() < 1e-6 and taken[2:6].sum() > 0.8 * taken.sum()
    assert left.var(0).sum() > top.var(0).sum()


def test_shared_digits():
    assert number_measures.shared_digits(["45", "##7"], ["45", "##8"]) == pytest.approx(2 / 3)
    assert number_measures.shared_digits("457", "458") == pytest.approx(2 / 3)
    assert number_measures.shared_digits(["45", "##7"], ["4", "##58"]) == 0


def test_ranking_and_first_components():
    vectors = np.array([[1, 0.1], [1, 0.2], [0.1, 1], [0.2, 1]])
    assert word_neighbours.neighbour_ranking(vectors, list("aabb")).tolist() == [1] * 4
    assert word_neighbours.neighbour_ranking(vectors, list("abab")).tolist() == [0, 0.5, 0, 0.5]
    assert (word_neighbours.neighbour_ranking(np.ones((4, 2)), list("aabb")) == 0.5).all()
    group = np.random.default_rng(0).normal(size=(2, 9, 5)) - 3
    component = word_geometry.first_component(group)
    assert component.shape == (2, 5) and ((component * group.mean(1)).sum(-1) > 0).all()
    assert np.allclose(np.linalg.norm(component, axis=-1), 1)


def test_forms_of_one_lemma_are_no_neighbours():
    """Against the plain definition: the items of other lemmas alone are ranked, each pair counted by hand."""
    rng = np.random.default_rng(0)
    lemmas, labels = list("aabbccddde"), list("xxxxyyyyyx")
    own = rng.normal(size=(5, 6))  # forms of a lemma nearly share their vector, as if by spelling
    vectors = np.stack([own["abcde".index(lemma)] for lemma in lemmas]) + 0.01 * rng.normal(size=(10, 6))
    agrees, ranks = [], []
    for i, vector in enumerate(vectors):
        cosines = [(float(vector @ v / np.linalg.norm(vector) / np.linalg.norm(v)), labels[j] == labels[i])
                   for j, v in enumerate(vectors) if lemmas[j] != lemmas[i]]  # fmt: skip
        agrees.append(max(cosines)[1])
        pairs = [(a, b) for a, same in cosines if same for b, too in cosines if not too]
        ranks.append(np.mean([a > b for a, b in pairs]))
    assert word_neighbours.neighbour_agrees(vectors, labels, lemmas).tolist() == agrees
    assert np.allclose(word_neighbours.neighbour_ranking(vectors, labels, lemmas), ranks)
    assert word_neighbours.neighbour_agrees(vectors, labels)[:9].all() and not all(agrees), "else spelling is found"
    with pytest.raises(BertologyError, match="two lemmas"):
        word_neighbours.neighbour_agrees(vectors[:2], labels[:2], lemmas[:2])


def test_a_lemma_that_is_alone_with_its_label_is_not_ranked():
    vectors = np.array([[1, 0.1], [1, 0.2], [0.1, 1], [0.2, 1]])
    assert len(word_neighbours.neighbour_ranking(vectors, list("xxyy"), list("aabc"))) == 2
