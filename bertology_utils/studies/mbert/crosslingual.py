"""Transfer between a generated language and its twin: tagging without target labels, swapped embeddings, baselines.

Depends on `two_languages` (twin languages, measures on vectors), `probes` and `activations`; section 8 of the survey.
"""

import copy
import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize
from torch import Tensor

from bertology_utils.activations import word_vectors
from bertology_utils.instruments.probes import encode_labels, stack_words, train_probe
from bertology_utils.language.grammar import Sentence
from bertology_utils.models import Specimen
from bertology_utils.tuning.two_languages import TwinLanguage, centred


def selected(scores: np.ndarray) -> np.ndarray:
    """Scores of the odd items at the layer that is best on the even ones: (layers, items) -> (items // 2,).

    Selection and measurement on different items; an untrained control goes through the same choice.
    """
    best = int(np.asarray(scores, dtype=float)[:, ::2].mean(1).argmax())
    return np.asarray(scores, dtype=float)[best, 1::2]


def translated(sentences: Sequence[Sentence], language: TwinLanguage | None) -> list[tuple[str, ...]]:
    """The words of each sentence in that language; None is the first language itself."""
    return [s.words if language is None else language.translate(s.words) for s in sentences]


def zero_shot_tagging(
    specimen: Specimen,
    train: Sequence[Sentence],
    test: Sequence[Sentence],
    language: TwinLanguage | None,
    reader: Specimen | None = None,
) -> np.ndarray:
    """Part-of-speech tagging learnt in the first language, tested in `language`: correctness (layers + 1, words).

    A linear tagger on frozen word vectors, one a layer. Words stand in the order of the first language, whatever that
    of the other. `reader` encodes the test sentences where that is another model (the swapped embeddings of
    artetxe2019crosslingual).
    """
    known = stack_words(word_vectors(specimen, [s.words for s in train]))
    orders = [(language or TwinLanguage()).order(s.words) for s in test]
    places = [(i, place) for i, order in enumerate(orders) for place in np.argsort(order).tolist()]
    asked = stack_words(word_vectors(reader or specimen, translated(test, language)), places)
    gold = [tag for s in test for tag in s.upos]
    train_labels, test_labels, _ = encode_labels([tag for s in train for tag in s.upos], gold)
    return train_probe(known, train_labels, seeds=1, epochs=6, steps=80).correct(asked, test_labels)[:, 0]


def sentence_of_words(test: Sequence[Sentence]) -> list[str]:
    """The sentence of each tagged word, which is what was drawn: of the small language's words all are asked."""
    return [str(i) for i, s in enumerate(test) for _ in s.words]


def in_other_letters(test: Sequence[Sentence], language: TwinLanguage) -> np.ndarray:
    """Which words a language does not share: booleans (words,). A shared word is tagged right with no transfer."""
    return np.array([word not in language.shared for s in test for word in s.words])


def majority_tagging(train: Sequence[Sentence], test: Sequence[Sentence]) -> np.ndarray:
    """Correctness (words,) of always answering the most frequent tag of the training sentences."""
    tags, counts = np.unique([tag for s in train for tag in s.upos], return_counts=True)
    return np.array([tag == tags[counts.argmax()] for s in test for tag in s.upos], dtype=float)


def with_fresh_embeddings(specimen: Specimen, seed: int = 0) -> Specimen:
    """A copy whose word embeddings (and tied decoder) are random again; special pieces and the body stay."""
    model = copy.deepcopy(specimen.model)
    table = model.get_input_embeddings().weight
    fresh = torch.randn(table.shape, generator=torch.Generator().manual_seed(seed)) * model.config.initializer_range
    kept = torch.tensor(sorted(specimen.tokenizer.all_special_ids))
    with torch.no_grad():
        fresh[kept] = table[kept]
        table.copy_(fresh)
    return dataclasses.replace(specimen, model=model.eval())


def lexical_retrieval(source: Sequence[Sequence[str]], target: Sequence[Sequence[str]]) -> np.ndarray:
    """Retrieval by shared words (cosine of word counts): the chance that a best match is the translation: (sentences,).

    With m equally good best matches the translation is drawn with probability 1/m; without a common word that is
    1 / sentences.
    """
    counter = CountVectorizer(analyzer=list).fit([*source, *target])
    first, second = (normalize(counter.transform(sentences).astype(float)) for sentences in (source, target))
    scores = np.round((first @ second.T).toarray(), 9)
    best = scores == scores.max(1, keepdims=True)
    return np.where(best.diagonal(), 1 / best.sum(1), 0.0)


def parallel_similarity(source: Tensor, target: Tensor) -> np.ndarray:
    """Cosine of translations minus that of other sentences, after centring each language: (layers, sentences)."""
    a, b = centred(source), centred(target)
    cosine = torch.nn.functional.cosine_similarity
    return (cosine(a, b, dim=-1) - cosine(a, b.roll(1, dims=-2), dim=-1)).numpy()


def language_share(*sides: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Squared distance of a sentence from the common mean, and of its language's centroid: both (all sentences,).

    One layer's (sentences, width) a language. The ratio of their means is the share of the variance that is language.
    """
    everything = torch.cat(sides)
    centre = everything.mean(0)
    centroids = torch.cat([part.mean(0, keepdim=True).expand_as(part) for part in sides])
    return (everything - centre).square().sum(1).numpy(), (centroids - centre).square().sum(1).numpy()
