"""Attention and recurrence: sentences of a planned distance, a cloze at the verb, and two nets of one size."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.samples import per_seed
from bertology_utils.studies.overview import recurrent
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.formulas import clauses_of, names_of
from bertology_utils.verdicts.predictions import REPLICATES, UNABLE, judge, parse


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(recurrent, "READ", 60)
    monkeypatch.setattr(recurrent, "ASKED", 20)
    monkeypatch.setattr(recurrent, "RECIPE", recurrent.BilingualRecipe(layers=2, width=64, heads=2, inner=128, steps=2))


def test_sentences_are_as_far_as_planned_and_new() -> None:
    read, asked = recurrent.text_of(3)
    nouns = dict(recurrent.nouns_of(3))
    for phrases, sentences in asked.items():
        assert len(sentences) == recurrent.ASKED and not set(sentences) & set(read)
        for words in sentences:
            subject = words[words.index("the") + 1]
            assert len(words) - 3 - words.index("the") == 2 + 3 * phrases
            assert words[-3] == ("is" if subject in nouns else "are")


def test_the_cloze_hides_the_verb_alone() -> None:
    read, _ = recurrent.text_of(0)
    reader, _ = recurrent.untrained(0)
    batch = recurrent.cloze(reader, read)
    hidden = batch["labels"] != IGNORED
    assert (hidden.sum(1) == 1).all() and (batch["input_ids"][hidden] == reader.tokenizer.mask_token_id).all()
    assert reader.tokenizer.convert_ids_to_tokens(batch["labels"][hidden].tolist()) == [words[-3] for words in read]


def test_both_nets_are_of_one_size_and_begin_with_the_same_vectors() -> None:
    reader, nets = recurrent.untrained(1)
    sizes = [sum(p.numel() for p in net.parameters()) for net in nets.values()]
    assert max(sizes) < 1.05 * min(sizes)
    table = nets["recurrent"].base_model.vectors.weight
    assert torch.equal(table, reader.model.get_input_embeddings().weight)


def test_a_net_that_knows_the_subject_is_right_and_one_that_follows_the_last_noun_is_not() -> None:
    reader, _ = recurrent.untrained(0)
    _, asked = recurrent.text_of(0)
    plural = {form for _, form in recurrent.nouns_of(0)}

    class Planted(torch.nn.Module):
        """Reads the noun at `place` among those of a sentence."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place, self.base_model = place, torch.nn.Identity()

    def rule(place: int):
        def logits(net, batch, chosen):
            rows = [reader.tokenizer.convert_ids_to_tokens(ids) for ids in batch["input_ids"].tolist()]
            nouns = [[word for before, word in pairwise(row) if before == "the"] for row in rows]
            forms = reader.tokenizer.convert_tokens_to_ids(list(recurrent.VERBS))
            found = torch.zeros(len(rows), reader.vocabulary_size)
            for i, own in enumerate(nouns):
                found[i, forms[own[place] in plural]] = 1
            return found, None

        return logits

    with pytest.MonkeyPatch.context() as patch:
        for place, told in ((0, 1.0), (-1, 0.5)):
            patch.setattr(recurrent, "masked_logits", rule(place))
            found = recurrent.agreement(reader, Planted(place), asked[recurrent.FAR])
            assert found == pytest.approx(told, abs=0.3 if place else 0)


def test_the_samples_are_those_of_the_claim_and_training_repeats() -> None:
    first, second = (recurrent.compared(5)[0] for _ in range(2))
    assert names_of(clauses_of(claim_by_id("transformer-parallel-long-range").prediction)) <= set(first)
    assert first == second


@pytest.mark.parametrize(("recurrent_far", "verdict"), [(0.99, UNABLE), (0.7, REPLICATES)])
def test_a_lead_may_grow_only_where_recurrence_loses_with_distance(recurrent_far, verdict) -> None:
    claim = claim_by_id("transformer-parallel-long-range")
    right = {"transformer_near": 0.92, "transformer_far": 0.91, "recurrent_near": 0.997, "recurrent_far": recurrent_far}
    noise = 0.003 * np.random.default_rng(0).normal(size=(4, 12))
    samples = {
        name: per_seed((share + own).tolist(), 300) for (name, share), own in zip(right.items(), noise, strict=True)
    }
    assert judge(parse(claim.prediction), parse(claim.given), samples).verdict == verdict
