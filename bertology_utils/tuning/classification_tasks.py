"""Small sentence classification tasks, labelled by the grammar's own annotation; each split has its own content words.

Depends on `grammar`, `pairs`, `lexicon` (words and gold labels) and on `training.Examples`; knows no model. The tasks
stand in for benchmark tasks: morphology (tense, number), syntax (voice), word meaning (topic), acceptability, and two
tasks on pairs of sentences (paraphrase, entailment). Classes are balanced, so that chance is one half.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random

from bertology_utils.data.material import EMBEDDED
from bertology_utils.data.material import sentences as draw_sentences
from bertology_utils.errors import unknown
from bertology_utils.language.grammar import Grammar
from bertology_utils.language.grammar_trees import Phrase, Sentence, Word
from bertology_utils.language.lexicon import PERSON, load_lexicon, noun_forms, require_split
from bertology_utils.language.pairs import NUMBERS, MinimalPair, agreement_pairs
from bertology_utils.tuning.training import Examples

Words = tuple[str, ...]
Item = tuple[Words, Words | None, int]
EDIBLE = ("food", "drink")
INANIMATE = ("tool", "thing", "clothing", "vehicle", "furniture")


@dataclass(frozen=True)
class Task:
    """A task: `classes` names the labels 0 and 1, `paired` says whether an example has two sentences."""

    name: str
    question: str
    classes: tuple[str, str]
    items: Callable[[Grammar, int], Iterator[Item]]
    paired: bool = False


def task(name: str, n: int, seed: int = 0, split: str = "train") -> Examples:
    """`n` labelled examples, half of each class (one more of class 0 where n is odd), shuffled; equal for equal
    arguments.

    `split` is "train" or "test": the two share no content word, so memorised words do not help.
    Raises BertologyError for an unknown task or split.
    """
    if name not in TASKS:
        raise unknown("classification task", name, TASKS)
    require_split(split)
    chosen = TASKS[name]
    wanted = [n - n // 2, n // 2]
    found: list[Item] = []
    for item in chosen.items(Grammar(split, seed), seed):
        if wanted[item[2]]:
            wanted[item[2]] -= 1
            found.append(item)
        if not any(wanted):
            break
    Random(f"{name}-{split}-{seed}").shuffle(found)
    sentences, pairs, labels = zip(*found, strict=True)
    return Examples(sentences, labels, pairs if chosen.paired else None)


def _sentences(grammar: Grammar) -> Iterator[Sentence]:
    while True:
        yield grammar.sentence("simple")


def _tense(grammar: Grammar, seed: int) -> Iterator[Item]:
    """Finite verbs that show their tense; modals do not."""
    for sentence in _sentences(grammar):
        focus = sentence.features["focus"]
        modal = sentence.upos[focus] == "AUX" and sentence.lemmas[focus] not in ("be", "have", "do")
        if sentence.features["tense"] and not modal:
            yield sentence.words, None, int(sentence.features["tense"] == "past")


def _number(grammar: Grammar, seed: int) -> Iterator[Item]:
    for sentence in _sentences(grammar):
        if sentence.features["subject_number"]:
            yield sentence.words, None, int(sentence.features["subject_number"] == "plural")


def _voice(grammar: Grammar, seed: int) -> Iterator[Item]:
    """Active transitive sentences against passive ones."""
    for sentence in _sentences(grammar):
        passive = "nsubj:pass" in sentence.deprels
        if passive or "obj" in sentence.deprels:
            yield sentence.words, None, int(passive)


@cache
def _kinds(split: str) -> dict[str, str]:
    nouns = load_lexicon(split).nouns
    return {form: kind for kind, group in nouns.items() for noun in group for form in noun_forms(noun)}


def _topic(grammar: Grammar, seed: int) -> Iterator[Item]:
    """Sentences with food or drink and no other thing, against sentences with a thing and neither food nor drink."""
    kinds = _kinds(grammar.lexicon.split)
    for sentence in _sentences(grammar):
        seen = {kinds[word] for word in sentence.words if word in kinds}
        edible, inanimate = not seen.isdisjoint(EDIBLE), not seen.isdisjoint(INANIMATE)
        if edible != inanimate:
            yield sentence.words, None, int(edible)


def _agreement(grammar: Grammar, seed: int, agreeing: int) -> Iterator[MinimalPair]:
    while True:
        seed += 1000
        yield from agreement_pairs(64, agreeing=agreeing, seed=seed, split=grammar.lexicon.split)


def _acceptability(grammar: Grammar, seed: int) -> Iterator[Item]:
    """Sentences whose verb agrees with its subject, and others whose verb does not, with a noun between them."""
    for i, pair in enumerate(_agreement(grammar, seed, agreeing=1)):
        yield (pair.good, None, 1) if i % 2 else (pair.bad, None, 0)


def _agreeing_number(grammar: Grammar, seed: int) -> Iterator[Item]:
    """The question of `number` of another kind of sentences: short, with `the`, and a verb that shows it too."""
    for pair in _agreement(grammar, seed, agreeing=0):
        yield pair.good, None, int(pair.condition["number"] == "plural")


def event(grammar: Grammar) -> tuple[Callable[[Phrase, Phrase, bool], Words], Phrase, Phrase]:
    """A deed between two persons: (sentence of agent, patient and voice; agent; patient)."""
    mutual = [v for v in grammar.lexicon.verbs["transitive"] if set(PERSON) <= set(v.subjects) & set(v.objects)]
    verb = grammar.pick(mutual)
    agent, patient = (grammar.common_noun(grammar.pick(PERSON), None, "nsubj", "singular", 0, "the") for _ in "ab")

    def sentence(agent: Phrase, patient: Phrase, passive: bool) -> Words:
        subject, other = (patient, agent) if passive else (agent, patient)
        group = ["was", verb.participle, "by"] if passive else [verb.past]
        return (*_forms(subject), *group, *_forms(other), ".")

    return sentence, agent, patient


def _forms(phrase: Phrase) -> list[str]:
    return [part.form for part in phrase.parts if isinstance(part, Word)]


def _entailment(grammar: Grammar, seed: int) -> Iterator[Item]:
    """Does "the cook was thanked by the king" follow from "the king thanked the cook"? Both pairs have equal words."""
    while True:
        sentence, agent, patient = event(grammar)
        passive = grammar.chance(0.5)
        label = int(grammar.chance(0.5))
        roles = (agent, patient) if label else (patient, agent)
        if _forms(agent) != _forms(patient):
            yield sentence(agent, patient, passive), sentence(*roles, not passive), label


def _paraphrase(grammar: Grammar, seed: int) -> Iterator[Item]:
    """The same deed told in the other voice, or with another person in place of one of the two."""
    while True:
        sentence, agent, patient = event(grammar)
        passive = grammar.chance(0.5)
        label = int(grammar.chance(0.5))
        _, stranger, _ = event(grammar)
        if len({tuple(_forms(p)) for p in (agent, patient, stranger)}) < 3:
            continue
        changed = (stranger, patient) if grammar.chance(0.5) else (agent, stranger)
        second = sentence(*((agent, patient) if label else changed), not passive)
        yield sentence(agent, patient, passive), second, label


GRADED = "shared parts"
# which of agent, patient and deed stay: as many ways to each grade
WAYS_TO_SHARE = [way for way in product((True, False), repeat=3) for _ in range(3 if sum(way) in (0, 3) else 1)]


def shared_parts(n: int, seed: int = 0, split: str = "train") -> Examples:
    """Pairs graded 0 to 3: how many of agent, deed and patient the second sentence, in the other voice, has too.

    All grades are equally frequent as far as `n` allows; splits share no content word.
    """
    require_split(split)
    grammar, pairs = Grammar(split, seed), []
    while len(pairs) < n:
        (first, agent, patient), (second, *strangers) = event(grammar), event(grammar)
        people = [tuple(_forms(person)) for person in (agent, patient, *strangers)]
        passive = grammar.chance(0.5)
        if len(set(people)) < 4 or first(agent, patient, passive) == second(agent, patient, passive):
            continue
        kept = WAYS_TO_SHARE[len(pairs) % len(WAYS_TO_SHARE)]
        roles = [own if stays else other for own, other, stays in zip((agent, patient), strangers, kept, strict=False)]
        told = (first if kept[-1] else second)(*roles, not passive)
        pairs.append((first(agent, patient, passive), told, sum(kept)))
    Random(f"shared parts-{split}-{seed}").shuffle(pairs)
    sentences, others, grades = zip(*pairs, strict=True)
    return Examples(sentences, grades, others, graded=True)


TASKS = {
    entry.name: entry
    for entry in (
        Task("tense", "When does it happen?", ("present", "past"), _tense),
        Task("number", "Is the subject one or many?", NUMBERS, _number),
        Task("voice", "Is the sentence passive?", ("active", "passive"), _voice),
        Task("topic", "Does it speak of things or of food?", ("thing", "food"), _topic),
        Task("agreeing number", "Is the subject of a short sentence one or many?", NUMBERS, _agreeing_number),
        Task("acceptability", "Does the verb agree?", ("bad", "good"), _acceptability),
        Task("paraphrase", "Do both tell the same?", ("different", "same"), _paraphrase, paired=True),
        Task("entailment", "Does the second follow?", ("no", "yes"), _entailment, paired=True),
    )
}


def examples(name: str, n: int, seed: int = 0, split: str = "train") -> Examples:
    """Of one of the `TASKS`, or pairs that are graded by what they share."""
    return shared_parts(n, seed, split) if name == GRADED else task(name, n, seed, split)


def number_examples(n: int, seed: int = 0, split: str = "train", source: str = EMBEDDED) -> Examples:
    """Sentences labelled with the number of their subject (0 singular, 1 plural), half and half as far as they go."""
    drawn = draw_sentences(3 * n, seed, split, source, kind="simple")
    sentences = [s for s in drawn if s.features["subject_number"]]
    labels = [int(s.features["subject_number"] == "plural") for s in sentences]
    halves = [[i for i, label in enumerate(labels) if label == wanted][: n // 2] for wanted in (0, 1)]
    chosen = sorted(halves[0] + halves[1])
    return Examples([list(sentences[i].words) for i in chosen], [labels[i] for i in chosen])
