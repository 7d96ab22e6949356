"""Every number of the README about verdicts, as Markdown between two marks, so that nobody types one.

Depends on `tallies` and `contents` for the counts, on `emergence` for the ladder and on `reruns`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_text, write_text
from bertology_utils.pages import emergence, specimens, tallies
from bertology_utils.pages.contents import Row, is_tested, result_of, verdict_of
from bertology_utils.pages.tallies import Tally
from bertology_utils.project import DEFAULT_MODEL
from bertology_utils.verdicts import reruns
from bertology_utils.verdicts.claims import load_claims
from bertology_utils.verdicts.predictions import (
    CONTRADICTS,
    DECIDED,
    NOT_SPECIFIC,
    REPLICATES,
    UNABLE,
    UNDERPOWERED,
    WEAKER,
)
from bertology_utils.verdicts.reruns import Flips, flips

SECOND = "pocket-minilm"
BODY = "minilm"  # the second specimen before our training
MARKS = "<!-- numbers: computed by `bertology ledger --readme README.md` -->", "<!-- end of numbers -->"
COLUMNS = {
    f"`{DEFAULT_MODEL}`": (DEFAULT_MODEL, "live"),
    f"`{SECOND}`": (SECOND, "live"),
    f"`{DEFAULT_MODEL}`, real data": (DEFAULT_MODEL, "full"),
    f"`{SECOND}`, real data": (SECOND, "full"),
}
WORDS = {
    NOT_SPECIFIC: "hold, but no lead over untrained twins is shown",
    WEAKER: "weaker: there, but too small to matter",
    CONTRADICTS: "contradict the claim at this scale",
    UNDERPOWERED: "underpowered: more items or seeds would settle them",
    UNABLE: "the model cannot do the task",
}


def write_numbers(readme: Path, root: Path, rows: Sequence[Row]) -> None:
    """Puts the numbers into a file between its marks.

    Raises BertologyError where the file has no marks.
    """
    text = read_text(readme)
    first, last = (re.escape(mark) for mark in MARKS)
    if not re.search(f"{first}.*{last}", text, flags=re.DOTALL):
        raise BertologyError(
            f"{readme.name} has no place for the numbers: it needs the lines {MARKS[0]} and {MARKS[1]}"
        )
    told = "\n".join([MARKS[0], numbers(root, rows), MARKS[1]])
    write_text(readme, re.sub(f"{first}.*{last}", lambda _: told, text, flags=re.DOTALL))


def numbers(root: Path, rows: Sequence[Row]) -> str:
    """The table and the sentences below it; what was not run is left out."""
    paragraphs = (part(root, rows) for part in PARTS)
    return "\n\n".join(filter(None, [table(root, rows), *paragraphs]))


def chooser(model: str, profile: str) -> tallies.Chooser:
    """The results of one column; what a chapter asks of a third model beside any specimen counts for both."""
    return partial(result_of, model=model, profile=profile, specimens=(DEFAULT_MODEL, SECOND))


def table(root: Path, rows: Sequence[Row]) -> str:
    """Counts of each specimen on each kind of data, claims about training first."""
    columns = [(tallies.tallies(rows, chooser(*run)), chooser(*run)) for run in COLUMNS.values()]
    lines = [("", *COLUMNS), ("---",) * (1 + len(COLUMNS)), _grammar(root), *_counts(columns)]
    lines += [(f"cannot be tested here, of {len(rows)} entries", *(_untested(rows, chosen) for _, chosen in columns))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _grammar(root: Path) -> tuple[str, ...]:
    scores = {
        row["model"]: row for row in specimens.read_scores(root / specimens.SCORES) if row["paradigm"] == "average"
    }
    told = [
        f"{float(scores[model]['accuracy']):.1f} % ({float(scores[model]['twin']):.1f} %)"
        if profile == "live" and model in scores
        else ""
        for model, profile in COLUMNS.values()
    ]
    return "grammar: Zorro, average of 23 paradigms (its untrained twin)", *told


def _counts(columns: Sequence[tuple[Sequence[Tally], tallies.Chooser]]) -> Iterator[tuple[str, ...]]:
    training, unamended, checks = zip(*(found for found, _ in columns), strict=True)
    yield (
        "**replicate, specific to training**, of tested claims about training",
        *(_of(side, "**") for side in training),
    )
    for word, told in WORDS.items():
        yield told, *(str(side.counts[word]) for side in training)
    yield "replicate, without tests amended when results were known", *map(_of, unamended)
    yield "instruments and arithmetic that hold", *map(_of, checks)


def _of(side: Tally, strong: str = "") -> str:
    return f"{strong}{side.replicate}{strong} of {side.tested}"


def _untested(rows: Sequence[Row], chosen: tallies.Chooser) -> str:
    results = [result for row in rows if (result := chosen(row))]
    return str(sum(not is_tested(result) for result in results))


def false_decisions(root: Path, rows: Sequence[Row]) -> str:
    taught = [row for row in rows if row.about_training]
    found = tallies.errors(taught, chooser(DEFAULT_MODEL, "live"))
    return (
        f"**How many are false?** Of {found.positive} predictions about training that hold for `{DEFAULT_MODEL}`, at "
        f"most {found.false_positive:.1f} are expected to hold by chance (Benjamini and Hochberg over {found.asked} "
        f"tests), and of {found.negative} that fail at most {found.false_negative:.1f}."
    )


def agreement(root: Path, rows: Sequence[Row]) -> str:
    pairs = _pairs(rows, (DEFAULT_MODEL, "live"), (SECOND, "live"))
    if not pairs:
        return ""
    both = [sum(pair == (word, word) for pair in pairs) for word in (REPLICATES, CONTRADICTS)]
    return (
        f"**Do the specimens agree?** Of {len(pairs)} claims about training that both tested, {both[0]} replicate on "
        f"both, {both[1]} are contradicted on both, and {_opposed(pairs)} clash."
    )


def real_data(root: Path, rows: Sequence[Row]) -> str:
    said = [
        f"of {len(pairs)} verdicts of `{model}` on both, {_same(pairs)} are the same, {_decided(pairs)} are decided on "
        f"one kind alone, and {_opposed(pairs)} turn"
        for model in (DEFAULT_MODEL, SECOND)
        if (pairs := _pairs(rows, (model, "live"), (model, "full")))
    ]
    if not said:
        return ""
    return f"**Do generated sentences tell the same as real ones?** {_sentence('; '.join(said))}"


def twins(root: Path, rows: Sequence[Row]) -> str:
    said = []
    for (model, profile), chosen in _untrained_runs(rows).items():
        training, _, checks = tallies.tallies(rows, chosen)
        data = "real" if profile == "full" else "generated"
        said.append(
            f"`{model}` on {data} data replicates {training.replicate} of {training.tested} claims about training, and "
            f"{checks.replicate} of {checks.tested} of instruments and arithmetic"
        )
    return (
        f"**Do the tests test training?** Untrained twins as if they were the model: {'; '.join(said)}." if said else ""
    )


def stability(root: Path, rows: Sequence[Row]) -> str:
    amended = {claim.id: claim.amended for claim in load_claims()}
    found: Flips = flips(reruns.current(reruns.read(root / reruns.PATH), amended))
    if not found.verdicts:
        return ""
    return (
        f"**Do verdicts stand?** {found.seeds} reruns with other seeds gave {found.flipped} of {found.verdicts} "
        f"verdicts that are not the usual one of their claim ({found.flipped / found.verdicts:.1%}), "
        f"{found.opposed} of them opposed."
    )


def body(root: Path, rows: Sequence[Row]) -> str:
    said = [
        f"{_same(pairs)} of {len(pairs)} on {data} data are those of `{SECOND}`, {_opposed(pairs)} opposed"
        for profile, data in (("live", "generated"), ("full", "real"))
        if (pairs := _pairs(rows, (BODY, profile), (SECOND, profile)))
    ]
    return f"`{BODY}` itself, the body before our training: of its verdicts {'; '.join(said)}." if said else ""


def ladder(root: Path, rows: Sequence[Row]) -> str:
    said = []
    for profile, data in (("live", "Generated"), ("full", "Real")):
        columns = emergence.outcomes(rows, emergence.columns_of(root), profile)
        if len(columns) > 2:
            tested = emergence.common_claims(columns)
            held = {
                label: sum(found[name]["verdict"] == REPLICATES for name in tested) for label, found in columns.items()
            }
            told = ", ".join(f"{count} ({label})" for label, count in held.items() if label != emergence.START)
            said.append(f"{data} data, of {len(tested)} claims about training, so many replicate: {told}.")
    seeds = emergence.seed_sentence(emergence.outcomes(rows, emergence.seeds_of(root)))
    return " ".join(["**What do size and steps bring?**", *said, re.sub(r"<[^>]+>", "", seeds)]).strip() if said else ""


PARTS: tuple[Callable[[Path, Sequence[Row]], str], ...] = (
    false_decisions, agreement, real_data, twins, stability, body, ladder,
)  # fmt: skip


def _pairs(rows: Sequence[Row], *runs: tuple[str, str]) -> list[tuple[str, str]]:
    """Verdicts of two runs on the claims about training that both tested."""
    found = []
    for row in (row for row in rows if row.about_training):
        results = [result_of(row, *run) for run in runs]
        if all(map(is_tested, results)):
            found.append(tuple(map(verdict_of, results)))
    return found


def _same(pairs: Sequence[tuple[str, str]]) -> int:
    return sum(first == second for first, second in pairs)


def _opposed(pairs: Sequence[tuple[str, str]]) -> int:
    return sum(tallies.opposed(*pair) for pair in pairs)


def _decided(pairs: Sequence[tuple[str, str]]) -> int:
    return sum((first in DECIDED) != (second in DECIDED) for first, second in pairs)


def _untrained_runs(rows: Sequence[Row]) -> Mapping[tuple[str, str], tallies.Chooser]:
    runs = {(str(r["model"]), str(r["profile"])) for row in rows for r in row.results if _is_untrained(r)}
    return {run: partial(result_of, model=run[0], profile=run[1]) for run in sorted(runs)}


def _is_untrained(result: Mapping[str, Any]) -> bool:
    return str(result.get("model", "")).startswith("random:")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
