"""Are senses neighbours? Occurrences get the sense of the nearest one whose sense is known (wiedemann2019does).

Depends on `word_neighbours` for the scores, on `word_geometry` for the control of the rounder space, and on
`semantic_sets` for contexts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.decomposition import PCA

from bertology_utils.activations import vectors_at
from bertology_utils.data.material import EMBEDDED
from bertology_utils.data.semantic_sets import sense_items
from bertology_utils.figures import Figure, scatter
from bertology_utils.instruments.geometry import remove_top_components
from bertology_utils.language.semantic_tasks import SenseItem
from bertology_utils.models import Specimen
from bertology_utils.studies.embeddings.word_geometry import without_matched_directions
from bertology_utils.studies.embeddings.word_neighbours import (
    context_bag,
    nearest_senses,
    over_lemmas,
    sense_silhouettes,
)

Pair = Sequence[np.ndarray]  # vectors of the training and of the test contexts, (layers + 1, items, width) each


@dataclass(frozen=True)
class SenseTest:
    """Contexts of nouns with two senses: training ones, whose senses are known, and test ones with other cue words."""

    train: Sequence[SenseItem]
    test: Sequence[SenseItem]

    @classmethod
    def drawn(cls, contexts: int, seed: int = 0, source: str = EMBEDDED) -> Self:
        """`contexts` for each sense of each noun, for training and for the test."""
        return cls(*(sense_items(contexts, split, seed=seed, source=source) for split in ("train", "test")))

    @property
    def sentence(self) -> str:
        """What the contexts look like, with the first of each sense."""
        first = self.train[0]
        other = next(item for item in self.train if item.sense != first.sense)
        return (
            f"{len(self.train)} training contexts, such as *{' '.join(first.words)}* and *{' '.join(other.words)}*; "
            f"{len(self.test)} test contexts."
        )

    def vectors(self, specimen: Specimen) -> Pair:
        """The ambiguous nouns in their contexts."""
        return tuple(
            vectors_at(specimen, [item.words for item in items], [item.place for item in items]).numpy()
            for items in (self.train, self.test)
        )

    def right(self, known: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """How often the nearest training context has the sense of a test context: (layers, lemmas)."""
        return over_lemmas(nearest_senses(known, self.train, asked, self.test), self.test)

    def answers(self, vectors: Pair) -> dict[str, Any]:
        """Senses by neighbours: `by_layer`, `best_layer` (lemmas,) and the `silhouette` of its senses (lemmas,).

        The best `layer` is chosen by leave-one-out on the training contexts, and is not the embeddings.
        """
        known, asked = vectors
        layer = nearest_senses(known, self.train)[1:].mean(1).argmax() + 1
        correct = self.right(known, asked)
        return {
            "by_layer": correct,
            "layer": layer,
            "best_layer": correct[layer],
            "most_frequent_sense": 0.5,
            "silhouette": sense_silhouettes(asked[layer], self.test),
        }

    def static_bag(self, specimen: Specimen) -> np.ndarray:
        """The same test on the mean of the context's static vectors, without any attention: (lemmas,)."""
        return self.right(*(context_bag(specimen, items) for items in (self.train, self.test)))[0]

    def cured(
        self, vectors: Pair, answers: Mapping[str, Any], top: int = 3, draws: int = 5, seed: int = 0
    ) -> dict[str, Any]:
        """The test at the chosen layer in rounder spaces, each fitted on all contexts; (lemmas,) each.

        before: as it is; without_top: without the mean and `top` principal directions; without_random: without the
        mean and as many other strong directions, the mean over `draws`.
        """
        space = np.concatenate([own[answers["layer"]] for own in vectors])

        def tested(change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
            known, asked = np.split(change(space)[None], [len(self.train)], axis=1)
            return self.right(known, asked)[0]

        others = [tested(lambda v, i=i: without_matched_directions(v, top, seed + i)) for i in range(draws)]
        return {
            "before": answers["best_layer"],
            "without_top": tested(lambda v: remove_top_components(v, top)),
            "without_random": np.mean(others, axis=0),
            "most_frequent_sense": 0.5,
        }

    def picture(self, lemma: str, vectors: Pair, layer: int) -> Figure:
        """The training contexts of a noun at a layer, in their first two principal directions."""
        rows = [i for i, item in enumerate(self.train) if item.lemma == lemma]
        alike = nearest_senses(vectors[0], self.train)[layer, rows].mean()
        return scatter(
            PCA(2).fit_transform(vectors[0][layer][rows]),
            groups=[self.train[i].sense for i in rows],
            xlabel="first direction",
            ylabel="second direction",
            caption=f"Training occurrences of '{lemma}' at the chosen layer. In the t-SNE plots of Wiedemann et al. "
            f"(2019) its senses stand well apart; here the nearest neighbour has the same sense for {alike:.0%} of the "
            "points, and the projection is linear, so gaps cannot be an effect of the drawing.",
        )
