"""Which claims need size or training, for the specimens' page: one recipe's verdicts over steps, sizes, seeds and data.

Depends on `families` (who belongs together) and `contents` (recorded results). Every column answers the same claims:
those about what training teaches that all columns could test. What is counted are specific replications: the claim
holds, and no better in untrained networks.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bertology_utils import families
from bertology_utils.pages.contents import SHARES, Row, control_verdict, is_tested, verdict_of
from bertology_utils.pages.ledger_table import Link, share_figure
from bertology_utils.pages.tallies import about_training, opposed
from bertology_utils.templates import number, render
from bertology_utils.verdicts.cards import LOOKS
from bertology_utils.verdicts.predictions import CONTRADICTS, NOT_SPECIFIC, REPLICATES

LIVE, FULL = "live", "full"
START = "untrained"


def emergence_part(root: Path, rows: Sequence[Row], link: Link) -> str:
    """Bars of the columns' verdicts, how far seeds alone move them, and the claims that change; or what is missing."""
    columns = columns_of(root)
    seeds = seed_sentence(outcomes(rows, seeds_of(root)))
    return growth(rows, outcomes(rows, columns), link, seeds=seeds, older=older_results(rows, columns, LIVE))


def real_data_part(root: Path, rows: Sequence[Row], link: Link) -> str:
    """The same of the profile `full`, and how often its verdicts are those of `live`."""
    columns = columns_of(root)
    live, full = (outcomes(rows, columns, profile) for profile in (LIVE, FULL))
    return growth(rows, full, link, data=agreement(live, full), older=older_results(rows, columns, FULL))


def growth(rows: Sequence[Row], found: pd.DataFrame, link: Link, **trust: Any) -> str:
    """The columns' verdicts as bars, how far to trust a difference, and the claims that change, those first that hold
    from early on and to the end."""
    verdicts = common_claims(found)
    labels = list(verdicts.columns)
    if len(labels) < 3:
        return render("growth.html", labels=[])
    counts = {label: Counter(verdicts[label]) for label in labels}
    differ = verdicts.nunique(axis=1) > 1
    changing = [row for row in rows if differ.get(row.claim.id, False)]
    values = found.set_index(["claim", "column"])["value"].map(number)
    return render(
        "growth.html",
        labels=labels,
        figure=share_figure(counts, _said(counts, len(verdicts))),
        changing=sorted(changing, key=lambda row: _onset(list(verdicts.loc[row.claim.id]))),
        verdicts=verdicts.to_dict("index"),
        values=values.to_dict(),
        signs={word: LOOKS[word]["icon"] for word in SHARES},
        constant=Counter(verdicts[~differ][START]),
        link=link,
        **({"seeds": "", "data": None} | trust),
    )


def _said(counts: Mapping[str, Counter[str]], tested: int) -> str:
    """The bars in a sentence."""
    holding = ", ".join(f"{found[REPLICATES]} ({label})" for label, found in counts.items() if label != START)
    return (
        f"Of {tested} claims about what training teaches, so many replicate, specific to training: {holding}. "
        f"Untrained networks meet {counts[START][NOT_SPECIFIC]}."
    )


def columns_of(root: Path) -> dict[str, str]:
    """Label -> model: the lowest rung's checkpoints after step 0, then the rungs; empty without a ladder."""
    rungs = families.known(families.rungs, root)
    if rungs is None:
        return {}
    steps = families.known(families.checkpoints, rungs[0], root) or {}
    found = {f"step {step}": model for step, model in steps.items() if step and model != rungs[0]}
    return found | {name: name for name in rungs}


def seeds_of(root: Path) -> dict[str, str]:
    """Label -> model of the lowest rung's seeds; empty where it has no siblings."""
    rungs = families.known(families.rungs, root)
    siblings = rungs and families.known(families.seeds, rungs[0], root)
    return {name: name for name in siblings or ()}


def outcomes(rows: Sequence[Row], columns: Mapping[str, str], profile: str = LIVE) -> pd.DataFrame:
    """What recorded runs say of claims about training, a line (claim, column, verdict, value) each.

    The first column is the control of the first model: the untrained twin or something weaker.
    """
    found = []
    for label, model in columns.items():
        results = {row.claim.id: result for row in about_training(rows) if (result := _result_of(row, model, profile))}
        if results and not found:
            found += [(name, START, control_verdict(result), result.get("control")) for name, result in results.items()]
        found += [(name, label, verdict_of(result), result.get("measured")) for name, result in results.items()]
    return pd.DataFrame(found, columns=["claim", "column", "verdict", "value"])


def _result_of(row: Row, model: str, profile: str) -> dict[str, Any] | None:
    """The result of a model's recorded run on a claim that was tested with a control."""
    mine = (r for r in row.results if r.get("recorded") and (r.get("model"), r.get("profile")) == (model, profile))
    return next((result for result in mine if result.get("control_verdict") and is_tested(result)), None)


def common_claims(found: pd.DataFrame) -> pd.DataFrame:
    """The verdicts (claims, columns) on the claims that every column tested."""
    wide = found.pivot(index="claim", columns="column", values="verdict")
    return wide[list(found["column"].unique())].dropna()


def replicating(found: pd.DataFrame) -> dict[str, int]:
    """How many of the common claims replicate in each column of a trained model."""
    return (common_claims(found).drop(columns=START, errors="ignore") == REPLICATES).sum().to_dict()


def seed_sentence(found: pd.DataFrame) -> str:
    """How many verdicts differ between seeds of one recipe: what a difference between columns must exceed."""
    verdicts = common_claims(found[found["column"] != START])
    if verdicts.shape[1] < 2:
        return ""
    held = sorted(replicating(found[found["column"] != START]).values())
    return (
        f"How much of this is luck? {verdicts.shape[1]} seeds of the lowest rung, trained alike, agree on "
        f"{(verdicts.nunique(axis=1) == 1).sum()} of {len(verdicts)} verdicts; on "
        f"{sum(opposed(*row) for row in verdicts.values)} one replicates and another contradicts, and between "
        f"{held[0]} and {held[-1]} replicate. A difference between two columns means something only beyond that."
    )


def older_results(rows: Sequence[Row], columns: Mapping[str, str], profile: str) -> tuple[int, int]:
    """How many of the columns' results were judged from recorded intervals alone, and how many there are."""
    found = [result for row in rows for model in columns.values() if (result := _result_of(row, model, profile))]
    return sum(bool(result.get("intervals_only")) for result in found), len(found)


def agreement(live: pd.DataFrame, full: pd.DataFrame) -> tuple[int, int, int]:
    """How many of the models' verdicts on real data they give on generated data too, are the same, and are opposed."""
    trained = full[full["column"] != START]
    pairs = trained.merge(live, on=["claim", "column"])[["verdict_x", "verdict_y"]].values
    return len(pairs), sum(one == other for one, other in pairs), sum(opposed(*pair) for pair in pairs)


def _onset(verdicts: Sequence[str]) -> tuple[int, int]:
    """The column from which on a claim replicates to the end (past the last where it does not), then how often it is
    contradicted rather than replicated."""
    place = len(verdicts)
    while place and verdicts[place - 1] == REPLICATES:
        place -= 1
    return place, verdicts.count(CONTRADICTS) - verdicts.count(REPLICATES)
