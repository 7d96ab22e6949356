"""Is the nearest noun of the same kind (animal, food, tool, ...)? Static vectors of many origins, one question.

Depends on `word_neighbours` (scores), `word_geometry` (first components) and `lexicon`, which knows the kinds.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bertology_utils.activations import token_table_vectors, word_vectors
from bertology_utils.data import material
from bertology_utils.instruments.geometry import occurrences
from bertology_utils.language.lexicon import load_lexicon
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit
from bertology_utils.studies.embeddings.word_geometry import first_component
from bertology_utils.studies.embeddings.word_neighbours import neighbour_agrees, neighbour_ranking

MINIMUM = 5  # occurrences of a form
Learn = Callable[..., tuple[list[str], np.ndarray]]


@dataclass(frozen=True)
class NounKinds:
    """Generated sentences, and the forms of nouns that are frequent in them, with kind and lemma of each form."""

    sentences: Sequence[Sequence[str]]
    forms: Sequence[str]
    kinds: Sequence[str]
    lemmas: Sequence[str]

    @classmethod
    def generated(cls, sentences: int, seed: int = 0) -> Self:
        """Forms seen at least `MINIMUM` times; one that is alone with its kind has no neighbour to find, and is out."""
        lexicon = (noun for found in load_lexicon("train").nouns.values() for noun in found)
        noun_of = {form: noun for noun in lexicon for form in (noun.singular, noun.plural) if form}
        made = [sentence.words for sentence in material.sentences(sentences, seed)]
        counted = Counter(word for words in made for word in words)
        met = [form for form in noun_of if counted[form] >= MINIMUM]
        of_kind = Counter(noun.kind for noun in {noun_of[form] for form in met})
        forms = [form for form in met if of_kind[noun_of[form].kind] > 1]
        return cls(made, forms, *zip(*((noun_of[form].kind, noun_of[form].singular) for form in forms), strict=True))

    @property
    def nouns(self) -> int:
        return len(set(self.lemmas))

    def agreement(self, vectors: np.ndarray) -> np.ndarray:
        """How often the nearest other noun of a noun's forms is of its kind: (forms, width) to (nouns,)."""
        return self._by_noun(neighbour_agrees, vectors)

    def ranking(self, vectors: np.ndarray) -> np.ndarray:
        """How often a noun of its kind is nearer than one of another, 0.5 by chance: (forms, width) to (nouns,)."""
        return self._by_noun(neighbour_ranking, vectors)

    def _by_noun(self, score: Callable[..., np.ndarray], vectors: np.ndarray) -> np.ndarray:
        return by_unit(score(vectors, self.kinds, self.lemmas), self.lemmas)

    def distilled(self, specimen: Specimen) -> dict[str, Any]:
        """Static vectors from the model's contextual ones, against its own token table; (nouns,) each.

        by_layer (layers + 1, nouns) and middle_layer: means over contexts; middle_component: their first principal
        component (ethayarajh2019how). The rankings are the second score of the same vectors.
        """
        static = occurrences(self.sentences, token_table_vectors(specimen, self.sentences), MINIMUM)
        contextual = occurrences(self.sentences, word_vectors(specimen, self.sentences), MINIMUM)
        table = np.stack([static[form][0, 0] for form in self.forms])
        means = np.stack([contextual[form].mean(1) for form in self.forms], axis=1)
        middle = len(means) // 2
        components = [first_component(contextual[form][middle : middle + 1])[0] for form in self.forms]
        return {
            "by_layer": np.stack([self.agreement(layer) for layer in means]),
            "middle_layer": self.agreement(means[middle]),
            "token_table": self.agreement(table),
            "middle_component": self.agreement(np.stack(components)),
            "middle_ranking": self.ranking(means[middle]),
            "table_ranking": self.ranking(table),
        }

    def learnt(self, learn: Learn, steps: int, seed: int = 0) -> np.ndarray:
        """The agreement of vectors that a method of `static_vectors` learns from the sentences alone: (nouns,)."""
        words, rows = learn(self.sentences, steps=steps, seed=seed)
        return self.agreement(rows[[words.index(form) for form in self.forms]])


def ranked(scores: Mapping[str, np.ndarray]) -> str:
    """The scores from best to worst, in words."""
    best_first = sorted(scores.items(), key=lambda item: -item[1].mean())
    return ", ".join(f"{name} {values.mean():.0%}" for name, values in best_first)
