"""Reading comprehension in miniature: a passage of two sentences, a cloze question, and the passage's nouns as options.

Depends on `lexicon` (words), on `figures` and, for a model's answers, on `cloze`. Nothing is trained: a masked language
model reads passage and question in one input. Views of an item (no passage, words shuffled, question in the other
voice) show what an answer needs, as in si2019what, sugawara2020assessing and rogers2020getting.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from bertology_utils.absent import Absent, unless_absent
from bertology_utils.errors import unknown
from bertology_utils.figures import Figure, bars, table
from bertology_utils.instruments.cloze import MASK, require_known, single_piece, word_log_probability
from bertology_utils.language.lexicon import PERSON, load_lexicon
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import by_unit

Words = tuple[str, ...]
VIEWS = ("full", "no_passage", "shuffled", "paraphrased")
PARTS = 5  # of the items, one for each of as many untrained twins
OBJECTS = ("food", "drink", "tool", "thing", "clothing", "vehicle", "furniture")


@dataclass(frozen=True)
class ReadingItem:
    """A passage, its question in the passage's own words and in the other voice (each with one [MASK]), and options.

    The first option is the answer.
    """

    passage: Words
    question: Words
    paraphrase: Words
    options: Words

    def view(self, name: str, seed: int = 0) -> tuple[Words, Words]:
        """(passage, question) as one of VIEWS shows them."""
        if name not in VIEWS:
            raise unknown("view", name, VIEWS)
        if name == "shuffled":
            words = [word for word in self.passage if word != "."]
            Random(f"{self.passage}-{seed}").shuffle(words)
            return (*words, "."), self.question
        passage = () if name == "no_passage" else self.passage
        return passage, self.paraphrase if name == "paraphrased" else self.question


def reading_items(n: int, seed: int = 0, split: str = "test") -> list[ReadingItem]:
    """`n` items; two deeds without a common content word, the question asks for the doer or the thing of one."""
    lexicon, rng = load_lexicon(split), Random(f"reading-{split}-{seed}")
    verbs = [v for v in lexicon.verbs["transitive"] if set(v.subjects) & set(PERSON) and set(v.objects) & set(OBJECTS)]
    persons = [noun.singular for kind in PERSON for noun in lexicon.nouns[kind]]
    items = []
    while len(items) < n:
        deeds = []
        for doer, verb in zip(rng.sample(persons, 2), rng.sample(verbs, 2), strict=True):
            kind = rng.choice([kind for kind in verb.objects if kind in OBJECTS])
            deeds.append((doer, verb, rng.choice(lexicon.nouns[kind]).singular))
        if deeds[0][2] != deeds[1][2]:
            items.append(_item(deeds, asked=rng.randrange(2), doer=len(items) % 2 == 0))
    return items


def _item(deeds: Sequence[tuple], asked: int, doer: bool) -> ReadingItem:
    passage = tuple(word for a, verb, b in deeds for word in ("the", a, verb.past, "the", b, "."))
    a, verb, b = deeds[asked]
    answer = a if doer else b
    x, y = (MASK, b) if doer else (a, MASK)
    options = [noun for one, _, other in deeds for noun in (one, other) if noun != answer]
    question = ("the", x, verb.past, "the", y, ".")
    return ReadingItem(passage, question, ("the", y, "was", verb.participle, "by", "the", x, "."), (answer, *options))


def known_items(specimen: Specimen, items: Sequence[ReadingItem]) -> list[ReadingItem]:
    """Those of which every option is one known piece, so that options compete on equal terms."""
    return [item for item in items if all(single_piece(specimen, word) is not None for word in item.options)]


def chosen_items(specimen: Specimen, wanted: int, seed: int) -> list[ReadingItem]:
    """At most `wanted` items over the words of both splits, as nothing is trained: every second of the known ones.

    Raises NotAskable where none is known.
    """
    drawn = [item for split in ("train", "test") for item in reading_items(3 * wanted, seed, split)]
    known = known_items(specimen, drawn)[::2][:wanted]
    require_known(specimen, known, "story")
    return known


def shown(item: ReadingItem) -> Figure:
    """An item under every view."""
    views = {view: item.view(view) for view in VIEWS}
    rows = [{"view": view, "passage": " ".join(p), "question": " ".join(q)} for view, (p, q) in views.items()]
    return table(rows, caption=f"One item under four views; options: {', '.join(sorted(item.options))}.")


@unless_absent
def views_figure(reading: Runs | Absent, matcher: Mapping[str, np.ndarray], caption: str) -> Figure:
    """Accuracy under every view, of the model, its twin and a reader that only matches words."""
    shown = {
        view: {"model": reading.model[view], "twin": reading.twin[view], "word matcher": matcher[view]}
        for view in VIEWS
    }
    options = {"baselines": {"chance": 0.25}, "ylabel": "accuracy"}
    return bars(shown, controls=("twin",), caption=caption, **options)


def paraphrases(scores: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Right on the question in the passage's words, `original`, and in the other voice; `fall` is what is lost."""
    original, paraphrased = (np.asarray(scores[view], dtype=float) for view in ("full", "paraphrased"))
    return {"original": original, "paraphrased": paraphrased, "fall": original - paraphrased}


def answers_right(specimen: Specimen, items: Sequence[ReadingItem], view: str = "full") -> np.ndarray:
    """Does the model find the answer most probable among the options? (items,) booleans."""
    shown = [item.view(view) for item in items]
    sentences = [(*passage, *question) for passage, question in shown]
    positions = [words.index(MASK) for words in sentences]
    scores = word_log_probability(specimen, sentences, positions, [item.options for item in items])
    values = scores.log_probabilities
    return values[:, 0] > values[:, 1:].max(1)


def matcher_right(items: Sequence[ReadingItem], view: str = "full") -> np.ndarray:
    """A reader that only matches words: (items,) chances of the answer.

    It fills in each option and takes the one whose filled question shares most runs of two or three words with the
    passage; ties share the point.
    """
    return np.array([_match(item, *item.view(view)) for item in items])


def under_views(
    specimen: Specimen, items: Sequence[ReadingItem], parts: Sequence[int] = range(PARTS)
) -> dict[str, np.ndarray]:
    """`answers_right` under every view: view -> (words,). Many items share the few nouns and verbs that they are of.

    Of the items those of the `parts` are read, so that several twins of one part each cost no more than one of all.
    """
    items = [item for place, item in enumerate(items) if place % PARTS in parts]
    words = [(*item.options, item.question[2]) for item in items]  # "the", noun, verb ...
    return {view: by_unit(answers_right(specimen, items, view), words) for view in VIEWS}


def matched_views(items: Sequence[ReadingItem]) -> dict[str, np.ndarray]:
    """`matcher_right` under every view: view -> (items,)."""
    return {view: matcher_right(items, view) for view in VIEWS}


def _match(item: ReadingItem, passage: Words, question: Words) -> float:
    seen = _runs(passage)
    scores = []
    for option in item.options:
        filled = [option if word == MASK else word for word in question]
        scores.append(len(_runs(filled) & seen))
    best = [i for i, score in enumerate(scores) if score == max(scores)]
    return (0 in best) / len(best)


def _runs(words: Sequence[str]) -> set[Words]:
    return {tuple(words[i : i + length]) for length in (2, 3) for i in range(len(words) - length + 1)}
