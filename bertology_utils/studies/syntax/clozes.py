"""Clozes on negation, on damaged inputs, in paraphrased templates, and the psycholinguistic suite.

Orchestration only: scores come from `cloze`, items from `pair_sets`, `facts` and `grammar`, damage from
`perturbations`. Every function takes a specimen and returns named samples over items; words come from the grammar's
test split.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress, permutations

import numpy as np
import torch

from bertology_utils.data import material, pair_sets
from bertology_utils.data.material import EMBEDDED
from bertology_utils.data.pair_sets import EVERY, negation_clozes, role_reversal_pairs
from bertology_utils.instruments import cloze
from bertology_utils.instruments.crossed_clozes import role_sensitivity
from bertology_utils.language.grammar_trees import Sentence
from bertology_utils.language.items import ITEMS
from bertology_utils.language.lexicon import article
from bertology_utils.language.pairs import Cloze
from bertology_utils.language.perturbations import (
    Perturbed,
    drop_words,
    matched_spans,
    random_context,
    shuffle_words,
    truncate,
)
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit

CLASS_TEMPLATES: list[str] = ITEMS["class_templates"]
SHOWN = 400  # damaged sentences for what only a figure shows


def negation(specimen: Specimen, adverb: str = "often", source: str = EMBEDDED) -> dict[str, np.ndarray]:
    """Category statements with and without `not` (ettinger2019what), over the covered items.

    `affirmative` and `negated` say whether the true class beats the false one (under negation the false class becomes
    the true answer), `unchanged` whether the class that wins is the same in both, over pairs of things that swap their
    classes (`_swapped`), as samples of pairs of classes; `unigram` whether the true class of the affirmative statement
    wins without any context; `correlation_not` and `correlation_adverb` are Spearman's between the whole distributions
    with and without `not`, or with and without another adverb in its place.
    """
    clozes = negation_clozes(source=source)
    plain, negated = clozes[::2], clozes[1::2]
    other = [tuple(adverb if word == "not" else word for word in c.words) for c in negated]
    first, second, third = (
        cloze.masked_distributions(specimen, sentences)
        for sentences in ([c.words for c in plain], [c.words for c in negated], other)
    )
    margins = np.array([_margins(specimen, *part) for part in ((plain, first), (negated, second))])
    pairs, classes = _swapped(plain, ~np.isnan(margins).any(0))
    right = margins[:, pairs].sum(-1) > 0  # (2, pairs)
    return {
        **{name: by_unit(values, classes) for name, values in zip(("affirmative", "negated"), right, strict=True)},
        "unchanged": by_unit(right[0] != right[1], classes),
        "unigram": _without_context(specimen, plain)[~np.isnan(margins[0])],
        "correlation_not": cloze.compare_distributions(first, second, ["spearman"])["spearman"],
        "correlation_adverb": cloze.compare_distributions(first, third, ["spearman"])["spearman"],
    }


def _swapped(items: Sequence[Cloze], usable: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Rows of usable items that swap their words (a robin is a bird and no toy, a doll a toy and no bird), (pairs, 2),
    and the words of each pair: over both, how usual a word is cancels. Where none do, each item is its own pair."""
    places: dict[tuple[str, str], list[int]] = {}
    for place in np.flatnonzero(usable).tolist():
        places.setdefault((items[place].true, items[place].false), []).append(place)
    found = [
        (pair, f"{true} {false}")
        for (true, false), own in places.items()
        if true < false
        for pair in zip(own, places.get((false, true), []), strict=False)
    ]
    found = found or [((place, place), str(place)) for place in np.flatnonzero(usable).tolist()]
    return np.array([pair for pair, _ in found], int).reshape(-1, 2), [words for _, words in found]


def _sensitivity(specimen: Specimen, items: Sequence[Cloze]) -> np.ndarray:
    """P(true) > P(false) for each item: 0/1, NaN where a word is not one piece."""
    margins = _margins(specimen, items)
    return np.where(np.isnan(margins), np.nan, margins > 0)


def _margins(specimen: Specimen, items: Sequence[Cloze], distributions: torch.Tensor | None = None) -> np.ndarray:
    """log P(true) - log P(false) of each item, in nats; NaN where a word is not one piece.

    `distributions` (items, vocabulary) are the blanks' log probabilities, where they are known.
    """
    rows = distributions
    if rows is None:
        rows = cloze.masked_distributions(specimen, [cloze.mask_word(c.words, c.focus) for c in items])
    piece = {word: cloze.single_piece(specimen, word) for word in {w for c in items for w in (c.true, c.false)}}
    pairs = [(piece[c.true], piece[c.false]) for c in items]
    return np.array(
        [np.nan if None in pair else float(row[pair[0]] - row[pair[1]]) for row, pair in zip(rows, pairs, strict=True)]
    )


def _without_context(specimen: Specimen, items: Sequence[Cloze]) -> np.ndarray:
    """`_sensitivity` where the blank stands alone: a word may win because it is usual."""
    return _sensitivity(specimen, [replace(item, words=("x", "."), focus=0) for item in items])


def damaged_inputs(specimen: Specimen, n: int, seed: int = 0, source: str = EMBEDDED) -> dict[str, np.ndarray]:
    """Do the first guesses for a sentence's last word survive damage to what stands before it? (ettinger2019what)

    `source` as in `material.sentences`. 0/1 `(n,)`: same first guess after shuffling words (`shuffled`), pairs
    (`pairs_shuffled`) and triples of words (`triples_shuffled`), with the last half of the words only (`half`), the
    last two (`last_two_kept`) and with random words (`random_context`); `competence`: the intact context makes the
    true word more probable than random words do. What no claim asks about is measured on the first `SHOWN` alone.
    """
    long = [s for s in material.sentences(n, seed, "test", source) if len(s.words) > 5]
    items = [(s.words, _last_word(s)) for s in long]
    rng = np.random.default_rng(seed)
    pool = [word for words, _ in items for word in words[:-1]]
    variants = {
        "shuffled": [shuffle_words(*item, rng) for item in items],
        "pairs_shuffled": [shuffle_words(*item, rng, 2) for item in items[:SHOWN]],
        "triples_shuffled": [shuffle_words(*item, rng, 3) for item in items[:SHOWN]],
        "half": [truncate(*item, (item[1] + 1) // 2) for item in items],
        "last_two_kept": [truncate(*item, 2) for item in items[:SHOWN]],
    }
    noise = _distributions(specimen, [random_context(*item, pool, rng) for item in items])
    intact = _distributions(specimen, [Perturbed(*item) for item in items])
    guesses = {name: _distributions(specimen, damaged).argmax(-1) for name, damaged in variants.items()}
    guesses["random_context"] = noise.argmax(-1)
    whole = intact.argmax(-1)
    kept = {name: (guess == whole[: len(guess)]).numpy().astype(float) for name, guess in guesses.items()}
    return kept | {"competence": _competence(specimen, items, intact, noise)}


def _last_word(sentence: Sentence) -> int:
    """The place of the last word that is no punctuation mark."""
    return max(i for i, tag in enumerate(sentence.upos) if tag != "PUNCT")


def removed_arguments(specimen: Specimen, n: int, seed: int = 0, source: str = EMBEDDED) -> dict[str, np.ndarray]:
    """KL from the intact guesses at the main verb when an argument or an adjunct of like length is removed, in nats.

    `(n,)` each: `argument`, `adjunct`, and `random_context`, where random words stand in place of all; 0/1
    `same_argument`, `same_adjunct`, `same_random_context` (same first guess), and `competence` as in
    `damaged_inputs`. The grammar is asked
    for sentences until `n` have both spans; a real treebank, whose training part is read, may have fewer.
    """
    chosen = _with_both_spans(n, seed, source)
    items = [(s.words, s.heads.index(-1)) for s, _ in chosen]
    rng = np.random.default_rng(seed)
    pool = [word for words, _ in items for word in words[:-1]]
    intact = _distributions(specimen, [Perturbed(*item) for item in items])
    found = {}
    noise = _distributions(specimen, [random_context(*item, pool, rng) for item in items])
    variants = {"random_context": noise}
    for which, name in enumerate(("argument", "adjunct")):
        damaged = [drop_words(*item, spans[which]) for item, (_, spans) in zip(items, chosen, strict=True)]
        variants[name] = _distributions(specimen, damaged)
    for name, distributions in variants.items():
        compared = cloze.compare_distributions(intact, distributions, ("kl", "top1_agreement"))
        found |= {name: compared["kl"], f"same_{name}": compared["top1_agreement"].astype(float)}
    return found | {"competence": _competence(specimen, items, intact, noise)}


def _with_both_spans(n: int, seed: int, source: str) -> list[tuple[Sentence, tuple]]:
    """Sentences with an argument and an adjunct of their main verb that are alike in length, and the two spans."""
    if source != EMBEDDED:
        return _spans_of(material.sentences(EVERY, seed, "train", source))[:n]
    chosen: list[tuple[Sentence, tuple]] = []
    while len(chosen) < n:
        chosen += _spans_of(material.sentences(4 * n, seed, "test"))
        seed += 1
    return chosen[:n]


def _spans_of(sentences: Sequence[Sentence]) -> list[tuple[Sentence, tuple]]:
    found = [(s, matched_spans(s)) for s in sentences if s.upos[s.heads.index(-1)] == "VERB"]
    return [(sentence, spans) for sentence, spans in found if spans]


def _distributions(specimen: Specimen, items: Sequence[Perturbed]) -> torch.Tensor:
    return cloze.masked_distributions(specimen, [cloze.mask_word(item.words, item.place) for item in items])


def _competence(specimen: Specimen, items: Sequence[tuple], intact: torch.Tensor, noise: torch.Tensor) -> np.ndarray:
    """Is the true word more probable in the sentence than among random words? 0/1 over words of one piece."""
    pieces = [cloze.single_piece(specimen, words[place]) for words, place in items]
    return np.array(
        [float(a[piece] > b[piece]) for a, b, piece in zip(intact, noise, pieces, strict=True) if piece is not None]
    )


def template_spread(specimen: Specimen) -> dict[str, np.ndarray]:
    """Classes of things through ten paraphrases: `table (templates, facts)` of hits at 1 among the classes, 0/1.

    Only classes that take "a" are asked and offered, or the article before the blank would tell; each half of the
    classes is asked by itself. `best_template` and `worst_template` are chosen on one half and scored on the other,
    both ways round, so that the spread is no effect of choosing; samples over classes, because a template may favour
    one. `majority` is the share of the most frequent class of each half.
    """
    listed = ITEMS["classes"] | ITEMS["more_classes"]
    known = [(thing, kind) for kind, things in listed.items() if article(kind) == "a" for thing in things.split()]
    known = [pair for pair in known if cloze.single_piece(specimen, pair[1]) is not None]
    classes = sorted({category for _, category in known})
    even = np.array([classes.index(kind) % 2 == 0 for _, kind in known])
    table, majority = np.empty((len(CLASS_TEMPLATES), len(known))), 0.0
    for half, offered in ((even, classes[::2]), (~even, classes[1::2])):
        asked = list(compress(known, half))
        table[:, half] = [_hits(specimen, template, asked, offered) for template in CLASS_TEMPLATES]
        majority += max(Counter(kind for _, kind in asked).values()) / len(known)
    found = {"best_template": np.zeros(len(known)), "worst_template": np.zeros(len(known))}
    for chosen_on in (even, ~even):
        means = table[:, chosen_on].mean(1)
        found["best_template"][~chosen_on] = table[means.argmax()][~chosen_on]
        found["worst_template"][~chosen_on] = table[means.argmin()][~chosen_on]
    found = {name: by_unit(values, [kind for _, kind in known]) for name, values in found.items()}
    return found | {"table": table, "majority": np.array(majority)}


def by_template(found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Of `template_spread`: the hits of each template, (facts,), by the template filled with one of them."""
    names = [text.format(ax="a robin", x="robin", an="a") for text in CLASS_TEMPLATES]
    return dict(zip(names, found["table"], strict=True))


def _hits(specimen: Specimen, template: str, known: Sequence[tuple[str, str]], classes: Sequence[str]) -> np.ndarray:
    sentences = [template.format(x=x, ax=f"{article(x)} {x}", an="a").split() for x, _ in known]
    completions = cloze.fill_in(specimen, sentences, classes, k=1)
    return cloze.hits_at(specimen, completions, [[y] for _, y in known]).astype(float)


def psycholinguistic_suite(specimen: Specimen, n: int | None = None, source: str = EMBEDDED) -> dict[str, np.ndarray]:
    """Accuracy at 5 and sensitivity of three cloze sets (ettinger2019what, or after it), 0/1 over covered items.

    `role`: which of two verbs' roles fits ("... which mouse the cat had chased"); `pragmatic`: the expected word
    against one of the same class; `negation`: the true class against a false one, affirmative only, as in the study.
    The samples of `role_sensitivity` are over events, whose two sentences hold the same words. The other two ask items
    that swap their words together (`_swapped`): those of `pragmatic_sensitivity` are over the sentences that situations
    share, those of `negation_sensitivity` over pairs of classes. `pragmatic_unigram` and `negation_unigram` are what
    the better word is worth without any context.
    """
    roles = role_reversal_pairs(n, source=source)
    affirmative = negation_clozes(source=source)[::2]
    stories = pragmatic_clozes() if source == EMBEDDED else pair_sets.pragmatic_clozes(source)
    verbs = (
        [(cloze.mask_word(p.good, p.focus), [p.good[p.focus]]) for p in roles]
        if source == EMBEDDED
        else pair_sets.role_clozes(source)
    )
    told = list(dict.fromkeys((c.words, c.true) for c in stories))
    sets = {
        "pragmatic": ([words for words, _ in told], [[true] for _, true in told]),
        "negation": ([c.words for c in affirmative], [[c.true] for c in affirmative]),
        "role": ([words for words, _ in verbs], [answers for _, answers in verbs]),
    }
    found = {f"{name}_accuracy": _accuracy(specimen, *items) for name, items in sets.items()}
    for name, items in (("pragmatic", stories), ("negation", affirmative)):
        margins = _margins(specimen, items)
        pairs, words = _swapped(items, ~np.isnan(margins))
        units = [str(items[first].condition.get("sentence", own)) for (first, _), own in zip(pairs, words, strict=True)]
        found[f"{name}_sensitivity"] = by_unit(margins[pairs].sum(-1) > 0, units)
        found[f"{name}_unigram"] = _without_context(specimen, items)[~np.isnan(margins)]
    return found | {"role_sensitivity": role_sensitivity(specimen, roles)}


def pragmatic_clozes() -> list[Cloze]:
    """Situations that tell what to expect of the sentence after them, which several share.

    `false` is what another situation of that sentence leads to: every two of them swap their words.
    """
    items = []
    for last, situations in ITEMS["events"].items():
        for (context, true), (_, false) in permutations(situations.items(), 2):
            words = tuple(f"{context} . {last}".split())
            items.append(Cloze(words, words.index(cloze.MASK), true, false, "pragmatic", {"sentence": last}))
    return items


def _accuracy(specimen: Specimen, sentences: Sequence, answers: Sequence[Sequence[str]]) -> np.ndarray:
    usable = cloze.answerable(specimen, answers).nonzero()[0]
    completions = cloze.fill_in(specimen, [sentences[i] for i in usable], k=5)
    return cloze.hits_at(specimen, completions, [answers[i] for i in usable], k=5).astype(float)
