"""In a few words each, what the claims of the chapter say; its synthesis groups their verdicts by these headings."""

from bertology_utils.verdicts.conclusions import Themes

THEMES: Themes = {
    "Patterns": {
        "most-heads-not-linguistic": "fewer than half of a tuned model's maps are heterogeneous",
        "head-typology-kovaleva": "five patterns are told apart",
        "heads-learn-patterns-summary": "training makes the patterns",
        "head-typology-raganato": "heads for the word itself, its neighbours and the sentence end exist",
        "head-typology-clark": "heads for neighbours, [CLS], [SEP], punctuation and everything exist",
    },
    "Special tokens": {
        "vertical-pattern-dominates": "special tokens draw more than their share",
        "punctuation-frequency-hypothesis": "words as frequent as the full stop draw at least half of its excess",
        "sep-attention-rises-layer5": "attention to [SEP] rises while its gradient falls",
        "sep-no-op-hypothesis": "[SEP] is where idle heads look",
        "special-token-exclusion": "dropping special tokens changes the order of heads",
        "cls-as-aggregate": "a tuned [CLS] tells as much as all pieces",
    },
    "Relations": {
        "obj-heads-beat-position": "a head finds objects better than any fixed distance",
        "clark-head-8-10-dobj": "the object head leads as clearly as head 8-10 did",
        "clark-head-relation-table": "heads for most relations beat fixed distances",
        "heads-specialize-in-relations": "at least three relations have such a head on other sentences",
        "single-head-all-relations": "the best head for all relations leads a fixed distance only modestly",
        "no-single-head-full-tree": "no head finds the whole tree",
        "nsubj-advmod-amod-mixed": "two recipes disagree on subjects and modifiers",
        "complex-dependency-head-combination": "several heads together beat the best one",
    },
    "Agreement and reference": {
        "attention-weak-for-sva-anaphora": "on average the right word gets a uniform share",
        "coref-head": "one head finds antecedents as rules do",
        "attention-distractor-sensitivity": "matching distractors confuse more",
    },
    "Looking and needing": {
        "frame-relation-heads": "two heads follow frame relations",
        "frame-heads-not-essential": "the two frame heads are not needed",
        "heads-important-yet-removable": "heads that look important can go, one at a time",
        "attention-similar-across-depth": "upper maps resemble lower ones",
    },
    "Weights as explanations": {
        "attention-weight-meaning": "a weight tells the effect on the next vector",
        "attention-not-explanation": "weights disagree with gradients, and can be dealt out anew",
        "representations-mix-identifiability": "over long inputs part of a map does nothing",
        "attention-not-not-explanation": "a tuned model's weights guide a bag of words",
    },
    "Other models and tasks": {
        "mt-encoder-heads-syntactic": "translation models have such heads too",
        "finetuning-no-informative-attention": "fine-tuning need not teach informative attention",
        "deeplift-qa-attention": "attributions rank words better than attention does",
        "tree-method-favours-model": "which model wins depends on how trees are extracted",
    },
}
