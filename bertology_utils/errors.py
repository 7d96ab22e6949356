"""Errors that a user can cause. Depends on nothing.

Everything that a reader or researcher can get wrong ends in a `BertologyError`, whose text is the one or two lines
that the command line prints; every other exception is a defect of the package.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

SHOWN = 20  # names that a message lists


class BertologyError(Exception):
    """A mistake in the input, told in one or two clear lines."""


class NotAskable(BertologyError):
    """What a model cannot be asked: it knows too few words as single pieces, takes shorter inputs, or lacks a part.

    A chapter leaves out what depends on it, and goes on (`absent.asked`); one that is about the part is left out.
    """


def unknown(kind: str, name: str, known: Iterable[str]) -> BertologyError:
    """The error for a name that is not among the `known` ones, with the nearest of them."""
    known = sorted(known)
    near = get_close_matches(name, known, n=3, cutoff=0.4)
    others = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    hint = f"Did you mean {', '.join(near)}?" if near else f"Known: {', '.join(known[:SHOWN])}{others}."
    return BertologyError(f"There is no {kind} called '{name}'.\n{hint}")


def first_fault(error: "ValidationError") -> tuple[str, str]:
    """Where the first fault is that pydantic found, as `masking.share`, and what it is."""
    first = error.errors()[0]
    return ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")


def first_line(error: Exception | str) -> str:
    """The first line of a text that says something, of at most 160 letters; the kind of an error that says nothing."""
    lines = (line.strip() for line in str(error).splitlines())
    return next(filter(None, lines), type(error).__name__ if isinstance(error, Exception) else "")[:160]
