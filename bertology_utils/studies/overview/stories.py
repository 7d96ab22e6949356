"""Little stories for next sentence prediction, and a labelled task with unseen words. Depends on `training` alone.

Each story keeps to one topic; the names change from telling to telling. The task asks who acts, a person or an animal,
in sentences that mention one of each, so neither a single word nor a bag of words gives the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from bertology_utils.tuning.training import Examples

NAMES = ("anna", "peter", "mary", "john", "tom", "alice", "robert", "helen")
# eight sentences each, told in order; {x} and {y} are people
STORIES = (
    """{x} lived on a small farm . the farm had ten cows and some sheep . every morning {x} gave the cows fresh grass .
    then {x} took the milk to the village . one day a cow was missing . {x} looked for the cow in the fields . the cow
    was standing behind the old barn . in the evening {x} told {y} about the lost cow .""",
    """{x} was the captain of an old ship . the ship sailed to the islands in the south . after three days a storm came
    from the west . the wind broke the mast of the ship . the sailors were afraid of the waves . {x} told the men to cut
    the ropes . at night the sea was quiet again . in the morning the sailors saw the harbour .""",
    """{x} was a teacher at a small school . there were twenty children in the class . on monday {x} wrote a question on
    the board . nobody in the class knew the answer . then {y} opened a book and read it aloud . the other pupils
    listened to the story . {x} was pleased with the lesson . the next day the class learned a new song .""",
    """the king had two sons . the older son was called {x} . the king wanted him to rule the country . but {x} did not
    like the palace . one night he left the court with {y} . the soldiers of the king searched every road . the king was
    sad and sent for the queen . after a year the prince came home to the castle .""",
    """{x} was a doctor in the city . many sick people came to the hospital . one winter a fever came to the town . {x}
    visited the patients day and night . the medicine was very expensive . {y} brought more medicine from the capital .
    soon the patients were well again . the people thanked the doctor for the help .""",
    """{x} played the piano in a theatre . {y} sang the songs of the old masters . in spring they gave a concert .
    the hall was full of people . the music was soft and slow . after the last song the audience clapped . a newspaper
    wrote about the concert . the next week the two musicians travelled to paris .""",
    """the team of {x} played against the best club . the game began at three in the afternoon . the first goal came
    after ten minutes . {y} kicked the ball over the line . the other players were angry . in the second half {x} scored
    a goal too . the match ended with two points for each team . the fans sang on the way home .""",
    """{x} wanted to bake a cake . there was flour in the kitchen but no sugar . {y} went to the shop and bought some
    sugar and butter . {x} mixed the eggs with the flour . then the cake was put in the oven . soon the kitchen smelled
    of sweet bread . the cake was brown and soft . in the evening everyone ate a piece of it .""",
    """the war lasted for seven years . {x} was a young soldier in the army . the enemy had more guns and horses . the
    battle began near a river . general {y} ordered the attack at dawn . many men died on the bridge . then the enemy
    left the field . after the peace the soldiers marched home .""",
    """{x} studied the stars . every night {x} looked at the sky through a telescope . one night there was a new light
    near the moon . it moved slowly towards the sun . {y} measured the distance to the planet . the numbers were larger
    than the astronomers had thought . they sent a letter to the university . the discovery was told in a journal .""",
    """a train left the station early in the morning . {x} sat at the window of the last carriage . the train crossed
    the mountains through a long tunnel . suddenly the engine stopped . the driver walked on the rails . {y} opened
    the door and asked for the reason . there was snow on the railway line . after two hours they went on .""",
    """{x} painted pictures of flowers . the studio was full of colours and brushes . {y} came to buy a painting . it
    showed a red rose in a glass . the price of the picture was high . {x} put the canvas in a frame . the painting was
    hung in a museum . many visitors admired the work of the artist .""",
)
PEOPLE = ("farmer teacher doctor soldier king queen nurse priest lawyer captain boy woman", "man girl student writer "
          "artist servant judge general driver painter mother father")  # fmt: skip
ANIMALS = ("dog horse lion bird bear pig cat sheep fox monkey snake eagle", "cow wolf rabbit goat tiger mouse elephant "
           "duck fish bull deer rat")  # fmt: skip
VERBS = ("saw followed found heard met liked feared watched", "noticed passed helped hated missed loved knew chased")
FRAMES = ("the {a} {v} the {b} .", "the {b} was {v} by the {a} .", "one day the {a} {v} the {b} .",
          "it was the {a} that {v} the {b} .")  # fmt: skip
PARTICIPLE = {"saw": "seen", "knew": "known"}


@dataclass(frozen=True)
class SecondSegments:
    """First segments, and three candidates to follow each: the true one, another document's, the same document's."""

    first: list[list[str]]
    true: list[list[str]]
    other_document: list[list[str]]
    same_document: list[list[str]]

    def __len__(self) -> int:
        return len(self.first)

    @property
    def places(self) -> list[str]:
        """Where in the stories each item stands, whichever telling it is of."""
        return [str(item % (3 * len(STORIES))) for item in range(len(self))]


def tell(story: int, random: Random) -> list[list[str]]:
    """One telling of a story with two drawn names: eight sentences of words."""
    x, y = random.sample(NAMES, 2)
    return [[*sentence.split(), "."] for sentence in STORIES[story].format(x=x, y=y).split(" .") if sentence.split()]


def told_once(seed: int = 0) -> list[list[str]]:
    """The sentences of all stories, each told once."""
    random = Random(seed)
    return [sentence for story in range(len(STORIES)) for sentence in tell(story, random)]


def second_segments(tellings: int = 2, seed: int = 0) -> SecondSegments:
    """Segments of two sentences from all stories, told `tellings` times.

    The wrong segment of the same document is as long as the true one but does not follow; that of another document
    comes from the same place of another story.
    """
    random = Random(seed)
    out = SecondSegments([], [], [], [])
    for _ in range(tellings):
        for index in range(len(STORIES)):
            other = tell(random.choice([i for i in range(len(STORIES)) if i != index]), random)
            told = tell(index, random)
            for start in (0, 2, 4):
                wrong = random.choice([i for i in (0, 2, 4, 6) if i not in (start, start + 2)])
                out.first.append(_segment(told, start))
                out.true.append(_segment(told, start + 2))
                out.other_document.append(_segment(other, start + 2))
                out.same_document.append(_segment(told, wrong))
    return out


def _segment(sentences: Sequence[Sequence[str]], start: int) -> list[str]:
    return [word for sentence in sentences[start : start + 2] for word in sentence]


def who_acts(n: int, split: str = "train", seed: int = 0) -> Examples:
    """`n` sentences with a person and an animal; the label is 1 where the person acts. Splits share no content word."""
    side = {"train": 0, "test": 1}[split]
    people, animals, verbs = (words[side].split() for words in (PEOPLE, ANIMALS, VERBS))
    random = Random(f"{split}{seed}")
    sentences, labels = [], []
    for item in range(n):
        label = item % 2
        a, b = random.choice(people), random.choice(animals)
        a, b = (a, b) if label else (b, a)
        frame, verb = random.choice(FRAMES), random.choice(verbs)
        verb = PARTICIPLE.get(verb, verb) if "{v} by" in frame else verb
        sentences.append(frame.format(a=a, b=b, v=verb).split())
        labels.append(label)
    return Examples(sentences, labels)


def beings(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """The person and the animal of each sentence of `who_acts`: what its items share, and what is to be known."""
    known = {word for words in (*PEOPLE, *ANIMALS) for word in words.split()}
    return [[word for word in sentence if word in known] for sentence in sentences]
