"""All HTML and Markdown is written by templates: those of this folder, and for pages alone those of `pages/templates`.

HTML templates escape every text that is not markup already, so that no text of a reader becomes HTML. The filters put
numbers into words; the macros of `macros.html` (table, fold, badge, ...) are known to every template. Depends on jinja2
and `statistics`.
"""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from bertology_utils.statistics import short, short_ends

FOLDERS = (Path(__file__).parent, Path(__file__).parents[1] / "pages" / "templates")
TITLES = {"training": "Pre-training", "finetuning": "Fine-tuning", "mbert": "Multilingual BERT"}


def chapter_title(name: str) -> str:
    """A chapter as a reader calls it: `world_knowledge` is "World knowledge"."""
    return TITLES.get(name, name.replace("_", " ").capitalize())


def number(value: Any) -> str:
    """A short readable value: three significant digits, a dash for nothing."""
    if value is None or value == "":
        return "–"
    if isinstance(value, float):
        return short(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def counted(count: int, name: str) -> str:
    """`1 seed`, `2 seeds`."""
    return f"{number(count)} {name}{'s' * (count != 1)}"


def with_interval(value: float, low: float, high: float, sign: str = "+") -> str:
    """`+0.3 [+0.1, +0.5]`."""
    return f"{short(value, sign)} [{', '.join(short_ends(low, high, sign))}]"


def share(count: int, of: int) -> str:
    """A count with its share: `3 (12.5%)`, `0` of nothing."""
    return f"{count} ({count / of:.1%})" if of else "0"


def slug(text: str) -> str:
    """A class or anchor name: lower case, words joined by hyphens."""
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


FILTERS = (chapter_title, counted, number, share, short, slug, with_interval)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDERS),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    environment.filters |= {f.__name__: f for f in FILTERS}
    macros = environment.get_template("macros.html").module
    environment.globals |= {name: macro for name, macro in vars(macros).items() if not name.startswith("_")}
    return environment


def render(name: str, /, **values: Any) -> str:
    """A template filled in, without the blanks around it; HTML is markup, which other templates take as it is."""
    text = _environment().get_template(name).render(**values).strip()
    return Markup(text) if name.endswith(".html") else text
