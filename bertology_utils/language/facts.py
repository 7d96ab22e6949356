"""Simple true facts as cloze prompts, and invented people whose names sound of a country.

It depends on `fact_tables`, which holds the smaller relations, and the error class. The facts were written for this
book; each relation has several paraphrases, so that an answer can be told from a template effect.
"""

from dataclasses import dataclass
from functools import cache
from random import Random

from bertology_utils.errors import BertologyError
from bertology_utils.language.fact_tables import MORE_TABLES, MORE_TEMPLATES

MASK = "[MASK]"

# subject: object, one listing a relation
TABLES = {
    "capital": """
france:paris germany:berlin england:london italy:rome spain:madrid russia:moscow japan:tokyo china:beijing
egypt:cairo greece:athens ireland:dublin austria:vienna portugal:lisbon poland:warsaw norway:oslo sweden:stockholm
denmark:copenhagen finland:helsinki hungary:budapest cuba:havana canada:ottawa scotland:edinburgh belgium:brussels
iraq:baghdad iran:tehran lebanon:beirut syria:damascus peru:lima kenya:nairobi wales:cardiff""",
    "class": """
robin:bird eagle:bird owl:bird sparrow:bird duck:bird trout:fish salmon:fish shark:fish ant:insect bee:insect
fly:insect butterfly:insect dog:animal horse:animal lion:animal cow:animal rose:flower lily:flower tulip:flower
daisy:flower oak:tree pine:tree apple:fruit banana:fruit lemon:fruit cherry:fruit carrot:vegetable potato:vegetable
onion:vegetable hammer:tool saw:tool axe:tool piano:instrument violin:instrument guitar:instrument car:vehicle
truck:vehicle bus:vehicle snake:reptile lizard:reptile orange:fruit pear:fruit plum:fruit fig:fruit drum:instrument
organ:instrument horn:instrument bell:instrument van:vehicle wagon:vehicle cab:vehicle cod:fish carp:fish
palm:tree ash:tree fir:tree cat:animal goat:animal camel:animal tiger:animal elephant:animal pig:animal sheep:animal
wolf:animal bear:animal fox:animal mouse:animal lamb:animal church:building house:building castle:building
palace:building hotel:building museum:building school:building theatre:building temple:building tower:building
hospital:building prison:building factory:building novel:book bible:book dictionary:book tea:drink
coffee:drink wine:drink beer:drink""",
    "sound": """
dog:bark cat:meow lion:roar wolf:howl duck:quack horse:neigh sheep:bleat frog:croak snake:hiss bird:sing bee:buzz""",
    "home": """
fish:water whale:sea bird:nest bee:hive camel:desert monkey:forest shark:sea bear:forest king:palace farmer:farm
monk:monastery prisoner:prison frog:pond spider:web soldier:camp pig:farm cow:farm duck:pond rabbit:hole""",
    "opposite": """
hot:cold big:small good:bad old:young up:down black:white happy:sad high:low long:short rich:poor strong:weak
fast:slow day:night early:late open:closed left:right hard:soft light:dark full:empty dry:wet clean:dirty
thick:thin near:far first:last love:hate war:peace life:death north:south east:west inside:outside true:false
brave:afraid""",
    "colour": """
grass:green snow:white blood:red coal:black milk:white sky:blue sun:yellow leaves:green cherries:red tomatoes:red
bananas:yellow lemons:yellow clouds:white soil:brown strawberries:red gold:yellow ravens:black chocolate:brown
emeralds:green frogs:green roses:red apples:red pigs:pink bones:white teeth:white mice:grey rats:grey wolves:grey
bears:brown horses:brown sheep:white trees:green plants:green stars:white lips:red nuts:brown
oceans:blue stones:grey potatoes:brown peas:green forests:green meadows:green nights:black
cotton:white salt:white sugar:white paper:white rice:white ice:white butter:yellow corn:yellow sand:yellow wood:brown
coffee:black tea:brown smoke:grey ash:grey ink:black fire:red wine:red lead:grey flour:white bread:brown cheese:yellow
water:blue""",
    "tool": """
carpenter:hammer painter:brush writer:pen soldier:gun farmer:plough barber:razor tailor:needle photographer:camera
teacher:chalk cook:knife gardener:spade hunter:rifle drummer:drum fisherman:net astronomer:telescope miner:pick
woodcutter:axe dentist:drill cleaner:broom pianist:piano""",
    "day_after": """
monday:tuesday tuesday:wednesday wednesday:thursday thursday:friday friday:saturday saturday:sunday sunday:monday""",
    "month_after": """
january:february february:march march:april april:may may:june june:july july:august august:september
september:october october:november november:december december:january""",
    "language": """
france:french germany:german england:english italy:italian spain:spanish russia:russian japan:japanese
china:chinese greece:greek poland:polish sweden:swedish denmark:danish portugal:portuguese turkey:turkish
mexico:spanish brazil:portuguese austria:german hungary:hungarian norway:norwegian finland:finnish""",
} | MORE_TABLES
# from small to large; every two neighbours at a distance of at least two steps make a comparison
SIZES = (
    ("ant", "mouse", "rabbit", "dog", "pig", "horse", "elephant", "whale"),
    ("coin", "apple", "bucket", "chair", "car", "house", "mountain"),
    ("seed", "nut", "box", "table", "bus", "ship", "island"),
    ("button", "ring", "cup", "hat", "coat", "bed", "boat", "church", "hill"),
    ("fly", "frog", "cat", "goat", "cow", "tree", "castle"),
    ("pin", "key", "book", "basket", "door", "wagon", "train", "bridge", "city"),
    ("bee", "bird", "fox", "sheep", "bull", "truck", "tower"),
    ("cell", "insect", "rat", "baby", "woman", "giant"),
    ("finger", "hand", "boy", "man", "lion", "camel"),
    ("leaf", "flower", "dress", "bag", "door", "garden", "field", "forest"),
    ("letter", "bottle", "gun", "desk", "van", "barn", "palace"),
)

# {x} the subject, {ax} the subject with its article; no word may depend on the answer, or it would give it away
TEMPLATES = {
    "capital": (
        "the capital of {x} is [MASK] .",
        "[MASK] is the capital of {x} .",
        "the capital city of {x} is called [MASK] .",
        "{x} has its capital in [MASK] .",
    ),
    "class": (
        "{ax} is a kind of [MASK] .",
        "{ax} is a type of [MASK] .",
        "{ax} is some sort of [MASK] .",
        "everyone knows that {ax} is a kind of [MASK] .",
    ),
    "sound": ("{ax} can [MASK] .", "the {x} began to [MASK] .", "we heard the {x} [MASK] ."),
    "home": (
        "{ax} lives in the [MASK] .",
        "the {x} is in the [MASK] .",
        "you will find the {x} in the [MASK] .",
        "the home of {ax} is the [MASK] .",
    ),
    "opposite": (
        "the opposite of {x} is [MASK] .",
        "{x} is the opposite of [MASK] .",
        "it is not {x} , it is [MASK] .",
        "{x} and [MASK] are opposites .",
    ),
    "colour": ("the colour of {x} is [MASK] .", "{x} {be} [MASK] .", "{x} {be} usually [MASK] in colour ."),
    "tool": (
        "{ax} works with the [MASK] .",
        "the {x} uses the [MASK] .",
        "the {x} picked up his [MASK] .",
        "the tool of the {x} is the [MASK] .",
    ),
    "day_after": ("the day after {x} is [MASK] .", "{x} is followed by [MASK] .", "after {x} comes [MASK] ."),
    "month_after": ("the month after {x} is [MASK] .", "{x} is followed by [MASK] .", "after {x} comes [MASK] ."),
    "language": (
        "people in {x} speak [MASK] .",
        "the language of {x} is [MASK] .",
        "the official language of {x} is [MASK] .",
        "in {x} they speak [MASK] .",
    ),
    "size": ("{ax} is [MASK] than {ay} .", "{ax} is much [MASK] than {ay} .", "compared with {ay} , {ax} is [MASK] ."),
} | MORE_TEMPLATES
RELATIONS = tuple(TEMPLATES)
SIZE_WORDS = {TEMPLATES["size"][2]: ("large", "small")}
MASS = (
    "grass", "snow", "blood", "coal", "milk", "sky", "sun", "soil", "gold", "chocolate", "cotton", "salt", "sugar",
    "paper", "rice", "ice", "butter", "corn", "sand", "wood", "coffee", "tea", "smoke", "ash", "ink", "fire",
    "wine", "lead", "flour", "bread", "cheese", "water",
)  # fmt: skip
WITH_THE = ("sky", "sun")

# people of whom nothing can be guessed
NAMELESS = "stranger visitor guest man woman doctor teacher soldier student singer writer farmer"
# style: country, adjective, first names, surnames; all the people are invented
NAME_STYLES = {
    "italian": (
        "italy",
        "marco luca giovanni paolo antonio sofia giulia chiara",
        "rossi bianchi moretti ferrari conti marini",
    ),
    "french": (
        "france",
        "pierre jacques henri claude marcel camille juliette amelie",
        "dubois moreau lefebvre fontaine girard rousseau",
    ),
    "german": (
        "germany",
        "hans klaus wolfgang dieter jurgen greta heidi ursula",
        "muller schmidt schneider hoffmann becker zimmermann",
    ),
    "russian": (
        "russia",
        "ivan boris dmitri sergei nikolai olga natasha irina",
        "ivanov petrov smirnov popov orlov volkov",
    ),
    "spanish": (
        "spain",
        "carlos diego javier pablo miguel carmen lucia isabel",
        "garcia fernandez lopez martinez gonzalez ramirez",
    ),
    "japanese": (
        "japan",
        "hiroshi takeshi kenji akira yuki keiko haruka sakura",
        "tanaka suzuki yamamoto watanabe nakamura kobayashi",
    ),
    "greek": (
        "greece",
        "nikos yannis kostas dimitris stavros eleni maria katerina",
        "papadopoulos georgiou nikolaidis pappas economou angelopoulos",
    ),
    "polish": (
        "poland",
        "piotr tomasz wojciech jan stanislaw agnieszka ewa zofia",
        "kowalski nowak wisniewski lewandowski kaminski zielinski",
    ),
}
PERSON_TEMPLATES = {
    "country": ("{x} was born in [MASK] .", "{x} is from [MASK] .", "{x} comes from [MASK] .", "{x} lives in [MASK] ."),
    "language": ("{x} speaks [MASK] .", "the native language of {x} is [MASK] ."),
    "nationality": ("the nationality of {x} is [MASK] .", "{x} is [MASK] ."),
}


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
        if asked not in PERSON_TEMPLATES:
            raise BertologyError(f"Nothing is known of '{asked}'; choose one of {', '.join(PERSON_TEMPLATES)}.")
        answers = {
            country: country if asked == "country" else adjective for adjective, (country, *_) in NAME_STYLES.items()
        }
        options = tuple(answers[country] for country in self.candidates)
        return [
            _fill(template, {"x": self.name}, answers[self.country], options) for template in PERSON_TEMPLATES[asked]
        ]


def facts(relation: str | None = None) -> list[Fact]:
    """All facts, or those of one relation of `RELATIONS`; raises BertologyError for an unknown one."""
    if relation is not None and relation not in RELATIONS:
        raise BertologyError(f"There is no relation '{relation}'; choose one of {', '.join(RELATIONS)}.")
    return [fact for name in RELATIONS if relation in (None, name) for fact in _relation(name)]


def invented_people(n: int, congruent: bool = True, seed: int = 0) -> list[InventedPerson]:
    """`n` different people (at most 384) with names of eight styles; where not `congruent`, of another country."""
    countries = tuple(country for country, *_ in NAME_STYLES.values())
    names = [
        (f"{first} {last}", country)
        for country, firsts, lasts in NAME_STYLES.values()
        for first in firsts.split()
        for last in lasts.split()
    ]
    if n > len(names):
        raise BertologyError(f"There are only {len(names)} invented names, not {n}.")
    random = Random(seed)
    people = []
    for name, style in random.sample(names, n):
        country = style if congruent else random.choice([other for other in countries if other != style])
        people.append(InventedPerson(name, style, country, countries))
    return people


def nameless_people() -> list[InventedPerson]:
    """Somebody without a name, "the stranger", of every country: nothing but what is told of them can be known."""
    countries = tuple(country for country, *_ in NAME_STYLES.values())
    return [
        InventedPerson(f"the {noun}", country, country, countries) for noun in NAMELESS.split() for country in countries
    ]


@cache
def _relation(name: str) -> tuple[Fact, ...]:
    if name == "size":
        return _comparisons()
    rows = [row.split(":") for row in TABLES[name].split()]
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
        "ax": _with_article(first),
        "ay": _with_article(second[0]) if second else "",
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


def _with_article(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
