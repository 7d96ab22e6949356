"""In a few words each, what the claims of the chapter say; its synthesis groups their verdicts by these headings."""

from bertology_utils.verdicts.conclusions import Themes

THEMES: Themes = {
    "Heads and layers": {
        "same-layer-heads-similar": "heads of one layer look alike",
        "most-heads-prunable-mt": "most heads can go",
        "head-importance-order-pruning": "pruning by importance does less harm than at random",
        "harmful-heads-mt": "without some head the model does better",
        "disable-heads-layers-helps-glue": "without some head, and without some layer's attention, it does better",
        "one-head-per-layer": "most layers can do with one head",
    },
    "What survives": {
        "heads-equally-important": "importance scores of two runs hardly agree",
        "s-pruning-unstable": "runs disagree on the surviving heads",
        "m-pruning-stable": "runs agree on the surviving weights",
        "task-dependent-redundancy": "which heads survive depends on the task",
        "s-pruned-not-shared-tasks": "two related tasks keep different heads",
    },
    "Sub-networks, tuned again": {
        "m-pruning-ordering": "of single weights, good beat random and random beat bad ones",
        "s-pruning-ordering": "of heads, good and random are alike and beat bad ones",
        "bad-s-subnets-not-bad": "bad heads still learn",
        "lottery-all-tickets-win": "random and bad heads reach nine tenths of the whole model",
    },
    "A few weights": {
        "outlier-same-position": "outliers share one position in all layers",
        "outlier-weights-disable": "without two dimensions the model breaks",
        "outlier-location-layernorm": "what counts lies in the layer norms",
        "outlier-mlm-text-damage": "without outliers, masked words are not found",
        "outlier-model-list": "other models have outliers too",
    },
    "Size": {
        "t5-30x-bert": "the largest T5 has over 30 times BERT-base's parameters",
        "large-better-usually": "larger models mostly do better",
        "later-version-gains-not-always-large": "larger models do better, yet not always",
        "large-worse-agreement": "in agreement the smaller model is better",
        "large-worse-subject": "in finding the subject the smaller model is better",
        "models-grow-orders": "a large model cut to a small one's weights is the better one",
        "regression-tasks-m-vs-s": "regression suffers more when single weights go",
    },
}
