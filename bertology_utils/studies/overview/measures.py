"""What the chapter asks of the architecture and of its two training tasks, as samples for one model.

Depends on `anatomy` (the plain forward pass and its parts), `stories` (what is read) and `runs`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bertology_utils.absent import Absent, absent_in
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import UnitSamples, by_unit
from bertology_utils.studies.overview import anatomy
from bertology_utils.studies.overview.stories import SecondSegments
from bertology_utils.text import encode_words

Words = Sequence[str]


def largest(samples: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The largest value of each sample."""
    return {name: float(values.max()) for name, values in samples.items()}


def pieces_of(specimen: Specimen, first: Words, second: Words) -> list[dict[str, object]]:
    """The pieces of two segments with their position, segment and word (from 0): rows of a table."""
    (encoding,) = encode_words(specimen, [first], [second])
    pieces = specimen.tokenizer.convert_ids_to_tokens(encoding.input_ids)
    places = zip(pieces, encoding.segment_ids, encoding.word_ids, strict=True)
    return [
        {"piece": piece, "position": i, "segment": segment, "word": "" if word is None else word}
        for i, (piece, segment, word) in enumerate(places)
    ]


def moved_by_segments(specimen: Specimen, first: Words, second: Words) -> np.ndarray:
    """How far the hidden states move when all segment ids are 0: mean distance (layers + 1,)."""
    (encoding,) = encode_words(specimen, [first], [second])
    flat = replace(encoding, segment_ids=[0] * len(encoding))
    return np.linalg.norm(anatomy.forward(specimen, flat) - anatomy.forward(specimen, encoding), axis=-1).mean(1)


def sum_and_tables(specimen: Specimen, sentences: Sequence[Words], each: int, seed: int) -> dict[str, np.ndarray]:
    """sum_error: distance of our layer 0 from the library's on eight sentences; `anatomy.effect_of_tables` on all.

    `each` is how many pieces of a sentence are hidden, one at a time.
    """
    errors = anatomy.forward_differences(specimen, sentences[:8])[0]
    return {"sum_error": errors, **anatomy.effect_of_tables(specimen, *anatomy.masked_queries(
        specimen, sentences, seed=seed, each=each))}  # fmt: skip


def against_untrained(found: Runs | Absent) -> Runs | Absent:
    """A sample beside its first twin's, `trained` and `untrained`; as controls further twins take the model's place.

    Without a second twin, as in a smoke run, the first is compared with itself.
    """
    if absent := absent_in(found):
        return absent
    controls = found.others or (found.twin,)
    model, twin, *others = [{"trained": side, "untrained": found.twin} for side in (found.model, *controls)]
    return Runs(model, twin, tuple(others))


def blanks(
    specimen: Specimen, sentences: Sequence[Words], told: Sequence[Words], each: int, seed: int
) -> dict[str, UnitSamples]:
    """Is the first guess at a hidden piece right? In each of `anatomy.VIEWS`, and by frequency in `told`, `unigram`.

    Samples over sentences, whose pieces stand or fall together; `each` pieces of a sentence are hidden, one at a time.
    """
    hits = {}
    for view in anatomy.VIEWS:
        queries, targets = anatomy.masked_queries(specimen, sentences, view, seed=seed, each=each)
        hits[view] = anatomy.masked_scores(specimen, queries, targets)["top1"]
    hits["unigram"] = anatomy.unigram_hits(specimen, told, targets)
    pieces = [sum(word is not None for word in encoding.word_ids) for encoding in encode_words(specimen, sentences)]
    owners = np.repeat(np.arange(len(sentences)), np.minimum(each, pieces))
    return {name: by_unit(values, owners) for name, values in hits.items()}


def follows(specimen: Specimen, segments: SecondSegments) -> dict[str, UnitSamples]:
    """`anatomy.segment_choices` as samples over places in the stories: a telling changes nothing but the names."""
    return {
        name: by_unit(right, segments.places) for name, right in anatomy.segment_choices(specimen, segments).items()
    }
