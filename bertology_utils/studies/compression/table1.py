"""The survey's Table 1, recounted: its printed factors beside exact ones, and where the two part.

Depends on `accounting` for the counts and on `scorecard` for reading printed numbers.
"""

import pandas as pd

from bertology_utils.compression.accounting import recomputed_table, table1_differences
from bertology_utils.compression.scorecard import printed_factor

COLUMNS = {
    "name": "name",
    "compression_v1": "v1",
    "compression_v3": "v3",
    "all": "million parameters",
    "factor_all": "× all",
    "factor_encoder": "× encoder",
    "factor_macs": "× fewer products",
    "note": "note",
}
COUNTED = ["million parameters", "× all", "× encoder", "× fewer products"]


TOLERANCE = 0.05


def recounted() -> pd.DataFrame:
    """Each row with its printed factors (preprint v1, journal v3), and what counting everything or a part gives.

    Counts have two digits; a row whose architecture is not known has none, and says so in its note. `v3 is` says what
    the journal's number turns out to be, as `judged`.
    """
    rows = recomputed_table()
    judged_rows = rows.apply(judged, axis=1)
    rows = rows[list(COLUMNS)].astype(object).fillna("").rename(columns=COLUMNS)
    rows[COUNTED] = rows[COUNTED].map(lambda number: f"{number:.2f}" if number != "" else "")
    rows.insert(3, "v3 is", judged_rows)
    return rows


def judged(row: pd.Series) -> str:
    """What the journal's factor counts, to `TOLERANCE`: "right" (everything), "encoder alone", "wrong" or "undefined".

    `row` is one of `accounting.recomputed_table`; the columns of counts hold the division. A factor that fits both
    counts is taken as one of everything; where an architecture is assumed, none is sure.
    """
    printed = printed_factor(row["compression_v3"])
    if printed is None or pd.isna(row["factor_all"]) or row["note"]:
        return "undefined"
    if abs(row["factor_all"] / printed - 1) <= TOLERANCE:
        return "right"
    return "encoder alone" if abs(row["factor_encoder"] / printed - 1) <= TOLERANCE else "wrong"


def changed_cells() -> pd.DataFrame:
    """Factors, shares and model names that differ between preprint and journal; lists of data sets are left out."""
    changed = table1_differences()
    return changed[changed["column"] != "evaluation"]


def disagreeing(agreement: pd.DataFrame) -> str:
    """The rows of `scorecard.factor_agreement` that do not agree, with both factors, in words."""
    rows = agreement[~agreement["agrees"]].to_dict("records")
    return ", ".join(f"{row['name']} (printed {row['printed']:g}, counted {row['factor_all']:.2f})" for row in rows)
