"""What a model says at each stored step of its training: one line a step, in each panel of *Ask BERT*.

The scripts in `book/assets/ask` put a reader's question so, and show each step whole. Depends on `ask_answers`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bertology_utils.pages.ask_answers import by_layer, filled, near, patterns, scored
from bertology_utils.templates import render

LEARNER = "ladder-1m"  # whose checkpoints show how an answer is learnt
LETTERS = {"vertical": "V", "diagonal": "D", "vertical+diagonal": "M", "broad": "B", "heterogeneous": "·"}
FEW = 3  # words of a line
Question = Mapping[str, str]
Line = list[str | float]


@dataclass(frozen=True)
class Learnt:
    """The columns, and a line for each model; the last entry is a number, drawn as a bar, where `bar` says so."""

    titles: list[str]
    lines: list[Line]
    bar: str = ""


def _few(words: Sequence[str]) -> str:
    return " · ".join(words[:FEW])


def _fill(names: Sequence[str], question: Question) -> Learnt:
    """The answer of the last step is looked for in all."""
    answer = filled(names[-1], question["text"])["best"][0][0]
    found = [filled(name, question["text"], [answer]) for name in names]
    lines: list[Line] = [[_few([word for word, _ in each["best"]]), each["own"][0][2]] for each in found]
    return Learnt(["first words", f"probability of “{answer}”"], lines, "share")


def preferred(difference: float) -> str:
    """Which of two sentences, by their difference in nats."""
    return "neither" if abs(difference) < 0.005 else "first" if difference > 0 else "second"


def _sentences(names: Sequence[str], question: Question) -> Learnt:
    texts = [question["first"], question["second"]]
    found = [float(np.subtract(*(sum(scores) for _, scores in scored(name, texts)))) for name in names]
    return Learnt(["preferred", "difference in nats"], [[preferred(each), each] for each in found], "difference")


def _heads(names: Sequence[str], question: Question) -> Learnt:
    found = [[pattern for layer in patterns(name, question["text"]) for pattern in layer] for name in names]
    titles = [f"{pattern} ({letter})" for pattern, letter in LETTERS.items()]
    return Learnt(titles, [[str(heads.count(pattern)) for pattern in LETTERS] for heads in found])


def _layers(names: Sequence[str], question: Question) -> Learnt:
    found = [by_layer(name, question["text"]) for name in names]
    lines: list[Line] = [[each["answer"], str(each["since"]), each["lines"][-1][2]] for each in found]
    return Learnt(["last layer says", "since layer", "its probability"], lines, "share")


def _neighbours(names: Sequence[str], question: Question) -> Learnt:
    lines: list[Line] = []
    for name in names:
        words, found = near(name, question["text"])
        place = words.index(question["word"])
        lines.append([_few([form for form, _ in found[layer][place]]) for layer in (0, -1)])
    return Learnt([f"nearest to “{question['word']}” at layer 0", "at the last layer"], lines)


LEARNT: Mapping[str, Callable[[Sequence[str], Question], Learnt]] = {
    "fill": _fill,
    "sentences": _sentences,
    "heads": _heads,
    "layers": _layers,
    "neighbours": _neighbours,
    "learning": _fill,
}
"""By panel."""


def learnt_part(panel: str, steps: Mapping[int, str], question: Question, size: int) -> str:
    """The part of a panel that shows its question at each step, by the names of the models; empty without any."""
    if not steps:
        return ""
    found = LEARNT[panel](list(steps.values()), question)
    texts = [text for key, text in question.items() if key not in ("word", "words")]
    most = max(abs(line[-1]) for line in found.lines) if found.bar else 1
    shown = {"panel": panel, "model": LEARNER, "steps": steps, "texts": texts, "size": size}
    return render("ask_learnt.html", found=found, most=most, **shown)
