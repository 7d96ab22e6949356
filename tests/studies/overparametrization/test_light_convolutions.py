"""Attention and convolutions: sentences of a planned distance, nets of one size, the reach of kernels, verdicts."""

import pytest
import torch
from ledger_toys import planted_verdict

from bertology_utils.studies import small_models
from bertology_utils.studies.overparametrization import light_convolutions as study
from bertology_utils.studies.overparametrization.mixing import CONVOLUTIONS, KINDS, parameters
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.formulas import clauses_of, names_of

AS_GOOD, KERNELS, COST = "light-convolutions-competitive", "dynamic-kernels-beat-fixed-ones", "attention-cost-concern"


@pytest.fixture
def text(monkeypatch) -> study.Text:
    monkeypatch.setattr(study, "READ", 40)
    monkeypatch.setattr(study, "ASKED", 12)
    monkeypatch.setattr(study, "STEPS", 2)
    return study.text_of(3)


def subject(words: study.Sentence) -> int:
    """The place of the first noun."""
    return words.index("the") + 1


def test_sentences_are_of_one_length_as_far_as_planned_and_new(text) -> None:
    forms = text.words[-2 * study.NOUNS :]
    assert len({len(words) for words in text.read}) == 1 and len(set(text.words)) == len(text.words)
    for distance, sentences in text.asked.items():
        assert len(sentences) == study.ASKED and not set(sentences) & set(text.read)
        for words in sentences:
            verb = subject(words) + distance
            assert words[verb] == study.VERBS[forms.index(words[subject(words)]) % 2]


def test_the_cloze_hides_the_verb_alone(text) -> None:
    ids, verbs = study.cloze(text.words, text.read)
    for words, own, verb in zip(text.read, ids.tolist(), verbs.tolist(), strict=True):
        assert [text.words[i] for i in own] == [study.MASK if word in study.VERBS else word for word in words]
        assert study.VERBS[verb] in words


def test_nets_are_of_one_size_and_begin_with_the_same_vectors(text) -> None:
    nets = study.untrained(3, text)
    sizes = [parameters(net) for net in nets.values()]
    assert max(sizes) < 1.02 * min(sizes)
    assert all(torch.equal(net.pieces.weight, nets["attention"].pieces.weight) for net in nets.values())


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_hear_of_a_noun_within_their_reach_and_attention_of_any(kind, text) -> None:
    net, together = study.untrained(3, text)[kind], sum(size // 2 for size in study.KERNELS)
    for distance, sentences in text.asked.items():
        ids, _ = study.cloze(text.words, sentences)
        other = ids.clone()
        places = torch.tensor([[subject(words)] for words in sentences])
        other.scatter_(1, places, len(text.words) - 1 - ids.gather(1, places) % 2)  # another noun
        moved = (net(ids) - net(other)).abs().amax(1)[(ids != other).any(1)]
        assert (moved > 1e-7).all() if kind == "attention" or distance <= together else (moved == 0).all()


def test_what_is_asked_lies_where_it_is_said_to_lie() -> None:
    kernels = [size // 2 for size in study.KERNELS]
    assert max(study.REACH["within"]) <= max(kernels) < min(study.REACH["joined"])
    assert max(study.REACH["joined"]) <= sum(kernels) < min(study.REACH["beyond"])


class Reader(torch.nn.Module):
    """Knows the number of the noun at a place among those of a sentence."""

    def __init__(self, words: list[str], place: int) -> None:
        super().__init__()
        self.the, self.first, self.place = words.index("the"), len(words) - 2 * study.NOUNS, place

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        nouns = torch.stack([row[1:][row[:-1] == self.the] for row in ids])
        return torch.eye(len(study.VERBS))[(nouns[:, self.place] - self.first) % 2]


def test_who_reads_the_subject_is_right_and_who_reads_another_noun_is_not(text) -> None:
    assert all(study.agreement(Reader(text.words, 0), text, distance) == 1 for distance in study.DISTANCES)
    other = [study.agreement(Reader(text.words, -1), text, distance) for distance in study.DISTANCES]
    assert sum(other) / len(other) == pytest.approx(0.5, abs=0.2)


def test_the_samples_are_those_of_the_claims_and_training_repeats(text) -> None:
    (first, blank), (second, _) = (study.compared(5) for _ in range(2))
    claims = [claim_by_id(name) for name in (AS_GOOD, KERNELS)]
    named = set().union(*(names_of(clauses_of(f"{claim.given} and {claim.prediction}")) for claim in claims))
    assert named <= set(first) & set(blank) and {"attention-or-convolution", "cost-by-length"} <= set(
        small_models.EXPERIMENTS
    )
    assert all(first[name] == second[name] for name in blank)


def test_a_net_learns_what_is_near() -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"NOUNS": 8, "LEAD": 2, "READ": 1000, "STEPS": 150}.items():
            patch.setattr(study, name, value)
        text = study.text_of(4)
        net = study.untrained(4, text)["lightweight"]
        study.train(net, text, 4)
        assert study.agreement(net, text, 1) > 0.9 and study.agreement(net, text, study.DISTANCES[-1]) < 0.65


def test_slopes_are_powers_and_counted_work_is_linear_or_not(monkeypatch) -> None:
    assert study.slope([words**2 for words in study.LENGTHS]) == pytest.approx(2)
    monkeypatch.setattr(study, "REPEATS", 1)
    found, same = study.costs(3)
    assert found == same and names_of(clauses_of(claim_by_id(COST).prediction)) <= set(found)
    assert all(found[f"{kind}_work"] == pytest.approx(1) for kind in CONVOLUTIONS) and found["attention_work"] > 1.5


CHANCE = 0.5


@pytest.mark.parametrize(
    ("attention", "convolutions", "verdict"),
    [(0.9, 0.9, "replicates"), (0.9, 0.8, "contradicts"), (0.55, 0.9, "cannot do the task")],
)
def test_convolutions_as_good_worse_and_beside_attention_that_learnt_nothing(attention, convolutions, verdict) -> None:
    trained = {"attention_within": attention, "lightweight_within": convolutions, "dynamic_within": convolutions}
    assert planted_verdict(AS_GOOD, trained, CHANCE) == verdict


@pytest.mark.parametrize(
    ("attention", "dynamic", "verdict"),
    [(0.9, 0.9, "replicates"), (0.9, 0.8, "contradicts"), (0.55, 0.9, "cannot do the task")],
)
def test_kernels_that_differ_that_do_not_and_no_task(attention, dynamic, verdict) -> None:
    right = {"attention": attention, "dynamic": dynamic, "lightweight": 0.8, "window": 0.7}
    trained = {f"{kind}_within": share for kind, share in right.items()}
    assert planted_verdict(KERNELS, trained, CHANCE) == verdict


@pytest.mark.parametrize(("attention", "verdict"), [(1.8, "replicates"), (1.1, "contradicts")])
def test_a_cost_that_grows_faster_and_one_that_does_not(attention, verdict) -> None:
    """The clauses hold of layers without any training, so what an untrained side has does not matter."""
    slopes = {f"{kind}_{what}": 1.0 for kind in ("lightweight", "dynamic") for what in ("work", "time")}
    slopes |= {"attention_work": attention, "attention_time": attention}
    assert planted_verdict(COST, slopes, slopes) == verdict
