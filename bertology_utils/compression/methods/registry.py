"""All rows of Table 1 that are re-enacted, and baselines beside them. A row added here is run, tabled and tested."""

from bertology_utils.compression.accounting import table1
from bertology_utils.compression.methods import (
    distilled,
    mobile,
    pruned,
    quantised,
    recurrent,
    references,
    relations,
    replaced,
    shared,
    structured,
    thin,
    vocabularies,
)
from bertology_utils.compression.methods.lesson import Method
from bertology_utils.errors import unknown

MODULES = (
    distilled,
    mobile,
    pruned,
    quantised,
    recurrent,
    references,
    relations,
    replaced,
    shared,
    structured,
    thin,
    vocabularies,
)
ORDER = ("reference", "distillation", "quantisation", "pruning", "other", "baseline")  # of families in the table
PRINTED = [row["name"] for row in table1()]


def _place(method: Method) -> tuple[int, int]:
    """By family, then as Table 1 prints them; baselines last, in the order of their modules."""
    return ORDER.index(method.family), PRINTED.index(method.row) if method.row in PRINTED else len(PRINTED)


METHODS: tuple[Method, ...] = tuple(sorted((m for module in MODULES for m in module.METHODS), key=_place))


def method(row: str) -> Method:
    """The method of a row. Raises BertologyError for a name that no row has."""
    for one in METHODS:
        if one.row == row:
            return one
    raise unknown("row of Table 1", row, [one.row for one in METHODS])
