"""What is read and asked where translations stand side by side: TLM, and the five tasks of Unicoder, as feeds.

Depends on `side_by_side` (texts), `mlm_training` (masks), `together` and `tiny_pretraining` (the classifier of pairs).
A feed is of one model and its texts; a task that is given wrong texts has wrong pairs and a wrong dictionary.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import cycle

import numpy as np
import torch
from torch import Tensor

from bertology_utils.activations import sentence_vectors
from bertology_utils.language.twins import shift_word
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.studies.mbert.side_by_side import RECIPE, Models, Texts, Words
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.descent import descend
from bertology_utils.tuning.mlm_training import endless_batches, shuffled_rows
from bertology_utils.tuning.tiny_pretraining import next_heads, next_losses
from bertology_utils.tuning.together import Stack, clip_each, pack

OTHER = 2  # the number of a wrong pairing that is none of `Texts.wrong`
Batch = dict[str, Tensor]
Heads = tuple[Tensor, Tensor]
Feed = Iterator[tuple[Batch, Tensor | None]]
"""Batches, with masked words or the classes of their pairs, or both."""
Task = Callable[[Specimen, Texts], Feed]


def train(
    models: Models, texts: Sequence[Texts], *tasks: Task, steps: int = RECIPE.steps, heads: Heads | None = None
) -> tuple[Models, Heads]:
    """The models, trained in place on a batch of each task in turn, and their classifiers of pairs."""
    heads = heads or next_heads(RECIPE.width, [own.seed for own in texts])
    stack = Stack([model.model for model in models])
    feeds = [cycle([task(*pair) for task in tasks]) for pair in zip(models, texts, strict=True)]

    def losses() -> Tensor:
        batches, classes = zip(*(next(next(of_model)) for of_model in feeds), strict=True)
        batch = pack(batches)
        hidden = stack.hidden(batch)
        asked = [stack.masked_losses(hidden, batch)] if batch.targets.numel() else []
        asked += [] if classes[0] is None else [next_losses(heads, hidden, batch, classes)]
        return sum(asked)

    weights = [*stack.weights.values(), *heads]
    descend([{"params": weights, "lr": RECIPE.learning_rate}], losses, steps, clip_each)
    stack.unstack()
    return models, heads


@torch.no_grad()
def classes_told(model: Specimen, heads: Heads, place: int, *pairs: Sequence[Words]) -> Tensor:
    """The class that a model, whose classifier is at a place of `heads`, tells each pair to be: (pairs,)."""
    vectors = sentence_vectors(model, pairs[0], "cls", pairs[1])[-1]
    return (vectors @ heads[0][place].T + heads[1][place]).argmax(-1)


# ---------------------------------------------------------------- tasks


def alone(model: Specimen, own: Texts) -> Feed:
    """Masked words in sentences of either language that have no known translation."""
    return _unmarked(_masked(model, own, own.alone))


def marked(model: Specimen, own: Texts) -> Feed:
    """The same with every piece of the twin in the second segment, a mark of its language (wang2019crosslingual)."""
    encodings = encode_words(model, own.alone)
    for place in range(len(own.english), len(encodings)):
        encodings[place] = replace(encodings[place], segment_ids=[1] * len(encodings[place]))
    return _unmarked(endless_batches(model, encodings, own.seed, RECIPE.budget))


def of_the_twin(model: Specimen) -> Specimen:
    """A copy that takes what it reads for the twin's: its first segment is embedded as the second one."""
    copy = deepcopy(model.model)
    table = copy.base_model.embeddings.token_type_embeddings.weight
    table.data[0] = table.data[1]
    return replace(model, model=copy)


def apart(model: Specimen, own: Texts) -> Feed:
    """Masked words in the sentences of the pairs, each read alone."""
    return _unmarked(_masked(model, own, own.sides))


def together(model: Specimen, own: Texts) -> Feed:
    """Masked words in translations side by side, either language first: TLM of lample2019crosslingual.

    Positions go on in the second sentence, where the study begins anew, which would let a twin be read off by place.
    """
    return _unmarked(_masked(model, own, *_both_ways(own, int(own.wrong))))


def alternating(model: Specimen, own: Texts) -> Feed:
    """Masked words in pairs of another meaning, as the languages of a text alternate in huang2019unicoder."""
    return _unmarked(_masked(model, own, *_both_ways(own, OTHER)))


def recovery(model: Specimen, own: Texts) -> Feed:
    """Words in whose place their translation stands must be named.

    huang2019unicoder mix the translation from the other sentence by attention; here the word is given.
    """
    table = word_table(model, own)
    return _unmarked(with_translations(batch, table) for batch in _masked(model, own, own.sides))


def telling_apart(model: Specimen, own: Texts) -> Feed:
    """Unmasked pairs with the class 0 of translations and 1 of others as long (huang2019unicoder)."""
    pairs = [_both_ways(own, wrong) for wrong in (int(own.wrong), OTHER)]
    encodings = encode_words(model, *([*right, *wrong] for right, wrong in zip(*pairs, strict=True)))
    classes = torch.arange(2).repeat_interleave(len(pairs[0][0]))
    rng = np.random.default_rng(own.seed)
    while True:
        for rows in shuffled_rows(model, encodings, rng, RECIPE.budget):
            batch = model_inputs(model, [encodings[row] for row in rows])
            yield batch | {"labels": torch.full_like(batch["input_ids"], IGNORED)}, classes[torch.tensor(rows)]


def _unmarked(batches: Iterator[Batch]) -> Feed:
    return ((batch, None) for batch in batches)


def _masked(model: Specimen, own: Texts, first: Sequence[Words], second: Sequence[Words] | None = None):
    return endless_batches(model, encode_words(model, first, second), own.seed, RECIPE.budget)


def _both_ways(own: Texts, wrong: int) -> tuple[list[Words], list[Words]]:
    beside = own.beside(wrong)
    return [*own.paired, *beside], [*beside, *own.paired]


def word_table(model: Specimen, own: Texts) -> Tensor:
    """The piece of each word's translation, (vocabulary,); special pieces their own. Wrong texts have a wrong one."""
    known = model.tokenizer.get_vocab()
    words = [word for word in known if shift_word(word) in known]
    english, twin = (torch.tensor([known[word] for word in side]) for side in (words, map(shift_word, words)))
    if own.wrong:
        twin = twin[torch.randperm(len(twin), generator=torch.Generator().manual_seed(own.seed))]
    table = torch.arange(len(known))
    table[english], table[twin] = twin, english
    return table


def with_translations(batch: Mapping[str, Tensor], table: Tensor) -> Batch:
    """A masked batch with its translation in the place of every word that is asked for."""
    asked = batch["labels"] != IGNORED
    return {**batch, "input_ids": table[batch["labels"].clamp_min(0)].where(asked, batch["input_ids"])}
