"""Agreement, reflexives and pronouns: does attention find subject and antecedent, on average and by one head?

Depends on `evidence` (what one word gives another), `coreference` and pairs of sentences; trains nothing. Planted
attention goes through the same measures, as the positive control.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertology_utils.data.pair_sets import agreement_pairs, reflexive_pairs
from bertology_utils.language.coreference import Coreference, farther_hits, nearest_hits, rule_hits
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit
from bertology_utils.studies.attention.evidence import Maps, Words, best_on_even, separator_ratio, word_attentions
from bertology_utils.text import encode_words
from bertology_utils.verdicts.published import published


@dataclass(frozen=True)
class Links:
    """Sentences, and in each the (source, target) from verb to subject or from reflexive to antecedent; `previous`
    leads from the same source to the word before it."""

    sentences: list[list[str]]
    targets: list[tuple[int, int]]

    @property
    def previous(self) -> list[tuple[int, int]]:
        return [(source, source - 1) for source, _ in self.targets]


def target_links(n: int, seed: int, source: str) -> Links:
    """Up to `n` verbs with one noun of the other number before them, and as many reflexives, of a data set."""
    agreement = agreement_pairs(n, attractors=1, seed=seed, split="test", source=source)
    reflexive = reflexive_pairs(n, attractors=1, seed=seed, source=source)
    targets = [(pair.focus, int(pair.condition["subject"])) for pair in agreement]
    targets += [(pair.focus, [*pair.good].index("that") - 1) for pair in reflexive]
    return Links([list(pair.good) for pair in agreement + reflexive], targets)


def target_attentions(specimen: Specimen, links: Links) -> dict[str, np.ndarray]:
    """In even shares: attention to `target` and `previous`, (sentences, layers, heads) each, and of all words to
    `separator`, (sentences,).

    The first two are shares among words, without special pieces (lin2019open): where [SEP] draws most, all words get
    less than an even share of all pieces, and the target of a link need not be one of them to get little.
    """
    both = [links.targets, links.previous]
    target, previous = word_attentions(specimen, links.sentences, both, in_shares=True, among_words=True)
    return {"target": target, "previous": previous, "separator": separator_ratio(specimen, links.sentences)}


def over_heads(attentions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Means over layers and heads, as lin2019open takes them: name -> (sentences,)."""
    return {name: values.mean((1, 2)) if values.ndim == 3 else values for name, values in attentions.items()}


def _planted_maps(specimen: Specimen, sentences: Words, targets: Sequence[int], part: float) -> Maps:
    """Maps of one head that gives `part` of its attention to a sentence's target word and deals out the rest evenly."""
    for index, (encoding, target) in enumerate(zip(encode_words(specimen, sentences), targets, strict=True)):
        weights = torch.full((len(encoding), len(encoding)), (1 - part) / len(encoding))
        pieces = [place for place, word in enumerate(encoding.word_ids) if word == target]
        weights[:, pieces] += part / len(pieces)
        yield index, encoding, weights[None, None]


def planted_shares(
    specimen: Specimen, sentences: Words, links: Sequence[tuple[int, int]], part: float = 0.2
) -> np.ndarray:
    """Even shares among words that the target of each link gets from a planted average of heads: (sentences,).

    The source gives `part` of its attention to the target and the rest evenly. The positive control of what
    `word_attentions` finds along the same links: were attention not weak, would these sentences show it?
    """
    maps = _planted_maps(specimen, sentences, [target for _, target in links], part)
    [shares] = word_attentions(specimen, sentences, [links], maps, in_shares=True, among_words=True)
    return shares.mean((1, 2))


def antecedent_attentions(
    specimen: Specimen, items: Sequence[Coreference], maps: Maps | None = None
) -> dict[str, np.ndarray]:
    """Attention from the pronoun to `antecedent` and `rival`, each (items, layers, heads).

    Summed over a word's pieces and not in shares: a head picks the word to which it gives more (clark2019what).
    """
    links = {name: [(item.pronoun, getattr(item, name)) for item in items] for name in ("antecedent", "rival")}
    found = word_attentions(specimen, [list(item.words) for item in items], list(links.values()), maps)
    return dict(zip(links, found, strict=True))


def antecedent_hits(attentions: dict[str, np.ndarray]) -> np.ndarray:
    """Whether a head's attention from the pronoun prefers the antecedent to its rival: (items, layers, heads)."""
    return (attentions["antecedent"] > attentions["rival"]).astype(float)


def averaged_hits(attentions: dict[str, np.ndarray]) -> np.ndarray:
    """Whether attention averaged over all heads and layers prefers the antecedent: (items,).

    lin2019open averages attention over the heads of each layer; here one average is asked, as one head is.
    """
    return (attentions["antecedent"].mean((1, 2)) > attentions["rival"].mean((1, 2))).astype(float)


def planted_antecedents(
    specimen: Specimen, items: Sequence[Coreference], seed: int = 0, right: float = 0.8
) -> np.ndarray:
    """Hits of one planted head that looks at the antecedent in the share `right` of the items, else at the rival:
    (items, 1, 1).

    The positive control of `antecedent_hits`, scored by it: were such a head there, would these items show it?
    """
    found = np.random.default_rng(seed).random(len(items)) < right
    targets = [item.antecedent if hit else item.rival for item, hit in zip(items, found, strict=True)]
    maps = _planted_maps(specimen, [list(item.words) for item in items], targets, part=0.9)
    return antecedent_hits(antecedent_attentions(specimen, items, maps))


def antecedent_samples(attentions: dict[str, np.ndarray], items: Sequence[Coreference]) -> dict[str, np.ndarray]:
    """Hits on the odd items: of the `head` that is best on the even ones, and of the `average` over all heads."""
    found = {"head": best_on_even(antecedent_hits(attentions))[1], "average": averaged_hits(attentions)[1::2]}
    return _over_nouns(found, items)


def antecedent_rivals(specimen: Specimen, items: Sequence[Coreference], seed: int = 0) -> dict[str, np.ndarray]:
    """Hits on the odd items: of the `nearest` noun, the `farther` one and a system of `rules`, and of a `planted` head
    that finds four antecedents of five."""
    guesses = {"nearest": nearest_hits, "farther": farther_hits, "rules": rule_hits}
    found = {name: np.array(guess(items))[1::2] for name, guess in guesses.items()}
    return _over_nouns(found | {"planted": best_on_even(planted_antecedents(specimen, items, seed))[1]}, items)


def _over_nouns(hits: dict[str, np.ndarray], items: Sequence[Coreference]) -> dict[str, np.ndarray]:
    """Hits on the odd items as samples of the two nouns between which a head chose: many items share a few of them."""
    nouns = [(item.words[item.antecedent], item.words[item.rival]) for item in items[1::2]]
    return {name: by_unit(values, nouns) for name, values in hits.items()}


def best_blind_guess(rivals: dict[str, np.ndarray]) -> float:
    """The share that the best of three guesses finds: the nearest noun, the farther one, a coin."""
    return max(rivals["nearest"].mean(), rivals["farther"].mean(), 0.5)


def on_scale(found: np.ndarray | float, lowest: float, rules: float) -> np.ndarray | float:
    """Shares of antecedents on the axis of the conflict: 0 is the best blind guess, 1 what the rules find."""
    return (found - lowest) / max(rules - lowest, 0.05)


def published_antecedents() -> dict[str, float]:
    """Shares found in Table 2 of clark2019what: by `head`, the `nearest` mention and `rules`."""
    items = {"head": "head 5-4", "nearest": "nearest mention", "rules": "rules"}
    return {name: published("clark2019what", f"coreference {item}") / 100 for name, item in items.items()}


def published_place() -> float:
    """Where head 5-4 of BERT-base lies on the axis of the conflict, from `published_antecedents`."""
    found = published_antecedents()
    return on_scale(found["head"], found["nearest"], found["rules"])


def distractor_pairs(n: int, seed: int, source: str) -> dict[str, list]:
    """Up to `n` agreement pairs each whose noun between subject and verb has the subject's number (`matching`) or the
    other one (`mismatching`)."""
    kinds = {"matching": {"agreeing": 1}, "mismatching": {"attractors": 1}}
    return {name: agreement_pairs(n, seed=seed, split="test", source=source, **kind) for name, kind in kinds.items()}


def distractor_confusion(specimen: Specimen, pairs: Sequence) -> np.ndarray:
    """The distractor's part of what a verb pays to its subject and the distractor together, in even shares: (pairs,).

    After lin2019open, mean over heads; `pairs` are agreement pairs with one noun between subject and verb. In shares,
    because the other number of a noun may have more pieces, which draw more.
    """
    sentences = [list(pair.good) for pair in pairs]
    subjects = [(pair.focus, int(pair.condition["subject"])) for pair in pairs]
    rivals = [(pair.focus, pair.focus - 1 - (pair.condition["structure"] == "object_relative")) for pair in pairs]
    right, wrong = (a.mean((1, 2)) for a in word_attentions(specimen, sentences, [subjects, rivals], in_shares=True))
    return wrong / (right + wrong)
