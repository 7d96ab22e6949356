"""Readers of the data sets' original formats: each yields the typed rows of a folder, split and variant.

Depends on rows and pairs (the formats) and conllu (treebanks); `registry` tells of a file that is missing.
Splits are train, validation, test; a variant is a language, a phenomenon or a part of the set, "" for all of it.
"""

import csv
import gzip
import json
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from bertology_utils.data.conllu import Tree, read_conllu
from bertology_utils.data.rows import (
    Continuation,
    Labelled,
    Relation,
    Sense,
    TemplateFact,
    Translation,
    WordInContext,
)
from bertology_utils.errors import BertologyError, unknown
from bertology_utils.language.lexicon import article
from bertology_utils.language.pairs import MinimalPair

# ISO 639-3 names of tatoeba's files for the two-letter codes that the other multilingual sets use.
_TWO = "ar cs de es eu fi fr he hi hu id it ja ko nl pl pt ru sv sw tr uk vi zh"
_THREE = "ara ces deu spa eus fin fra heb hin hun ind ita jpn kor nld pol por rus swe swh tur ukr vie cmn"
THREE_LETTERS = dict(zip(_TWO.split(), _THREE.split(), strict=True))


def split_words(text: str) -> tuple[str, ...]:
    """Words and punctuation marks of running text; apostrophes and hyphens inside a word do not split it."""
    return tuple(re.findall(r"\w+(?:['’-]\w+)*|[^\w\s]", text))


def first_difference(good: tuple[str, ...], bad: tuple[str, ...]) -> int:
    """Index of the first word at which two sentences differ (the shorter length if one begins the other)."""
    return next((i for i, (a, b) in enumerate(zip(good, bad, strict=False)) if a != b), min(len(good), len(bad)))


# Treebanks ----------------------------------------------------------------------------------------------------------


def read_ewt(folder: Path, split: str, variant: str = "") -> Iterator[Tree]:
    """UD English EWT; its training part lies in several files."""
    parts = (
        sorted(folder.glob("**/en_ewt-ud-train*.conllu"))
        if split == "train"
        else [folder / f"en_ewt-ud-{_ud(split)}.conllu"]
    )
    for path in _some(parts, folder, "en_ewt-ud-train*.conllu"):
        yield from read_conllu(path, "en")


def read_gum(folder: Path, split: str, variant: str = "") -> Iterator[Tree]:
    """UD English GUM. The training part is the documents of neither other part, less those published without their
    words."""
    if split == "train":
        for path in gum_documents(folder, split):
            yield from read_conllu(path, "en")
    else:
        yield from read_conllu(folder / f"en_gum-ud-{_ud(split)}.conllu", "en")


def gum_documents(folder: Path, split: str) -> list[Path]:
    """The treebanks of a split's documents, sorted; one file a document."""
    parts = {part: set(_documents(folder / f"en_gum-ud-{part}.conllu")) for part in ("dev", "test")}
    held_out = parts["dev"] | parts["test"]
    paths = _some(sorted(folder.glob("by_document/dep/GUM_*.conllu")), folder, "by_document/dep/GUM_*.conllu")
    if split == "train":
        return [path for path in paths if path.stem not in held_out and "_reddit_" not in path.stem]
    return [path for path in paths if path.stem in parts[_ud(split)]]


def _documents(path: Path) -> Iterator[str]:
    with _open(path) as lines:
        yield from (line.partition("=")[2].strip() for line in lines if line.startswith("# newdoc id"))


def read_treebanks(folder: Path, split: str, variant: str = "") -> Iterator[Tree]:
    """A folder of treebanks (`UD_German-PUD/de_pud-ud-test.conllu`); variant: a language code."""
    paths = sorted(folder.glob(f"UD_*/*-ud-{_ud(split)}.conllu"))
    languages = {re.split("[_-]", path.name)[0] for path in paths}
    if variant and variant not in languages:
        raise unknown("language in this set", variant, languages)
    for path in _some(paths, folder, f"UD_*/*-ud-{_ud(split)}.conllu"):
        language = re.split("[_-]", path.name)[0]
        if variant in ("", language):
            yield from read_conllu(path, language)


def _ud(split: str) -> str:
    return "dev" if split == "validation" else split


# Minimal pairs ------------------------------------------------------------------------------------------------------


def read_zorro(folder: Path, split: str, variant: str = "") -> Iterator[MinimalPair]:
    """Odd lines are ungrammatical, each followed by its grammatical counterpart; variant: a phenomenon's file name."""
    for path in _parts(sorted(folder.glob("sentences/*/*.txt")), variant, folder, "sentences/*/*.txt"):
        with _open(path) as lines:
            for bad, good in zip(lines, lines, strict=True):
                yield _pair(tuple(good.split()), tuple(bad.split()), path.stem)


def read_marvin_linzen(folder: Path, split: str, variant: str = "") -> Iterator[MinimalPair]:
    """Lines "True<tab>sentence", each followed by its "False" counterpart; variant: a construction's file name."""
    paths = [path for path in sorted(folder.glob("*.txt")) if not path.name.startswith("LICENSE")]
    for path in _parts(paths, variant, folder, "*.txt"):
        with _open(path) as lines:
            rows = (line.rstrip("\n").split("\t") for line in lines if line.strip())
            for number, (good, bad) in enumerate(zip(rows, rows, strict=True)):
                if (good[0], bad[0]) != ("True", "False"):
                    raise BertologyError(f"{path.name}:{2 * number + 1}: expected a True line and then its False line.")
                yield _pair(tuple(good[1].split()), tuple(bad[1].split()), path.stem)


def read_gulordava(folder: Path, split: str, variant: str = "") -> Iterator[MinimalPair]:
    """Nonsense agreement sentences; variant "linzen": the filtered test sentences of natural text. Condition:
    `attractors` there, elsewhere `sentence` and `construction`: sentence 0 of a construction is the natural one that
    the others vary.

    Three parallel files: `.text`, `.eval` (index of the verb) and `.gold` (right and wrong form, number of attractors).
    """
    stem = "linzen_testset/subj_agr_filtered" if variant == "linzen" else "agreement/English/generated"
    with (
        _open(folder / f"{stem}.text") as texts,
        _open(folder / f"{stem}.eval") as places,
        _open(folder / f"{stem}.gold") as golds,
    ):
        for text, place, gold in zip(texts, places, golds, strict=True):
            words, index, columns = text.replace("<eos>", "").split(), int(place), gold.rstrip("\n").split("\t")
            natural = variant == "linzen"
            right, wrong = columns[1:3] if natural else columns[6:8]
            good, bad = ([*words[:index], form, *words[index + 1 :]] for form in (right, wrong))
            made = {} if natural else {"sentence": int(columns[2]), "construction": " ".join(columns[:2])}
            condition = {"attractors": int(columns[3])} if natural else made
            yield MinimalPair(tuple(good), tuple(bad), index, "subject-verb agreement", condition)


def read_warstadt(folder: Path, split: str, variant: str = "") -> Iterator[MinimalPair]:
    """Minimal pairs of negative polarity items; the label says whether the first sentence is the good one.

    variant: an environment ("adverbs"); condition: licensor, scope, npi_present as "first-second" where they differ.
    """
    for columns in _tab_rows(folder / "splits" / "acceptability_minimal_pairs.tsv", header=False):
        name, first, second, label, described = columns[:5]
        if variant in ("", name.removeprefix("NPI-")):
            good, bad = (first, second) if label == "1" else (second, first)
            condition = dict(re.findall(r"(licensor|scope|npi_present)=([\d-]+)", described))
            yield _pair(split_words(good), split_words(bad), name, condition)


def _pair(good: tuple[str, ...], bad: tuple[str, ...], phenomenon: str, condition: dict | None = None) -> MinimalPair:
    return MinimalPair(good, bad, first_difference(good, bad), phenomenon, condition or {})


# Cloze and facts ----------------------------------------------------------------------------------------------------


def read_ettinger(folder: Path, split: str, variant: str = "") -> Iterator[Continuation]:
    """Ettinger's three diagnostics; variant: cprag, role, neg-simp or neg-nat."""
    readers = {"cprag": _cprag, "role": _role, "neg-simp": _negation, "neg-nat": _negation}
    files = {
        "cprag": "CPRAG-102/CPRAG-102",
        "role": "ROLE-88/ROLE-88",
        "neg-simp": "NEG-136/NEG-136-SIMP",
        "neg-nat": "NEG-136/NEG-136-NAT",
    }
    if variant and variant not in readers:
        raise unknown("diagnostic", variant, readers)
    for name in [variant] if variant else readers:
        for row in _tab_rows(folder / "datasets" / f"{files[name]}.tsv"):
            yield from readers[name](row, name)


def _cprag(row: dict[str, str], name: str) -> Iterator[Continuation]:
    alternatives = (row["within_category"], row["between_category"])
    context = f"{row['context_s1']} {row['context_s2']}".strip()
    yield Continuation(row["item"], context, (row["expected"],), alternatives, f"{name} {row['constraint']}")


def _role(row: dict[str, str], name: str) -> Iterator[Continuation]:
    """The two members of an item ("61-a", "61-b") swap the roles; `alternatives` holds the word whose fit they
    reverse."""
    yield Continuation(row["item"], row["context"].strip(), tuple(row["expected"].split("|")), (row["target"],), name)


def _negation(row: dict[str, str], name: str) -> Iterator[Continuation]:
    """Two contexts an item; the article fits the affirmative's target, so that only "not" differs between them."""
    affirmative, negative = row["target_aff"].strip(), row["target_neg"].strip()
    licensing = f" licensing={row['licensing']}" if row.get("licensing") else ""
    for side, true, false in (("aff", affirmative, negative), ("neg", negative, affirmative)):
        context = row[f"context_{side}"].replace("(a|an)", article(affirmative)).strip()
        yield Continuation(row["item"], context, (true,), (false,), f"{name} {side}{licensing}")


def read_lama(folder: Path, split: str, variant: str = "") -> Iterator[TemplateFact]:
    """LAMA's T-REx facts with the relation's template; variant: a relation ("P19")."""
    with _open(folder / "relations.jsonl") as lines:
        templates = {row["relation"]: row["template"] for row in map(json.loads, lines)}
    for path in _parts(sorted(folder.glob("TREx/*.jsonl")), variant, folder, "TREx/*.jsonl"):
        with _open(path) as lines:
            for row in map(json.loads, lines):
                yield TemplateFact(path.stem, row["sub_label"], row["obj_label"], templates[path.stem])


# Senses, relations, coreference -------------------------------------------------------------------------------------


def read_coarsewsd(folder: Path, split: str, variant: str = "") -> Iterator[Sense]:
    """CoarseWSD-20: one folder a noun with the word's index and sentence, the sense's number, the senses' names."""
    nouns = [path.parent for path in sorted(folder.glob("CoarseWSD-20/*/classes_map.txt"))]
    for noun in _parts(nouns, variant, folder, "CoarseWSD-20/*/classes_map.txt"):
        senses = json.loads((noun / "classes_map.txt").read_text(encoding="utf-8"))
        with _open(noun / f"{split}.data.txt") as lines, _open(noun / f"{split}.gold.txt") as golds:
            for line, gold in zip(lines, golds, strict=True):
                index, _, sentence = line.partition("\t")
                yield Sense(noun.name, tuple(sentence.split()), int(index), senses[gold.strip()])


def read_wic(folder: Path, split: str, variant: str = "") -> Iterator[WordInContext]:
    name = _ud(split)
    with _open(folder / name / f"{name}.data.txt") as lines, _open(folder / name / f"{name}.gold.txt") as golds:
        for line, gold in zip(lines, golds, strict=True):
            lemma, pos, places, first, second = line.rstrip("\n").split("\t")
            index_a, index_b = map(int, places.split("-"))
            yield WordInContext(
                lemma,
                {"N": "NOUN", "V": "VERB"}.get(pos, pos),
                tuple(first.split()),
                index_a,
                tuple(second.split()),
                index_b,
                gold.strip() == "T",
            )


def read_semeval(folder: Path, split: str, variant: str = "") -> Iterator[Relation]:
    name = "TRAIN_FILE.TXT" if split == "train" else "TEST_FILE_FULL.TXT"
    path = _some(sorted(folder.glob(f"**/{name}")), folder, name)[0]
    with _open(path) as lines:
        for line, label in pairwise(lines):
            if re.match(r'\d+\t"', line):
                yield marked_relation(line.split("\t", 1)[1].strip().strip('"'), label.strip())


def marked_relation(text: str, label: str) -> Relation:
    """Words and spans of a sentence with <e1>..</e1> and <e2>..</e2> around its two nominals."""
    words: list[str] = []
    edges: dict[str, int] = {}
    for part in re.split(r"(</?e[12]>)", text):
        if part.startswith(("<e", "</e")):
            edges[part] = len(words)
        else:
            words += split_words(part)
    return Relation(tuple(words), (edges["<e1>"], edges["</e1>"]), (edges["<e2>"], edges["</e2>"]), label)


# Labelled texts -----------------------------------------------------------------------------------------------------


def read_sst2(folder: Path, split: str, variant: str = "") -> Iterator[Labelled]:
    name = {"train": "train_full", "validation": "dev", "test": "test-labeled"}[split]
    for row in _tab_rows(folder / f"{name}.tsv"):
        yield Labelled(row["sentence"].strip(), row["label"])


def read_text_pairs(folder: Path, split: str, variant: str = "") -> Iterator[Labelled]:
    """The sampled MNLI, QNLI, QQP, RTE and SNLI: a JSON object of {text_a, text_b, label}."""
    with _open(folder / f"{_ud(split)}.json") as file:
        for row in json.load(file).values():
            yield Labelled(row["text_a"], row["label"], row["text_b"])


def read_mrpc(folder: Path, split: str, variant: str = "") -> Iterator[Labelled]:
    """Label "1": the second sentence says the same as the first."""
    for row in _tab_rows(folder / f"msr_paraphrase_{split}.txt"):
        yield Labelled(row["#1 String"], row["Quality"], row["#2 String"])


def read_stsb(folder: Path, split: str, variant: str = "") -> Iterator[Labelled]:
    """Label: how alike two sentences are, from 0 to 5, as text; group: what kind of text they are."""
    for row in _tab_rows(folder / "original" / f"sts-{_ud(split)}.tsv", header=False):
        yield Labelled(row[5], row[4], row[6], group=row[0])


def read_cola(folder: Path, split: str, variant: str = "") -> Iterator[Labelled]:
    """Label "1": linguists accept the sentence; group: their book. The test set is the part of other books than those
    of training."""
    name = {"train": "in_domain_train", "validation": "in_domain_dev", "test": "out_of_domain_dev"}[split]
    for row in _tab_rows(folder / "raw" / f"{name}.tsv", header=False):
        yield Labelled(row[3], row[1], group=row[0])


def read_hans(folder: Path, split: str, variant: str = "") -> Iterator[Labelled]:
    """variant: a heuristic (lexical_overlap, subsequence, constituent)."""
    path = _some(sorted(folder.glob("hans*.tsv")), folder, "hans*.tsv")[0]
    for row in _tab_rows(path):
        if variant in ("", row["heuristic"]):
            yield Labelled(
                row["sentence1"], row["gold_label"], row["sentence2"], group=f"{row['heuristic']}/{row['subcase']}"
            )


# Parallel text ------------------------------------------------------------------------------------------------------


def read_tatoeba(folder: Path, split: str, variant: str = "") -> Iterator[Translation]:
    """variant: a language, as two or three letters; the rows of all languages without one."""
    codes = [path.suffix[1:] for path in sorted(folder.glob("tatoeba.*-eng.*")) if path.suffix != ".eng"]
    wanted = THREE_LETTERS.get(variant, variant)
    if wanted and wanted not in codes:
        raise unknown("language in tatoeba", variant, codes)
    for code in [wanted] if wanted else _some(codes, folder, "tatoeba.*-eng.*"):
        stem = folder / f"tatoeba.{code}-eng"
        with _open(Path(f"{stem}.{code}")) as texts, _open(Path(f"{stem}.eng")) as english:
            for line, (text, translation) in enumerate(zip(texts, english, strict=True)):
                yield Translation(text.strip(), translation.strip(), code, line)


def read_ntrex(folder: Path, split: str, variant: str = "") -> Iterator[Translation]:
    """News, a line a sentence, a compressed file a language; variant: a language, all but English without one."""
    found = _some(sorted(folder.glob("*.txt.gz")), folder, "*.txt.gz")
    texts = {path.name.partition(".")[0]: path for path in found}
    if variant not in ("", *texts):
        raise unknown("language in ntrex128", variant, texts)
    for code in [variant] if variant else [code for code in texts if code != "en"]:
        with (
            gzip.open(texts[code], "rt", encoding="utf-8") as rows,
            gzip.open(texts["en"], "rt", encoding="utf-8") as english,
        ):
            for line, (text, translation) in enumerate(zip(rows, english, strict=True)):
                yield Translation(text.strip(), translation.strip(), code, line)


# Files --------------------------------------------------------------------------------------------------------------


def _open(path: Path):
    return path.open(encoding="utf-8-sig", newline="\n")


def _tab_rows(path: Path, header: bool = True) -> Iterator:
    """Rows of a tab-separated file without quoting: dictionaries by the header, or lists."""
    with _open(path) as lines:
        options = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
        yield from csv.DictReader(lines, **options) if header else csv.reader(lines, **options)


def _some(found: list, folder: Path, pattern: str) -> list:
    if not found:
        raise BertologyError(f"The folder {folder} has no file {pattern}.")
    return found


def _parts(paths: Iterable[Path], variant: str, folder: Path, pattern: str) -> list[Path]:
    """The files of a set, or the one that the variant names."""
    named = {path.stem: path for path in _some(list(paths), folder, pattern)}
    if variant and variant not in named:
        raise unknown("part of this set", variant, named)
    return [named[variant]] if variant else list(named.values())
