"""Little stories for next sentence prediction, and a labelled task with unseen words; `stories.yaml` holds both.

Each story keeps to one topic; the names change from telling to telling. The task asks who acts, a person or an animal,
in sentences that mention one of each, so neither a single word nor a bag of words gives the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bertology_utils.files import read_yaml
from bertology_utils.tuning.training import Examples

TOLD = read_yaml(Path(__file__).with_name("stories.yaml"))
STORIES: list[str] = TOLD["stories"]
PEOPLE, ANIMALS, VERBS = (TOLD[kind] for kind in ("people", "animals", "verbs"))  # split -> words


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
    x, y = random.sample(TOLD["names"].split(), 2)
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
    people, animals, verbs = (words[split].split() for words in (PEOPLE, ANIMALS, VERBS))
    random = Random(f"{split}{seed}")
    sentences, labels = [], []
    for item in range(n):
        label = item % 2
        a, b = random.choice(people), random.choice(animals)
        a, b = (a, b) if label else (b, a)
        frame, verb = random.choice(TOLD["frames"]), random.choice(verbs)
        verb = TOLD["participles"].get(verb, verb) if "{v} by" in frame else verb
        sentences.append(frame.format(a=a, b=b, v=verb).split())
        labels.append(label)
    return Examples(sentences, labels)


def beings(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """The person and the animal of each sentence of `who_acts`: what its items share, and what is to be known."""
    known = {word for words in (*PEOPLE.values(), *ANIMALS.values()) for word in words.split()}
    return [[word for word in sentence if word in known] for sentence in sentences]
