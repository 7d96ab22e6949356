"""What tuning changed in a network: maps of attention, weights, what the maps point at, and what each half is for.

Depends on `comparisons` (one task) and `changes` (weights); averages over tasks. Blocks that share their weights, as
ALBERT's do, do not change apart: what asks for that is then absent or empty.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from bertology_utils.absent import Absent
from bertology_utils.language.grammar import Sentence
from bertology_utils.language.lexicon import first_words
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit, per_seed
from bertology_utils.studies.finetuning.conditions import TASKS, Conditions
from bertology_utils.tuning import changes, comparisons
from bertology_utils.tuning.mlm_training import train_mlm
from bertology_utils.tuning.training import Examples, FineTuned


def attention_effects(
    specimen: Specimen, conditions: Conditions, sentences: Sequence[Sentence], further: comparisons.Plan | None = None
) -> dict[str, np.ndarray]:
    """What tuning did to attention maps, mean over tasks; runs with `further` seeds are made and forgotten here.

    1 - cosine of the flattened maps before and after (kovaleva2019revealing): `by_layer` (layers, sentences); of the
    `last` layer, the `last_but_one` and the `strongest_other`, the one of the rest that changed most (absent if
    there is none), (seeds, verbs) each, as sentences share their verbs. Growth of the share of attention in the last
    two layers, (seeds, verbs) each: `sep_shift` on [SEP], `relation_shift` of words on their grammatical heads and
    dependents. `learnt`: accuracy of the kept runs over tasks, (seeds, 1).
    """
    effects = []
    for name in TASKS:
        more = comparisons.tune(specimen, [name], further)[name] if further else []
        effects.append(comparisons.attention_effects(specimen, [*conditions.runs[name], *more], sentences))
    mean = {name: np.mean([own[name] for own in effects], axis=0) for name in effects[0]}
    change = mean["change"]  # (seeds, sentences, layers)
    found = {"last": change[..., -1], "last_but_one": change[..., -2]}
    found |= {f"{target}_shift": mean[target][..., -2:].mean(-1) for target in comparisons.TARGETS}
    others = change[..., :-2]
    if others.size:
        found["strongest_other"] = others[..., others.mean((0, 1)).argmax()]
    verbs = first_words([sentence.words for sentence in sentences], "verbs")
    tuned = comparisons.over_tasks(conditions.tuned)
    return {
        "by_layer": change.mean(0).T,
        "strongest_other": Absent("It needs three layers."),
        "learnt": per_seed(tuned.mean(1), tuned.shape[1]),
        **{name: by_unit(values, verbs) for name, values in found.items()},
    }


def weights(specimen: Specimen, conditions: Conditions) -> dict[str, np.ndarray]:
    """`changes.weight_change` of the blocks in each task's first run, mean over tasks: {"weights": (layers,)} or {}."""
    if not changes.blocks_have_own_weights(specimen.encoder):
        return {}
    firsts = [conditions.runs[name][0].specimen.encoder for name in TASKS]
    return {"weights": np.mean([changes.weight_change(specimen.encoder, own)[1:] for own in firsts], axis=0)}


def weight_change(specimen: Specimen, run: FineTuned) -> float | Absent:
    """The mean relative change of a block's weights."""
    if not changes.blocks_have_own_weights(specimen.encoder):
        return Absent(f"The blocks of {specimen.name} share their weights.")
    return float(changes.weight_change(specimen.encoder, run.specimen.encoder)[1:].mean())


def halves_restored(specimen: Specimen, runs: Sequence[FineTuned], test: Examples) -> dict[str, np.ndarray] | Absent:
    """Scores of tuned models as they are and with either half of the layers rolled back, (seeds, items) each.

    hao2019visualizing; the embeddings belong to the lower half.
    """
    if not changes.blocks_have_own_weights(specimen.encoder):
        return Absent(f"The blocks of {specimen.name} share their weights.")
    half = specimen.layers // 2
    groups = {
        "lower half restored": range(half + 1),
        "upper half restored": range(half + 1, specimen.layers + 1),
    }
    restored = comparisons.restoration(runs, specimen, test, groups)
    return {"as tuned": comparisons.correct(runs), **restored}


def masked_words_shift(
    specimen: Specimen, conditions: Conditions, train: Examples, sentences: Sequence[Sentence]
) -> float | Absent:
    """Growth of the share on [SEP], as in `attention_effects`, by masked-word training on the texts of a task.

    It takes as many steps as tuning on the last task, whose examples `train` are.
    """
    if not specimen.has_mlm_head:
        return Absent(f"{specimen.name} has no masked-LM head")
    steps = len(conditions.runs[TASKS[-1]][0].losses)
    further, _ = train_mlm(specimen, train.sentences, steps, learning_rate=2e-4, budget=128)
    old, new = (comparisons.attention_targets(own, sentences)["sep"] for own in (specimen, further))
    return float((new - old)[:, -2:].mean())


def silenced(specimen: Specimen, conditions: Conditions, tests: Mapping[str, Examples]) -> dict[str, np.ndarray]:
    """Scores over all tasks, (seeds, verbs): `tuned` as they are, `silenced` while [SEP] says nothing above the middle.

    Weights of attention stay as they are; what [SEP] would hand on of a sentence is its mean over the test.
    """
    upper = range(specimen.layers // 2 + 1, specimen.layers + 1)
    quiet = {name: comparisons.without_separator(conditions.runs[name], tests[name], upper) for name in TASKS}
    verbs = first_words([words for name in TASKS for words in tests[name].sentences], "verbs")
    scores = {"tuned": conditions.tuned, "silenced": quiet}
    return {name: by_unit(comparisons.over_tasks(own), verbs) for name, own in scores.items()}
