"""Two languages side by side: what is read, what the tasks give away, and measures that can go both ways."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils.language.twins import shift_word
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.samples import per_seed
from bertology_utils.studies.mbert import carried_over, parallel_training
from bertology_utils.studies.mbert import parallel_tasks as tasks
from bertology_utils.studies.mbert import side_by_side as lab
from bertology_utils.studies.mbert.side_by_side import SAME, SWITCHED, WORDS
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import needed
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, UNABLE, judge, parse

CLAIMS = {
    "translations": "tlm",
    "five-tasks": "unicoder",
    "word-alignment": "mbert-align-finetune",
    "foreign-embeddings": "monolingual-to-foreign-embeddings",
    "language-sampling": "mbert-sampling",
    "language-ids": "mbert-language-ids-no-help",
}
TEXTS = [lab.draw(seed, SWITCHED) for seed in (0, 1)]


@pytest.fixture
def models():
    return lab.untrained(TEXTS)


@pytest.fixture
def brief(monkeypatch):
    """Experiments of a step or two on few sentences."""
    for module, names in {
        lab: {"ASKED": 12, "ALONE": 20, "PAIRED": 20, "TAGGED": 20},
        parallel_training: {"FIRST": 4, "THEN": 6, "RICH": 40, "POOR": 4},
        carried_over: {"TUNED": 2, "NEW_STEPS": 2},
    }.items():
        for name, value in names.items():
            monkeypatch.setattr(module, name, value)
    train = tasks.train
    monkeypatch.setattr(
        tasks, "train", lambda *read, steps=2, heads=None: train(*read, steps=min(steps, 6), heads=heads)
    )


def test_new_words_stand_in_no_pair_and_are_read_elsewhere():
    first, second = TEXTS
    assert first.new != second.new and not {word for words in first.paired for word in words} & first.new
    assert first.new <= {word for sentence in first.english for word in sentence.words}
    assert {*map(shift_word, first.new)} <= {word for words in first.foreign for word in words}
    assert {len(words) for words in first.sides} == {7} and first.foreign != [
        SWITCHED.translate(s.words) for s in first.english
    ]


def test_what_stands_beside_is_the_translation_or_never():
    own = TEXTS[0]
    assert own.beside(0) == [SWITCHED.translate(words) for words in own.paired]
    for wrong in (1, 2):
        assert sorted(own.beside(wrong)) == sorted(own.beside(0))
        assert not any(a == b for a, b in zip(own.beside(wrong), own.beside(0), strict=True))
    assert own.beside(1) != own.beside(2)


def test_tasks_hide_words_and_recovery_shows_their_translation(models):
    batch, classes = next(tasks.recovery(models[0], TEXTS[0]))
    asked = batch["labels"] != IGNORED
    shown = models[0].tokenizer.convert_ids_to_tokens(batch["input_ids"][asked])
    meant = models[0].tokenizer.convert_ids_to_tokens(batch["labels"][asked])
    assert classes is None and all(a == shift_word(b) or b == shift_word(a) for a, b in zip(shown, meant, strict=True))
    batch, classes = next(tasks.telling_apart(models[0], TEXTS[0]))
    assert len(classes) == len(batch["input_ids"]) and (batch["labels"] == IGNORED).all()
    words = batch["input_ids"][classes == 0]
    table = tasks.word_table(models[0], TEXTS[0])
    assert torch.equal(table[words[:, 1:8]].flip(1), words[:, 9:16])


def test_linked_words_are_translations_and_are_not_where_texts_are_wrong(models):
    table = tasks.word_table(models[0], TEXTS[0])
    for wrong in (False, True):
        batch, (english, twin) = next(carried_over.linked(models[0], replace(TEXTS[0], wrong=wrong)))
        flat = batch["input_ids"][batch["attention_mask"].bool()]
        assert bool((table[flat[english]] == flat[twin]).all()) is not wrong


def test_links_elsewhere_have_the_right_places_of_other_sentences(models):
    """So a tagger may learn the order of the twin by them, and no word."""
    own = TEXTS[0]
    (batch, right), (_, other) = (next(carried_over.linked(models[0], own, elsewhere)) for elsewhere in (False, True))
    length = batch["input_ids"].shape[1]
    assert torch.equal(right[0], other[0]) and torch.equal(right[1] % length, other[1] % length)
    assert not (right[1] // length == other[1] // length).any()
    assert set((other[1] // length).tolist()) == set((right[1] // length).tolist())


def test_a_dictionary_knows_half_and_mixes_the_rest_from_words_of_its_class():
    own = lab.draw(0, SAME)
    shares, known = carried_over.dictionary(own), carried_over.known_words(own)
    assert shares.sum(1) == pytest.approx(1) and len(known) == round(len(WORDS) / 2)
    tag = {word: name for name, words in lab.LEXICON.items() for word in words.split()}
    right = [
        share for word, row in zip(WORDS, shares, strict=True) for other, share in zip(WORDS, row, strict=True)
        if word not in known and tag[word] == tag[other]
    ]  # fmt: skip
    assert sum(right) / (len(WORDS) - len(known)) > 0.6
    shuffled = carried_over.dictionary(own, shuffled=True)
    assert (shuffled.argmax(1) == np.arange(len(WORDS)))[np.isin(WORDS, list(known))].mean() < 0.5


def test_a_twin_that_is_english_is_tagged_and_found_and_one_of_noise_is_not(models):
    """A planted effect: the twin's embeddings are those of English."""
    texts = [lab.draw(seed, SAME) for seed in (0, 1)]
    alike = carried_over.copies(models)
    for model in alike:
        known = model.tokenizer.convert_tokens_to_ids
        table = model.encoder.get_input_embeddings().weight.data
        table[known(list(map(shift_word, WORDS)))] = table[known(WORDS)]
    assert min(lab.tags(alike, texts)) > 0.8 > max(lab.tags(models, texts))
    assert min(lab.retrieval(alike, texts)) > 0.9 > 0.2 > max(lab.retrieval(models, texts))
    assert lab.tags(alike, texts) == pytest.approx(lab.tags(alike, texts, english=True))


def test_untrained_models_use_no_translation(models):
    assert lab.use_of_translation(models, TEXTS) == pytest.approx([0, 0], abs=0.05)


def test_a_poor_language_comes_as_often_as_its_power_says():
    own = lab.draw(0, SAME)
    sizes = {name: len(parallel_training._sampled(own, p).foreign) for name, p in parallel_training.POWERS.items()}
    assert sizes["proportional"] == 100 and 100 < sizes["smoothed"] < sizes["levelled"] < parallel_training.RICH
    assert len(set(parallel_training._sampled(own, 0.3).foreign)) <= 100


def test_ids_are_of_the_twin_alone_and_its_reader_has_them(models):
    batch, _ = next(tasks.marked(models[0], TEXTS[0]))
    twin = batch["input_ids"][:, 1] >= 5 + len(WORDS)
    assert torch.equal(batch["token_type_ids"][:, 1] == 1, twin) and 0 < twin.sum() < len(twin)
    before, after = (
        m.encoder.embeddings.token_type_embeddings.weight for m in (models[0], tasks.of_the_twin(models[0]))
    )
    assert torch.equal(after[0], before[1]) and not torch.equal(before[0], before[1])


@pytest.mark.parametrize("name", CLAIMS)
def test_an_experiment_gives_what_its_claim_names(brief, name):
    measure = (parallel_training.EXPERIMENTS | carried_over.EXPERIMENTS)[name]
    found = measure([0, 1])
    assert set(found.model) == set(found.twin)
    assert {sample.shape for sample in found.model.values()} == {(2, 1)}
    for side in (found.model, found.twin):
        assert needed(claim_by_id(CLAIMS[name]), side)


@pytest.mark.parametrize(("best", "verdict"), [(0.53, UNABLE), (0.8, REPLICATES)])
def test_a_lead_below_the_commonest_tag_is_none(best, verdict):
    """Planted: a tagger that leads the others, and is worse than one answer for all words; and a good one."""
    claim, noise = claim_by_id("unicoder"), np.random.default_rng(0)
    means = {"new_words_five": best, "new_words_pairs": 0.3, "new_words_wrong": 0.35, "commonest": 0.59}
    means |= {"english_tags": 0.9, "recovered_five": 0.85, "loss_untrained": 4.6, "loss_five": 3.3}
    samples = {name: per_seed(mean + noise.normal(0, 0.02, 40)) for name, mean in means.items()}
    assert judge(claim.parsed_prediction, parse(claim.given), samples).verdict == verdict


@pytest.mark.parametrize(("elsewhere", "verdict"), [(0.96, CONTRADICTS), (0.5, REPLICATES)])
def test_to_have_learnt_the_order_of_words_is_not_to_have_learnt_them(elsewhere, verdict):
    """Planted: links to the right places of other sentences do as much as translations; or they do not."""
    noise = np.random.default_rng(0)
    means = {"new_words_before": 0.4, "new_words_misaligned": 0.45, "new_words_aligned": 0.96}
    means |= {"retrieval_before": 0.01, "retrieval_misaligned": 0.01, "retrieval_aligned": 0.1}
    means |= {"new_words_elsewhere": elsewhere, "retrieval_elsewhere": 0.01}
    samples = {name: per_seed(mean + noise.normal(0, 0.01, 12)) for name, mean in means.items()}
    assert judge(claim_by_id("mbert-align-finetune").parsed_prediction, None, samples).verdict == verdict
