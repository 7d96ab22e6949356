"""Masks chosen for a purpose: what is hidden, by which piece, and claims that can go both ways."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils.language.facts import invented_people
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.studies.training import chosen_masks
from bertology_utils.studies.training.chosen_masks import MASK, UNKNOWN, word_losses
from bertology_utils.studies.training.laboratory import Laboratory
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.tiny_pretraining import small_language
from bertology_utils.tuning.two_languages import tiny_specimen
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import judge_claim, needed


@pytest.fixture(scope="module")
def lab() -> Laboratory:
    return Laboratory(small_language(60), held_out_size=12, steps=2, seeds=2)


@pytest.mark.parametrize("symbol", [MASK, UNKNOWN])
def test_a_feed_hides_what_is_chosen_behind_the_symbol(lab, symbol) -> None:
    model = lab.untrained[0]
    last = lambda row, rng: np.arange(len(lab.corpus[row])) == len(lab.corpus[row]) - 2  # noqa: E731 - the last word
    feed = chosen_masks.masked_feed(model, lab.corpus, last, 0, 256, symbol)
    batches = [next(feed) for _ in range(12)]
    special = model.tokenizer.convert_tokens_to_ids(symbol)
    for batch in batches:
        lengths = batch["attention_mask"].sum(1)
        assert torch.equal((batch["labels"] != IGNORED).nonzero()[:, 1], lengths - 3)  # before the stop and [SEP]
    hidden = torch.cat([batch["input_ids"][batch["labels"] != IGNORED] for batch in batches])
    assert (hidden == special).float().mean() == pytest.approx(0.8, abs=0.1)


@torch.no_grad()
def test_word_losses_are_those_of_the_definition(lab) -> None:
    sentences, model = lab.unseen[:3], lab.untrained[1]
    found = word_losses(lab.untrained, sentences)
    assert found.shape == (2, sum(map(len, sentences)))
    words, place = sentences[1], 2
    asked = encode_words(model, [[*words[:place], MASK, *words[place + 1 :]]])
    logits = model.model(**model_inputs(model, asked)).logits[0, place + 1]
    gold = model.tokenizer.convert_tokens_to_ids(words[place])
    assert found[1, len(sentences[0]) + place] == pytest.approx(-float(logits.log_softmax(-1)[gold]), abs=1e-5)


@pytest.mark.parametrize("known", [False, True])
def test_rare_words_that_are_merely_likelier_are_not_learnt(lab, known) -> None:
    """The trivial reason makes all rare words likelier wherever they are asked; the effect has met the sentences."""
    rivals, seen = chosen_masks.rare_rivals(lab.language), chosen_masks.rarer(lab.unseen)
    fresh, own = (tiny_specimen(lab.words, lab.recipe, 0) for _ in range(2))
    if known:
        (own,) = chosen_masks.pretrain(lab.words, lab.unseen, seen, replace(lab.recipe, steps=60), 1)
    else:
        own.model.get_output_embeddings().bias.data[own.tokenizer.convert_tokens_to_ids(sorted(rivals))] += 2
    before, after = (chosen_masks.rare_losses(model, lab.unseen, rivals) for model in (fresh, own))
    assert before["all"] - after["all"] > 0.5
    assert before["rare"] - after["rare"] > 0.3 if known else after["rare"] == pytest.approx(before["rare"], abs=1e-4)


def test_rare_words_have_rivals_of_their_part_of_speech(lab) -> None:
    rivals = chosen_masks.rare_rivals(lab.language)
    count = Counter(word for sentence in lab.language for word in sentence.words)
    tags = {word: tag for s in lab.language for word, tag in zip(s.words, s.upos, strict=True)}
    assert all(word in own and len({tags[other] for other in own}) == 1 < len(own) for word, own in rivals.items())
    assert max(count[word] for word in rivals) < np.median(list(count.values()))


def test_where_all_others_are_gaps_a_word_of_one_place_is_asked_alike(lab) -> None:
    words = lab.unseen[0]
    other = (next(word for word in lab.words if word != words[0]), *words[1:])  # another word at the first place
    gone, left = ([word_losses(lab.untrained, [own], gaps=gaps)[:, 1:] for own in (words, other)] for gaps in (1, 0))
    assert np.allclose(*gone, rtol=0, atol=1e-6) and not np.allclose(*left, rtol=0, atol=1e-5)


def test_rare_words_are_hidden_more_often(lab) -> None:
    count = Counter(word for words in lab.corpus for word in words)
    row = max(range(len(lab.corpus)), key=lambda row: np.ptp([count[word] for word in lab.corpus[row]]))
    choose, rng = chosen_masks.rarer(lab.corpus), np.random.default_rng(0)
    hidden = sum(choose(row, rng) for _ in range(500))
    often = [count[word] for word in lab.corpus[row]]
    assert hidden[int(np.argmin(often))] > 1.5 * hidden[int(np.argmax(often))]


def test_names_and_countries_are_hidden_whole() -> None:
    person = invented_people(1, congruent=False)[0]
    groups = chosen_masks._entities(person)
    assert groups.count(0) == 2 and groups.count(1) == 1 and groups.count(None) == 4


def test_single_words_hide_the_country_as_often_as_names_do() -> None:
    groups, rng = chosen_masks._entities(invented_people(1, congruent=False)[0]), np.random.default_rng(0)
    single = np.stack([chosen_masks.one_of_group(groups, rng) for _ in range(2000)])
    whole = np.stack([chosen_masks.group_mask(groups, rng) for _ in range(2000)])
    assert (single.sum(1) == 1).all() and whole[:, 5].mean() == pytest.approx(single[:, 5].mean(), abs=0.05)
    assert single[:, :2].mean(0) == pytest.approx([0.25, 0.25], abs=0.05)


def test_every_arm_gives_what_its_claim_needs(lab) -> None:
    even = chosen_masks.pretrain(lab.words, lab.corpus, chosen_masks.evenly(lab.corpus), lab.recipe, lab.seeds)
    found = {
        "unk-instead-of-mask": chosen_masks.unknown_words(lab, even),
    }
    for claim, runs in found.items():
        for side in (runs.model, runs.twin):
            assert all(len(values) == lab.seeds for values in needed(claim_by_id(claim), side).values())


@pytest.mark.parametrize(
    ("claim", "learnt", "effect", "null"),
    [
        (
            "frequency-subsampling",
            {"other_untrained": 5.0, "other_even": 2.0, "rare_untrained": 4.0},
            {"rare_even": 3.2},
            {"rare_even": 3.0},
        ),
        ("unk-instead-of-mask", {"untrained": 5.0, "clean_mask": 2.0}, {"cost_mask": 3.2}, {"cost_mask": 3.0}),
        (
            "phrase-entity-masking",
            {"guesses": 0.1, "facts_words": 0.1, "facts_singles": 0.4},
            {"facts_names": 0.6},
            {"facts_names": 0.4},  # all of the lead over single words is practice at the country
        ),
    ],
)
def test_planted_purposes(claim, learnt, effect, null) -> None:
    rest = {"rare_chosen": 3.0, "cost_unknown": 3.0}
    known, rng = claim_by_id(claim), np.random.default_rng(0)
    verdicts = []
    for own in (effect, null, effect | dict.fromkeys(learnt, 0.0)):
        means = rest | learnt | own
        samples = {name: mean + rng.normal(0, 0.01, (8, 60)) for name, mean in means.items()}
        control = {name: rng.normal(0, 0.01, (8, 60)) for name in means}
        verdicts.append(judge_claim(known, needed(known, samples), [needed(known, control)]).verdict)
    assert verdicts[:2] == ["replicates", "contradicts"]
    if claim != "phrase-entity-masking":
        assert verdicts[2] == "cannot do the task"
