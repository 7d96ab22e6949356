"""The display object of the house's figures: a drawing, its alternative text and the table behind it, as accessible
HTML.

Depends on matplotlib (the drawing) and pandas (the table) only; `figures` makes the objects. The SVG is written
inline, so that its text takes the colour of the page (light or dark theme): ink is drawn in a sentinel colour that
becomes `currentColor`.
"""

from __future__ import annotations

import html
import io
import itertools
import math
import re
import warnings
from dataclasses import dataclass, field

import matplotlib
import pandas as pd
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Drawing

INK = "#010203"  # no palette or colour map uses it; replaced by currentColor in the written SVG
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
        caption = f"<figcaption>{html.escape(self.caption)}</figcaption>" if self.caption else ""
        if self.figure is None:
            return f'<figure class="house-table">{table_html(self.table, self.alt)}{caption}</figure>'
        return (
            f'<figure class="house-figure">{inline_svg(self.figure, self.alt, f"figure{self.serial}")}{caption}'
            '<details class="figure-table"><summary>Table behind the figure</summary>'
            f"{table_html(self.table, self.alt)}</details></figure>"
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": str(self)}

    def __str__(self) -> str:
        return f"{self.alt}\n{self.table.head(MAXIMUM_ROWS).to_string(index=False, float_format=_number)}"

    def save(self, path: str) -> None:
        """Write the drawing to a file (format by its suffix), in black ink on white."""
        if self.figure is not None:
            self.figure.savefig(path, facecolor="white")


def inline_svg(figure: Drawing, alt: str, prefix: str) -> str:
    """The drawing as one `<svg role="img">` element whose ids all start with `prefix`."""
    buffer = io.StringIO()
    with matplotlib.rc_context(_RC), warnings.catch_warnings():
        # The browser chooses the font, so a glyph that matplotlib's layout font lacks (Chinese, Hindi) is no fault.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = _own_ids(svg, prefix).replace(INK, "currentColor")
    svg = re.sub(r"'DejaVu Sans'(, [^;\"]*)?", FONT_STACK, svg)
    return _responsive_root(svg, alt)


def table_html(table: pd.DataFrame, label: str) -> str:
    """An HTML table with `scope` on every heading; the first column heads the rows; wide tables scroll by keyboard.

    Columns of words have the class `words`, which the stylesheet sets to the left.
    """
    shown = table.head(MAXIMUM_ROWS)
    columns = [column for _, column in shown.items()]
    looks = [' class="words"' if _has_words(column) else "" for column in columns]
    headings = "".join(
        f'<th scope="col"{look}>{html.escape(str(name))}</th>' for name, look in zip(shown.columns, looks, strict=True)
    )
    decimals = [_decimals(column) for column in columns]
    body = "".join(_row_html(row, decimals, looks) for row in shown.itertuples(index=False, name=None))
    rest = f"<p>First {len(shown)} of {len(table)} rows.</p>" if len(shown) < len(table) else ""
    return (
        f'<div class="table-scroll" role="region" tabindex="0" aria-label="{html.escape(label, quote=True)}">'
        f"<table><thead><tr>{headings}</tr></thead><tbody>{body}</tbody></table></div>{rest}"
    )


def _decimals(column: pd.Series) -> int:
    """Places after the point that a column's numbers need, at most three: 48.5 beside 9.0, not 48.500 beside 9.000."""
    numbers = [value for value in column if isinstance(value, float) and math.isfinite(value)]
    exact = (places for places in range(3) if all(math.isclose(value, round(value, places)) for value in numbers))
    return next(exact, 3)


def _has_words(column: pd.Series) -> bool:
    return any(isinstance(value, str) for value in column)


def _row_html(row: tuple, decimals: list[int], looks: list[str]) -> str:
    cells = [html.escape(_number(value, places)) for value, places in zip(row, decimals, strict=True)]
    others = (f"<td{look}>{cell}</td>" for look, cell in zip(looks[1:], cells[1:], strict=True))
    return f'<tr><th scope="row">{cells[0]}</th>{"".join(others)}</tr>'


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
    opening, rest = svg[: svg.index(">") + 1], svg[svg.index(">") + 1 :]
    view_box = re.search(r'viewBox="([^"]+)"', opening).group(1)
    width = float(view_box.split()[2]) * 4 / 3  # points to CSS pixels
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
        f'aria-label="{html.escape(alt, quote=True)}" viewBox="{view_box}" '
        f'style="width:100%;max-width:{width:.0f}px;height:auto">{rest.strip()}'
    )
