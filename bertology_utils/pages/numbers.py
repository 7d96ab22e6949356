"""Every number of the README about verdicts, as Markdown between two marks, so that nobody types one.

What is said stands in the template `numbers.md`. Depends on `tallies` and `contents` for the counts, on `emergence` for
the ladder and on `reruns`.
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_text, write_text
from bertology_utils.pages import emergence, specimens, tallies
from bertology_utils.pages.contents import Row, is_tested, is_trained, measured_alike, result_of, verdict_of
from bertology_utils.pages.run_record import foretold, reruns_of
from bertology_utils.project import DEFAULT_MODEL
from bertology_utils.templates import render
from bertology_utils.verdicts.cards import LOOKS
from bertology_utils.verdicts.predictions import CONTRADICTS, DECIDED, NOT_SPECIFIC, REPLICATES
from bertology_utils.verdicts.reruns import flips, moving

SECOND = "pocket-minilm"
BODY = "minilm"  # the second specimen before our training
MARKS = "<!-- numbers: computed by `bertology ledger --readme README.md` -->", "<!-- end of numbers -->"
LIVE, FULL = "live", "full"
COLUMNS = ((DEFAULT_MODEL, LIVE), (SECOND, LIVE), (DEFAULT_MODEL, FULL), (SECOND, FULL))
Run = tuple[str, str]  # model, profile


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
    compared = partial(comparison, rows)
    again, checks = reruns_of(root)
    moved = moving(again, checks)
    untrained = {(str(r["model"]), str(r["profile"])) for row in rows for r in row.results if not is_trained(r)}
    body = [compared((BODY, profile), (SECOND, profile)) for profile in (LIVE, FULL)]
    ladder = [emergence.outcomes(rows, emergence.columns_of(root), profile) for profile in (LIVE, FULL)]
    return render(
        "numbers.md",
        columns=COLUMNS,
        own=DEFAULT_MODEL,
        second=SECOND,
        body_of=BODY,
        words={verdict: look["counted"] for verdict, look in LOOKS.items() if "counted" in look},
        not_specific=NOT_SPECIFIC,
        scores=specimens.averages(specimens.read_scores(root / specimens.SCORES)),
        tallies=[tallies.tallies(rows, chooser(*run)) for run in COLUMNS],
        untested=[sum(not is_tested(r) for r in map(chooser(*run), rows) if r) for run in COLUMNS],
        entries=len(rows),
        errors=tallies.errors(tallies.about_training(rows), chooser(DEFAULT_MODEL, LIVE)),
        specimens=compared((DEFAULT_MODEL, LIVE), (SECOND, LIVE)),
        real={model: found for model in (DEFAULT_MODEL, SECOND) if (found := compared((model, LIVE), (model, FULL)))},
        twins=[
            (*run, *tallies.tallies(rows, partial(result_of, model=run[0], profile=run[1])))
            for run in sorted(untrained)
        ],
        in_place=tallies.twins_in_place(rows, chooser(DEFAULT_MODEL, LIVE)),
        flips=flips(again),
        moved=flips(moved),
        foretold=foretold(rows, moved),
        body=[pair for pair in zip(("generated", "real"), body, strict=True) if pair[1]],
        ladder=[(emergence.replicating(found), len(emergence.common_claims(found))) for found in ladder],
        seeds=emergence.seed_sentence(emergence.outcomes(rows, emergence.seeds_of(root))),
    )


def chooser(model: str, profile: str) -> tallies.Chooser:
    """The results of one column; what a chapter asks of a third model beside any specimen counts for both."""
    return partial(result_of, model=model, profile=profile, specimens=(DEFAULT_MODEL, SECOND))


def comparison(rows: Sequence[Row], *runs: Run) -> dict[str, int]:
    """How two runs agree on the claims about training that both tested; empty where there are none.

    A claim about networks that are trained for it measures the same in every run, so it says nothing here.
    """
    results = [[result_of(row, *run) for run in runs] for row in tallies.about_training(rows)]
    tested = (both for both in results if all(map(is_tested, both)))
    pairs = [tuple(map(verdict_of, both)) for both in tested if not measured_alike(*both)]
    counts = {
        "total": len(pairs),
        "same": sum(one == other for one, other in pairs),
        "decided": sum((one in DECIDED) != (other in DECIDED) for one, other in pairs),
        "opposed": sum(tallies.opposed(*pair) for pair in pairs),
        "replicate": pairs.count((REPLICATES, REPLICATES)),
        "contradicted": pairs.count((CONTRADICTS, CONTRADICTS)),
    }
    return counts if pairs else {}
