"""What in a small model does transfer to a twin without shared words need? One thing is changed at a time.

Depends on `shared_words` (what a seed reads and is asked), `crosslingual` (tags) and `tiny_pretraining`.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from bertology_utils.activations import sentence_vectors
from bertology_utils.estimation import ALPHA, Linear, estimate
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.statistics import Measurement
from bertology_utils.studies.mbert import crosslingual, shared_words
from bertology_utils.studies.mbert.shared_words import Seed
from bertology_utils.text import Encoding, of_segments
from bertology_utils.tuning import tiny_pretraining as tiny
from bertology_utils.tuning.mlm_training import endless_batches, mlm_losses
from bertology_utils.tuning.two_languages import TwinLanguage, centred_retrieval

BASE, OWN_POSITIONS = "base", "own_positions"
CHANGES: Mapping[str, Mapping[str, int]] = {
    "one_layer": {"layers": 1},
    "four_layers": {"layers": 4},
    "four_narrow_layers": {"layers": 4, "width": 48, "inner": 192},  # about the parameters of the base
    "one_head": {"heads": 1},
    "four_heads": {"heads": 4},
    "half_width": {"width": 32, "inner": 128},
    "double_width": {"width": 128, "inner": 512},
    OWN_POSITIONS: {},
}
"""What each arm has else than the base, whose recipe is that of `shared_words`."""
MEASURES = {"tags": "tags right", "found": "translations found"}
TWIN = TwinLanguage()


def with_own_positions(
    specimen: Specimen, encodings: Sequence[Encoding], seed: int, budget: int
) -> Iterator[dict[str, Tensor]]:
    """`endless_batches` in which the second half of the inputs, the twin's, lies at the second half of all positions.

    The lang-pos of dufter2020identifying.
    """
    foreign = np.arange(len(encodings)) >= len(encodings) // 2
    for batch in endless_batches(specimen, of_segments(encodings, foreign.astype(int)), seed, budget):
        kinds = batch["token_type_ids"]
        positions = torch.arange(kinds.shape[1]) + kinds * (specimen.max_pieces // 2)
        yield {**batch, "token_type_ids": torch.zeros_like(kinds), "position_ids": positions}


def of_the_twin(model: Specimen) -> Specimen:
    """A copy that puts what it reads at the positions of the twin in `with_own_positions`."""
    copy = deepcopy(model.model)
    table = copy.base_model.embeddings.position_embeddings.weight
    table.data = table.data.roll(-(model.max_pieces // 2), 0)
    return replace(model, model=copy)


def transfer(model: Specimen, own: Seed, reader: Specimen) -> dict[str, float]:
    """Tags right in the twin, translations found, and nats a masked word; `reader` encodes the twin."""
    asked = own.sentences[shared_words.READ :]
    right = crosslingual.zero_shot_tagging(model, own.sentences[: shared_words.TAGGED], asked, TWIN, reader)
    sides = [(model, [s.words for s in asked]), (reader, [TWIN.translate(s.words) for s in asked])]
    found = centred_retrieval(*(sentence_vectors(of, texts) for of, texts in sides))
    return {
        "tags": float(crosslingual.selected(right).mean()),
        "found": float(crosslingual.selected(found).mean()),
        "loss": float(np.mean([mlm_losses(of, texts) for of, texts in sides])),
    }


def pair_varied(seeds: Sequence[int]) -> Runs:
    """Transfer from English to a twin in other letters, by models that differ from a base in one thing each.

    tags_*: tags right in the twin by a tagger of English; found_*: translations found, centred; both at the layer best
    on half of the items; loss_*: nats a masked word of new sentences; of `base` and each of `CHANGES`. `majority`
    answers the commonest tag. wang2019crosslingual, dufter2020identifying
    """
    own = [Seed(seed) for seed in seeds]
    sides: tuple[dict, dict] = ({}, {})
    for name, change in {BASE: {}, **CHANGES}.items():
        recipe, apart = replace(shared_words.RECIPE, **change), name == OWN_POSITIONS
        blank, fresh = ([one.untrained(recipe) for one in own] for _ in range(2))
        feed = with_own_positions if apart else endless_batches
        trained = tiny.train_each(fresh, [one.text(TWIN) for one in own], recipe, seeds, feed)
        for side, models in zip(sides, (trained, blank), strict=True):
            readers = [of_the_twin(model) for model in models] if apart else models
            values = [transfer(*of) for of in zip(models, own, readers, strict=True)]
            side |= {f"{kind}_{name}": per_seed([one[kind] for one in values]) for kind in values[0]}
    majority = per_seed([guessed(one) for one in own])
    return Runs(*(side | {"majority": majority} for side in sides), networks=len(own))


def guessed(own: Seed) -> float:
    """Tags right by always answering the commonest one."""
    read, asked = own.sentences[: shared_words.TAGGED], own.sentences[shared_words.READ :]
    return float(crosslingual.majority_tagging(read, asked)[1::2].mean())


# ---------------------------------------------------------------- what was recorded


def differences(runs: Runs, kind: str) -> dict[str, Measurement]:
    """How many points each change is ahead of the base in a measure, seed by seed.

    The intervals of all measures hold together: each is as wide as so many comparisons need (Bonferroni).
    """
    alpha, found = ALPHA / (len(CHANGES) * len(MEASURES)), {}
    for name in CHANGES:
        ahead = per_seed(100 * (runs.model[f"{kind}_{name}"] - runs.model[f"{kind}_{BASE}"])[:, 0])
        sure = estimate(Linear(float(ahead.mean()), {"ahead": 1.0}), {"ahead": ahead})
        found[_words(name)] = Measurement(sure.value, sure.low(alpha), sure.high(alpha), 1, len(ahead), " points")
    return found


def told(runs: Runs) -> str:
    """Which changes move transfer, and which are not told apart from the base, in words."""
    said = [
        f"{len(CHANGES) * len(MEASURES)} comparisons in {runs.networks} recorded seeds, whose intervals hold together; "
        f"the commonest tag alone gets {runs.model['majority'].mean():.0%} of the words right."
    ]
    for kind, words in MEASURES.items():
        base, rows = runs.model[f"{kind}_{BASE}"].mean(), differences(runs, kind).items()
        blank = [runs.twin[f"{kind}_{name}"].mean() for name in (BASE, *CHANGES)]
        said.append(f"{words.capitalize()}: {base:.0%} by the base, {min(blank):.0%} to {max(blank):.0%} untrained.")
        told_of = {
            "Fewer with": [_moved(name, row) for name, row in rows if row.high < 0],
            "More with": [_moved(name, row) for name, row in rows if row.low > 0],
            "Not told apart from the base:": [name for name, row in rows if row.low <= 0 <= row.high],
        }
        said += [f"{opening} {', '.join(names)}." for opening, names in told_of.items() if names]
    losses = {name: runs.model[f"loss_{name}"].mean() for name in (BASE, *CHANGES)}
    least, most = (choose(losses, key=losses.get) for choose in (min, max))
    said.append(
        f"A masked word costs the base {losses[BASE]:.2f} nats, and from {losses[least]:.2f} ({_words(least)}) to "
        f"{losses[most]:.2f} ({_words(most)})."
    )
    return " ".join(said)


def _moved(name: str, row: Measurement) -> str:
    return f"{name} ({row.value:+.0f} points, {row.low:+.0f} to {row.high:+.0f})"


def _words(name: str) -> str:
    return name.replace("_", " ")


EXPERIMENTS = {"pair-varied": pair_varied}
