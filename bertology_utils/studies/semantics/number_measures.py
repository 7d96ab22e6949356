"""Numbers in vectors (wallace2019nlp): values read by regression, and what pieces do to neighbouring numbers.

Depends on `activations` for vectors, on `probes` for the regression and on `semantic_tasks` for the carrier sentence;
what the study's figure showed is told by its claim.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertology_utils.activations import vectors_at, vectors_by
from bertology_utils.errors import NotAskable
from bertology_utils.figures import Figure, scatter
from bertology_utils.instruments.probes import fit_ridge
from bertology_utils.language.semantic_tasks import NUMBER_PLACE, number_sentence
from bertology_utils.models import Specimen
from bertology_utils.samples import census
from bertology_utils.studies.semantics.span_probes import pair_features
from bertology_utils.verdicts.claims import claim_by_id


def number_vectors(specimen: Specimen, values: Sequence[float]) -> torch.Tensor:
    """Vectors of numbers in a plain carrier, read in two ways: (2 * (layers+1), items, width).

    First the means of a number's pieces by layer, then its last piece, which is where wallace2019nlp reads it; a point
    and the digits behind it are pieces like the others. `read_values` chooses among layers and ways alike.
    """
    sentences, places = [number_sentence(str(value)) for value in values], [NUMBER_PLACE] * len(values)
    return torch.cat(list(vectors_by(specimen, sentences, places, ("mean", "last")).values()))


def digit_one_hots(texts: Sequence[str]) -> torch.Tensor:
    """The symbolic control (1, items, 10 * places): each digit as a one-hot, aligned at the point."""
    parts = [text.partition(".") for text in texts]
    whole, rest = (max(len(part[side]) for part in parts) for side in (0, 2))
    aligned = [part[0].rjust(whole, "0") + part[2].ljust(rest, "0") for part in parts]
    digits = torch.tensor([[int(character) for character in row] for row in aligned])
    return torch.nn.functional.one_hot(digits, 10).flatten(1).float()[None]


def read_values(
    features: torch.Tensor, values: Sequence[float], asked: torch.Tensor, share: float = 0.75
) -> tuple[int, np.ndarray]:
    """Ridge regression of values on features: the chosen layer and the predictions (asked items,).

    `features` (layers, items, width) and `values` train: a `share` of them fits, the rest chooses the layer; `asked` is
    (layers, items, width). A linear, closed-form stand-in for the three-layer network of wallace2019nlp.
    """
    target, cut = torch.as_tensor(np.asarray(values)).double(), int(share * len(values))
    probe = fit_ridge(features[:, :cut], target[:cut])
    errors = (probe.predict(features[:, cut:])[..., 0] - target[cut:]).square().mean(-1)
    layer = int(errors.argmin())
    return layer, probe.predict(asked)[layer, :, 0].numpy()


def plant_values(features: torch.Tensor, values: Sequence[float], scale: float, seed: int = 0) -> torch.Tensor:
    """Features (layers, items, width) with each value, in units of `scale`, added along one random direction.

    The positive control of a regression: these vectors hold the value on a line, also outside the trained range.
    """
    line = torch.randn(features.shape[-1], generator=torch.Generator().manual_seed(seed))
    steps = torch.as_tensor(np.asarray(values) / scale, dtype=features.dtype)
    return features + steps[:, None] * features.std() * line


def explained(predicted: np.ndarray, values: Sequence[float]) -> np.ndarray:
    """One minus the squared error over the mean squared deviation, (items,): the mean over items is R squared."""
    values = np.asarray(values, dtype=float)
    return 1 - (predicted - values) ** 2 / ((values - values.mean()) ** 2).mean()


def readable(features: torch.Tensor, values: Sequence[float], share: float = 0.5) -> np.ndarray:
    """How much of the variance of new numbers a regression on the first `share` of them explains, see `explained`."""
    cut = int(share * len(values))
    _, predicted = read_values(features[:, :cut], values[:cut], features[:, cut:])
    return explained(predicted, values[cut:])


def numeracy(specimen: Specimen, numbers: Mapping[str, Sequence[float]]) -> dict[str, np.ndarray]:
    """`readable` of each list of numbers from the specimen's vectors, and `<list>_digits` from their digits alone."""
    vectors = {name: readable(number_vectors(specimen, values), values) for name, values in numbers.items()}
    digits = {f"{name}_digits": readable(digit_one_hots(list(map(str, v))), v) for name, v in numbers.items()}
    return vectors | digits


@dataclass(frozen=True)
class Extrapolation:
    """A range of numbers, of which a `share` is learnt, and a range that lies beyond it."""

    inner: Sequence[int]
    outer: Sequence[int]
    share: float = 0.7

    @property
    def cut(self) -> int:
        return int(self.share * len(self.inner))

    def errors(self, specimen: Specimen) -> dict[str, np.ndarray]:
        """Squared errors of new numbers `inside` and `outside` of the range: (numbers,) each.

        `planted`: outside, with the values planted into all vectors, which the regression must read; `spread`: inside,
        of always guessing the mean.
        """
        known, beyond = number_vectors(specimen, self.inner), number_vectors(specimen, self.outer)
        planted = [
            plant_values(vectors, values, np.std(self.inner))
            for vectors, values in ((known, self.inner), (beyond, self.outer))
        ]
        new, learnt = self.inner[self.cut :], self.inner[: self.cut]
        sides = {
            "inside": (known, known[:, self.cut :], new),
            "outside": (known, beyond, self.outer),
            "planted": (*planted, self.outer),
        }
        errors = {
            name: (read_values(features[:, : self.cut], learnt, asked)[1] - np.array(values)) ** 2
            for name, (features, asked, values) in sides.items()
        }
        return errors | {"spread": (np.array(new) - np.mean(learnt)) ** 2}

    def figure(self, specimen: Specimen) -> Figure:
        """Each new number and what is read for it."""
        known, beyond = number_vectors(specimen, self.inner), number_vectors(specimen, self.outer)
        new = self.inner[self.cut :]
        asked = torch.cat([known[:, self.cut :], beyond], dim=1)
        truth = np.array([*new, *self.outer])
        _, read = read_values(known[:, : self.cut], self.inner[: self.cut], asked)
        squares = (read - truth) ** 2
        ratio = (squares[len(new) :].mean() / squares[: len(new)].mean()) ** 0.5
        caption = (
            f"Numbers read by a probe that learnt on {min(self.inner)} to {max(self.inner)}. "
            f"{claim_by_id('numbers-no-extrapolation').figure} Here the root mean squared error is {ratio:.1f} times "
            "as large outside."
        )
        groups = ["new, inside the range"] * len(new) + ["outside"] * len(self.outer)
        points = np.column_stack([truth, read])
        return scatter(points, identity=True, xlabel="number", ylabel="number read", groups=groups, caption=caption)


def root_mean_squares(errors: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The root of the mean of each list of squared errors."""
    return {name: float(values.mean() ** 0.5) for name, values in errors.items()}


Pairs = Sequence[tuple[int, int]]


def sum_errors(specimen: Specimen, learnt: Pairs, inside: Pairs, outside: Pairs) -> dict[str, float]:
    """Root mean squared errors of the sums of pairs of numbers below 100, read from their vectors side by side.

    The regression learns the sums of some pairs, and is asked those of others, `inside` and `outside` of their range.
    """
    small = number_vectors(specimen, range(100))
    known, *asked = (
        pair_features(*(small[:, list(side)] for side in zip(*pairs, strict=True)))
        for pairs in (learnt, inside, outside)
    )
    _, read = read_values(known, [sum(pair) for pair in learnt], torch.cat(asked, dim=1))
    squares = (read - np.array([sum(pair) for pair in (*inside, *outside)])) ** 2
    return root_mean_squares({"inside": squares[: len(inside)], "outside": squares[len(inside) :]})


def shared_digits(first: Sequence[str], second: Sequence[str]) -> float:
    """Share of digits that stand in the same piece at the same place of two numbers, which are sequences of pieces.

    Counted in digits, also where a piece holds several, so that vocabularies can be compared.
    """
    first, second = ([d for p in pieces if (d := "".join(filter(str.isdigit, p)))] for pieces in (first, second))
    starts = [dict(zip(np.cumsum([0, *map(len, pieces[:-1])]), pieces, strict=True)) for pieces in (first, second)]
    alike = sum(len(piece) for start, piece in starts[0].items() if starts[1].get(start) == piece)
    return alike / max(len("".join(first)), len("".join(second)))


def number_neighbours(specimen: Specimen, n: int, seed: int = 0, layer: int | None = None) -> dict[str, np.ndarray]:
    """How alike m and m + 1 are: pieces, digits, and vectors at a layer (default: the middle one) in a plain carrier.

    `wordpiece_overlap` and `digit_overlap` are of all pairs below 10,000 (`samples.census`), see `shared_digits`;
    `same_split` and `changed_split` (at most n / 2,) are the cosines of the means of the pieces in pairs that are alike
    but for their split, see `alike_but_for_split` (wallace2019nlp names the problem).
    """
    layer = specimen.layers // 2 if layer is None else layer
    split = {m: specimen.tokenizer.tokenize(str(m)) for m in range(10, 10_000)}
    kinds = alike_but_for_split(split, n // 2, seed)
    numbers = [m for kind in kinds for first in kind for m in (first, first + 1)]
    vectors = vectors_at(specimen, [number_sentence(str(m)) for m in numbers], [NUMBER_PLACE] * len(numbers))[layer]
    cosines = torch.cosine_similarity(vectors[::2], vectors[1::2], dim=-1).numpy()
    return {
        "wordpiece_overlap": census([shared_digits(split[m], split[m + 1]) for m in list(split)[:-1]]),
        "digit_overlap": census([shared_digits(str(m), str(m + 1)) for m in list(split)[:-1]]),
        "same_split": cosines[: len(kinds[0])],
        "changed_split": cosines[len(kinds[0]) :],
    }


def alike_but_for_split(split: Mapping[int, Sequence[str]], n: int, seed: int = 0) -> tuple[list[int], list[int]]:
    """Numbers m whose pieces have other lengths than those of m + 1, and as many with the same: (same, changed).

    Only the last digit changes from m to m + 1, and every length of number is as frequent in both lists, which hold at
    most `n` each. `split` gives the pieces. Raises BertologyError where there is no such pair.
    """
    random, found = np.random.default_rng(seed), {}
    for m in (m for m in split if m % 10 != 9 and m + 1 in split):
        changed = list(map(len, split[m])) != list(map(len, split[m + 1]))
        found.setdefault(len(str(m)), ([], []))[changed].append(m)
    same, changed = [], []
    for alike, unlike in found.values():
        count = min(len(alike), len(unlike))
        same += random.permutation(alike)[:count].tolist()
        changed += random.permutation(unlike)[:count].tolist()
    if not changed:
        raise NotAskable("All neighbouring numbers are split alike, or none is.")
    kept = random.permutation(len(changed))[:n]
    return [same[i] for i in kept], [changed[i] for i in kept]
