"""The probe of two auxiliaries: a planted hierarchy is found, a planted order is not taken for it."""

import numpy as np
import pytest
import torch

from bertology_utils.language.two_auxiliaries import AUXILIARIES, two_auxiliaries
from bertology_utils.studies.mbert import main_auxiliary
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, UNABLE, judge, parse

SIZES = (40, 60)


def reader(by_rank):
    """Vectors with an axis for auxiliaries and one for the mark: being outside a relative clause, or being first."""
    forms = {form for forms in AUXILIARIES.values() for form in forms}
    marked = {}
    for code in AUXILIARIES:
        for split in ("train", "test"):
            for parting in (True, False):
                for s in two_auxiliaries(code, max(SIZES), parting, split):
                    marked[s.words] = min(s.main, s.embedded) if by_rank else s.main

    def read(specimen, sentences):
        found = []
        for words in sentences:
            vectors = torch.zeros(1, len(words), 3)
            vectors[0, :, 0] = torch.tensor([float(word in forms) for word in words])
            vectors[0, marked[tuple(words)], 1] = 1
            found.append(vectors)
        return found

    return read


@pytest.mark.parametrize("by_rank", [False, True])
def test_hierarchy_is_found_and_order_is_not_taken_for_it(tiny, monkeypatch, by_rank):
    monkeypatch.setattr(main_auxiliary, "every_second_layer", reader(by_rank))
    found = main_auxiliary.pointing(tiny, *SIZES)
    for language in ("german", "finnish"):
        assert found[f"{language}_first"].mean() > 0.9
        assert found[language].mean() < 0.1 if by_rank else found[language].mean() > 0.9
        assert found[language].shape[0] == 5 and found[f"{language}_window"].mean() <= 1


def test_scores_are_of_odd_sentences_at_the_layer_best_on_even_ones():
    sentences = two_auxiliaries("de", 4, True)
    hits = np.zeros((2, 1, 4))
    hits[1, :, ::2] = hits[0, :, 1::2] = 1
    assert main_auxiliary._at_best_layer(hits, sentences).mean() == 0


def test_the_main_auxiliary_of_each_example_is_marked():
    rows = main_auxiliary.examples()
    assert [row["language"] for row in rows] == ["German", "Finnish"]
    assert all(text.count("⟨") == 1 for row in rows for text in list(row.values())[1:])


@pytest.mark.parametrize(("known", "found", "verdict"), [
    (0.5, 0.0, UNABLE), (0.9, 0.0, CONTRADICTS), (0.9, 0.9, REPLICATES)
])  # fmt: skip
def test_finnish_speaks_where_it_is_known(known, found, verdict):
    """Planted: a probe fails in a language that the model does not know, fails in one that it knows, or succeeds."""
    shares = {"in_place": 0.9, "": 0.9, "_first": 1.0, "_layer_0": 0.5, "_window": 0.5}
    shares = {f"german{name}" if name != "in_place" else "german_in_place": value for name, value in shares.items()}
    shares |= {name.replace("german", "finnish"): value for name, value in shares.items()}
    shares |= {"finnish_in_place": known, "finnish": found}
    samples = {name: (np.arange(1000) % 10 < 10 * share).astype(float) for name, share in shares.items()}
    claim = claim_by_id("mbert-main-auxiliary")
    assert judge(claim.parsed_prediction, parse(claim.given), samples).verdict == verdict
