"""The run record: what ran, how far its verdicts can be trusted, and how fast the instruments are.

How far: on other data, on the untrained twin, with other seeds, on other processors, with planted effects. Each part is
a template with a table, empty where nothing of the kind is recorded. Depends on `contents`, `reruns`, `processors` and
`verdicts.calibration`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, TypeVar

from scipy import stats

from bertology_utils.files import read_rows
from bertology_utils.pages.contents import Row, clauses_of, is_tested, is_trained, result_of, verdict_of
from bertology_utils.pages.ledger_table import Link
from bertology_utils.project import CHAPTERS
from bertology_utils.templates import chapter_title, render, share
from bertology_utils.verdicts import calibration, processors, reruns
from bertology_utils.verdicts.claims import load_claims
from bertology_utils.verdicts.predictions import CONTRADICTS, NOT_TESTABLE, REPLICATES
from bertology_utils.verdicts.reruns import DECIDED, IntervalCheck, Verdict, flips, typical_spread

SPEED = Path("results") / "bench.json"
FAR = 1.5  # times wider than an interval says: more than its error explains
RUN = ("model", "profile", "chapter")
Item = TypeVar("Item")
Line = tuple[Any, ...]


def _part(template: str, lines: Sequence[Line], **values: Any) -> str:
    return render(template, lines=lines, **values) if lines else ""


def chapters_table(records: Sequence[Mapping[str, Any]], rows: Sequence[Row], link: Link) -> str:
    """One line an executed chapter, then the versions that ran."""
    place = {name: i for i, name in enumerate(CHAPTERS)}
    ordered = sorted(records, key=lambda r: (r["profile"], r["model"], place.get(r["chapter"], len(place))))
    lines = []
    for record in ordered:
        run = (record["model"], record["profile"])
        told = (row.results for row in rows if row.claim.notebook == record["chapter"])
        mine = Counter(verdict_of(r) for found in told for r in found if (r.get("model"), r.get("profile")) == run)
        good, bad = mine[REPLICATES], mine[CONTRADICTS]
        lines.append((record, good, bad, mine.total() - good - bad))
    seconds = sum(float(record.get("seconds") or 0) for record in records)
    versions = {name: version for record in ordered for name, version in (record.get("versions") or {}).items()}
    return render("chapters.html", lines=lines, seconds=seconds, versions=sorted(versions.items()), link=link)


def grouped(
    items: Iterable[Item], run_of: Callable[[Item], Line], cells: Callable[[Sequence[Item]], Line]
) -> list[Line]:
    """A line for each (model, profile, chapter), in the order of the items, and one for all; none without items."""
    groups: dict[Line, list[Item]] = {}
    for item in items:
        groups.setdefault(run_of(item), []).append(item)
    if not groups:
        return []
    lines = [(chapter_title(run[-1]), *run[:-1], *cells(found)) for run, found in groups.items()]
    every = [item for found in groups.values() for item in found]
    return [*lines, ("All", *[""] * (len(lines[0]) - len(cells(every)) - 1), *cells(every))]


def reruns_of(root: Path) -> tuple[list[Verdict], list[IntervalCheck]]:
    """The verdicts of reruns that still count, and what the same runs say of the intervals."""
    found = reruns.current(read_rows(root / reruns.PATH, Verdict), {claim.id: claim.amended for claim in load_claims()})
    return found, reruns.current_checks(read_rows(root / reruns.CHECKS, IntervalCheck), found)


def foretold(rows: Sequence[Row], moved: Sequence[Verdict]) -> float:
    """The share of verdicts that the intervals of the first run alone let differ from their claim's majority."""
    known = {(v.claim, v.model, v.profile) for v in moved}
    clauses = [
        clauses_of(found)
        for row in rows
        for found in row.results
        if found.get("clauses") and (row.claim.id, found.get("model"), found.get("profile")) in known
    ]
    seeds = flips(moved).seeds
    return reruns.expected_flips(clauses, seeds) / (seeds * len(clauses)) if clauses else 0.0


def rerun_table(verdicts: Sequence[Verdict], checks: Sequence[IntervalCheck], rows: Sequence[Row]) -> str:
    """How many verdicts other seeds flip, by chapter and in all; empty where nothing was run again."""

    def cells(mine: Sequence[Verdict]) -> Line:
        found, moved = flips(mine), flips(reruns.moving(mine, checks))
        shares = share(found.flipped, found.verdicts), share(moved.flipped, moved.verdicts)
        return found.claims, found.seeds, *shares, share(found.opposed, found.verdicts)

    share_foretold = f"{foretold(rows, reruns.moving(verdicts, checks)):.1%}"
    return _part("seeds.html", grouped(verdicts, attrgetter(*RUN), cells), foretold=share_foretold)


def interval_table(checks: Sequence[IntervalCheck]) -> str:
    """How far measured differences move between reruns, in units of what their intervals imply; empty without any."""
    return _part("intervals.html", grouped(checks, attrgetter(*RUN), _spreads), far=FAR)


def _spreads(checks: Sequence[IntervalCheck]) -> Line:
    far = sum(check.ratio > FAR for check in checks)
    by_chance = sum(stats.chi2.sf((check.seeds - 1) * FAR**2, check.seeds - 1) for check in checks)
    farthest = max(checks, key=attrgetter("ratio"))
    told = f"{typical_spread(checks):.2f}", share(far, len(checks)), f"{by_chance / len(checks):.1%}"
    return len(checks), *told, farthest


def processor_table(rows: Sequence[processors.Compared]) -> str:
    """How many verdicts differ between two instruction sets, by chapter, and which; empty where nothing is recorded."""

    def cells(mine: Sequence[processors.Compared]) -> Line:
        same = sum(row.sse == row.avx2 for row in mine)
        opposed = sum({DECIDED.get(row.sse), DECIDED.get(row.avx2)} == {True, False} for row in mine)
        moved = f"{max(row.moved for row in mine):.1g}"
        return len(mine), *(share(count, len(mine)) for count in (same, len(mine) - same, opposed)), moved

    changed = [
        (row.claim, row.model, row.profile, row.sse, row.avx2, f"{row.moved:.1g}")
        for row in rows
        if row.sse != row.avx2
    ]
    return _part("processors.html", grouped(rows, attrgetter(*RUN), cells), changed=changed)


def twin_table(rows: Iterable[Row]) -> str:
    """What untrained specimens make of the predictions, by chapter and in all; empty without a run of one."""
    results = [
        result | {"chapter": row.claim.notebook, "taught": row.claim.about_training}
        for row in rows
        for result in row.results
        if not is_trained(result) and verdict_of(result) != NOT_TESTABLE
    ]
    return _part("twin.html", grouped(results, itemgetter(*RUN), _passes))


def _passes(results: Sequence[Mapping[str, Any]]) -> Line:
    """Number and passing share of all claims, then of those about training."""
    told = []
    for part in (results, [result for result in results if result["taught"]]):
        told += [len(part), share(sum(verdict_of(result) == REPLICATES for result in part), len(part))]
    return tuple(told)


def data_table(rows: Iterable[Row]) -> str:
    """What becomes of a model's live verdicts under its recorded `full` profile, by chapter; empty without one."""
    pairs: dict[str, list[tuple[str, str, str]]] = {}  # model -> chapter, live verdict, full verdict
    for row in rows:
        for full in (result for result in row.recorded if result.get("profile") == "full"):
            live = result_of(row, full["model"], "live")
            if is_tested(live) and is_tested(full):
                pairs.setdefault(full["model"], []).append((row.claim.notebook, verdict_of(live), verdict_of(full)))
    lines = []
    for model, found in sorted(pairs.items()):
        lines += [(chapter, model, *cells) for chapter, *cells in grouped(found, lambda pair: pair[:1], _changes)]
    return _part("data.html", lines)


def _changes(pairs: Sequence[tuple[str, str, str]]) -> Line:
    """Number of pairs (live, full), then those alike, decided under full alone, under live alone, and opposed."""
    sides = [(DECIDED.get(live), DECIDED.get(full)) for _, live, full in pairs]
    same = sum(live == full for live, full in sides)
    full_alone = sum(live is None and full is not None for live, full in sides)
    live_alone = sum(live is not None and full is None for live, full in sides)
    opposed = len(sides) - same - full_alone - live_alone
    return len(sides), *(share(count, len(sides)) for count in (same, full_alone, live_alone, opposed))


def calibration_table(path: Path) -> str:
    """Coverage, wrong decisions and decided share of the estimators by kind of design; empty where nothing was kept."""
    lines = calibration.by_kind(read_rows(path, calibration.Calibration))
    return _part("calibration.html", lines, covered=calibration.COVERED, wrong=calibration.WRONG)


def speed_table(benchmarks: Iterable[Mapping[str, Any]]) -> str:
    """Each benchmark's rival beside ours, then what was done in a second; empty where none is recorded."""
    benchmarks = list(benchmarks)
    told = [entry for entry in benchmarks if entry.get("items")]
    lines = []
    for entry in benchmarks:
        if entry in told:
            continue
        ways = entry["speeds"]
        plain, ours = (
            next(way for way in ways if way["ratio"] == 1),
            next(w for w in ways if w["way"] == entry["judged"]),
        )
        lines.append((entry, plain, ours))
    rates = [
        (entry, speed["way"], [f"{_rounded(number / speed['cost'])} {item}" for item, number in entry["items"].items()])
        for entry in told
        for speed in entry["speeds"]
    ]
    return _part("speed.html", lines) + _part("throughput.html", rates)


def _rounded(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
