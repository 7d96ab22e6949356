"""Our instruments beside the plain procedures that they replace: the same results, by their definition.

Depends on the instruments, on an embedded model and on the grammar, so that nothing has to be fetched.
"""

import copy
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from scipy.spatial.distance import cosine
from transformers import BertForMaskedLM, BertForPreTraining, PreTrainedModel

from bertology_utils.activations import word_vectors
from bertology_utils.compression.accounting import build, count_macs
from bertology_utils.data.material import treebank
from bertology_utils.instruments import structural
from bertology_utils.instruments.attention_trees import punctuation_mask
from bertology_utils.instruments.cloze import pseudo_log_likelihood
from bertology_utils.instruments.geometry import occurrences, self_similarity
from bertology_utils.instruments.trees import attachment_hits, tree_distances
from bertology_utils.language.grammar import generate
from bertology_utils.models import Specimen, load
from bertology_utils.project import DEFAULT_MODEL
from bertology_utils.text import encode_words

from .measure import Case, apart, timed

PEER_BATCH = 8  # sentences that minicons scores at a time; it masks all their pieces in one forward pass


# --- pseudo-log-likelihood ------------------------------------------------------------------------------------------


def prepare_likelihood(folder: Path, sentences: int) -> Case:
    """Scores of sentences of 4 to 40 words, in nats; every way returns (sentences,)."""
    specimen = load(DEFAULT_MODEL)
    texts = sentences_of_many_lengths(sentences)
    peer = {}
    if find_spec("minicons"):
        from minicons.scorer import MaskedLMScorer  # now, so that a package that it lacks is missed before the clock

        peer = {"minicons": timed(lambda: minicons_likelihood(MaskedLMScorer, specimen, texts))}
    return Case(
        plain={
            "one sentence a forward pass": timed(lambda: plain_likelihood(specimen, texts)),
            **peer,
        },
        ours={"ours": timed(lambda: pseudo_log_likelihood(specimen, texts, "original"))},
        difference=lambda plain, ours: np.abs(plain - ours).max(),
        tolerance=1e-3,
        rival=next(iter(peer), None),
        limit=likelihood_limit(specimen, texts) if peer else None,
    )


def likelihood_limit(specimen: Specimen, sentences: Sequence[Sequence[str]]) -> float:
    """How often the multiply-accumulates of any exact way go into those of minicons, for a BERT (salazar2020masked).

    The peer pads the copies of a batch to its longest sentence, and decodes every piece. What cannot be left out: all
    blocks but the last for every piece of every copy, of the last its keys and values, and the rest at the masked
    piece. In the first block copies of a sentence share the queries, keys and values of pieces that are not masked.
    """
    blocks, square = specimen.layers, specimen.width**2
    head = square + specimen.width * specimen.vocabulary_size
    lengths = [len(encoding.input_ids) for encoding in encode_words(specimen, sentences)]
    peer = least = 0
    for start in range(0, len(lengths), PEER_BATCH):
        batch = lengths[start : start + PEER_BATCH]
        rows = max(batch) * (blocks * products_of_a_piece(specimen, max(batch)) + head)
        peer += sum(length - 2 for length in batch) * rows
    for length in lengths:
        piece = products_of_a_piece(specimen, length)
        whole, masked, shared = (blocks - 1) * piece + 2 * square, piece - 2 * square + head, 3 * square * (length - 1)
        least += (length - 2) * (length * whole + masked - shared)
    return peer / least


def products_of_a_piece(specimen: Specimen, length: int) -> int:
    """Multiply-accumulates of one block of a BERT for one piece among `length`."""
    width = specimen.width
    return 2 * width * (2 * width + specimen.model.config.intermediate_size + length)


def sentences_of_many_lengths(number: int, shortest: int = 4, longest: int = 40) -> list[list[str]]:
    """Sentences of the grammar, joined and cut to lengths that are spread evenly over the range."""
    words = [word for sentence in generate(max(6 * number, longest), seed=0, split="test") for word in sentence.words]
    lengths = np.random.default_rng(0).integers(shortest, longest + 1, size=number)
    starts = np.random.default_rng(1).integers(len(words) - longest, size=number)
    return [words[start : start + length] for start, length in zip(starts, lengths, strict=True)]


@torch.inference_mode()
def plain_likelihood(specimen: Specimen, sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """salazar2020masked by definition: each piece of a sentence masked in turn, in one batch a sentence."""
    mask = specimen.tokenizer.mask_token_id
    scores = np.zeros(len(sentences))
    for index, encoding in enumerate(encode_words(specimen, sentences)):
        ids = torch.tensor(encoding.input_ids)
        places = torch.tensor([place for place, word in enumerate(encoding.word_ids) if word is not None])
        rows, every = ids.repeat(len(places), 1), torch.arange(len(places))
        rows[every, places] = mask
        output = specimen.model(input_ids=rows)
        logits = output.prediction_logits if "prediction_logits" in output else output.logits
        asked = logits[every, places].log_softmax(-1)
        scores[index] = asked.gather(1, ids[places][:, None]).sum()
    return scores


def minicons_likelihood(scorer_class: type, specimen: Specimen, sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """The scores of minicons (misra2022minicons), whose scorer asks for a method that tokenizers no longer have."""
    tokenizer = copy.copy(specimen.tokenizer)
    tokenizer.batch_encode_plus = tokenizer.__call__
    scorer = scorer_class(masked_lm(specimen), "cpu", tokenizer=tokenizer, PLL_metric="original")
    texts = [" ".join(words) for words in sentences]
    chunks = [texts[start : start + PEER_BATCH] for start in range(0, len(texts), PEER_BATCH)]
    return np.array([score for chunk in chunks for score in scorer.sequence_score(chunk, reduction=torch.sum)])


def masked_lm(specimen: Specimen) -> PreTrainedModel:
    """The specimen as the plain class of masked LMs, whose output has `logits`."""
    if not isinstance(specimen.model, BertForPreTraining):
        return specimen.model
    model = BertForMaskedLM(specimen.model.config)
    weights = {name: value for name, value in specimen.model.state_dict().items() if name in model.state_dict()}
    model.load_state_dict(weights, strict=False)
    model.tie_weights()
    return model.eval()


# --- the structural probe -------------------------------------------------------------------------------------------


def prepare_structural(
    folder: Path, train: int, test: int, epochs: int, rank: int, own_epochs: int | None = None, every: int = 1
) -> Case:
    """Distance probes at every layer (or every second ...); every way returns the test UUAS (layers,) in per cent.

    `own_epochs` is for ours alone, where it finds the same trees in fewer than the original's `epochs`.
    """
    specimen, bank = load(DEFAULT_MODEL), treebank(train, test)
    parts = {"train": bank.train, "development": bank.development, "test": bank.test}
    vectors = {
        name: [sentence[::every].clone() for sentence in word_vectors(specimen, [s.words for s in part])]
        for name, part in parts.items()
    }
    layers = range(len(vectors["train"][0]))
    distances = {name: [torch.from_numpy(tree_distances(s.heads)) for s in part] for name, part in parts.items()}
    torch.save(vectors, folder / "vectors.pt")
    torch.save(distances, folder / "distances.pt")
    heads = [sentence.heads for sentence in bank.train]

    def uuas(predicted: list[np.ndarray]) -> np.ndarray:
        asked = zip(predicted, [s.heads for s in bank.test], punctuation_mask(bank.test), strict=True)
        hits = [attachment_hits(*sentence) for sentence in asked]
        return 100 * np.mean([found / edges for found, edges in hits if edges], axis=0).reshape(len(layers))

    def one_layer_a_process() -> np.ndarray:
        for layer in layers:
            apart("original_probe", folder, layer, epochs, rank)
        found = [torch.load(folder / f"{layer}.pt", weights_only=True) for layer in layers]
        return uuas([torch.stack(sentence).numpy()[:, None] for sentence in zip(*found, strict=True)])

    def all_layers() -> np.ndarray:
        probe = structural.fit_distance_probe(vectors["train"], heads, epochs=own_epochs or epochs, rank=rank, seeds=1)
        return uuas(probe.distances(vectors["test"]))

    return Case(
        plain={"one layer a process": timed(one_layer_a_process)},
        ours={"all layers at once": timed(all_layers)},
        difference=lambda plain, ours: (plain - ours).mean(),  # one layer alone varies by more than the tolerance
        tolerance=1.0,
    )


# --- self-similarity ------------------------------------------------------------------------------------------------


def prepare_self_similarity(folder: Path, sentences: int, minimum: int, pairs: int) -> Case:
    """Mean cosine between occurrences of a word at every layer; every way returns (words, layers)."""
    texts = [list(sentence.words) for sentence in generate(sentences, seed=0)]
    groups = occurrences(texts, [v.numpy() for v in word_vectors(load(DEFAULT_MODEL), texts)], minimum)
    return Case(
        plain={f"{pairs:,} sampled pairs": timed(lambda: sampled_similarity(list(groups.values()), pairs))},
        ours={"closed form": timed(lambda: np.stack([self_similarity(group) for group in groups.values()]))},
        difference=lambda plain, ours: np.abs(plain - ours).mean(),
        tolerance=0.5 / np.sqrt(pairs),  # cosines spread by less than a half
    )


def sampled_similarity(groups: Sequence[np.ndarray], pairs: int) -> np.ndarray:
    """Self-similarity as ethayarajh2019how estimates it: the mean cosine of `pairs` random pairs, one by one."""
    rng = np.random.default_rng(0)
    means = []
    for group in groups:  # (layers, occurrences, width)
        chosen = [rng.choice(group.shape[1], size=2, replace=False) for _ in range(pairs)]
        means.append([np.mean([1 - cosine(layer[i], layer[j]) for i, j in chosen]) for layer in group])
    return np.array(means)


# --- the roofline ---------------------------------------------------------------------------------------------------


def prepare_roofline(folder: Path, size: int, rows: int, length: int) -> Case:
    """Seconds for a thousand million multiply-accumulates: in the fastest matrix product, and in the forward pass."""
    specimen = load(DEFAULT_MODEL)
    ids = torch.randint(5, specimen.vocabulary_size, (rows, length), generator=torch.Generator().manual_seed(0))
    billions = rows * count_macs(build(specimen.model.config), length) / 1e9

    @torch.inference_mode()
    def forward() -> tuple[float, None]:
        elapsed, _ = timed(lambda: specimen.encoder(input_ids=ids))()
        return elapsed / billions, None

    def product() -> tuple[float, None]:
        a, b = torch.randn(2, size, size)
        torch.mm(a, b)
        return min(timed(lambda: torch.mm(a, b))()[0] for _ in range(5)) / (size**3 / 1e9), None

    return Case(plain={"matrix product, square": product}, ours={"forward pass": forward})
