"""Simple true facts as cloze prompts, and invented people whose names sound of a country.

Depends on `facts.yaml`, which holds the words. The facts were written for this book; each relation has several
paraphrases, so that an answer can be told from a template effect.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_yaml
from bertology_utils.language.lexicon import article

MASK = "[MASK]"

TABLES = read_yaml(Path(__file__).with_name("facts.yaml"))
TEMPLATES: dict[str, list[str]] = {name: told["templates"] for name, told in TABLES["relations"].items()}
RELATIONS = tuple(TEMPLATES)
SIZES = tuple(tuple(scale.split()) for scale in TABLES["sizes"])
SIZE_WORDS = {TEMPLATES["size"][2]: ("large", "small")}
MASS, WITH_THE = TABLES["mass"].split(), TABLES["with_the"].split()
STYLES: dict[str, dict[str, str]] = TABLES["styles"]
COUNTRIES = tuple(style["country"] for style in STYLES.values())


@dataclass(frozen=True)
class Prompt:
    """A cloze: `words` with `[MASK]` at index `focus`, its `answer`, and the template that it was made from."""

    words: tuple[str, ...]
    focus: int
    answer: str
    candidates: tuple[str, ...]
    template: str


@dataclass(frozen=True)
class Fact:
    """`relation`(`subject`) = `object`; `candidates` are the objects of the relation, the true one among them.

    Negated prompts follow kassner2020negated. For `size` the subject is the two things
    compared, "elephant mouse", and the object is larger or smaller.
    """

    subject: str
    relation: str
    object: str
    candidates: tuple[str, ...]

    def prompts(self, negated: bool = False) -> list[Prompt]:
        """One prompt a paraphrase. `negated` keeps those with `is` or `are` and puts `not` behind."""
        prompts = [_prompt(self, template) for template in TEMPLATES[self.relation]]
        return [prompt for prompt in map(_negate, prompts) if prompt] if negated else prompts


@dataclass(frozen=True)
class InventedPerson:
    """A person who does not exist: the name sounds of the country `style`, the story puts them into `country`."""

    name: str
    style: str
    country: str
    candidates: tuple[str, ...]

    @property
    def congruent(self) -> bool:
        return self.style == self.country

    def statement(self) -> tuple[str, ...]:
        """A sentence that plants the fact, for training or as a context."""
        return (*self.name.split(), "was", "born", "in", self.country, ".")

    def prompts(self, asked: str = "country") -> list[Prompt]:
        """Clozes for the `country`, `language` or `nationality`; the answer is that of `country`, not of the style."""
        if asked not in TABLES["questions"]:
            raise BertologyError(f"Nothing is known of '{asked}'; choose one of {', '.join(TABLES['questions'])}.")
        answers = dict(zip(COUNTRIES, COUNTRIES if asked == "country" else STYLES, strict=True))
        options = tuple(answers[country] for country in self.candidates)
        asking = TABLES["questions"][asked]
        return [_fill(template, {"x": self.name}, answers[self.country], options) for template in asking]


def facts(relation: str | None = None) -> list[Fact]:
    """All facts, or those of one relation of `RELATIONS`; raises BertologyError for an unknown one."""
    if relation is not None and relation not in RELATIONS:
        raise BertologyError(f"There is no relation '{relation}'; choose one of {', '.join(RELATIONS)}.")
    return [fact for name in RELATIONS if relation in (None, name) for fact in _relation(name)]


def invented_people(n: int, congruent: bool = True, seed: int = 0) -> list[InventedPerson]:
    """`n` different people (at most 384) with names of eight styles; where not `congruent`, of another country."""
    names = [
        (f"{first} {last}", style["country"])
        for style in STYLES.values()
        for first in style["first"].split()
        for last in style["last"].split()
    ]
    if n > len(names):
        raise BertologyError(f"There are only {len(names)} invented names, not {n}.")
    random = Random(seed)
    people = []
    for name, style in random.sample(names, n):
        country = style if congruent else random.choice([other for other in COUNTRIES if other != style])
        people.append(InventedPerson(name, style, country, COUNTRIES))
    return people


def nameless_people() -> list[InventedPerson]:
    """Somebody without a name, "the stranger", of every country: nothing but what is told of them can be known."""
    nouns = TABLES["nameless"].split()
    return [InventedPerson(f"the {noun}", country, country, COUNTRIES) for noun in nouns for country in COUNTRIES]


@cache
def _relation(name: str) -> tuple[Fact, ...]:
    if name == "size":
        return _comparisons()
    rows = [row.split(":") for row in TABLES["relations"][name]["facts"].split()]
    candidates = tuple(dict.fromkeys(answer for _, answer in rows))
    return tuple(Fact(subject, name, answer, candidates) for subject, answer in rows)


def _comparisons() -> tuple[Fact, ...]:
    """Both directions of every comparison at a distance of two steps or more."""
    out = []
    for scale in SIZES:
        for i, small in enumerate(scale):
            for large in scale[i + 2 :]:
                out.append(Fact(f"{large} {small}", "size", "larger", ("larger", "smaller")))
                out.append(Fact(f"{small} {large}", "size", "smaller", ("larger", "smaller")))
    return tuple(out)


def _prompt(fact: Fact, template: str) -> Prompt:
    first, *second = fact.subject.split()
    answer, candidates = fact.object, fact.candidates
    if template in SIZE_WORDS:
        candidates = SIZE_WORDS[template]
        answer = candidates[fact.candidates.index(answer)]
    subject = f"the {first}" if fact.relation == "colour" and first in WITH_THE else first
    slots = {
        "x": subject,
        "ax": f"{article(first)} {first}",
        "ay": f"{article(second[0])} {second[0]}" if second else "",
        "be": "is" if first in MASS else "are",
    }
    return _fill(template, slots, answer, candidates)


def _fill(template: str, slots: dict[str, str], answer: str, candidates: tuple[str, ...]) -> Prompt:
    words = tuple(template.format(**slots).split())
    return Prompt(words, words.index(MASK), answer, candidates, template)


def _negate(prompt: Prompt) -> Prompt | None:
    """Put `not` behind the copula, if there is one; the answer is then the one that must not be given."""
    where = next((i for i, word in enumerate(prompt.words) if word in ("is", "are")), None)
    if where is None or "not" in prompt.words:
        return None
    words = (*prompt.words[: where + 1], "not", *prompt.words[where + 1 :])
    return Prompt(words, words.index(MASK), prompt.answer, prompt.candidates, prompt.template)
