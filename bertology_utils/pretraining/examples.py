"""From tokenized corpora to inputs: what is packed between [CLS] and [SEP]. Depends on `corpus`, `objectives`, numpy.

How a corpus is packed follows from its format. Running text gives pairs where an objective asks for them, else single
segments or streams; translations give pairs whose second half has positions of its own (lample2019crosslingual);
labelled text gives segments whose segment embedding stands for the label (wu2019conditional).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch

from bertology_utils.pretraining.objectives import MASK_SHARE, PAIR_TASKS, draw_relation

from .corpus import Corpus

IGNORED = -100
SHORTEST_INPUT = 8  # pieces: three special ones and room for two segments
CANDIDATES = 96  # random sentences among which one is sought with which a segment of a given length begins


@dataclass(frozen=True)
class SpecialIds:
    """Ids of the special pieces, and the size of the vocabulary, that masking needs."""

    pad: int
    cls: int
    sep: int
    mask: int
    vocabulary_size: int
    unk: int = 1


@dataclass
class Row:
    """One input.

    Attributes:
        ids: `(pieces,)` with the special ones; objectives hide some of them.
        segments, positions: `(pieces,)`; of a labelled text the segment is its label.
        is_special: `(pieces,)`, true at [CLS] and [SEP].
        flags: `(pieces,)` as in `Corpus`, 0 at special pieces; None where no objective asked for them.
        relation: the pair task and the class of this pair.
        original: the ids before anything was hidden.
        noted: what each objective noted, mostly `(pieces,)` of the classes it asks for, IGNORED elsewhere.
    """

    ids: np.ndarray
    segments: np.ndarray
    positions: np.ndarray
    is_special: np.ndarray
    flags: np.ndarray | None = None
    relation: tuple[str, int] | None = None
    original: np.ndarray = None
    noted: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self):
        self.original = self.ids

    def __len__(self) -> int:
        return len(self.ids)


class Packing(NamedTuple):
    """How inputs are made.

    length: in pieces, the special ones included.
    pair_tasks: the objectives that need a second segment; each pair is made for one of them.
    single_share: share of inputs with one segment only. BERT has none; a small model meets single sentences in every
        later experiment, so it should have seen some.
    stream: sentences follow each other across documents, divided by [SEP].
    copies: None makes every input anew; a number makes that many fixed inputs start at every sentence, so that their
        masks, drawn from the same generator, are static (devlin2019bert).
    """

    length: int
    pair_tasks: tuple[str, ...] = ()
    single_share: float = 0.25
    stream: bool = False
    copies: int | None = None
    seed: int = 0


class Sampler:
    """Draws inputs from a mixture of corpora.

    Args:
        corpora: the corpora with their weights; those of weight 0 keep their place, by which static inputs are drawn.
    """

    def __init__(self, corpora: Sequence[tuple[Corpus, float]], packing: Packing, special: SpecialIds):
        self.corpora = [corpus for corpus, _ in corpora]
        weights = np.array([weight for _, weight in corpora], dtype=float)
        self.bounds = np.cumsum(weights / weights.sum())
        self.packing, self.special = packing, special

    def draw(self, rng: np.random.Generator) -> tuple[Row, np.random.Generator]:
        """An input, and the generator from which its masks are to be drawn."""
        number = int(np.searchsorted(self.bounds, rng.random(), side="right"))
        corpus = self.corpora[number]
        sentence = int(rng.integers(corpus.documents[0], corpus.documents[-1]))
        if self.packing.copies is not None:
            copy = int(rng.integers(self.packing.copies))
            rng = np.random.default_rng((self.packing.seed, number, sentence, copy))
        return self._row(corpus, sentence, rng), rng

    def _row(self, corpus: Corpus, sentence: int, rng: np.random.Generator) -> Row:
        if corpus.format == "parallel":
            return self._translations(corpus, sentence, rng)
        if corpus.format == "labelled":
            return self._labelled(corpus, sentence)
        if self.packing.stream:
            return self._stream(corpus, sentence)
        if self.packing.pair_tasks and rng.random() >= self.packing.single_share:
            pair = self._pair(corpus, sentence, rng)
            if pair is not None:
                return pair
        end = self._document(corpus, sentence)[1]
        return self._pack(corpus, [self._fill(corpus, sentence, end, self.packing.length - 2)[0]])

    def _pair(self, corpus: Corpus, sentence: int, rng: np.random.Generator) -> Row | None:
        """Two segments in a relation drawn for one of the tasks; None where the text has no such pair.

        Second segments are found for every class of the task, all of one length, before the class is drawn: so neither
        the lengths nor the pairs that are given up tell it.
        """
        tasks = self.packing.pair_tasks
        task = tasks[int(rng.integers(len(tasks)))] if len(tasks) > 1 else tasks[0]
        document = range(*self._document(corpus, sentence))
        first = min(sentence, document.stop - 2)  # the last sentence of a document has none behind it
        if first < document.start:
            return None
        a, b, between = self._halves(corpus, first, document.stop, rng)
        if "distant" in PAIR_TASKS[task]:  # a document holds few segments that end with a sentence at a given length
            b = slice(b.start, max(b.start + 1, b.stop - 1))
        seconds = {"next": b, "previous": b}
        for relation, starts in (
            ("random", lambda: self._anywhere(corpus, document, rng)),
            ("distant", lambda: np.setdiff1d(document, range(first - 1, between + 1))),
        ):
            if relation in PAIR_TASKS[task]:
                seconds[relation] = self._alike(corpus, b, starts(), a, rng)
        if None in seconds.values():
            return None
        relation = draw_relation(task, rng)
        second = seconds[relation]
        row = self._pack(corpus, [second, a] if relation == "previous" else [a, second])
        row.relation = task, PAIR_TASKS[task].index(relation)
        return row

    def _halves(self, corpus: Corpus, first: int, end: int, rng: np.random.Generator) -> tuple[slice, slice, int]:
        """Following sentences cut in two between any two of them, and the sentence with which the second half begins.

        Where not even two sentences have room, each is cut to its half of it, unless the other one needs less. Lengths
        of the halves are alike, so that their order cannot be told by them.
        """
        room, ends = self.packing.length - 3, corpus.sentences
        stop = self._fill(corpus, first, end, room)[1]
        if stop - first > 1:
            between = first + 1 + int(rng.integers(stop - first - 1))
            return slice(int(ends[first]), int(ends[between])), slice(int(ends[between]), int(ends[stop])), between
        starts, lengths = ends[first : first + 2], np.diff(ends[first : first + 3])
        kept = min(int(lengths[0]), max((room + int(rng.integers(2))) // 2, room - int(lengths[1])))
        kept = kept, min(int(lengths[1]), room - kept)
        return *(slice(int(start), int(start) + size) for start, size in zip(starts, kept, strict=True)), first + 1

    def _anywhere(self, corpus: Corpus, document: range, rng: np.random.Generator) -> np.ndarray:
        """Random sentences of other documents."""
        drawn = rng.integers(corpus.documents[0], corpus.documents[-1], CANDIDATES)
        return drawn[(drawn < document.start) | (drawn >= document.stop)]

    def _alike(
        self, corpus: Corpus, second: slice, starts: np.ndarray, first: slice, rng: np.random.Generator
    ) -> slice | None:
        """A segment as long as `second` that begins with one of the sentences `starts` and is not next to `first`.

        It is of one document, and cut within its first or its last sentence where `second` is; None where none is.
        """
        size, ends = second.stop - second.start, corpus.sentences
        begins = ends[starts]
        stops = np.searchsorted(ends, begins + size)
        last = corpus.documents[np.searchsorted(corpus.documents, starts, side="right")]
        reached = ends[np.minimum(stops, len(ends) - 1)]
        whole = reached == begins + size
        of_second = np.searchsorted(ends, [second.start, second.stop])
        if ends[of_second[1]] == second.stop:
            fits = (stops <= last) & whole
        elif of_second[1] - of_second[0] == 1:
            fits = ends[starts + 1] - begins > size
        else:
            fits = (stops <= last) & ~whole
        found = begins[fits & ((begins > first.start) | (reached < first.start))]
        if not len(found):
            return None
        begin = int(found[int(rng.integers(len(found)))])
        return slice(begin, begin + size)

    def _stream(self, corpus: Corpus, sentence: int) -> Row:
        """Whole sentences with a [SEP] after each, over the ends of documents, until the input is full; then cut."""
        parts, room = [], self.packing.length - 2
        while room > 0 and sentence < corpus.documents[-1]:
            part, sentence = self._fill(corpus, sentence, sentence + 1, room)
            parts.append(part)
            room -= part.stop - part.start + 1
        row = self._pack(corpus, parts)
        row.segments[:] = 0
        return row

    def _translations(self, corpus: Corpus, sentence: int, rng: np.random.Generator) -> Row:
        """Both sides of a line in either order, cut alike; the second one counts its positions from 1 again."""
        first = self._document(corpus, sentence)[0]
        sides = [self._fill(corpus, first + i, first + i + 1, self.packing.length)[0] for i in rng.permutation(2)]
        lengths = [side.stop - side.start for side in sides]
        room = self.packing.length - 3
        kept = min(lengths[0], max(room // 2, room - lengths[1]))
        cut = [slice(sides[0].start, sides[0].start + kept)]
        cut.append(slice(sides[1].start, sides[1].start + min(lengths[1], room - kept)))
        row = self._pack(corpus, cut)
        second = row.segments == 1
        row.positions[second] = np.arange(1, second.sum() + 1)
        return row

    def _labelled(self, corpus: Corpus, sentence: int) -> Row:
        row = self._pack(corpus, [self._fill(corpus, sentence, sentence + 1, self.packing.length - 2)[0]])
        row.segments[:] = corpus.label_of(sentence)
        return row

    def _document(self, corpus: Corpus, sentence: int) -> tuple[int, int]:
        """First sentence of the document that holds `sentence`, and the one after its last."""
        document = int(np.searchsorted(corpus.documents, sentence, side="right"))
        return int(corpus.documents[document - 1]), int(corpus.documents[document])

    def _fill(self, corpus: Corpus, sentence: int, end: int, room: int) -> tuple[slice, int]:
        """Whole sentences from `sentence` on while there is room (the first one is cut); and the next sentence."""
        start = int(corpus.sentences[sentence])
        whole = int(np.searchsorted(corpus.sentences[sentence + 1 : end + 1], start + room, side="right"))
        if whole == 0:
            return slice(start, start + room), sentence + 1
        return slice(start, int(corpus.sentences[sentence + whole])), sentence + whole

    def _pack(self, corpus: Corpus, parts: Sequence[slice]) -> Row:
        """[CLS] part [SEP] part [SEP] ...; segments are numbered by part."""
        lengths = [part.stop - part.start + 1 for part in parts]
        ends = np.cumsum(lengths)  # of the [SEP]s, one further for [CLS]
        ids = np.full(ends[-1] + 1, self.special.sep, dtype=np.int64)
        ids[0] = self.special.cls
        is_special = np.zeros(len(ids), dtype=bool)
        is_special[0] = is_special[ends] = True
        flags = None if corpus.flags is None else np.zeros(len(ids), dtype=np.uint8)
        for part, end in zip(parts, ends, strict=True):
            place = slice(end - (part.stop - part.start), end)
            ids[place] = corpus.tokens[part]
            if flags is not None:
                flags[place] = corpus.flags[part]
        segments = np.repeat(np.arange(len(parts)), [lengths[0] + 1, *lengths[1:]])
        return Row(ids, segments, np.arange(len(ids)), is_special, flags)


def collate(rows: Sequence[Row], special: SpecialIds) -> dict[str, torch.Tensor]:
    """Pads inputs to tensors `(batch, pieces)`."""
    lengths = torch.tensor([len(row) for row in rows])
    padded = {
        "input_ids": pad([row.ids for row in rows], special.pad),
        "token_type_ids": pad([row.segments for row in rows], 0),
        "position_ids": pad([row.positions for row in rows], 0),
    }
    return padded | {"attention_mask": (torch.arange(lengths.max()) < lengths[:, None]).long()}


def pad(arrays: Sequence[np.ndarray], value: int) -> torch.Tensor:
    """Arrays of different lengths as one tensor `(arrays, longest)`."""
    padded = np.full((len(arrays), max(map(len, arrays))), value, dtype=np.int64)
    for row, array in zip(padded, arrays, strict=True):
        row[: len(array)] = array
    return torch.from_numpy(padded)


def mask_tokens(
    input_ids: torch.Tensor, special: SpecialIds, rng: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Masks 15 % of the pieces: 80 % become [MASK], 10 % a random piece, 10 % stay (devlin2019bert).

    `(batch, pieces)` to the corrupted ids and the labels, of the same shape; IGNORED where nothing is predicted.
    """
    maskable = (input_ids != special.pad) & (input_ids != special.cls) & (input_ids != special.sep)
    chosen = (torch.rand(input_ids.shape, generator=rng) < MASK_SHARE) & maskable
    return corrupt(input_ids, chosen, special, rng), torch.where(chosen, input_ids, IGNORED)


def corrupt(input_ids: torch.Tensor, chosen: torch.Tensor, special: SpecialIds, rng: torch.Generator) -> torch.Tensor:
    """Of the chosen pieces 80 % become [MASK], 10 % a random piece, 10 % stay (devlin2019bert); all (batch, pieces)."""
    fate = torch.rand(input_ids.shape, generator=rng)
    random_ids = torch.randint(5, special.vocabulary_size, input_ids.shape, generator=rng)
    corrupted = torch.where(chosen & (fate < 0.8), special.mask, input_ids)
    return torch.where(chosen & (fate >= 0.9), random_ids, corrupted)
