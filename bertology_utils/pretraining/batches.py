"""The batches of a run, each a function of seed and step alone. Depends on `corpus`, `examples` and `tasks`.

So a resumed run sees what an unbroken one does, and batches can be prepared ahead by other processes.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from torch.utils.data import DataLoader, Dataset

from ..errors import BertologyError
from ..objectives import PAIR_TASKS
from .config import Masking, Phase, PretrainingConfig
from .corpus import Corpus, Phrases, smoothed_weights, tokenize, train_tokenizer
from .examples import Packing, Sampler, SpecialIds, collate
from .files import replacing
from .tasks import Batch, MaskedTokens, Objective, Vocabulary, make_objectives

EVALUATION_SEED, EVALUATION_ROWS = 12345, 32


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
    told = path.with_suffix(".txt")
    titles = ", ".join(sorted(source.title for source in config.corpora.values()))
    description = f"{titles}; alphabet {config.alphabet}; smoothing {config.smoothing}\n"
    if not path.exists():
        sources = list(config.corpora.values())
        tokenizer = train_tokenizer(sources, config.vocabulary_size, config.alphabet, config.smoothing)
        with replacing(told) as part:
            part.write_text(description, encoding="utf-8")
        with replacing(path) as part:
            part.write_text(tokenizer.to_str(), encoding="utf-8")
    elif told.exists() and told.read_text(encoding="utf-8") != description:
        raise BertologyError(
            f"{path} was trained on other corpora or settings.\nChoose another 'work', or name it as 'tokenizer'."
        )


def tokenizer_digest(tokenizer: Tokenizer) -> str:
    return hashlib.sha256(tokenizer.to_str().encode()).hexdigest()[:8]


class Batches(Dataset):
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
        return Sampler(list(zip(self.train.values(), weights, strict=True)), self._packing(phase), self.special)

    def __len__(self) -> int:
        return self.config.steps

    def __getitem__(self, step: int) -> Batch:
        phase = self.config.phase_at(step)
        place = (self.config.seed, step) if self.count == 1 else (self.config.seed, step, self.rank)
        rows = max(1, self.config.rows_of(phase) // self.count)
        objectives = {
            name: self.objectives[name] for name in self.objectives if name in self.config.objectives_of(phase)
        }
        sampler = self.samplers[self.config.phases.index(phase)]
        return self._batch(sampler, objectives, rows, np.random.default_rng(place))

    def _batch(
        self, sampler: Sampler, objectives: Mapping[str, Objective], rows: int, rng: np.random.Generator
    ) -> Batch:
        drawn = []
        for _ in range(rows):
            row, own = sampler.draw(rng)
            for objective in objectives.values():
                objective.mark(row, own)
            drawn.append(row)
        batch = collate(drawn, self.special)
        for objective in objectives.values():
            batch |= objective.collate(drawn, batch["input_ids"].shape[1])
        return batch

    def from_step(self, step: int) -> Iterator[Batch]:
        """The batches of `step` and all later ones, prepared ahead where the configuration has workers."""
        return iter(DataLoader(self, batch_size=None, sampler=range(step, len(self)), num_workers=self.config.workers))

    def held_out_batches(self, number: int, corpus: str | None = None) -> Iterator[Batch]:
        """Fixed held-out batches that measure every run alike: single segments, single pieces masked.

        In the mixture of the last phase, or of one corpus alone.
        """
        phase = self.config.phases[-1]
        weights = self.weights(phase) if corpus is None else [float(name == corpus) for name in self.held_out]
        yield from self._held_out(number, weights, Packing(phase.length), self.yardstick)

    def own_batches(self, number: int) -> Iterator[Batch]:
        """Fixed held-out batches of the objectives of the last phase, packed and masked as in training."""
        phase = self.config.phases[-1]
        objectives = {
            name: self.objectives[name] for name in self.objectives if name in self.config.objectives_of(phase)
        }
        packing = self._packing(phase)._replace(copies=None)
        yield from self._held_out(number, self.weights(phase), packing, objectives)

    def _held_out(
        self, number: int, weights: Sequence[float], packing: Packing, objectives: Mapping[str, Objective]
    ) -> Iterator[Batch]:
        rng = np.random.default_rng(EVALUATION_SEED)
        sampler = Sampler(list(zip(self.held_out.values(), weights, strict=True)), packing, self.special)
        for _ in range(number):
            yield self._batch(sampler, objectives, EVALUATION_ROWS, rng)
