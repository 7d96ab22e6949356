"""The index page: claims about training, those of instruments and arithmetic, and other runs. Depends on `tallies`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from bertology_utils.pages import tallies
from bertology_utils.pages.contents import SHARES, Row
from bertology_utils.pages.ledger_table import Link
from bertology_utils.templates import render
from bertology_utils.verdicts.predictions import NOT_SPECIFIC


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
        f"Of {model.tested} claims about what training teaches, {model.replicate} replicate specifically. Of "
        f"{twins.tested} that untrained networks were judged on too, these meet {twins.counts[NOT_SPECIFIC]}, "
        "and training is not why."
    )
    return share_figure({"Trained": model.counts, "Untrained": twins.counts}, said) if model.tested else ""


def share_figure(found: Mapping[str, Counter[str]], said: str) -> str:
    """A bar for each label with the shares of its verdicts; `said` says it in words."""
    words = [word for word in SHARES if any(counts[word] for counts in found.values())]
    return render("shares.html", bars=found, words=words, said=said)
