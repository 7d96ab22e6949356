"""The experiment on what next-sentence prediction costs within a language and across two.

Depends on `side_by_side` (sentences and measures), `parallel_tasks` (training) and `objectives` (pairs). A document is
two sentences of one theme, which is a half of the content words, and the second has other determiners; both sentences
of a pair are of one language. So a next sentence is told by its theme and, more easily, by words that open a document,
in either language alike. The tagger of English has seen one noun, one verb and one adjective: there is something to be
gained within English as well as across.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from bertology_utils.models import Specimen
from bertology_utils.pretraining.objectives import next_sentence_pairs
from bertology_utils.runs import Runs
from bertology_utils.studies.mbert import parallel_tasks as tasks
from bertology_utils.studies.mbert import side_by_side as lab
from bertology_utils.studies.mbert.parallel_tasks import Feed, Heads
from bertology_utils.studies.mbert.side_by_side import (
    LEXICON,
    OPEN,
    RECIPE,
    SAME,
    Models,
    Sentence,
    Texts,
    Values,
    Words,
)
from bertology_utils.tuning.tiny_pretraining import next_heads, pair_batches

KNOWN = 1  # words of each class of content words that the tagger has seen
DETERMINERS = frozenset({"that", "every"}), frozenset({"the", "this"})
"""Of the first sentence of a document, and of the second."""
Corpus = Sequence[Sequence[Words]]
"""Documents of one language."""


@dataclass(frozen=True)
class Documents(Texts):
    """Texts of which documents are read: `english` are those of the tagger, and `new` the words that it lacks.

    Attributes:
        read, told: documents of each language that are read, and others, of whose pairs it is asked.
    """

    read: Sequence[Corpus] = ()
    told: Sequence[Corpus] = ()


def draw(seed: int) -> Documents:
    """The documents of a seed; which words are of a theme, and which the tagger knows, is drawn for each."""
    rng = np.random.default_rng(seed)
    dealt = [rng.permutation(LEXICON[tag].split()).tolist() for tag in OPEN]
    others = [frozenset(word for words in dealt for word in words[half::2]) for half in (0, 1)]
    new = frozenset(word for words in dealt for word in words[KNOWN:])

    def documents(count: int) -> list[tuple[Sentence, Sentence]]:
        sides = ([lab.sentences(rng, count, other | later) for later in DETERMINERS[::-1]] for other in others)
        return [document for openers, next_ones in sides for document in zip(openers, next_ones, strict=True)]

    english, foreign, told = (documents(count) for count in (lab.ALONE, lab.ALONE, lab.ASKED))
    held_out = list(chain(*documents(lab.ASKED // 4)))
    tagged = lab.sentences(rng, lab.TAGGED, new)
    return Documents(seed, SAME, tagged, [], [], held_out, new, read=_both(english, foreign), told=_both(told, told))


def _both(english: Sequence[Sequence[Sentence]], foreign: Sequence[Sequence[Sentence]]) -> tuple[Corpus, Corpus]:
    """The words of English documents, and of others in the twin."""
    first = [[s.words for s in document] for document in english]
    return first, [[SAME.translate(s.words) for s in document] for document in foreign]


def asked(model: Specimen, own: Documents) -> Feed:
    """Masked words in pairs, half of them from two documents, with the class of each pair (devlin2019bert)."""
    return pair_batches(model, own.read, own.seed, RECIPE.budget, 0.5)


def unasked(model: Specimen, own: Documents) -> Feed:
    """The same masked pairs without their classes."""
    return ((batch, None) for batch, _ in asked(model, own))


def next_sentences(seeds: Sequence[int]) -> Runs:
    """Tags within English and across to the twin, after the same pairs with and without next-sentence prediction.

    within_*, across_*: tags right of the words that the tagger lacks, in English and in the twin; told_*: new pairs
    that are rightly called next sentences or not; of the arms with_nsp and without_nsp (wang2019crosslingual).
    commonest: the share of the most frequent tag.
    """
    texts = [draw(seed) for seed in seeds]
    words = [own.new for own in texts]
    arms = {
        name: tasks.train(lab.untrained(texts), texts, task)
        for name, task in {"with_nsp": asked, "without_nsp": unasked}.items()
    }

    def measure(of: tuple[Models, Heads]) -> Values:
        models, heads = of
        within, across = (lab.tags(models, texts, words, english=english) for english in (True, False))
        return {"within": within, "across": across, "told": next_told(models, heads, texts)}

    blank = lab.untrained(texts), next_heads(RECIPE.width, seeds)
    return lab.compared(arms, blank, measure, {"commonest": lab.commonest(texts, words)})


def next_told(models: Models, heads: Heads, texts: Sequence[Documents]) -> list[float]:
    """Share of new pairs of both languages, half of them next sentences, that are told so."""
    found = []
    for place, (model, own) in enumerate(zip(models, texts, strict=True)):
        rng = np.random.default_rng(own.seed)
        pairs = [pair for documents in own.told for pair in next_sentence_pairs(documents, rng)]
        firsts, seconds, classes = zip(*pairs, strict=True)
        told = tasks.classes_told(model, heads, place, firsts, seconds)
        found.append(float(np.mean(told.numpy() == classes)))
    return found


EXPERIMENTS = {"next-sentences-in-two-languages": next_sentences}
