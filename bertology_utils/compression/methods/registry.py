"""All rows of Table 1 that are re-enacted, and baselines beside them. A row added here is run, tabled and tested."""

from bertology_utils.compression.methods import distilled, references, relations
from bertology_utils.compression.methods.lesson import Method
from bertology_utils.errors import unknown

METHODS: tuple[Method, ...] = (*references.METHODS, *distilled.METHODS, *relations.METHODS)


def method(row: str) -> Method:
    """The method of a row. Raises BertologyError for a name that no row has."""
    for one in METHODS:
        if one.row == row:
            return one
    raise unknown("row of Table 1", row, [one.row for one in METHODS])
