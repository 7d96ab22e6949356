"""Other ways to use an encoder for sentence pairs, after the study that tried them against a shortcut.

Depends on `activations`, `training` and scikit-learn. Siamese encoders (the two sentences never meet in one input),
frozen or trained, features of a tuned cross-encoder, and the projection that takes a superficial view out of features,
as in bhargava2021generalization. Everything ends in one linear classifier.
"""

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from bertology_utils.activations import sentence_vectors
from bertology_utils.models import Specimen
from bertology_utils.tuning.training import Classifier, Examples, compared, pooled


class Siamese(Classifier):
    """A classifier of pairs whose sentences never meet: one encoder reads each in an input of its own, from a batch in
    which they share one; the means of their pieces are `compared`. Its pooling is "pair"."""

    def features(self, **batch: Tensor) -> Tensor:
        """(batch, 4 width)."""
        real, ends = batch["attention_mask"].bool(), batch["input_ids"] == self.separator
        second = real & (ends.cumsum(1) - ends.long() > 0)
        begins = torch.arange(real.shape[1]) == 0  # [CLS], which both inputs have
        chosen = torch.cat([real & ~second, second | begins])  # (2 batch, pieces)
        order = chosen.long().argsort(dim=1, descending=True, stable=True)[:, : int(chosen.sum(1).max())]
        own = {name: values.repeat(2, 1).gather(1, order) for name, values in batch.items()}
        own["attention_mask"] = chosen.gather(1, order).to(own["attention_mask"])
        if "token_type_ids" in own:
            own["token_type_ids"].zero_()
        return compared(*pooled(self.encoder(**own).last_hidden_state, own, "mean").chunk(2))


def siamese_features(specimen: Specimen, examples: Examples) -> np.ndarray:
    """(items, 4 width): mean-pooled last layer u and v of the two sentences, as u, v, |u - v| and u * v."""
    unique = sorted({tuple(words) for words in (*examples.sentences, *examples.pairs)})
    vectors = sentence_vectors(specimen, unique, pool="mean")[-1]
    place = {words: i for i, words in enumerate(unique)}
    sides = (vectors[[place[tuple(words)] for words in side]] for side in (examples.sentences, examples.pairs))
    return compared(*sides).numpy()


def superficial_features(examples: Examples) -> np.ndarray:
    """(items, 4): a bag of words' view of a pair: share of shared words, number of others, all shared, constant."""
    rows = []
    for premise, hypothesis in zip(examples.sentences, examples.pairs, strict=True):
        shared = [word in premise for word in hypothesis]
        rows.append((np.mean(shared), len(shared) - sum(shared), float(all(shared)), 1.0))
    return np.array(rows)


def without_superficial(features: np.ndarray, superficial: np.ndarray) -> np.ndarray:
    """HEX: features (items, width) minus their least-squares prediction from `superficial` (items, few).

    The projection (I - S (S'S)^+ S') F on one set of items.
    """
    weights, *_ = np.linalg.lstsq(superficial, features, rcond=None)
    return features - superficial @ weights


def linear_correct(
    train: np.ndarray, labels, tests: list[tuple[np.ndarray, object]], superficial: np.ndarray | None = None
) -> list[np.ndarray]:
    """Correctness on each (features, labels) of `tests` of one logistic regression on standardised features.

    superficial: of the lessons; the reader is then trained through HEX, whose loss sees logits without what these
    predict, and answers with the weights so learnt. Where labels follow from them alone, nothing is left to learn.
    Deviation: bhargava2021generalization train the encoder through it too.
    """
    scaler = StandardScaler().fit(train)
    seen = scaler.transform(train)
    if superficial is not None:
        seen = without_superficial(seen, superficial)  # weights times these are the logits that the loss sees
    model = LogisticRegression(C=0.1, max_iter=300, fit_intercept=superficial is None).fit(seen, np.asarray(labels))
    return [model.predict(scaler.transform(features)) == np.asarray(gold) for features, gold in tests]
