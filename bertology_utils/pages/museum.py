"""A museum of non-replications: an exhibit for each claim about training that the book's own run contradicts.

Depends on `exhibits` for what each says, on `axes` for its strip, and on `families` for the ladder.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from math import inf
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bertology_utils import families
from bertology_utils.bibliography import load_references
from bertology_utils.pages.axes import track_of
from bertology_utils.pages.contents import Row, is_tested, verdict_of
from bertology_utils.pages.exhibits import Exhibit, at_full_size, is_real, why
from bertology_utils.pages.ledger_table import LONG, Link, study_names
from bertology_utils.pages.tallies import HOLDS, about_training
from bertology_utils.templates import render
from bertology_utils.verdicts.conflicts import Region
from bertology_utils.verdicts.predictions import CONTRADICTS

EFFECT = "effect"


def museum_part(root: Path, rows: Sequence[Row], link: Link) -> str:
    """All exhibits by chapter, in each the one first whose interval ends farthest below what would matter."""
    tested = [row for row in about_training(rows) if is_tested(row.live)]
    shown = [Exhibit.of(row) for row in tested if row.verdict == CONTRADICTS]
    real = [found for exhibit in shown if (found := at_full_size(exhibit.row)) and is_real(found)]
    by_chapter = groupby(shown, key=attrgetter("row.claim.notebook"))
    return render(
        "museum.html",
        rooms={name: sorted(found, key=attrgetter("widths"), reverse=True) for name, found in by_chapter},
        count=len(shown),
        tested=len(tested),
        real=Counter("holds" if (word := verdict_of(r)) in HOLDS else word for r in real),
        strip=strip_of,
        why=partial(why, rungs=families.known(families.rungs, root) or ()),
        studies=partial(study_names, references=load_references()),
        link=link,
        long=LONG,
    )


def strip_of(exhibit: Exhibit) -> tuple[Any, ...]:
    """What `track.html` draws: the part of the scale, the claimed region as a side, effect and twin, the study's."""
    clause = exhibit.clause
    rows = {EFFECT: (clause.effect, clause.low, clause.high)}
    entry = {"rows": rows, "twins": {} if exhibit.twin is None else {EFFECT: [exhibit.twin]}}
    axis = SimpleNamespace(sides=[SimpleNamespace(region=Region("", clause.smallest, inf), row=None)])
    published = [] if exhibit.published is None else [exhibit.published]
    seen = entry | {"rows": rows | {"zero": (0.0,)}, "published": dict(enumerate(published))}
    return track_of(axis, [seen]), axis, entry, published
