"""What each side of a conflict showed: every side is told, numbers come from the table of published figures."""

import pytest
from ledger_toys import claim

from bertology_utils.bibliography import load_references
from bertology_utils.errors import BertologyError
from bertology_utils.pages import conflict_pages, contents
from bertology_utils.verdicts import published
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.conflicts import Conflict, load_conflicts
from bertology_utils.verdicts.sides import EVIDENCE, load_sides

SIDES = {name for conflict in load_conflicts() for name in conflict.pair}


def card(name):
    one = claim(name)
    conflict = Conflict(pair=(name,), kind="tension", theme="layers", about="?")
    return conflict_pages.conflict_card(conflict, {name: contents.Row(one, ())}, {}, str)


def written(tmp_path, text):
    path = tmp_path / "sides.yaml"
    path.write_text(f"one:\n  setting: BERT\n{text}", encoding="utf-8")
    return path


def test_every_side_of_a_conflict_has_its_setting_and_number_or_evidence():
    assert set(load_sides()) == SIDES
    silent = []
    for name, shown in load_sides().items():
        own = claim_by_id(name)
        if not (shown.setting and (shown.text or own.published_text or own.study)):
            silent.append(name)
    assert silent == []


def test_figures_are_of_works_that_the_book_cites():
    assert set(published.table()["study"]) - {"counted"} <= set(load_references())
    assert set(published.table()["provenance"]) == {"repository", "secondary", "survey"}


def test_a_card_prints_numbers_from_the_table_and_the_setting():
    figure = published.published_text("goldberg2019assessing", "Gulordava bert-base-uncased")
    html = card("large-worse-agreement")
    assert f"BERT-base: {figure}; BERT-large: " in html and "383 nonsense sentences" in html


def test_a_side_without_numbers_says_what_kind_of_evidence_there_is():
    assert f"<dd>{EVIDENCE['example']}: a dependency tree" in card("attention-tree-illustration")
    assert "no figures in the survey" not in card("attention-tree-illustration")


def test_figures_beside_a_studys_tables_stay_out_of_its_table():
    items = set(published.published_rows("kovaleva2019revealing")["item"])
    assert "MRPC pretrained frozen" in items and "heads that follow frames" not in items
    assert published.published_text("kovaleva2019revealing", "heads that follow frames") == "2 of 144 heads"


@pytest.mark.parametrize("text", ["  evidence: words", "  evidence: rumour\n  shows: x", "  shows: x"])
def test_a_faulty_side_names_its_claim(tmp_path, text):
    with pytest.raises(BertologyError, match=r"sides\.yaml: one"):
        load_sides(written(tmp_path, text))


def test_a_number_that_no_table_holds_is_refused(tmp_path):
    path = written(tmp_path, "  numbers: {goldberg2019assessing: {BERT-base: Gulordava bert-base}}")
    with pytest.raises(BertologyError, match="Gulordava bert-base-uncased"):
        print(load_sides(path)["one"].text)
