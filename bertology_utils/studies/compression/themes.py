"""In a few words each, what the claims of the chapter say; its synthesis groups their verdicts by these headings."""

from bertology_utils.verdicts.conclusions import Themes

THEMES: Themes = {
    "Sizes, recounted": {
        "compression-metrics": "most printed factors count all parameters",
        "table-bert-base": "the printed size of BERT-base is right",
        "table-bert-small": "the printed size of BERT-small is right",
        "bert6-pkd": "the printed size of BERT6-PKD is right",
        "bert3-pkd": "the printed size of BERT3-PKD is right",
        "tinybert": "the printed size of TinyBERT is right",
        "mobilebert": "the printed size of MobileBERT is right",
        "albert-base": "the printed size of ALBERT-base is right",
        "albert-xxlarge": "the printed size of ALBERT-xxlarge is right",
        "soft-mvp": "the printed size of Soft MvP counts everything",
        "quantization-definition": "8 bits save half the memory, loss hardly moves",
    },
    "Fewer bits and numbers": {
        "gobo": "eight values a matrix and some outliers suffice",
        "pruning-family": "half of the weights can go",
        "embedding-matrix-factorization": "two thin matrices can replace the token table",
    },
    "A student": {
        "distillation-definition": "a student learns faster from a teacher",
        "distilbert": "half of the layers keep most of the score",
    },
    "All in all": {"compressible-small-loss": "half the size costs next to nothing"},
}
