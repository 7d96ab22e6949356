"""A BERT taken apart: its forward pass in plain arrays from the stored weights, and the model with one part missing.

Depends on numpy and scipy for the arithmetic and on `text` and `cloze` for inputs; nothing here calls the library's
layers, so that an agreement with the library shows that the arithmetic was understood. BERT's own parameter names only.
"""

import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
import torch
from scipy.special import erf, softmax
from transformers import BertConfig

from bertology_utils.activations import hidden_batches
from bertology_utils.compression.accounting import bert_config
from bertology_utils.errors import BertologyError, NotAskable, unknown
from bertology_utils.instruments.attention import attention_maps, summed_divergence, target_masks
from bertology_utils.instruments.blocks import encoder_layers
from bertology_utils.instruments.cloze import Query, decode
from bertology_utils.models import Specimen
from bertology_utils.studies.overview.stories import SecondSegments
from bertology_utils.text import Encoding, encode_words

TABLES = {"words": "word_embeddings", "positions": "position_embeddings", "segments": "token_type_embeddings"}
KINDS = ("self", "previous", "next", "cls", "sep", "punctuation")
ORDERS = ("post", "pre")
VIEWS = ("both", "left", "right", "masks_behind")
Weights = dict[str, np.ndarray]


# --- the forward pass -----------------------------------------------------------------------------------------------


def weights_of(specimen: Specimen) -> Weights:
    """Parameter name -> array, of the bare encoder; raises BertologyError for another architecture than BERT."""
    if specimen.model.config.model_type != "bert":
        kind = specimen.model.config.model_type
        raise NotAskable(f"The plain forward pass is BERT's; {specimen.name} is a '{kind}'.")
    return {name: tensor.detach().float().numpy() for name, tensor in specimen.encoder.state_dict().items()}


def layer_norm(x: np.ndarray, weights: Weights, name: str, epsilon: float) -> np.ndarray:
    """Each vector of x (..., width) to mean 0 and variance 1, then stretched and shifted by learnt values."""
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def dense(x: np.ndarray, weights: Weights, name: str) -> np.ndarray:
    """x (..., in) -> (..., out)."""
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def gelu(x: np.ndarray) -> np.ndarray:
    """x times the normal distribution's share below x: a soft switch."""
    return x * (1 + erf(x / np.sqrt(2))) / 2


def embed(weights: Weights, encoding: Encoding, epsilon: float) -> np.ndarray:
    """Layer 0, (pieces, width): the sum of three tables' rows, normalised."""
    ids = {"words": encoding.input_ids, "positions": range(len(encoding)), "segments": encoding.segment_ids}
    rows = [weights[f"embeddings.{TABLES[name]}.weight"][list(chosen)] for name, chosen in ids.items()]
    return layer_norm(sum(rows), weights, "embeddings.LayerNorm", epsilon)


def heads_of(x: np.ndarray, weights: Weights, layer: int, part: str, heads: int) -> np.ndarray:
    """Vectors "query", "key" or "value" of every head, (heads, pieces, size), from x (pieces, width); layer from 1."""
    made = dense(x, weights, f"encoder.layer.{layer - 1}.attention.self.{part}")
    return made.reshape(len(x), heads, -1).transpose(1, 0, 2)


def attention_weights(query: np.ndarray, key: np.ndarray, scaled: bool = True) -> np.ndarray:
    """softmax(Q K^T / sqrt(size)), (heads, pieces, pieces), after vaswani2017attention; without `scaled` no root."""
    products = query @ key.transpose(0, 2, 1)
    return softmax(products / np.sqrt(query.shape[-1]) if scaled else products, axis=-1)


def attend(x: np.ndarray, weights: Weights, layer: int, heads: int) -> np.ndarray:
    """The attention part of a block, (pieces, width): each head averages its values; they are joined and mixed."""
    query, key, value = (heads_of(x, weights, layer, part, heads) for part in ("query", "key", "value"))
    averaged = attention_weights(query, key) @ value
    joined = averaged.transpose(1, 0, 2).reshape(len(x), -1)
    return dense(joined, weights, f"encoder.layer.{layer - 1}.attention.output.dense")


def feed_forward(x: np.ndarray, weights: Weights, layer: int) -> np.ndarray:
    """The fully connected part of a block, (pieces, width): out to four times the width and back."""
    wide = gelu(dense(x, weights, f"encoder.layer.{layer - 1}.intermediate.dense"))
    return dense(wide, weights, f"encoder.layer.{layer - 1}.output.dense")


def block(x: np.ndarray, weights: Weights, layer: int, heads: int, epsilon: float, order: str = "post") -> np.ndarray:
    """One layer, (pieces, width) -> the same. BERT normalises after each sum ("post"); "pre" means before each part."""
    norms = (f"encoder.layer.{layer - 1}.attention.output.LayerNorm", f"encoder.layer.{layer - 1}.output.LayerNorm")
    if order == "post":
        x = layer_norm(x + attend(x, weights, layer, heads), weights, norms[0], epsilon)
        return layer_norm(x + feed_forward(x, weights, layer), weights, norms[1], epsilon)
    x = x + attend(layer_norm(x, weights, norms[0], epsilon), weights, layer, heads)
    return x + feed_forward(layer_norm(x, weights, norms[1], epsilon), weights, layer)


def forward(specimen: Specimen, encoding: Encoding, order: str = "post") -> np.ndarray:
    """All hidden states of one input, (layers + 1, pieces, width), computed in plain arrays."""
    if order not in ORDERS:
        raise unknown("order of normalisation", order, ORDERS)
    config = specimen.model.config
    if config.hidden_act != "gelu":
        raise NotAskable(f"The plain forward pass knows gelu only; {specimen.name} uses '{config.hidden_act}'.")
    weights, epsilon = weights_of(specimen), config.layer_norm_eps
    states = [embed(weights, encoding, epsilon)]
    for layer in range(1, specimen.layers + 1):
        states.append(block(states[-1], weights, layer, specimen.heads, epsilon, order))
    return np.stack(states)


def forward_differences(specimen: Specimen, sentences: Sequence[Sequence[str]], order: str = "post") -> np.ndarray:
    """Largest absolute difference from the library's hidden states, (layers + 1, sentences)."""
    encodings = encode_words(specimen, sentences)
    differences = np.zeros((specimen.layers + 1, len(sentences)))
    for indices, hidden in hidden_batches(specimen, encodings):
        for row, i in enumerate(indices):
            theirs = hidden[:, row, : len(encodings[i])].float().numpy()
            differences[:, i] = np.abs(forward(specimen, encodings[i], order) - theirs).max((1, 2))
    return differences


def attention_differences(eager: Specimen, sentences: Sequence[Sequence[str]], scaled: bool = True) -> np.ndarray:
    """Largest difference of recomputed from reported attention weights, (layers, sentences); needs eager attention."""
    weights = weights_of(eager)
    differences = np.zeros((eager.layers, len(sentences)))
    for index, encoding, maps in attention_maps(eager, sentences):
        states = forward(eager, encoding)
        for layer in range(1, eager.layers + 1):
            query, key = (heads_of(states[layer - 1], weights, layer, part, eager.heads) for part in ("query", "key"))
            own = attention_weights(query, key, scaled)
            differences[layer - 1, index] = np.abs(own - maps[layer - 1].numpy()).max()
    return differences


def row_sum_errors(eager: Specimen, sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """How far any row of attention is from summing to one, at most, (sentences,); needs eager attention."""
    errors = np.zeros(len(sentences))
    for index, _, maps in attention_maps(eager, sentences):
        errors[index] = (maps.sum(-1) - 1).abs().max()
    return errors


def maps_of(eager: Specimen, sentences: Sequence[Sequence[str]]) -> list[torch.Tensor]:
    """The attention maps of each sentence, (layers, heads, pieces, pieces), in the order of the sentences."""
    found = {index: maps.double() for index, _, maps in attention_maps(eager, sentences)}
    return [found[index] for index in range(len(sentences))]


def layer_entropies(maps: Sequence[torch.Tensor]) -> torch.Tensor:
    """Mean entropy of a row of attention in each layer, in nats: (layers,)."""
    return torch.stack([torch.special.entr(own).sum(-1).mean((1, 2)) for own in maps]).mean(0)


def as_sharp_as(maps: Sequence[torch.Tensor], entropies: torch.Tensor) -> list[torch.Tensor]:
    """The maps, each row of a layer raised to one power and rescaled, so that the layer's mean entropy is as given.

    The power is a factor of the products of queries and keys: longer vectors of the same directions.
    """
    logs = [own.clamp_min(1e-30).log() for own in maps]
    low, high = torch.full_like(entropies, -8), torch.full_like(entropies, 12)  # binary logarithms of the power
    for _ in range(30):
        power = (low + high) / 2
        sharp = [torch.softmax(own * 2 ** power[:, None, None, None], -1) for own in logs]
        flat = layer_entropies(sharp) > entropies
        low, high = torch.where(flat, power, low), torch.where(flat, high, power)
    return sharp


def head_profiles(
    specimen: Specimen, sentences: Sequence[Sequence[str]], maps: Sequence[torch.Tensor], together: int = 8
) -> list[torch.Tensor]:
    """What share of its attention each head gives to each of `KINDS` and to the rest, over every `together` sentences:
    (layers, heads, kinds) each."""
    found = []
    for encoding, own in zip(encode_words(specimen, sentences), maps, strict=True):
        masks, free, kinds = target_masks(specimen, encoding), np.ones(own.shape[-2:], dtype=bool), []
        for name in KINDS:
            kinds.append(masks[name] & free)
            free = free & ~masks[name]
        kinds = torch.from_numpy(np.stack([*kinds, free])).to(own)
        found.append(torch.einsum("lhij,kij->lhk", own, kinds) / own.shape[-1])
    return [torch.stack(found[i : i + together]).mean(0) for i in range(0, len(found), together)]


def head_diversity(profiles: Sequence[torch.Tensor]) -> np.ndarray:
    """Mean Jensen-Shannon divergence between the profiles of a layer's heads, averaged over layers, in nats,
    (profiles,); each is (layers, heads, kinds).

    Raises BertologyError where a layer has one head only.
    """
    heads = profiles[0].shape[1]
    if heads < 2:
        raise BertologyError("The diversity of heads needs at least two heads a layer.")
    by_layer = [[float(summed_divergence(layer[:, None]).sum()) for layer in own] for own in profiles]
    return np.array(by_layer).mean(1) / (heads * (heads - 1))


# --- what the parts do for a masked word ----------------------------------------------------------------------------


@contextmanager
def without_table(specimen: Specimen, table: str) -> Iterator[None]:
    """Inside, one input table ("words", "positions", "segments") gives zeros; the output side is untouched."""
    if table not in TABLES:
        raise unknown("input table", table, TABLES)
    module = specimen.encoder.embeddings.get_submodule(TABLES[table])
    with module.register_forward_hook(lambda module, inputs, output: torch.zeros_like(output)):
        yield


def masked_queries(
    specimen: Specimen,
    sentences: Sequence[Sequence[str]],
    view: str = "both",
    seed: int = 0,
    each: int = 2,
    among: Sequence[Collection[int]] | None = None,
) -> tuple[list[Query], np.ndarray]:
    """`each` randomly chosen pieces of every sentence, masked one at a time; the queries and the hidden ids (queries,).

    `among` names the words of each sentence that may be asked for, all of them by default. The view names what else is
    seen: "both" sides; the "left" one, every later piece masked too; the "right" one, every earlier piece; both, and
    "masks_behind" the sentence, as many as one of the other views has at most. All views ask for the same pieces.
    """
    if view not in VIEWS:
        raise unknown("view", view, VIEWS)
    rng = np.random.default_rng(seed)
    mask = specimen.tokenizer.mask_token_id
    queries, targets = [], []
    for row, encoding in enumerate(encode_words(specimen, sentences)):
        places = [i for i, word in enumerate(encoding.word_ids) if word is not None]
        asked = places if among is None else [i for i in places if encoding.word_ids[i] in among[row]]
        for position in rng.choice(asked, size=min(each, len(asked)), replace=False):
            sides = {"left": {i for i in places if i > position}, "right": {i for i in places if i < position}}
            hidden = {position} | sides.get(view, set())
            ids = [mask if i in hidden else piece for i, piece in enumerate(encoding.input_ids)]
            segments, behind = list(encoding.segment_ids), places[-1] + 1
            if view == "masks_behind":
                count = max(map(len, sides.values()))
                ids[behind:behind], segments[behind:behind] = [mask] * count, [segments[position]] * count
            queries.append(Query(tuple(ids), tuple(segments), int(position)))
            targets.append(encoding.input_ids[position])
    return queries, np.array(targets)


def masked_scores(specimen: Specimen, queries: Sequence[Query], targets: np.ndarray) -> dict[str, np.ndarray]:
    """`top1`, `top5` (0/1) and `loss` in nats of the hidden pieces, each (queries,)."""
    out = {name: np.zeros(len(queries)) for name in ("top1", "top5", "loss")}
    for indices, rows in decode(specimen, queries):
        wanted = torch.as_tensor(targets[indices])
        scores = rows.gather(1, wanted[:, None])
        better = (rows > scores).sum(1)
        out["top1"][indices], out["top5"][indices] = (better < 1).numpy(), (better < 5).numpy()
        out["loss"][indices] = -scores[:, 0].numpy()
    return out


def unigram_hits(specimen: Specimen, train: Sequence[Sequence[str]], targets: np.ndarray) -> np.ndarray:
    """0/1 (queries,): always guessing the most frequent piece of the training sentences."""
    counts = Counter(
        piece
        for encoding in encode_words(specimen, train)
        for piece, word in zip(encoding.input_ids, encoding.word_ids, strict=True)
        if word is not None
    )
    return (targets == counts.most_common(1)[0][0]).astype(float)


@torch.inference_mode()
def next_sentence_score(
    specimen: Specimen, first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]
) -> np.ndarray:
    """Log odds that the second text follows the first, (pairs,), from the head of devlin2019bert's second task."""
    if not specimen.has_next_sentence_head:
        raise NotAskable(f"{specimen.name} has no next-sentence head.")
    head = specimen.model.cls.seq_relationship
    scores = np.zeros(len(first))
    for indices, hidden in hidden_batches(specimen, encode_words(specimen, first, second)):
        logits = head(specimen.encoder.pooler(hidden[-1]))  # (pairs, 2): follows, random
        scores[indices] = (logits[:, 0] - logits[:, 1]).numpy()
    return scores


def segment_choices(specimen: Specimen, segments: SecondSegments) -> dict[str, np.ndarray]:
    """Booleans (items,): the true second segment scores above that of another document, and above one of its own.

    A choice between two needs no threshold, so a head that says "follows" too often is not punished twice.
    """
    true = next_sentence_score(specimen, segments.first, segments.true)
    wrong = {name: next_sentence_score(specimen, segments.first, getattr(segments, name))
             for name in ("other_document", "same_document")}  # fmt: skip
    return {name: (true > scores).astype(float) for name, scores in wrong.items()}


def effect_of_tables(specimen: Specimen, queries: Sequence[Query], targets: np.ndarray) -> dict[str, np.ndarray]:
    """Hits lost without each input table, `no_words`, `no_positions`, `no_segments`: each (queries,), in -1..1."""
    whole = masked_scores(specimen, queries, targets)["top1"]
    lost = {}
    for table in TABLES:
        with without_table(specimen, table):
            lost[f"no_{table}"] = whole - masked_scores(specimen, queries, targets)["top1"]
    return lost


# --- counting -------------------------------------------------------------------------------------------------------


@lru_cache
def parameter_formula(layers: int, width: int, vocabulary: int = 30522, positions: int = 512) -> dict[str, int]:
    """BERT's parameters by part, from the sizes alone; weights and biases, the pooler included, no prediction head."""
    config: BertConfig = bert_config(layers, width, vocabulary=vocabulary)
    inner, norm = config.intermediate_size, 2 * width
    return {
        "embeddings": (vocabulary + positions + 2) * width + norm,
        "attention": layers * (4 * (width * width + width) + norm),
        "feed-forward": layers * (2 * width * inner + inner + width + norm),
        "pooler": width * width + width,
    }


def operations_per_second(specimen: Specimen, sentences: Sequence[Sequence[str]]) -> float:
    """How fast this machine runs the blocks forward, in floating-point operations a second (2 N a token).

    N counts shared weights (ALBERT) once for each block that uses them.
    """
    encodings = encode_words(specimen, sentences)
    parameters = sum(p.numel() for block in encoder_layers(specimen.encoder) for p in block.parameters())
    started = time.perf_counter()
    for _ in hidden_batches(specimen, encodings):
        pass
    return 2 * parameters * sum(map(len, encodings)) / (time.perf_counter() - started)
