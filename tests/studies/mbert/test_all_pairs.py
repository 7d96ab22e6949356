"""Who helps whom: planted teachers help, planted relations are found, nothing is found where languages are random."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr, rankdata, spearmanr

from bertology_utils.language.ten_languages import LANGUAGES, parallel_corpus
from bertology_utils.runs import Runs
from bertology_utils.studies.mbert import all_pairs
from bertology_utils.studies.mbert.parallel_text import Vectors
from bertology_utils.studies.mbert.typology import FAMILIES, FEATURES, TABLE
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

CODES = tuple(LANGUAGES)
OFF = ~np.eye(10, dtype=bool)
ORDERS = all_pairs.agreement(TABLE[:, [feature.endswith(all_pairs.ORDER_CHAPTERS) for feature in FEATURES]])


def random_distances(rng: np.random.Generator) -> np.ndarray:
    """Distances of ten random points on a line: what depends on languages and on nothing else."""
    points = rng.normal(size=10)
    return np.abs(points[:, None] - points)


def coded(corpus, shifts) -> Vectors:
    """Two layers: each tag as an axis, shifted by language, in the lower one, which is the middle; noise above."""
    tags = sorted({tag for rows in corpus.values() for row in rows for tag in row.upos})
    axes = torch.eye(len(tags))
    own = {
        code: [axes[[(tags.index(tag) + shifts.get(code, 0)) % len(tags) for tag in row.upos]] for row in rows]
        for code, rows in corpus.items()
    }
    return Vectors({code: [torch.stack([v, torch.randn(v.shape)]) for v in rows] for code, rows in own.items()})


def test_a_teacher_helps_where_tags_are_coded_alike_and_not_elsewhere():
    train, test = (
        {code: rows for code, rows in parallel_corpus(30, split).items() if code in ("en", "de", "tr")}
        for split in ("train", "test")
    )
    found = all_pairs.leads(coded(train, {"tr": 3}), coded(test, {"tr": 3}), train, test)
    alike = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)
    assert (found[alike] > 0.3).all() and (found[~alike] < 0.05).all()
    for place, code in enumerate(test):  # told rightly throughout, less the share of the commonest of three tags
        tags = [tag for row in test[code] for tag in row.upos if tag in all_pairs.CONTENT]
        assert found[place, place] == pytest.approx(1 - max(map(tags.count, tags)) / len(tags), abs=0.02)


def test_no_word_that_is_asked_was_taught():
    train, test = (parallel_corpus(160, split) for split in ("train", "test"))
    for code in CODES:
        words = [
            {w.lower() for r in rows for w, tag in zip(r.words, r.upos, strict=True) if tag in all_pairs.CONTENT}
            for rows in (train[code], test[code])
        ]
        assert len(words[0] & words[1]) / len(words[1]) < 0.05, code


def test_a_planted_relation_is_found_and_stays_given_another():
    rng = np.random.default_rng(0)
    transfer = ORDERS + rng.normal(scale=0.3, size=(10, 10))
    found = all_pairs.related(transfer, ORDERS)
    assert found.rho > 0.5 and found.p < 0.005
    assert found.rho == pytest.approx(spearmanr(transfer[OFF], ORDERS[OFF]).statistic)
    assert all_pairs.related(transfer, ORDERS, given=random_distances(rng)).p < 0.005


def test_the_partial_correlation_is_that_of_what_is_left_of_the_ranks():
    rng = np.random.default_rng(1)
    first, second, given = rng.normal(size=(3, 10, 10))
    ranks = [rankdata(part[OFF]) for part in (first, second, given)]
    left = [values - np.polyval(np.polyfit(ranks[2], values, 1), ranks[2]) for values in ranks[:2]]
    assert all_pairs.related(first, second, given).rho == pytest.approx(pearsonr(*left).statistic)


def test_what_one_factor_explains_is_not_given_to_one_that_goes_with_it():
    rng = np.random.default_rng(2)
    plain, partial = [], []
    for draw in range(60):
        overlap = random_distances(rng)
        order, transfer = (overlap + rng.normal(scale=0.4, size=(10, 10)) for _ in range(2))
        plain.append(all_pairs.related(transfer, order, draws=300, seed=draw).p < 0.05)
        partial.append(all_pairs.related(transfer, order, overlap, draws=300, seed=draw).p < 0.05)
    assert np.mean(plain) > 0.9 and np.mean(partial) < 0.17  # 0.05 by more than four standard errors


def test_random_languages_are_related_as_often_as_the_level_says_and_cells_would_be_far_more_often():
    rng = np.random.default_rng(3)
    by_language, by_cell = [], []
    for draw in range(200):
        first, second = random_distances(rng), random_distances(rng)
        by_language.append(all_pairs.related(first, second, draws=400, seed=draw).p)
        by_cell.append(spearmanr(first[OFF], second[OFF]).pvalue)
    assert 0.01 <= np.mean(np.less(by_language, 0.05)) <= 0.1 and abs(np.mean(by_language) - 0.5) < 0.08
    assert np.mean(np.less(by_cell, 0.05)) > 0.2


def test_matrices_without_structure_have_uniform_probabilities():
    rng = np.random.default_rng(4)
    found = [all_pairs.related(*rng.normal(size=(2, 10, 10)), draws=400, seed=draw).p for draw in range(200)]
    assert 0.01 <= np.mean(np.less(found, 0.05)) <= 0.1
    assert np.allclose(np.quantile(found, [0.25, 0.5, 0.75]), [0.25, 0.5, 0.75], atol=0.1)


def test_languages_are_renamed_and_not_cells():
    """Three languages have six names: however well six cells agree, one in six renamings agrees as well."""
    matrix = np.arange(9.0).reshape(3, 3) ** 2
    every = [matrix[np.ix_(order, order)] for order in permutations(range(3))]
    off = ~np.eye(3, dtype=bool)
    alike = np.mean([abs(spearmanr(own[off], matrix[off]).statistic) > 1 - 1e-9 for own in every])
    assert all_pairs.related(matrix, matrix).p == pytest.approx(alike, abs=0.02) and alike >= 1 / 6


def test_holm_by_hand():
    assert all_pairs.holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert all_pairs.holm([0.9, 0.8]) == [1, 1]


def test_agreement_leaves_out_what_is_not_known_of_both():
    table = np.array([[1, 1, 0, -1], [1, -1, 1, -1], [-1, 0, 1, 1]])
    assert np.allclose(all_pairs.agreement(table), [[1, 2 / 3, 0], [2 / 3, 1, 1 / 3], [0, 1 / 3, 1]])
    assert ORDERS[CODES.index("hi"), CODES.index("tr")] == 1 > ORDERS[CODES.index("hi"), CODES.index("ar")]


def test_likeness_of_scripts_and_pieces():
    corpus = parallel_corpus(20, "test")
    words = sorted({word for rows in corpus.values() for row in rows for word in row.words})
    specimen = tiny_specimen(words, replace(BilingualRecipe(), layers=1, width=16, inner=16))
    alike = all_pairs.likeness(specimen, corpus)
    assert all(np.allclose(own, own.T) and np.allclose(np.diagonal(own), 1) for own in alike.values())
    pieces = [
        {w for row in corpus[code] for w, tag in zip(row.words, row.upos, strict=True) if tag != "PUNCT"}
        for code in ("fr", "es")
    ]
    expected = len(pieces[0] & pieces[1]) / len(pieces[0] | pieces[1])
    assert alike["word pieces"][2, 3] == pytest.approx(expected)
    assert alike["script"][0].tolist() == [about.script == "Latin" for about in LANGUAGES.values()]


def test_relations_are_told_of_model_twins_and_their_difference():
    rng = np.random.default_rng(5)
    alike = {"word order": ORDERS, "word pieces": random_distances(rng), "script": random_distances(rng)}
    twins = [rng.normal(scale=0.01, size=(10, 10)) for _ in range(3)]
    found = all_pairs.relations(Runs(ORDERS + rng.normal(scale=0.2, size=(10, 10)), twins[0], tuple(twins[1:])), alike)
    assert list(found) == ["model", "untrained", "model less untrained"]
    told = all_pairs.told_relations(found)
    assert "model: word order, word order given word pieces; untrained: none; model less untrained: word order," in told
    assert "4 tests of a side" in told
    rows = all_pairs.relation_rows(found)
    assert [row["likeness"] for row in rows] == [*alike, "word order given word pieces"]
    assert rows[0]["model"] == f"{found['model']['word order'].rho:.2f} (p {found['model']['word order'].p:.2g})"
    alone = all_pairs.related(np.mean(twins, 0), ORDERS)
    assert found["untrained"]["word order"].rho == alone.rho and found["untrained"]["word order"].p >= alone.p


def test_the_map_of_help_keeps_orders_together_and_is_told():
    matrix = np.full((10, 10), -0.1)
    matrix[CODES.index("fr")] = 0.3
    figure = all_pairs.helping(matrix)
    assert list(figure.table["teacher"])[-3:] == ["Arabic", "Turkish", "Hindi"] == list(figure.table.columns)[-3:]
    assert figure.table.set_index("teacher").loc["French", "Hindi"] == pytest.approx(30)
    told = all_pairs.told_help(Runs(matrix, -matrix, (matrix,)))
    assert "In 9 of 90 pairs" in told and "untrained networks in 0." in told
    assert "French teaches best (+30 points on average), English worst (-10)." in told


def families_of(strength: float, seed: int = 0) -> Vectors:
    """One layer: a language's sentences are one meaning each, and lie where its family does."""
    generator = torch.Generator().manual_seed(seed)
    names = list(dict.fromkeys(FAMILIES))
    places = strength * torch.randn(len(names), 30, generator=generator)
    offsets = 0.3 * torch.randn(10, 30, generator=generator)
    meanings, noise = torch.randn(12, 30, generator=generator), torch.randn(10, 12, 30, generator=generator)
    found = {}
    for place, (code, family) in enumerate(zip(CODES, FAMILIES, strict=True)):
        rows = meanings + 0.3 * noise[place] + offsets[place] + places[names.index(family)]
        found[code] = list(rows[:, None, None])
    return Vectors(found)


def test_families_are_found_where_they_lie_together_and_go_with_the_mean():
    planted, none = all_pairs.families(families_of(3.0)), all_pairs.families(families_of(0.0))
    assert planted["apart"] > 0.5 and planted["p"] < 0.01 and planted["script_p"] < 0.01
    assert abs(none["apart"]) < 0.2 and none["p"] > 0.05
    assert planted["centred_apart"] == pytest.approx(none["centred_apart"], abs=0.01)  # a family is in the mean alone


def test_the_map_of_sentences_tells_what_centring_takes():
    alt = all_pairs.sentence_map(families_of(6.0)).alt
    shares = [int(part.split("%")[0]) for part in alt.split("the nearest neighbour of ")[1:]]
    assert shares[0] > shares[1] and "120 points with 10 labels in 8 groups" in alt
    assert "Germanic: English, German" in set(all_pairs.sentence_map(families_of(1.0)).table["group"])
