"""Labelled tasks for layer studies, from gold annotation: word tasks, coreference, and ten sentence-level tasks.

Depends on `material`, `coreference`, `activations` and `probes`. A task computes its labels without knowing any model;
`task_scores` probes every layer of a specimen with the same probe. The items of word tasks share no content word
between training and test; generated sentences share none at all.
The sentence tasks stand in for SentEval's (jawahar2019what): surface, syntactic and semantic ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress

import numpy as np
import torch

from bertology_utils.activations import POOLS, pooled_vectors, word_vectors
from bertology_utils.data.coreference_sets import coreferences
from bertology_utils.data.material import EMBEDDED, Treebank
from bertology_utils.data.material import sentences as draw_sentences
from bertology_utils.data.pair_sets import agreement_pairs
from bertology_utils.errors import BertologyError, unknown
from bertology_utils.instruments.probes import encode_labels, probe_correctness, train_scalar_mix, train_selector
from bertology_utils.instruments.structural import fit_depth_probe, score_depths
from bertology_utils.language.grammar_trees import Sentence
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit
from bertology_utils.studies.ambiguous import pointed_sentences
from bertology_utils.tuning.changes import blocks_have_own_weights, representation_change, restored
from bertology_utils.tuning.mlm_training import IGNORED, masked_batches
from bertology_utils.tuning.training import Examples, FineTuned, correctness, finetune_seeds, run_seeds

Words = Sequence[Sequence[str]]
GROUPS = {
    "length": "surface", "word content": "surface",
    "tree depth": "syntactic", "top constituents": "syntactic", "bigram shift": "syntactic",
    "tense": "semantic", "subject number": "semantic", "object number": "semantic", "odd word": "semantic",
    "clause inversion": "semantic",
}  # fmt: skip
TOTAL = ("length", "word content", "tree depth", "top constituents", "bigram shift")  # defined for every sentence
TRAINING = {"batch": 64, "steps": 200, "epochs": 1}  # of single probes and mixes alike
WORD_TASKS = ("position", "pos", "chunk", "entity", "dependency", "role")


@dataclass(frozen=True)
class Part:
    """One half of a task: its sentences, the items as tuples (sentence, word, ...) and a label an item.

    An item with no word stands for its sentence, with one for that word, with two for the pair.
    """

    sentences: Words
    items: Sequence[tuple[int, ...]]
    labels: Sequence[Hashable]

    @property
    def groups(self) -> list[int]:
        """The sentence of each item."""
        return [item[0] for item in self.items]

    @property
    def forms(self) -> list[str]:
        """The word form of each item, of its last word where it has two: what items share."""
        return [self.sentences[sentence][words[-1]].lower() for sentence, *words in self.items]


@dataclass(frozen=True)
class Task:
    """A probing task with training and test part."""

    name: str
    train: Part
    test: Part


def over_words(samples: Mapping[str, np.ndarray], part: Part, odd: bool = False) -> dict[str, np.ndarray]:
    """Samples of a part's items, (..., items), as such of the word forms that items share: a hundred times *that* is
    one word. `odd`: the samples are of every second item only, as where a layer was chosen on the others."""
    forms = part.forms[1::2] if odd else part.forms
    return {name: by_unit(values, forms) for name, values in samples.items()}


def tasks_together(scores: Mapping[str, np.ndarray], tasks: Mapping[str, Task]) -> np.ndarray:
    """Several tasks as one sample of word forms, (layers + 1, seeds, forms); each has as many items, and so weighs as
    much."""
    items = min(scores[name].shape[-1] for name in tasks)
    forms = [form for task in tasks.values() for form in task.test.forms[:items]]
    return by_unit(np.concatenate([scores[name][..., :items] for name in tasks], axis=-1), forms)


# --- word tasks -----------------------------------------------------------------------------------------------------


def _word_label(task: str, sentence: Sentence, word: int) -> Hashable | None:
    """The label of a word, or None where the task has no item."""
    if task == "position":
        return word if word < 10 else None
    if task == "pos":
        return sentence.upos[word]
    if task == "chunk":
        return sentence.chunks[word]
    if task == "entity":
        return sentence.entities[word] or "none" if sentence.upos[word] in ("PROPN", "NOUN") else None
    if task == "dependency":
        return None if sentence.deprels[word] in ("punct", "root") else sentence.deprels[word]
    return sentence.roles[word]


def word_task(name: str, bank: Treebank, items: int, seed: int = 0, tested: int | None = None) -> Task:
    """position | pos | chunk | entity | dependency | role of words; at most `items` a part, `tested` for the test."""
    if name not in WORD_TASKS:
        raise unknown("word task", name, WORD_TASKS)
    sizes = {"train": items, "test": tested or items}
    return Task(name, *(_word_part(name, bank, part, size, seed) for part, size in sizes.items()))


def _word_part(name: str, bank: Treebank, part: str, items: int, seed: int) -> Part:
    sentences: list[Sentence] = getattr(bank, part)
    places = [(i, w) for i, s in enumerate(sentences) for w in range(len(s.words))]
    labels = {(i, w): _word_label(name, sentences[i], w) for i, w in compress(places, bank.scored(part))}
    labelled = [(place, label) for place, label in labels.items() if label is not None]
    order = np.random.default_rng(seed).permutation(len(labelled))[:items]
    chosen = [labelled[i] for i in order]
    return Part([s.words for s in sentences], [place for place, _ in chosen], [label for _, label in chosen])


def coreference_task(train: int, test: int, seed: int = 0, source: str = EMBEDDED) -> Task:
    """Does the pronoun mean this noun? Two pairs a sentence, one right and one wrong."""
    parts = (_coreference_part(n, seed, split, source) for n, split in ((train, "train"), (test, "test")))
    return Task("coreference", *parts)


def _coreference_part(n: int, seed: int, split: str, source: str) -> Part:
    found = coreferences(n, seed, split, source)
    places = [(i, c.pronoun, noun) for i, c in enumerate(found) for noun in (c.antecedent, c.rival)]
    return Part([c.words for c in found], places, ["same", "other"] * len(found))


# --- sentence tasks -------------------------------------------------------------------------------------------------


def sentence_task(name: str, train: int, test: int, seed: int = 0, source: str = EMBEDDED) -> Task:
    """One of the ten tasks named in GROUPS, on `train` and `test` sentences (fewer where a label does not exist)."""
    if name not in GROUPS:
        raise unknown("sentence task", name, GROUPS)
    return Task(
        name,
        _sentence_part(name, train, seed, "train", source),
        _sentence_part(name, test, seed, "test", source),
    )


def _sentence_part(name: str, n: int, seed: int, split: str, source: str) -> Part:
    """The first `n` sentences that the task has a label for; most tasks take all, and so share their sentences."""
    sentences = _drawn(n if name in TOTAL else 5 * n, seed, split, source)
    generator = np.random.default_rng(seed)
    if name in ALTERATIONS:
        changed = ((s.words, ALTERATIONS[name](s, sentences, generator)) for s in sentences)
        possible = [pair for pair in changed if pair[1] is not None][:n]
        labels = generator.permutation(np.arange(len(possible)) % 2).tolist()
        words = [pair[label] for pair, label in zip(possible, labels, strict=True)]
    else:
        labelled = [(s.words, SENTENCE_LABELS[name](s)) for s in sentences]
        words, labels = zip(*[pair for pair in labelled if pair[1] is not None][:n], strict=True)
    return Part(words, [(i,) for i in range(len(words))], labels)


@lru_cache(maxsize=4)  # the tasks ask for the same sentences, ten times over
def _drawn(n: int, seed: int, split: str, source: str) -> tuple[Sentence, ...]:
    return tuple(draw_sentences(n, seed, split, source))


def _top_constituents(sentence: Sentence) -> str:
    """What the root governs before and after itself: the relations of its direct dependents, first two."""
    root = sentence.features["root"]
    labels = [r for r, h in zip(sentence.deprels, sentence.heads, strict=True) if h == root and r != "punct"]
    return " ".join(label.split(":")[0] for label in labels[:2])


SENTENCE_LABELS: Mapping[str, Callable[[Sentence], Hashable | None]] = {
    "length": lambda s: min((len(s.words) - 4) // 3, 4),
    # The splits share no content word, so the words to be found are function words.
    "word content": lambda s: next((w for w in ("because", "that", "two", "his", "a") if w in s.words), "none"),
    "tree depth": lambda s: min(int(s.features["depth"]), 5),
    "top constituents": _top_constituents,
    "tense": lambda s: s.features["tense"],
    "subject number": lambda s: s.features["subject_number"],
    "object number": lambda s: s.features["object_number"],
}


def _bigram_shift(sentence: Sentence, others: Sequence[Sentence], generator: np.random.Generator) -> list[str]:
    """Two neighbouring words change places (not the final mark)."""
    words = list(sentence.words)
    place = int(generator.integers(len(words) - 2))
    words[place], words[place + 1] = words[place + 1], words[place]
    return words


def _odd_word(sentence: Sentence, others: Sequence[Sentence], generator: np.random.Generator) -> list[str] | None:
    """A noun or verb is replaced by another sentence's word of the same tag and number."""
    places = [i for i, tag in enumerate(sentence.upos) if tag in ("NOUN", "VERB")]
    place = int(generator.choice(places)) if places else -1
    same = [
        w
        for other in (others[int(i)] for i in generator.integers(len(others), size=12))
        for w, tag, number in zip(other.words, other.upos, other.number, strict=True)
        if place >= 0 and (tag, number) == (sentence.upos[place], sentence.number[place]) and w != sentence.words[place]
    ]
    if not same:
        return None
    return [*sentence.words[:place], same[0], *sentence.words[place + 1 :]]


def _clause_inversion(
    sentence: Sentence, others: Sequence[Sentence], generator: np.random.Generator
) -> list[str] | None:
    """Subject noun and object noun of the main clause change places: `the cake ate the boy`."""
    subject, direct = int(sentence.features["subject"]), int(sentence.features["object"])
    if min(subject, direct) < 0 or {sentence.upos[subject], sentence.upos[direct]} != {"NOUN"}:
        return None
    words = list(sentence.words)
    words[subject], words[direct] = words[direct], words[subject]
    return words


ALTERATIONS = {"bigram shift": _bigram_shift, "odd word": _odd_word, "clause inversion": _clause_inversion}


def majority_hits(task: Task) -> np.ndarray:
    """What the most frequent training label gets right of the test items: 0/1 (items,)."""
    most = Counter(task.train.labels).most_common(1)[0][0]
    return np.array([float(label == most) for label in task.test.labels])


def number_examples(n: int, seed: int = 0, split: str = "train", source: str = EMBEDDED) -> Examples:
    """Sentences labelled with the number of their subject (0 singular, 1 plural), half and half as far as they go."""
    drawn = draw_sentences(3 * n, seed, split, source, kind="simple")
    sentences = [s for s in drawn if s.features["subject_number"]]
    labels = [int(s.features["subject_number"] == "plural") for s in sentences]
    halves = [[i for i, label in enumerate(labels) if label == wanted][: n // 2] for wanted in (0, 1)]
    chosen = sorted(halves[0] + halves[1])
    return Examples([list(sentences[i].words) for i in chosen], [labels[i] for i in chosen])


# --- probing --------------------------------------------------------------------------------------------------------


class LayerFeatures:
    """Vectors of a specimen, computed once for each sentence."""

    def __init__(self, specimen: Specimen) -> None:
        self.specimen = specimen
        self._words: dict[tuple[str, ...], torch.Tensor] = {}

    def words(self, sentences: Words) -> list[torch.Tensor]:
        """For each sentence (layers + 1, words, width)."""
        keys = [tuple(sentence) for sentence in sentences]
        new = [key for key in dict.fromkeys(keys) if key not in self._words]
        if new:
            self._words |= zip(new, word_vectors(self.specimen, [list(key) for key in new]), strict=True)
        return [self._words[key] for key in keys]

    def of(self, part: Part) -> torch.Tensor:
        """Features (layers + 1, items, width) of a task's part; a pair gives difference and product, 2 * width.

        A sentence is the mean of its words: jawahar2019what reads [CLS], which a short training leaves untouched.
        """
        vectors = self.words(part.sentences)
        size = len(part.items[0])
        if size == 1:
            return torch.stack([vectors[i].mean(1) for (i,) in part.items], dim=1)
        if size == 2:
            return torch.stack([vectors[i][:, w] for i, w in part.items], dim=1)
        first, second = (torch.stack([vectors[item[0]][:, item[k]] for item in part.items], dim=1) for k in (1, 2))
        return torch.cat([(first - second).abs(), first * second], dim=-1)


def task_scores(features: LayerFeatures, task: Task, seeds: int = 3, **settings) -> np.ndarray:
    """0/1 of a linear probe on each layer: (layers + 1, seeds, items); settings as in `probes.train_probe`.

    Each seed trains on sentences of its own, so that an interval over seeds is one over training sentences too.
    """
    train, test, names = encode_labels(task.train.labels, task.test.labels)
    if len(names) < 2:
        raise BertologyError(f"The task '{task.name}' has a single label in training.")
    options = TRAINING | {"groups": task.train.groups} | settings
    return probe_correctness(
        features.of(task.train), train, features.of(task.test), test, classes=len(names), seeds=seeds, **options
    )


def sentence_scores(
    specimen: Specimen, examples: Examples, test: Examples, layers: slice = slice(None), **settings
) -> dict[str, np.ndarray]:
    """The same probe on both `POOLS` of sentences: (layers, seeds, items) each, of those of the layers + 1 asked."""
    known, asked = (pooled_vectors(specimen, part.sentences) for part in (examples, test))
    options = {"batch": 96, "steps": 120, "epochs": 1} | settings
    return {
        pool: probe_correctness(known[pool][layers], examples.labels, asked[pool][layers], test.labels, **options)
        for pool in POOLS
    }


def number_readout(
    specimen: Specimen, train: int, test: int, seeds: int = 3, seed: int = 0, source: str = EMBEDDED, **settings
) -> np.ndarray:
    """Subject number read from the masked verb, one noun of the other number between: (layers + 1, seeds, items).

    A trained readout at every layer, where goldberg2019assessing asks the model's own last layer.
    """
    return task_scores(
        LayerFeatures(specimen),
        Task(
            "agreement",
            *(
                _masked_verbs(specimen, n, attractors, seed, split, source)
                for n, attractors, split in ((train, (0, 1), "train"), (test, (1,), "test"))
            ),
        ),
        seeds,
        seed=seed,
        **settings,
    )


def _masked_verbs(specimen: Specimen, n: int, attractors: Sequence[int], seed: int, split: str, source: str) -> Part:
    drawn = {"seed": seed, "split": split, "source": source}
    found = [pair for count in attractors for pair in agreement_pairs(n // len(attractors), count, **drawn)]
    mask = specimen.tokenizer.mask_token
    words = [[mask if i == p.focus else w for i, w in enumerate(p.good)] for p in found]
    return Part(words, [(i, p.focus) for i, p in enumerate(found)], [p.condition["number"] for p in found])


def agreement_subjects(test: int, seed: int = 0, source: str = EMBEDDED) -> list[str]:
    """The subject noun of each test item of `number_readout`, which items share; the sentence where none is named."""
    found = agreement_pairs(test, 1, seed=seed, split="test", source=source)
    places = [pair.condition.get("subject") for pair in found]
    return [
        " ".join(pair.good) if place is None else pair.good[int(place)].lower()
        for pair, place in zip(found, places, strict=True)
    ]


def subject_scores(
    specimen: Specimen, train: int, test: int, seeds: int = 3, seed: int = 0, steps: int = 200, source: str = EMBEDDED
) -> np.ndarray:
    """Is the subject noun found where another noun comes first (lin2019open)? (layers + 1, seeds, sentences).

    Trained where the first noun is the subject, so that the linear rule and the hierarchical one both fit.
    """
    parts = [
        pointed_sentences(n, clear, seed, split, "subject", source)
        for n, clear, split in ((train, False, "train"), (test, True, "test"))
    ]
    vectors = [word_vectors(specimen, [list(s.words) for s in part]) for part in parts]
    places = [[s.target for s in part] for part in parts]
    own = range(len(places[0]))  # each seed trains on sentences of its own
    probe = train_selector(vectors[0], places[0], seeds=seeds, seed=seed, steps=steps, epochs=1, groups=own)
    return probe.correct(vectors[1], places[1])


def depth_scores(
    features: LayerFeatures, train: Sequence[Sentence], test: Sequence[Sentence], **settings
) -> np.ndarray:
    """Spearman's correlation of probed and true depth in the tree: (layers + 1, seeds, sentences)."""
    options = {"rank": 32, "epochs": 6} | settings
    probe = fit_depth_probe(features.words([s.words for s in train]), [s.heads for s in train], **options)
    predicted = probe.depths(features.words([s.words for s in test]))
    return score_depths(predicted, [s.heads for s in test]).spearman


def mix_scores(features: LayerFeatures, task: Task, seeds: int = 3, **settings) -> tuple[np.ndarray, np.ndarray]:
    """Cumulative scores (layers + 1, seeds, items), shares of the full mix (seeds, layers + 1); tenney2019bert.

    Seeds are those of `task_scores`."""
    train, test, names = encode_labels(task.train.labels, task.test.labels)
    options = TRAINING | {"groups": task.train.groups} | settings
    mix = train_scalar_mix(features.of(task.train), train, cumulative=True, classes=len(names), seeds=seeds, **options)
    return mix.correct(features.of(task.test), test), mix.shares[-1].numpy()


@torch.no_grad()
def masked_word_hits(specimen: Specimen, sentences: Words, seed: int = 0) -> np.ndarray:
    """Does the model's own head name the masked piece from this layer's vector? (layers + 1, 1, sentences), shares.

    The pieces are chosen as in training and all masked: one that was left to stand would be read off the embeddings.
    Layers below the last were not trained to be read by that head; a drop towards the bottom is partly its doing.
    """
    result = np.empty((specimen.layers + 1, 1, len(sentences)))
    for rows, batch in masked_batches(specimen, [list(s) for s in sentences], seed, budget=1024):
        chosen = batch["labels"] != IGNORED
        inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
        inputs["input_ids"] = inputs["input_ids"].masked_fill(chosen, specimen.tokenizer.mask_token_id)
        logits = logits_of_layers(specimen, inputs, chosen)
        hits = (logits.argmax(-1) == batch["labels"][chosen]).float()  # (layers + 1, chosen)
        counts = chosen.sum(1)
        sums = torch.zeros(len(hits), len(counts)).index_add(1, chosen.nonzero()[:, 0], hits)
        result[:, 0, rows] = (sums / counts).numpy()
    return result


def logits_of_layers(specimen: Specimen, inputs: dict, chosen: torch.Tensor) -> torch.Tensor:
    """(layers + 1, chosen, vocabulary): the head sees every layer's vectors in the place of the last one's."""

    def every_layer(module, arguments, output):
        output.last_hidden_state = torch.stack([hidden[chosen] for hidden in output.hidden_states])
        return output

    handle = specimen.encoder.register_forward_hook(every_layer)
    try:
        output = specimen.model(**inputs, output_hidden_states=True, return_dict=True)
    finally:
        handle.remove()
    return output.logits if "logits" in output else output.prediction_logits


def finetuning_samples(
    specimen: Specimen, train: Examples, test: Examples, seeds: int = 3, seed: int = 0, **settings
) -> dict:
    """Fine-tunes, then rolls layers back to the start (hao2019visualizing): `tuned`, `restored_bottom`, `restored_top`
    (seeds, items), and the `change` of sentence vectors, 1 - cosine, (layers + 1, seeds, items).

    `majority` (items,) is the share of the most frequent test label: a constant, since the labels are balanced by
    design and not drawn. Blocks that share their weights cannot be rolled back apart: no `restored_...` of them.
    """
    runs, tuned = finetune_seeds(specimen, train, test, run_seeds(seed, seeds), **settings)
    half, layers = specimen.layers // 2, specimen.layers
    halves = {"restored_bottom": range(half + 1), "restored_top": range(half + 1, layers + 1)}
    if not blocks_have_own_weights(specimen.encoder):
        halves = {}
    found = {
        name: np.stack(
            [correctness(restored(run.classifier, specimen.encoder, chosen), specimen, test) for run in runs]
        ).astype(float)
        for name, chosen in halves.items()
    }
    change = representation_change(specimen, [run.specimen for run in runs], test.sentences)
    majority = np.full(len(test), np.bincount(test.labels).max() / len(test))
    return found | {"tuned": tuned.astype(float), "change": change, "majority": majority}


def pooling_samples(
    specimen: Specimen,
    train: Examples,
    test: Examples,
    seeds: int = 3,
    seed: int = 0,
    runs: Sequence[FineTuned] | None = None,
    **settings,
) -> dict:
    """Probes of the last layer's [CLS] and mean, before and after fine-tuning through [CLS]: (seeds, items).

    Fine-tuned once a seed, or already (`runs`); each tuned model is probed with that seed's probe.
    """
    places = run_seeds(seed, seeds)
    if runs is None:
        runs, _ = finetune_seeds(specimen, train, test, places, pool="cls", **settings)
    last = slice(-1, None)
    before = sentence_scores(specimen, train, test, last, seeds=seeds, seed=seed)
    after = [
        sentence_scores(run.specimen, train, test, last, seeds=1, seed=place)
        for place, run in zip(places, runs, strict=True)
    ]
    return {f"{pool}_before": before[pool][0] for pool in POOLS} | {
        f"{pool}_after": np.concatenate([right[pool][0] for right in after]) for pool in POOLS
    }
