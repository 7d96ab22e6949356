"""Knowledge put in: the base and its vectors, what models read of it, and arms of which the right ones can learn."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.studies.training import entity_inputs, knowledge
from bertology_utils.studies.training import knowledge_base as kb
from bertology_utils.tuning.together import pack
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import judge_claim, needed


@pytest.fixture
def arms() -> knowledge.Arms:
    return knowledge.Arms.drawn(("one", "two"), [3, 4], met=6, unmet=3, of_a_name=2)


def test_people_of_one_name_differ_in_every_relation() -> None:
    objects = kb.draw(40, np.random.default_rng(0), of_a_name=2).objects
    assert (objects[::2] != objects[1::2]).all()
    assert objects.shape == (40, 3) and set(np.unique(objects)) == set(range(kb.CHOICES))


def test_words_mean_one_thing() -> None:
    words = (*kb.FIRST, *kb.LAST, *kb.SINGLE, *kb.OBJECTS)
    assert len(words) == len(set(words)) and {len(objects) for objects in kb.RELATIONS.values()} == {kb.CHOICES}
    assert len(kb.SINGLE) >= entity_inputs.FAMOUS


def test_dealt_vectors_are_the_same_ones_and_nobody_keeps_theirs() -> None:
    vectors = np.arange(30.0).reshape(10, 3)
    others = kb.dealt(vectors, np.random.default_rng(1))
    assert sorted(others[:, 0]) == sorted(vectors[:, 0]) and (others != vectors).all()


def test_statements_tell_all_facts_and_context_tells_another_first() -> None:
    base = kb.draw(40, np.random.default_rng(0), 2)
    plain = kb.statements(base, {0: ("a", "b")})
    assert [kb.RELATIONS[name][one.answer] for name, one in zip(kb.RELATIONS, plain, strict=True)] == [
        one.words[-2] for one in plain
    ]
    behind = kb.statements(base, dict.fromkeys(range(4), ("a", "b")), 2, context=True)
    assert len(behind) == 4 * 6 and {one.mention for one in behind} == {0, 1}
    assert all(one.words.index("and") < len(one.words) - 3 for one in behind)


def test_what_is_asked_is_hidden_and_names_say_who_is_meant(arms) -> None:
    told = arms.asked[0]
    batch = kb.ask(arms.specimen, told)
    hidden = batch["labels"] != IGNORED
    assert (hidden.sum(1) == 1).all() and (batch["input_ids"][hidden] == arms.specimen.tokenizer.mask_token_id).all()
    assert arms.specimen.tokenizer.convert_ids_to_tokens(batch["labels"][hidden]) == [one.words[-2] for one in told]
    assert [row[row > 0].tolist() for row in batch["token_type_ids"]] == [[1 + one.person] * 2 for one in told]


def test_training_hides_last_objects_most(arms) -> None:
    batch = next(kb.feed(arms.specimen, arms.told[0], 0, 2000))
    hidden, ends = (batch["labels"] != IGNORED).float(), batch["attention_mask"].sum(1)
    last = hidden[torch.arange(2000), ends - 3].mean()
    assert last == pytest.approx(kb.HIDDEN_LAST, abs=0.05) and hidden[:, 1:5].mean() == pytest.approx(0.15, abs=0.03)
    assert not hidden[:, 0].any() and not hidden[torch.arange(2000), ends - 1].any()


def test_known_counts_the_likeliest_object_of_the_relation(arms) -> None:
    told, specimen = arms.asked[0][:4], arms.specimen
    right = torch.tensor(specimen.tokenizer.convert_tokens_to_ids([one.words[-2] for one in told]))
    logits = torch.zeros(2, 4, specimen.vocabulary_size)
    logits[0, torch.arange(4), right] = 1.0
    logits[1, torch.arange(4), right] = -1.0
    logits[0, :, specimen.tokenizer.mask_token_id] = 9.0  # no object
    assert kb.known(specimen, logits, [told, told]).tolist() == [1.0, 0.0]


def test_arms_of_a_seed_start_alike_and_differ_in_vectors(arms) -> None:
    for weight in (arms.stack.weights[knowledge.PIECES], arms.fresh(2, 3)):
        assert torch.equal(weight[0], weight[2]) and not torch.equal(weight[0], weight[1])
    own, other = arms.vectors(["own", "other"]).split(2)
    assert own.shape == (2, 1 + 9, 2, kb.SIZE) and not own[:, 0].any() and not torch.equal(own, other)
    assert not arms.vectors(["none"]).any()


@torch.no_grad()
def test_a_name_tells_a_linker_only_who_bears_it(arms) -> None:
    vectors = arms.vectors(["own", "own"])
    query, value = (torch.randn(4, *shape) for shape in ((48, kb.SIZE), (kb.SIZE, 48)))
    linker = knowledge.Linker(arms.stack, vectors, query, value, torch.ones(4, 1, 1))
    batch = pack([kb.ask(arms.specimen, own) for own in arms.asked] * 2)
    types = torch.where(batch.types > 0, 1 + ((batch.types - 1) ^ 1), 0)  # the namesake
    other = replace(batch, types=types)
    assert all(torch.equal(*both) for both in zip(linker.read(batch), linker.read(other), strict=True))
    assert linker.linked(batch) + linker.linked(other) == pytest.approx(1)
    even = replace(linker, attends=torch.zeros(4, 1, 1))
    assert even.linked(batch) == pytest.approx(0.5)


def test_a_map_is_fitted_to_the_famous_and_put_in_for_a_while() -> None:
    rng = np.random.default_rng(0)
    base = kb.draw(112, rng)
    weights = rng.normal(size=(kb.SIZE, 5))
    mapped = entity_inputs.linear_map(base, base.vectors[: entity_inputs.FAMOUS] @ weights)
    assert mapped == pytest.approx(base.vectors[-entity_inputs.ASKED :] @ weights)
    assert entity_inputs._read_off(base) > 0.9  # vectors hold the facts
    specimen, stack = knowledge.stacked([0], 112, more=entity_inputs.PLACES)
    before = stack.weights[knowledge.PIECES]
    with entity_inputs._mapped(specimen, stack, [base]):
        assert (stack.weights[knowledge.PIECES] != before).any(-1).sum() == entity_inputs.ASKED
    assert stack.weights[knowledge.PIECES] is before


def test_an_arm_that_is_given_facts_knows_them_and_others_guess(monkeypatch) -> None:
    monkeypatch.setattr(knowledge, "LEARNING_STEPS", 300)
    found = {name: float(sample.mean()) for name, sample in knowledge.at_names([9100]).model.items()}
    assert found["with_base"] > 0.4 and max(found["shuffled_base"], found["without_base"]) < 0.3


CLAIMS = {
    "ernie-entity-embeddings": knowledge.at_names,
    "structured-knowledge-knowbert": knowledge.by_attention,
    "e-bert-entity-inputs": entity_inputs.afterwards,
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_every_experiment_gives_what_its_claim_needs(monkeypatch, claim) -> None:
    for module, name in ((knowledge, "LEARNING"), (knowledge, "LINKING"), (entity_inputs, "AFTERWARDS")):
        monkeypatch.setattr(module, f"{name}_STEPS", 1)
    runs = CLAIMS[claim]([5, 6])
    for side in (runs.model, runs.twin):
        assert {values.shape for values in needed(claim_by_id(claim), side).values()} == {(2, 1)}


@pytest.mark.parametrize(
    ("claim", "learnt", "best", "rest"),
    [
        ("ernie-entity-embeddings", ("told_with_base", "told_without_base"), "with_base", "without_base shuffled_base"),
        ("structured-knowledge-knowbert", ("told_attended",), "attended", "even shuffled_base"),
        ("e-bert-entity-inputs", ("told",), "replaced", "plain shuffled"),
    ],
)
def test_planted_knowledge(claim, learnt, best, rest) -> None:
    known, rng = claim_by_id(claim), np.random.default_rng(0)
    base = dict.fromkeys((*learnt, best), 0.7) | dict.fromkeys(rest.split(), 0.2)
    verdicts = []
    for means in (base, base | {best: 0.2}, base | dict.fromkeys(learnt, 0.12)):
        samples = {name: mean + rng.normal(0, 0.02, (12, 1)) for name, mean in means.items()}
        twins = [{name: rng.normal(0.125, 0.02, (1, 1)) for name in means} for _ in range(12)]
        verdicts.append(judge_claim(known, samples, twins).verdict)
    assert verdicts == ["replicates", "contradicts", "cannot do the task"]
