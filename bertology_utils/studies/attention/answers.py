"""Questions and sentences: what fine-tuning on them does to attention, and what an attribution says of the answer.

Depends on `training` (tuned classifiers), `attention` (maps), the grammar, and QNLI where it is there. Measures where
the words look that question and sentence share (kovaleva2019revealing), and ranks pieces by integrated gradients
beside attention and erasure (after arkhangelskaia2019whatcha).
"""

from collections import Counter
from collections.abc import Sequence
from random import Random

import numpy as np
import torch
from scipy.stats import spearmanr

from bertology_utils.absent import Absent
from bertology_utils.data.material import EMBEDDED, draw, fits, rows
from bertology_utils.data.readers import split_words
from bertology_utils.instruments.attention import attention_maps
from bertology_utils.instruments.controls import majority_baseline
from bertology_utils.language.grammar import Grammar
from bertology_utils.models import Specimen
from bertology_utils.text import Encoding, encode_words, model_inputs
from bertology_utils.tuning.classification_tasks import event
from bertology_utils.tuning.training import Examples, FineTuned, finetune_seeds

ANSWERS = ("not_entailment", "entailment")
COMMON = 0.25  # a word in so many pairs says nothing of the answer


def answer_pairs(n: int, seed: int = 0, split: str = "train", source: str = EMBEDDED) -> Examples:
    """Questions with a sentence that answers them (1) or does not (0), half and half as far as they go.

    Generated: "who thanked the cook ?" with "the king thanked the cook ." or with another deed; "qnli": its training
    part, and its development part as the test.
    """
    if source == EMBEDDED:
        items = _generated(n, seed, split)
    else:
        labelled = ((split_words(r.text), split_words(r.text_b), ANSWERS.index(r.label))
                    for r in rows(source, "train" if split == "train" else "validation"))  # fmt: skip
        found = [item for item in labelled if fits(item[0]) and fits(item[1])]
        items = [item for label in (0, 1) for item in draw([i for i in found if i[2] == label], n // 2, seed)]
    Random(seed).shuffle(items)
    questions, sentences, labels = zip(*items, strict=True)
    return Examples(questions, labels, sentences)


def question_task(sizes: tuple[int, int] | None, seed: int = 0) -> tuple[Examples, Examples] | Absent:
    """So many pairs of QNLI to train and to test on; absent where a run has no time for them."""
    if sizes is None:
        return Absent(
            "a small model needs more question pairs than a chapter's minutes; the profile full tunes it on QNLI"
        )
    train, test = (answer_pairs(n, seed, split, "qnli") for n, split in zip(sizes, ("train", "test"), strict=True))
    return train, test


def tuned_runs(
    specimen: Specimen, task: tuple[Examples, Examples] | Absent, seeds: Sequence[int]
) -> Sequence[FineTuned] | Absent:
    """One tuned model a seed, at a rate where the answers are learnt; absent where the task is."""
    if isinstance(task, Absent):
        return task
    return finetune_seeds(specimen, *task, seeds, epochs=2, learning_rate=5e-5)[0]


def _generated(n: int, seed: int, split: str) -> list[tuple[tuple[str, ...], tuple[str, ...], int]]:
    """Who did it to whom; where the sentence has no answer, it tells of another deed to another person."""
    grammar, items = Grammar(split, seed), []
    while len(items) < n:
        first, second = (_deed(grammar) for _ in "ab")
        label = len(items) % 2
        asked = first if label else second
        if label or not set(first[2:-1]) & set(second[2:-1]) - {"the"}:
            items.append((("who", *asked[2:-1], "?"), first, label))
    return items


def _deed(grammar: Grammar) -> tuple[str, ...]:
    """`the king thanked the cook .`: the asker's words are those from the verb on."""
    sentence, agent, patient = event(grammar)
    return sentence(agent, patient, False)


def shared_masses(specimen: Specimen, examples: Examples) -> dict[str, np.ndarray]:
    """Attention of words that question and sentence share, mean over their pieces, layers and heads: (pairs,).

    `overlap` to the same word on the other side, `separator` to [SEP]; pairs that share no word but common ones are
    left out. Needs eager attention.
    """
    common = _common_words(examples)
    found: dict[int, tuple[float, float]] = {}
    for index, encoding, maps in attention_maps(specimen, examples.sentences, examples.pairs):
        links = _shared_pieces(encoding, examples.sentences[index], examples.pairs[index], common)
        if links:
            separator = np.array(encoding.input_ids) == specimen.tokenizer.sep_token_id
            mean = maps.mean((0, 1)).numpy()
            masses = [(mean[piece, targets].sum(), mean[piece, separator].sum()) for piece, targets in links]
            found[index] = tuple(np.mean(masses, axis=0))
    return dict(zip(("overlap", "separator"), np.array([found[i] for i in sorted(found)]).T, strict=True))


def _common_words(examples: Examples) -> set[str]:
    counts = Counter(
        word
        for pair in zip(examples.sentences, examples.pairs, strict=True)
        for word in {word.lower() for side in pair for word in side}
    )
    return {word for word, count in counts.items() if count >= COMMON * len(examples)}


def _shared_pieces(
    encoding: Encoding, first: Sequence[str], second: Sequence[str], common: set[str]
) -> list[tuple[int, list[int]]]:
    """For each piece of a shared word: its place, and the places of the same word on the other side."""
    words = [word.lower() for word in (*first, *second)]
    sides = [i < len(first) for i in range(len(words))]
    places: dict[int, list[int]] = {}
    for place, word in enumerate(encoding.word_ids):
        if word is not None:
            places.setdefault(word, []).append(place)
    links = []
    for word, mine in places.items():
        same = [other for other in places if words[other] == words[word] and sides[other] != sides[word]]
        if same and words[word] not in common:
            targets = [place for other in same for place in places[other]]
            links += [(place, targets) for place in mine]
    return links


def answer_samples(
    specimen: Specimen, runs: Sequence[FineTuned], train: Examples, test: Examples
) -> dict[str, np.ndarray]:
    """`overlap` and `separator`, each `_before` (pairs,) and `_after` tuning (runs, pairs), over the pairs that share
    a word; and how right the tuned models are: `tuned` (runs, items), beside `majority` (items,)."""
    before = shared_masses(specimen, test)
    after = [shared_masses(run.specimen, test) for run in runs]
    found = {f"{name}_before": values for name, values in before.items()}
    found |= {f"{name}_after": np.stack([one[name] for one in after]) for name in before}
    found["tuned"] = np.stack([run.correct for run in runs]).astype(float)
    return found | {"majority": majority_baseline(train.labels, test.labels)}


def question_samples(
    specimen: Specimen, runs: Sequence[FineTuned], task: tuple[Examples, Examples]
) -> dict[str, np.ndarray]:
    """`answer_samples` and `attribution_samples` of the same tuned models, on the pairs of `question_task`."""
    return answer_samples(specimen, runs, *task) | attribution_samples(specimen, runs, task[1])


def attribution_samples(
    specimen: Specimen, runs: Sequence[FineTuned], test: Examples, items: int = 60, steps: int = 8
) -> dict[str, np.ndarray]:
    """Do attributions and attention rank the pieces of a pair as erasing them does? `attribution`, `attention`, each
    (runs, items): rank correlations with the change of the chosen class' logit when a piece becomes [MASK].

    `attribution` is the length of integrated gradients from [MASK] to the piece, which DeepLIFT approximates
    (arkhangelskaia2019whatcha); `attention` the last layer's from [CLS], mean over heads. Of the first `items` pairs.
    """
    found: dict[str, list[list[float]]] = {"attribution": [], "attention": []}
    encodings = encode_words(specimen, test.sentences[:items], test.pairs[:items])
    for run in runs:
        ranks: dict[str, list[float]] = {"attribution": [], "attention": []}
        for encoding in encodings:
            inputs = model_inputs(specimen, [encoding])
            places = [place for place, word in enumerate(encoding.word_ids) if word is not None]
            change = _erased(run, inputs, places, specimen.tokenizer.mask_token_id)
            guesses = {
                "attribution": _integrated(run, inputs, places, specimen.tokenizer.mask_token_id, steps),
                "attention": _class_row(run, inputs)[places],
            }
            for name, values in guesses.items():
                ranks[name].append(float(np.nan_to_num(spearmanr(values, change).statistic)))
        for name, values in ranks.items():
            found[name].append(values)
    return {name: np.array(values) for name, values in found.items()}


@torch.no_grad()
def _class_row(run: FineTuned, inputs: dict) -> np.ndarray:
    maps = run.classifier.encoder(**inputs, output_attentions=True, return_dict=True).attentions
    return maps[-1][0, :, 0].mean(0).numpy()


@torch.no_grad()
def _erased(run: FineTuned, inputs: dict, places: Sequence[int], mask: int) -> np.ndarray:
    """|change of the chosen class' logit margin| when each place is replaced by [MASK]: (places,)."""
    batch = {name: tensor.repeat(len(places) + 1, 1) for name, tensor in inputs.items()}
    batch["input_ids"][torch.arange(len(places)), torch.tensor(places)] = mask
    logits = run.classifier(**batch)
    margin = logits[:, 1] - logits[:, 0]
    return (margin[:-1] - margin[-1]).abs().numpy()


def _integrated(run: FineTuned, inputs: dict, places: Sequence[int], mask: int, steps: int) -> np.ndarray:
    """|integrated gradients of the logit margin| along the line from [MASK] to each place's piece: (places,)."""
    table = run.classifier.encoder.get_input_embeddings()
    target = table(inputs["input_ids"]).detach()
    start = target.clone()
    start[:, list(places)] = table.weight[mask].detach()
    shares = (torch.arange(steps) + 0.5) / steps
    path = (start + shares[:, None, None] * (target - start)).requires_grad_(True)
    rest = {name: tensor.repeat(steps, 1) for name, tensor in inputs.items() if name != "input_ids"}
    with torch.enable_grad():
        logits = run.classifier(inputs_embeds=path, **rest)
        slopes = torch.autograd.grad((logits[:, 1] - logits[:, 0]).sum(), path)[0]
    return ((target - start)[0] * slopes.mean(0)).sum(-1).abs().numpy()[list(places)]
