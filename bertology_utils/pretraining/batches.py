"""The batches of a run, each a function of seed and step alone. Depends on `corpus`, `examples` and `tasks`.

So a resumed run sees what an unbroken one does, and batches can be prepared ahead by other processes. The inputs of
eight steps are drawn together and sorted by length, so that little is lost to padding.
"""

import hashlib
import json
import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from torch.utils.data import DataLoader

from bertology_utils.errors import BertologyError
from bertology_utils.files import write_text
from bertology_utils.pretraining.objectives import PAIR_TASKS

from .config import Masking, Phase, PretrainingConfig
from .corpus import Corpus, Phrases, tokenize
from .examples import Packing, Row, Sampler, SpecialIds, collate
from .passes import Batch
from .sources import CorpusSource, file_identity, is_same_file
from .tasks import MaskedTokens, Objective, Vocabulary, make_objectives
from .wordpieces import smoothed_weights, train_tokenizer

EVALUATION_SEED, EVALUATION_ROWS = 12345, 32
POOL, LEAST_ROWS = 8, 16  # steps drawn together, where a batch has inputs enough to be sorted


def run_tokenizer(config: PretrainingConfig) -> Tokenizer:
    """The tokenizer of `start` or `tokenizer`, else the one of this size in `work`, trained there when first needed."""
    given = Path(config.start) / "tokenizer.json" if config.start else config.tokenizer
    work = Path(os.path.expanduser(config.work))
    path = Path(given).expanduser() if given else work / f"tokenizer-{config.vocabulary_size}.json"
    if given and not path.is_file():
        raise BertologyError(f"There is no tokenizer {path}.")
    if not given:
        _train_once(config, path)
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _train_once(config: PretrainingConfig, path: Path) -> None:
    """Trains the tokenizer; one that was trained on other corpora or otherwise is not taken for it."""
    told, texts = path.with_suffix(".txt"), path.with_suffix(".sources.json")
    sources = list(config.corpora.values())
    titles = ", ".join(sorted(source.title for source in sources))
    description = f"{titles}; alphabet {config.alphabet}; smoothing {config.smoothing}{'; cased' * config.cased}\n"
    if not path.exists():
        tokenizer = train_tokenizer(sources, config.vocabulary_size, config.alphabet, config.smoothing, config.cased)
        write_text(told, description)
        write_text(texts, json.dumps({s.title: file_identity(s.file) for s in sources if s.file}))
        write_text(path, tokenizer.to_str())
    elif (told.exists() and told.read_text(encoding="utf-8") != description) or not _trained_on(texts, sources):
        raise BertologyError(
            f"{path} was trained on other corpora or settings.\nChoose another 'work', or name it as 'tokenizer'."
        )


def _trained_on(texts: Path, sources: Sequence[CorpusSource]) -> bool:
    """Whether the files of the record `texts` hold the same texts still; earlier tokenizers have no record."""
    known = json.loads(texts.read_text(encoding="utf-8")) if texts.exists() else None
    return known is None or all(is_same_file(s.file, known.get(s.title)) for s in sources if s.file)


def tokenizer_digest(tokenizer: Tokenizer) -> str:
    return hashlib.sha256(tokenizer.to_str().encode()).hexdigest()[:8]


class Batches:
    """Training and held-out batches. `batches[step]` is the batch of a step.

    Args:
        rank, count: this process of several; each makes its own part of every batch.
    """

    def __init__(self, config: PretrainingConfig, tokenizer: Tokenizer, rank: int = 0, count: int = 1):
        self.config, self.rank, self.count = config, rank, count
        store = Path(os.path.expanduser(config.work)) / f"tokens-{tokenizer_digest(tokenizer)}"
        phrases = self._phrases(tokenizer)
        self.train: dict[str, Corpus] = {}
        self.held_out: dict[str, Corpus] = {}
        for name, source in config.corpora.items():
            self.train[name], self.held_out[name] = tokenize(source, tokenizer, store, phrases).split()
        self.vocabulary = self._vocabulary(tokenizer)
        self.special = self.vocabulary.special
        self.objectives = make_objectives(config.all_objectives, config.masking, self.vocabulary)
        self.samplers = [self._sampler(phase) for phase in config.phases]
        self._pools = self._make_pools()
        self._last: tuple[range, list[Batch]] = range(0), []
        own_symbol = Masking(symbol=config.masking.symbol)
        self.yardstick = {"masked-tokens": MaskedTokens("masked-tokens", own_symbol, self.vocabulary)}

    def _phrases(self, tokenizer: Tokenizer) -> Phrases | None:
        masking = self.config.masking
        if masking.unit != "phrase" and "capitals" not in self.config.all_objectives:
            return None
        return Phrases(tokenizer, Path(masking.phrases) if masking.phrases else None)

    def _vocabulary(self, tokenizer: Tokenizer) -> Vocabulary:
        ids = {t: tokenizer.token_to_id(f"[{t.upper()}]") for t in ("pad", "cls", "sep", "mask", "unk")}
        if None in ids.values():
            raise BertologyError("The tokenizer lacks one of [PAD], [UNK], [CLS], [SEP] and [MASK].")
        size = tokenizer.get_vocab_size()
        continues = np.zeros(size, dtype=bool)
        for piece, place in tokenizer.get_vocab().items():
            continues[place] = piece.startswith("##")
        counts = None
        if self.config.masking.subsample:
            counts = sum(np.bincount(corpus.text, minlength=size) for corpus in self.train.values()).clip(1)
        return Vocabulary(SpecialIds(**ids, vocabulary_size=size), continues, counts)

    @property
    def segments(self) -> int:
        """Segment embeddings that the inputs need: two, or as many as a labelled corpus has classes."""
        return max(2, *(len(corpus.label_names) for corpus in self.train.values()))

    @property
    def label_names(self) -> dict[int, str]:
        """What the segments of a labelled corpus stand for."""
        return {i: name for corpus in self.train.values() for i, name in enumerate(corpus.label_names)}

    def weights(self, phase: Phase) -> list[float]:
        """The sampling weight of each corpus: as stated, or by its size to the power of `smoothing`."""
        if isinstance(phase.mixture, dict):
            return [phase.mixture.get(name, 0.0) for name in self.train]
        chosen = phase.mixture or list(self.train)
        smoothing = 1.0 if self.config.smoothing is None else self.config.smoothing
        weights = smoothed_weights([len(self.train[name].text) for name in chosen], smoothing)
        return [dict(zip(chosen, weights, strict=True)).get(name, 0.0) for name in self.train]

    def amounts_read(self, tokenizer: Tokenizer, pieces: int) -> dict[str, dict[str, float]]:
        """Of each corpus that a phase reads: the `words` read, and how many `times` over; `pieces` are read in all.

        Words are pieces that begin with a letter or digit and continue none, so that *don't* has two.
        """
        begins = np.zeros(self.special.vocabulary_size, dtype=bool)
        for piece, place in tokenizer.get_vocab().items():
            begins[place] = piece[:1].isalnum()
        drawn = np.array([phase.steps * normalised(self.weights(phase)) for phase in self.config.phases]).sum(0)
        shares = zip(self.train.items(), normalised(drawn), strict=True)
        return {
            name: {
                "words": share * pieces * float(begins[corpus.text].mean()),
                "times": share * pieces / len(corpus.text),
            }
            for (name, corpus), share in shares
            if share > 0
        }

    def _packing(self, phase: Phase) -> Packing:
        pairs = tuple(name for name in self.config.objectives_of(phase) if name in PAIR_TASKS)
        config = self.config
        return Packing(phase.length, pairs, config.single_share, config.stream, config.masking.copies, config.seed)

    def _sampler(self, phase: Phase) -> Sampler:
        weights = self.weights(phase)
        read = [corpus for corpus, weight in zip(self.train.values(), weights, strict=True) if weight]
        pieces, wanted = sum(len(corpus.text) for corpus in read), self.config.rows_of(phase) * phase.length
        if pieces < wanted:
            raise BertologyError(
                f"The corpora of a phase hold {pieces:,} pieces, fewer than one batch of {wanted:,}.\n"
                "Give more text or a smaller 'batch'."
            )
        packing = self._packing(phase)
        if packing.pair_tasks and all(np.diff(corpus.documents).max() < 2 for corpus in read):
            raise BertologyError(f"{packing.pair_tasks[0]} needs documents of two sentences; these corpora have none.")
        return Sampler(list(zip(self.train.values(), weights, strict=True)), packing, self.special)

    def __getitem__(self, step: int) -> Batch:
        pool = self._pools[bisect_right(self._pools, step, key=lambda pool: pool.start) - 1]
        if self._last[0] != pool:
            self._last = pool, self._pool(pool)
        return self._last[1][step - pool.start]

    def from_step(self, step: int) -> Iterator[Batch]:
        """The batches of `step` and all later ones, prepared ahead where the configuration has workers."""
        pools = [pool for pool in self._pools if pool.stop > step]
        loader = DataLoader(pools, batch_size=None, num_workers=self.config.workers, collate_fn=self._pool)
        for pool, batches in zip(pools, loader, strict=True):
            yield from batches[max(0, step - pool.start) :]

    def _make_pools(self) -> list[range]:
        """The steps whose inputs are drawn together."""
        pools, start = [], 0
        for phase in self.config.phases:
            size = POOL if self._rows(phase) >= LEAST_ROWS else 1
            stop = start + phase.steps
            pools += [range(first, min(first + size, stop)) for first in range(start, stop, size)]
            start = stop
        return pools

    def _rows(self, phase: Phase) -> int:
        """Inputs that this process has in a batch."""
        return max(1, self.config.rows_of(phase) // self.count)

    def _pool(self, steps: range) -> list[Batch]:
        """The batches of a pool of steps: their inputs by length, cut where each batch has its share of the pieces."""
        phase = self.config.phase_at(steps.start)
        rng = np.random.default_rng((self.config.seed, steps.start, *([self.rank] if self.count > 1 else [])))
        sampler, objectives = self.samplers[self.config.phases.index(phase)], self._objectives_of(phase)
        rows = self._draw(sampler, objectives, self._rows(phase) * len(steps), rng)
        if len(steps) == 1:
            return [self._collate(rows, objectives)]
        rows.sort(key=len)
        parts = [rows[first:stop] for first, stop in pairwise(equal_parts([len(row) for row in rows], len(steps)))]
        return [self._collate(parts[i], objectives) for i in rng.permutation(len(parts))]

    def _objectives_of(self, phase: Phase) -> dict[str, Objective]:
        chosen = self.config.objectives_of(phase)
        return {name: objective for name, objective in self.objectives.items() if name in chosen}

    def _draw(
        self, sampler: Sampler, objectives: Mapping[str, Objective], number: int, rng: np.random.Generator
    ) -> list[Row]:
        rows = []
        for _ in range(number):
            row, own = sampler.draw(rng)
            for objective in objectives.values():
                objective.mark(row, own)
            rows.append(row)
        return rows

    def _collate(self, rows: Sequence[Row], objectives: Mapping[str, Objective]) -> Batch:
        batch = collate(rows, self.special)
        for objective in objectives.values():
            batch |= objective.collate(rows, batch["input_ids"].shape[1])
        return batch

    def held_out_batches(self, number: int, corpus: str | None = None) -> Iterator[Batch]:
        """Fixed held-out batches that measure every run alike: single segments, single pieces masked.

        In the configuration's mixture for that, else in that of the last phase; or of one corpus alone.
        """
        phase = self.config.phases[-1]
        measured = phase.model_copy(update={"mixture": self.config.evaluation_mixture or phase.mixture})
        weights = self.weights(measured) if corpus is None else [float(name == corpus) for name in self.held_out]
        yield from self._held_out(number, weights, Packing(phase.length), self.yardstick)

    def own_batches(self, number: int) -> Iterator[Batch]:
        """Fixed held-out batches of the objectives of the last phase, packed and masked as in training."""
        phase = self.config.phases[-1]
        packing = self._packing(phase)._replace(copies=None)
        yield from self._held_out(number, self.weights(phase), packing, self._objectives_of(phase))

    def _held_out(
        self, number: int, weights: Sequence[float], packing: Packing, objectives: Mapping[str, Objective]
    ) -> Iterator[Batch]:
        rng = np.random.default_rng(EVALUATION_SEED)
        sampler = Sampler(list(zip(self.held_out.values(), weights, strict=True)), packing, self.special)
        for _ in range(number):
            yield self._collate(self._draw(sampler, objectives, EVALUATION_ROWS, rng), objectives)


def equal_parts(lengths: Sequence[int], parts: int) -> np.ndarray:
    """Where to cut a sequence so that its parts have about the same sum, and at least one element: `(parts + 1,)`."""
    ends = np.cumsum(lengths)
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, parts) / parts)
    steps = np.arange(parts - 1)
    cuts = np.maximum.accumulate(np.maximum(cuts, 1) - steps) + steps
    return np.array([0, *np.minimum(cuts, len(lengths) - parts + 1 + steps), len(lengths)])


def normalised(weights: Sequence[float]) -> np.ndarray:
    """Weights that sum to 1."""
    return np.asarray(weights, dtype=float) / np.sum(weights)
