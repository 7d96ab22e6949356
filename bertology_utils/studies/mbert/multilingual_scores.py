"""Retrieval and transfer of a multilingual model on real text, layer by layer, and their record in a csv file.

Depends on `parallel_text`, `two_languages` (measures), `data` (UD PUD: 1,000 tagged sentences in ten languages;
Tatoeba: pairs with English), `grammaticality` (the csv file), `models`, `statistics` and `figures`. The untrained twin
goes the same way.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from torch import Tensor

from bertology_utils import figures
from bertology_utils.activations import sentence_vectors, word_vectors
from bertology_utils.data import registry as data
from bertology_utils.data.material import EMBEDDED
from bertology_utils.data.readers import split_words
from bertology_utils.errors import BertologyError
from bertology_utils.figures import Figure
from bertology_utils.language.ten_languages import LANGUAGES, OTHERS, PIVOT
from bertology_utils.models import Specimen, load, twin
from bertology_utils.project import find_root
from bertology_utils.runs import TWIN, Runs
from bertology_utils.statistics import Measurement, mean_interval, stratified_mean
from bertology_utils.studies.mbert.crosslingual import lexical_retrieval
from bertology_utils.studies.mbert.parallel_text import (
    ByLanguage,
    Corpus,
    commonest_tag,
    language_bars,
    learn_tags,
    pool,
    tags_by_letters,
)
from bertology_utils.tuning.two_languages import centred_retrieval, sentence_retrieval

AVERAGE = "average"
FILE = Path("results") / "multilingual.csv"
CURVES = Path("results") / "pretraining_curves.csv"
CENTRED = "centred retrieval"
RETRIEVALS = {"retrieval": sentence_retrieval, CENTRED: centred_retrieval}
COUNTING, TAGGING = "counting words", "zero-shot tagging"
TAG_RIVALS = {"tagging by letters": tags_by_letters, "most frequent tag": lambda train, test: commonest_tag(test)}
"""What tags without a model, taught by the English of the first half; they are asked in the second."""
RIVALS = {**dict.fromkeys(RETRIEVALS, (COUNTING,)), TAGGING: tuple(TAG_RIVALS)}
"""What a measure is recorded beside that knows no model."""
LEAD = 0.15  # of the words
FOUND = 0.5  # of the translations
MIDDLE = 0.1, 0.8  # of the pieces that a model read: after the first steps, before the rates fall

Scores = dict[str, ByLanguage]
"""Measure -> language -> correctness (layers + 1, items); a measure that knows no model has one layer."""


@dataclass(frozen=True)
class Material:
    """Language -> sentences: parallel treebanks, and pairs of English and another language.

    Row i says the same in every treebank; of pairs, in both halves of a pair.
    """

    treebanks: Corpus
    pairs: Mapping[str, Sequence[tuple[tuple[str, ...], tuple[str, ...]]]]
    sha256: Mapping[str, str]


def load_material() -> Material:
    """UD PUD and Tatoeba. Raises BertologyError where no source has them."""
    treebanks = {code: data.load(f"ud_pud:{code}") for code in LANGUAGES}
    pairs = {code: data.load(f"tatoeba:{code}") for code in OTHERS}
    return Material(
        {code: loaded.rows for code, loaded in treebanks.items()},
        {code: _pairs(loaded) for code, loaded in pairs.items()},
        {"ud_pud": _joined(treebanks), "tatoeba": _joined(pairs)},
    )


def _pairs(loaded: data.Loaded) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The words of each sentence in English and in the other language."""
    return [(split_words(row.english), split_words(row.text)) for row in loaded]


def _joined(sets: Mapping[str, data.Loaded]) -> str:
    """One checksum over the languages of a set."""
    return hashlib.sha256("".join(loaded.sha256 for loaded in sets.values()).encode()).hexdigest()


def is_short(specimen: Specimen, words: Sequence[str]) -> bool:
    """Whether the model takes the sentence as a whole."""
    pieces = specimen.tokenizer(list(words), is_split_into_words=True, verbose=False)["input_ids"]
    return len(pieces) <= specimen.max_pieces


def treebank_scores(specimen: Specimen, treebanks: Corpus) -> Scores:
    """Retrieval among all sentences, and tags learnt on the English of the first half, asked in the second.

    Sentences that are too long for the model in one language are left out in all.
    """
    treebanks = _short_ones(specimen, treebanks)
    english = treebanks[PIVOT]
    half = len(english) // 2
    known = word_vectors(specimen, [tree.words for tree in english])
    tagger = learn_tags(english[:half], known[:half])
    scores = tag_rivals(treebanks)
    for code in OTHERS:
        trees = treebanks[code]
        vectors = word_vectors(specimen, [tree.words for tree in trees])
        found = _retrievals(_means(known), _means(vectors))
        found[COUNTING] = lexical_retrieval([tree.words for tree in english], [tree.words for tree in trees])[None]
        found[TAGGING] = tagger(trees[half:], vectors[half:])
        for measure, values in found.items():
            scores.setdefault(measure, {})[code] = values
    return scores


def _short_ones(specimen: Specimen, treebanks: Corpus) -> Corpus:
    """The sentences that the model takes as a whole in every language; raises BertologyError for fewer than two."""
    rows = [i for i in range(len(treebanks[PIVOT])) if all(is_short(specimen, t[i].words) for t in treebanks.values())]
    if len(rows) < 2:
        raise BertologyError(f"The treebanks hold no two sentences that are short enough for {specimen.name}.")
    return {code: [trees[i] for i in rows] for code, trees in treebanks.items()}


def tag_rivals(treebanks: Corpus) -> Scores:
    """The scores of `TAG_RIVALS`, in one layer."""
    half = len(treebanks[PIVOT]) // 2
    train, test = (
        {code: trees[part] for code, trees in treebanks.items()} for part in (slice(half), slice(half, None))
    )
    found = {name: rival(train, test) for name, rival in TAG_RIVALS.items()}
    return {name: {code: right[None] for code, right in of_all.items()} for name, of_all in found.items()}


def pair_scores(specimen: Specimen, pairs: Mapping[str, Sequence]) -> Scores:
    """Retrieval among the pairs of each language; pairs that are too long for the model are left out."""
    scores: Scores = {}
    for code, rows in pairs.items():
        sides = list(zip(*(pair for pair in rows if all(is_short(specimen, s) for s in pair)), strict=True))
        found = _retrievals(*(sentence_vectors(specimen, side) for side in sides))
        found[COUNTING] = lexical_retrieval(*sides)[None]
        for measure, values in found.items():
            scores.setdefault(measure, {})[code] = values
    return scores


def _means(words: Sequence[Tensor]) -> Tensor:
    """Word vectors of sentences to one vector each: (layers + 1, sentences, width)."""
    return torch.stack([v.mean(1) for v in words], dim=1)


def _retrievals(source: Tensor, target: Tensor) -> dict[str, np.ndarray]:
    return {name: measure(source, target) for name, measure in RETRIEVALS.items()}


def compare(names: Iterable[str], material: Material, origin: Mapping[str, str]) -> Iterator[list[dict]]:
    """The rows of each model in turn, for `grammaticality.record`: the model's scores beside its untrained twin's."""
    for name in names:
        specimen = load(name)
        scores, control = (_all_scores(model, material) for model in (specimen, twin(specimen)))
        yield [
            {**row, "data_sha256": material.sha256[row["data"]], "model_sha256": specimen.sha256, **origin}
            for row in _rows(specimen, scores, control)
        ]


def _all_scores(specimen: Specimen, material: Material) -> dict[str, Scores]:
    return {
        "ud_pud": treebank_scores(specimen, material.treebanks),
        "tatoeba": pair_scores(specimen, material.pairs),
    }


def _rows(specimen: Specimen, scores: Mapping[str, Scores], control: Mapping[str, Scores]) -> Iterator[dict]:
    """The average of the languages at every layer, and each language at the layer where the average is best."""
    for name, measures in scores.items():
        for measure, languages in measures.items():
            twins = control[name][measure]
            means = [np.mean([values[layer].mean() for values in languages.values()]) for layer in _layers(languages)]
            best = int(np.argmax(means))
            wanted = [(AVERAGE, layer) for layer in _layers(languages)] + [(code, best) for code in languages]
            for language, layer in wanted:
                found = _measurement(languages, language, layer)
                yield {
                    "model": specimen.name,
                    "data": name,
                    "measure": measure,
                    "language": language,
                    "layer": layer if len(means) > 1 else "",
                    "items": found.n,
                    **found.in_per_cent("accuracy"),
                    **_measurement(twins, language, layer).in_per_cent("twin"),
                }


def _layers(languages: ByLanguage) -> range:
    return range(len(next(iter(languages.values()))))


def _measurement(languages: ByLanguage, language: str, layer: int) -> Measurement:
    """Of one language, or the unweighted average of all (`stratified_mean`)."""
    if language == AVERAGE:
        return stratified_mean([values[layer] for values in languages.values()])
    return mean_interval(languages[language][layer])


def recorded(data_set: str, measure: str, model: str, path: Path | None = None, of_all: bool = True) -> pd.DataFrame:
    """The recorded averages of a measure, one row a layer, or its languages; empty where nothing is recorded."""
    path = path or find_root(Path(__file__).parent) / FILE
    if not path.is_file():
        return pd.DataFrame()
    rows = pd.read_csv(path)
    wanted = {"data": data_set, "measure": measure, "model": model}
    found = rows[np.logical_and.reduce([rows[column] == value for column, value in wanted.items()])]
    return found[(found["language"] == AVERAGE) == of_all]


def recorded_leads(model: str, path: Path | None = None) -> dict[str, dict[str, float]]:
    """How far zero-shot tagging of the treebanks is recorded to be ahead of the best of `TAG_RIVALS`.

    Of the model and of its twin: `model` and `twin` -> language -> share of words; empty where nothing is recorded.
    """
    measures = [recorded("ud_pud", name, model, path, of_all=False) for name in (TAGGING, *TAG_RIVALS)]
    if any(found.empty for found in measures):
        return {}
    scores, *rivals = (found.set_index("language") for found in measures)
    best = np.max([rival["accuracy"] for rival in rivals], axis=0)
    return {side: dict((scores[column] - best) / 100) for side, column in (("model", "accuracy"), (TWIN, "twin"))}


def told_leads(generated: Runs, model: str, path: Path | None = None) -> str:
    """In how many languages the tagger is ahead of its best rival by `LEAD`, in words: here, and as recorded.

    Args:
        generated: what `parallel_text.leads` found of each side.
    """
    here = f"Generated: {_in_words(generated.model)}; untrained: {_in_words(generated.twin)}."
    real = recorded_leads(model, path)
    if not real:
        return f"{here} Nothing is recorded on treebanks."
    return f"{here} Treebanks, recorded: {_in_words(real['model'])}; untrained: {_in_words(real[TWIN])}."


def told_reach(model: str, path: Path | None = None, curves: Path | None = None) -> str:
    """How many of the treebanks' translations each language is recorded to find, and where training stood, in words.

    Args:
        curves: the table of held-out losses over a model's training; the repository's by default.
    """
    real = recorded("ud_pud", CENTRED, model, path, of_all=False)
    if real.empty:
        return f"Nothing is recorded of `{model}` on treebanks."
    best = dict(zip(real["language"], real["accuracy"] / 100, strict=True))
    order = sorted(best, key=best.get, reverse=True)
    shares = ", ".join(f"{LANGUAGES[code].name} {best[code]:.0%}" for code in order)
    enough = sum(share >= FOUND for share in best.values())
    told = f"After centring, these shares of the treebanks' translations are found: {shares}."
    told += f" Half are found in {enough} of {len(best)} languages.{_told_counting(best, model, path)}"
    return " ".join(filter(None, [told, _told_curve(model, curves or find_root(Path(__file__).parent) / CURVES)]))


def _told_counting(found: Mapping[str, float], model: str, path: Path | None) -> str:
    """Where counting words in common finds more than a model does; empty where that is not recorded."""
    counted = recorded("ud_pud", COUNTING, model, path, of_all=False)
    if counted.empty:
        return ""
    more = {c: n / 100 for c, n in zip(counted["language"], counted["accuracy"], strict=True) if n / 100 > found[c]}
    named = ", ".join(f"{LANGUAGES[code].name} {share:.0%} against {found[code]:.0%}" for code, share in more.items())
    return f" Counting words in common finds more in {len(more)} of {len(found)}{named and f' ({named})'}."


def _told_curve(model: str, path: Path) -> str:
    """Where a model's loss ended, and what a doubling of its text took off in the middle of its training."""
    rows = pd.read_csv(path) if path.is_file() else pd.DataFrame({"model": []})
    rows = rows[rows["model"] == model]
    if len(rows) < 2:
        return ""
    read, loss = rows["pieces"].to_numpy(), rows["held_out_loss"].to_numpy()
    middle = (read >= MIDDLE[0] * read[-1]) & (read <= MIDDLE[1] * read[-1])
    ended = f"Training ended at {loss[-1]:.2f} nats a masked piece, after {read[-1] / 1e6:.0f} million pieces"
    if middle.sum() < 2:
        return f"{ended}."
    slope = np.polyfit(np.log2(read[middle]), loss[middle], 1)[0]
    first, last = (f"{number / 1e6:.0f}" for number in read[middle][[0, -1]])
    return f"{ended}; from {first} to {last} million each doubling of the text took {-slope:.2f} nats off."


def _in_words(found: Mapping[str, float]) -> str:
    points = ", ".join(f"{LANGUAGES[code].name} {100 * lead:+.0f}" for code, lead in found.items())
    return f"in {sum(lead >= LEAD for lead in found.values())} of {len(found)} languages ({points})"


def beside_real_text(
    generated: Runs, measure: str, model: str, caption: str = "", path: Path | None = None
) -> Figure | Markdown:
    """A measure on generated sentences and, recorded, on the parallel treebanks, beside what is found there without a
    model (`RIVALS`); a sentence where nothing is recorded.

    Args:
        generated: language -> (layers + 1, items) of each side.
        model: whose record it is.
    """
    real = recorded("ud_pud", measure, model, path)
    if real.empty:
        return Markdown(f"No scores of {measure} on real text are recorded for `{model}`.")
    lines = {
        "generated": pool(generated.model).mean(1),
        f"generated, {TWIN}": pool(generated.twin).mean(1),
        "real text": np.asarray(real["accuracy"] / 100),
        f"real text, {TWIN}": np.asarray(real["twin"] / 100),
    }
    rivals = {name: recorded("ud_pud", name, model, path) for name in RIVALS.get(measure, ())}
    return figures.layer_lines(
        lines,
        controls=[name for name in lines if TWIN in name],
        baselines={
            f"{name}, real text": found["accuracy"].mean() / 100 for name, found in rivals.items() if len(found)
        },
        ylabel=measure,
        caption=caption,
    )


def in_news(models: Runs, source: str) -> Figure | Markdown:
    """Translations found in a parallel set of plain text, in each language at the model's best layer, beside a count of
    words in common; a sentence where the source is the book's own.

    Args:
        models: specimens; of the twins the first is asked.
        source: "embedded" or the name of a set of pairs with English.
    """
    if source == EMBEDDED:
        return Markdown("Under the profile `full` the models read news as well.")
    pairs = {code: _pairs(data.load(f"{source}:{code}")) for code in OTHERS}
    scores = Runs(models.model, models.twin).map(lambda model: pair_scores(model, pairs))
    counted = {code: values[0] for code, values in scores.model[COUNTING].items()}
    return language_bars(
        scores[CENTRED],
        "retrieval@1 from English, centred",
        beside={COUNTING: counted},
        caption=f"Translations of English sentences of news found in each language ({source}).",
    )
