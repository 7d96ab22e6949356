"""One model and parallel sentences of many languages: retrieval, identity, transfer of tags.

Depends on `activations`, `two_languages` and `crosslingual` (measures on two languages), `probes`, `cloze`, `models`,
`runs` and `figures`.
A corpus maps a language to its sentences (objects with `words` and `upos`), row i of every language saying the same.
English is compared with each of the others; layers stand first, items last; section 8 of the survey.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.svm import LinearSVC
from torch import Tensor

from bertology_utils import figures
from bertology_utils.activations import word_vectors
from bertology_utils.figures import Figure
from bertology_utils.instruments.cloze import mask_word, masked_distributions, single_piece
from bertology_utils.instruments.probes import encode_labels, stack_words, train_probe
from bertology_utils.language.ten_languages import LANGUAGES, PIVOT, ParallelSentence, parallel_corpus
from bertology_utils.models import Specimen
from bertology_utils.project import RANDOM_PREFIX
from bertology_utils.runs import TWIN, Runs
from bertology_utils.samples import by_unit
from bertology_utils.studies.mbert.crosslingual import (
    language_share,
    lexical_retrieval,
    parallel_similarity,
    selected,
)
from bertology_utils.tuning.two_languages import centred, language_probe

Corpus = Mapping[str, Sequence]
ByLanguage = dict[str, np.ndarray]
MULTILINGUAL = "pocket-mbert"
INDO_EUROPEAN = ("Germanic", "Romance", "Slavic", "Indic")
STOP = "PUNCT"
NEAREST = 5  # sentences whose language is asked
IN_PLACE = 0.75  # of the pairs of words: the usual threshold of forced choices, and the gate of the claims


# ---------------------------------------------------------------- the specimen


def known_languages(specimen: Specimen, most_pieces: float = 3.0) -> list[str]:
    """The languages whose words the tokenizer knows: no unknown piece, and on average at most 3 pieces a word.

    A tokenizer of English that falls back on letters or bytes leaves nothing unknown, but takes a piece a letter.
    """
    tokenizer, known = specimen.tokenizer, []
    for code, sentences in parallel_corpus(60).items():
        words = [word for sentence in sentences for word in sentence.words]
        pieces = tokenizer(words, is_split_into_words=True, add_special_tokens=False, verbose=False)["input_ids"]
        if tokenizer.unk_token_id not in pieces and len(pieces) <= most_pieces * len(words):
            known.append(code)
    return known


def multilingual_specimen(specimen: Specimen) -> Specimen:
    """The specimen itself if its tokenizer knows nine of the ten languages and it can fill in blanks, else
    `pocket-mbert`; untrained where that is."""
    from bertology_utils.models import load

    if specimen.has_mlm_head and len(known_languages(specimen)) >= len(LANGUAGES) - 1:
        return specimen
    return load(RANDOM_PREFIX * specimen.is_random + MULTILINGUAL)


def multilingual_models(specimen: Specimen, twins: int) -> Runs:
    """`multilingual_specimen` beside `twins` untrained twins, each with other weights."""
    from bertology_utils.models import twin

    model = multilingual_specimen(specimen)
    first = twin(model)
    return Runs(model, first, tuple(twin(model, first.seed + i) for i in range(1, twins)))


def one_meaning(corpus: Corpus) -> list[dict[str, str]]:
    """The longest of the first twenty sentences (by its English words) in every language, a row of a table each."""
    longest = max(range(20), key=lambda row: len(corpus[PIVOT][row].words))
    return [
        {"language": about.name, "family": about.family, "order": about.order, "sentence": corpus[code][longest].text}
        for code, about in LANGUAGES.items()
    ]


def words_in_place(specimen: Specimen, corpus: Corpus, seed: int = 0) -> ByLanguage:
    """Whether a model knows its languages: of two blanks of one part of speech, does it put the two words that were
    there each in its own place rather than in the other's? What words and blanks favour by themselves cancels; a coin
    is right in half.

    One word of each sentence, drawn from those that are one known piece and no punctuation, is masked; English is not
    asked. Language -> the share of the other blanks of its tag, not a number where there is none: (sentences,). A
    language of which nothing can be asked is not known, and has zeros.
    """
    rng, found = Random(seed), {}
    for code, rows in without_english(corpus).items():
        places = {i: _blanks(specimen, row) for i, row in enumerate(rows)}
        blanks = [(i, rng.choice(words)) for i, words in places.items() if words]
        shares = np.full(len(rows), np.nan)
        shares[[i for i, _ in blanks]] = _put_back(specimen, [(rows[i], place) for i, place in blanks])
        found[code] = shares if np.isfinite(shares).any() else np.zeros(len(rows))
    return found


def _put_back(specimen: Specimen, blanks: Sequence[tuple[ParallelSentence, int]]) -> np.ndarray:
    """For each blank the share of those of its tag and another word with which it does not swap words: (blanks,)."""
    if not blanks:
        return np.zeros(0)
    own = np.array([single_piece(specimen, row.words[place]) for row, place in blanks])
    tags = np.array([row.upos[place] for row, place in blanks])
    scores = masked_distributions(specimen, [mask_word(row.words, place) for row, place in blanks])[:, own].numpy()
    right = np.diagonal(scores)  # of each blank's own word
    gains = right[:, None] + right - scores - scores.T
    mates = (tags[:, None] == tags) & (own[:, None] != own)
    counts = mates.sum(1)
    return np.where(counts, ((gains > 0) & mates).sum(1) / np.maximum(counts, 1), np.nan)


def in_place(places: ByLanguage) -> np.ndarray:
    """What `words_in_place` found, all languages together: samples of what the sentences say."""
    shares, units = pool(places), np.concatenate([np.arange(len(of)) for of in places.values()])
    asked = np.isfinite(shares)
    return by_unit(shares[asked], units[asked].astype(str))


def keeping_known(places: ByLanguage, english: bool = True) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A function that keeps, of what is by language, the languages in which a model puts `IN_PLACE` of the words in
    their places, and English. Where it knows none all are kept: it then fails, and does not go unasked."""
    known = [code for code, shares in places.items() if np.nanmean(shares) >= IN_PLACE] or [*places]
    kept = {*known, *([PIVOT] * english)}
    return lambda by_language: {code: of for code, of in by_language.items() if code in kept}


def place_bars(runs: Runs, **options: Any) -> Figure:
    """What `words_in_place` found in each language, model beside untrained twin; options as of `figures.bars`."""
    named = runs.map(lambda places: {LANGUAGES[code].name: of[np.isfinite(of)] for code, of in places.items()})
    return named.bars(baselines={"a coin": 0.5, "asked for": IN_PLACE}, ylabel="put in their places", **options)


def _blanks(specimen: Specimen, sentence: ParallelSentence) -> list[int]:
    """The places of words that one piece can fill."""
    tagged = enumerate(zip(sentence.words, sentence.upos, strict=True))
    return [place for place, (word, tag) in tagged if tag != STOP and single_piece(specimen, word) is not None]


# ---------------------------------------------------------------- vectors


@dataclass(frozen=True)
class Vectors:
    """A model's vectors of a corpus: of each language and sentence `(layers + 1, words, width)`."""

    words: dict[str, list[Tensor]]

    @cached_property
    def sentences(self) -> dict[str, Tensor]:
        """The mean over the words of each sentence: language -> (layers + 1, sentences, width)."""
        return {code: torch.stack([v.mean(1) for v in rows], dim=1) for code, rows in self.words.items()}

    @property
    def middle(self) -> int:
        """The layer half-way up."""
        return (len(next(iter(self.sentences.values()))) - 1) // 2


def read(specimen: Specimen, corpus: Corpus) -> Vectors:
    """Runs the model over every language."""
    return Vectors({code: word_vectors(specimen, [s.words for s in rows]) for code, rows in corpus.items()})


def with_english(vectors: Vectors, measure: Callable[[Tensor, Tensor], np.ndarray]) -> ByLanguage:
    """A measure of two languages' vectors (layers + 1, sentences, width), English with each other language."""
    sentences = vectors.sentences
    return {code: measure(sentences[PIVOT], rows) for code, rows in sentences.items() if code != PIVOT}


def pool(scores: Mapping[str, np.ndarray]) -> np.ndarray:
    """The items of all languages in one array: (layers + 1, items)."""
    return np.concatenate([np.asarray(values, dtype=float) for values in scores.values()], axis=-1)


def without_english(corpus: Mapping[str, Any]) -> dict[str, Any]:
    """All languages but the one that the others are compared with."""
    return {code: rows for code, rows in corpus.items() if code != PIVOT}


def of_other_scripts(corpus: Mapping[str, Any]) -> dict[str, Any]:
    """The languages that share no letter with English."""
    return {code: rows for code, rows in corpus.items() if LANGUAGES[code].script != "Latin"}


# ---------------------------------------------------------------- what items share
#
# The languages are those that the book has; what was drawn is what their sentences say.


def sentences_of(corpus: Corpus) -> list[str]:
    """What each sentence says, in the order of `pool`: translations share it."""
    return [str(row.identity) for rows in corpus.values() for row in rows]


def words_of(corpus: Corpus) -> list[str]:
    """The same for each word that is no punctuation."""
    return [str(row.identity) for rows in corpus.values() for row in rows for tag in row.upos if tag != STOP]


def held_out(scores: Mapping[str, np.ndarray], units: Sequence[str]) -> np.ndarray:
    """Every second item at the layer that is best on the others, by what the sentences say: (units,).

    Args:
        scores: language -> (layers + 1, items), or (items,) where no model is asked.
        units: of all items, in the order of `pool`.
    """
    return by_unit(selected(np.atleast_2d(pool(scores))), units[1::2])


def in_the_middle(
    vectors: Vectors, measures: Mapping[str, Callable[[Tensor, Tensor], np.ndarray]], asked: Corpus
) -> dict[str, np.ndarray]:
    """Named measures at the middle layer, English with each other language, by what the `asked` sentences say."""
    units = sentences_of(asked)
    return {name: by_unit(pool(with_english(vectors, how))[vectors.middle], units) for name, how in measures.items()}


def language_bars(runs: Runs, ylabel: str, beside: Mapping[str, ByLanguage], **options: Any) -> Figure:
    """Model and untrained twin in each language, at the layer that is best for the model over all of them.

    Args:
        runs: language -> (layers + 1, items) of each side.
        beside: name -> language -> (items,) of controls that know no model.
        options: as of `figures.bars`.
    """
    layer = int(pool(runs.model).mean(1).argmax())
    shown = {
        LANGUAGES[code].name: {
            "model": scores[layer],
            TWIN: runs.twin[code][layer],
            **{name: values[code] for name, values in beside.items()},
        }
        for code, scores in runs.model.items()
    }
    return figures.bars(shown, controls=(TWIN, *beside), ylabel=f"{ylabel}, layer {layer}", **options)


def counting_words(corpus: Corpus) -> ByLanguage:
    """Retrieval from English by counting common words: language -> (sentences,)."""
    english = [row.words for row in corpus[PIVOT]]
    return {
        code: lexical_retrieval(english, [row.words for row in rows]) for code, rows in without_english(corpus).items()
    }


# ---------------------------------------------------------------- languages


def language_by_layer(vectors: Vectors, corpus: Corpus, limit: int = 100) -> dict[str, np.ndarray]:
    """Is the language of a sentence told? 0/1 (layers + 1, sentences), of the first `limit` of each language.

    `language_id`: by the linear probe of libovicky2019how; `after_centring`: by most of the `NEAREST` sentences, when
    the mean of each language is taken off, which leaves a linear probe nothing. Translations are no neighbours.
    """
    rows = [own[:, :limit] for own in vectors.sentences.values()]
    labels = np.repeat(np.arange(len(rows)), [own.shape[1] for own in rows])
    units = np.array(sentences_of({code: own[:limit] for code, own in corpus.items()}))
    near = torch.nn.functional.normalize(torch.cat(list(map(centred, rows)), dim=1), dim=-1)
    cosine = (near @ near.transpose(-1, -2)).numpy()
    cosine[:, units[:, None] == units] = -np.inf
    votes = labels[np.argpartition(-cosine, NEAREST, axis=-1)[..., :NEAREST]]
    most = (votes[..., None] == np.arange(len(rows))).sum(-2).argmax(-1)
    probed = [language_probe(layer, labels) for layer in torch.cat(rows, dim=1)]
    return {"language_id": np.array(probed, float), "after_centring": (most == labels).astype(float)}


def told_apart(found: Mapping[str, np.ndarray], corpus: Corpus, limit: int = 100) -> dict[str, Any]:
    """What `language_by_layer` found at the top, by what the sentences say, and the chance of guessing."""
    units = sentences_of({code: rows[:limit] for code, rows in corpus.items()})
    return {name: by_unit(right[-1], units) for name, right in found.items()} | {"chance": 1 / len(corpus)}


def language_space(vectors: Vectors, corpus: Corpus) -> dict[str, np.ndarray]:
    """How near translations are at the middle and last layer, and how much of the last one's variance is language.

    Samples of what the sentences say: `similarity_middle` and `similarity_last` as in `parallel_similarity`,
    `total_variance` and `language_variance` as in `language_share`; singh2019bert.
    """
    likeness, others = pool(with_english(vectors, parallel_similarity)), sentences_of(without_english(corpus))
    total, language = language_share(*(sentences[-1] for sentences in vectors.sentences.values()))
    every = sentences_of(corpus)
    return {
        "similarity_middle": by_unit(likeness[vectors.middle], others),
        "similarity_last": by_unit(likeness[-1], others),
        "total_variance": by_unit(total, every),
        "language_variance": by_unit(language, every),
    }


def kinship() -> list[str]:
    """Whether each of the ten languages is Indo-European, in words."""
    return ["Indo-European" if about.family in INDO_EUROPEAN else "other" for about in LANGUAGES.values()]


def centroid_map(vectors: Vectors, layer: int) -> np.ndarray:
    """The centroids of the languages on their two main axes: (languages, 2); libovicky2019how cluster them."""
    centroids = torch.stack([v[layer].mean(0) for v in vectors.sentences.values()])
    left, size, _ = torch.linalg.svd(centroids - centroids.mean(0), full_matrices=False)
    return (left * size)[:, :2].numpy()


# ---------------------------------------------------------------- words


Tagger = Callable[[Sequence, Sequence[Tensor]], np.ndarray]
"""Sentences of a language and their vectors -> correctness of the tags of all words, 0/1 (layers + 1, words)."""


def learn_tags(sentences: Sequence, vectors: Sequence[Tensor]) -> Tagger:
    """A linear tagger of parts of speech on frozen word vectors, one a layer; punctuation is left out."""
    features, tags = _tagged(sentences, vectors)
    labels, _, _ = encode_labels(tags, tags)
    probe = train_probe(features, labels, seeds=1, epochs=6, steps=80)

    def correct(asked: Sequence, read: Sequence[Tensor]) -> np.ndarray:
        others, gold = _tagged(asked, read)
        return probe.correct(others, encode_labels(tags, gold)[1])[:, 0]

    return correct


def zero_shot_tags(specimen: Specimen, train: Corpus, test: Corpus, asked: Vectors | None = None) -> ByLanguage:
    """The English of `train` teaches the tags, every other language of `test` is asked: 0/1 (layers + 1, words).

    Args:
        asked: the specimen's vectors of a corpus that begins with `test`, where it was read before.
    """
    english, others = train[PIVOT], without_english(test)
    tagger = learn_tags(english, word_vectors(specimen, [s.words for s in english]))
    vectors = asked or read(specimen, others)
    return {code: tagger(rows, vectors.words[code][: len(rows)]) for code, rows in others.items()}


def commonest_tag(test: Corpus) -> ByLanguage:
    """Correctness of always answering the most frequent tag of each language but English: 0/1 (words,)."""
    found = {}
    for code, rows in test.items():
        tags = np.array(_spelt(rows)[1])
        names, counts = np.unique(tags, return_counts=True)
        found[code] = (tags == names[counts.argmax()]).astype(float)
    return {code: values for code, values in found.items() if code != PIVOT}


def tags_by_letters(train: Corpus, test: Corpus) -> ByLanguage:
    """The rival that knows letters alone, sequences of one to four of them and the ends of words: 0/1 (words,).

    The English of `train` teaches the tags, every other language of `test` is asked.
    """
    (words, tags), counter = _spelt(train[PIVOT]), CountVectorizer(analyzer="char_wb", ngram_range=(1, 4))
    tagger = LinearSVC(C=0.1, random_state=0).fit(counter.fit_transform(words), tags)
    asked = {code: _spelt(rows) for code, rows in without_english(test).items()}
    return {code: (tagger.predict(counter.transform(w)) == gold).astype(float) for code, (w, gold) in asked.items()}


def leads(scores: ByLanguage, *rivals: ByLanguage) -> dict[str, float]:
    """How far a model, at the layer best over all languages, is ahead of the best rival in each: shares of words.

    Args:
        scores: language -> (layers + 1, words).
        rivals: language -> (words,).
    """
    layer = int(pool(scores).mean(1).argmax())
    return {
        code: float(right[layer].mean() - max(rival[code].mean() for rival in rivals)) for code, right in scores.items()
    }


def _spelt(sentences: Sequence) -> tuple[list[str], list[str]]:
    """The words of a language that are no punctuation, and their tags."""
    pairs = [pair for s in sentences for pair in zip(s.words, s.upos, strict=True) if pair[1] != STOP]
    return [word for word, _ in pairs], [tag for _, tag in pairs]


def _tagged(sentences: Sequence, vectors: Sequence[Tensor]) -> tuple[Tensor, list[str]]:
    """The words of a language that are no punctuation: vectors (layers + 1, items, width) and tags."""
    chosen = [(i, w) for i, s in enumerate(sentences) for w, tag in enumerate(s.upos) if tag != STOP]
    return stack_words(vectors, chosen), [sentences[i].upos[w] for i, w in chosen]
