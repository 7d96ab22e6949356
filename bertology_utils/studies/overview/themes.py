"""In a few words each, what the claims of the chapter say; its synthesis groups their verdicts by these headings."""

from bertology_utils.verdicts.conclusions import Themes

THEMES: Themes = {
    "The stack": {
        "wordpiece-three-embeddings": "the input adds up three tables",
        "bert-encoder-stack": "a few lines of array code give every layer",
        "qkv-weighted-representation": "attention weights follow from queries and keys",
        "multi-head-different-patterns": "the heads of a layer learn different patterns",
        "transformer-parallel-long-range": "Transformers reach farther back than recurrent networks",
    },
    "Tasks and stages": {
        "bert-mlm-objective": "both sides of a blank count",
        "bert-nsp-objective": "a true continuation is told from another story",
        "bert-two-stage-workflow": "pre-training helps fine-tuning",
        "dataset-wikipedia-books": "the original read Wikipedia and books",
    },
    "Sizes": {
        "bert-base-large-configs": "the published sizes follow from depth and width",
        "bert-training-hardware": "BERT-large takes over 2.5 times the work of BERT-base",
    },
    "Probes": {
        "probe-complexity-tradeoff": "a deeper probe is less selective",
        "probe-absence-not-proof": "a failed probe does not show absence, nor a successful one use",
    },
    "About the field": {
        "survey-coverage": "how many studies the survey digests",
        "bert-citation-impact": "how often BERT is cited",
        "bert-search-queries": "how many searches it improved",
        "field-centralization": "how centralised research on language is",
        "glue-leaderboard-above-human": "systems score above people on GLUE",
        "bert-no-understanding": "BERT is far from understanding language",
        "transformers-weak-cognitive-motivation": "Transformers were not motivated by cognition",
    },
}
