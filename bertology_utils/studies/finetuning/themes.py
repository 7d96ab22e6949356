"""In a few words each, what the claims of the chapter say; its synthesis groups their verdicts by these headings."""

from bertology_utils.verdicts.conclusions import Themes

THEMES: Themes = {
    "Pre-trained or random": {
        "pretraining-gain-all-tasks": "pre-training helps on every task",
        "works-without-pretraining": "tuned from random weights, it does respectably",
        "random-init-competitive": "on some tasks a random start matches frozen weights",
        "pretrain-finetune-random-table": "a tuned random start beats untuned pre-trained weights",
    },
    "Tuned or frozen": {
        "pretrained-frozen-near-chance": "without fine-tuning, scores lie near chance",
        "finetune-beats-feature-extraction": "fine-tuning beats frozen features",
        "adapters-houlsby": "adapters match full tuning with few weights",
    },
    "Where it changes": {
        "finetune-last-two-layers": "the last two layers change most",
        "finetune-shifts-to-sep": "attention turns to [SEP], not to grammar",
        "mbert-finetune-top-and-middle": "in mBERT, top and middle layers change",
    },
    "Luck": {
        "seed-variance-glue": "start and data order both move the results",
        "initialization-effect": "the start alone changes results dramatically",
        "variation-underreported": "claimed gains may lie within the seeds' spread",
    },
}
