"""Facts under many prompts: selection on one half, calibration, names; on planted scores and the tiny specimen."""

from dataclasses import replace

import numpy as np
import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.instruments import knowledge
from bertology_utils.instruments.cloze import CandidateScores, fill_in, single_piece
from bertology_utils.language.facts import facts, invented_people


def planted(prompts: int = 5, n: int = 40, candidates: int = 4, seed: int = 0) -> knowledge.RelationScores:
    """Prompt 2 knows every fact, the others guess; candidate 0 is favoured everywhere."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(prompts, n, candidates))
    values[:, :, 0] += 3
    answers = rng.integers(candidates, size=n)
    values[2, np.arange(n), answers] += 20
    chosen = tuple(facts("class")[:1] * n)
    names = tuple("abcdefgh"[:prompts])
    return knowledge.RelationScores("class", chosen, tuple("wxyz"), names, values, answers, 1.0)


def test_selection_finds_the_prompt_that_knows() -> None:
    study = knowledge.prompt_study(planted())
    assert study["best_template"].mean() == 1
    assert study["median_template"].mean() < 0.7 and study["manual"].mean() < 0.7


def test_a_prompt_that_gives_one_answer_gains_nothing_by_it() -> None:
    """Prompt 0 is right where the answer is "w", half of the facts, prompt 1 where it is another; else they err."""
    answers = np.repeat([0, 1, 2, 3], [20, 7, 7, 6])
    values = np.random.default_rng(0).normal(size=(2, 40, 4))
    for prompt, served in enumerate((answers == 0, answers > 0)):
        values[prompt, np.arange(40), np.where(served, answers, (answers + 1) % 4)] += 20
    study = knowledge.prompt_study(replace(planted(n=40), log_probabilities=values, answers=answers))
    assert study["best_template"].mean() == 0
    for development, test in knowledge.halves_by_answer(answers):
        assert not set(answers[development]) & set(answers[test]) and len(development) + len(test) == 40
    alike = knowledge.halves_by_answer(np.zeros(5, int))
    assert [len(test) for _, test in alike] == [2, 3], "one answer alone is halved all the same"


def test_a_frequent_candidate_wins_raw_and_not_calibrated() -> None:
    scores = planted(n=400)
    noise = np.random.default_rng(3).normal(size=(1, 400, 4)) + np.array([5.0, 0, 0, 0])
    liking = replace(scores, log_probabilities=noise, answers=np.zeros(400, int))
    study = knowledge.prompt_study(liking)
    assert study["manual_raw"].mean() > 0.95 and study["manual"].mean() == pytest.approx(0.25, abs=0.1)
    noise[:, np.arange(400), scores.answers] += 4
    assert knowledge.prompt_study(replace(liking, answers=scores.answers))["manual"].mean() > 0.8


def test_selection_on_noise_gains_nothing() -> None:
    noise = np.random.default_rng(1).normal(size=(8, 400, 4))
    study = knowledge.prompt_study(replace(planted(n=400), log_probabilities=noise))
    assert abs(study["best_template"].mean() - 0.25) < 0.08


def test_halves_test_every_item_once() -> None:
    tested = np.concatenate([test for _, test in knowledge.halves(7)])
    assert sorted(tested) == list(range(7))
    assert all(not set(development) & set(test) for development, test in knowledge.halves(7))


def test_calibration_takes_away_a_preference_for_one_answer() -> None:
    scores = planted()
    assert np.allclose(scores.calibrated.mean(1), 0)


def test_share_ranked_below_counts_ties_half() -> None:
    values = np.array([[3.0, 1.0, 2.0], [1.0, 1.0, 2.0]])
    assert np.allclose(knowledge._below(values, np.array([0, 0])), [1.0, 0.25])


@pytest.mark.parametrize(("knows", "expected"), [(False, 0.5), (True, 1.0)])
def test_the_classifier_does_not_lose_objects_that_stand_once(monkeypatch, tiny, knows: bool, expected: float) -> None:
    """Its features are which object is asked, noise for the pair (alike objects would tie up to rounding, and rounding
    differs by machine), and, where it `knows`, whether they belong."""
    n, rng = 48, np.random.default_rng(0)
    objects, noise = np.broadcast_to(np.eye(n), (n, n, n)), rng.normal(size=(n, n, 4))
    features = np.concatenate([noise, objects, knows * np.eye(n)[:, :, None]], axis=-1)
    monkeypatch.setattr(knowledge, "_triple_features", lambda specimen, scores: features)
    scores = replace(planted(n=n, candidates=n), candidates=tuple(map(str, range(n))), answers=np.arange(n))
    found = knowledge.triple_ranking(tiny, scores)
    assert found["classifier_unseen"].mean() == pytest.approx(expected, abs=0.1)


def test_consistency_is_one_where_prompts_agree() -> None:
    scores = planted()
    same = np.repeat(scores.log_probabilities[:1], 3, axis=0)
    assert (knowledge.consistency(replace(scores, log_probabilities=same)) == 1).all()


def test_paraphrases_keep_the_mask_in_place() -> None:
    for prompt in knowledge.paraphrases(facts("capital")[0]):
        assert prompt.words[prompt.focus] == "[MASK]"


def test_size_cannot_be_asked_with_one_list(tiny) -> None:
    with pytest.raises(BertologyError, match="size"):
        knowledge.relation_scores(tiny, "size")


def test_scores_cover_what_the_vocabulary_knows(tiny) -> None:
    scores = knowledge.relation_scores(tiny, "class", rewrites=("{}", "we know that {}"), limit=12)
    assert scores.log_probabilities.shape == (len(scores.prompts), len(scores.facts), len(scores.candidates))
    assert 0 < scores.coverage <= 1 and not np.isnan(scores.log_probabilities).any()
    assert [scores.candidates[i] for i in scores.answers] == [fact.object for fact in scores.facts]


def test_ranks_in_the_vocabulary_are_places_among_the_first(tiny) -> None:
    scores = knowledge.relation_scores(tiny, "class", rewrites=("{}",), limit=24)
    best = fill_in(tiny, [fact.prompts()[0].words for fact in scores.facts], k=10).ids
    own = np.array([[single_piece(tiny, fact.object)] for fact in scores.facts])
    ranks = knowledge.vocabulary_ranks(tiny, scores)
    assert np.array_equal(ranks < 10, (best == own).any(1)) and np.array_equal(ranks < 1, (best[:, :1] == own)[:, 0])


def test_names_are_judged_by_style_and_by_fact(monkeypatch, tiny) -> None:
    same, other = invented_people(12, True), invented_people(12, False)

    def guesses(attribute):
        return lambda specimen, people, told="nothing": np.array(
            [p.candidates.index(getattr(p, attribute)) for p in people]
        )

    monkeypatch.setattr(knowledge, "name_guesses", guesses("style"))
    samples = knowledge.names_test(tiny, same, other)
    assert samples["style"].mean() == 1 and samples["congruent"].mean() == 1
    assert samples["incongruent"].mean() == 0 and samples["misled"].mean() == 1
    monkeypatch.setattr(knowledge, "name_guesses", guesses("country"))
    samples = knowledge.names_test(tiny, same, other)
    assert samples["incongruent"].mean() == 1 and samples["misled"].mean() == 0
    parts = {part for person in same for part in person.name.split()}
    assert len(samples["style"]) == len(samples["congruent"]) == len(samples["incongruent"]) == len(parts)


def test_a_told_language_is_read_or_not(monkeypatch, tiny) -> None:
    def planted(reads):
        def score(specimen, words, places, candidates):
            rows = [
                [float(reads and word in sentence) for word in row]
                for sentence, row in zip(words, candidates, strict=True)
            ]
            return CandidateScores(np.array(rows), np.ones(len(rows), bool))

        return score

    for reads, expected in ((True, 1), (False, 1 / 8)):
        monkeypatch.setattr(knowledge, "word_log_probability", planted(reads))
        told = knowledge.told_language(tiny)
        assert told.mean() == pytest.approx(expected) and len(told) == 12
