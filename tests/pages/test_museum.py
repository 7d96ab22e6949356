"""The museum: which claims are shown, in which order, and what its sentences say of what is recorded."""

import pytest
from family_toys import make_family
from ledger_toys import Balance, claim, result

from bertology_utils.pages import contents, extension, museum
from bertology_utils.pages.exhibits import Exhibit, margin, why

HOLDS, OPEN, FAILS = "replicates", "underpowered", "contradicts"
RUNGS = ("ladder-2m", "ladder-10m")


def failed(effect=-0.1, low=-0.2, high=0.0, smallest=0.1, **changes):
    """A live result that contradicts; the untrained twin's effect is 0.05."""
    clause = {"text": "a > b by 0.1", "left": 0.4, "right": 0.5, "effect": effect, "low": low, "high": high,
              "smallest": smallest, "verdict": FAILS}  # fmt: skip
    return result(FAILS, clauses=[clause], control_clauses=[clause | {"effect": 0.05}], **changes)


def row_of(*results, **changes):
    (row,) = contents.rows_of([{"id": "one", "results": list(results)}], [claim("one", **changes)])
    return row


def recorded(verdict, **changes):
    return result(verdict, recorded=True, **changes)


def page_of(tmp_path, rows):
    return " ".join(museum.museum_part(tmp_path, rows, lambda document: f"../{document}.html").split())


def told(row):
    return " ".join(why(Exhibit.of(row), RUNGS))


def test_an_exhibit_shows_claim_figures_and_links_and_nothing_is_markup(tmp_path):
    fails = row_of(failed(), statement="<b>x</b>", published="<i>90 %</i>", study={"a": 0.8, "b": 0.5},
                   prediction="a > b by 0.1", studies=("tenney2019bert",))  # fmt: skip
    page = page_of(tmp_path, [fails])
    for words in ('href="../notebooks/syntax.html#claim-one">&lt;b&gt;x&lt;/b&gt;</a>', "Tenney et al. 2019",
                  "Published: &lt;i&gt;90 %&lt;/i&gt;", "effect -0.1 [-0.200, +0.000]", "where +0.1 would matter",
                  "untrained +0.05", "in the study +0.3", 'href="../book/ledger.html#row-one"'):  # fmt: skip
        assert words in page
    assert "<b>x" not in page and "<i>" not in page and Balance(page).open == []
    assert page.count('class="track"') == 1 and page.count('<span class="mark-published" style') == 1


def test_only_claims_about_training_that_are_contradicted_are_shown(tmp_path):
    page = page_of(tmp_path, [row_of(failed()), row_of(failed(), checks="a size"), row_of(result(HOLDS))])
    assert "1 of 2 tested claims about training is contradicted" in page and page.count("<article") == 1


def test_an_empty_museum_says_why(tmp_path):
    assert "None of the 1 tested claims about training is contradicted" in page_of(tmp_path, [row_of(result(HOLDS))])
    assert "<code>make book</code>" in page_of(tmp_path, [row_of()])


def test_a_chapters_exhibits_stand_by_how_far_their_interval_lies_from_what_would_matter(tmp_path):
    near, far, exact = failed(), failed(low=-0.11, high=-0.09), failed(low=-0.1, high=-0.1)
    results = {"near": near, "far": far, "exact": exact, "elsewhere": near}
    claims = [claim(name, notebook="layers" if name == "elsewhere" else "syntax") for name in results]
    entries = [{"id": name, "results": [found]} for name, found in results.items()]
    page = page_of(tmp_path, contents.rows_of(entries, claims))
    places = [page.index(f'id="exhibit-{name}"') for name in ("exact", "far", "near", "elsewhere")]
    assert places == sorted(places) and page.index('id="room-layers"') > places[2]


def test_what_the_strip_shows_lies_where_the_numbers_say():
    track, axis, entry, published = museum.strip_of(Exhibit.of(row_of(failed())))
    assert track.low < -0.2 and track.high > 0.1 and published == []
    assert entry["twins"]["effect"] == [0.05] and axis.sides[0].region.low == 0.1
    alone = failed() | {"control_clauses": []}
    assert museum.strip_of(Exhibit.of(row_of(alone)))[2]["twins"] == {}


@pytest.mark.parametrize(
    "clause, words",
    [
        ({}, "ends 0.1 below the smallest effect that would matter, less than its own width, and includes zero."),
        ({"low": -0.12, "high": -0.1}, "10.0 times its own width, and lies below zero altogether."),
        ({"smallest": 0.0, "high": -0.05}, "The interval ends 0.05 below the bar, less than its own width."),
        ({"low": -0.1, "high": -0.1}, "The value is exact, 0.2 below the smallest effect that would matter."),
    ],
)
def test_the_margin_is_told_in_words(clause, words):
    assert words in margin(Exhibit.of(row_of(failed(**clause))))


def test_a_claim_without_other_evidence_says_so():
    said = told(row_of(failed(control="contradicts", lead=None)))
    assert "This model was not asked on real text. No other model was asked." in said
    assert "With the untrained twin it is contradicted too." in said and "amended" not in said


def test_real_text_other_models_rungs_twins_and_amendments_are_told(tmp_path):
    found = [
        failed(control=HOLDS),
        recorded(FAILS, profile="full", data="ud_english_ewt"),
        recorded(HOLDS, model="minilm"),
        recorded(HOLDS, model="minilm", profile="full", data="ud_english_ewt"),
        recorded(FAILS, model="ladder-2m"),
        recorded(OPEN, model="ladder-10m"),
        recorded(HOLDS, model="ladder-2m@5"),
        recorded(HOLDS, model="random:minilm"),
    ]
    note = "Amended 2026-11-26, when results were known: why."
    row = row_of(*found, note=note)
    for sentence in ("On real text it is contradicted too.", "With minilm it replicates, on real text and on generated",
                     "No rung of the ladder replicates it, on generated text (contradicts 1, underpowered 1).",
                     "With 5 untrained twins it replicates.",
                     "amended when results were known (2026-11-26)."):  # fmt: skip
        assert sentence in told(row)
    page = page_of(make_family(tmp_path), [row])
    assert "asked 1 on real text as well: 1 is contradicted there too, none holds, none read otherwise" in page
    assert "No rung of the ladder" in page and "No rung" not in page_of(tmp_path / "none", [row])


def test_generated_sentences_at_full_size_are_no_real_text(tmp_path):
    row = row_of(failed(), recorded(HOLDS, profile="full", data="embedded"))
    assert "not asked on real text. On more generated text it replicates." in told(row)
    assert "The same model was asked none of these on real text" in page_of(tmp_path, [row])


def test_rungs_that_replicate_are_counted():
    row = row_of(failed(), *(recorded(HOLDS, model=name) for name in RUNGS))
    assert "2 of 2 rungs of the ladder replicate it, on generated text (replicates 2)." in told(row)


def test_the_page_asks_for_it():
    assert extension.PARTS["bertology-museum"][""] is museum.museum_part
