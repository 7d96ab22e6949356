"""Notes for whoever teaches a chapter, from what the chapter and its claims say, so that they cannot drift from them.

Question, goals, exercises and open questions are read from the notebook, predictions and their controls from the
claims; only misreadings are written for it, in `book/teaching/misreadings.yaml`. No result of a run stands here.
Depends on `chapter_text` and `verdicts.claims`.
"""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path

from nbformat import NotebookNode
from pydantic import BaseModel, ConfigDict

from bertology_utils.bibliography import load_references, short_name
from bertology_utils.pages.chapter_text import (
    exercises,
    goals,
    open_questions,
    question,
    read_by_chapter,
    title,
)
from bertology_utils.templates import render
from bertology_utils.verdicts.claims import TESTED_KINDS, Claim, claims_file, read_claims
from bertology_utils.verdicts.formulas import Clause
from bertology_utils.verdicts.predictions import parse

MISREADINGS = Path("book") / "teaching" / "misreadings.yaml"
SIGNS = {ast.Add: "+", ast.Sub: "−", ast.Mult: "×", ast.Div: "/"}
OF_SEVERAL = {"min": ("smaller", "smallest"), "max": ("larger", "largest"), "median": ("middle one", "middle one")}


class Misreading(BaseModel):
    """What students say, and an answer of a sentence or two."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    says: str
    reply: str


def read_misreadings(root: Path) -> Mapping[str, Sequence[Misreading]]:
    """Misreadings by chapter; none where the book has no such list.

    Raises BertologyError: the place that is wrong.
    """
    return read_by_chapter(root, MISREADINGS, Misreading)


def instructor_notes(chapter: str, notebook: NotebookNode, misreadings: Sequence[Misreading] = ()) -> str:
    """A Markdown page: question, goals, claims with their controls, exercises, misreadings, open questions."""
    claims = read_claims(claims_file(chapter)) if claims_file(chapter).is_file() else []
    return (
        render(
            "instructor_notes.md",
            chapter=chapter,
            title=title(notebook),
            question=question(notebook),
            goals=goals(notebook),
            tested=[claim for claim in claims if claim.prediction],
            untested=[claim for claim in claims if not claim.prediction and claim.kind in TESTED_KINDS],
            exercises=exercises(notebook),
            misreadings=misreadings,
            open_questions=open_questions(notebook),
            in_words=in_words,
            control=control,
            studies=studies,
        )
        + "\n"
    )


def studies(claim: Claim) -> str:
    """`Clark et al. 2019; Htut et al. 2019`."""
    known = load_references()
    return "; ".join(short_name(known[key]) for key in claim.studies)


def control(claim: Claim) -> str:
    """What is kept from explaining the result, in the words that the page defines: ability, twin, no twin."""
    ability = f"Ability: {in_words(claim.given)}. " if claim.given else ""
    if claim.checks:
        return f"{ability}No twin. Checked: {claim.checks}."
    if not claim.specific:
        return f"{ability}No twin: it may hold for any weights."
    return f"{ability}Twin{', unless it fails the condition too' * claim.failure}."


def in_words(prediction: str) -> str:
    """A formula as a sentence: `*best layer* lies above *chain*, by at least 0.05`."""
    return "; and ".join(map(_clause, parse(prediction).clauses))


def _clause(clause: Clause) -> str:
    by = f", by at least {clause.smallest:g}" if clause.smallest else ""
    return f"{_side(clause.left)} lies {'below' if clause.flipped else 'above'} {_side(clause.right)}{by}"


def _side(node: ast.expr, inside: bool = False) -> str:
    match node:
        case ast.Name(id=name):
            return f"*{name.replace('_', ' ')}*"
        case ast.Constant(value=value):
            return f"{value:g}"
        case ast.UnaryOp(operand=operand):
            return f"−{_side(operand, True)}"
        case ast.BinOp(left=left, op=op, right=right):
            told = f"{_side(left, True)} {SIGNS[type(op)]} {_side(right, True)}"
            return f"({told})" if inside else told
        case ast.Call(func=ast.Name(id="abs"), args=[inner]):
            return f"|{_side(inner)}|"
        case ast.Call(func=ast.Name(id=kind), args=args):
            *others, last = map(_side, args)
            return f"the {OF_SEVERAL[kind][len(args) > 2]} of {', '.join(others)} and {last}"
    raise AssertionError(f"unchecked expression {ast.dump(node)}")
