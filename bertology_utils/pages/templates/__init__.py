"""Templates of the generated parts of pages; they escape everything that is not markup already. Depends on jinja2."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(name: str, **values: object) -> Markup:
    """A template of this folder, filled in."""
    return Markup(_environment().get_template(name).render(**values).strip())
