"""Choosing is crossed with scoring, items are well formed, and the experiments name what predictions need."""

from collections import Counter

import numpy as np

from bertology_utils.chapter import Runs
from bertology_utils.data import material, pair_sets
from bertology_utils.instruments import cloze, grammaticality
from bertology_utils.language.agreement_verbs import agreement_verbs
from bertology_utils.language.grammar_trees import Sentence
from bertology_utils.language.pairs import MinimalPair
from bertology_utils.language.perturbations import Perturbed
from bertology_utils.studies.syntax import clozes as syntax_clozes


def test_templates_are_chosen_on_the_other_half(tiny, monkeypatch):
    def hits(specimen, template, known, classes):
        place = syntax_clozes.CLASS_TEMPLATES.index(template)
        even = np.arange(len(known)) % 2 == 0
        # template 1 is right on even facts only: whoever chose and scored on the same half would find it perfect
        return np.where(even, place == 1, place == 2).astype(float)

    monkeypatch.setattr(syntax_clozes, "_hits", hits)
    found = syntax_clozes.template_spread(tiny)
    assert found["best_template"].mean() == 0 and found["table"].shape[0] == 10


def test_a_template_that_always_works_is_the_best_one(tiny, monkeypatch):
    monkeypatch.setattr(
        syntax_clozes, "_hits", lambda s, template, known, c: np.full(len(known), float("kind of" in template))
    )
    found = syntax_clozes.template_spread(tiny)
    assert found["best_template"].mean() == 1 and found["worst_template"].mean() == 0


def test_stories_end_in_a_mask_and_have_three_words_to_compare():
    stories = syntax_clozes.pragmatic_clozes()
    assert len(stories) >= 15
    for story in stories:
        assert story.words[story.focus] == cloze.MASK
        assert len({story.true, story.false, story.condition["between"]}) == 3


def test_every_experiment_gives_the_samples_of_its_prediction(tiny):
    agreement = syntax_clozes.agreement(tiny, 6)
    assert {"attractors_0", "attractors_3", "nonsense", "unigram", "coverage"} <= set(agreement)
    assert len(agreement["attractors_0"]) == 3 and agreement["attractors_0"].items == 6
    assert agreement["unigram"].mean() == 0.5, "each verb is asked in either number"
    assert len(agreement["copulas"])
    assert {"meaningful", "nonsense_alike"} <= set(agreement)
    assert set(syntax_clozes.polarity(tiny, 8)) == {"licensor", "scope"}
    negation = syntax_clozes.negation(tiny)
    assert negation["affirmative"].shape == negation["negated"].shape and len(negation["affirmative"])
    np.testing.assert_array_equal(negation["unchanged"], negation["affirmative"] + negation["negated"] == 1)
    assert negation["unigram"].shape == negation["affirmative"].shape
    suite = syntax_clozes.psycholinguistic_suite(tiny, 8)
    roles = suite.pop("role_sensitivity")
    assert len(suite) == 7 and all(np.isin(v, (0, 1)).all() for v in suite.values())
    assert len(roles) < 8, "frames of one event are one unit"


def test_pairs_are_drawn_until_enough_are_covered(tiny, monkeypatch):
    known = {"is", "are", "was", "were"}
    monkeypatch.setattr(cloze, "single_piece", lambda specimen, form: 1 if form in known else None)
    found, share = syntax_clozes.covered_pairs(tiny, 12, attractors=1, seed=0, split="test")
    assert len(found) == 12 and {pair.good[pair.focus] for pair in found} <= known
    assert 0.2 < share < 0.6
    monkeypatch.setattr(cloze, "single_piece", lambda specimen, form: 1)
    assert syntax_clozes.covered_pairs(tiny, 12)[1] == 1


def test_every_covered_verb_is_asked_in_both_numbers(tiny, monkeypatch):
    monkeypatch.setattr(cloze, "single_piece", lambda specimen, form: None if form == "sings" else 1)
    found, share = syntax_clozes.verb_pairs(tiny, 600, attractors=1, seed=1)
    units = Counter(map(syntax_clozes.unit_of, found))
    assert len(found) == 600 and len(units) == len(agreement_verbs()) - 1 and "sing/sings" not in units
    assert 0.99 < share < 1 and set(units.values()) == {2, 4}
    numbers = Counter((syntax_clozes.unit_of(pair), pair.condition["number"]) for pair in found)
    assert set(numbers.values()) == {1, 2} and {pair.condition["attractors"] for pair in found} == {1}
    monkeypatch.setattr(cloze, "single_piece", lambda specimen, form: None)
    assert syntax_clozes.verb_pairs(tiny, 6) == ([], 0.0)


def test_whole_sentences_are_judged_by_paradigm_as_for_the_recorded_scores(tiny, tmp_path, monkeypatch):
    own = syntax_clozes.paradigms(tiny, 3)
    assert len(own) == 4 and all(values.shape == (3,) for values in own.values())
    for name in ("number", "case"):
        path = tmp_path / f"agreement/zorro/sentences/babyberta/{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("the owls sleeps .\nthe owl sleeps .\n" * 5, encoding="utf-8")
    monkeypatch.setenv("BERTOLOGY_DATA", str(tmp_path))
    found = syntax_clozes.paradigms(tiny, 3, source="zorro")
    recorded = grammaticality.score(tiny, grammaticality.load_suite("zorro", 3).paradigms.items())
    assert {name: values.mean() for name, values in found.items()} == {
        name: recorded[name].value for name in ("case", "number")
    }


def test_damage_is_measured_against_the_intact_input(tiny):
    damaged = syntax_clozes.damaged_inputs(tiny, 20)
    assert all(np.isin(values, (0, 1)).all() for values in damaged.values())
    removed = syntax_clozes.removed_arguments(tiny, 6)
    for name in ("argument", "adjunct", "random_context"):
        assert removed[name].shape == (6,) and (removed[name] >= -1e-6).all()


def test_competence_compares_the_true_word_with_and_without_its_context(tiny):
    items = [(("the", "cat", "sleeps"), 1), (("a", "dog", "runs"), 2), (("the", "unheardofword", "sleeps"), 1)]
    texts, places = zip(*items, strict=True)
    noise = [("runs", "cat", "dog"), ("the", "sleeps", "runs"), ("a", "unheardofword", "a")]
    rows, scores = [], []
    for sentences in (texts, noise):
        rows.append(syntax_clozes._distributions(tiny, list(map(Perturbed, sentences, places))))
        targets = [[words[place]] for words, place in items]
        scores.append(cloze.word_log_probability(tiny, sentences, places, targets))
    better = scores[0].log_probabilities[:, 0] > scores[1].log_probabilities[:, 0]
    np.testing.assert_array_equal(syntax_clozes._competence(tiny, items, *rows), better[scores[0].covered])


def test_real_sentences_are_damaged_in_the_same_way(tiny, monkeypatch):
    tree = Sentence(
        words=("Old", "dogs", "slept", "well", "in", "gardens", "!", "!"),
        upos=("ADJ", "NOUN", "VERB", "ADV", "ADP", "NOUN", "PUNCT", "PUNCT"),
        heads=(1, 2, -1, 2, 5, 2, 2, 2),
        deprels=("amod", "nsubj", "root", "advmod", "case", "obl", "punct", "punct"),
        **dict.fromkeys(("number", "tense", "roles", "entities", "chunks", "ancestors", "lemmas"), ()),
    )
    asked = []

    def sentences(n, seed=0, split="train", source="embedded"):
        asked.append((split, source))
        return [tree] * 4

    monkeypatch.setattr(material, "sentences", sentences)
    assert syntax_clozes._last_word(tree) == 5
    assert syntax_clozes.damaged_inputs(tiny, 4, source="some_treebank")["half"].shape == (4,)
    assert syntax_clozes.removed_arguments(tiny, 3, source="some_treebank")["argument"].shape == (3,)
    assert asked == [("test", "some_treebank"), ("train", "some_treebank")]


def test_damaged_agreement_prefers_the_agreeing_form_where_words_stand_before_it(tiny, monkeypatch):
    def any_word_before(specimen, sentences, places, forms):
        scores = np.array([[0.0, -1.0] if place else [-1.0, 0.0] for place in places])
        return cloze.CandidateScores(scores, np.ones(len(places), bool))

    monkeypatch.setattr(cloze, "word_log_probability", any_word_before)
    found = syntax_clozes.damaged_agreement(tiny, 6)
    assert found["intact"].all() and not found["headless"].any()


def test_damaged_agreement_has_a_rival_in_each_sentence_and_favours_no_form(tiny):
    pairs = syntax_clozes._balanced(syntax_clozes._rivalled(tiny, 20, 0, "embedded"), 20)
    assert len(pairs) == 20 and all(pair.condition["rivals"] for pair in pairs)
    assert [pair.condition["number"] for pair in pairs].count("plural") == 10
    assert len(syntax_clozes._balanced(pairs[:13], 20)) == 6


def pair_of(good: str, bad: str, **condition) -> MinimalPair:
    return MinimalPair(("it", good), ("it", bad), 1, "agreement", condition)


def test_agreement_is_sampled_over_verbs_and_nonsense_over_constructions():
    units = [syntax_clozes.unit_of(pair_of(*forms)) for forms in (("sleeps", "sleep"), ("sleep", "sleeps"))]
    assert units[0] == units[1] != syntax_clozes.unit_of(pair_of("eats", "eat"))
    assert syntax_clozes.unit_of(pair_of("is", "are")) == syntax_clozes.unit_of(pair_of("were", "was"))
    assert syntax_clozes.unit_of(pair_of("is", "are", construction="L 3")) == "L 3"


def test_nonsense_is_compared_in_the_constructions_whose_original_can_be_asked(tiny, monkeypatch):
    made = [pair_of("sleeps", "sleep", construction=name) for name in ("a", "a", "b", "c")]
    natural = [pair_of("eats", "eat", construction=name) for name in ("a", "b", "d")]
    monkeypatch.setattr(pair_sets, "natural_originals", lambda source: natural)
    monkeypatch.setattr(cloze, "single_piece", lambda specimen, form: 1)
    monkeypatch.setattr(syntax_clozes, "preferences", lambda specimen, pairs: np.arange(float(len(pairs))))
    found = syntax_clozes._sense_and_nonsense(tiny, [], made, "gulordava")
    assert {name: (len(values), values.mean()) for name, values in found.items()} == {
        "meaningful": (2, 0.5), "nonsense_alike": (2, 1.0)
    }  # fmt: skip


def test_the_article_before_the_blank_is_the_same_for_every_class(tiny, monkeypatch):
    asked = []
    monkeypatch.setattr(cloze, "single_piece", lambda specimen, form: 1)
    monkeypatch.setattr(
        cloze, "fill_in", lambda specimen, sentences, classes, k: asked.append((sentences, classes)) or sentences
    )
    monkeypatch.setattr(cloze, "hits_at", lambda specimen, completions, answers: np.ones(len(answers)))
    table = syntax_clozes.template_spread(tiny)["table"]
    assert table.shape[1] >= 25 and not [name for _, classes in asked for name in classes if name[0] in "aeiou"]
    assert {words[words.index("[MASK]") - 1] for sentences, _ in asked for words in sentences} == {
        "a",
        "of",
        "another",
        "this",
    }


def test_a_score_is_read_against_the_best_of_the_rules(tiny, tiny_twin):
    judged = Runs(*(syntax_clozes.paradigms(specimen, 4) for specimen in (tiny, tiny_twin)))
    rules = Runs(*(syntax_clozes.rules_of_paradigms(specimen, 4) for specimen in (tiny, tiny_twin)))
    rows = {row["paradigm"]: row for row in syntax_clozes.against_rules(judged, rules)}
    assert set(rows) == set(judged.model) and set(grammaticality.RULES) < set(rows["agreement"])
    lead = 100 * (judged.model["agreement"].mean() - grammaticality.best_rule(rules.model["agreement"]))
    assert rows["agreement"]["over the best rule"] == f"{lead:+.0f}"


def test_fixed_contrasts_differ_in_the_same_words_each_time(tiny, monkeypatch):
    asked = []
    monkeypatch.setattr(syntax_clozes, "judgements", lambda specimen, pairs: asked.append(pairs) or np.ones(len(pairs)))
    found = syntax_clozes.fixed_contrasts(tiny, 6)
    assert set(found) == set(syntax_clozes.CONTRASTS) and all(len(f["blind"]) == 6 for f in found.values())
    assert [grammaticality.contrasts(pairs) for pairs in asked] == [1, 1]
