"""Next sentences in two languages, and adapters for another word order: what is read, and what could give it away."""

import numpy as np
import pytest
import torch

from bertology_utils.language.twins import shift_word
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.studies.mbert import next_sentences, with_adapters
from bertology_utils.studies.mbert import parallel_tasks as tasks
from bertology_utils.studies.mbert import side_by_side as lab
from bertology_utils.tuning.mlm_training import masked_loss
from bertology_utils.tuning.together import Stack, pack
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import needed

CLAIMS = {
    "next-sentences-in-two-languages": "removing-nsp-crosslingual",
    "adapters-for-a-twin": "adapters-crosslingual",
}


@pytest.fixture
def brief(monkeypatch):
    """Experiments of a step or two on few sentences."""
    for name, value in {"ASKED": 16, "ALONE": 20, "TAGGED": 40}.items():
        monkeypatch.setattr(lab, name, value)
    monkeypatch.setattr(with_adapters, "STEPS", 2)
    train = tasks.train
    monkeypatch.setattr(tasks, "train", lambda *read, steps=2: train(*read, steps=2))


def test_both_arms_read_the_same_pairs_each_of_one_language(brief):
    own = next_sentences.draw(0)
    [model] = lab.untrained([own])
    feeds = zip(next_sentences.asked(model, own), next_sentences.unasked(model, own), strict=True)
    for _, ((with_classes, classes), (without, nothing)) in zip(range(4), feeds, strict=False):
        assert nothing is None and set(classes.tolist()) <= {0, 1}
        assert all(torch.equal(with_classes[key], without[key]) for key in without)
        real = torch.where(with_classes["labels"] == IGNORED, with_classes["input_ids"], with_classes["labels"])
        twin = real >= 5 + len(lab.WORDS)
        ordinary = real >= 5
        assert all(len(set(row[words].tolist())) == 1 for row, words in zip(twin, ordinary, strict=True))


def test_documents_keep_to_a_theme_and_the_tagger_lacks_all_but_one_word_of_a_class(brief):
    own = next_sentences.draw(3)
    english, foreign = own.read
    content = {word for tag in lab.OPEN for word in lab.LEXICON[tag].split()}
    themes = [{w for pair in part for words in pair for w in words} & content for part in (english[:20], english[20:])]
    assert not themes[0] & themes[1]
    assert all(not set(first) & {"the", "this"} and not set(second) & {"that", "every"} for first, second in english)
    assert {w for pair in foreign for words in pair for w in words} <= set(map(shift_word, lab.WORDS))
    assert len(content - own.new) == 3 and not own.new & {w for s in own.english for w in s.words}


def test_next_sentences_are_told_by_who_counts_determiners_and_not_by_a_coin(brief, monkeypatch):
    """A planted reader of the second sentence's determiners, and one that knows nothing."""
    texts = [next_sentences.draw(seed) for seed in (0, 1)]
    opens = {*next_sentences.DETERMINERS[0], *map(shift_word, next_sentences.DETERMINERS[0])}
    readers = {
        "planted": lambda *read: torch.tensor([int(not opens & set(words)) for words in read[-1]]),
        "coin": lambda *read: torch.arange(len(read[-1])) % 2,
    }
    found = {}
    for name, reader in readers.items():
        monkeypatch.setattr(tasks, "classes_told", reader)
        found[name] = np.mean(next_sentences.next_told([None, None], (), texts))
    assert found["planted"] > 0.65 > 0.6 > found["coin"]


def test_the_other_order_moves_verbs_and_adjectives_and_words_keep_their_tags():
    twin = with_adapters.VerbLast()
    assert twin.translate(["the", "old", "dog", "sees", "that", "cat", "."]) == tuple(
        map(shift_word, ["the", "dog", "old", "that", "cat", "sees", "."])
    )
    assert twin.translate(["this", "red", "big", "ship", "moves", "soon", "."])[1:4] == tuple(
        map(shift_word, ["ship", "red", "big"])
    )
    texts = [lab.draw(seed, twin) for seed in (0, 1)]
    alike = lab.untrained(texts)
    for model in alike:  # a planted effect: the twin's embeddings are those of English, and no word looks at its place
        known, table = model.tokenizer.convert_tokens_to_ids, model.encoder.get_input_embeddings().weight.data
        table[known(list(map(shift_word, lab.WORDS)))] = table[known(lab.WORDS)]
        model.encoder.embeddings.position_embeddings.weight.data.zero_()
    assert lab.tags(alike, texts) == pytest.approx(lab.tags(alike, texts, english=True))


@pytest.mark.parametrize("arm", ["plain", "adapters", "above"])
def test_only_what_is_new_is_trained_and_stacked_models_go_through_adapters(brief, arm):
    texts = [lab.draw(seed, with_adapters.VerbLast()) for seed in (0, 1)]
    body = lab.untrained(texts)
    readers = with_adapters.carry(body, texts, arm)
    for before, after in zip(body, readers, strict=True):
        first = dict(before.model.named_parameters())
        changed = {
            name for name, w in after.model.named_parameters() if not (name in first and torch.equal(w, first[name]))
        }
        assert all(any(part in name for part in with_adapters.NEW.split("|")) for name in changed)
        assert (arm != "plain") == any("adapter" in name for name in changed)
    batches = [next(tasks.apart(model, own))[0] for model, own in zip(readers, texts, strict=True)]
    stack, packed = Stack([model.model for model in readers]), pack(batches)
    together = stack.masked_losses(stack.hidden(packed), packed)
    alone = [masked_loss(model.model, batch).mean() for model, batch in zip(readers, batches, strict=True)]
    assert together.tolist() == pytest.approx([loss.item() for loss in alone], rel=1e-4)


def test_the_rival_adapter_is_as_large_as_all_in_the_body():
    width = lab.RECIPE.width
    body, above = (2 * width * size + size + width for size in (with_adapters.SIZE, with_adapters.ABOVE))
    assert 1 <= above / (2 * lab.RECIPE.layers * body) < 1.05


@pytest.mark.parametrize("name", CLAIMS)
def test_an_experiment_gives_what_its_claim_names(brief, name):
    found = (next_sentences.EXPERIMENTS | with_adapters.EXPERIMENTS)[name]([0, 1])
    assert set(found.model) == set(found.twin)
    assert {sample.shape for sample in found.model.values()} == {(2, 1)}
    for side in (found.model, found.twin):
        assert needed(claim_by_id(CLAIMS[name]), side)
