"""An experiment on the heads of translators' encoders: does one find a relation better than a fixed distance does?

Depends on `tuning.translating` (translators and their language) and `relations` (heads beside fixed offsets).
"""

from collections.abc import Sequence

from bertology_utils.instruments.relations import relation_scores
from bertology_utils.language.grammar import Sentence
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.attention.relation_heads import strongest_relations
from bertology_utils.tuning.translating import Pair, Translator, drawn, share_right, translators

PAIRED, ASKED, STEPS = 800, 200, 500  # pairs that are read, sentences of either set that is asked, steps
SUBJECT = "nsubj"
Values = dict[str, float]


def translation_heads(seeds: Sequence[int]) -> Runs:
    """Encoder heads of translators into a twin whose verbs and modifiers agree, beside fixed distances.

    head, offset: share of the dependents of a relation whose head is found by an encoder head and by the best fixed
    distance; the relation is the one where heads lead most on other sentences. subject_*: the same of subjects. right,
    wrong: share of pieces right, and where another sentence is read (voita2019analyzing).
    """
    texts, pairs, starts = zip(*(drawn(PAIRED + 2 * ASKED, seed) for seed in seeds), strict=True)
    trained = translators(starts, [own[:PAIRED] for own in pairs], STEPS, seeds)
    blank = [Translator(*of) for of in zip(starts, seeds, strict=True)]
    sides = []
    for made in (trained, blank):
        found = [_told(*of) for of in zip(made, texts, pairs, strict=True)]
        sides.append({name: per_seed([own[name] for own in found], ASKED) for name in found[0]})
    return Runs(*sides, networks=len(seeds))


def _told(made: Translator, sentences: Sequence[Sentence], pairs: Sequence[Pair]) -> Values:
    return measured(made, sentences[PAIRED:]) | understood(made, pairs[PAIRED:])


def understood(made: Translator, asked: Sequence[Pair]) -> Values:
    """Share of the pieces right of held-out translations, and where other sentences are read."""
    return {"right": share_right(made, asked[:ASKED]), "wrong": share_right(made, asked[:ASKED], shift=1)}


def measured(made: Translator, asked: Sequence[Sentence]) -> Values:
    """Hits of the best head and the best offset, chosen on half of the last sentences, on the other half: for subjects,
    and for the relation that leads on the first `ASKED` sentences."""
    leading = strongest_relations(relation_scores(made.specimen, asked[:ASKED]), count=1)[0]
    found = relation_scores(made.specimen, asked[ASKED:], [leading, SUBJECT])
    scores = {"": found[leading], "subject_": found[SUBJECT]}
    heads = {f"{prefix}head": float(score.head_hits.mean()) for prefix, score in scores.items()}
    return heads | {f"{prefix}offset": float(score.offset_hits.mean()) for prefix, score in scores.items()}


EXPERIMENTS = {"heads-of-a-translator": translation_heads}
