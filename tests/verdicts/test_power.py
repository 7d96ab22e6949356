"""Power: what a pilot says to enlarge decides as often as it promises, and the cheapest that fits is chosen."""

import numpy as np
import pytest

from bertology_utils.verdicts.power import CHANCE, SURE, Price, chosen, prices, spent
from bertology_utils.verdicts.predictions import REPLICATES, UNDERPOWERED, judge, parse

TEXT = parse("a > 0.5 by 0.1")


def judged(n: int, mean: float, seed: int = 0):
    rng = np.random.default_rng(seed)
    return judge(TEXT, None, {"a": rng.normal(mean, 0.5, n)})


def record(chapter: str, identity: str, n: int, seconds: float):
    """Of a claim whose effect is .05 beyond the smallest that would matter, exactly."""
    values = np.random.default_rng(0).normal(0, 1, n)
    values = 0.65 + 0.5 * (values - values.mean()) / values.std(ddof=1)
    found = judge(TEXT, None, {"a": values})
    result = {"id": identity, "verdict": found.verdict, "needs": found.clauses[0].needs}
    result |= {"clauses": [vars(clause) for clause in found.clauses]}
    return {"chapter": chapter, "results": [result], "seconds": {identity: seconds}}


def test_what_is_enlarged_as_told_decides_in_as_many_runs_as_promised():
    (offer,) = prices([record("syntax", "a", 100, 10.0)])
    enlarged = [judged(round(100 * offer.factor), 0.65, seed).verdict for seed in range(400)]
    assert np.mean([word == REPLICATES for word in enlarged]) == pytest.approx(CHANCE, abs=0.06)
    exactly = [judged(round(100 * offer.factor / SURE), 0.65, seed).verdict for seed in range(400)]
    assert np.mean([word == REPLICATES for word in exactly]) == pytest.approx(0.5, abs=0.08)


def test_what_no_amount_would_settle_has_no_price():
    at_its_bar = record("syntax", "a", 100, 10.0)
    clause = at_its_bar["results"][0]["clauses"][0]
    at_its_bar["results"][0]["clauses"] = [clause | {"factor": 0.0}]
    assert not prices([at_its_bar])
    assert spent([at_its_bar]) == [("syntax", pytest.approx(1 / 6), 0, 1)]


def test_the_cheapest_are_chosen_while_their_chapter_has_time():
    offers = [Price("syntax", name, seconds, 2.0, "") for name, seconds in (("c", 30), ("a", 5), ("b", 20))]
    other = Price("layers", "d", 1, 2.0, "")
    take = chosen([*offers, other], {"syntax": 70, "layers": 100}, allowed=100)
    assert [price.claim for price in take] == ["a", "b"]
    assert chosen(offers, {"syntax": 0}, allowed=0) == [] and UNDERPOWERED not in take
