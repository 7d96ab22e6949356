"""One phenomenon, five methods: what each says of the licensor and the scope of polarity items.

After warstadt2019investigating, whose point is that the methods disagree. Depends on `pair_sets` (items), `probes`
(readouts of frozen vectors, where the study fine-tunes the model) and `agreement` (the cloze).
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from bertology_utils.activations import sentence_vectors
from bertology_utils.data.material import EMBEDDED
from bertology_utils.data.pair_sets import matched_npi_pairs, npi_pairs
from bertology_utils.instruments.grammaticality import baselines, best_rule
from bertology_utils.instruments.probes import train_probe
from bertology_utils.language.pairs import MinimalPair
from bertology_utils.models import Specimen
from bertology_utils.studies.syntax.agreement import preferences

CONDITIONS = ("licensor", "scope")
STRUCTURES = ("relative", "conjoined")  # of the grammar's pairs that ask for item and scope


def five_methods(specimen: Specimen, train: int, test: int, seed: int = 0, **settings) -> dict[str, dict]:
    """Condition -> method -> 0/1 samples, chance one half but for the absolute pairs (a quarter).

    `acceptability`: a readout of sentence vectors (middle layer, mean over words), trained on both conditions, judges
    single sentences; `absolute pair`: it is right on both sentences of a pair; `gradient pair`: it puts the good one
    above the bad one; `feature probe`: a readout trained on this condition alone judges single sentences; `cloze`: the
    masked-LM head prefers the item in the good sentence. Settings as in `probes.train_probe`.
    """
    known, asked = (
        {name: npi_pairs(n, name, seed=seed, split=split) for name in CONDITIONS}
        for n, split in ((train, "train"), (test, "test"))
    )
    vectors = {name: _vectors(specimen, pairs) for name, pairs in known.items()}
    joint = _readout(torch.cat([*vectors.values()], dim=1), **settings)
    found = {}
    for name, pairs in asked.items():
        unseen = _vectors(specimen, pairs)
        found[name] = _trained_methods(joint(unseen), _readout(vectors[name], **settings)(unseen))
        if specimen.has_mlm_head:
            found[name]["cloze"] = preferences(specimen, pairs).astype(float)
    return found


def feature_probes(specimen: Specimen, train: int, test: int, seed: int = 0, **settings) -> dict[str, np.ndarray]:
    """Readouts of single sentences: is there a polarity item (`npi`), is it in scope (`scope_probe`)? The share of each
    pair that is right, `(pairs,)`.

    The feature probes of warstadt2019investigating on the grammar's pairs, whose training and test words differ; an
    absent item is replaced by a neutral word. As where the study holds an environment out, a probe learns from
    one of the `STRUCTURES` and is asked in the other, both ways round: within one it need learn no more than the
    template. `train` and `test` count pairs of both structures together; settings as in `probes.train_probe`.
    """
    return {
        name: _across_structures(
            specimen,
            npi_pairs(train, condition, seed=seed, split="train"),
            npi_pairs(test, condition, seed=seed, split="test"),
            settings,
        )
        for name, condition in (("npi", "npi"), ("scope_probe", "scope"))
    }


def _across_structures(
    specimen: Specimen, known: Sequence[MinimalPair], asked: Sequence[MinimalPair], settings: Mapping
) -> np.ndarray:
    """The share of each asked pair that a readout gets right which learnt from the other structure, `(asked,)`."""
    vectors, unseen = _vectors(specimen, known), _vectors(specimen, asked)
    right = np.zeros(len(asked))
    for structure in STRUCTURES:
        learnt, held_out = (
            np.array([pair.condition["structure"] == structure for pair in pairs]) for pairs in (known, asked)
        )
        odds = _readout(vectors[:, learnt], **settings)(unseen[:, ~held_out])
        right[~held_out] = np.mean([odds[0] > 0, odds[1] < 0], axis=0)
    return right


def cloze_choices(specimen: Specimen, n: int, seed: int = 0, source: str = EMBEDDED) -> dict[str, np.ndarray]:
    """Is a polarity item more probable with its `licensor`, and inside its `scope`? 0/1 (warstadt2019investigating).

    Both conditions hold the same environments, as in `pair_sets.matched_npi_pairs`. `licensor_rule` and `scope_rule`
    are the shares that the best rule without grammar would get (`grammaticality.baselines`).
    """
    sets = matched_npi_pairs(n, seed=seed, source=source)
    rules = {f"{name}_rule": best_rule(baselines(specimen, pairs)) for name, pairs in sets.items()}
    return {name: preferences(specimen, pairs) for name, pairs in sets.items()} | rules


def kindest_and_hardest(found: Mapping[str, np.ndarray]) -> tuple[str, str]:
    """Of one condition of `five_methods`: the names of the methods with the highest and the lowest mean."""
    return tuple(choose(found, key=lambda name: found[name].mean()) for choose in (max, min))


def leads_of_licensors(found: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, float]:
    """Of `five_methods`: by how much each method judges licensors better than scope, in accuracy."""
    return {name: values.mean() - found["scope"][name].mean() for name, values in found["licensor"].items()}


def _trained_methods(joint: np.ndarray, alone: np.ndarray) -> dict[str, np.ndarray]:
    """Samples of the four trained methods from the log odds (2, pairs) of both readouts."""
    right = np.stack([joint[0] > 0, joint[1] < 0])
    samples = {
        "acceptability": right.ravel(),
        "absolute pair": right.all(0),
        "gradient pair": joint[0] > joint[1],
        "feature probe": np.concatenate([alone[0] > 0, alone[1] < 0]),
    }
    return {name: np.asarray(values, dtype=float) for name, values in samples.items()}


def _readout(known: torch.Tensor, **settings) -> Callable[[torch.Tensor], np.ndarray]:
    """A classifier of good against bad sentences, learnt from vectors (2, pairs, width): vectors -> log odds."""
    pairs = known.shape[1]
    probe = train_probe(known.flatten(0, 1)[None], [1] * pairs + [0] * pairs, seeds=1, **settings)

    def log_odds(asked: torch.Tensor) -> np.ndarray:
        logits = probe.logits(asked.flatten(0, 1)[None])[0, 0]
        return (logits[:, 1] - logits[:, 0]).reshape(2, -1).numpy()

    return log_odds


def _vectors(specimen: Specimen, pairs: Sequence[MinimalPair]) -> torch.Tensor:
    """Middle layer, mean of the pieces, good sentences before bad ones: (2, pairs, width)."""
    sentences = [list(pair.good) for pair in pairs] + [list(pair.bad) for pair in pairs]
    return sentence_vectors(specimen, sentences, "mean")[specimen.layers // 2].reshape(2, len(pairs), -1)
