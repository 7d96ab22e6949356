"""The critics' experiments on attention: does a weight tell what erasing a word does, and does it matter where it lies?

Depends on `attention` (where values and output projections are). For a masked language model in place of the
classifiers of jain2019attention and serrano2019attention.
"""

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np
import torch
from scipy.stats import kendalltau, spearmanr
from transformers.utils import ModelOutput

from bertology_utils.anatomy import head_sees
from bertology_utils.instruments.attention import projections
from bertology_utils.models import Specimen
from bertology_utils.text import encode_words, model_inputs

Words = Sequence[Sequence[str]]
RANKS = {
    "attention": "attention, with erasure",
    "rollout": "rollout, with erasure",
    "gradient": "gradient, with erasure",
    "agreement": "attention, with the gradient",
    "rollout_agreement": "rollout, with the gradient",
}
MOVES = {
    "permuted_last": "weights of the last layer permuted",
    "permuted_all": "weights of all layers permuted",
    "erased": "one piece erased",
    "emptied": "all other pieces erased",
}


def labelled(samples: dict[str, np.ndarray], labels: dict[str, str]) -> dict[str, np.ndarray]:
    """Those of the samples that have a label, by their label: `RANKS` or `MOVES` of `explanation_samples`."""
    return {label: samples[name] for name, label in labels.items()}


def explanation_samples(
    specimen: Specimen, sentences: Words, seed: int = 0, permutations: int = 5
) -> dict[str, np.ndarray]:
    """Do attention and gradient rank pieces as erasing them does, and does it matter where the weights lie?

    One word of each sentence is masked and predicted. `attention`, `rollout`, `gradient` (sentences,): Spearman's
    correlations with the change of the masked word's loss when a piece is replaced by [MASK] (serrano2019attention,
    jain2019attention, here for a masked LM): of the last layer's attention from the mask, averaged over heads, of
    `rollout` from the mask through all layers, and of the length of the gradient at the embeddings. `agreement`,
    `rollout_agreement` (sentences,): Kendall's correlations of both kinds of attention with that gradient, the studies'
    own. `permuted_last`, `permuted_all`, `erased`, `emptied` (sentences,): `total_variation` between the predictions
    before and after the weights of the mask were permuted in the last layer, in all layers, one piece was erased (the
    median of each), or all other pieces were.
    """
    generator = np.random.default_rng(seed)
    names = ("attention", "rollout", "gradient", "agreement", "rollout_agreement")
    found: dict[str, list[float]] = {name: [] for name in names}
    found |= {name: [] for name in ("permuted_last", "permuted_all", "erased", "emptied")}
    for encoding in encode_words(specimen, sentences):
        inputs = model_inputs(specimen, [encoding])
        words = [place for place, word in enumerate(encoding.word_ids) if word is not None]
        place = int(generator.choice(words))
        label = int(inputs["input_ids"][0, place])
        inputs["input_ids"][0, place] = specimen.tokenizer.mask_token_id
        others = [p for p in words if p != place]
        weights, slopes = _maps_and_slopes(specimen, inputs, place, label)
        maps = weights.mean(1).numpy()
        guesses = {"attention": maps[-1][place], "rollout": rollout(maps)[place], "gradient": slopes}
        erased, emptied, whole = _erasure(specimen, inputs, place, others)
        change = (whole[label].clamp_min(1e-30).log() - erased[:, label].clamp_min(1e-30).log()).abs().numpy()
        for name, values in guesses.items():
            found[name].append(np.nan_to_num(spearmanr(values[others], change).statistic))
        for name, rival in (("agreement", "attention"), ("rollout_agreement", "rollout")):
            found[name].append(np.nan_to_num(kendalltau(guesses[rival][others], slopes[others]).statistic))
        found["erased"].append(float(total_variation(erased, whole).median()))
        found["emptied"].append(float(total_variation(emptied, whole)))
        orders = torch.from_numpy(np.stack([generator.permutation(len(encoding)) for _ in range(permutations)]))
        for name, layers in (("permuted_last", [specimen.layers - 1]), ("permuted_all", range(specimen.layers))):
            shifted = permuted_predictions(specimen, inputs, place, weights, orders, layers)
            found[name].append(float(total_variation(shifted, whole).median()))
    return {name: np.array(values) for name, values in found.items()}


def total_variation(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Half the sum of absolute differences of two distributions, over the last axis: 0 = equal, 1 = disjoint."""
    return (first - second).abs().sum(-1) / 2


@torch.no_grad()
def permuted_predictions(
    specimen: Specimen, inputs: dict, place: int, maps: torch.Tensor, orders: torch.Tensor, layers: Sequence[int]
) -> torch.Tensor:
    """Probabilities (orders, vocabulary) at `place` when its attention weights are dealt out in other orders.

    jain2019attention: `maps` (layers, heads, pieces, pieces) are the weights of the unaltered run; in each of `layers`
    (from 0) every head's row at `place` is permuted by each of `orders` (orders, pieces), the same for all heads.
    """
    batch = {name: tensor.repeat(len(orders), 1) for name, tensor in inputs.items()}
    places, heads = projections(specimen.encoder), maps.shape[1]
    with ExitStack() as stack:
        for layer in layers:
            seen: dict[str, torch.Tensor] = {}
            value, output = places[layer]
            stack.callback(value.register_forward_hook(_keep_values(seen, heads)).remove)
            row = maps[layer, :, place][:, orders]  # (heads, orders, pieces)
            stack.callback(output.register_forward_pre_hook(_look_elsewhere(seen, row, place)).remove)
        return _place_probabilities(specimen, batch, place)[0]


def _keep_values(seen: dict[str, torch.Tensor], heads: int):
    def hook(module, arguments, output):
        seen["values"] = output.unflatten(-1, (heads, -1))  # (orders, pieces, heads, size)

    return hook


def _look_elsewhere(seen: dict[str, torch.Tensor], row: torch.Tensor, place: int):
    def hook(module, arguments):
        context = arguments[0].clone().unflatten(-1, (len(row), -1))
        context[:, place] = torch.einsum("hon,onhs->ohs", row, seen["values"])
        return (context.flatten(-2), *arguments[1:])

    return hook


def rollout(maps: np.ndarray) -> np.ndarray:
    """Attention multiplied through the layers, half of each vector its own: from mean maps (layers, n, n) to (n, n).

    How much each place of the last layer takes from each input if nothing but attention and the residual path moved it.
    """
    found = np.eye(maps.shape[-1])
    for layer in maps:
        found = (layer + np.eye(len(layer))) / 2 @ found
    return found


def _maps_and_slopes(specimen: Specimen, inputs: dict, place: int, label: int) -> tuple[torch.Tensor, np.ndarray]:
    """Maps (layers, heads, pieces, pieces), and the length of the gradient at each embedding (pieces,)."""
    embedded = specimen.model.get_input_embeddings()(inputs["input_ids"]).detach().requires_grad_(True)
    rest = {name: tensor for name, tensor in inputs.items() if name != "input_ids"}
    with torch.enable_grad():
        found, output = _place_probabilities(
            specimen, rest | {"inputs_embeds": embedded}, place, output_attentions=True
        )
        loss = -found[:, label].clamp_min(1e-30).log().sum()
        slope = torch.autograd.grad(loss, embedded)[0][0].norm(dim=-1)
    return torch.stack([layer[0].detach() for layer in output.attentions]), slope.numpy()


@torch.no_grad()
def _erasure(specimen: Specimen, inputs: dict, place: int, others: list[int]) -> tuple[torch.Tensor, ...]:
    """Probabilities at `place` when each of the other pieces is replaced by [MASK], when all of them are, and when none
    is: (others, vocabulary), (vocabulary,), (vocabulary,)."""
    batch = {name: tensor.repeat(len(others) + 2, 1) for name, tensor in inputs.items()}
    batch["input_ids"][torch.arange(len(others)), others] = specimen.tokenizer.mask_token_id
    batch["input_ids"][-2, others] = specimen.tokenizer.mask_token_id
    found, _ = _place_probabilities(specimen, batch, place)
    return found[:-2], found[-2], found[-1]


def _place_probabilities(specimen: Specimen, inputs: dict, place: int, **settings) -> tuple[torch.Tensor, ModelOutput]:
    """Probabilities (batch, vocabulary) at one place, the only one that is decoded; and the model's output."""
    with head_sees(specimen.encoder, lambda hidden: hidden[:, place : place + 1]):
        output = specimen.model(**inputs, **settings, return_dict=True)
    logits = output.logits if "logits" in output else output.prediction_logits
    return logits[:, 0].softmax(-1), output
