"""In a few words each, what the claims of the chapter say; its synthesis groups their verdicts by these headings."""

from bertology_utils.verdicts.conclusions import Themes

THEMES: Themes = {
    "Finding translations": {
        "mbert-parallel-retrieval": "sentences find their translations",
        "mbert-retrieval-lexical": "counting common words finds nearly as many",
        "mbert-translation-offset": "a mean offset moves sentences to their translations",
        "mbert-word-alignment": "words align with their translations",
        "mbert-alignment-open-class": "open-class words align less well",
    },
    "Traces of the language": {
        "mbert-encodes-language-id": "vectors tell which language a sentence is in",
        "mbert-not-interlingua": "the space is no interlingua",
        "mbert-typology-aware": "some typological features are encoded",
    },
    "Zero-shot transfer": {
        "mbert-zero-shot": "a tagger trained on English works elsewhere",
        "mbert-cross-script": "a tagger carries over to another script",
        "mbert-similar-languages-transfer": "transfer is better under the same word order",
    },
    "What transfer needs": {
        "mbert-shared-wordpieces-help": "shared words help transfer",
        "mbert-shared-vocab-not-needed": "nothing is lost without shared words",
        "monolingual-weights-transfer": "new embeddings suffice for a monolingual body",
        "embedding-swap-no-shared-pieces": "swapped embeddings transfer without a shared piece",
    },
    "Grammar and its cost": {
        "mbert-more-languages-harmless": "a second language does not harm the first",
        "mbert-agreement-26-languages": "four kinds of agreement are known across languages",
        "mbert-main-auxiliary": "the main auxiliary can be found",
    },
}
