"""The display object of the house's figures: a drawing, its alternative text and the table behind it, as accessible
HTML.

Depends on matplotlib (the drawing), pandas (the table) and templates; `figures` makes the objects. The SVG is written
inline, so that its text takes the colour of the page (light or dark theme): ink and paper are drawn in sentinel colours
that become `currentColor` and the colour of the page.
"""

import io
import itertools
import math
import re
import warnings
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import matplotlib
import pandas as pd
from markupsafe import Markup
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Drawing

from bertology_utils.templates import render

INK = "#010203"  # no palette or colour map uses it; replaced by currentColor in the written SVG
PAPER = "#fefdfc"  # likewise; replaced by the colour of the page
PAGE = "var(--pst-color-background, var(--jp-layout-color0, white))"
FONT_STACK = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif"
MAXIMUM_ROWS = 200  # longer tables (scatters of thousands of points) would make the page slow

_RC = {"svg.fonttype": "none", "svg.hashsalt": "bertology"}
_serial = itertools.count(1)


@dataclass(frozen=True)
class Figure:
    """A figure that displays itself in a notebook.

    figure: the matplotlib drawing, or None for a table shown as such; alt: one or two sentences computed from the data;
    table: the numbers drawn, its first column heading the rows; caption: what a sighted reader is told below the
    figure.
    """

    figure: Drawing | None
    alt: str
    table: pd.DataFrame
    caption: str = ""
    serial: int = field(default_factory=lambda: next(_serial), compare=False)  # one page is one process: ids are unique

    def _repr_html_(self) -> str:
        drawing = self.figure and inline_svg(self.figure, self.alt, f"figure{self.serial}")
        return render("figure.html", figure=self, drawing=drawing, data=TableView.of(self.table))

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": str(self)}

    def __str__(self) -> str:
        return f"{self.alt}\n{self.table.head(MAXIMUM_ROWS).to_string(index=False, float_format=_number)}"


def inline_svg(figure: Drawing, alt: str, prefix: str) -> str:
    """The drawing as one `<svg role="img">` element whose ids all start with `prefix`."""
    buffer = io.StringIO()
    with matplotlib.rc_context(_RC), warnings.catch_warnings():
        # The browser chooses the font, so a glyph that matplotlib's layout font lacks (Chinese, Hindi) is no fault.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = _own_ids(svg, prefix).replace(INK, "currentColor").replace(PAPER, PAGE)
    svg = re.sub(r"'DejaVu Sans'(, [^;\"]*)?", FONT_STACK, svg)
    return _responsive_root(svg, alt)


class TableView(NamedTuple):
    """A table as its template shows it: names, whether a column holds words, rows of texts; all rows, shown or not."""

    names: list[str]
    words: list[bool]
    rows: list[tuple[str, ...]]
    total: int

    @classmethod
    def of(cls, table: pd.DataFrame) -> Self:
        columns = [column for _, column in table.head(MAXIMUM_ROWS).items()]
        texts = [[_number(value, places) for value in column] for column in columns for places in [_decimals(column)]]
        words = [any(isinstance(value, str) for value in column) for column in columns]
        return cls(list(map(str, table.columns)), words, list(zip(*texts, strict=True)), len(table))


def _decimals(column: pd.Series) -> int:
    """Places after the point that a column's numbers need, at most three: 48.5 beside 9.0, not 48.500 beside 9.000."""
    numbers = [value for value in column if isinstance(value, float) and math.isfinite(value)]
    exact = (places for places in range(3) if all(math.isclose(value, round(value, places)) for value in numbers))
    return next(exact, 3)


def _number(value: object, decimals: int = 3) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:z.{decimals}f}" if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)


def _own_ids(svg: str, prefix: str) -> str:
    """Prefix every id and every reference to one: several inline SVGs share the page's name space."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}-", svg)


def _responsive_root(svg: str, alt: str) -> str:
    view_box = re.search(r'viewBox="([^"]+)"', svg)[1]
    width = float(view_box.split()[2]) * 4 / 3  # points to CSS pixels
    inside = svg[svg.index(">") + 1 :].strip()
    return render("drawing.html", alt=alt, view_box=view_box, width=round(width), inside=Markup(inside))
