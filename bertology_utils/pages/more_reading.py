"""What more reading changed: verdicts on the weights before these beside those of now.

Depends on `contents`. `results/fewer_pieces.csv` keeps one result a claim of the weights before, and
`results/more_reading.csv` what was measured of both. Claims that were amended in between are left out: of those nobody
knows whether the reading or the other test turned the verdict.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from bertology_utils.files import read_csv
from bertology_utils.pages.contents import SHARES, Row
from bertology_utils.pages.ledger_table import Link
from bertology_utils.pages.tallies import opposed
from bertology_utils.templates import render
from bertology_utils.verdicts.predictions import OPEN

BEFORE, MEASURED = (Path("results") / name for name in ("fewer_pieces.csv", "more_reading.csv"))
Turned = Mapping[str, Sequence[tuple[Row, Mapping[str, str]]]]


def weights_part(root: Path, *_: object) -> str:
    """What was measured of both weights, as a table; empty where nothing is recorded."""
    lines = [tuple(line.values()) for line in read_csv(root / MEASURED, ["model", "measure", "before", "now"])]
    return render("weights.html", lines=lines) if lines else ""


def more_reading_part(root: Path, rows: Sequence[Row], link: Link) -> str:
    """How verdicts moved, as a table of before and now, and the claims that turned; empty before anything ran."""
    before = {line["claim"]: line for line in read_csv(root / BEFORE, ["claim", "verdict", "prediction", "date"])}
    both = [
        (row, found)
        for row in rows
        if (found := before.get(row.claim.id)) and row.verdict in SHARES and found["verdict"] in SHARES
    ]
    pairs = [(row, found) for row, found in both if row.claim.covers(found)]
    if not pairs:
        return ""
    counts = Counter((found["verdict"], row.verdict) for row, found in pairs)
    moves = [[counts[old, new] or "" for new in SHARES] for old in SHARES]
    return render(
        "more_reading.html",
        total=len(pairs),
        amended=len(both) - len(pairs),
        same=sum(counts[word, word] for word in SHARES),
        words=SHARES,
        moves=[[old, *cells, sum(filter(None, cells))] for old, cells in zip(SHARES, moves, strict=True)],
        turned=turned(pairs),
        link=link,
    )


def turned(pairs: Sequence[tuple[Row, Mapping[str, str]]]) -> Turned:
    """The claims whose verdict is another one, by what kind of change it is; kinds that are empty are left out."""
    kinds: dict[str, list[tuple[Row, Mapping[str, str]]]] = {
        kind: [] for kind in ("opposed", "closed", "opened", "otherwise")
    }
    for row, found in pairs:
        if row.verdict != found["verdict"]:
            kinds[_kind(found["verdict"], row.verdict)].append((row, found))
    return {kind: found for kind, found in kinds.items() if found}


def _kind(old: str, new: str) -> str:
    """Opposed: one of the two holds and the other contradicts."""
    if opposed(old, new):
        return "opposed"
    if (old in OPEN) == (new in OPEN):
        return "otherwise"
    return "closed" if old in OPEN else "opened"
