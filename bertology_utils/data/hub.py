"""Data sets of the Hugging Face hub: where each lies, and how one of its rows becomes ours. Depends on conllu, rows.

Every set of the hub has a branch on which the hub keeps it as parquet, one folder a configuration and split. All are
read from there: many of these sets are scripts otherwise, which `datasets` no longer runs, and this book never did.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bertology_utils.data import readers
from bertology_utils.data.conllu import Tree, parse_block
from bertology_utils.data.rows import Labelled, Relation, Tagged, WordInContext
from bertology_utils.errors import BertologyError

BRANCH = "refs/convert/parquet"

Names = Callable[[str, Any], Any]
"""What the numbers of a column mean: (column, number, or a list of them) -> name, or a list of them."""


@dataclass(frozen=True)
class Hub:
    """A set of the hub.

    convert: (row of the hub, meaning of its numbers) -> our row; splits: those that go by another name there. A split
    mapped to "" is not there, or without its labels.
    """

    repository: str
    configuration: str
    convert: Callable[[dict, Names], Any]
    splits: Mapping[str, str] = field(default_factory=dict)

    def read(self, split: str) -> list:
        """Our rows of a split; raises `BertologyError`, naming the set, where the hub does not give it."""
        import datasets

        there = self.splits.get(split, split)
        if not there:
            raise BertologyError(f"The hub's {self.repository} has no labelled split '{split}'.")
        try:
            files = {split: f"{self.configuration}/{there}/*.parquet"}
            rows = datasets.load_dataset(self.repository, data_files=files, split=split, revision=BRANCH)
        except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
            raise BertologyError(f"The hub did not give {self.repository} ({type(error).__name__}).") from error

        def names(column: str, value: Any) -> Any:
            kind = rows.features[column]
            return getattr(kind, "feature", kind).int2str(value)

        try:
            return [self.convert(row, names) for row in rows]
        except (KeyError, AttributeError, ValueError, SyntaxError) as error:
            raise BertologyError(f"The hub's {self.repository} has other columns than expected: {error}.") from error


def glue(configuration: str, first: str, second: str = "", numbers: bool = True, **splits: str) -> Hub:
    """GLUE; numbers: the local files label by number, so the hub's rows do too."""

    def convert(row: dict, names: Names) -> Labelled:
        label = str(row["label"]) if numbers else names("label", row["label"])
        return Labelled(row[first].strip(), label, row[second] if second else "")

    return Hub("nyu-mll/glue", configuration, convert, splits)


def universal_dependencies(treebank: str) -> Hub:
    """A treebank: a sentence's columns of CoNLL-U are lists of strings, multiword ranges and empty nodes among them."""
    language = treebank.partition("_")[0]

    def convert(row: dict, names: Names) -> Tree:
        columns = ("tokens", "lemmas", "xpos", "feats", "head", "deprel")
        cells = zip(*(row[name] for name in columns), names("upos", row["upos"]), strict=True)
        words = [cell for cell in cells if cell[4].isdigit()]  # ranges and empty nodes have no head
        lines = [
            "\t".join((str(place), form, lemma, tag, fine, _features(features), head, label, "_", "_"))
            for place, (form, lemma, fine, features, head, label, tag) in enumerate(words, 1)
        ]
        header = [f"# sent_id = {row['idx']}", f"# text = {row['text']}"]
        return parse_block(header + lines, treebank, language=language)

    return Hub("universal-dependencies/universal_dependencies", treebank, convert)


def _features(text: str) -> str:
    """FEATS of CoNLL-U from the text of a dictionary, as the hub has them."""
    found = ast.literal_eval(text) if text.startswith("{") else None
    return "|".join(f"{name}={value}" for name, value in found.items()) if found else "_"


def _relation(row: dict, names: Names) -> Relation:
    return readers.marked_relation(row["sentence"].strip().strip('"'), names("relation", row["relation"]))


def _word_in_context(row: dict, names: Names) -> WordInContext:
    """Places are in characters there, and words are not yet apart; the part of speech is not told."""
    sides = [
        (readers.split_words(row[f"sentence{side}"]), len(readers.split_words(row[f"sentence{side}"][: row[start]])))
        for side, start in (("1", "start1"), ("2", "start2"))
    ]
    return WordInContext(row["word"], "", *sides[0], *sides[1], names("label", row["label"]) == "True")


def _tagged(row: dict, names: Names) -> Tagged:
    return Tagged(row["idx"], tuple(row["tokens"]), tuple(names("ner_tags", row["ner_tags"])))


HUB = {
    "ud_english_ewt": universal_dependencies("en_ewt"),
    "uner_ewt": Hub("universalner/universal_ner", "en_ewt", _tagged),
    "wic": Hub("aps/super_glue", "wic", _word_in_context, {"test": ""}),
    "semeval2010_task8": Hub("SemEvalWorkshop/sem_eval_2010_task_8", "default", _relation),
    "sst2": glue("sst2", "sentence", test=""),
    "qnli": glue("qnli", "question", "sentence", numbers=False),
    "mnli": glue("mnli", "premise", "hypothesis", numbers=False, validation="validation_matched"),
}
