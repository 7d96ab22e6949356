"""Suites of judgements in the files that their authors publish: BLiMP, MultiBLiMP, Zorro, SyntaxGym, EWoK, COMPS, or
any table of two columns. Depends on `errors` alone.

Whatever the format, an item is some *passages* (words of which all or a stretch are scored) and a rule that turns their
scores into right (1), a tie (a half) or wrong (0). Words are what stands between spaces, so that a tokenizer cuts them
into the pieces of the running text.
"""

import ast
import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Self

from bertology_utils.errors import BertologyError

Judge = Callable[[Sequence[float]], float]
"""From the score of each passage, larger is likelier, to 1, a half or 0; a share where an item asks several things."""

SUFFIXES = (".jsonl", ".json", ".tsv", ".csv", ".txt")
PAIRED = {"sentence_good": "sentence_bad", "sen": "wrong_sen", "good": "bad", "grammatical": "ungrammatical"}
"""Columns of the acceptable sentence and of the other one: BLiMP's, MultiBLiMP's, and what people call their own."""

PARADIGMS = ("UID", "phenomenon", "Domain", "paradigm")
EWOK = ("Context1", "Context2", "Target1", "Target2")
COMPS = ("prefix_acceptable", "prefix_unacceptable", "property_phrase")
COLUMNS = {name.lower(): name for name in (*PAIRED, *PAIRED.values(), *PARADIGMS, *EWOK, *COMPS)}


@dataclass(frozen=True)
class Passage:
    """Words in their context, of which those from `start` up to `end` are scored."""

    words: tuple[str, ...]
    start: int
    end: int

    @classmethod
    def of(cls, text: str, before: str = "") -> Self:
        """A text, behind a context that is not scored."""
        context, words = tuple(before.split()), tuple(text.split())
        return cls((*context, *words), len(context), len(context) + len(words))


@dataclass(frozen=True)
class Item:
    """One judgement that a suite asks for, a part of one of its paradigms."""

    paradigm: str
    passages: tuple[Passage, ...]
    judge: Judge


def read_suite(path: Path) -> list[Item]:
    """The items of a file, or of all files of a folder and its folders, by what stands in them.

    Raises BertologyError: a file is missing, empty or unreadable, or of none of the formats, with its line where one is
    to blame; a folder has no such file.
    """
    if not path.is_dir():
        return _read_file(path)
    files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    files = [file for file in files if not file.name.upper().startswith(("LICENSE", "README", "."))]
    if not files:
        raise BertologyError(f"The folder {path} has no file that ends in {', '.join(SUFFIXES)}.")
    return [item for file in files for item in _read_file(file)]


def _read_file(path: Path) -> list[Item]:
    if path.suffix not in SUFFIXES:
        raise BertologyError(f"{path} is no suite: its name ends in none of {', '.join(SUFFIXES)}.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BertologyError(f"{path} cannot be read ({getattr(error, 'strerror', None) or 'no UTF-8'}).") from None
    reader = {".jsonl": _json_lines, ".json": _json, ".txt": _alternating}.get(path.suffix, _table)
    items = list(reader(text, path))
    if not items:
        raise BertologyError(f"{path} has no items.")
    return items


# Two sentences -------------------------------------------------------------------------------------------------------


def likelier(scores: Sequence[float]) -> float:
    """Whether the first passage of two has the higher score; scores that are equal but for rounding are a tie."""
    difference = round(scores[0] - scores[1], 6)
    return 0.5 if not difference else float(difference > 0)


def _pair(paradigm: str, good: str, bad: str, where: str) -> Item:
    if not good.split() or not bad.split():
        raise BertologyError(f"{where}: a sentence is empty.")
    return Item(paradigm, (Passage.of(good), Passage.of(bad)), likelier)


def _alternating(text: str, path: Path) -> Iterator[Item]:
    """Zorro's: odd lines are unacceptable, each followed by its acceptable counterpart."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) % 2:
        raise BertologyError(f"{path} has {len(lines)} sentences: pairs of lines are needed, the unacceptable first.")
    for number, (bad, good) in enumerate(zip(lines[::2], lines[1::2], strict=True)):
        yield _pair(path.stem, good, bad, f"{path}:{2 * number + 1}")


def _table(text: str, path: Path) -> Iterator[Item]:
    """Rows by the columns of one of the formats; a table of two columns without such names has the good one first."""
    tabs = path.suffix == ".tsv"
    try:
        rows = list(csv.reader(StringIO(text), delimiter="\t" if tabs else ",",
                               quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL))  # fmt: skip
    except csv.Error as error:
        raise BertologyError(f"{path} is no table: {error}.") from None
    head, body = (rows[0], rows[1:]) if rows else ([], [])
    head = [COLUMNS.get(name.strip().lower(), name) for name in head]
    if _form(head) is None:
        if {len(row) for row in rows} - {0} != {2}:
            raise BertologyError(
                f"{path} has neither two columns nor columns of a known name (such as sen, wrong_sen)."
            )
        head, body = ["good", "bad"], rows
    for number, row in enumerate(body, start=len(rows) - len(body) + 1):
        if row:
            if len(row) != len(head):
                raise BertologyError(f"{path}:{number}: {len(row)} columns where the first line has {len(head)}.")
            yield _item(dict(zip(head, row, strict=True)), path, number)


# Rows with names ----------------------------------------------------------------------------------------------------


def _json_lines(text: str, path: Path) -> Iterator[Item]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                row = _parsed(line)
            except ValueError:
                raise BertologyError(f"{path}:{number}: no json.") from None
            if not isinstance(row, dict) or _form(row) is None:
                raise BertologyError(f"{path}:{number}: no item of BLiMP, EWoK or COMPS.")
            yield _item(row, path, number)


def _parsed(text: str) -> Any:
    """JSON whose texts can be written again. Raises `ValueError`: half a character, or too many brackets, are none."""
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError from None
    return value


def _form(row: Sequence[str] | Mapping[str, Any]) -> Callable[[Mapping[str, str], str, str], Item] | None:
    """Which format has these columns."""
    if set(EWOK) <= set(row):
        return _two_by_two
    if set(COMPS) <= set(row):
        return _concepts
    return _sentences if any(good in row and bad in row for good, bad in PAIRED.items()) else None


def _item(row: Mapping[str, Any], path: Path, line: int) -> Item:
    texts = {key: value for key, value in row.items() if isinstance(value, str)}
    names = (_printable(texts.get(key, "")) for key in PARADIGMS)
    try:
        item = _form(row)(texts, next(filter(None, names), _printable(path.stem)), f"{path}:{line}")
    except KeyError as error:
        raise BertologyError(f"{path}:{line}: {error} is no text.") from None
    if any(passage.start == passage.end for passage in item.passages):
        raise BertologyError(f"{path}:{line}: what is to be scored is empty.")
    return item


def _printable(name: str) -> str:
    """A name in one line: tables and pictures take no control characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in name).split())


def _sentences(row: Mapping[str, str], paradigm: str, where: str) -> Item:
    good = next(name for name, other in PAIRED.items() if name in row or other in row)
    return _pair(paradigm, row[good], row[PAIRED[good]], where)


def _concepts(row: Mapping[str, str], paradigm: str, where: str) -> Item:
    """COMPS (misra2023comps): the same property behind the concept that has it and another."""
    behind = [Passage.of(row["property_phrase"], row[f"prefix_{kind}"]) for kind in ("acceptable", "unacceptable")]
    return Item(paradigm, tuple(behind), likelier)


def _two_by_two(row: Mapping[str, str], paradigm: str, where: str) -> Item:
    """EWoK (ivanova2024elements): each of two targets is likelier behind its own context than behind the other."""
    passages = [Passage.of(row[f"Target{t}"], row[f"Context{c}"]) for t, c in ((1, 1), (1, 2), (2, 2), (2, 1))]
    return Item(paradigm, tuple(passages), lambda scores: (likelier(scores[:2]) + likelier(scores[2:])) / 2)


# SyntaxGym ----------------------------------------------------------------------------------------------------------


def _json(text: str, path: Path) -> Iterator[Item]:
    """SyntaxGym (gauthier2020syntaxgym): sentences in regions, and predictions about surprisals of regions."""
    try:
        content = _parsed(text)
        name = _printable(str(content.get("meta", {}).get("name") or path.stem))
        formulas = [one["formula"].strip() for one in content["predictions"]]
        items = [
            {
                condition["condition_name"]: [region["content"].split() for region in _in_order(condition["regions"])]
                for condition in item["conditions"]
            }
            for item in content["items"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BertologyError(f"{path} is no suite of SyntaxGym: it lacks predictions or items in regions.") from None
    for formula in formulas:
        rule = Formula(formula, path)
        for regions in items:
            yield Item(name, tuple(rule.passages(regions)), rule.judge)


def _in_order(regions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(regions, key=lambda region: int(region["region_number"]))


class Formula:
    """A prediction about the surprisals of regions, such as `(3;%mismatch%) > (3;%match%)`; `*` is the whole sentence.

    Raises BertologyError: it holds anything but sums and comparisons of regions, joined by & and |.
    """

    def __init__(self, text: str, path: Path):
        self.text, self.path = text, path
        self.regions = sorted(set(re.findall(r"(\d+|\*)\s*;\s*%([^%]+)%", text)))
        code = re.sub(r"(\d+|\*)\s*;\s*%([^%]+)%", lambda m: f"r{self.regions.index(m.groups())}", text)
        code = code.translate(str.maketrans("[]", "()")).replace("&", " and ").replace("|", " or ")
        try:
            self.tree = ast.parse(re.sub(r"(?<![<>=])=(?!=)", "==", code), mode="eval").body
            self.judge([0.0] * len(self.regions))
        except (SyntaxError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            raise BertologyError(f"{path}: the prediction '{text:.200}' cannot be read.") from None
        if not self.regions:
            raise BertologyError(f"{path}: the prediction '{text:.200}' is about no region.")

    def passages(self, conditions: Mapping[str, Sequence[Sequence[str]]]) -> Iterator[Passage]:
        """The region of each name in the formula, within its sentence."""
        for region, condition in self.regions:
            if condition not in conditions:
                raise BertologyError(f"{self.path}: an item has no condition '{condition}'.")
            words = conditions[condition]
            if region != "*" and not 0 < int(region) <= len(words):
                raise BertologyError(f"{self.path}: '{condition}' has no region {region}.")
            first, last = (0, len(words)) if region == "*" else (int(region) - 1, int(region))
            start, end = (sum(map(len, words[:place])) for place in (first, last))
            yield Passage(tuple(word for part in words for word in part), start, end)

    def judge(self, scores: Sequence[float]) -> float:
        """Whether it holds of surprisals, which are scores below nothing; a half where only ties would make it hold."""
        surprisals = [-score for score in scores]
        return (self._holds(self.tree, surprisals, 1e-6) + self._holds(self.tree, surprisals, -1e-6)) / 2

    def _holds(self, node: ast.expr, values: Sequence[float], margin: float) -> float:
        if isinstance(node, ast.BoolOp):
            combine = all if isinstance(node.op, ast.And) else any
            return float(combine(self._holds(part, values, margin) for part in node.values))
        (sign,), left, right = node.ops, self._sum(node.left, values), self._sum(node.comparators[0], values)
        if isinstance(sign, ast.Eq):
            return float(abs(left - right) < 1e-6)
        larger = isinstance(sign, ast.Gt | ast.GtE)
        return float((left - right if larger else right - left) > margin)

    def _sum(self, node: ast.expr, values: Sequence[float]) -> float:
        if isinstance(node, ast.Name):
            return values[int(node.id[1:])]
        if isinstance(node, ast.Constant):
            return float(node.value)
        if isinstance(node, ast.UnaryOp):
            return -self._sum(node.operand, values)
        sign = {ast.Add: 1, ast.Sub: -1}[type(node.op)]
        return self._sum(node.left, values) + sign * self._sum(node.right, values)
