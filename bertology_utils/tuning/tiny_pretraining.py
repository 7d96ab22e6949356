"""Pre-trainings that last seconds: a small generated language, and the variants of section 6 that are compared on it.

Depends on `grammar` (sentences), `objectives` (pairs), `multilingual` (the tiny specimen), `mlm_training` (losses) and
`together` (all seeds at once). Nothing here is about the chapter's specimen: these models are born and forgotten inside
one notebook.
"""

import copy
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.errors import BertologyError
from bertology_utils.instruments.blocks import encoder_layers
from bertology_utils.instruments.cloze import fill_in, focus_preference, hits_at, preferred
from bertology_utils.language.facts import InventedPerson
from bertology_utils.language.grammar import Grammar, Sentence
from bertology_utils.language.lexicon import article
from bertology_utils.language.pairs import MinimalPair
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.pretraining.objectives import next_sentence_pairs
from bertology_utils.text import Encoding, batches, encode_words, model_inputs
from bertology_utils.tuning.descent import descend
from bertology_utils.tuning.mlm_training import endless_batches, mask_batch, mlm_losses, shuffled_rows, special_ids
from bertology_utils.tuning.together import Packed, Stack, clip_each, pack, train_together
from bertology_utils.tuning.training import Examples, finetune
from bertology_utils.tuning.two_languages import BilingualRecipe, padded, tiny_specimen

TINY = BilingualRecipe(layers=2, width=64, heads=2, inner=128, steps=200, learning_rate=4e-3, budget=512)
SEEDS = 8  # of every arm
Feed = Callable[[Specimen, Sequence[Encoding], int, int], Iterator[dict[str, Tensor]]]
Heads = tuple[Tensor, Tensor]  # weights and biases of next-sentence classifiers, see `next_heads`
PairFeed = Iterator[tuple[dict[str, Tensor], Tensor]]  # masked batches and the class of each pair, (batch,)
Pieces = Mapping[tuple[str, ...], Encoding]
INTRODUCING, KNOWN = ("a", "an"), ("a", "an", "the", "this", "that", "every")


# ---------------------------------------------------------------- the small language


def small_language(n: int, seed: int = 0, words_a_group: int = 2, drawn: bool = False) -> list[Sentence]:
    """`n` different one-clause sentences over few words of each class (about 230 forms for two words a class).

    The few words are what makes seconds of training enough: the first of each class, or nouns, adjectives and names
    that the seed draws (other verbs would not fit all subjects). Raises BertologyError for fewer than one word a class.
    """
    if words_a_group < 1:
        raise BertologyError("A language needs at least one word in every class.")
    grammar, rng = Grammar("train", seed), np.random.default_rng(seed)
    lexicon = grammar.lexicon

    def chosen(table: str, entries: Sequence) -> list:
        order = rng.permutation(len(entries)) if drawn and table != "verbs" else range(len(entries))
        return [entries[i] for i in order[:words_a_group]]

    few = {
        table: {kind: chosen(table, entries) for kind, entries in getattr(lexicon, table).items()}
        for table in ("nouns", "verbs", "adjectives", "names")
    }
    grammar.lexicon = dataclasses.replace(lexicon, **few)
    found: dict[tuple[str, ...], Sentence] = {}
    while len(found) < n:
        sentence = grammar.sentence("simple")
        found.setdefault(sentence.words, sentence)
    return list(found.values())


def stories(sentences: Sequence[Sentence], n: int, seed: int = 0) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """`n` stories of two sentences about one noun: introduced with `a`, taken up again with `the`.

    Both the shared noun (what the text is about) and the articles (which sentence comes first) can be learnt.
    """
    mentions: dict[str, list[tuple[tuple[str, ...], int]]] = {}
    for sentence in sentences:
        for place in range(1, len(sentence.words)):
            if sentence.upos[place] == "NOUN" and sentence.words[place - 1] in KNOWN:
                mentions.setdefault(sentence.words[place], []).append((sentence.words, place - 1))
                break
    rng = np.random.default_rng(seed)
    nouns = [noun for noun, found in sorted(mentions.items()) if len(found) > 1]
    made = []
    for noun in rng.choice(nouns, n):
        first, second = (mentions[noun][i] for i in rng.choice(len(mentions[noun]), 2, replace=False))
        made.append((_with_determiner(*first, article(noun)), _with_determiner(*second, "the")))
    return made


def _with_determiner(words: tuple[str, ...], place: int, determiner: str) -> tuple[str, ...]:
    return (*words[:place], determiner, *words[place + 1 :])


# ---------------------------------------------------------------- variants


def over_seeds(make: Callable[[int], Specimen], seeds: int = SEEDS) -> list[Specimen]:
    """One model a seed."""
    return [make(seed) for seed in range(seeds)]


def pretrain_all(
    words: Sequence[str], sentences: Sequence[Sequence[str]], recipe: BilingualRecipe = TINY, seeds: int = SEEDS
) -> list[Specimen]:
    """Masked LMs with dynamic masks, trained from nothing on these sentences, with the seeds 0, 1, ... all at once."""
    return _trained(_untrained(words, recipe, seeds), sentences, recipe, range(seeds))


def pretrain_each(
    words: Sequence[str], texts: Sequence[Sequence[Sequence[str]]], recipe: BilingualRecipe = TINY
) -> list[Specimen]:
    """The same with sentences of its own for each seed."""
    return train_each(_untrained(words, recipe, len(texts)), texts, recipe, range(len(texts)))


def train_each(
    fresh: Sequence[Specimen],
    texts: Sequence[Sequence[Sequence[str]]],
    recipe: BilingualRecipe,
    seeds: Sequence[int],
    feed: Feed = endless_batches,
) -> list[Specimen]:
    """Models trained in place, each on sentences of its own; `feed` makes masked batches of them."""
    feeds = [
        feed(specimen, encode_words(specimen, text), seed, recipe.budget)
        for specimen, text, seed in zip(fresh, texts, seeds, strict=True)
    ]
    return train_together(fresh, feeds, recipe.steps, recipe.learning_rate)


def _untrained(words: Sequence[str], recipe: BilingualRecipe, seeds: int) -> list[Specimen]:
    return over_seeds(lambda seed: tiny_specimen(words, recipe, seed), seeds)


def untrained_each(
    texts: Sequence[Sequence[Sequence[str]]], pieces: int, recipe: BilingualRecipe, seeds: Sequence[int]
) -> list[Specimen]:
    """A fresh model for each seed over the words of its own text, `padded` to so many pieces."""
    words = (sorted({word for sentence in text for word in sentence}) for text in texts)
    return [tiny_specimen(padded(own, pieces), recipe, seed) for own, seed in zip(words, seeds, strict=True)]


def train_embeddings(
    models: Sequence[Specimen], sentences: Sequence[Sequence[str]], recipe: BilingualRecipe
) -> list[Specimen]:
    """Copies whose piece embeddings alone are trained, on these sentences; artetxe2019crosslingual."""
    copies = [dataclasses.replace(model, model=copy.deepcopy(model.model)) for model in models]
    return _trained(copies, sentences, recipe, range(len(models)), only="word_embeddings")


def _trained(
    specimens: Sequence[Specimen], sentences, recipe: BilingualRecipe, seeds: Sequence[int], only: str = ""
) -> list[Specimen]:
    encodings = encode_words(specimens[0], sentences)
    feeds = [endless_batches(s, encodings, seed, recipe.budget) for s, seed in zip(specimens, seeds, strict=True)]
    return train_together(specimens, feeds, recipe.steps, recipe.learning_rate, only)


def pretrain_static(
    words: Sequence[str],
    sentences: Sequence[Sequence[str]],
    recipe: BilingualRecipe = TINY,
    seeds: int = SEEDS,
    copies: int = 1,
) -> list[Specimen]:
    """The same with masks drawn before training, one for each of `copies` copies of a sentence.

    The static masking that liu2019roberta compares with; devlin2019bert made ten copies.
    """
    fresh = _untrained(words, recipe, seeds)
    encodings = encode_words(fresh[0], list(sentences) * copies)
    feeds = [static_batches(specimen, encodings, seed, recipe.budget) for seed, specimen in enumerate(fresh)]
    return train_together(fresh, feeds, recipe.steps, recipe.learning_rate)


def static_batches(
    specimen: Specimen, encodings: Sequence[Encoding], seed: int, budget: int
) -> Iterator[dict[str, Tensor]]:
    """Shuffled batches for ever, every sentence always under the same mask."""
    generator, rng = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    special = special_ids(specimen)
    masked = [mask_batch(model_inputs(specimen, [e]), special, generator) for e in encodings]
    while True:
        for rows in shuffled_rows(specimen, encodings, rng, budget):
            yield _padded([masked[row] for row in rows], special.pad)


def _padded(batches: Sequence[Mapping[str, Tensor]], pad: int) -> dict[str, Tensor]:
    """Batches of one sentence each joined into one (batch, pieces)."""
    fill = {"input_ids": pad, "labels": IGNORED}
    return {
        key: nn.utils.rnn.pad_sequence([b[key][0] for b in batches], batch_first=True, padding_value=fill.get(key, 0))
        for key in batches[0]
    }


def pretrain_pairs(
    words: Sequence[str],
    documents: Sequence,
    recipe: BilingualRecipe = TINY,
    seeds: int = SEEDS,
    next_sentence: bool = True,
) -> list[Specimen]:
    """Masked LMs on pairs of sentences, with next sentence prediction (half of the pairs random) or without it.

    Without it all pairs are true. Both arms read the same number of pieces; they differ in the random second segments
    and in the extra loss.
    """
    fresh, share = _untrained(words, recipe, seeds), 0.5 if next_sentence else 1.0
    pieces = sentence_pieces(fresh[0], [documents])  # of all, whose tokenizers are the same
    feeds = [
        pair_batches(specimen, [documents], seed, recipe.budget, share, pieces) for seed, specimen in enumerate(fresh)
    ]
    return train_on_pairs(fresh, feeds, recipe, next_heads(recipe.width, range(seeds)) if next_sentence else None)


def train_on_pairs(
    fresh: Sequence[Specimen], feeds: Sequence[PairFeed], recipe: BilingualRecipe, heads: Heads | None = None
) -> list[Specimen]:
    """Models trained in place, each on its own masked pairs; with `heads` they are asked for their classes as well."""
    stack = Stack([specimen.model for specimen in fresh])

    def losses() -> Tensor:
        batches, labels = zip(*map(next, feeds), strict=True)
        batch = pack(batches)
        hidden = stack.hidden(batch)
        masked = stack.masked_losses(hidden, batch)
        return masked + next_losses(heads, hidden, batch, labels) if heads else masked

    weights = [*stack.weights.values(), *(heads or ())]
    descend([{"params": weights, "lr": recipe.learning_rate}], losses, recipe.steps, clip_each)
    stack.unstack()
    return list(fresh)


def next_heads(width: int, seeds: Iterable[int]) -> Heads:
    """Weights (seeds, 2, width) and biases (seeds, 2) of one next-sentence classifier a seed."""
    heads = []
    for seed in seeds:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            heads.append(nn.Linear(width, 2))
    stacked_heads = torch.func.stack_module_state(heads)[0]
    return tuple(stacked_heads[name].detach().clone().requires_grad_(True) for name in ("weight", "bias"))


def next_losses(heads: Heads, hidden: Tensor, batch: Packed, labels: Sequence[Tensor]) -> Tensor:
    """Mean next-sentence loss of each model at its [CLS]: (seeds,)."""
    firsts = batch.firsts.unsqueeze(-1).expand(-1, -1, hidden.shape[-1])
    logits = torch.baddbmm(heads[1].unsqueeze(1), hidden.gather(1, firsts), heads[0].transpose(1, 2))
    gold = nn.utils.rnn.pad_sequence(list(labels), True, IGNORED)  # (seeds, sentences)
    losses = nn.functional.cross_entropy(logits.transpose(1, 2), gold, ignore_index=IGNORED, reduction="none")
    return losses.sum(1) / (gold != IGNORED).sum(1)


def sentence_pieces(specimen: Specimen, corpora: Sequence[Sequence]) -> Pieces:
    """Each sentence of some corpora of documents, tokenized once however many pairs it will be in."""
    found = {tuple(words): words for documents in corpora for document in documents for words in document}
    return dict(zip(found, encode_words(specimen, list(found.values())), strict=True))


def joined(first: Encoding, second: Encoding) -> Encoding:
    """Two sentences as BERT's tokenizers encode them as a pair: the second has no [CLS], and is of the other kind."""
    words = 1 + max(word for word in first.word_ids if word is not None)
    further = [None if word is None else word + words for word in second.word_ids[1:]]
    return Encoding(
        first.input_ids + second.input_ids[1:], first.word_ids + further, [0] * len(first) + [1] * len(further)
    )


def pair_batches(
    specimen: Specimen,
    corpora: Sequence[Sequence],
    seed: int,
    budget: int,
    true_share: float,
    pieces: Pieces | None = None,
) -> PairFeed:
    """Masked batches of pairs with their next-sentence labels (batch,), drawn afresh in every epoch, for ever.

    corpora: documents each; both sentences of a pair are of one corpus. pieces: their `sentence_pieces`, where known.
    """
    generator, rng = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    special, pieces = special_ids(specimen), pieces or sentence_pieces(specimen, corpora)
    while True:
        pairs = [pair for documents in corpora for pair in next_sentence_pairs(documents, rng, true_share)]
        encodings = [joined(pieces[tuple(first)], pieces[tuple(second)]) for first, second, _ in pairs]
        groups = batches(specimen, [len(e) for e in encodings], budget)
        for group in rng.permutation(len(groups)):
            rows = groups[group]
            batch = mask_batch(model_inputs(specimen, [encodings[i] for i in rows]), special, generator)
            yield batch, torch.tensor([pairs[i][2] for i in rows])


def stacked(specimen: Specimen) -> Specimen:
    """A copy with twice the layers: the trained ones, and the same once more on top; gong2019efficient."""
    config = copy.deepcopy(specimen.model.config)
    config.num_hidden_layers *= 2
    model = type(specimen.model)(config)
    model.load_state_dict(specimen.model.state_dict(), strict=False)
    blocks, trained = encoder_layers(model.base_model), encoder_layers(specimen.model.base_model)
    for place, block in enumerate(blocks):
        block.load_state_dict(trained[place % len(trained)].state_dict())
    return dataclasses.replace(specimen, model=model.eval())


# ---------------------------------------------------------------- measures


def held_out_losses(models: Sequence[Specimen], sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """Masked-token loss in nats, the same masks for every model: (seeds, sentences)."""
    return np.stack([mlm_losses(model, sentences, seed=7) for model in models])


OTHER_NUMBER = {"is": "are", "was": "were", "has": "have", "does": "do"}
OTHER_NUMBER |= {plural: singular for singular, plural in OTHER_NUMBER.items()}


def agreement_pairs_of(sentences: Sequence[Sentence]) -> list[MinimalPair]:
    """Minimal pairs from the sentences whose agreeing word is a form of be, have or do: its number is turned round."""
    pairs = []
    for sentence in sentences:
        focus = int(sentence.features["focus"])
        if focus >= 0 and sentence.words[focus] in OTHER_NUMBER:
            other = OTHER_NUMBER[sentence.words[focus]]
            bad = (*sentence.words[:focus], other, *sentence.words[focus + 1 :])
            pairs.append(MinimalPair(sentence.words, bad, focus, "agreement", {}))
    return pairs


def agreement(models: Sequence[Specimen], sentences: Sequence[Sentence], alone: bool = False) -> np.ndarray:
    """Is the right number preferred at the masked verb, in its sentence or `alone`? (seeds, pairs)."""
    pairs = [pair.alone if alone else pair for pair in agreement_pairs_of(sentences)]
    return np.stack([preferred(focus_preference(model, pairs)) for model in models])


def planted_facts(models: Sequence[Specimen], people: Sequence[InventedPerson]) -> np.ndarray:
    """Is the planted country the likeliest of all countries in a person's own statement? (seeds, people)."""
    prompts = [person.statement() for person in people]
    queries = [[*words[:-2], "[MASK]", words[-1]] for words in prompts]
    right = []
    for model in models:
        found = fill_in(model, queries, candidates=people[0].candidates)
        right.append(hits_at(model, found, [[person.country] for person in people]))
    return np.stack(right)


# ---------------------------------------------------------------- tasks for fine-tuning


def number_examples(sentences: Sequence[Sentence]) -> Examples:
    """Is the subject of the main clause plural? One example a sentence that says so."""
    told = [s for s in sentences if s.features["subject_number"] in ("singular", "plural")]
    return Examples([s.words for s in told], [int(s.features["subject_number"] == "plural") for s in told])


def pair_examples(pairs: Sequence[tuple[Sequence[str], Sequence[str], int]]) -> Examples:
    """Labelled pairs of `objectives` as examples."""
    first, second, labels = zip(*pairs, strict=True)
    return Examples(first, labels, second)


def tuned_scores(models: Sequence[Specimen], train: Examples, test: Examples, **options) -> np.ndarray:
    """Correctness after fine-tuning, each model with a seed of its own: (seeds, items)."""
    options = {"learning_rate": 1e-3, "head_learning_rate": 4e-3, **options}
    return np.stack([finetune(model, train, test, seed, **options).correct for seed, model in enumerate(models)])
