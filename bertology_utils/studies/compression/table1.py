"""The survey's Table 1, recounted: its printed factors beside exact ones, and where the two part.

Depends on `accounting` for the counts and on `scorecard` for which rows agree.
"""

import pandas as pd

from bertology_utils.compression.accounting import recomputed_table, table1_differences
from bertology_utils.compression.scorecard import factor_agreement

COLUMNS = {
    "name": "name",
    "compression_v1": "v1",
    "compression_v3": "v3",
    "all": "million parameters",
    "factor_all": "× all",
    "factor_encoder": "× encoder",
    "factor_macs": "× fewer products",
}
COUNTED = ["million parameters", "× all", "× encoder", "× fewer products"]


def recounted() -> pd.DataFrame:
    """Each row with its printed factors (preprint v1, journal v3), and what counting everything or a part gives.

    Counts have two digits; a row whose architecture is not known has none. `v3 is` says what the journal's number turns
    out to be: right (of everything), of the encoder alone, wrong, or undefined, where the architecture is assumed or
    nothing is printed.
    """
    rows = recomputed_table()[list(COLUMNS)].astype(object).fillna("").rename(columns=COLUMNS)
    rows[COUNTED] = rows[COUNTED].map(lambda number: f"{number:.2f}" if number != "" else "")
    rows.insert(3, "v3 is", rows["name"].map(_judged()).fillna("undefined"))
    return rows


def assumptions() -> str:
    """What was assumed to count a row, or why it is not counted: a sentence for each note, its rows before it."""
    noted = recomputed_table().query("note != ''").groupby("note", sort=False)["name"]
    return ". ".join(f"{' and '.join(names)}: {note}" for note, names in noted)


def _judged() -> dict[str, str]:
    """What a printed factor counts, by row, as `scorecard.factor_agreement`; a factor of both is one of everything."""
    rows = factor_agreement().to_dict("records")
    return {
        r["name"]: "right" if r["agrees"] else "encoder alone" if r["agrees_encoder"] else "wrong" for r in rows
    } | {"BERT-base": "the reference"}


def changed_cells() -> pd.DataFrame:
    """Factors, shares and model names that differ between preprint and journal; lists of data sets are left out."""
    changed = table1_differences()
    return changed[changed["column"] != "evaluation"]


def disagreeing(agreement: pd.DataFrame) -> str:
    """The rows of `scorecard.factor_agreement` that do not agree, with both factors, in words."""
    rows = agreement[~agreement["agrees"]].to_dict("records")
    return ", ".join(f"{row['name']} (printed {row['printed']:g}, counted {row['factor_all']:.2f})" for row in rows)
