"""Roles joined to vectors: sentences that betray nothing, labels of each arm, and labels that are heard."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils.studies.training import roles
from bertology_utils.tuning.together import Stack, pack
from bertology_utils.tuning.two_languages import tiny_specimen
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import judge_claim, needed

LEXICON = (("king", "boy"), ("nun", "girl"), ("chased", "pushed"))


@pytest.fixture
def scenes() -> list[roles.Scene]:
    return roles.scenes(LEXICON, 400, np.random.default_rng(0))


def test_words_and_their_order_tell_nothing_of_who_acts(scenes) -> None:
    first = [next(word for word in one.words if word in (*LEXICON[0], *LEXICON[1])) for one in scenes]
    answers = np.array([one.woman for one in scenes])
    assert answers.mean() == 0.5
    for sex in LEXICON[:2]:
        assert answers[np.isin(first, sex)].mean() == 0.5


def test_the_agent_is_who_acts(scenes) -> None:
    for one in scenes:
        agent = one.words[one.roles.index(roles.AGENT)]
        assert (agent in LEXICON[1]) == bool(one.woman)
        assert one.words[one.roles.index(roles.VERB)] in LEXICON[2]


def test_arms_see_their_labels(scenes) -> None:
    rng = np.random.default_rng(0)
    assert all(roles.labels("roles", one, rng) == one.roles for one in scenes)
    assert not any(any(roles.labels("no_roles", one, rng)) for one in scenes)
    dealt = [roles.labels("shuffled_roles", one, rng) for one in scenes]
    assert np.mean([own == one.roles for own, one in zip(dealt, scenes, strict=True)]) == pytest.approx(0.5, abs=0.08)
    assert all(sorted(own) == sorted(one.roles) for own, one in zip(dealt, scenes, strict=True))


@torch.no_grad()
def test_answers_are_read_from_the_mean_of_pieces(scenes) -> None:
    specimen = tiny_specimen(roles.WORDS, roles.RECIPE)
    stack = Stack([specimen.model])
    tuned = replace(roles._arms(stack, [0]), stack=stack)
    plain = roles.Encoders(stack, 0 * tuned.roles[:1], tuned.head[:1])
    batch = roles.read(specimen, scenes[:8], "no_roles", np.random.default_rng(0))
    inputs = {key: value for key, value in batch.items() if key != "labels"}
    hidden = specimen.model.base_model(**inputs).last_hidden_state
    mean = torch.stack([own[mask.bool()].mean(0) for own, mask in zip(hidden, batch["attention_mask"], strict=True)])
    assert torch.allclose(plain.logits(pack([batch]))[0], mean @ tuned.head[0], atol=1e-5)


def test_labels_are_heard_where_they_alone_tell(monkeypatch) -> None:
    monkeypatch.setattr(roles, "FRAMES", ("the A V the P .", "the P V the A ."))
    monkeypatch.setattr(roles, "RECIPE", replace(roles.RECIPE, steps=150))
    monkeypatch.setattr(roles, "LABELLED", 96)  # enough to tell who is a man, too
    runs = roles.joined([9000])
    found = {name: float(sample.mean()) for name, sample in runs.model.items()}
    assert found["known_roles"] > 0.75 and max(found["known_no_roles"], found["known_shuffled_roles"]) < 0.65
    for side in (runs.model, runs.twin):
        assert {v.shape for v in needed(claim_by_id("sembert-role-features"), side).values()} == {(1, 1)}


def test_planted_roles() -> None:
    known, rng = claim_by_id("sembert-role-features"), np.random.default_rng(0)
    base = {"roles": 0.9, "no_roles": 0.7, "shuffled_roles": 0.7, "known_roles": 0.9, "known_no_roles": 0.7}
    verdicts = []
    for means in (base, base | {"roles": 0.7}, dict.fromkeys(base, 0.5)):
        samples = {name: mean + rng.normal(0, 0.01, (12, 1)) for name, mean in means.items()}
        twins = [{name: rng.normal(0.5, 0.01, (1, 1)) for name in means} for _ in range(12)]
        verdicts.append(judge_claim(known, samples, twins).verdict)
    assert verdicts[0] == "replicates" and verdicts[2] == "cannot do the task"
    assert verdicts[1] in ("contradicts", "underpowered")
