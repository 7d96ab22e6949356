"""Invented claims and results, and a reader of HTML that checks its tags."""

from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

import numpy as np

from bertology_utils.verdicts.claims import Claim, claim_by_id
from bertology_utils.verdicts.judging import judge_claim, needed

VOID = {"input", "br", "img"}


def claim(name: str, **changes: Any) -> Claim:
    fields = {"id": name, "section": "4.1 Syntax", "notebook": "syntax", "kind": "contested", "statement": f"<{name}>",
              "studies": ("tenney2019bert",), "pattern": "more than half"}  # fmt: skip
    return Claim(**fields | changes)


def planted_verdict(
    name: str, trained: Mapping[str, float], untrained: Mapping[str, float] | float, noise: float = 0.01
) -> str:
    """What a claim of the book says of twelve seeds around planted means, of models and of untrained ones."""
    if isinstance(untrained, float):
        untrained = dict.fromkeys(trained, untrained)
    known, rng = claim_by_id(name), np.random.default_rng(0)
    sides = ({key: mean + rng.normal(0, noise, (12, 1)) for key, mean in own.items()} for own in (trained, untrained))
    model, twin = (needed(known, side) for side in sides)
    return judge_claim(known, model, [twin]).verdict


def result(verdict, control="contradicts", **changes):
    """What the ledger holds of one run on a claim."""
    measured = {"left": 0.81234, "right": 0.5, "effect": 0.3, "low": 0.2, "high": 0.4, "smallest": 0.1}
    lead = {"text": "a > b by 0.1", "value": 0.3, "low": 0.1, "high": 0.5, "twins": 5}
    values = {
        "measured": 0.81234, "control": 0.5, "difference": 0.3, "ci_low": 0.2, "ci_high": 0.4, "smallest": 0.1,
        "n": 400, "units": 40, "seeds": 3, "p": 0.001, "q": 0.004, "lead": lead,
    }  # fmt: skip
    values["clauses"] = [{"text": "a > b by 0.1", "verdict": verdict} | measured]
    values |= {"model_verdict": verdict, "control_verdict": control}
    return {"model": "pocket-bert", "profile": "live", "verdict": verdict} | values | changes


class Balance(HTMLParser):
    """Counts open tags; every generated part must close what it opens."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(str(text))

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
