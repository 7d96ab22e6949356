"""Published figures, each with its source, to stand beside what a run measures. Depends on pandas.

`published.csv` holds only figures that were read in the study's own repository (`repository`), in a structured account
of it (`secondary`), or in the survey and its authors' talk (`survey`).
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
    return float(_row(study, item, unit)["value"])


def published_text(study: str, item: str) -> str:
    """One published figure as it is printed, with its unit: `83.3 % accuracy`.

    Raises BertologyError: no such study or item, with the nearest names.
    """
    row = _row(study, item)
    return f"{row['value']} {row['unit']}"


def published_rows(study: str) -> pd.DataFrame:
    """The figures of a study's own tables: item, value, unit, where."""
    rows = _rows(study)
    in_tables = rows["where"].str.startswith("Table", na=False)
    return rows[in_tables].drop(columns=["study", "provenance"]).reset_index(drop=True)


def _row(study: str, item: str, unit: str | None = None) -> pd.Series:
    rows = _rows(study)
    found = rows[(rows["item"] == item) & (True if unit is None else rows["unit"] == unit)]
    if found.empty:
        raise unknown(f"figure of {study}", item, rows["item"].unique())
    return found.iloc[0]


def _rows(study: str) -> pd.DataFrame:
    rows = table()[table()["study"] == study]
    if rows.empty:
        raise unknown("study with published figures", study, table()["study"].unique())
    return rows
