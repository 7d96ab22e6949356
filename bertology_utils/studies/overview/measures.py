"""What the chapter asks of the architecture and of its two training tasks, as samples for one model.

Depends on `anatomy` (the plain forward pass and its parts), `stories` (what is read) and `models`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bertology_utils.models import Specimen, twin
from bertology_utils.samples import UnitSamples, by_unit
from bertology_utils.studies.overview import anatomy
from bertology_utils.studies.overview.stories import SecondSegments
from bertology_utils.text import encode_words

Words = Sequence[str]
NETWORKS = 16  # random ones beside a trained model; five left the claim open, and thirteen were said to settle it


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


def head_diversities(eager: Specimen, sentences: Sequence[Words]) -> dict[str, np.ndarray]:
    """How far apart the heads of a layer are by the kinds of places that they look at, in nats.

    `heads` are the model's, (groups of sentences,), `untrained` those of random networks, and `as_sharp` the latter if
    they were as sharp, layer by layer, as the model's, (networks, groups): `NETWORKS`, or two beside a random model.
    """
    own = anatomy.maps_of(eager, sentences)
    entropies, first = anatomy.layer_entropies(own), eager.seed + 1 if eager.is_random else 0
    others = [twin(eager, first + k) for k in range(2 if eager.is_random else NETWORKS)]
    found = {"untrained": [], "as_sharp": []}
    for maps in (anatomy.maps_of(other, sentences) for other in others):
        for name, made in (("untrained", maps), ("as_sharp", anatomy.as_sharp_as(maps, entropies))):
            found[name].append(anatomy.head_diversity(anatomy.head_profiles(eager, sentences, made)))
    heads = anatomy.head_diversity(anatomy.head_profiles(eager, sentences, own))
    return {"heads": heads, **{name: np.array(values) for name, values in found.items()}}


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
