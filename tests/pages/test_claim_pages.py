"""Each claim has a page with all of its results, how to run it and how to cite it."""

import re
from functools import partial

import pytest
from ledger_toys import result
from pybtex.database import parse_string

from bertology_utils.bibliography import load_references
from bertology_utils.pages import claim_pages
from bertology_utils.pages.contents import Row
from bertology_utils.verdicts.claims import load_claims
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES

CLAIMS = {claim.id: claim for claim in load_claims()}
CLAIM = CLAIMS["structural-probe-recovers-trees"]


def of(model: str, profile: str = "live", verdict: str = REPLICATES, **more) -> dict:
    return result(verdict, model=model, profile=profile, date="2026-11-27T10:00:00", commit="a" * 40, **more)


def page(row: Row, versions=None) -> str:
    link = partial("../{}.html".format)
    ((_, _, html),) = claim_pages.claim_pages([row], load_references(), versions or {}, link)
    return html


RESULTS = (
    of("random:pocket-bert", recorded=True),
    of("ladder-1m@400", "full", recorded=True),
    of("minilm", recorded=True),
    of("pocket-bert", "full", CONTRADICTS, recorded=True),
    of("pocket-bert", control_verdict=REPLICATES),
)


def test_this_run_comes_first_and_untrained_networks_last():
    found = [(r["model"], r["profile"]) for r in claim_pages.ordered(RESULTS)]
    assert found == [
        ("pocket-bert", "live"),
        ("pocket-bert", "full"),
        ("minilm", "live"),
        ("ladder-1m@400", "full"),
        ("random:pocket-bert", "live"),
    ]


def test_a_page_holds_every_result_the_command_and_the_dates_of_its_prediction():
    html = page(Row(CLAIM, RESULTS), {CLAIM.id: ["2026-11-26", "2026-11-27"]})
    assert all(r["model"] in html for r in RESULTS) and html.count("+0.3 [+0.200, +0.400]") == len(RESULTS)
    assert f"bertology run {CLAIM.notebook} --claim {CLAIM.id}\n" in html
    assert "2026-11-26, 2026-11-27" in html and f'href="../book/ledger.html#row-{CLAIM.id}"' in html
    assert "in the museum" not in html
    assert f"exhibit-{CLAIM.id}" in page(Row(CLAIM, (of("pocket-bert", verdict=CONTRADICTS),)))


def test_a_claim_that_no_run_has_tested_says_so():
    html = page(Row(CLAIM))
    assert "No run has tested it yet" in html and "not run" in html and "None" not in html


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_the_citation_can_be_read(claim):
    text = claim_pages.bibtex(Row(claim, (of("pocket-bert"),)), load_references())
    entries = parse_string(text, "bibtex").entries
    assert not any(set(entry.fields) & set(claim_pages.OWN_FIELDS) for entry in entries.values())
    assert set(entries) == {f"bertology-executed-{claim.id}", *claim.studies}
    own = entries[f"bertology-executed-{claim.id}"]
    assert own.fields["year"] == "2026" and own.fields["howpublished"] == f"claims/{claim.id}.html"


def test_every_claim_has_its_page_and_text_stays_text():
    rows = [Row(claim, (of("<b>", reason="<i>"),)) for claim in CLAIMS.values()]
    made = list(claim_pages.claim_pages(rows, load_references(), {}, "{}".format))
    assert [name for name, _, _ in made] == [f"claims/{claim}" for claim in CLAIMS]
    assert not any(re.search("<b>|<i>", html) for _, _, html in made)
