"""Objectives with a purpose: tales that hang together, arms of the engine, and tests that can go both ways."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from bertology_utils.runs import Runs
from bertology_utils.studies.training import engine_arms, purposes
from bertology_utils.studies.training.engine_arms import Arm, train
from bertology_utils.studies.training.tales import ACTS, VERB, World, world
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.hidden_words import hidden_words, losses
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import judge_claim, needed

CLAIMS = {
    "text-streams": "beyond-sentence-mlm",
    "segment-tasks": "structbert-sentence-order",
    "tasks-in-turn": "ernie2-continual",
}


@pytest.fixture(scope="module")
def own() -> World:
    return world(np.random.default_rng(0))


@pytest.fixture(scope="module")
def arm(own):
    """A world and its arm before the first step and after each of two phases."""
    phases = [{"steps": 8, "length": 32, "objectives": {task: 1.0}} for task in ("masked-tokens", "ngram-order")]
    told = own.tales(60, np.random.default_rng(1))
    return train(Arm(told, purposes.TALES | {"phases": phases}), own.words, 4000, seed=3)


def acts_of(own: World, tale) -> list[int]:
    return [int(np.argwhere(own.verbs == sentence[VERB])[0, 0]) for sentence in tale]


def test_tales_keep_to_a_theme_and_follow_the_acts(own) -> None:
    tales = own.tales(40, np.random.default_rng(0))
    for tale in tales:
        themes = {int(np.argwhere(own.nouns == noun)[0, 0]) for first, _, last in tale for noun in (first, last)}
        acts = acts_of(own, tale)
        assert len(themes) == 1 and all((b - a) % ACTS == 1 for a, b in pairwise(acts))
    assert len({acts_of(own, tale)[0] for tale in tales}) == ACTS
    assert all(acts_of(own, t) == [*range(ACTS)] for t in own.tales(5, np.random.default_rng(0), round_about=False))


def test_new_tales_have_no_sentence_that_was_read(own) -> None:
    read, new = (own.tales(300, np.random.default_rng(0), new) for new in (False, True))
    assert not {s for tale in read for s in tale} & {s for tale in new for s in tale}


def test_relations_are_what_they_are_called(own) -> None:
    rng = np.random.default_rng(0)
    tale, other = own.tales(2, rng, round_about=False)
    for relation, step in (("next", 1), ("previous", -1)):
        first, second = acts_of(own, purposes.related(tale, other, relation, rng))
        assert second - first == step
    first, second = purposes.related(tale, other, "random", rng)
    assert first in tale and second in other


def test_an_arm_is_kept_before_and_after_each_phase(arm) -> None:
    weights = [model.model.get_input_embeddings().weight for model in arm]
    assert len(arm) == 3 and not any(torch.equal(a, b) for a, b in pairwise(weights))


def test_arms_read_alike_whatever_their_inputs(own, tmp_path) -> None:
    read = []
    for changes in (purposes._arm([], phases=[{"steps": 8, "length": 8}]).changes, purposes._streaming()):
        told = [[sentence] for tale in own.tales(200, np.random.default_rng(0)) for sentence in tale]
        config = engine_arms._config(Arm(told, changes), own.words, tmp_path, 0)
        config = engine_arms._at_budget(config, 20_000)
        batches = engine_arms.Pretraining(config).batches
        read.append(sum(int(batches[step]["attention_mask"].sum()) for step in range(config.steps)))
    assert read == pytest.approx([20_000] * 2, rel=0.05)


def test_a_loss_that_is_not_asked_moves_nothing_but_its_own_head(own) -> None:
    told, ends = own.tales(60, np.random.default_rng(1)), []
    for weight in (purposes.UNASKED, purposes.UNASKED / 100):
        made = train(purposes._arm(told, {"next-sentence": weight}), own.words, 2000, 0)[-1]
        ends.append(made.model.bert.encoder.layer[1].output.dense.weight)
    assert torch.allclose(*ends, rtol=0, atol=1e-4)


@torch.no_grad()
def test_hidden_words_are_those_of_the_definition(own, arm) -> None:
    (first, second, *_), model = own.tales(1, np.random.default_rng(5))[0], arm[-1]
    scores, gold = hidden_words(model, [first], np.array([[1, 4]]), [second])
    words = [(first[0], "[MASK]", first[2]), (second[0], "[MASK]", second[2])]
    logits = model.model(**model_inputs(model, encode_words(model, words[:1], words[1:]))).prediction_logits
    assert torch.allclose(scores[0], logits[0, [2, 6]].log_softmax(-1), atol=1e-5)
    assert model.tokenizer.convert_ids_to_tokens(gold[0]) == [first[1], second[1]]
    assert losses(model, [first], np.array([[1, 4]]), [second])[0, 1] == pytest.approx(-float(scores[0, 1, gold[0, 1]]))


def test_a_probe_finds_what_is_planted_and_nothing_else(own, monkeypatch) -> None:
    rng = np.random.default_rng(0)
    parts = purposes._labelled(own, "sentence-order", rng)
    labels = {(f, s): label for part in parts for f, s, label in zip(*part, strict=True)}
    for planted, low, high in ((True, 0.95, 1), (False, 0.4, 0.6)):

        def vectors(specimen, firsts, pool, pairs, planted=planted):
            noise = torch.as_tensor(rng.normal(size=(1, len(firsts), 8)), dtype=torch.float32)
            known = torch.tensor([labels[pair] for pair in zip(firsts, pairs, strict=True)])
            return noise + 8 * planted * known[None, :, None]

        monkeypatch.setattr(purposes, "sentence_vectors", vectors)
        assert low <= purposes._probed(None, *parts, 0) <= high


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claim_finds_its_samples(name, monkeypatch) -> None:
    monkeypatch.setattr(purposes, "PIECES", dict.fromkeys(purposes.PIECES, 1500))
    for count in ("TOLD", "ASKED", "PROBE_PAIRS"):
        monkeypatch.setattr(purposes, count, 60)
    found = purposes.EXPERIMENTS[name]([1])
    assert isinstance(found, Runs) and found.networks == 1 and set(found.model) == set(found.twin)
    for side in (found.model, found.twin):
        assert all(sample.shape == (1, 1) for sample in needed(claim_by_id(CLAIMS[name]), side).values())


def test_seeds_have_worlds_of_their_own() -> None:
    first, again, other = (world(np.random.default_rng(seed)).words for seed in (0, 0, 1))
    assert first == again and set(first) != set(other)


BASE = {
    "beyond-sentence-mlm": {"untrained": 4.0, "verb_singles": 2.9, "verb_scrambled": 2.9, "verb_pairs": 2.9},
    "structbert-sentence-order": {
        "order_unasked": 0.5, "order_next_sentence": 0.7, "next_next_previous": 0.7, "next_next_sentence": 0.7,
    },
    "ernie2-continual": {"untrained": 4.0, "forgot_sequential": 1.0, "end_joint": 2.3, "end_cumulative": 2.3},
    "structbert-ngram-reordering": {"order_masks": 0.8},
    "span-boundary-objective": {"untrained": 5.0, "edges_spans": 0.2, "fill_boundary": 3.5},
}  # fmt: skip


@pytest.mark.parametrize(
    ("claim", "effect", "null", "unlearnt"),
    [
        ("beyond-sentence-mlm", {"verb_streams": 2.5}, {"verb_streams": 2.9}, {"verb_singles": 3.9}),
        (
            "structbert-sentence-order", {"order_next_previous": 0.8}, {"order_next_previous": 0.69},
            {"order_next_previous": 0.5},
        ),
        (
            "ernie2-continual", {"forgot_cumulative": 0.0, "first": 2.4}, {"forgot_cumulative": 1.0, "first": 2.4},
            {"first": 3.9},
        ),
        (
            "structbert-ngram-reordering", {"order_ngrams": 0.9, "order_plain": 0.8},
            {"order_ngrams": 0.8, "order_plain": 0.8}, {"order_plain": 0.5},
        ),
        (
            "span-boundary-objective", {"edges_boundary": 0.3, "fill_spans": 3.5},
            {"edges_boundary": 0.2, "fill_spans": 3.5}, {"fill_spans": 4.9},
        ),
    ],
)  # fmt: skip
def test_planted_purposes(claim, effect, null, unlearnt) -> None:
    known, rng, verdicts = claim_by_id(claim), np.random.default_rng(0), []
    for own in (effect, null, effect | unlearnt):
        means = BASE[claim] | own
        samples = {name: mean + rng.normal(0, 0.005, (12, 1)) for name, mean in means.items()}
        control = {name: rng.normal(0, 0.005, (12, 1)) for name in means}
        verdicts.append(judge_claim(known, needed(known, samples), [needed(known, control)]).verdict)
    assert verdicts == ["replicates", "contradicts", "cannot do the task"]
