"""The command `study`: experiments of real size that a chapter shows as recorded, unit by unit, so that they resume."""

from typing import Annotated

import typer

from bertology_utils.cli.common import LARGEST_SEED, Root, app, book_folder, prepare_transformers
from bertology_utils.errors import unknown
from bertology_utils.project import DEFAULT_MODEL

STUDIES = {
    "table1": "every row of Table 1, re-enacted",
    "subnetworks": "good, random and bad networks inside a tuned one",
    "finetuning": "pre-trained and random starts, tuned and frozen, and the luck of starts and orders",
    "small-models": "experiments on tiny models of small languages",
    "sizes": "the rungs of the ladder, taught pairs with a shortcut",
}
TOLD = "; ".join(f"{name}: {what}" for name, what in STUDIES.items()) + "."


@app.command()
def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help=TOLD)],
    rows: Annotated[list[str] | None, typer.Option("--row", help="Only this row or task. May be repeated.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, max=1000, help="How many, from --first on.")] = 5,
    first: Annotated[int, typer.Option("--first", min=0, max=LARGEST_SEED - 1000, help="The first seed.")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="Seeds at a time, a core each.")] = 2,
    again: Annotated[bool, typer.Option("--again", help="Measure what is there already too.")] = False,
    model: Annotated[
        str, typer.Option("--model", "-m", help="The model; of Table 1 the teacher. Of sizes the rows are the models.")
    ] = DEFAULT_MODEL,
    root: Root = None,
) -> None:
    """Measure what the recorded table of a study still lacks; an interrupted call goes on where it stopped."""
    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    prepare_transformers(online=False)
    if name == "table1":
        from bertology_utils.compression.methods.registry import METHODS, method
        from bertology_utils.studies.compression import reenacted as units

        chosen, plan = [method(row).row for row in rows or [one.row for one in METHODS]], units.Sizes()
    elif name == "finetuning":
        from bertology_utils.studies.finetuning import study_file as units

        chosen, plan = [units.known_row(row) for row in rows or units.ROWS], units.Plan()
    elif name == "sizes":
        from bertology_utils.families import rungs
        from bertology_utils.studies.generalization import larger_models as units

        chosen, plan = [units.known_row(row) for row in rows or rungs()], units.Plan()
    elif name == "small-models":
        from bertology_utils.studies import small_models as units

        chosen, plan = [units.known_row(row) for row in rows or units.EXPERIMENTS], units.Plan()
    else:
        from bertology_utils.studies.overparametrization import lottery
        from bertology_utils.studies.overparametrization import networks_file as units

        chosen, plan = [lottery.known_task(row) for row in rows or lottery.TASKS], lottery.Plan()
    path, wanted = book_folder(root) / units.PATH, range(first, first + seeds)
    todo = units.missing(path, chosen, wanted, model)
    if again:
        todo = [(row, seed) for seed in wanted for row in chosen]
    print(f"{len(chosen) * seeds - len(todo)} of {len(chosen) * seeds} units are there, {len(todo)} to do.", flush=True)
    units.study(path, todo, model, plan, jobs)
