"""Do light and dynamic convolutions do as well as attention at equal parameters, and what does a longer text cost?

Small nets of one size that differ in how words are mixed (`mixing`) learn to fill in the verb of the same sentences,
which agrees with a noun within the reach of a kernel, of both kernels one after the other, or of neither (wu2019pay).
The study `small-models` records them. Depends on `tuning.descent`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bertology_utils.language.lexicon import load_lexicon
from bertology_utils.recorded_arms import Values, one_by_one
from bertology_utils.studies.overparametrization.mixing import KINDS, layer, seconds
from bertology_utils.tuning.descent import descend

WIDTH, HEADS, INNER = 48, 4, 96
KERNELS = (7, 11)  # words that a kernel of each layer weighs: three on either side, and five
STEPS, BATCH, RATE = 800, 64, 4e-3  # of 2, 4 and 8 thousandths the best for each kind, on a seed that is not recorded
READ, ASKED = 3000, 200  # sentences, of all distances together and of each
NOUNS, BETWEEN, ADVERBS = 120, ("near", "behind", "with", "beside"), ("today", "now", "still", "often")
VERBS, MASK = ("is", "are"), "[MASK]"
PHRASES, LEAD = 3, 12  # of which any number stands between subject and verb; most adverbs before a subject
DISTANCES = tuple(1 + 3 * phrases for phrases in range(PHRASES + 1))  # words from the noun to its verb
REACH = {"within": DISTANCES[:2], "joined": DISTANCES[2:3], "beyond": DISTANCES[3:]}
LENGTHS, LONG, REPEATS = (32, 64, 128, 256, 512, 1024), 3, 20  # words of a text; how many of the last give a slope

Sentence = tuple[str, ...]


# ---------------------------------------------------------------- the text


class Text(NamedTuple):
    """The vocabulary of a seed, sentences that are read, and by distance those that are asked, all of one length."""

    words: list[str]
    read: list[Sentence]
    asked: dict[int, list[Sentence]]


def sentence(nouns: Sequence[tuple[str, str]], distance: int, rng: np.random.Generator) -> Sentence:
    """`now the dog near the cats is behind the birds ... .`: phrases before and after the verb, adverbs at both ends.

    nouns: singular and plural. The verb stands so many words after its noun, and agrees with it.
    """
    forms, numbers = rng.integers(len(nouns), size=PHRASES + 1), rng.integers(2, size=PHRASES + 1)
    subject, *others = (("the", nouns[form][number]) for form, number in zip(forms, numbers, strict=True))
    phrases = [(str(rng.choice(BETWEEN)), *other) for other in others]
    before, lead = distance // 3, int(rng.integers(LEAD + 1))
    adverbs = rng.choice(ADVERBS, LEAD).tolist()
    parts = (subject, *phrases[:before], (VERBS[numbers[0]],), *phrases[before:])
    return (*adverbs[:lead], *(word for part in parts for word in part), *adverbs[lead:], ".")


def text_of(seed: int) -> Text:
    """The sentences of a seed, of all distances alike; none that is asked is read."""
    rng = np.random.default_rng(seed)
    told = (noun for group in load_lexicon("train").nouns.values() for noun in group)
    every = [*{noun.singular: noun.plural for noun in told if noun.plural not in (None, noun.singular)}.items()]
    nouns = [every[i] for i in rng.permutation(len(every))[:NOUNS]]
    read = [sentence(nouns, DISTANCES[i % len(DISTANCES)], rng) for i in range(READ)]
    known, asked = set(read), {}
    for distance in DISTANCES:
        drawn = (sentence(nouns, distance, rng) for _ in range(8 * ASKED))
        asked[distance] = [words for words in dict.fromkeys(drawn) if words not in known][:ASKED]
    forms = [form for noun in nouns for form in noun]
    return Text([*VERBS, MASK, "the", ".", *BETWEEN, *ADVERBS, *forms], read, asked)


def cloze(words: Sequence[str], sentences: Sequence[Sentence]) -> tuple[Tensor, Tensor]:
    """Ids of sentences whose verb is masked, (sentences, length), and which of `VERBS` it was, (sentences,)."""
    place = {word: i for i, word in enumerate(words)}
    ids = torch.tensor([[place[word] for word in own] for own in sentences])
    verb = ids < len(VERBS)
    return ids.masked_fill(verb, place[MASK]), ids[verb]


# ---------------------------------------------------------------- the nets


class Block(nn.Module):
    """A layer that mixes words and one that does not, each added to what it read and normalised, as in BERT."""

    def __init__(self, kind: str, size: int) -> None:
        super().__init__()
        self.mix = layer(kind, WIDTH, HEADS, size)
        self.inner = nn.Sequential(nn.Linear(WIDTH, INNER), nn.GELU(), nn.Linear(INNER, WIDTH))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        for part, norm in zip((self.mix, self.inner), self.norms, strict=True):
            x = norm(x + part(x))
        return x


class Net(nn.Module):
    """A masked language model: ids (sentences, length) to what it expects at the mask, (sentences, vocabulary)."""

    def __init__(self, kind: str, words: Sequence[str], length: int) -> None:
        super().__init__()
        self.mask = words.index(MASK)
        self.pieces, self.places = nn.Embedding(len(words), WIDTH), nn.Embedding(length, WIDTH)
        self.blocks = nn.Sequential(nn.LayerNorm(WIDTH), *(Block(kind, size) for size in KERNELS))
        self.head = nn.Linear(WIDTH, len(words))

    def forward(self, ids: Tensor) -> Tensor:
        hidden = self.blocks(self.pieces(ids) + self.places.weight)
        return self.head(hidden[ids == self.mask])


def untrained(seed: int, text: Text) -> dict[str, Net]:
    """A net of each kind; their vectors of words and places begin alike."""
    nets = {}
    for kind in KINDS:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            nets[kind] = Net(kind, text.words, len(text.read[0]))
    return nets


def train(net: Net, text: Text, seed: int) -> None:
    """Trains a net in place; the seed draws the batches."""
    (ids, verbs), rng = cloze(text.words, text.read), np.random.default_rng(seed)

    def loss() -> Tensor:
        rows = torch.as_tensor(rng.integers(len(ids), size=BATCH))
        return F.cross_entropy(net(ids[rows]), verbs[rows])

    descend([{"params": list(net.parameters()), "lr": RATE}], loss, STEPS)


@torch.no_grad()
def agreement(net: Net, text: Text, distance: int) -> float:
    """How often the right form of the masked verb is likelier than the other."""
    ids, verbs = cloze(text.words, text.asked[distance])
    return float((net(ids)[:, : len(VERBS)].argmax(1) == verbs).float().mean())


# ---------------------------------------------------------------- what is recorded


def asked(nets: Mapping[str, Net], text: Text) -> Values:
    """Verbs right of each kind: `attention_within` and so on, means over `REACH`, and `attention_1` by distance."""
    found = {f"{kind}_{distance}": agreement(nets[kind], text, distance) for kind in KINDS for distance in DISTANCES}
    means = {
        f"{kind}_{name}": float(np.mean([found[f"{kind}_{distance}"] for distance in distances]))
        for kind in KINDS
        for name, distances in REACH.items()
    }
    return found | means


def compared(seed: int) -> tuple[Values, Values]:
    """What is `asked` of trained nets, with the processor `attention_seconds` of training, and of untrained ones."""
    text = text_of(seed)
    nets = untrained(seed, text)
    before = asked(nets, text)
    spent = {f"{kind}_seconds": seconds(lambda net=net: train(net, text, seed), 1) for kind, net in nets.items()}
    return asked(nets, text) | spent, before


def slope(costs: Sequence[float]) -> float:
    """By which power of the length a cost grows, over the last `LONG` of `LENGTHS`."""
    return float(np.polyfit(np.log(LENGTHS[-LONG:]), np.log(costs[-LONG:]), 1)[0])


@torch.no_grad()
def costs(seed: int) -> tuple[Values, Values]:
    """Of one text through each layer: `attention_work` and `attention_time`, slopes of multiply-adds and of processor
    seconds over length, and `attention_32` and so on, milliseconds. Nothing is trained, so both sides are the same."""
    found, generator = {}, torch.Generator().manual_seed(seed)
    for kind in KINDS:
        own = layer(kind, WIDTH, HEADS, KERNELS[-1])
        texts = [torch.randn(1, words, WIDTH, generator=generator) for words in LENGTHS]
        spent = [seconds(lambda own=own, x=x: own(x), REPEATS) for x in texts]
        found |= {f"{kind}_work": slope([own.work(words) for words in LENGTHS]), f"{kind}_time": slope(spent)}
        found |= {f"{kind}_{words}": 1e3 * value for words, value in zip(LENGTHS, spent, strict=True)}
    return found, found


def by_distance(samples: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Verbs right over `DISTANCES`, (distances, seeds) a kind, of recorded samples (seeds, 1)."""
    return {kind: np.stack([samples[f"{kind}_{distance}"][:, 0] for distance in DISTANCES]) for kind in KINDS}


EXPERIMENTS = {
    "attention-or-convolution": one_by_one(compared, ASKED),
    "cost-by-length": one_by_one(costs, REPEATS),
}
