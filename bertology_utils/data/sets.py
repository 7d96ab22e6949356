"""The table of data sets: what each is called, what its rows are, under which licence, and where it can come from.

Depends on readers (local folders), hub, grammar and facts (embedded, imported when asked for); `data` loads from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bertology_utils.data import readers
from bertology_utils.data.coref_readers import read_gum_coreference
from bertology_utils.data.hub import (
    SEMEVAL_2010_TASK_8,
    UNIVERSAL_NER_EWT,
    WORDS_IN_CONTEXT,
    Hub,
    glue,
    universal_dependencies,
)
from bertology_utils.data.lama_readers import read_factbook, read_forbes, read_lama_altered, read_lpaqa
from bertology_utils.data.propbank import read_propbank
from bertology_utils.data.token_readers import read_open_sesame, read_uds, read_uner

SOURCES = ("embedded", "local", "hub")
ALL = ("train", "validation", "test")

Reader = Callable[[Path, str, str], Iterator]
Generator = Callable[[str, int | None], Sequence]


@dataclass(frozen=True)
class DataSet:
    """What the registry knows of a set. folder: below the local folder; size: items in words; variants: what may
    follow ':'."""

    name: str
    row: str
    licence: str
    size: str
    splits: tuple[str, ...]
    embedded: Generator | None = None
    folder: str = ""
    reader: Reader | None = None
    hub: Hub | None = None
    variants: str = ""

    def sources(self) -> tuple[str, ...]:
        """The sources that this set can come from, whether or not they are here now."""
        present = {"embedded": self.embedded, "local": self.reader, "hub": self.hub}
        return tuple(name for name in SOURCES if present[name])


def _grammar(split: str, limit: int | None) -> Sequence:
    from bertology_utils.language.grammar import generate

    return generate(1000 if limit is None else limit, split=split)


def _facts(split: str, limit: int | None) -> Sequence:
    from bertology_utils.language.facts import facts

    return facts()


_SETS = (
    DataSet("grammar", "Sentence", "this book", "any number", ("train", "test"), embedded=_grammar),
    DataSet("facts", "Fact", "this book", "some 700", ("test",), embedded=_facts),
    DataSet(
        "ud_english_ewt",
        "Tree",
        "CC BY-SA 4.0",
        "12,544 / 2,001 / 2,077",
        ALL,
        folder="ud_english_ewt",
        reader=readers.read_ewt,
        hub=universal_dependencies("en_ewt"),
    ),
    DataSet(
        "ewt_propbank",
        "Bracketed",
        "CC BY-SA 4.0",
        "12,506 / 1,963 / 2,054",
        ALL,
        folder="spans/ewt_propbank_constituency",
        reader=read_propbank,
    ),
    DataSet(
        "uner_ewt",
        "Tagged",
        "CC BY-SA 4.0",
        "12,543 / 2,001 / 2,077",
        ALL,
        folder="spans/uner",
        reader=read_uner,
        hub=UNIVERSAL_NER_EWT,
    ),
    DataSet(
        "uds_protoroles",
        "Rated",
        "MIT",
        "5,600 / 750 / 670 arguments",
        ALL,
        folder="semantics/uds_decomp",
        reader=read_uds,
    ),
    DataSet(
        "open_sesame",
        "Pointed",
        "Apache-2.0",
        "2 x 40,000 / 10,000",
        ("train", "test"),
        folder="agreement/lin_open_sesame",
        reader=read_open_sesame,
        variants="auxiliary|subject",
    ),
    DataSet(
        "ud_english_gum",
        "Tree",
        "annotation CC BY, texts by genre (some NC)",
        "about 10,000 / 1,575 / 1,464",
        ALL,
        folder="ud_english_gum",
        reader=readers.read_gum,
    ),
    DataSet(
        "gum_coref",
        "Mentioned",
        "annotation CC BY, texts by genre (some NC)",
        "about 10,000 / 1,575 / 1,464",
        ALL,
        folder="ud_english_gum",
        reader=read_gum_coreference,
    ),
    DataSet(
        "ud_pud",
        "Tree",
        "CC BY-SA",
        "1,000 a language",
        ("test",),
        folder="ud_pud",
        reader=readers.read_treebanks,
        variants="LANGUAGE",
    ),
    DataSet(
        "ud_other",
        "Tree",
        "CC BY-SA; ar, eu, he, hi, tr NC",
        "400 to 1,800 a file",
        ("validation", "test"),
        folder="ud_other",
        reader=readers.read_treebanks,
        variants="LANGUAGE",
    ),
    DataSet(
        "zorro",
        "MinimalPair",
        "MIT",
        "23 x 2,000",
        ("test",),
        folder="agreement/zorro",
        reader=readers.read_zorro,
        variants="PHENOMENON",
    ),
    DataSet(
        "marvin_linzen",
        "MinimalPair",
        "Apache-2.0",
        "157,346",
        ("test",),
        folder="agreement/marvin_linzen_text",
        reader=readers.read_marvin_linzen,
        variants="CONSTRUCTION",
    ),
    DataSet(
        "gulordava",
        "MinimalPair",
        "CC BY-NC 4.0",
        "410; linzen 7,489",
        ("test",),
        folder="agreement/gulordava",
        reader=readers.read_gulordava,
        variants="linzen",
    ),
    DataSet(
        "warstadt_npi",
        "MinimalPair",
        "none stated: read, do not pass on",
        "5,500",
        ("test",),
        folder="agreement/warstadt_npi",
        reader=readers.read_warstadt,
        variants="ENVIRONMENT",
    ),
    DataSet(
        "ettinger",
        "Continuation",
        "MIT",
        "34, 88, 36, 32 contexts",
        ("test",),
        folder="cloze/ettinger_lm_diagnostics",
        reader=readers.read_ettinger,
        variants="cprag|role|neg-simp|neg-nat",
    ),
    DataSet(
        "lama",
        "TemplateFact",
        "CC BY-NC 4.0",
        "28 relations",
        ("test",),
        folder="world/lama_probe_raw",
        reader=readers.read_lama,
        variants="RELATION",
    ),
    DataSet(
        "lpaqa",
        "RelationTemplate",
        "MIT",
        "40 relations",
        ("test",),
        folder="world/optiprompt_metainfo",
        reader=read_lpaqa,
    ),
    DataSet(
        "lama_altered",
        "AlteredFact",
        "CC BY-NC 4.0 (derived from LAMA)",
        "41 relations",
        ("test",),
        folder="world/lama_negated_primed",
        reader=read_lama_altered,
        variants="RELATION",
    ),
    DataSet(
        "factbook",
        "TemplateFact",
        "public domain",
        "some 200 countries",
        ("test",),
        folder="world/factbook_json",
        reader=read_factbook,
        variants="RELATION",
    ),
    DataSet(
        "forbes",
        "ThingFact",
        "MIT",
        "514 things",
        ("test",),
        folder="world/forbes_physical_commonsense",
        reader=read_forbes,
        variants="KIND",
    ),
    DataSet(
        "coarsewsd20",
        "Sense",
        "CC BY-NC",
        "23,370 / 10,196",
        ("train", "test"),
        folder="semantics/coarsewsd20",
        reader=readers.read_coarsewsd,
        variants="NOUN",
    ),
    DataSet(
        "wic",
        "WordInContext",
        "CC BY-NC 4.0",
        "5,428 / 638 / 1,400",
        ALL,
        folder="semantics/wic",
        reader=readers.read_wic,
        hub=WORDS_IN_CONTEXT,
    ),
    DataSet(
        "semeval2010_task8",
        "Relation",
        "CC BY 3.0",
        "8,000 / 2,717",
        ("train", "test"),
        folder="spans/semeval2010_task8",
        reader=readers.read_semeval,
        hub=SEMEVAL_2010_TASK_8,
    ),
    DataSet(
        "winogender", "Coreference", "MIT", "720", ("test",), folder="coref/winogender", reader=readers.read_winogender
    ),
    DataSet(
        "sst2",
        "Labelled",
        "research use",
        "67,349 / 872 / 1,821",
        ALL,
        folder="glue/SST-2",
        reader=readers.read_sst2,
        hub=glue("sst2", "sentence", test=""),
    ),
    DataSet(
        "cola",
        "Labelled",
        "fair use of published examples",
        "8,551 / 1,043",
        ("train", "validation"),
        folder="glue/CoLA",
        reader=readers.read_cola,
        hub=glue("cola", "sentence"),
    ),
    DataSet(
        "rte",
        "Labelled",
        "research use",
        "2,490 / 277",
        ("train", "validation"),
        folder="glue/superglue/RTE",
        reader=readers.read_rte,
        hub=glue("rte", "sentence1", "sentence2", numbers=False),
    ),
    DataSet(
        "mrpc",
        "Labelled",
        "Microsoft shared source",
        "4,076 / 1,725",
        ("train", "test"),
        folder="glue/MRPC_original",
        reader=readers.read_mrpc,
        hub=glue("mrpc", "sentence1", "sentence2"),
    ),
    DataSet(
        "stsb",
        "Labelled",
        "CC BY-SA",
        "5,749 / 1,500 / 1,379",
        ALL,
        folder="glue/STS-B_QQP",
        reader=readers.read_stsb,
        hub=glue("stsb", "sentence1", "sentence2", test=""),
    ),
    *(
        DataSet(
            name,
            "Labelled",
            "by source (OANC, CC BY-SA, research use)",
            "8,999 / 1,000 (sample)",
            ("train", "validation"),
            folder=f"glue/subsets_prompt/glue_pretrain/{name.upper()}",
            reader=readers.read_text_pairs,
            hub=there,
        )
        for name, there in (
            ("qqp", glue("qqp", "question1", "question2")),
            ("qnli", glue("qnli", "question", "sentence", numbers=False)),
            ("mnli", glue("mnli", "premise", "hypothesis", numbers=False, validation="validation_matched")),
            ("snli", None),
        )
    ),
    DataSet(
        "hans",
        "Labelled",
        "MIT (regenerated from the templates)",
        "30,000",
        ("test",),
        folder="glue/HANS",
        reader=readers.read_hans,
        variants="HEURISTIC",
    ),
    DataSet(
        "ntrex128",
        "Translation",
        "CC BY-SA 4.0",
        "1,997 a language",
        ("test",),
        folder="multilingual_eval/ntrex128",
        reader=readers.read_ntrex,
        variants="LANGUAGE",
    ),
    DataSet(
        "tatoeba",
        "Translation",
        "CC BY 2.0",
        "up to 1,000 a language",
        ("test",),
        folder="multilingual_eval/tatoeba_laser",
        reader=readers.read_tatoeba,
        variants="LANGUAGE",
    ),
)
REGISTRY: dict[str, DataSet] = {spec.name: spec for spec in _SETS}
