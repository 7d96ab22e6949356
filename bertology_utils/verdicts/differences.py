"""Two folders of results, claim by claim: what one run says otherwise than another. Depends on `files`."""

from collections.abc import Mapping
from math import isclose
from pathlib import Path
from typing import Any

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_json

NUMBERS = ("difference", "ci_low", "ci_high")
TOLERANCE = 1e-4  # of a number, or its share: records round, and so do other orders of adding up
Results = dict[str, Mapping[str, Any]]


def read_results(folder: Path) -> Results:
    """The results by claim of all chapters' records in a folder of one run, such as `results/runs/live/pocket-bert`.

    Raises BertologyError where there is no such folder, or a file of it is no record of a chapter.
    """
    if not folder.is_dir():
        raise BertologyError(f"There is no folder {folder}.")
    found: Results = {}
    for path in sorted(folder.glob("*.json")):
        record = read_json(path)
        try:
            found |= {
                result["id"]: {name: result[name] for name in ("verdict", *NUMBERS)} for result in record["results"]
            }
        except (KeyError, TypeError):
            raise BertologyError(f"{path} is no record of a chapter.") from None
    if not found:
        raise BertologyError(f"{folder} holds no record of a chapter: name the folder of one model and profile.")
    return found


def differing(first: Results, second: Results) -> list[str]:
    """The claims whose verdict, effect or interval is not the same, those of one side alone among them; sorted."""
    return sorted(claim for claim in first.keys() | second if not _alike(first.get(claim), second.get(claim)))


def _alike(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    if one is None or other is None or one["verdict"] != other["verdict"]:
        return False
    return all(_close(one[name], other[name]) for name in NUMBERS)


def _close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
