"""Chapters in Colab: the repository that the settings name, and the cell that makes a machine of Colab's ready.

Colab opens a notebook of GitHub by itself, without the package and the models that lie beside it. The cell fetches
both, and installs what chapters import and Colab lacks; all that the package depends on would replace libraries that
Colab's own kernel holds on to. Depends on `files` and `templates`.
"""

from pathlib import Path
from shlex import quote
from typing import Any

from bertology_utils.files import read_yaml
from bertology_utils.templates import render

COLAB = "https://colab.research.google.com"
GITHUB = "https://github.com/"  # from nowhere else does Colab open notebooks
CONFIG = "_config.yml"
LACKED = ("pybtex>=0.24", "transformers>=5.0,<6")
SETUP = """\
import sys

if "google.colab" in sys.modules:  # elsewhere all of this is there already
    ![ -d /content/book ] || git clone --quiet --depth 1 --branch {branch} {address} /content/book
    %cd -q /content/book
    %pip install --quiet {packages}"""


def setup_cell(root: Path) -> str | None:
    """The code that comes first in Colab; None where the book's settings name no repository on GitHub.

    Raises BertologyError: the settings are no YAML.
    """
    options = _theme_options(root / CONFIG)
    address = options.get("repository_url") or ""
    if not address.startswith(GITHUB):
        return None
    branch = options.get("repository_branch") or "main"
    return SETUP.format(branch=quote(branch), address=quote(address), packages=" ".join(map(quote, LACKED)))


def _theme_options(path: Path) -> dict[str, Any]:
    settings = read_yaml(path) if path.is_file() else None
    for name in ("sphinx", "config", "html_theme_options"):
        settings = (settings or {}).get(name)
    return settings or {}


def colab_part(root: Path, *_: object) -> str:
    """What a page says of the button: the cell to put first, or why there is none."""
    return render("colab.html", cell=setup_cell(root))
