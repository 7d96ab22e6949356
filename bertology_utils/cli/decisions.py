"""Commands about verdicts: what would settle them, how well intervals cover, and the log of predictions."""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from bertology_utils.cli.common import MANY, Profile, Root, app, book_folder, show
from bertology_utils.errors import BertologyError
from bertology_utils.files import read_json
from bertology_utils.project import DEFAULT_MODEL, DEFAULT_PROFILE


@app.command()
def power(
    model: Annotated[str, typer.Option("--model", "-m", help="As for `run`.")] = DEFAULT_MODEL,
    profile: Profile = DEFAULT_PROFILE,
    root: Root = None,
) -> None:
    """What the last run spent on its verdicts, and what would settle the underpowered ones, the cheapest first."""
    from bertology_utils.project import plan
    from bertology_utils.verdicts.power import prices, spent

    records = [found for job in plan(book_folder(root), None, [model], profile) if (found := read_json(job.record))]
    if not records:
        raise BertologyError(f"There is no run of {model} yet: `bertology run` makes one.")
    show(
        ["chapter", "minutes", "decided", "asked"],
        [(chapter, f"{minutes:.1f}", str(decided), str(asked)) for chapter, minutes, decided, asked in spent(records)],
    )
    show(
        ["claim", "chapter", "seconds now", "seconds more", "would settle it"],
        [(p.claim, p.chapter, f"{p.seconds:.0f}", f"{p.more:,.0f}", p.needs) for p in prices(records)],
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
    """Append the predictions that changed to the sealed log, results/predictions.jsonl, with the date of now."""
    from bertology_utils.verdicts import sealed

    changed = sealed.seal(book_folder(root) / sealed.PATH)
    print(f"Sealed: {', '.join(changed)}" if changed else "Every prediction is sealed.")
