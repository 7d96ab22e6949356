"""Prompts found in sentences instead of written: mining by known pairs, filtering by the model. Depends on `cloze`.

After bouraoui2019inducing: a sentence that mentions both words of a known pair becomes a template, and a template is
kept if the model, given the first word of known pairs, puts the second one first.
"""

from collections.abc import Sequence

import numpy as np

from bertology_utils.instruments.cloze import MASK, word_log_probability
from bertology_utils.models import Specimen

Pair = tuple[str, str]
Words = tuple[str, ...]
FIRST, SECOND = "{first}", "{second}"


def mine(sentences: Sequence[Sequence[str]], pairs: Sequence[Pair]) -> dict[Words, int]:
    """Templates with FIRST and SECOND for the words of a pair, and how many pairs each was found with."""
    found: dict[Words, set[Pair]] = {}
    for sentence in sentences:
        for first, second in pairs:
            if list(sentence).count(first) == 1 == list(sentence).count(second):
                slots = {first: FIRST, second: SECOND}
                template = tuple(slots.get(word, word) for word in sentence)
                found.setdefault(template, set()).add((first, second))
    return {template: len(met) for template, met in found.items()}


def template_hits(specimen: Specimen, template: Words, pairs: Sequence[Pair], candidates: Sequence[str]) -> np.ndarray:
    """Booleans (pairs,): with the first word filled in, the second is the most probable candidate at the mask.

    Candidates are single pieces of the vocabulary, and every second word is among them.
    """
    place = template.index(SECOND)
    asked = [tuple({FIRST: first, SECOND: MASK}.get(word, word) for word in template) for first, _ in pairs]
    scores = word_log_probability(specimen, asked, [place] * len(asked), [candidates] * len(asked)).log_probabilities
    return scores.argmax(-1) == np.array([list(candidates).index(second) for _, second in pairs])


def best_templates(
    specimen: Specimen, templates: Sequence[Words], pairs: Sequence[Pair], candidates: Sequence[str], keep: int = 3
) -> list[Words]:
    """The `keep` templates with the most hits on known pairs, best first; ties keep their order."""
    shares = [template_hits(specimen, template, pairs, candidates).mean() for template in templates]
    return [templates[i] for i in np.argsort(shares, kind="stable")[::-1][:keep]]
