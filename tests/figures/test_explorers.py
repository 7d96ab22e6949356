"""The explorers: what the script reads is what was measured, in one safe, small and repeatable piece of HTML."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils import figures
from bertology_utils.errors import BertologyError
from bertology_utils.figures.explorers import LayerView, quantised
from bertology_utils.instruments.attention import attention_maps, sentence_map, word_level_map
from bertology_utils.instruments.layer_views import layer_view, masked_guesses
from bertology_utils.instruments.relations import RelationScore, relation_marks, sentence_with
from bertology_utils.models import load
from bertology_utils.studies.attention.relation_heads import clear_relations

RANDOM = np.random.default_rng(0)
SENTENCE = ["the", "old", "king", "sees", "her", "red", "apples", "."]
OTHERS = [text.split() for text in ("the king sleeps .", "she sees the old door", "her apples were red .")]


def random_maps(layers=2, heads=3, units=4):
    return RANDOM.dirichlet(np.ones(units), size=(layers, heads, units))


def page_data(figure):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', figure._repr_html_(), re.DOTALL)[1])


@pytest.fixture(scope="module")
def specimen():
    return load("ladder-1m", attention="eager")


@pytest.fixture(scope="module")
def view(specimen):
    return layer_view(specimen, SENTENCE, OTHERS)


# --- attention ------------------------------------------------------------------------------------------------------


def test_bytes_are_within_half_a_step():
    values = np.append(RANDOM.random(1000), [0, 1])
    assert np.abs(quantised(values) / 255 - values).max() <= 0.5 / 255 + 1e-12
    assert quantised(np.array([-0.1, 1.0000001])).tolist() == [0, 255]  # rounding of floats never wraps around


def test_every_head_of_every_view_arrives_in_order():
    maps, twin = random_maps(), random_maps()
    data = page_data(figures.attention_explorer(list("abcd"), {"model": maps, "twin": twin}))
    assert (data["layers"], data["heads"], data["units"]) == (2, 3, list("abcd"))
    for name, expected in (("model", maps), ("twin", twin)):
        decoded = np.frombuffer(base64.b64decode(data["views"][name]), dtype=np.uint8).reshape(maps.shape) / 255
        assert np.abs(decoded - expected).max() < 1 / 255


def test_marked_heads_are_framed_told_and_shown_first_but_not_in_the_twin():
    maps = random_maps()
    figure = figures.attention_explorer(
        list("abcd"), {"model": maps, "untrained twin": maps}, marks={"2-3": "obj <finds>", "1-1": "det"}
    )
    page = figure._repr_html_()
    assert page.count('style="grid-area:2 / 3"') == page.count('style="grid-area:1 / 1"') == 1
    assert "<li>2-3: obj &lt;finds&gt;</li>" in page and "2-3: obj <finds>" in figure.alt
    assert re.search(r"model: [1-6] of 6 heads look most at “[a-d]”; untrained twin: [1-6] of 6", figure.alt)
    data = page_data(figure)
    assert data["start"] == 5 and data["unmarked"] == [False, True]
    assert figure.table.set_index("head")["relation"].to_dict()["2-3"] == "obj <finds>"


def test_the_table_says_where_a_head_looks():
    maps = np.zeros((1, 1, 3, 3))
    maps[0, 0, :, 2] = [0.6, 0.7, 0.8]
    maps[0, 0, 0, 1] = 0.4
    row = figures.attention_explorer(list("abc"), {"model": maps}).table.iloc[0]
    assert row["looks most at"] == "c" and row["share"] == pytest.approx(0.7)
    assert row["strongest weight"] == "c → c" and row["weight"] == pytest.approx(0.8)


def test_words_cannot_become_markup():
    bad = "</script><img src=x onerror=alert(1)>"
    page = figures.attention_explorer([bad, "b"], {bad: random_maps(units=2)}, caption=bad)._repr_html_()
    assert bad not in page and "<img src=x" not in page
    assert page.count("</script>") == 2 and page_data(figures.attention_explorer([bad], {"m": random_maps(units=1)}))


def test_two_explorers_share_a_page_and_every_run_writes_the_same():
    first, second = (figures.attention_explorer(list("abcd"), {"m": np.full((2, 2, 4, 4), 0.25)}) for _ in range(2))
    assert first._repr_html_() == second._repr_html_()
    assert not re.search(r'\sid="', first._repr_html_())  # nothing that could clash
    assert not re.search(r"(src|href)=\"(?!data:)|https?://(?!www\.w3\.org)", first._repr_html_())


def test_a_model_of_64_heads_stays_small():
    maps = RANDOM.dirichlet(np.full(16, 0.3), size=(8, 8, 16))
    views = {"model": maps, "untrained twin": maps[:, ::-1]}  # noise: nothing that could be compressed
    page = figures.attention_explorer([f"word{i:02}" for i in range(16)], views)._repr_html_()
    assert len(page.encode()) < 150_000


@pytest.mark.parametrize("shape", [(2, 3, 5, 5), (2, 3, 4), (2, 3, 4, 5)])
def test_maps_that_do_not_fit_the_words_are_refused(shape):
    with pytest.raises(BertologyError, match="needs maps"):
        figures.attention_explorer(list("abcd"), {"model": np.zeros(shape)})


def test_a_mark_of_no_head_is_refused():
    with pytest.raises(BertologyError, match="no head 3-1"):
        figures.attention_explorer(list("abcd"), {"model": random_maps()}, marks={"3-1": "x"})


def test_a_sentence_map_keeps_special_pieces_and_rows_of_one(specimen):
    units, maps = sentence_map(specimen, SENTENCE)
    assert units == ["[CLS]", *SENTENCE, "[SEP]"]
    assert maps.shape == (specimen.layers, specimen.heads, 10, 10) and np.allclose(maps.sum(-1), 1, atol=1e-5)
    [(_, encoding, pieces)] = attention_maps(specimen, [SENTENCE])
    assert np.allclose(maps[:, :, 1:-1, 1:-1], word_level_map(pieces, encoding).numpy(), atol=1e-6)


def test_among_words_is_the_whole_map_without_other_targets_rescaled(specimen):
    units, whole = sentence_map(specimen, SENTENCE)
    _, among = sentence_map(specimen, SENTENCE, among_words=True)
    kept = [i for i, unit in enumerate(units) if unit not in ("[CLS]", ".", "[SEP]")]
    assert np.allclose(among[..., kept], whole[..., kept] / whole[..., kept].sum(-1, keepdims=True), atol=1e-5)
    assert among.sum() == pytest.approx(among[..., kept].sum())


def score(relation, head_share, offset_share, head=0, n=50):
    hits = [np.arange(n) < n * share for share in (head_share, offset_share)]
    return RelationScore(relation, 1, head, "dependent", -1, *hits, np.full(n, relation), np.arange(n))


def test_marks_are_the_heads_that_clearly_beat_an_offset():
    scores = {s.relation: s for s in (score("all", 0.9, 0.1), score("obj", 0.8, 0.6), score("det", 0.9, 0.9),
                                      score("amod", 0.7, 0.2, head=1), score("case", 0.9, 0.5),
                                      score("rare", 0.6, 0.4, n=5), score("slight", 0.9, 0.85, n=400))}  # fmt: skip
    assert clear_relations(scores) == ["amod", "case", "obj"]
    marks = relation_marks(scores, clear_relations(scores))
    assert list(marks) == ["1-2", "1-1"]
    assert marks["1-1"].startswith("case (dependent to head), 90 % of 50, best offset 50 %; obj")


def test_the_sentence_shown_has_the_marked_relations():
    def sentence(words, deprels):
        return type("Sentence", (), {"words": words.split(), "deprels": deprels})

    plain, rich = sentence("a b", ["det"]), sentence("a b c", ["obj", "det"])
    long = sentence("a " * 20, ["obj", "amod"])
    assert sentence_with([plain, long, rich], ["obj", "amod"]) is rich
    assert sentence_with([long], ["obj"]) is long


# --- layers ---------------------------------------------------------------------------------------------------------


def test_cosines_of_a_view_match_their_definition(specimen, view):
    from bertology_utils.activations import word_vectors

    def cosine(a, b):
        return float(torch.cosine_similarity(a, b, dim=0))

    own, pool = word_vectors(specimen, [SENTENCE])[0], torch.cat(word_vectors(specimen, OTHERS), dim=1)
    forms = [word for sentence in OTHERS for word in sentence]
    layer, word = 2, SENTENCE.index("king")
    every = [cosine(own[layer, word], pool[layer, i]) for i in range(len(forms))]
    best = max(range(len(forms)), key=every.__getitem__)
    assert view.neighbours[layer][word][0] == (best, pytest.approx(every[best], abs=1e-5))
    assert view.same[layer, word] == pytest.approx(every[forms.index("king")], abs=1e-5)
    assert view.other[layer, word] == pytest.approx(
        np.mean([value for value, form in zip(every, forms, strict=True) if form != "king"]), abs=1e-5
    )
    assert view.below[layer, word] == pytest.approx(cosine(own[layer, word], own[layer - 1, word]), abs=1e-5)
    assert np.isnan(view.below[0]).all() and view.contexts[1] == ("the", "king", "sleeps .")


def test_the_last_layers_guess_is_the_models_own(specimen):
    from bertology_utils.instruments.cloze import fill_in, mask_word

    guesses = masked_guesses(specimen, SENTENCE, k=3)
    assert len(guesses) == specimen.layers + 1 and len(guesses[0]) == len(SENTENCE)
    own = fill_in(specimen, [mask_word(SENTENCE, place) for place in range(len(SENTENCE))], k=3)
    for place, (words, shares) in enumerate(zip(own.words, own.probabilities, strict=True)):
        assert [text for text, _ in guesses[-1][place]] == words
        assert [share for _, share in guesses[-1][place]] == pytest.approx(list(shares), abs=1e-4)


def test_the_layer_explorer_carries_the_view_and_folds_its_table_by_script_only(view):
    figure = figures.layer_explorer({"model": view, "untrained twin": view}, start=2)
    data, page = page_data(figure), figure._repr_html_()
    guessed = sum(guesses[0][0] == word for guesses, word in zip(view.guesses[-1], SENTENCE, strict=True))
    assert f"At the last layer model guesses {guessed} of {len(SENTENCE)} words." in figure.alt
    assert data["words"] == SENTENCE and data["start"] == 2 and data["layers"] == len(view.guesses)
    shown = data["views"]["model"]
    assert shown["guesses"][3][1][0] == [view.guesses[3][1][0][0], round(view.guesses[3][1][0][1], 3)]
    index, _ = shown["neighbours"][3][1][0]
    assert data["contexts"][index] == list(view.contexts[view.neighbours[3][1][0][0]])
    assert shown["below"][0][0] is None
    assert '<details class="figure-table" open>' in page
    assert figure.table["layer 3"][1] == "{} ({:.2f})".format(*view.guesses[3][1][0])


def test_without_a_head_the_nearest_words_stand_in(view):
    figure = figures.layer_explorer({"model": replace(view, guesses=None)})
    assert page_data(figure)["views"]["model"]["guesses"] is None
    index, cosine = view.neighbours[1][2][0]
    assert figure.table["layer 1"][2] == f"{view.contexts[index][1]} ({cosine:.2f})" and "nearest word" in figure.alt


def test_views_of_different_sentences_and_pools_without_words_are_refused(view, specimen):
    with pytest.raises(BertologyError, match="same words"):
        figures.layer_explorer({"model": view, "twin": replace(view, words=["other"])})
    with pytest.raises(BertologyError, match="needs 4 words"):
        layer_view(specimen, SENTENCE, [["one", "two"]])
    assert isinstance(view, LayerView)
