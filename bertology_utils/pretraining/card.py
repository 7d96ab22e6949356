"""The model card (`card.md`) and the checksums of a finished run. Depends on `files`, `pairs` and `objectives`."""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bertology_utils.files import read_yaml, write_json, write_text
from bertology_utils.language.pairs import paradigm_title
from bertology_utils.pretraining.objectives import PAIR_TASKS

CARD = Path(__file__).with_name("card.md")

OBJECTIVES, UNITS = read_yaml(CARD.with_name("card.yaml")).values()


def write_card(folder: Path, facts: Mapping[str, Any], rows: Mapping[str, str] | None = None) -> None:
    """Writes `README.md` and `checksums.json` beside the weights in `folder`; `rows` are further lines of the table."""
    table = "\n".join(f"| {name} | {value} |" for name, value in {**_rows(facts), **(rows or {})}.items())
    told = {"table": table, "corpora": _corpora(facts), "languages": ", ".join(facts["language"])}
    text = CARD.read_text(encoding="utf-8").format(**{**facts, **told})
    if facts["attribution"]:
        text += f"\n{facts['attribution'].strip()}\n"
    write_text(folder / "README.md", re.sub(r"\n{3,}", "\n\n", text))
    files = ("model.safetensors", "tokenizer.json")
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
    write_json(folder / "checksums.json", sums)


def add_scores(folder: Path, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Adds a table of scores to the card in `folder` as the section `title`, in place of one of the same name."""
    path = folder / "README.md"
    lines = [f"| {' | '.join(map(str, row))} |" for row in (columns, ["---"] * len(columns), *rows)]
    section = f"## {title}\n\n" + "\n".join(lines) + "\n\n"
    text = path.read_text(encoding="utf-8")
    subject = re.escape(title.partition(" (")[0])  # what it was scored on may have changed
    text = re.sub(rf"## {subject}( \(.*?\))?\n.*?(?=\n## |\Z)", "", text, flags=re.S)
    head, mark, tail = text.partition("## Intended use")
    write_text(path, re.sub(r"\n{3,}", "\n\n", f"{head}{section}{mark}{tail}"))


def add_grammar(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Adds the scores on minimal pairs to the card in `folder`; `rows` as `grammaticality.records` makes them."""
    pairs = min(row["pairs"] for row in rows)
    title = f"Grammar ({rows[0]['data'].capitalize()}, {pairs} pairs a paradigm, in per cent)"
    columns = ("Paradigm", "this model, 95 % interval", "untrained twin")
    add_scores(folder, title, columns, [_grammar_row(row) for row in rows])


def _grammar_row(row: Mapping[str, Any]) -> tuple[str, str, str]:
    interval = f"{row['accuracy']:.1f} [{row['accuracy_low']:.1f}, {row['accuracy_high']:.1f}]"
    return paradigm_title(row["paradigm"]), interval, f"{row['twin']:.1f}"


def _rows(facts: Mapping[str, Any]) -> dict[str, str]:
    model = facts["model"]
    shape = model.config
    parameters = sum(p.numel() for p in model.parameters()) / 1e6
    rows = {
        "Architecture": f"{type(model).__name__}, {shape.num_hidden_layers} layers × {shape.hidden_size} wide × "
        f"{shape.num_attention_heads} heads, {parameters:.1f} million parameters in training{_variant(facts)}",
        "Follows": f"`{facts['study']}`",
        "Vocabulary": _vocabulary(facts),
        "Longest input": f"{shape.max_position_embeddings} pieces",
        "Objectives": _objectives(facts),
        "Training": _history(facts),
        "Optimiser": _optimiser(facts),
        "Held-out loss": f"{facts['mlm_loss']:.3f} nats a masked piece (perplexity {facts['perplexity']:.1f})",
        "Held-out loss by objective": ", ".join(_loss(name, loss) for name, loss in facts["losses"].items()),
        "Weights": "half precision, safetensors; the checksum in `checksums.json` is verified at load",
    }
    if len(facts["labels"]) > 1:
        rows["Segments"] = ", ".join(f"{number} = {name}" for number, name in facts["labels"].items())
    return rows


def _loss(objective: str, loss: float) -> str:
    """A held-out loss in nats; where a sentence pair is judged, beside that of a guess among its classes."""
    classes = PAIR_TASKS.get(objective)
    guess = f" (a guess: {math.log(len(classes)):.3f})" if classes else ""
    return f"{objective} {loss:.3f}{guess}"


def _variant(facts: Mapping[str, Any]) -> str:
    told = [
        (facts["shared_layers"], "one block for all layers"),
        (facts["embedding_width"], f"embeddings factorised to {facts['embedding_width']}"),
        (
            facts["cls_normalisation"],
            "[CLS] standardised before the pooler, which took the standardisation in at the end",
        ),
    ]
    return "".join(f"; {text}" for condition, text in told if condition)


def _vocabulary(facts: Mapping[str, Any]) -> str:
    origin = (
        "of the model it started from" if facts["start"] else "given" if facts["tokenizer"] else "trained on this text"
    )
    worst, case = max(facts["unknown_shares"].values()), "cased" if facts["cased"] else "uncased"
    return f"{facts['vocabulary']:,} WordPieces, {case}, {origin}; at most {worst:.3%} [UNK] in held-out text"


def _objectives(facts: Mapping[str, Any]) -> str:
    """The objectives of the phases one after another, with the weights of their losses where they differ from 1."""
    config, masking = facts["config"], facts["config"].masking
    phases = []
    for phase in config.phases:
        weights = config.objectives_of(phase)
        told = [OBJECTIVES[name] + (f" (× {weight:g})" if weight != 1 else "") for name, weight in weights.items()]
        phases.append(", ".join(told))
    text = "; then ".join(dict.fromkeys(phases))
    if "masked-tokens" not in config.all_objectives:
        return text
    shares = f"{masking.share:.0%}; {masking.hidden:.0%} {masking.symbol}, {masking.replaced:.0%} random"
    drawn = "drawn anew at every step" if masking.copies is None else f"{masking.copies} fixed masks a text"
    subsampled = ", rare ones more often" if masking.subsample else ""
    return f"{text}. Masks: {UNITS[masking.unit]}{subsampled} ({shares}), {drawn}"


def _history(facts: Mapping[str, Any]) -> str:
    config = facts["config"]
    stages = [
        f"{p.steps:,} steps at length {p.length} on {', '.join(p.mixture or config.corpora)}" for p in config.phases
    ]
    smoothed = f"; corpora weighed by size to the power {config.smoothing}" if config.smoothing is not None else ""
    stacked = f"; blocks started from those of {config.stack} (progressive stacking)" if config.stack else ""
    started = "; started from another model's weights" if config.start else ""
    effort = f"{facts['tokens'] / 1e6:.1f} million pieces in {facts['seconds'] / 60:.0f} minutes"
    return f"{effort}: {'; '.join(stages)}{smoothed}{stacked}{started}; seed {config.seed}"


def _optimiser(facts: Mapping[str, Any]) -> str:
    muon = facts["matrix_learning_rate"]
    blocks = f"; Muon for the matrices of the blocks ({muon:g})" if muon is not None else ""
    precision = ", bf16 autocast" if facts["precision"] == "bfloat16" else ", float32"
    return (
        f"AdamW ({facts['learning_rate']:g}){blocks}; batches of {facts['batch'] * 64:,} pieces{precision}, no dropout"
    )


def _corpora(facts: Mapping[str, Any]) -> str:
    lines = ["| Corpus | held-out loss | [UNK] |", "| --- | --- | --- |"]
    for name, loss in facts["corpus_losses"].items():
        lines.append(f"| {name} | {loss:.3f} | {facts['unknown_shares'][name]:.3%} |")
    return "\n".join(lines)
