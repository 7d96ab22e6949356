"""What commands share: the application, their common options, the book to work on, and tables. Depends on `project`."""

import os
import re
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bertology_utils.errors import BertologyError
from bertology_utils.project import find_root

app = typer.Typer(
    help="Runs and builds the executable companion to *A Primer in BERTology*.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

LARGEST_SEED = 2**32 - 1  # what every generator takes
MANY = 10**6  # more runs, jobs or pairs than anybody can mean

Root = Annotated[Path | None, typer.Option("--root", help="The book's folder; by default the nearest one above.")]
Online = Annotated[bool, typer.Option("--online", help="Let data sets of the hub come from the network.")]
Chapters = Annotated[list[str] | None, typer.Argument(metavar="CHAPTER", help="All by default.")]
Model = Annotated[str, typer.Option("--model", "-m", help="As for `run`.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, max=MANY, help="Chapters at a time.")]
Claims = Annotated[
    list[str] | None,
    typer.Option("--claim", "-c", help="Only the cells that this claim needs, always run anew. May be repeated."),
]
Profile = Annotated[str, typer.Option("--profile", "-p", help="smoke, live or full.")]


def book_folder(root: Path | None) -> Path:
    """The book to work on; a folder that was named must be one, and is never replaced by another."""
    if root is not None and not ((root / "notebooks").is_dir() and (root / "_toc.yml").is_file()):
        raise BertologyError(f"There is no book in {root}: it has no notebooks/ and _toc.yml.")
    return find_root(root)


def prepare_transformers(online: bool) -> None:
    """Say whether the network may be used, before transformers is imported, and keep its messages off the output."""
    os.environ["HF_HUB_OFFLINE"] = "0" if online else "1"
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def show(columns: list[str], rows: list[tuple[str, ...]]) -> None:
    """A table on a terminal, tab-separated lines elsewhere; names may hold what would be a tab, a line or a colour."""
    columns, *rows = [tuple(re.sub(r"[\t\r\n]", " ", cell) for cell in row) for row in (columns, *rows)]
    console = Console(markup=False, emoji=False)
    if not console.is_terminal:
        print("\n".join("\t".join(row) for row in [columns, *rows]))
        return
    table = Table(*columns, box=None)
    for row in rows:
        table.add_row(*row)
    console.print(table)
