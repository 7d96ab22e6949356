"""Labels in the place of segments: what a masked LM then fills in, and what that adds to few labelled sentences.

Depends on `language.lexicon` (words) and `tuning.together`. Of each class of adjectives text has all, and labelled
sentences half. These have one of them and are neutral besides: where it is hidden the label alone tells its class.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from bertology_utils.activations import sentence_vectors
from bertology_utils.language.lexicon import load_lexicon
from bertology_utils.models import Specimen
from bertology_utils.recorded_arms import Values, of_sides
from bertology_utils.runs import Runs
from bertology_utils.text import Words, encode_words, of_segments
from bertology_utils.tuning.hidden_words import hidden_words
from bertology_utils.tuning.mlm_training import endless_batches
from bertology_utils.tuning.together import train_together
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

PRETRAINING = BilingualRecipe(layers=2, width=48, heads=2, inner=96, steps=600, learning_rate=4e-3, budget=240)
TUNING = replace(PRETRAINING, steps=150, learning_rate=2e-3)
CLASSES, OWN, SIGNS, NEUTRAL = 2, 12, 2, (40, 12)  # of each class adjectives and verbs; neutral nouns and verbs
TOLD, UNTOLD = slice(None, OWN // 2), slice(OWN // 2, None)  # adjectives that labelled sentences have, and have not
TEXT, LABELLED, ASKED = 800, 24, 150  # sentences: read, with labels, asked
COPIES, HIDDEN = 8, 3  # of each labelled sentence, and words of a copy that are filled in anew
LEXICON = load_lexicon("train")
ADJECTIVES = sorted({word for own in LEXICON.adjectives.values() for word in own})
NOUNS = sorted({noun.singular for own in LEXICON.nouns.values() for noun in own})
VERBS = sorted({verb.past for own in LEXICON.verbs.values() for verb in own})
VOCABULARY = tuple(dict.fromkeys((*ADJECTIVES, *NOUNS, *VERBS, "the", "who", "was", ".")))
WORDS, GAP, GAP_OF_PHRASE = 9, 7, 3  # of a sentence, and the places of adjectives
ARMS = {"plain": TUNING, "conditional": TUNING, "shuffled": TUNING, "brief": replace(TUNING, steps=TUNING.steps // 10)}


@dataclass(frozen=True)
class World:
    """Adjectives and verbs of classes, (classes, words) each, and neutral words. Sentence i is of `i % CLASSES`."""

    classes: np.ndarray
    signs: np.ndarray
    nouns: np.ndarray
    verbs: np.ndarray

    @classmethod
    def dealt(cls, rng: np.random.Generator) -> "World":
        adjectives, nouns, verbs = (rng.permutation(own) for own in (ADJECTIVES, NOUNS, VERBS))
        signs, neutral = np.split(verbs, [CLASSES * SIGNS])
        classes = adjectives[: CLASSES * OWN].reshape(CLASSES, OWN)
        return cls(classes, signs.reshape(CLASSES, SIGNS), nouns[: NEUTRAL[0]], neutral[: NEUTRAL[1]])

    def sentences(self, count: int, rng: np.random.Generator, words: slice = slice(None)) -> list[Words]:
        """*the baker who met the horse was happy .*, the adjectives of a class in turn."""
        made = []
        for i in range(count):
            own, (who, whom) = self.classes[i % CLASSES, words], rng.choice(self.nouns, 2, replace=False)
            met, adjective = rng.choice(self.verbs), own[i // CLASSES % len(own)]
            made.append(tuple(map(str, ("the", who, "who", met, "the", whom, "was", adjective, "."))))
        return made

    def phrases(self, count: int, rng: np.random.Generator) -> list[Words]:
        """*who smiled was happy*: the verb is a sign of the adjective's class."""
        pairs = [
            (rng.choice(self.signs[i % CLASSES]), self.classes[i % CLASSES, i // CLASSES % OWN]) for i in range(count)
        ]
        return [("who", str(verb), "was", str(adjective)) for verb, adjective in pairs]


def _drawn(world: World, rng: np.random.Generator) -> tuple[list[Words], dict[str, list[Words]]]:
    """Unlabelled text, in most of which a verb tells what belongs together; and the sentences that are asked."""
    text = world.phrases(3 * TEXT // 4, rng) + world.sentences(TEXT // 4, rng)
    parts = {"few": (LABELLED, TOLD), "new": (ASKED, UNTOLD), "known": (ASKED, TOLD)}
    asked = {name: world.sentences(count, rng, words) for name, (count, words) in parts.items()}
    return text, asked | {"phrases": world.phrases(ASKED, rng)}


def labels_of(sentences: Sequence) -> np.ndarray:
    """The class of each of a world's sentences."""
    return np.arange(len(sentences)) % CLASSES


def segments(arm: str, sentences: Sequence) -> np.ndarray:
    """The label of each sentence where an arm is given labels, else the same for all."""
    return labels_of(sentences) * (arm not in ("pretrained", "plain"))


def _train(models: Sequence[Specimen], texts: Sequence, kinds: Sequence, seeds: Sequence[int], recipe: BilingualRecipe):
    """Trains on sentences whose segments are of these kinds, in place; of one seed all arms hide the same words."""
    told = [of_segments(encode_words(models[0], text), own) for text, own in zip(texts, kinds, strict=True)]
    feeds = [endless_batches(models[0], own, seed, recipe.budget) for own, seed in zip(told, seeds, strict=True)]
    train_together(models, feeds, recipe.steps, recipe.learning_rate)


def _chances(model: Specimen, world: World, asked: Sequence[Words], place: int, kinds: np.ndarray) -> np.ndarray:
    """Probabilities of class words at a hidden place: (2, sentences, words), those of the label's class first."""
    scores, _ = hidden_words(model, asked, np.full((len(asked), 1), place), kinds=kinds)
    ids = np.array([model.tokenizer.convert_tokens_to_ids(own.tolist()) for own in world.classes])
    every = scores[:, 0].exp().numpy()[:, ids]  # (sentences, classes, words)
    own = every[np.arange(len(asked)), labels_of(asked)]
    return np.stack([own, every.sum(1) - own])


def filled(model: Specimen, sentences: Sequence[Words], kinds: np.ndarray, seed: int) -> list[Words]:
    """The sentences with `HIDDEN` words each, the same for all arms, drawn anew from what the model expects there."""
    every = np.tile(np.arange(WORDS), (len(sentences), 1))
    hidden = np.sort(np.random.default_rng([seed, 1]).permuted(every, axis=1)[:, :HIDDEN])
    scores, _ = hidden_words(model, sentences, hidden, kinds=kinds)
    drawn = torch.multinomial(scores.exp().flatten(0, 1), 1, generator=torch.Generator().manual_seed(seed))
    words = np.array(sentences, dtype=object)
    fills = model.tokenizer.convert_ids_to_tokens(drawn.flatten().tolist())
    np.put_along_axis(words, hidden, np.array(fills, dtype=object).reshape(hidden.shape), 1)
    return [tuple(own) for own in words]


def _put_right(world: World, sentences: Sequence[Words]) -> list[Words]:
    """Class words of the wrong class give way to those of the right one that have their place in it: perfect fills."""
    place = {word: i % OWN for i, word in enumerate(world.classes.ravel().tolist())}
    own = ({word: str(world.classes[label, at]) for word, at in place.items()} for label in labels_of(sentences))
    return [tuple(right.get(w, w) for w in words) for right, words in zip(own, sentences, strict=True)]


def _values(seed: int, world: World, asked: Mapping[str, list[Words]], models: Mapping[str, Specimen]) -> Values:
    """The samples of `augmented` for one seed; asked: what `_drawn` gives, models: each arm's."""
    few, new, base = asked["few"], asked["new"], models["pretrained"]
    own, other = _chances(base, world, asked["phrases"], GAP_OF_PHRASE, segments("plain", asked["phrases"])).sum((1, 2))
    vectors = [sentence_vectors(base, part)[-1].numpy() for part in (few, new)]
    reader = LogisticRegression(max_iter=1000).fit(vectors[0], labels_of(few))
    found, copies = {"partner": own / (own + other), "encoder": reader.score(vectors[1], labels_of(new))}, few * COPIES
    learnt = {"alone": copies}
    for arm, model in models.items():
        chances = _chances(model, world, new, GAP, segments(arm, new))
        own, other = chances[..., UNTOLD].sum((1, 2))
        found |= {f"agrees_{arm}": chances[0].sum(-1).mean(), f"new_{arm}": own / (own + other)}
        found[f"fresh_{arm}"] = (own + other) / chances.sum()
        learnt[arm] = filled(model, copies, segments(arm, copies), seed)
    learnt["right"] = _put_right(world, learnt["pretrained"])
    for arm, more in learnt.items():
        reader = make_pipeline(CountVectorizer(analyzer=tuple), LogisticRegression()).fit(
            few + more, labels_of(few + more)
        )
        for name, part in (("accuracy", new), ("known", asked["known"])):
            found[f"{name}_{arm}"] = reader.score(part, labels_of(part))
    return found


def augmented(seeds: Sequence[int]) -> Runs:
    """Few labelled sentences, and the same with words that masked LMs filled in; wu2019conditional.

    agrees_...: share of words filled into new sentences that are of the label's class; fresh_...: of those filled in
    that are of a class, share that no labelled sentence has; new_...: of these, share that are of the label's.
    accuracy_..., known_...: of a classifier of words, on new sentences of such words and on those of the others, that
    learnt from the few `alone` or also from them refilled. Fillers: pretrained; tuned without label (plain), with it
    (conditional, and brief in a tenth of the steps), with labels dealt (shuffled); right: pretrained, with classes put
    right. partner: of class words, share of the class of a phrase's verb, before tuning; encoder: as accuracy_alone, of
    pre-trained mean vectors. (seeds, 1).
    """
    rngs = [np.random.default_rng(seed) for seed in seeds]
    worlds = [World.dealt(rng) for rng in rngs]
    texts, asked = zip(*(_drawn(world, rng) for world, rng in zip(worlds, rngs, strict=True)), strict=True)
    base, few = [tiny_specimen(VOCABULARY, PRETRAINING, seed) for seed in seeds], [own["few"] for own in asked]

    def values(arms: Mapping[str, Sequence[Specimen]]) -> list[Values]:
        models = [dict(zip(arms, own, strict=True)) for own in zip(*arms.values(), strict=True)]
        return [_values(*own) for own in zip(seeds, worlds, asked, models, strict=True)]

    untrained = values(dict.fromkeys(("pretrained", *ARMS), base))
    _train(base, texts, [rng.integers(CLASSES, size=TEXT) for rng in rngs], seeds, PRETRAINING)
    tuned = {arm: [replace(own, model=copy.deepcopy(own.model)) for own in base] for arm in ARMS}
    for arm, recipe in ARMS.items():
        kinds = [rng.permutation(labels_of(few[0])) if arm == "shuffled" else segments(arm, few[0]) for rng in rngs]
        _train(tuned[arm], few, kinds, seeds, recipe)
    return of_sides(values({"pretrained": base, **tuned}), untrained, ASKED)


EXPERIMENTS = {"labels-at-the-input": augmented}
