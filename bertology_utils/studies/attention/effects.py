"""Interventions on attention: gradients of weights, silenced values, removed edges and heads, the part without effect.

Depends on `attention` (where values and output projections are), `blocks` (one block run again), `mlm_training` (masked
losses) and `heads`. Asks not where a head looks but what follows from it.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import numpy as np
import torch
from scipy.stats import spearmanr

from bertology_utils.absent import Absent
from bertology_utils.data.material import EMBEDDED
from bertology_utils.instruments.attention import (
    attention_maps,
    mean_values,
    projections,
    silenced_values,
    summed_divergence,
)
from bertology_utils.instruments.blocks import BlockCall, recorded_calls, starting_at
from bertology_utils.instruments.controls import majority_baseline
from bertology_utils.instruments.heads import ablate_each, ablated, head_means
from bertology_utils.models import Specimen
from bertology_utils.studies.attention.evidence import depth_shares
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.classification_tasks import number_examples
from bertology_utils.tuning.mlm_training import IGNORED, masked_batches, masked_loss
from bertology_utils.tuning.training import Examples, FineTuned, batches, finetune_seeds

Words = Sequence[Sequence[str]]


def separator_importance(specimen: Specimen, sentences: Words, seed: int = 0) -> dict[str, np.ndarray]:
    """Attention to [SEP] and |d MLM loss / d weight| of it: `attention`, `gradient`, both (sentences, layers).

    clark2019what; mean over heads and real source pieces. Needs eager attention and a masked-LM head.
    """
    shape = (len(sentences), specimen.layers)
    found = {"attention": np.empty(shape), "gradient": np.empty(shape)}
    for rows, batch in masked_batches(specimen, sentences, seed, budget=1024):
        inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
        with torch.enable_grad():
            output = specimen.model(**inputs, output_attentions=True, return_dict=True)
            maps = output.attentions
            gradients = torch.autograd.grad(_item_losses(output, batch["labels"]).sum(), maps)
        target = inputs["input_ids"] == specimen.tokenizer.sep_token_id
        for layer, (weights, slopes) in enumerate(zip(maps, gradients, strict=True)):
            found["attention"][rows, layer] = _mean_to(weights.detach(), target, inputs["attention_mask"])
            found["gradient"][rows, layer] = _mean_to(slopes.abs(), target, inputs["attention_mask"])
    return found


def separator_samples(importance: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """From `separator_importance`: `attention` and `gradient`, the latter relative to its mean, (layers, sentences);
    attention in the lower third of the layers and above, `sep_lower` and `sep_upper`, and the rank correlation of the
    gradient with the layer, `gradient_rank`, (sentences,) each."""
    attention, gradient = importance["attention"], importance["gradient"]
    depth = depth_shares(attention)
    return {
        "attention": attention.T,
        "gradient": (gradient / gradient.mean()).T,
        "sep_lower": depth["lower"],
        "sep_upper": depth["upper"],
        "gradient_rank": rank_over_layers(gradient),
    }


def _item_losses(output, labels: torch.Tensor) -> torch.Tensor:
    logits = output.logits if "logits" in output else output.prediction_logits
    losses = torch.nn.functional.cross_entropy(logits.mT, labels, reduction="none", ignore_index=IGNORED)
    return losses.sum(1) / (labels != IGNORED).sum(1)


def _mean_to(values: torch.Tensor, target: torch.Tensor, mask: torch.Tensor) -> np.ndarray:
    """Sum over target columns, mean over real rows and heads: (batch, heads, rows, columns) to (batch,)."""
    mass = (values * target[:, None, None, :]).sum(-1).mean(1)
    return ((mass * mask).sum(1) / mask.sum(1)).numpy()


def rank_over_layers(values: np.ndarray) -> np.ndarray:
    """Spearman's correlation of each row with the layer number: (items, layers) to (items,)."""
    layers = np.arange(values.shape[1])
    return np.array([np.nan_to_num(spearmanr(layers, row).statistic) for row in values])


@torch.no_grad()
def separator_losses(specimen: Specimen, sentences: Words, layers: Sequence[int], seed: int = 0) -> dict:
    """Masked loss as it is (`loss`), and without what values say in `layers`: (sentences,) each.

    The values of [SEP] (`silenced`), or those of the words, the positive control (`words_silenced`), are replaced by
    their mean over all sentences, which holds nothing of this one. `zeroed` takes the mean of [SEP] away too, a
    constant on which later layers may rely as on a bias.
    """
    parts = masked_batches(specimen, sentences, seed)
    special = torch.tensor([specimen.tokenizer.cls_token_id, specimen.tokenizer.sep_token_id])
    separators = [batch["input_ids"] == special[1] for _, batch in parts]
    words = [batch["attention_mask"].bool() & ~torch.isin(batch["input_ids"], special) for _, batch in parts]
    ways = {"loss": (separators, (), None), "zeroed": (separators, layers, None)}
    for name, pieces in (("silenced", separators), ("words_silenced", words)):
        ways[name] = (pieces, layers, mean_values(specimen, [batch for _, batch in parts], pieces))
    found = {name: np.empty(len(sentences)) for name in ways}
    for name, (pieces, places, constant) in ways.items():
        for (rows, batch), mine in zip(parts, pieces, strict=True):
            with silenced_values(specimen, mine, places, constant):
                found[name][rows] = masked_loss(specimen.model, batch).numpy()
    return found


@torch.no_grad()
def edge_effects(specimen: Specimen, sentences: Words, edges: int = 48, seed: int = 0) -> dict[str, np.ndarray]:
    """Random edges (layer, head, source, target): `weight`, `norm` and `effect`, each (sentences, edges).

    `norm` is weight times the length of the transformed value (kobayashi2020attention); `effect` is how far the next
    vector of the source, the output of the edge's own block, moves when this one edge is removed and nothing is
    renormalised.
    """
    generator = np.random.default_rng(seed)
    found = {name: np.empty((len(sentences), edges)) for name in ("weight", "norm", "effect")}
    for row, encoding in enumerate(encode_words(specimen, sentences)):
        with recorded_calls(specimen.encoder) as calls:
            maps, values = _maps_and_values(specimen, model_inputs(specimen, [encoding]))
        size = len(encoding)
        chosen = [
            tuple(map(int, generator.integers((specimen.layers, specimen.heads, size, size)))) for _ in range(edges)
        ]
        for column, (layer, head, source, target) in enumerate(chosen):
            weight = float(maps[layer, head, source, target])
            moved = _output_weight(specimen, layer, head) @ values[layer, head, target]
            found["weight"][row, column] = weight
            found["norm"][row, column] = weight * float(moved.norm())
        found["effect"][row] = _removal_effects(calls, projections(specimen.encoder), maps, values, chosen)
    return found


def _maps_and_values(specimen: Specimen, inputs: dict) -> tuple[torch.Tensor, torch.Tensor]:
    """Maps (layers, heads, pieces, pieces) and values (layers, heads, pieces, size) of one sentence."""
    values: list[torch.Tensor] = []
    with ExitStack() as stack:
        for value, _ in projections(specimen.encoder):
            hook = value.register_forward_hook(lambda module, args, output: values.append(output[0]))
            stack.callback(hook.remove)
        maps = specimen.encoder(**inputs, output_attentions=True, return_dict=True).attentions
    split = torch.stack(values).unflatten(-1, (specimen.heads, -1)).transpose(1, 2)
    return torch.stack([layer[0] for layer in maps]), split


def _output_weight(specimen: Specimen, layer: int, head: int) -> torch.Tensor:
    """The columns of W_O that read one head: (width, size)."""
    return projections(specimen.encoder)[layer][1].weight.unflatten(1, (specimen.heads, -1))[:, head]


def _removal_effects(calls: Sequence[BlockCall], projections: Sequence, maps, values, chosen: list) -> np.ndarray:
    """How far each edge moves its source in the output of its block, (edges,).

    Only that block runs, on what it was given in the intact run: one row of its batch for each edge, whose contribution
    is subtracted before the output projection, and one untouched row.
    """
    effects = np.empty(len(chosen))
    for layer, (_, output) in enumerate(projections):
        mine = [place for place, edge in enumerate(chosen) if edge[0] == layer]
        edges = [(row, *chosen[place][1:]) for row, place in enumerate(mine)]
        hook = output.register_forward_pre_hook(_subtract(edges, maps[layer], values[layer]))
        try:
            *removed, whole = calls[layer].again(len(mine) + 1)
        finally:
            hook.remove()
        for place, hidden in zip(mine, removed, strict=True):
            source = chosen[place][2]
            effects[place] = float((hidden[source] - whole[source]).norm())
    return effects


def _subtract(edges: list, maps: torch.Tensor, values: torch.Tensor):
    def hook(module, arguments):
        context = arguments[0].clone().unflatten(-1, (len(values), -1))  # (batch, pieces, heads, size)
        for row, head, source, target in edges:
            context[row, source, head] -= maps[head, source, target] * values[head, target]
        return (context.flatten(-2), *arguments[1:])

    return hook


def effect_correlations(effects: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Spearman's correlation with the effect of removal, sentence by sentence: `weight`, `norm` (sentences,)."""
    return {
        name: np.array(
            [np.nan_to_num(spearmanr(a, b).statistic) for a, b in zip(effects[name], effects["effect"], strict=True)]
        )
        for name in ("weight", "norm")
    }


def inputs_by_width(specimen: Specimen, sentences: Words, count: int) -> tuple[list[list[str]], list[list[str]]]:
    """Up to `count` short and as many long inputs, as the width of a head tells them apart.

    Short are sentences of no more pieces than a head has dimensions; long are sentences joined until they have half as
    many pieces again. Either list is empty where the sentences have none.
    """
    width = specimen.width // specimen.heads
    encodings = encode_words(specimen, sentences)
    short = [list(words) for words, encoding in zip(sentences, encodings, strict=True) if len(encoding) <= width]
    long, joined, pieces = [], [], 0
    for words, encoding in zip(sentences, encodings, strict=True):
        joined, pieces = [*joined, *words], pieces + sum(word is not None for word in encoding.word_ids)
        if pieces >= 1.5 * width:
            long += [joined] if pieces + 2 <= specimen.max_pieces else []
            joined, pieces = [], 0
    return short[:count], long[:count]


def ineffective_shares(specimen: Specimen, sentences: Words, count: int) -> dict[str, np.ndarray] | Absent:
    """`ineffective_share` of up to `count` `short` and `long` inputs, (inputs,) each, and how many words these have on
    average, `short_words` and `long_words`; absent where the sentences give no input of one of the two kinds."""
    short, long = inputs_by_width(specimen, sentences, count)
    if not (short and long):
        return Absent(
            "these sentences give no input of at most as many pieces as a head has dimensions, or none of half as "
            "many again"
        )
    found = {}
    for name, texts in (("short", short), ("long", long)):
        found[name] = ineffective_share(specimen, texts)
        found[f"{name}_words"] = np.array(np.mean([len(text) for text in texts]))
    return found


@torch.no_grad()
def ineffective_share(specimen: Specimen, sentences: Words, pairs: Words | None = None) -> np.ndarray:
    """Share of a map's length that no output can notice, mean over heads: (sentences,) (brunner2020identifiability).

    The rows' part in the left null space of the transformed values; empty until an input has more pieces than a head
    has dimensions.
    """
    found = np.empty(len(sentences))
    encodings = encode_words(specimen, sentences, pairs)
    for row, encoding in enumerate(encodings):
        maps, values = _maps_and_values(specimen, model_inputs(specimen, [encoding]))
        u, singular, _ = torch.linalg.svd(values.double(), full_matrices=False)
        u = u * (singular > 1e-6 * singular[..., :1])[..., None, :]
        effective = maps.double() @ u @ u.mT
        found[row] = float(((maps - effective).norm(dim=(-2, -1)) / maps.norm(dim=(-2, -1))).mean())
    return found


@torch.no_grad()
def ablation_scores(
    model, batch: dict, keep: torch.Tensor, score, how: str = "zero", means: torch.Tensor | None = None
) -> np.ndarray:
    """score(model, batch), (..., items), with the heads closed where `keep` (layers, heads) is 0."""
    with ablated(model, keep, how, means):
        return score(model, batch).numpy()


def keep_without(grid: tuple[int, int], closed: Sequence[tuple[int, int]]) -> torch.Tensor:
    """Ones (layers, heads) with zeros at the closed heads, 0-based (layer, head)."""
    keep = torch.ones(grid)
    for layer, head in closed:
        keep[layer, head] = 0
    return keep


def depth_matches(specimen: Specimen, sentences: Words, seed: int = 0) -> dict[str, np.ndarray]:
    """How far a head is from the most similar head of another layer: `matched`, `shuffled` (sentences,), in nats.

    Jensen-Shannon divergence a row, mean over heads and pairs of layers (gong2019efficient reports similar maps). The
    baseline looks for the match among maps whose columns of words were shuffled, each map in its own order; those of
    special pieces stay, since heads that share no more than their [SEP] are not alike.
    """
    generator = torch.Generator().manual_seed(seed)
    found = {"matched": np.empty(len(sentences)), "shuffled": np.empty(len(sentences))}
    for index, encoding, maps in attention_maps(specimen, sentences):
        heads = maps.flatten(0, 1).double()
        words = torch.tensor([place for place, word in enumerate(encoding.word_ids) if word is not None])
        order = torch.arange(len(encoding)).repeat(len(heads), 1)
        order[:, words] = words[torch.rand(len(heads), len(words), generator=generator).argsort(-1)]
        order = order[:, None].expand_as(heads)
        distance = summed_divergence(torch.cat([heads, heads.gather(-1, order)])) / heads.shape[-1]
        layers, count = maps.shape[0], len(heads)
        for name, block in (("matched", distance[:count, :count]), ("shuffled", distance[:count, count:])):
            nearest = block.view(count, layers, -1).amin(-1).view(layers, -1, layers).mean(1)
            found[name][index] = float(nearest[~torch.eye(layers, dtype=torch.bool)].mean())
    return found


ABLATIONS = ("zero", "mean", "uniform")


def number_task(sizes: tuple[int, int], seed: int, source: str = EMBEDDED) -> tuple[Examples, Examples]:
    """Sentences labelled with the number of their subject: so many to train and to test on."""
    train, test = (number_examples(n, seed, split, source) for n, split in zip(sizes, ("train", "test"), strict=True))
    return train, test


def ways(samples: dict[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """From `removal_samples`: accuracy without some heads, by the way in which they are removed."""
    parts = {"the two frame heads": "frame", "random pairs": "random", "all heads": "all"}
    return {
        f"without {label}": {
            how: samples[f"without_{name}" if how == "zero" else f"without_{name}_{how}"] for how in ABLATIONS
        }
        for label, name in parts.items()
    }


def removal_samples(
    specimen: Specimen,
    train: Examples,
    test: Examples,
    chosen: Sequence[tuple[int, int]],
    important: Sequence[tuple[int, int]] = (),
    seeds: Sequence[int] = (0, 1, 2),
    draws: int = 4,
    alone: Sequence[str] = ABLATIONS,
    few: int | None = None,
    shown: int | None = None,
) -> dict[str, np.ndarray]:
    """A linear classifier on the frozen encoder; heads are closed one by one and in sets, in three ways.

    `intact` (seeds, items) and `majority` (items,) are its scores. By zero (michel2019sixteen, voita2019analyzing), in
    accuracy, (seeds, items) each: `without_frame` closes the `chosen` heads, `without_random` as many random ones, the
    mean of `draws`, `without_all` every head: the positive control; `without_important` closes one of the `important`
    heads alone, the mean over them, `without_other` one of as many random others. `drop` (layers, heads) is what each
    head alone takes of the probability of the right class, over the first `few` items, and `removable` (heads,) whether
    that is less than a point: the count of right answers moves that far by chance. The same names with `_mean` and
    `_uniform` (the ablation of kovaleva2019revealing) put the head's average output over the training sentences, or
    equal attention, in its place. `alone` are the ways in which heads are closed one by one, which takes long; what no
    claim asks about, random heads and the other two ways, is asked of the first `shown` items. An untrained model,
    which guesses, is asked a twenty-fifth of the items.
    """
    test = _first(test, -(-len(test) // 25)) if specimen.is_random else test
    runs, intact = finetune_seeds(specimen, train, test, seeds, freeze="encoder", epochs=4)
    model, grid, generator = runs[0].classifier, (specimen.layers, specimen.heads), np.random.default_rng(seeds[0])
    sets = [_random_heads(grid, len(chosen), generator) for _ in range(draws)]
    means = head_means(model, (part for _, part in batches(specimen, train)))
    every, some = (_intact_parts(specimen, runs, part) for part in (test, _first(test, shown)))

    def closed(groups: Sequence, how: str, parts: list[tuple]) -> np.ndarray:
        return np.mean([_closed_hits(runs, parts, grid, group, how, means) for group in groups], 0)

    found = {"intact": intact.astype(float), "majority": majority_baseline(train.labels, test.labels)}
    if important:
        found["without_important"] = closed([[head] for head in important], "zero", every)
        others = [head for head in np.ndindex(grid) if head not in {*important}] or list(np.ndindex(grid))
        drawn = [others[i] for i in generator.permutation(len(others))[: len(important)]]
        found["without_other"] = closed([[head] for head in drawn], "zero", some)
    for how in ABLATIONS:
        end = "" if how == "zero" else f"_{how}"
        if how in alone:
            drop = _single_drops(specimen, runs, _first(test, few), how, means)
            found |= {f"removable{end}": (np.abs(drop) < 0.01).astype(float).ravel(), f"drop{end}": drop}
        asked = every if how == "zero" else some
        groups = {"all": ([list(np.ndindex(grid))], asked), "frame": ([chosen], asked), "random": (sets, some)}
        found |= {f"without_{name}{end}": closed(heads, how, parts) for name, (heads, parts) in groups.items()}
    return found


@torch.no_grad()
def _intact_parts(specimen: Specimen, runs: Sequence[FineTuned], test: Examples) -> list[tuple]:
    """The rows of each batch of the test, the batch, and what it gives the blocks of the runs' common encoder."""
    parts = []
    for rows, batch in batches(specimen, test, budget=256):  # by length: little of a batch is padding
        with recorded_calls(runs[0].classifier.encoder) as calls:
            _each_of(runs, _rightness)(runs[0].classifier, batch)
        parts.append((rows, batch, [call.hidden for call in calls]))
    return parts


def _closed_hits(runs: Sequence[FineTuned], parts, grid, closed, how: str, means) -> np.ndarray:
    """Whether each run is right with these heads closed: (runs, items); blocks below the lowest need not run."""
    model, hits = runs[0].classifier, np.empty((len(runs), sum(len(rows) for rows, _, _ in parts)))
    keep, lowest = keep_without(grid, closed), min(layer for layer, _ in closed)
    for rows, batch, given in parts:
        with starting_at(model.encoder, lowest, [given]):
            hits[:, rows] = ablation_scores(model, batch, keep, _each_of(runs, _rightness), how, means)
    return hits


@torch.no_grad()
def _single_drops(specimen: Specimen, runs: Sequence[FineTuned], test: Examples, how: str, means) -> np.ndarray:
    """What each head alone takes of the probability of the right class, mean over runs and items: (layers, heads)."""
    model, each = runs[0].classifier, _each_of(runs, _probability)

    def chance(model, batch):
        return each(model, batch).mean(0)

    parts = batches(specimen, test, budget=256)
    whole = torch.cat([chance(model, batch) for _, batch in parts]).mean()
    single = torch.cat([ablate_each(model, batch, chance, how, means) for _, batch in parts], dim=-1)
    return (whole - single.mean(-1)).numpy()


def _first(examples: Examples, count: int | None) -> Examples:
    """The first `count` examples; all of them by default."""
    return Examples(examples.sentences[:count], examples.labels[:count], examples.pairs and examples.pairs[:count])


def _rightness(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return (logits.argmax(-1) == labels).float()


def _probability(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return logits.softmax(-1).gather(-1, labels[:, None])[:, 0]


def _each_of(runs: Sequence[FineTuned], judge: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]):
    """(model, batch) -> `judge` of each run's head, (runs, items); they share one frozen encoder."""
    heads = [run.classifier.head for run in runs]

    def score(model, batch):
        features = model.features(**{name: tensor for name, tensor in batch.items() if name != "labels"})
        return torch.stack([judge(head(features), batch["labels"]) for head in heads])

    return score


def _random_heads(grid: tuple[int, int], count: int, generator: np.random.Generator) -> list[tuple[int, int]]:
    """`count` different heads, 0-based (layer, head)."""
    return [divmod(int(i), grid[1]) for i in generator.choice(grid[0] * grid[1], count, replace=False)]
