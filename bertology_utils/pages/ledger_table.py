"""The index page's numbers; the ledger page: all claims, counts and expected errors; and the systems of the survey.

Depends on `contents` and `tallies` for what is said; the templates say it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from bertology_utils.bibliography import Reference, short_name
from bertology_utils.files import read_yaml
from bertology_utils.pages import tallies
from bertology_utils.pages.contents import NOT_RUN, SHARES, SYSTEMS, VERDICTS, Row, deciding_clause, verdict_of
from bertology_utils.templates import render
from bertology_utils.verdicts.cards import size_text
from bertology_utils.verdicts.predictions import NOT_SPECIFIC

Link = Callable[[str], str]  # from a document such as `notebooks/syntax` to a relative address
COLUMNS = ("Claim", "Published", "Recorded", "Here (live)", "Untrained", "q", "Verdict")
WORDS = {"verdict_of": verdict_of, "clause_of": deciding_clause, "size_of": size_text}  # for `measured.html`
LONG = 70  # letters of a published figure that a row shows without unfolding


def study_names(row: Row, references: Mapping[str, Reference]) -> str:
    """The studies behind a claim in a few words."""
    names = [short_name(references[key]) for key in row.claim.studies if key in references]
    return ", ".join(names) or "the survey itself"


def ledger_table(rows: Sequence[Row], references: Mapping[str, Reference], link: Link) -> str:
    """Every claim as one row; complete without JavaScript, stacked into cards on a phone."""
    counts = Counter(row.verdict for row in rows)
    cited = {key for row in rows for key in row.claim.studies} & set(references)
    options = {
        "section": [(name, name) for name in dict.fromkeys(row.claim.section for row in rows)],
        "verdict": [(name, f"{name} ({counts[name]})") for name in VERDICTS if counts[name]],
        "study": sorted(
            ((key, short_name(references[key])) for key in cited), key=lambda pair: (pair[1].lower(), pair)
        ),
    }
    studies = partial(study_names, references=references)
    return render(
        "ledger.html", rows=rows, link=link, columns=COLUMNS, options=options, studies=studies, long=LONG, **WORDS
    )


def ledger_summary(rows: Sequence[Row]) -> str:
    """Counts of this run's verdicts, how many of them are expected to be false, what that leaves out, and which rest on
    older intervals."""
    training, unamended, _ = found = tallies.tallies(rows)
    counts = [tally for tally in found if tally.tested]
    amended, leads = training.tested - unamended.tested, tallies.leads_by_twins(rows)
    recorded = [result for row in rows for result in row.recorded]
    older = sum(bool(result.get("intervals_only")) for result in recorded)
    every = sum(verdict_of(result) != NOT_RUN for result in recorded)
    said = {"words": SHARES, "errors": tallies.errors(rows), "older": older, "every": every}
    return render("counts.html", counts=counts, training=training, amended=amended, leads=leads, **said)


def systems_table(rows: Mapping[str, Row], link: Link) -> str:
    """Every system and method that the survey names, with the chapter that treats it."""
    systems: list[dict[str, Any]] = read_yaml(SYSTEMS)
    return render("systems.html", systems=[(system, rows.get(system["claim"])) for system in systems], link=link)


def headline(rows: Sequence[Row], link: Link) -> str:
    """This run's numbers and figure, and a table of the recorded runs."""
    training, unamended, checks = tallies.tallies(rows)
    return render(
        "headline.html",
        training=training,
        unamended=unamended,
        checks=checks,
        errors=tallies.errors(tallies.about_training(rows)),
        figure=twin_figure(training, tallies.twin_tally(rows)),
        recorded=[(*run, *tallies.tallies(rows, chosen)) for run, chosen in tallies.by_run(rows).items()],
        link=link,
        claims=len(rows),
    )


def twin_figure(model: tallies.Tally, twins: tallies.Tally) -> str:
    """Bars: verdicts on the claims about training, of the trained model and of its untrained control."""
    said = (
        f"Of {model.tested} claims about what training teaches, {model.replicate} replicate specifically. Untrained "
        f"networks meet {twins.counts[NOT_SPECIFIC]} of the {twins.tested} that they were judged on too: of these "
        "training is not the reason."
    )
    return share_figure({"Trained": model.counts, "Untrained": twins.counts}, said) if model.tested else ""


def share_figure(found: Mapping[str, Counter[str]], said: str) -> str:
    """A bar for each label with the shares of its verdicts; `said` says it in words."""
    words = [word for word in SHARES if any(counts[word] for counts in found.values())]
    return render("shares.html", bars=found, words=words, said=said)
