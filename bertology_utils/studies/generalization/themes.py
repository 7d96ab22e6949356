"""In a few words each, what the claims of the chapter say; its synthesis groups their verdicts by these headings."""

from bertology_utils.verdicts.conclusions import Themes

THEMES: Themes = {
    "The book's own data": {
        "dataset-mnli-hans": "the challenge pairs break the planted shortcut",
        "datasets-too-easy": "a bag of words solves the book's tasks",
    },
    "Inference by overlap": {
        "hans-lexical-overlap": "what works on biased pairs fails on the challenge",
        "nli-shallow-heuristics": "a frozen reader takes shared words for entailment",
    },
    "Ways out": {
        "generalization-architectures-fail": "no other use of the encoder generalises better",
        "hex-debiasing": "taking word overlap out changes nothing",
        "siamese-variants": "comparing two vectors loses to reading both together",
        "open-small-generalization": "counter-examples teach a small model to generalise",
        "larger-models-generalize": "larger models generalise better",
    },
    "Other tasks": {
        "verbal-reasoning-benchmarks": "scores fall where an open shortcut is closed",
        "adversarial-synonyms": "exchanging words costs more than half the score",
        "rc-shallow-heuristics": "half the score survives without passage or order",
        "paraphrase-challenge": "a paraphrased question is harder",
    },
    "About the field": {"dataset-work-incentives": "work on data deserves as much reward"},
}
