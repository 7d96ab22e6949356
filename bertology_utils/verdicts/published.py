"""Published figures, each with its source, to stand beside what a run measures. Depends on pandas.

`published.csv` holds only figures that were read in the study's own repository (`repository`) or in a structured
account of it (`secondary`).
"""

from functools import cache
from pathlib import Path

import pandas as pd

from bertology_utils.errors import unknown

TABLE = Path(__file__).with_name("published.csv")


@cache
def table() -> pd.DataFrame:
    """All published figures: study, item, value, unit, where, provenance."""
    return pd.read_csv(TABLE)


def published(study: str, item: str, unit: str | None = None) -> float:
    """One published figure.

    Raises BertologyError: no such study or item, with the nearest names.
    """
    rows = published_rows(study)
    found = rows[(rows["item"] == item) & (True if unit is None else rows["unit"] == unit)]
    if found.empty:
        raise unknown(f"figure of {study}", item, rows["item"].unique())
    return float(found["value"].iloc[0])


def published_rows(study: str) -> pd.DataFrame:
    """All figures of one study: item, value, unit, where."""
    rows = table()[table()["study"] == study]
    if rows.empty:
        raise unknown("study with published figures", study, table()["study"].unique())
    return rows.drop(columns=["study", "provenance"]).reset_index(drop=True)
