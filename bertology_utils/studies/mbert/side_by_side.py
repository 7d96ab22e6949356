"""What a seed reads and is asked in the experiments on two languages side by side, and how these models are measured.

Depends on `crosslingual` (tags) and `two_languages` (the twin, retrieval). The two languages are read in different
sentences, and a part of the content words stands in no pair of translations: what is asked of these words was not to be
learnt from pairs by heart. A twin that copies English word by word aligns by position alone; `SWITCHED` has the inverse
order. The language is smaller than the chapter's: what stands in a translation is found only after a while, and in
seconds only where few words come often.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bertology_utils.activations import sentence_vectors
from bertology_utils.language.twins import shift_word
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.mbert.crosslingual import zero_shot_tagging
from bertology_utils.tuning.hidden_words import losses as hidden_losses
from bertology_utils.tuning.mlm_training import mlm_losses
from bertology_utils.tuning.two_languages import BilingualRecipe, TwinLanguage, centred_retrieval, tiny_specimen

SAME, SWITCHED = TwinLanguage(), TwinLanguage(inverted=True)
RECIPE = BilingualRecipe(layers=2, width=32, heads=2, inner=64, steps=500, learning_rate=6e-3, budget=256)
ALONE, PAIRED, ASKED, TAGGED = 400, 300, 200, 200  # sentences: of a language, in pairs, held out, for the tagger
NEW = 0.2  # of the content words: those that stand in no pair
LEXICON = {
    "DET": "the this that every",
    "NOUN": "dog cat bird horse child farmer teacher doctor garden house boat tree king queen ship river",
    "VERB": "sees likes helps finds hears follows calls paints moves meets",
    "ADJ": "old young big small red warm happy quiet",
    "ADV": "often never soon again",
    "ADP": "near behind with under",
    "PUNCT": ".",
}
FORMS = (  # all as long, so that length gives no translation away; no place but the last has one class in all
    "DET NOUN VERB DET ADJ NOUN PUNCT",
    "DET ADJ NOUN VERB DET NOUN PUNCT",
    "DET NOUN ADP DET NOUN VERB PUNCT",
    "ADV DET NOUN VERB DET NOUN PUNCT",
    "DET NOUN VERB ADP DET NOUN PUNCT",
    "DET ADJ ADJ NOUN VERB ADV PUNCT",
)
WORDS = [word for words in LEXICON.values() for word in words.split()]
OPEN = ("NOUN", "VERB", "ADJ")
MIDDLE, LAST = 1, 2  # layers of two
Words = Sequence[str]
Models = Sequence[Specimen]
Values = dict[str, Sequence[float]]
"""Sample -> a value a seed."""


class Sentence(NamedTuple):
    """A sentence with its parts of speech."""

    words: tuple[str, ...]
    upos: tuple[str, ...]


@dataclass(frozen=True)
class Texts:
    """What one seed reads and is asked.

    Attributes:
        language: the twin.
        english, foreign: what is read of each language alone, of different content.
        paired: sentences whose translations are known, without a word of `new`.
        asked: sentences that are not read.
        new: words that stand in no pair.
        wrong: whether another sentence stands for each translation, and another word for each word's.
    """

    seed: int
    language: TwinLanguage
    english: Sequence[Sentence]
    foreign: Sequence[Words]
    paired: Sequence[Words]
    asked: Sequence[Sentence]
    new: frozenset[str]
    wrong: bool = False

    @property
    def alone(self) -> list[Words]:
        """What is read of both languages alone."""
        return [*(sentence.words for sentence in self.english), *self.foreign]

    @property
    def sides(self) -> list[Words]:
        """The paired sentences and their translations, as texts of their own."""
        return [*self.paired, *map(self.language.translate, self.paired)]

    def beside(self, wrong: int) -> list[Words]:
        """What stands beside each paired sentence: its translation, or that of another one, by number of the draw."""
        rng = np.random.default_rng([self.seed, wrong])
        meant = mispaired(self.paired, rng) if wrong else range(len(self.paired))
        return [self.language.translate(self.paired[place]) for place in meant]

    @property
    def held_out(self) -> list[Words]:
        """The words of what is asked."""
        return [sentence.words for sentence in self.asked]

    @property
    def held_out_translations(self) -> list[Words]:
        """The same in the twin."""
        return [self.language.translate(words) for words in self.held_out]


def sentences(rng: np.random.Generator, count: int, without: Set[str] = frozenset()) -> list[Sentence]:
    """Sentences of random form and words: what stands around a word tells its class and no more."""
    allowed = {tag: [word for word in words.split() if word not in without] for tag, words in LEXICON.items()}
    forms = [tuple(form.split()) for form in rng.choice(FORMS, count)]
    return [Sentence(tuple(str(rng.choice(allowed[tag])) for tag in form), form) for form in forms]


def draw(seed: int, language: TwinLanguage) -> Texts:
    """The sentences of a seed, and its words that stand in no pair."""
    rng = np.random.default_rng(seed)
    content = [word for tag in OPEN for word in LEXICON[tag].split()]
    new = frozenset(rng.permutation(content)[: round(NEW * len(content))].tolist())
    foreign, asked = [language.translate(s.words) for s in sentences(rng, ALONE)], sentences(rng, ASKED)
    paired = [s.words for s in sentences(rng, PAIRED, new)]
    return Texts(seed, language, sentences(rng, ALONE), foreign, paired, asked, new)


def untrained(texts: Sequence[Texts], recipe: BilingualRecipe = RECIPE) -> list[Specimen]:
    """A model a seed, over the words of both languages."""
    return [tiny_specimen([*WORDS, *map(shift_word, WORDS)], recipe, own.seed) for own in texts]


def mispaired(sentences: Sequence[Words], rng: np.random.Generator) -> np.ndarray:
    """For each sentence the place of another one."""
    order, other = rng.permutation(len(sentences)), np.empty(len(sentences), int)
    other[order] = np.roll(order, 1)
    return other


# ---------------------------------------------------------------- measures, a value a seed


def losses(
    models: Models, texts: Sequence[Texts], readers: Models | None = None, sides: Sequence[str] = ("english", "twin")
) -> list[float]:
    """Masked loss in nats on held-out sentences of both languages, or of one; `readers` read the twin."""
    found = []
    for model, reader, own in zip(models, readers or models, texts, strict=True):
        asked = {"english": (model, own.held_out), "twin": (reader, own.held_out_translations)}
        found.append(float(np.mean([mlm_losses(*asked[side]).mean() for side in sides])))
    return found


def tags(
    models: Models,
    texts: Sequence[Texts],
    words: Sequence[Set[str]] | None = None,
    layer: int = MIDDLE,
    readers: Models | None = None,
    english: bool = False,
) -> list[float]:
    """Share of tags right in the twin, by a linear tagger of English vectors at one layer; of the given words alone.

    `readers` read the twin where other models do; `english` asks English itself, as a positive control.
    """
    found = []
    for place, (model, own) in enumerate(zip(models, texts, strict=True)):
        language = None if english else own.language
        right = zero_shot_tagging(model, own.english[:TAGGED], own.asked, language, readers and readers[place])
        found.append(float(right[layer, _chosen(own, words and words[place])].mean()))
    return found


def commonest(texts: Sequence[Texts], words: Sequence[Set[str]] | None = None) -> list[float]:
    """The share of the most frequent tag among the same words."""
    found = []
    for place, own in enumerate(texts):
        asked = np.array([tag for s in own.asked for tag in s.upos])[_chosen(own, words and words[place])]
        found.append(float(np.unique(asked, return_counts=True)[1].max() / len(asked)))
    return found


def _chosen(own: Texts, words: Set[str] | None) -> np.ndarray:
    """Which words of what is asked are among these, or all: booleans (words,)."""
    return np.array([words is None or word in words for s in own.asked for word in s.words])


def retrieval(models: Models, texts: Sequence[Texts], layer: int = MIDDLE) -> list[float]:
    """Share of held-out sentences whose translation is nearest, each language centred (libovicky2019how)."""
    found = []
    for model, own in zip(models, texts, strict=True):
        sides = (sentence_vectors(model, side)[layer] for side in (own.held_out, own.held_out_translations))
        found.append(float(centred_retrieval(*sides).mean()))
    return found


def use_of_translation(models: Models, texts: Sequence[Texts]) -> list[float]:
    """What a content word gains, in nats, where its sentence's translation stands beside it and not another's.

    One word of each held-out sentence is hidden (lample2019crosslingual).
    """
    found = []
    for model, own in zip(models, texts, strict=True):
        rng = np.random.default_rng(own.seed)
        hidden = np.array([[rng.choice(np.flatnonzero(np.isin(s.upos, OPEN)))] for s in own.asked])
        beside = own.held_out_translations
        others = [beside[other] for other in mispaired(own.held_out, rng)]
        with_others, with_own = (hidden_losses(model, own.held_out, hidden, second) for second in (others, beside))
        found.append(float((with_others - with_own).mean()))
    return found


def transfer(models: Models, texts: Sequence[Texts], layer: int = MIDDLE) -> Values:
    """Losses, tags of the words that stand in no pair, and translations found: a value a seed each."""
    new = [own.new for own in texts]
    found = {"loss": losses(models, texts), "new_words": tags(models, texts, new, layer)}
    return found | {"retrieval": retrieval(models, texts, layer)}


def known(models: Models, texts: Sequence[Texts], new: bool = True, layer: int = MIDDLE) -> Values:
    """For the positive control: tags right in English itself, the most frequent tag's, and losses untrained.

    Of words in no pair, or of all.
    """
    words = [own.new for own in texts] if new else None
    return {
        "english_tags": tags(models, texts, words, layer, english=True),
        "commonest": commonest(texts, words),
        "loss_untrained": losses(untrained(texts), texts),
    }


def compared(arms: Mapping[str, Any], blank: Any, measure: Callable[[Any], Values], control: Values) -> Runs:
    """Each measure of each arm, as `measure_arm`, beside that of untrained models; `control` is the same for both."""
    model = {f"{name}_{arm}": found for arm, of in arms.items() for name, found in measure(of).items()}
    guessed = measure(blank)
    twin = {f"{name}_{arm}": guessed[name] for arm in arms for name in guessed}
    sides = ({name: per_seed(values, ASKED) for name, values in {**side, **control}.items()} for side in (model, twin))
    return Runs(*sides)
