"""Templates mined from sentences written for it, filtered by the model itself, after bouraoui2019inducing.

Depends on `template_mining` and `knowledge`: the class facts of the book, of which every second one is mentioned.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bertology_utils.instruments import knowledge, template_mining
from bertology_utils.models import Specimen


@dataclass(frozen=True)
class Mined:
    """Templates, the one that the model handles best first, and what each scores.

    templates: as sentences with slots; known and held_out: P@1 on the pairs that were mentioned and on the others;
    telling: the places, from 1, of those that say the relation; pairs: how many were mentioned.
    """

    templates: tuple[str, ...]
    known: tuple[float, ...]
    held_out: tuple[float, ...]
    telling: tuple[int, ...]
    pairs: int

    @property
    def rows(self) -> list[dict[str, object]]:
        """Of a table."""
        scored = zip(self.templates, self.held_out, strict=True)
        return [{"template": text, "P@1 on the other half": round(hits, 2)} for text, hits in scored]

    @property
    def sentence(self) -> str:
        """Whether the sentences that say nothing dropped out."""
        if len(set(self.known)) == 1:
            return f"All templates score alike on the {self.pairs} known pairs, so the filter cannot choose among them."
        first = self.telling == tuple(range(1, len(self.telling) + 1))
        return (
            f"The {len(self.telling)} templates that say the relation stand in places "
            f"{' and '.join(map(str, self.telling))} of {len(self.templates)}, so the filter "
            f"{'drops' if first else 'does not drop'} the sentences that say nothing."
        )


def mine(specimen: Specimen, telling: Sequence[str], silent: Sequence[str], limit: int | None = None) -> Mined:
    """Writes a corpus of half of the class facts into frames, mines it, filters on that half, scores on the other.

    Frames have the slots {first} and {second}; `telling` ones say the relation, `silent` ones do not.
    """
    asked = knowledge.relation_scores(specimen, "class", knowledge.REWRITES[:1], limit)
    pairs = [(fact.subject, fact.object) for fact in asked.facts]
    mentioned, others = pairs[::2], pairs[1::2]
    corpus = [frame.format(first=a, second=b).split() for frame in (*telling, *silent) for a, b in mentioned]
    found = list(template_mining.mine(corpus, mentioned))
    ranked = template_mining.best_templates(specimen, found, mentioned, asked.candidates, keep=len(found))
    known, held_out = (
        tuple(template_mining.template_hits(specimen, t, half, asked.candidates).mean() for t in ranked)
        for half in (mentioned, others)
    )
    templates = tuple(" ".join(template) for template in ranked)
    places = tuple(place for place, text in enumerate(templates, 1) if text in telling)
    return Mined(templates, known, held_out, places, len(mentioned))
