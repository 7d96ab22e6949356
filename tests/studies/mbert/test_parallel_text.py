"""One model and parallel sentences of many languages, against plain definitions on planted vectors and tiny models."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from bertology_utils.instruments.cloze import single_piece
from bertology_utils.language.ten_languages import LANGUAGES, parallel_corpus
from bertology_utils.models import twin
from bertology_utils.runs import Runs
from bertology_utils.studies.mbert import parallel_text as parallel
from bertology_utils.studies.mbert.crosslingual import lexical_retrieval, selected
from bertology_utils.studies.mbert.parallel_text import Vectors
from bertology_utils.tuning.two_languages import BilingualRecipe, sentence_retrieval, tiny_specimen
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, WEAKER, judge, parse

CORPUS = parallel_corpus(40, "test")
WORDS = sorted({word for rows in CORPUS.values() for row in rows for word in row.words})
SPECIMEN = tiny_specimen(WORDS, replace(BilingualRecipe(), layers=2, width=32, inner=32))


def planted(corpus) -> Vectors:
    """Two layers: at 0 noise, at 1 every word's role as a direction (so that translations agree), plus its language."""
    roles = sorted({role for rows in corpus.values() for row in rows for role in row.roles})
    axes = torch.eye(len(roles) + len(corpus))
    generator = torch.Generator().manual_seed(0)
    found = {}
    for place, (code, rows) in enumerate(corpus.items()):
        found[code] = []
        for row in rows:
            meaning = torch.stack([axes[roles.index(role)] + axes[len(roles) + place] for role in row.roles])
            found[code].append(torch.stack([torch.randn(meaning.shape, generator=generator), meaning]))
    return Vectors(found)


def test_sentence_vectors_are_means_and_every_language_meets_english():
    vectors = parallel.read(SPECIMEN, {code: CORPUS[code][:6] for code in ("en", "tr", "zh")})
    assert torch.allclose(vectors.sentences["tr"][2, 5], vectors.words["tr"][5][2].mean(0))
    assert vectors.middle == 1
    scores = parallel.with_english(vectors, sentence_retrieval)
    assert list(scores) == ["tr", "zh"] and parallel.pool(scores).shape == (3, 12)


def test_tags_transfer_where_vectors_agree_and_not_where_they_are_noise():
    axes = torch.eye(10)
    tags = sorted({tag for rows in CORPUS.values() for row in rows for tag in row.upos})

    def vectors(code):
        rows = CORPUS[code]
        known = [torch.stack([axes[tags.index(tag)] for tag in row.upos]) for row in rows]
        return [torch.stack([torch.randn(k.shape), k]) for k in known]

    torch.manual_seed(0)
    tagger = parallel.learn_tags(CORPUS["en"], vectors("en"))
    correct = tagger(CORPUS["ru"], vectors("ru"))
    words = Counter(tag for row in CORPUS["ru"] for tag in row.upos)
    assert correct.shape == (2, words.total() - words["PUNCT"])
    assert correct[1].mean() > 0.99 and correct[0].mean() < 0.6
    assert set(parallel.zero_shot_tags(SPECIMEN, CORPUS, CORPUS)) == set(LANGUAGES) - {"en"}


def test_vectors_that_were_read_before_give_the_tags_that_reading_gives():
    """Of a longer corpus, whose other sentences shared the batches."""
    train, longer = (parallel.parallel_corpus(12, split) for split in ("train", "test"))
    few = {code: rows[:4] for code, rows in longer.items()}
    plain = parallel.zero_shot_tags(SPECIMEN, train, few)
    again = parallel.zero_shot_tags(SPECIMEN, train, few, parallel.read(SPECIMEN, longer))
    assert set(plain) == set(again) and all(np.array_equal(plain[code], again[code]) for code in plain)


def test_the_commonest_tag_is_that_of_each_language():
    for code, values in parallel.commonest_tag(CORPUS).items():
        tags = Counter(tag for row in CORPUS[code] for tag in row.upos if tag != "PUNCT")
        assert values.mean() == pytest.approx(max(tags.values()) / tags.total())


def test_letters_tag_where_endings_are_shared_and_fail_in_other_letters():
    english = replace(
        CORPUS["en"][0], words=("walking", "talking", "cats", "dogs"), upos=("VERB", "VERB", "NOUN", "NOUN")
    )
    shared, other = (replace(english, words=words) for words in (("parking", "pets"), ("гуляя", "коты")))
    shared, other = (replace(row, upos=("VERB", "NOUN")) for row in (shared, other))
    found = parallel.tags_by_letters({"en": [english]}, {"en": [english], "de": [shared], "ru": [other]})
    assert found["de"].tolist() == [1, 1] and found["ru"].mean() <= 0.5 and set(found) == {"de", "ru"}


def test_a_lead_is_over_the_better_rival_at_the_layer_best_over_all_languages():
    scores = {"de": np.array([[1, 1, 1, 1], [1, 1, 0, 0]]), "fr": np.array([[0, 0, 0, 0], [1, 1, 1, 0.0]])}
    rivals = [{"de": np.array([1, 0, 0, 0]), "fr": np.zeros(4)}, {"de": np.zeros(4), "fr": np.array([1, 1, 1, 1])}]
    assert parallel.leads(scores, *rivals) == {"de": 0.25, "fr": -0.25}


def of_languages(spread):
    """Sentences of three languages: each with a mean of its own, and with axes of its own along which they spread."""
    generator, found = torch.Generator().manual_seed(0), {}
    for place, code in enumerate(("en", "de", "fr")):
        scale = torch.ones(30)
        scale[10 * place : 10 * place + 10] = spread
        sentences = torch.randn(1, 20, 30, generator=generator) * scale + 6 * torch.eye(30)[place]
        found[code] = [sentences[:, i : i + 1] for i in range(20)]
    return Vectors(found), {code: CORPUS[code][:20] for code in found}


@pytest.mark.parametrize("spread", [1.0, 8.0])
def test_after_centring_language_is_told_where_more_than_the_mean_tells_it(spread):
    vectors, corpus = of_languages(spread)
    found = parallel.language_by_layer(vectors, corpus)
    assert found["language_id"].shape == found["after_centring"].shape == (1, 60)
    left = found["after_centring"].mean()
    assert left > 0.9 if spread > 1 else 0.1 < left < 0.6
    assert found["language_id"].mean() > 0.9 or spread > 1


def test_a_map_of_three_centroids_keeps_their_distances():
    vectors, _ = of_languages(1.0)
    rows = vectors.sentences
    places = parallel.centroid_map(vectors, 0)
    means = np.stack([v[0].mean(0).numpy() for v in rows.values()])
    assert places.shape == (3, 2)  # three points lie in a plane, so the map keeps their distances
    assert np.allclose(np.linalg.norm(places[0] - places[1]), np.linalg.norm(means[0] - means[1]), rtol=1e-3)


def test_a_tokenizer_that_knows_the_words_is_multilingual_and_one_of_letters_is_not(tiny):
    everything = sorted({w for rows in parallel_corpus(60).values() for row in rows for w in row.words})
    fluent = tiny_specimen(everything, replace(BilingualRecipe(), layers=1, width=16, inner=16))
    assert parallel.known_languages(fluent) == list(LANGUAGES)
    assert parallel.multilingual_specimen(fluent) is fluent
    assert "zh" not in parallel.known_languages(tiny) and "fi" not in parallel.known_languages(tiny)


def test_a_model_that_knows_its_languages_puts_words_in_their_places(monkeypatch):
    found = parallel.words_in_place(SPECIMEN, CORPUS)
    guessed = parallel.in_place(found)
    assert set(found) == set(LANGUAGES) - {"en"} and {len(shares) for shares in found.values()} == {40}
    assert 0.35 < guessed.mean() < 0.65 and 9 * 20 < guessed.items <= 9 * 40
    answers = iter([row.words for code, rows in CORPUS.items() if code != "en" for row in rows])

    def knowing(specimen, sentences):
        scores = torch.full((len(sentences), specimen.vocabulary_size), -9.0)
        for line, (masked, words) in enumerate(zip(sentences, answers, strict=False)):
            scores[line, single_piece(specimen, words[list(masked).index("[MASK]")])] = -1.0
        return scores

    monkeypatch.setattr(parallel, "masked_distributions", knowing)
    known = parallel.in_place(parallel.words_in_place(SPECIMEN, CORPUS))
    assert known.mean() == 1
    given = parse(claim_by_id("mbert-parallel-retrieval").given)
    assert [judge(given, None, {"in_place": it}).verdict for it in (known, guessed)] == [REPLICATES, CONTRADICTS]


def test_known_languages_do_not_answer_for_others():
    """Planted: five languages known and one not, which together pass the gate; none known; all known."""
    places = {code: np.ones(20) for code in ("de", "fr", "es", "ru", "hi")} | {"fi": np.array([0.5] * 19 + [np.nan])}
    every = {code: code for code in LANGUAGES}
    assert parallel.in_place(places).mean() > 0.9  # together: Finnish would be judged
    keep = parallel.keeping_known(places)
    assert set(keep(every)) == {"en", "de", "fr", "es", "ru", "hi"}
    assert parallel.in_place(keep(places)).mean() == 1
    assert set(parallel.keeping_known(places, english=False)(every)) == {"de", "fr", "es", "ru", "hi"}
    stranger = tiny_specimen(["a"], replace(BilingualRecipe(), layers=1, width=16, inner=16))
    nothing = parallel.words_in_place(stranger, CORPUS)
    assert set(nothing) == set(LANGUAGES) - {"en"} and parallel.in_place(nothing).mean() == 0
    none = parallel.keeping_known({"fi": places["fi"]})
    assert set(none(every)) == {"en", "fi"} and parallel.in_place(none(places)).mean() == 0.5


def test_items_know_what_they_say():
    corpus = {code: CORPUS[code][:3] for code in ("tr", "zh")}
    assert parallel.sentences_of(corpus) == ["0", "1", "2"] * 2
    words = parallel.words_of(corpus)
    assert len(words) == sum(tag != "PUNCT" for rows in corpus.values() for row in rows for tag in row.upos)


def test_an_english_specimen_gives_way_to_the_embedded_one(tiny, monkeypatch):
    monkeypatch.setattr("bertology_utils.models.load", lambda name: name)
    assert parallel.multilingual_specimen(tiny) == "pocket-mbert"
    assert parallel.multilingual_specimen(twin(tiny)) == "random:pocket-mbert"


def test_controls_are_as_many_twins_as_wanted_each_with_other_weights(tiny, monkeypatch):
    monkeypatch.setattr(parallel, "multilingual_specimen", lambda specimen: specimen)
    models = parallel.multilingual_models(tiny, twins=3)
    assert models.model is tiny and len(models.others) == 2
    tables = [m.model.get_input_embeddings().weight for m in (models.twin, *models.others)]
    assert not any(torch.equal(a, b) for a, b in pairwise(tables))


def test_the_layer_of_pooled_scores_is_chosen_on_even_items_of_all_languages():
    scores = {code: np.random.default_rng(i).random((3, 4)) for i, code in enumerate(("de", "fr"))}
    units = ["0", "1", "2", "3"] * 2
    found = parallel.held_out(scores, units)
    assert len(found) == 2 and found.mean() == pytest.approx(selected(parallel.pool(scores)).mean())
    guessed = parallel.held_out({"de": np.array([1.0, 0, 1, 0])}, units[:4])
    assert found.items == 4 and guessed.mean() == 0


def test_shifts_are_asked_at_the_middle_layer_of_the_sentences_given():
    few = {code: CORPUS[code][:8] for code in ("en", "fr", "ru")}
    vectors = planted(few)
    halves = {code: rows[1::2] for code, rows in parallel.without_english(few).items()}
    odd = {"plain": lambda a, b: sentence_retrieval(a[:, 1::2], b[:, 1::2])}
    found = parallel.in_the_middle(vectors, odd, halves)["plain"]
    by_language = parallel.with_english(vectors, odd["plain"])
    assert found.shape == (4,) and found.items == 8
    assert found.mean() == pytest.approx(parallel.pool(by_language)[vectors.middle].mean())


def test_bars_of_languages_stand_at_the_best_layer_of_the_model():
    model = {"de": np.array([[0.0, 0], [1, 1]]), "hi": np.array([[1.0, 0], [1, 0]])}
    blank = {code: 1 - values for code, values in model.items()}
    counted = {"de": np.array([0.25, 0.25]), "hi": np.array([0.5, 0.5])}
    figure = parallel.language_bars(Runs(model, blank), "share", {"counting": counted})
    rows = figure.table.set_index(["group", "name"])["share, layer 1"]
    assert rows["German"].to_dict() == {"model": 1, "twin": 0, "counting": 0.25}
    assert rows["Hindi"].to_dict() == {"model": 0.5, "twin": 0.5, "counting": 0.5}


def test_words_are_counted_against_english():
    counted = parallel.counting_words(CORPUS)
    assert set(counted) == set(LANGUAGES) - {"en"}
    english, french = ([row.words for row in CORPUS[code]] for code in ("en", "fr"))
    assert (counted["fr"] == lexical_retrieval(english, french)).all()


def test_space_and_identity_are_samples_of_what_sentences_say():
    vectors = planted(CORPUS)
    space = parallel.language_space(vectors, CORPUS)
    assert {name: values.items for name, values in space.items()} == {
        "similarity_middle": 360, "similarity_last": 360, "total_variance": 400, "language_variance": 400,
    }  # fmt: skip
    assert space["similarity_last"].mean() > space["similarity_middle"].mean()  # planted: noise below, meaning on top
    told = parallel.told_apart(parallel.language_by_layer(vectors, CORPUS, 10), CORPUS, limit=10)
    assert told["chance"] == 0.1 and told["language_id"].items == 100 and len(told["language_id"]) == 10


def test_groups_of_languages():
    assert set(parallel.of_other_scripts(CORPUS)) == {"ru", "ar", "hi", "zh"}
    kin = dict(zip(LANGUAGES, parallel.kinship(), strict=True))
    assert {code for code, group in kin.items() if group == "other"} == {"fi", "tr", "ar", "zh"}
    rows = parallel.one_meaning(CORPUS)
    assert [row["language"] for row in rows] == [about.name for about in LANGUAGES.values()]
    assert len(rows[0]["sentence"].split()) >= len(CORPUS["en"][0].words) - 1


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [
        ({"multilingual": 0.5, "monolingual": 0.3, "majority": 0.55, "letters": 0.3, "untrained": 0.35}, CONTRADICTS),
        ({"multilingual": 0.5, "monolingual": 0.3, "majority": 0.3, "letters": 0.3, "untrained": 0.45}, WEAKER),
        ({"multilingual": 0.8, "monolingual": 0.3, "majority": 0.5, "letters": 0.55, "untrained": 0.45}, REPLICATES),
    ],
)
def test_transfer_is_a_lead_over_the_best_rival_and_not_over_the_english_model_alone(shares, verdict):
    """Planted: below the commonest tag though far above the English model; hardly above an untrained one; real."""
    samples = {name: (np.arange(4000) % 20 < 20 * share).astype(float) for name, share in shares.items()}
    assert judge(claim_by_id("mbert-zero-shot").parsed_prediction, None, samples).verdict == verdict
