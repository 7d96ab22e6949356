"""One page on one model: what stands strongest and weakest, what differs, and errors in a line."""

import pytest
from ledger_toys import Balance, result

from bertology_utils import cli
from bertology_utils.errors import BertologyError
from bertology_utils.pages.contents import Row
from bertology_utils.pages.report import FARTHEST, lines_of, report
from bertology_utils.project import find_root
from bertology_utils.verdicts.claims import load_claims
from bertology_utils.verdicts.predictions import CONTRADICTS, NOT_SPECIFIC, REPLICATES

TAUGHT = [claim for claim in load_claims() if claim.about_training][:4]


def of(effect: float, verdict: str, model: str = "mine", **more) -> dict:
    found = result(verdict, model=model, **more)
    found["clauses"][0] |= {"effect": effect, "smallest": 0.0, "error": 0.1}
    return found


@pytest.fixture
def rows() -> list[Row]:
    results = [
        (of(0.5, NOT_SPECIFIC), of(0.1, CONTRADICTS, "pocket-bert")),
        (of(0.3, REPLICATES),),
        (of(-9.0, CONTRADICTS, reason="<i>why</i>"),),
        (of(0.2, REPLICATES, "other", recorded=True),),
    ]
    return [Row(claim, own) for claim, own in zip(TAUGHT, results, strict=True)]


def test_lines_are_of_claims_that_were_asked_beside_the_specimens(rows):
    lines = lines_of(rows, "mine", "live")
    assert [line.row.claim for line in lines] == TAUGHT[:3] and list(lines[0].others) == ["pocket-bert", "other"]
    assert [line.standing for line in lines] == [pytest.approx(5), pytest.approx(3), -FARTHEST]
    assert [line.differs for line in lines] == [True, False, False]


def test_specific_replications_stand_strongest_and_texts_are_text(rows):
    html = report(find_root(), rows, "mine", "live")
    strongest = html.split("stands strongest")[1].split("stands weakest")[0]
    assert strongest.index(TAUGHT[1].id) < strongest.index(TAUGHT[0].id) and TAUGHT[2].id not in strongest
    assert TAUGHT[2].id in html.split("stands weakest")[1].split("It differs")[0]
    assert "<i>why" not in html and "http-equiv" not in html and "<script" not in html
    assert Balance(html.split("</head>")[1].removesuffix("</html>")).open == []


def test_a_model_without_results_is_told_what_to_run(rows, tmp_path, capsys):
    with pytest.raises(BertologyError, match="bertology run --model nobody --profile full"):
        report(find_root(), rows, "nobody", "full")
    out = tmp_path / "page.html"
    assert cli.main(["report", "nobody", "--out", str(out)]) == 1 and not out.exists()
    assert cli.main(["report", "pocket-minilm", "--out", str(out)]) == 0 and "pocket-minilm" in out.read_text()
