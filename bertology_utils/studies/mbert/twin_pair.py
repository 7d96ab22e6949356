"""English and its twin in other letters, read by one small model: what shared words are worth, over seeds.

Depends on `parallel_text` (vectors, tags), `two_languages` (retrieval), `models` and `figures`; `grammaticality` writes
the csv file. The pair of wang2019crosslingual: one arm shares no word with English, the other two word types in five. A
shared word is tagged right by itself, so words in other letters are counted apart: they tell whether shared words help
the rest.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import stats

from bertology_utils import figures
from bertology_utils.figures import Figure
from bertology_utils.files import read_csv
from bertology_utils.language.ten_languages import PIVOT, ParallelSentence
from bertology_utils.models import Specimen, embedded_models, load, twin
from bertology_utils.pretraining.sources import twin_sentence
from bertology_utils.project import find_root
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.statistics import LEVEL, Measurement
from bertology_utils.studies.mbert.parallel_text import STOP, Corpus, learn_tags, read, with_english
from bertology_utils.tuning.two_languages import centred_retrieval

FILE = Path("results") / "twins.csv"
ARMS = {"apart": 0.0, "overlapping": 0.4}
"""Arm -> the share of word types that its twin language has in common with English."""
FAMILY, SEED, TWIN = "twins-", "-seed-", "twin"
RETRIEVAL, TAGGING = "centred retrieval@1", "zero-shot tagging accuracy"
MOVED = "tagging of words in other letters"

Scores = dict[str, np.ndarray]
"""Measure -> mean over items at every layer: (layers + 1,)."""
ByArm = dict[str, dict[str, np.ndarray]]
"""Measure -> arm, or arm untrained -> scores of its seeds: (layers + 1, seeds)."""


def embedded_arm(arm: str) -> list[Specimen]:
    """The embedded models of an arm: `twins-<arm>` and, where they are, its other seeds."""
    return [load(found) for found in embedded_models() if found.startswith(FAMILY) and _arm_of(found) == arm]


def _arm_of(model: str) -> str:
    return model.removeprefix(FAMILY).partition(SEED)[0]


def _seed_of(model: str) -> int:
    return int(model.partition(SEED)[2] or 0)


def twin_corpus(sentences: Sequence[ParallelSentence], overlap: float) -> Corpus:
    """English sentences and their twins in other letters, a share `overlap` of the word types left alone."""

    def twin_of(sentence: ParallelSentence) -> ParallelSentence:
        return replace(sentence, language=TWIN, words=tuple(twin_sentence(word, overlap) for word in sentence.words))

    return {PIVOT: list(sentences), TWIN: [twin_of(sentence) for sentence in sentences]}


def twin_scores(specimen: Specimen, overlap: float, known: Sequence, unseen: Sequence) -> Scores:
    """Retrieval of the twins of the `unseen` English sentences, and their tags by a tagger of the `known` English."""
    corpus = twin_corpus(unseen, overlap)
    vectors = read(specimen, corpus)
    tagger = learn_tags(known, read(specimen, {PIVOT: known}).words[PIVOT])
    correct = tagger(corpus[TWIN], vectors.words[TWIN])
    return {
        RETRIEVAL: with_english(vectors, centred_retrieval)[TWIN].mean(1),
        TAGGING: correct.mean(1),
        MOVED: correct[:, is_moved(corpus)].mean(1),
    }


def is_moved(corpus: Corpus) -> np.ndarray:
    """Which words of the twin are in other letters: booleans (words,); without punctuation, as in `learn_tags`."""
    pairs = zip(corpus[PIVOT], corpus[TWIN], strict=True)
    return np.array(
        [
            word.lower() != other
            for own, moved in pairs
            for word, other, tag in zip(own.words, moved.words, own.upos, strict=True)
            if tag != STOP
        ]
    )


def compare(
    models: Iterable[str], known: Sequence, unseen: Sequence, origin: Mapping[str, str]
) -> Iterator[list[dict]]:
    """The rows of each model in turn, for `grammaticality.record`: its scores beside those of its untrained copy.

    Copies have the random weights of their model's seed, so they differ as the models do.
    """
    for name in models:
        specimen, overlap = load(name), ARMS[_arm_of(name)]
        blank = twin(specimen, seed=_seed_of(name))
        scores, control = (twin_scores(model, overlap, known, unseen) for model in (specimen, blank))
        yield [
            {
                "model": name,
                "overlap": overlap,
                "measure": measure,
                "layer": layer,
                "sentences": len(unseen),
                "score": round(float(score), 4),
                "untrained": round(float(control[measure][layer]), 4),
                "model_sha256": specimen.sha256,
                **origin,
            }
            for measure, values in scores.items()
            for layer, score in enumerate(values)
        ]


def recorded(path: Path | None = None) -> ByArm:
    """The recorded scores of every seed, in the order of the file; empty where nothing is recorded."""
    found: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in read_csv(path or find_root(Path(__file__).parent) / FILE):
        arm = _arm_of(row["model"])
        for name, column in ((arm, "score"), (untrained(arm), "untrained")):
            found[row["measure"]][name][row["model"]].append(float(row[column]))
    return {
        measure: {name: np.array(list(by_seed.values())).T for name, by_seed in arms.items()}
        for measure, arms in found.items()
    }


def tagged(scores: Mapping[str, np.ndarray], known: Sequence, unseen: Sequence) -> Runs:
    """Tags right of words in other letters, the mean of layers 1 to L, (seeds, 1): `no_overlap` and `some_overlap`.

    scores: `recorded` of `MOVED`. majority: of the commonest English tag, in the arm where it does better; the twin's
    side is of untrained copies.
    """
    samples = {"no_overlap": "apart", "some_overlap": "overlapping"}
    guessed = max(commonest_tag(known, twin_corpus(unseen, overlap)) for overlap in ARMS.values())
    sides = (
        {name: per_seed(scores[of(arm)][1:].mean(0)) for name, arm in samples.items()} | {"majority": guessed}
        for of in (str, untrained)
    )
    return Runs(*sides, networks=scores["apart"].shape[1])


def commonest_tag(known: Sequence[ParallelSentence], corpus: Corpus) -> float:
    """Share of the twin's words in other letters that have the commonest tag of the known sentences."""
    usual = Counter(tag for row in known for tag in row.upos if tag != STOP).most_common(1)[0][0]
    tags = np.array([tag for row in corpus[TWIN] for tag in row.upos if tag != STOP])
    return float((tags[is_moved(corpus)] == usual).mean())


def untrained(arm: str) -> str:
    """What the untrained copies of an arm's models are called."""
    return f"{arm}, untrained"


def recorded_lines(measure: str, scores: Mapping[str, np.ndarray]) -> Figure:
    """A measure over layers, the arms and their untrained copies: (layers + 1, seeds) each."""
    seeds = min(values.shape[1] for values in scores.values())
    arms = "the model without shared words, of that with them, and their untrained copies"
    caption = f"{seeds} seeds of {arms}, by layer; recorded."
    return figures.layer_lines(scores, controls=list(map(untrained, ARMS)), ylabel=measure, caption=caption)


def gain(scores: Mapping[str, np.ndarray]) -> Measurement:
    """What shared words add, in points, over seeds: the mean of layers 1 to L, overlapping minus apart."""
    return _difference(*(100 * scores[arm][1:].mean(0) for arm in ARMS))


def learnt_gain(scores: Mapping[str, np.ndarray]) -> Measurement:
    """What shared words add to learning: `gain`, with every model's untrained copy subtracted from it first."""
    return _difference(*(100 * (scores[arm] - scores[untrained(arm)])[1:].mean(0) for arm in ARMS))


def learnt_apart(scores: Mapping[str, np.ndarray]) -> Measurement:
    """What learning adds where no word is shared, in points, over seeds: the mean of layers 1 to L, minus untrained."""
    gains = 100 * (scores["apart"] - scores[untrained("apart")])[1:].mean(0)
    interval = stats.ttest_1samp(gains, 0).confidence_interval(LEVEL)
    return Measurement(
        float(gains.mean()), float(interval.low), float(interval.high), n=1, seeds=len(gains), unit=" points"
    )


def told(measure: str, scores: Mapping[str, np.ndarray]) -> str:
    """What learning adds without a shared word and what shared words add, also beyond untrained copies, in words."""
    learnt = learnt_gain(scores)
    if learnt.low > 0:
        judged = "learning adds more with them"
    elif learnt.high < 0:
        judged = "learning adds less with them, since untrained copies score higher with them"
    else:
        judged = "whether learning adds more with them stays open"
    return (
        f"Without one shared word, learning adds {learnt_apart(scores)} to {measure}, averaged over the blocks. Shared "
        f"words add {gain(scores)}. Beyond what they add to untrained copies, this is {learnt}: {judged}."
    )


def asked_here(known: Sequence, unseen: Sequence) -> str:
    """The embedded models of both arms, asked now: the mean of each measure over their blocks, in words."""
    return "\n\n".join(
        _scores_in_words(model, twin_scores(model, overlap, known, unseen), len(unseen))
        for arm, overlap in ARMS.items()
        for model in embedded_arm(arm)
    )


def _scores_in_words(model: Specimen, scores: Scores, sentences: int) -> str:
    means = ", ".join(f"{measure} {values[1:].mean():.2f}" for measure, values in scores.items())
    return f"`{model.name}` asked here, {sentences} sentences, mean of its blocks: {means}."


def _difference(apart: np.ndarray, overlapping: np.ndarray) -> Measurement:
    """With Welch's interval; two seeds of each at the least."""
    interval = stats.ttest_ind(overlapping, apart, equal_var=False).confidence_interval(LEVEL)
    value, seeds = overlapping.mean() - apart.mean(), min(len(apart), len(overlapping))
    return Measurement(float(value), float(interval.low), float(interval.high), n=1, seeds=seeds, unit=" points")
