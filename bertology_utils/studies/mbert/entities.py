"""Entities in ten languages: pocket-mbert is tuned to tell names in English, and asked for new ones; recorded.

Depends on `ten_languages_entities` (sentences), `frozen_bottom` (taggers) and `parallel_text` (the model). The score is
the F1 of persons and of places, their mean, over all words, so that always answering O gets nothing. Rivals know no
names. Every seed draws its sentences, the head, the order and which half of the words is taught.
"""

from collections.abc import Sequence

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from bertology_utils.language.lexicon import SPLITS
from bertology_utils.language.ten_languages import LANGUAGES, PIVOT, ParallelSentence
from bertology_utils.language.ten_languages_entities import ARTICLES, CAPITALS, ENTITIES, OTHER, STOP, entity_corpus
from bertology_utils.models import Specimen, load, twin
from bertology_utils.recorded_arms import MODEL, UNTRAINED, Values, one_by_one
from bertology_utils.runs import Runs
from bertology_utils.statistics import mean_interval
from bertology_utils.studies.mbert import frozen_bottom
from bertology_utils.studies.mbert.parallel_text import MULTILINGUAL, Corpus

NAMES = tuple(ENTITIES.values())
TAGS = (OTHER, *NAMES)
TAUGHT, ASKED = 160, 48  # sentences: of English, and of each language
EPOCHS = 6  # of 2 and 6 the better one in English, by the mean F1 of both arms over seeds 9000 and 9001 (not recorded)
WITHOUT = {"written": (), "bare": (CAPITALS, ARTICLES)}  # the cues that each arm takes away
AS = {"written": "as written", "bare": "without capitals and articles"}
LEARNT = 0.8  # F1 in English below which nothing is asked of other languages


def entity_f1(gold: Sequence, told: Sequence, names: Sequence = NAMES) -> float:
    """The mean of the F1 of persons and of places, over all words."""
    return float(f1_score(gold, told, labels=names, average="macro", zero_division=0))


def told_by_model(specimen: Specimen, taught: Sequence[ParallelSentence], asked: Corpus, seed: int) -> Values:
    """The F1 in each language of a copy that is tuned whole on the taught sentences."""
    texts = {code: frozen_bottom.tagged(specimen, rows, tags=TAGS) for code, rows in asked.items()}
    lessons = frozen_bottom.tagged(specimen, taught, tags=TAGS)
    narrow, texts = frozen_bottom.narrowed(specimen, texts | {"taught": lessons})
    tagger = frozen_bottom.tune(narrow, texts.pop("taught"), "none", frozen_bottom.RATES["none"], seed, EPOCHS)
    answers = {code: frozen_bottom.answers(tagger, narrow, text)[:2] for code, text in texts.items()}
    return {code: entity_f1(gold, told, [1, 2]) for code, (told, gold) in answers.items()}


# ---------------------------------------------------------------- rivals


def cues(row: ParallelSentence, place: int) -> list[str]:
    """What a word does in its sentence, also with what those beside it do (one may be an article); capital; place."""
    before, own, after = ("", *row.roles, "")[place : place + 3]
    return [own, f"{before}, {own}", f"{own}, {after}", f"{own}, {_capital(row, place)}", f"word {place}"]


def letters(row: ParallelSentence, place: int) -> list[str]:
    """One to four letters of a word and its ends, and whether it has a capital."""
    word = f" {row.words[place]} "
    return [_capital(row, place), *(word[start : start + n] for n in range(1, 5) for start in range(len(word) - n + 1))]


def _capital(row: ParallelSentence, place: int) -> str:
    """Whether a word has a capital, which the first word of a sentence has anyway."""
    return f"{'capital' if row.words[place][0].isupper() else 'none'}{', first' if place == 0 else ''}"


def rivals(taught: Sequence[ParallelSentence], asked: Corpus) -> dict[str, Values]:
    """The F1 in each language of those that know no names: rival -> language.

    `in_the_place` takes every subject for a name and every place for a city, the best that places alone can do; others
    learn what their clues are worth from the taught sentences.
    """
    places = {code: [ENTITIES.get(row.roles[i], OTHER) for row, i in words(rows)] for code, rows in asked.items()}
    told = {"in_the_place": places}
    for clues in (cues, letters):
        tagger = make_pipeline(CountVectorizer(analyzer=list, binary=True), LinearSVC(random_state=0))
        tagger.fit([clues(*word) for word in words(taught)], gold(taught))
        told[clues.__name__] = {c: tagger.predict([clues(*word) for word in words(rows)]) for c, rows in asked.items()}
    return {name: {code: entity_f1(gold(asked[code]), own[code]) for code in asked} for name, own in told.items()}


def words(rows: Sequence[ParallelSentence]) -> list[tuple[ParallelSentence, int]]:
    """The words that are no stops, as sentence and place."""
    return [(row, place) for row in rows for place, tag in enumerate(row.upos) if tag != STOP]


def gold(rows: Sequence[ParallelSentence]) -> list[str]:
    """Their tags."""
    return [row.upos[place] for row, place in words(rows)]


def of_seed(seed: int) -> tuple[Values, Values]:
    """The F1 by arm and language of the model and of an untrained one, and rival_*: of the best rival there."""
    model = load(MULTILINGUAL)
    sides: dict[str, Values] = {MODEL: {}, UNTRAINED: {}}
    for arm, without in WITHOUT.items():
        halves = [SPLITS[(seed + half) % len(SPLITS)] for half in range(2)]
        taught, asked = (entity_corpus(n, half, seed, without) for n, half in zip((TAUGHT, ASKED), halves, strict=True))
        known = rivals(taught[PIVOT], asked).values()
        sides[MODEL] |= {f"rival_{arm}_{code}": max(own[code] for own in known) for code in asked}
        for side, specimen in zip(sides, (model, twin(model, seed)), strict=True):
            found = told_by_model(specimen, taught[PIVOT], asked, seed)
            sides[side] |= {f"{arm}_{code}": share for code, share in found.items()}
    return tuple(sides.values())


def scores(runs: Runs, arm: str) -> dict[str, dict[str, np.ndarray]]:
    """The samples of an arm by who tells and by language: model, untrained, best rival."""
    sides = {MODEL: (runs.model, arm), UNTRAINED: (runs.twin, arm), "best rival": (runs.model, f"rival_{arm}")}
    return {who: {code: of[f"{name}_{code}"] for code in LANGUAGES} for who, (of, name) in sides.items()}


def score_rows(runs: Runs) -> list[dict[str, str]]:
    """The mean F1, in per cent, of all that tell, by arm; a row of a table a language."""
    columns = {f"{arm}: {who}": own for arm in WITHOUT for who, own in scores(runs, arm).items()}
    return [
        {"asked": about.name} | {name: f"{100 * own[code].mean():.0f}" for name, own in columns.items()}
        for code, about in LANGUAGES.items()
    ]


def told(runs: Runs) -> str:
    """What the recorded samples say: whether English was learnt, and only then in how many languages names are told."""
    return f"{runs.networks} recorded seeds. " + " ".join(_told_of(arm, scores(runs, arm)) for arm in WITHOUT)


def _told_of(arm: str, by: dict[str, dict[str, np.ndarray]]) -> str:
    model, blank, rival = by.values()
    own = "; ".join(f"{who} {of[PIVOT].mean():.0%}" for who, of in by.items())
    own = f"{AS[arm].capitalize()}, the F1 of new names in English: {own}."
    if model[PIVOT].mean() < LEARNT:
        return f"{own} The model *cannot do the task* in the language that taught it, so nothing can be carried over."
    others = [code for code in LANGUAGES if code != PIVOT]
    elsewhere = "; ".join(f"{np.mean([of[code] for code in others]):.0%}" for of in by.values())
    above, below, beyond = (
        sum(mean_interval(first[code] - second[code]).low > 0 for code in others)
        for first, second in ((model, rival), (rival, model), (model, blank))
    )
    return (
        f"{own} In {len(others)} others: {elsewhere}. By 95 % intervals over seeds, one a language, the model is above "
        f"the best rival in {above} of them and below it in {below}; above the untrained network in {beyond}."
    )


EXPERIMENTS = {"entities-in-ten-languages": one_by_one(of_seed, ASKED)}
