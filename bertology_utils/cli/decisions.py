"""Commands about verdicts: what would settle them, how well intervals cover, and the log of predictions."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from bertology_utils.cli.common import MANY, Model, Profile, Root, app, book_folder, show
from bertology_utils.errors import BertologyError
from bertology_utils.files import read_json
from bertology_utils.project import DEFAULT_MODEL, DEFAULT_PROFILE, model_slug


@app.command()
def power(
    model: Model = DEFAULT_MODEL,
    profile: Profile = DEFAULT_PROFILE,
    minutes: Annotated[float, typer.Option("--minutes", min=0, help="That a chapter may take, of one core.")] = 6.0,
    root: Root = None,
) -> None:
    """What the last run spent on its verdicts, and which underpowered ones to enlarge: the cheapest that fit."""
    from bertology_utils.project import plan
    from bertology_utils.verdicts.power import chosen, prices, spent

    records = [found for job in plan(book_folder(root), None, [model], profile) if (found := read_json(job.record))]
    if not records:
        raise BertologyError(f"There is no run of {model} yet: `bertology run` makes one.")
    table = spent(records)
    show(
        ["chapter", "minutes", "decided", "asked"],
        [(chapter, f"{took:.1f}", str(decided), str(asked)) for chapter, took, decided, asked in table],
    )
    offers = prices(records)
    take = chosen(offers, {chapter: 60 * took for chapter, took, *_ in table}, 60 * minutes)
    show(
        ["claim", "chapter", "seconds now", "seconds more", "at least", "enlarge"],
        [
            (
                p.claim,
                p.chapter,
                f"{p.seconds:.0f}",
                f"{p.more:,.0f}",
                p.needs,
                f"{p.factor:.1f} times" if p in take else "",
            )
            for p in offers
        ],
    )


@app.command()
def calibrate(
    repeats: Annotated[int, typer.Option("--repeats", "-n", min=20, max=MANY, help="Of every design.")] = 1000,
    record: Annotated[bool, typer.Option("--record", help="Keep the table as results/calibration.csv.")] = False,
    root: Root = None,
) -> None:
    """Plant effects of known size: do intervals cover them, and do verdicts decide? Fails where they do not."""
    from bertology_utils.provenance import origin
    from bertology_utils.verdicts import calibration

    folder = book_folder(root)
    console, chosen = Console(stderr=True), list(calibration.designs())
    found = []
    for design in track(chosen, "Calibrating", console=console, transient=True):
        found += calibration.calibrations(repeats, [design])
    show(list(calibration.KIND_COLUMNS), calibration.by_kind(found))
    if record:
        calibration.write(folder / calibration.PATH, found, origin(folder))
    own = [(row, said) for row in found if row.estimator == calibration.NEW and (said := calibration.misses(row))]
    missed = [f"{row.kind}, {row.design}: {'; '.join(said)}" for row, said in own] + calibration.behind(found)
    if missed:
        raise BertologyError("\n".join([*missed, f"{len(missed)} of {len(chosen)} designs miss."]))


@app.command()
def seal(root: Root = None) -> None:
    """Append the predictions that changed to the sealed log, results/predictions.jsonl, with the date of now.

    Results under results/runs/ that they leave behind are dropped: no page shows them, and another test measured them.
    """
    from bertology_utils.verdicts import sealed
    from bertology_utils.verdicts.claims import load_claims
    from bertology_utils.verdicts.ledger import drop_uncovered
    from bertology_utils.verdicts.recorded import recorded_paths

    folder = book_folder(root)
    if root is None and folder not in (Path.cwd().resolve(), *Path.cwd().resolve().parents):
        raise BertologyError(f"No book here. To seal the predictions of {folder}, go there or name it with --root.")
    silent = sealed.unexplained(sealed.read(folder / sealed.PATH), load_claims())
    changed = sealed.seal(folder / sealed.PATH)
    for claim in silent:
        print(f"{claim}: its test changed and 'amended' did not, which is right only if no result of it was known.")
    print(f"Sealed: {', '.join(changed)}" if changed else "Every prediction is sealed.")
    if dropped := drop_uncovered(recorded_paths(folder)):
        print(f"{dropped} recorded results were of an earlier test and are dropped.")


@app.command()
def diff(
    first: Annotated[
        Path, typer.Argument(metavar="RUN", help="A folder of records: _executed/PROFILE/MODEL or the like.")
    ],
    second: Annotated[Path, typer.Argument(metavar="OTHER", help="Another, before or after a change.")],
) -> None:
    """List the claims on which two runs differ in verdict, effect or interval; fails where a verdict differs."""
    from bertology_utils.cli.chapters import effect_and_interval
    from bertology_utils.verdicts.differences import differing, read_results

    one, other = read_results(first), read_results(second)
    rows, turned = [], 0
    for claim in differing(one, other):
        sides = [run.get(claim, {"verdict": "not there"}) for run in (one, other)]
        rows.append((claim, *(cell for side in sides for cell in (side["verdict"], *effect_and_interval(side)))))
        turned += sides[0]["verdict"] != sides[1]["verdict"]
    if rows:
        show(["claim", *("verdict", "effect", "95 % interval") * 2], rows)
    counted = f"{len(rows)} of {len(one.keys() | other)} claims differ, {turned} of them in their verdict."
    if turned:
        raise BertologyError(counted)
    print(counted)


@app.command()
def report(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model that was run, or whose results are recorded.")],
    profile: Profile = DEFAULT_PROFILE,
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="The page; report-MODEL.html by default.")] = None,
    root: Root = None,
) -> None:
    """Write one page on one model: its verdicts beside the specimens', strongest and weakest, what was run."""
    from bertology_utils.files import write_text
    from bertology_utils.pages.build import all_results
    from bertology_utils.pages.contents import rows_of
    from bertology_utils.pages.report import report as page_of

    folder = book_folder(root)
    html = page_of(folder, rows_of(all_results(folder)), model, profile)
    path = out or Path(f"report-{model_slug(model)}.html")
    write_text(path, html)
    print(f"{path} is written.")
