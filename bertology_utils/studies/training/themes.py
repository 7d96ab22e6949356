"""In a few words each, what the claims of the chapter say; its synthesis groups their verdicts by these headings."""

from bertology_utils.verdicts.conclusions import Themes

THEMES: Themes = {
    "Masks, text and batches": {
        "dynamic-masking": "a new mask each time beats a fixed one",
        "more-data-longer-training": "more text and longer training help",
        "large-batch-8k": "large batches help loss and grammar",
    },
    "Pairs of sentences": {
        "removing-nsp": "dropping next-sentence prediction costs nothing",
        "albert-sentence-order": "knowing the order also serves next-sentence prediction, not conversely",
    },
    "The shape of the net": {
        "layers-over-heads": "layers matter more than heads",
        "hidden-size-consistent-gain": "every gain in width helps",
        "depth-more-information": "deeper nets store more facts",
    },
    "Where training starts and ends": {
        "progressive-stacking": "stacked layers reach a similar loss for less",
        "pretraining-wider-optima": "pre-trained starts end in wider minima, overfitting less",
        "outlier-early-emergence": "outlier dimensions are there early",
        "cls-embedding-normalization": "normalised [CLS] vectors train more steadily and slightly better",
    },
}
