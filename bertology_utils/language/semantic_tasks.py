"""Items of meaning that the grammar lacks: word senses, relations, proto-roles, fillers, numbers, swapped entities.

Depends on `grammar` (sentences, lexicon) and knows no model. Wherever something is trained on these items, training
and test share no content word except the one under study; function words and frames are shared, so that they tell
nothing apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from random import Random

from bertology_utils.errors import BertologyError
from bertology_utils.language.grammar import generate
from bertology_utils.language.grammar_trees import Sentence
from bertology_utils.language.lexicon import SPLITS, UNIONS, load_lexicon

Sentences = list[tuple[str, ...]]
TRAIN_CUES = 5

# word | cues of the first sense | cues of the second sense; the first five cues train, the others test
SENSES = """
bank | water river fish boat bridge shore lake stream | money pay loan debt gold trade office cash
bat | bird wing cave night insect mouse owl sky | ball player game team hit field sport club
spring | summer winter autumn season may april march weather | metal wire wheel machine steel engine clock iron
ring | finger gold wedding silver diamond queen wife neck | bell telephone sound call door noise hear voice
bark | tree wood leaf root branch forest plant garden | dog animal wolf noise cat hear night pet
seal | ocean sea fish ice whale animal beach island | letter paper king wax royal document sign stamp
club | member dance party music society night friends school | stick iron weapon ball wood stone sword hit
match | team player goal ball game football score win | fire light smoke candle burn flame lamp cigarette
palm | tree leaf sand island beach plant desert fruit | hand finger arm skin wrist thumb touch foot
date | day month year june calendar week time october | fruit sugar tree sweet eat palm nut bread
bow | arrow hunter shoot war weapon sword fight enemy | hair dress ribbon silk girl pink wear shoe
pen | paper ink write letter book draw pencil word | pig sheep farm fence animal goat cow chicken
star | sky moon sun planet night space earth light | film movie actor famous hollywood stage television show
court | judge law prison crime lawyer trial guilty case | tennis ball player game basketball score sport team
plant | flower garden leaf green seed grow tree grass | factory power machine worker industry engine steel fuel
organ | church music piano play sound song choir hymn | heart blood body brain lung skin liver stomach
cell | prison guard police door thief lock criminal jail | blood body skin brain tissue virus cancer disease
trunk | elephant animal nose mouth lion ear zoo monkey | car bag luggage drive box travel road train
deck | ship captain sailor boat sea ocean crew wind | card game play table hand ace luck win
band | music song guitar singer rock drum album concert | rubber hair wrist arm silver wear metal cloth
key | door lock house open room gate car box | piano music note song play sound major tune
note | music song piano sing sound play tune voice | paper write letter read book message word pen
tank | war army soldier gun battle enemy weapon fire | water fish oil gas glass fuel full pump
mine | coal gold rock tunnel dig silver iron mountain | bomb war army soldier ship explode enemy weapon
current | river water ocean sea stream flow wave wind | electric wire power light energy machine battery circuit
race | horse car run win speed track driver winner | people black white human skin nation culture language
letter | word alphabet english spell language sound write read | post send mail envelope paper friend receive stamp
table | chair kitchen dinner food wood room plate lamp | number list data column figure page book result
suit | dress coat shirt wear shirt hat shoe trousers | court judge law case lawyer claim trial legal
capital | city france london country government nation paris state | money bank business trade fund pay invest profit
"""

SENSE_FRAMES = (
    "it was about the {a} , the {b} and the W .",
    "the W , the {a} and the {b} were there .",
    "they said {a} , {b} and W .",
    "he thought of the W and then of {a} and {b} .",
    "{a} and {b} ; and so the W too .",
    "this is the W that we know from {a} and {b} .",
)


@dataclass(frozen=True)
class SenseItem:
    """An occurrence of an ambiguous word: `words[place]` is `lemma`, used in `sense` (such as `bank: water`)."""

    words: tuple[str, ...]
    place: int
    lemma: str
    sense: str


def sense_table() -> dict[str, dict[str, tuple[str, ...]]]:
    """Word -> sense name -> its cue words; a cue that both senses of a word could have is left out of both."""
    table = {}
    for row in SENSES.strip().splitlines():
        word, *cues = (part.split() for part in row.split("|"))
        shared = set(cues[0]) & set(cues[1])
        kept = [tuple(dict.fromkeys(cue for cue in side if cue not in shared)) for side in cues]
        table[word[0]] = {f"{word[0]}: {side[0]}": side for side in kept}
    return table


def sense_items(contexts: int = 8, split: str = "train", words: int | None = None, seed: int = 0) -> list[SenseItem]:
    """`contexts` sentences for each of the two senses of each word, after wiedemann2019does.

    Frames are the same for every word, sense and split; only the two cue words differ, and no cue of a word is in both
    of its splits. Raises BertologyError for an unknown split.
    """
    _check_split(split)
    rng = Random(f"senses-{split}-{seed}")
    items = []
    for lemma, senses in list(sense_table().items())[:words]:
        for sense, cues in senses.items():
            chosen = cues[:TRAIN_CUES] if split == "train" else cues[TRAIN_CUES:]
            for i in range(contexts):
                first, second = rng.sample(chosen, 2)
                frame = SENSE_FRAMES[i % len(SENSE_FRAMES)].format(a=first, b=second).split()
                items.append(SenseItem(tuple(lemma if w == "W" else w for w in frame), frame.index("W"), lemma, sense))
    return items


# Relations between two spans ------------------------------------------------------------------------------------------

# Every sentence names all three places, so that a bag of its words does not tell which place has which relation.
JOURNEYS = {
    "train": ("P of H went from O to D .", "P of H left O and went to D .", "in H , P was sent to D from O .",
              "from O , P walked to D and not to H .", "P of H ran to D from O ."),
    "test": ("P of H came to D from O .", "P of H travelled from O to D .", "from O , P of H returned to D .",
             "P of H escaped from O to D ."),
}  # fmt: skip
PLACES = {"H": "other", "O": "origin", "D": "destination"}


@dataclass(frozen=True)
class SpanPair:
    """Two words of a sentence (indices) and the relation of the second to the first."""

    words: tuple[str, ...]
    first: int
    second: int
    relation: str


def relation_items(n: int, split: str = "train", seed: int = 0) -> list[SpanPair]:
    """`n` pairs of a person and a place: origin, destination or other, three from each sentence."""
    _check_split(split)
    names = load_lexicon(split).names
    people, places = names["male"] + names["female"], names["city"] + names["country"]
    rng = Random(f"relations-{split}-{seed}")
    items = []
    while len(items) < n:
        frame = rng.choice(JOURNEYS[split]).split()
        filler = {"P": rng.choice(people), **dict(zip("HOD", rng.sample(places, 3), strict=True))}
        words = tuple(filler.get(word, word) for word in frame)
        items += [SpanPair(words, frame.index("P"), frame.index(slot), label) for slot, label in PLACES.items()]
    return items[:n]


# Entity types, roles and proto-roles from the grammar -----------------------------------------------------------------

PROPERTIES = ("volition", "sentience", "change_of_state", "change_of_place")
CHANGES = """
break burn grow die cook bake boil eat drink kill cut destroy paint wash clean repair fix build open fold bite
"""
MOTIONS = """
run walk go come jump climb hurry move march wander rush fly return escape fall arrive travel swim
give send bring sell throw hand lend carry push pull drive steal
"""
CHANGING, MOVING = frozenset(CHANGES.split()), frozenset(MOTIONS.split())


@dataclass(frozen=True)
class WordItem:
    """One word of a sentence (its index), the verb that governs it (-1: none) and its label."""

    words: tuple[str, ...]
    place: int
    verb: int
    label: str
    lemma: str = ""


def role_items(n: int, split: str = "train", seed: int = 0) -> list[WordItem]:
    """Nouns and names with a semantic role of the grammar; pronouns are left out because their case tells the role."""
    found = (WordItem(s.words, i, _governor(s, i), s.roles[i]) for s, i in _nouns(split, seed) if s.roles[i])
    return list(islice(found, n))


def entity_items(n: int, split: str = "train", seed: int = 0) -> list[WordItem]:
    """Names with their type: PERSON, CITY or COUNTRY."""
    found = (WordItem(s.words, i, -1, s.entities[i]) for s, i in _nouns(split, seed) if s.entities[i])
    return list(islice(found, n))


def proto_role_items(n: int, split: str = "train", seed: int = 0) -> list[WordItem]:
    """Arguments of verbs; the label lists their proto-role properties, joined by `+` (none: an empty string).

    The properties are set by rule: volition by the role, sentience by the noun's kind, the two changes by verb and
    role. A rule-made stand-in for the human ratings of the studies. No verb has more than a fortieth of the items, or
    two, so that frequent ones do not speak for all.
    """
    living = {form for kind in UNIONS["living"] for noun in load_lexicon(split).nouns[kind]
              for form in (noun.singular, noun.plural)}  # fmt: skip
    items, met = [], Counter()
    for s, i in _nouns(split, seed):
        verb = _governor(s, i)
        if s.roles[i] and verb >= 0 and met[s.lemmas[verb]] < max(2, n // 40):
            met[s.lemmas[verb]] += 1
            alive = s.entities[i] == "PERSON" or s.words[i] in living
            held = properties(s.roles[i], s.lemmas[verb], alive)
            items.append(WordItem(s.words, i, verb, "+".join(held), s.lemmas[verb]))
        if len(items) == n:
            return items


def properties(role: str, verb: str, alive: bool) -> tuple[str, ...]:
    """The proto-role properties of an argument, in the order of PROPERTIES."""
    undergoes = role in ("patient", "theme")
    moves = verb in MOVING and (undergoes or role == "agent")
    held = (role == "agent" and alive, alive, undergoes and verb in CHANGING, moves)
    return tuple(name for name, has in zip(PROPERTIES, held, strict=True) if has)


def property_matrix(labels: Sequence[str]) -> list[list[int]]:
    """Labels of `proto_role_items` as 0/1 rows (items, properties)."""
    return [[int(name in label.split("+")) for name in PROPERTIES] for label in labels]


def _nouns(split: str, seed: int) -> Iterator[tuple[Sentence, int]]:
    """Occurrences of nouns and names without end: pairs of sentence and index."""
    _check_split(split)
    for batch in count(1000 * seed):
        for sentence in generate(100, seed=batch, split=split):
            yield from ((sentence, i) for i, tag in enumerate(sentence.upos) if tag in ("NOUN", "PROPN"))


def _governor(sentence: Sentence, place: int) -> int:
    head = sentence.heads[place]
    return head if head >= 0 and sentence.upos[head] == "VERB" else -1


# Fillers of a role ----------------------------------------------------------------------------------------------------

# one scene a row: what somebody does, each ending in its filler, which does not fit the sentence before
SCENES = """
the farmer : milked the cow / drove the tractor / planted the corn / rode the horse
the cook : boiled the water / sharpened the knife / peeled the onion / lit the oven
the student : opened the book / sharpened the pencil / passed the exam / sat at the desk
the soldier : fired the gun / wore the uniform / obeyed the officer / fought in the war
the sailor : raised the sail / swam to the shore / dropped the anchor / feared the storm
the king : wore the crown / married the queen / sat on the throne / lived in the castle
the priest : lit the candle / read the bible / rang the bell / prayed in the church
the doctor : wrote the prescription / bandaged the wound / worked in the hospital / thanked the nurse
the judge : read the sentence / sat in the court / questioned the witness / sent him to prison
the miner : dug the coal / carried the lamp / coughed from the dust / worked in the tunnel
the hunter : shot the deer / followed the tracks / loaded the rifle / whistled to the dog
the fisherman : cast the net / rowed the boat / caught the fish / walked to the river
the baker : kneaded the dough / rose in the morning / opened the shop / swept the floor
the tailor : sewed the dress / threaded the needle / sat in the shop / greeted the customer
the smith : hammered the iron / fitted the shoe on the horse / blew into the fire / waited for the customer
the painter : dipped the brush / hung the picture / mixed the colours / paid the model
the singer : sang the song / tuned the guitar / stood on the stage / cleared her throat
the pilot : landed the plane / put on the helmet / flew above the clouds / spoke into the radio
the driver : started the engine / turned the wheel / stopped at the light / filled the tank
the postman : delivered the letter / rang the bell / rode the bicycle / licked the stamp
the bride : wore the dress / kissed the groom / put on the ring / cut the cake
the barber : cut the hair / stood behind the chair / talked about the weather / held the mirror
the gardener : watered the flowers / closed the gate / mowed the lawn / dug the hole
the guest : rang the bell / ate the dinner / slept in the bed / thanked the host
the thief : broke the window / stole the money / ran from the police / hid in the dark
the baby : drank the milk / slept in the cradle / called for its mother / shook the rattle
the old man : smoked the pipe / leaned on the stick / read the newspaper / remembered the past
the boy : kicked the ball / climbed the tree / flew the kite / did his homework
the girl : combed her hair / dressed the doll / jumped over the rope / ate the sweets
the team : won the game / listened to the coach / scored the goal / trained in the gym
the carpenter : sawed the wood / hit the nail / built the table / lost the hammer
the mason : mixed the cement / laid the bricks / built the wall / climbed the ladder
the lawyer : defended the client / signed the contract / won the case / earned the fee
the banker : counted the money / opened the safe / refused the loan / worked in the bank
the traveller : packed the suitcase / bought the ticket / missed the train / read the map
the camper : pitched the tent / slept under the stars / carried the rucksack / lit the fire
the skier : fell in the snow / warmed his hands / climbed the mountain / broke his leg
the author : wrote the novel / met the publisher / sharpened the pen / filled the page
the astronomer : watched the stars / built the telescope / drew the orbit / worked at night
the chemist : heated the liquid / published the result / measured the temperature / broke the glass
the dentist : pulled the tooth / held the drill / looked into the mouth / calmed the patient
the waiter : served the dinner / brought the bill / wiped the table / poured the wine
the mother : washed the clothes / told the story / cooked the soup / rocked the baby
the shepherd : counted the sheep / sat on the hill / played the flute / feared the wolf
the actor : learned the part / wore the mask / bowed to the audience / worked in the theatre
the conductor : raised the baton / led the orchestra / studied the score / heard the applause
the knight : drew the sword / rode the horse / killed the dragon / saved the princess
the pirate : buried the treasure / lost his eye / drank the rum / sailed the ship
the mechanic : repaired the car / wiped the oil / changed the tyre / tightened the screw
the teacher : taught the class / wrote on the board / rang the bell / marked the test
the secretary : typed the letter / answered the phone / made the coffee / worked in the office
the widow : visited the grave / wore the veil / inherited the house / cried for her husband
the guard : locked the gate / watched the prisoner / carried the keys / patrolled the yard
the beggar : asked for money / slept in the street / held out his hand / thanked the stranger
the climber : reached the summit / held the rope / slipped on the ice / slept in the tent
the cat : chased the mouse / drank the milk / slept by the fire / licked its paws
the dog : chewed the bone / guarded the house / wagged its tail / barked at the stranger
the bird : built the nest / laid the egg / spread its wings / sang its song
the bear : ate the honey / slept in the cave / caught the fish / scratched the tree
the bee : stung the boy / returned to the hive / made the honey / flew to the flower
the captain : sailed the ship / looked at the stars / gave the order / was the last to leave the deck
the emperor : ruled the empire / led the army / signed the law / lived in the palace
the general : won the battle / looked at the map / rode the horse / spoke to the troops
the nurse : washed the wound / pushed the bed / called the doctor / worked all night
the professor : gave the lecture / taught the students / wrote the book / worked at the university
the editor : read the article / corrected the mistake / called the writer / printed the newspaper
the reporter : asked the question / wrote the story / used the telephone / told the truth
the engineer : built the bridge / drew the plan / tested the machine / measured the length
the scientist : made the experiment / looked at the cell / proved the theory / worked in the laboratory
the president : won the election / gave the speech / signed the treaty / lived in the white house
the bishop : blessed the people / wore the cross / spoke of the lord / built the cathedral
the monk : copied the manuscript / lived in poverty / rang the bell / drank the wine
the pupil : learned the lesson / raised his hand / forgot the answer / feared the teacher
the librarian : lent the book / wrote the list / asked for silence / sat at the desk
the merchant : sold the goods / crossed the desert / counted the coins / paid the tax
the spy : hid the letter / changed his name / listened at the door / betrayed the country
the prisoner : looked through the window / dreamed of freedom / dug the tunnel / wrote to his wife
the policeman : stopped the car / caught the criminal / drew his gun / asked for the name
the fireman : broke the door / climbed the ladder / put out the fire / saved the child
the tourist : took the picture / carried the bag / visited the museum / paid for the hotel
the porter : carried the bags / opened the gate / kept the key / waited for the train
the queen : loved the king / held the ball / bore the prince / wore the crown
the prince : loved the girl / inherited the kingdom / won the tournament / rode to the castle
the witch : cooked the soup / lived in the forest / frightened the children / turned him into stone
the giant : lifted the rock / lived in the mountain / fell with a great noise / ate the sheep
the ghost : walked through the wall / appeared at midnight / frightened the guests / lived in the tower
the dancer : learned the steps / moved to the music / hurt her foot / thanked the audience
the composer : wrote the opera / sat at the piano / heard the song / hated the noise
the drummer : kept the rhythm / beat the drum / joined the band / played too loud for the neighbors
the sculptor : cut the stone / made the statue / studied the body / lived in rome
the poet : wrote the poem / looked for a word / loved the moon / drank the wine
the director : made the film / chose the actors / changed the script / shouted at the camera
the peasant : fed the chickens / made the butter / washed the clothes / baked the bread
the hound : followed the track / found the bird / ran through the forest / obeyed the whistle
the horse : pulled the cart / ate the grass / jumped over the fence / threw off the boy
the cow : gave the milk / ate the grass / stood in the barn / walked to the river
the fox : stole the chicken / ran from the dogs / slept in the hole / crossed the snow
the wolf : howled at the moon / killed the sheep / ran through the forest / showed its teeth
the lion : killed the deer / slept in the shade / roared in the night / protected the young
the eagle : spread its wings / caught the fish / built its nest / flew above the mountains
the spider : made the web / caught the fly / hung from the roof / frightened the girl
the snake : bit the man / hid in the grass / lay in the sun / swallowed the egg
the mouse : ate the cheese / ran from the cat / lived in the hole / feared the owl
the whale : swam in the sea / swallowed the fish / followed the ship / came up for air
the river : reached the sea / carried the boat / flooded the valley / turned the wheel
the storm : broke the tree / sank the ship / came from the west / tore the sail
the fire : burned the house / gave the heat / spread to the forest / turned the wood to ash
the sun : warmed the earth / rose in the east / melted the snow / dried the clothes
the train : left the station / crossed the bridge / carried the passengers / entered the tunnel
the plane : left the ground / flew above the clouds / carried the mail / landed at the airport
the ship : left the harbor / crossed the ocean / hit the rock / carried the cargo
the bus : stopped at the corner / carried the children / ran out of fuel / came every hour
the company : made the profit / paid the workers / opened the factory / sold the product
the government : raised the tax / built the road / lost the vote / started the war
the school : taught the children / bought the books / closed for the summer / stood on the hill
the hospital : treated the patients / needed the money / hired the nurse / bought the medicine
the church : rang the bell / helped the poor / owned the land / celebrated the mass
the museum : showed the paintings / opened at ten / stood in the city / charged for the ticket
the bank : lent the money / closed the account / trusted the customer / moved to the capital
the host : paid for the dinner / gave the speech / walked to the altar / cried with joy
the landlord : raised the rent / repaired the roof / owned the house / locked the door
the gambler : lost the money / held the cards / sat at the table / borrowed from a friend
the champion : won the race / held the cup / broke the record / thanked the coach
the swimmer : crossed the lake / jumped into the water / reached the shore / held her breath
the runner : won the race / tied the shoe / drank the water / hurt his leg
the goalkeeper : caught the ball / defended the goal / kicked it over the line / lost the match
the referee : stopped the game / blew the whistle / looked at the clock / showed the card
"""
FRAMES_OF_PRIOR = ("the X is here .", "they saw the X .", "it was about X .")


@dataclass(frozen=True)
class FillerItem:
    """A sentence whose word at `place` is to be filled; `fillers` are the right, the related and the unrelated word."""

    words: tuple[str, ...]
    place: int
    fillers: tuple[str, str, str]
    scene: str


def filler_items() -> list[FillerItem]:
    """Sentences of `SCENES` without their last word: it, that of another one of the scene, and one from elsewhere.

    After ettinger2019what; every sentence meets all others of its scene, each time with another word from elsewhere.
    """
    rows = [row.split(" : ") for row in SCENES.strip().splitlines()]
    scenes = [(who, [deed.split() for deed in deeds.split(" / ")]) for who, deeds in rows]
    items = []
    for row, (who, deeds) in enumerate(scenes):
        own = [deed[-1] for deed in deeds]
        far = [deed[-1] for _, others in (*scenes[row:], *scenes[:row])[len(scenes) // 2 :] for deed in others]
        far = iter([word for word in far if word not in own])
        for deed in deeds:
            words = (*who.split(), *deed[:-1], "X", ".")
            fillers = [(deed[-1], related, next(far)) for related in own if related != deed[-1]]
            items += [FillerItem(words, len(words) - 2, three, who) for three in fillers]
    return items


# Numbers --------------------------------------------------------------------------------------------------------------


NUMBER_PLACE = 3


def number_sentence(text: str) -> tuple[str, ...]:
    """A plain carrier; the number is word NUMBER_PLACE."""
    return ("the", "number", "is", text, ".")


def integers(low: int, high: int, n: int, seed: int = 0) -> list[int]:
    """`n` different integers from low <= value < high (all of them, shuffled, where there are not more)."""
    return Random(f"integers-{seed}").sample(range(low, high), min(n, high - low))


def decimals(low: int, high: int, n: int, seed: int = 0) -> list[float]:
    """`n` different numbers with one digit behind the point, from low <= value < high."""
    return [value / 10 for value in integers(10 * low, 10 * high, n, seed)]


# Slots of a sentence pair ---------------------------------------------------------------------------------------------


def partner_triples(n: int, seed: int = 0) -> tuple[Sentences, Sentences, Sentences]:
    """`n` sentences, and for each two different partners of equal length, so that a slot is the same beside both."""
    by_length: dict[int, list[tuple[str, ...]]] = {}
    for sentence in generate(3 * n + 30, seed=seed, kind="simple"):
        by_length.setdefault(len(sentence.words), []).append(sentence.words)
    partners = [pair for words in by_length.values() for pair in zip(words[::2], words[1::2], strict=False)]
    Random(f"partners-{seed}").shuffle(partners)
    own = [sentence.words for sentence in generate(n, seed=seed, split="test", kind="simple")]
    return own, [pair[0] for pair in partners[:n]], [pair[1] for pair in partners[:n]]


# Swapped entities -----------------------------------------------------------------------------------------------------

# split | verbs of a good outcome | verbs of a bad one
OUTCOME_VERBS = """
train | found won enjoyed loved got bought kept gained admired discovered collected earned chose protected restored \
| lost broke missed hated burned dropped ruined refused rejected abandoned attacked removed stole struck hurt
test | liked saved received secured built praised improved created celebrated recovered trusted accepted \
| destroyed forgot feared damaged buried denied threw hid shot split killed avoided
"""
OUTCOME_FRAMES = ("in C , P V the N .", "P V the N in C .", "P of C V the N .", "yesterday , P V the N .")


def outcome_verbs(split: str) -> dict[int, list[str]]:
    """The verbs of a split: 1 good, 0 bad."""
    for row in OUTCOME_VERBS.strip().splitlines():
        name, good, bad = (part.split() for part in row.split("|"))
        if name == [split]:
            return {1: good, 0: bad}
    raise BertologyError(f"There is no split '{split}'; choose one of {', '.join(SPLITS)}.")


@dataclass(frozen=True)
class OutcomeItem:
    """A sentence that tells a good (1) or bad (0) outcome, and the same with another name or another common noun.

    `names` and `nouns` are those of the sentence and of its versions, `verb` tells the outcome.
    """

    words: tuple[str, ...]
    label: int
    verb: str
    names: tuple[str, ...]
    nouns: tuple[str, ...]
    name_swaps: tuple[tuple[str, ...], ...]
    noun_swaps: tuple[tuple[str, ...], ...]


def outcome_words(split: str) -> tuple[list[str], list[str]]:
    """The names of a split and the things that people can have, of which there are more."""
    lexicon = load_lexicon(split)
    names = [*lexicon.names["male"], *lexicon.names["female"]]
    return names, [noun.singular for kind in UNIONS["object"] for noun in lexicon.nouns[kind]]


def outcome_items(
    n: int, split: str = "train", swaps: int = 4, seed: int = 0, partners: Mapping[str, str] | None = None
) -> list[OutcomeItem]:
    """Balanced items whose label depends on the verb alone, so that no swap may change it.

    `swaps` versions have another person name, as many another object; replacements come from the same split and
    gender. `partners` gives each name the noun that stands beside it and is swapped as it is. Half of the test items
    have verbs of the training, half have new ones.
    """
    lexicon, rng = load_lexicon(split), Random(f"outcomes-{split}-{seed}")
    verbs = [outcome_verbs(part) for part in ("train", split)]
    objects = outcome_words(split)[1]
    items = []
    for i in range(n):
        people = rng.sample(lexicon.names[rng.choice(("male", "female"))], swaps + 1)
        things = [partners[name] for name in people] if partners else rng.sample(objects, swaps + 1)
        label, known = i % 2, i // 2 % 2
        slots = {"C": rng.choice(lexicon.names["city"]), "V": rng.choice(verbs[known][label])}
        frame = rng.choice(OUTCOME_FRAMES).split()
        words = _fill(frame, {**slots, "P": people[0], "N": things[0]})
        names = [_fill(frame, {**slots, "P": name, "N": things[0]}) for name in people[1:]]
        nouns = [_fill(frame, {**slots, "P": people[0], "N": thing}) for thing in things[1:]]
        items.append(OutcomeItem(words, label, slots["V"], tuple(people), tuple(things), tuple(names), tuple(nouns)))
    return rng.sample(items, n)


def _fill(frame: Sequence[str], slots: dict[str, str]) -> tuple[str, ...]:
    return tuple(slots.get(word, word) for word in frame)


def _check_split(split: str) -> None:
    if split not in SPLITS:
        raise BertologyError(f"There is no split '{split}'; choose one of {', '.join(SPLITS)}.")
