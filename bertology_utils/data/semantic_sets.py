"""Items of meaning from published sets in the form of the generated ones: relations, entities, (proto-)roles, senses.

Depends on `semantic_tasks` (the form) and `material` (the rows). A function here has the signature of its namesake in
`semantic_tasks` and a `source` more. Training and test items share none of the words that are asked about, except the
ambiguous nouns themselves.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from bertology_utils.data.conllu import Tree
from bertology_utils.data.material import EMBEDDED, LENGTHS, LONGEST_WORD, draw, fits, is_held_out, rows, sentences
from bertology_utils.data.rows import Rated
from bertology_utils.language import semantic_tasks
from bertology_utils.language.grammar_trees import Sentence
from bertology_utils.language.semantic_tasks import SenseItem, Sentences, SpanPair, WordItem

ALL = 10**9
# What UDS calls the properties of the generated arguments, in the order of `semantic_tasks.PROPERTIES`.
UDS_PROPERTIES = dict(zip(("volition", "sentient", "change_of_state", "change_of_location"),
                          semantic_tasks.PROPERTIES, strict=True))  # fmt: skip


def relation_items(n: int, split: str = "train", seed: int = 0, source: str = EMBEDDED) -> list[SpanPair]:
    """At most `n` pairs of words with their relation; for "semeval2010_task8" the last words of the two nominals, and
    directed relations. Half of the word types are for tests: a pair has both its words from one half."""
    if source == EMBEDDED:
        return semantic_tasks.relation_items(n, split, seed)
    found = []
    for row in rows(source, split):
        first, second = row.span_a[1] - 1, row.span_b[1] - 1
        if fits(row.words) and _halves(row.words[first], row.words[second]) == {split == "test"}:
            found.append(SpanPair(row.words, first, second, row.label))
    return draw(found, n, seed)


def _halves(*words: str) -> set[bool]:
    return {is_held_out(word, parts=2) for word in words}


def entity_items(n: int, split: str = "train", seed: int = 0, source: str = EMBEDDED) -> list[WordItem]:
    """At most `n` names with their type; for "ewt_all" PER, LOC or ORG, word by word."""
    if source == EMBEDDED:
        return semantic_tasks.entity_items(n, split, seed)
    return draw(list(_nouns(split, source, lambda s, i: s.entities[i])), n, seed)


def role_items(n: int, split: str = "train", seed: int = 0, source: str = EMBEDDED) -> list[WordItem]:
    """At most `n` nouns and names with a semantic role; for "ewt_all" PropBank's numbered arguments."""
    if source == EMBEDDED:
        return semantic_tasks.role_items(n, split, seed)
    return draw(list(_nouns(split, source, lambda s, i: s.roles[i])), n, seed)


def _nouns(split: str, source: str, label: Callable[[Sentence, int], str | None]) -> Iterator[WordItem]:
    """Labelled nouns and names of the part of the vocabulary that belongs to the split."""
    for sentence in sentences(ALL, 0, split, source):
        for i, tag in enumerate(sentence.upos):
            if tag in ("NOUN", "PROPN") and label(sentence, i) and _halves(sentence.lemmas[i]) == {split == "test"}:
                yield WordItem(sentence.words, i, sentence.heads[i], label(sentence, i), sentence.lemmas[i])


def proto_role_items(n: int, split: str = "train", seed: int = 0, source: str = EMBEDDED) -> list[WordItem]:
    """At most `n` nouns and names that are arguments of a verb, labelled as in `semantic_tasks.proto_role_items`.

    Any source but the generated one is Universal Decompositional Semantics with the treebank that it rates: a property
    holds where its rating is above 0. The development and test parts are the test here.
    """
    if source == EMBEDDED:
        return semantic_tasks.proto_role_items(n, split, seed)
    parts = ("train",) if split == "train" else ("validation", "test")
    found = []
    for tree, row in (pair for part in parts for pair in _rated(part)):
        nominal = tree.upos[row.argument] in ("NOUN", "PROPN") and UDS_PROPERTIES.keys() <= row.ratings.keys()
        if nominal and fits(tree.words) and _halves(tree.lemmas[row.argument]) == {split == "test"}:
            held = [name for key, name in UDS_PROPERTIES.items() if row.ratings[key] > 0]
            label, verb = "+".join(held), row.predicate
            found.append(WordItem(tree.words, row.argument, verb, label, tree.lemmas[verb]))
    return draw(found, n, seed)


def _rated(part: str) -> Iterator[tuple[Tree, Rated]]:
    """Rated arguments with the tree of their sentence.

    UDS numbers the sentences of an older release, whose order of training sentences Universal NER still has. Two
    sentences of it may be one by now, so a sentence is the tree of its number or the one before, whichever has more of
    its arguments right below their verbs; the others of its arguments are left out.
    """
    trees = list(rows("ud_english_ewt", part))
    if part == "train":
        named = {tree.identity: tree for tree in trees}
        trees = [named[row.identity] for row in rows("uner_ewt", part) if row.identity in named]
    rated: dict[int, list[Rated]] = defaultdict(list)
    for row in rows("uds_protoroles", part):
        rated[row.sentence].append(row)
    for number, group in rated.items():
        near = trees[max(0, number - 1) : number + 1][::-1]
        fitting = [[(tree, row) for row in group if _is_argument(tree, row)] for tree in near]
        yield from max(fitting, key=len, default=())


def _is_argument(tree: Tree, row: Rated) -> bool:
    inside = max(row.predicate, row.argument) < len(tree.words)
    return inside and tree.heads[row.argument] == row.predicate and tree.upos[row.predicate] in ("VERB", "AUX")


def sense_items(
    contexts: int = 8, split: str = "train", words: int | None = None, seed: int = 0, source: str = EMBEDDED
) -> list[SenseItem]:
    """`contexts` sentences for each of two senses of each noun; for "coarsewsd20" the two most frequent ones in
    training, of the nouns for which both parts have as many.

    A long sentence is cut to a window around the noun.
    """
    if source == EMBEDDED:
        return semantic_tasks.sense_items(contexts, split, words, seed)
    parts = {part: _by_sense(source, part) for part in ("train", "test")}
    items = []
    for noun in sorted(parts["train"])[:words]:
        train, test = parts["train"][noun], parts["test"][noun]
        senses = sorted(train, key=lambda sense, own=train: len(own[sense]), reverse=True)[:2]
        if min(len(side[sense]) for side in (train, test) for sense in senses) >= contexts and len(senses) == 2:
            items += [item for sense in senses for item in draw(parts[split][noun][sense], contexts, seed)]
    return items


def _by_sense(source: str, split: str) -> dict[str, dict[str, list[SenseItem]]]:
    """noun -> sense -> its occurrences."""
    found: dict[str, dict[str, list[SenseItem]]] = defaultdict(lambda: defaultdict(list))
    for row in rows(source, split):
        found[row.lemma][row.sense].append(SenseItem(*window(row.words, row.index), row.lemma, row.sense))
    return found


def window(words: Sequence[str], place: int) -> tuple[tuple[str, ...], int]:
    """The words around a place that every model can read, and the place among them."""
    first = max(0, min(place - LENGTHS[-1] // 2, len(words) - LENGTHS[-1]))
    return tuple(word[:LONGEST_WORD] for word in words[first : first + LENGTHS[-1]]), place - first


def partner_triples(n: int, seed: int = 0, source: str = EMBEDDED) -> tuple[Sentences, Sentences, Sentences]:
    """At most `n` sentences, and for each two partners; those of a treebank have as many words and letters each."""
    if source == EMBEDDED:
        return semantic_tasks.partner_triples(n, seed)
    by_size: dict[tuple[int, int], Sentences] = defaultdict(list)
    for sentence in sentences(ALL, seed, "train", source):
        by_size[len(sentence.words), sum(map(len, sentence.words))].append(sentence.words)
    alike = [pair for group in by_size.values() for pair in zip(group[::2], group[1::2], strict=False)]
    own = [sentence.words for sentence in sentences(n, seed, "test", source)]
    partners = draw(alike, len(own), seed)
    return own[: len(partners)], [first for first, _ in partners], [second for _, second in partners]
