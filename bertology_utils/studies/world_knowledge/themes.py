"""In a few words each, what the claims of the chapter say; its synthesis groups their verdicts by these headings."""

from bertology_utils.verdicts.conclusions import Themes

THEMES: Themes = {
    "Facts and what else explains them": {
        "mlm-fill-blank-knowledge": "facts can be asked for, beyond frequency",
        "template-quality-matters": "a good template brings out more",
        "prompt-mining-jiang": "an ensemble of prompts helps",
        "vanilla-bert-kb-reliable-summary": "answers are consistent and right, as a knowledge base's are",
        "commonsense-unseen-generalization": "a cloze ranks unseen subjects better than a trained classifier",
        "name-based-stereotypes": "the sound of a name decides",
        "cloze-competitive-with-kb": "a cloze competes with a knowledge base",
        "template-mining-bouraoui": "templates can be mined",
    },
    "What things are like": {
        "affordances-without-interactions": "uses and sizes are known, comparisons are not",
        "visual-perceptual-weak": "what is seen is known less well than what is done",
    },
    "What follows": {
        "no-reasoning-on-facts": "known premises do not help a conclusion",
        "inference-steps-degrade": "accuracy falls beyond one step",
        "facts-without-composition": "a stated answer is found, a composed one is not",
    },
    "What people do": {
        "pragmatic-inference-weak": "what is expected next is not inferred",
        "role-event-knowledge-weak": "reversed roles hardly change the guess",
    },
    "About the field": {"world-knowledge-from-practice": "much of the evidence comes from practice"},
}
