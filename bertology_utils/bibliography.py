"""The bibliography, `references.bib`, which pages cite from too. Depends on pybtex; knows nothing of models or pages.

A citation key is author, year and first word of the title, as in `tenney2019bert`.
"""

from functools import cache
from pathlib import Path

from pybtex.database import Entry as Reference
from pybtex.database import Person, parse_file
from pybtex.exceptions import PybtexError

from bertology_utils.errors import BertologyError

SOURCE = Path(__file__).with_name("references.bib")


@cache
def load_references(path: Path = SOURCE) -> dict[str, Reference]:
    """Every work by its citation key, in the order of the file; `BertologyError` on a faulty or repeated entry."""
    try:
        return dict(parse_file(path, "bibtex").entries)
    except PybtexError as error:
        raise BertologyError(f"{path.name}: {error}.") from None


def short_name(reference: Reference) -> str:
    """The way a table names a study: `Tenney et al. 2019`."""
    surnames = [_surname(author) for author in reference.persons["author"]]
    year = reference.fields["year"]
    if len(surnames) > 2 or surnames[-1] == "others":
        return f"{surnames[0]} et al. {year}"
    return f"{' and '.join(surnames)} {year}"


def _surname(author: Person) -> str:
    """The family name, with its particle: `Betty van Aken` -> `van Aken`."""
    return " ".join([*author.prelast_names, *author.last_names])
