"""Commands that run chapters and build the book of them; each loads what it needs when it is called."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from bertology_utils.cli.common import (
    LARGEST_SEED,
    MANY,
    Chapters,
    Claims,
    Jobs,
    Model,
    Profile,
    Root,
    app,
    book_folder,
    prepare_transformers,
    show,
)
from bertology_utils.errors import BertologyError
from bertology_utils.project import DEFAULT_MODEL, DEFAULT_PROFILE, chosen_chapters


@app.command()
def run(
    chapters: Chapters = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="See `bertology models`; also a folder or a hub id. May be repeated."),
    ] = None,
    profile: Profile = DEFAULT_PROFILE,
    jobs: Jobs = 2,
    scheduler: Annotated[str | None, typer.Option(help="A running dask scheduler, tcp://host:port.")] = None,
    seed: Annotated[list[int] | None, typer.Option(min=0, max=LARGEST_SEED, help="May be repeated; 0.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Run fresh chapters again.")] = False,
    online: Annotated[bool, typer.Option("--online", help="Let chapters use the network.")] = False,
    record: Annotated[bool, typer.Option("--record", help="Keep the results under results/runs/ as well.")] = False,
    claim: Claims = None,
    root: Root = None,
) -> None:
    """Execute chapters on models, in parallel, and keep what is fresh."""
    from bertology_utils.project import plan
    from bertology_utils.verdicts.recorded import keep, require_keepable, result_of

    folder = book_folder(root)
    planned = [job for one in dict.fromkeys(seed or [0]) for job in plan(folder, chapters, model, profile, one, online)]
    planned = only_claims(planned, claim, named=bool(chapters))
    if record:
        require_keepable(planned)
    planned = executed(planned, online, workers=jobs, scheduler=scheduler, force=force or bool(claim))
    if claim:
        show(
            ["claim", "model", "verdict", "effect", "interval"],
            [
                (r["id"], r["model"], r["verdict"], *effect_and_interval(r))
                for job in planned
                for r in result_of(job)["results"]
            ],
        )
        for job in planned:
            print(f"Sentences and figures, until the next claim of this chapter: {job.notebook.relative_to(folder)}")
    if record and planned:
        written = keep(planned)
        print(f"Recorded {len(written)} runs under {written[0].parents[2].relative_to(planned[0].root)}/")


def executed(planned: list, online: bool = False, **options: Any) -> list:
    """Runs jobs, as `run_jobs` with these options, and gives back those that ran to their end.

    Before any kernel starts the models are checked, and what they lack is said.
    """
    from bertology_utils.running.checking import lacking
    from bertology_utils.running.runner import run_jobs

    console = Console(stderr=True)

    def check_models(stale: list) -> None:
        for line in lacking(stale[0].root, (job.model for job in stale), lambda: prepare_transformers(online)):
            console.print(escape(line), highlight=False, soft_wrap=True)

    return run_through(planned, run_jobs(planned, online=online, console=console, first=check_models, **options))


def only_claims(planned: list, claims: list[str] | None, named: bool) -> list:
    """The planned jobs of the claims' chapters, each for its claims alone; all of them where no claim is asked for.

    Raises `BertologyError` for an unknown claim, and for one that is not of the chapters that were `named`.
    """
    from bertology_utils.verdicts.claims import claim_by_id

    if not claims:
        return planned
    chapters = {claim: claim_by_id(claim).notebook for claim in dict.fromkeys(claims)}
    for claim, chapter in chapters.items():
        if named and chapter not in {job.chapter for job in planned}:
            raise BertologyError(f"The claim '{claim}' is tested in the chapter '{chapter}'.")
    own = ((job, tuple(claim for claim, chapter in chapters.items() if chapter == job.chapter)) for job in planned)
    return [replace(job, claims=wanted) for job, wanted in own if wanted]


def run_through(planned: list, outcomes: list) -> list:
    """The jobs that ran to their end, now or before, without those that the model left out.

    Raises `BertologyError` with the names of those that failed.
    """
    from bertology_utils.running.execution import LEFT_OUT

    ended = {status: [o.job for o in outcomes if o.status == status] for status in ("failed", LEFT_OUT)}
    if failed := ended["failed"]:
        names = ", ".join(sorted(job.label for job in failed))
        texts = sorted(str(job.traceback.relative_to(job.root)) for job in failed if job.traceback.is_file())
        told = f"\nFull text: {', '.join(texts)}" if texts else ""
        raise BertologyError(f"{len(failed)} of {len(planned)} failed: {names}{told}")
    return [job for job in planned if job not in ended[LEFT_OUT]]


@app.command()
def rerun(
    chapters: Chapters = None,
    model: Model = DEFAULT_MODEL,
    profile: Profile = DEFAULT_PROFILE,
    seeds: Annotated[int, typer.Option(min=2, max=MANY, help="Reruns, with the seeds 1, 2, ...")] = 5,
    jobs: Jobs = 2,
    out: Annotated[Path | None, typer.Option(help="The table; results/reruns.csv by default.", dir_okay=False)] = None,
    claim: Claims = None,
    root: Root = None,
) -> None:
    """Run chapters again with other seeds, keep their verdicts and how far values spread, and say how many flip."""
    from bertology_utils.verdicts import reruns

    folder = book_folder(root)
    planned = only_claims(reruns.plan_reruns(folder, chapters, model, profile, seeds), claim, named=bool(chapters))
    if profile == "smoke" and out is None:
        raise BertologyError("A smoke run is a test of the code: name a file of your own for its verdicts with --out.")
    planned = executed(planned, workers=jobs, force=bool(claim))
    verdicts = reruns.verdicts_of(planned)
    reruns.write(out or folder / reruns.PATH, verdicts, alone=bool(claim))
    if out is None:
        reruns.write_checks(folder / reruns.CHECKS, reruns.checks_of(planned), alone=bool(claim))
    rows = [
        (chapter, str(found.claims), str(found.seeds), f"{found.flipped}/{found.verdicts}", str(found.opposed))
        for (_, _, chapter), found in reruns.by_chapter(verdicts).items()
    ]
    show(["chapter", "claims", "seeds", "flipped", "opposed"], rows)


@app.command()
def processors(
    chapters: Chapters = None,
    model: Model = DEFAULT_MODEL,
    profile: Profile = DEFAULT_PROFILE,
    jobs: Jobs = 2,
    claim: Claims = None,
    root: Root = None,
) -> None:
    """Run chapters under two instruction sets, as on two processors, and keep which verdicts differ in a table."""
    from bertology_utils.project import plan
    from bertology_utils.verdicts import processors as table
    from bertology_utils.verdicts.recorded import result_of

    folder, records = book_folder(root), {}
    planned = only_claims(plan(folder, chapters, [model], profile), claim, named=bool(chapters))
    for name in table.INSTRUCTIONS:
        with table.instructions(name):
            planned = executed(planned, workers=jobs, force=True)
        records[name] = [result_of(job) for job in planned]
    found = table.compared(planned, **records)
    table.write(folder / table.PATH, found)
    rows = [(row.claim, row.sse, row.avx2, f"{row.moved:.1g}") for row in found if row.sse != row.avx2]
    show(["claim", "sse", "avx2", "effect moved by"], rows)
    print(f"{len(rows)} of {len(found)} verdicts differ")


@app.command()
def build(
    force: Annotated[bool, typer.Option("--force", help="Build even if nothing changed.")] = False,
    root: Root = None,
) -> None:
    """Build the static book from the executed chapters; warnings are errors."""
    from bertology_utils.pages.build import build as build_book

    folder = book_folder(root)
    changed = build_book(folder, force)
    print("Built" if changed else "Nothing changed:", folder / "_build" / "html" / "index.html")


@app.command()
def ledger(
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON list.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Draw them as the README's picture into this SVG file.")] = None,
    readme: Annotated[Path | None, typer.Option(help="Put their counts into this file, between its marks.")] = None,
    root: Root = None,
) -> None:
    """Print the verdicts of the executed chapters, each with its effect, interval and q."""
    from bertology_utils.pages.build import all_results

    folder = book_folder(root)
    claims = all_results(folder)
    if picture is not None or readme is not None:
        write_pictures(folder, claims, picture, readme)
        return
    if as_json:
        print(json.dumps(claims, indent=1, ensure_ascii=False))
        return
    rows = [ledger_line(claim["id"], result) for claim in claims for result in claim["results"]]
    if not rows:
        raise BertologyError("There are no fresh verdicts. Run `bertology run` first.")
    show(["claim", "model", "profile", "verdict", "effect", "95 % interval", "q"], rows)


def write_pictures(folder: Path, claims: list[dict], picture: Path | None, readme: Path | None) -> None:
    """What the README shows of the verdicts: its picture, and the counts between its marks."""
    from bertology_utils.pages.contents import rows_of
    from bertology_utils.pages.numbers import write_numbers
    from bertology_utils.pages.picture import draw

    rows = rows_of(claims)
    if picture is not None:
        print(draw(rows, picture))
    if readme is not None:
        write_numbers(readme, folder, rows)


def ledger_line(identity: str, result: dict) -> tuple[str, ...]:
    """One row of `bertology ledger`; what was judged from recorded intervals alone has a star."""
    effect, interval = effect_and_interval(result)
    q = "" if result.get("q") is None else f"{result['q']:.2g}"
    star = "*" if result.get("intervals_only") else ""
    return identity, result["model"], result["profile"], result["verdict"], effect, interval + star, q


def effect_and_interval(result: dict) -> tuple[str, str]:
    """A result's effect and its interval as tables print them; empty where there are none."""
    effect = "" if result.get("difference") is None else f"{result['difference']:+.3g}"
    return effect, "" if result.get("ci_low") is None else f"{result['ci_low']:+.3g} to {result['ci_high']:+.3g}"


@app.command()
def pdf(
    chapters: Chapters = None,
    out: Annotated[Path | None, typer.Option(help="Where to write; _build/pdf by default.", file_okay=False)] = None,
    root: Root = None,
) -> None:
    """Print built chapters as PDF with the Chromium or Chrome that is here."""
    from bertology_utils.pages.pdf import print_chapters

    folder = book_folder(root)
    for path in print_chapters(folder, chosen_chapters(folder, chapters), out or folder / "_build" / "pdf"):
        print(path)


@app.command()
def teach(
    chapters: Chapters = None,
    out: Annotated[Path | None, typer.Option(help="Where to write; _build/teaching by default.")] = None,
    root: Root = None,
) -> None:
    """Write student notebooks without solutions, slides, grading keys, instructor notes and an nbgrader course."""
    from bertology_utils.pages.teach import teach as write_material

    folder = book_folder(root)
    for chapter, exercises in write_material(folder, chapters, out):
        minutes = sum(exercise.minutes or 0 for exercise in exercises)
        print(f"{chapter}: {len(exercises)} exercises, {minutes} minutes")
    print("Written:", out or folder / "_build" / "teaching")
