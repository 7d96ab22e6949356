"""A measurement that a model does not allow, such as a cloze without a masked-LM head. Depends on `errors` alone.

As with a missing number, whatever is computed from it is missing too: a chapter's cells run on any model, figures and
sentences of it are left out, and its claims are recorded as not testable, with the reason.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import numpy as np

from bertology_utils.errors import NotAskable


class Absent:
    """Stands where a measurement would; every part and every function of it is the same again."""

    def __init__(self, reason: str):
        self.reason = reason

    def _same(self, *arguments: Any, **options: Any) -> "Absent":
        return self

    __getitem__ = __call__ = map = _same
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __truediv__ = __rtruediv__ = __pow__ = __neg__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = __array_ufunc__ = __array_function__ = _same

    def __getattr__(self, name: str) -> "Absent":
        if name.startswith("_"):  # what displays and copies objects asks for its own names
            raise AttributeError(name)
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __float__(self) -> float:
        return float("nan")

    def __format__(self, form: str) -> str:
        return "–"

    def _ipython_display_(self) -> None:
        """A cell that ends with it shows nothing."""

    def __repr__(self) -> str:
        return f"Absent({self.reason!r})"


def absent_in(value: Any) -> Absent | None:
    """The first absent measurement in nested mappings and sequences; None where all are there."""
    if isinstance(value, Absent):
        return value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return next(filter(lambda found: found is not None, map(absent_in, parts)), None)


def unless_absent(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which of absent measurements makes nothing."""

    @wraps(function)
    def made(*arguments: Any, **options: Any) -> Any:
        if absent_in(arguments) is None and absent_in(options) is None:
            return function(*arguments, **options)
        return None

    return made


def asked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, of which is absent what the model cannot be asked: all, or the samples in which no item is left."""

    @wraps(function)
    def found(*arguments: Any, **options: Any) -> Any:
        try:
            result = function(*arguments, **options)
        except NotAskable as error:
            return Absent(str(error))
        if not isinstance(result, dict):
            return result
        return {
            name: Absent(f"no item of '{name}' can be asked") if _empty(part) else part for name, part in result.items()
        }

    return found


def _empty(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.size == 0
