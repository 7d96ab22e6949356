"""Memory that must not grow: the peak of a piece of work beside that of a larger one, each in a process of its own.

python -m bertology_utils.bench.memory WORK SENTENCES WORDS
"""

import mmap
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from bertology_utils.instruments.attention import head_statistics
from bertology_utils.instruments.cloze import pseudo_log_likelihood
from bertology_utils.models import Specimen, load, with_attention
from bertology_utils.project import DEFAULT_MODEL

from .instruments import sentences_of_many_lengths
from .measure import Case, Way, apart

MEBIBYTE = 2**20
PAUSE = 0.002  # seconds between two looks at the process
TIDY = {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "1"}  # glibc: count what is in use, not what it hoards
LONG_MODEL = "pocket-minilm"  # has positions for 400 words
WORKS: dict[str, tuple[str, Callable[[Specimen, list[list[str]]], object]]] = {
    "pseudo-log-likelihood": (LONG_MODEL, lambda s, texts: pseudo_log_likelihood(s, texts, "original")),
    "attention-statistics": (DEFAULT_MODEL, lambda s, texts: head_statistics(with_attention(s, "eager"), texts)),
}


def prepare_long_sentence(folder: Path, sentences: int, words: int) -> Case:
    """MiB above the loaded model's: pseudo-log-likelihoods of many sentences of 4 to 40 words, and of a long one."""
    work = "pseudo-log-likelihood"
    return Case(
        plain={f"{sentences:,} sentences of 4 to 40 words": peak_of(work, sentences, 40)},
        ours={f"a sentence of {words:,} words": peak_of(work, 1, words)},
    )


def prepare_attention(folder: Path, few: int, many: int) -> Case:
    """MiB above the loaded model's: attention statistics of every head over few sentences and over many."""
    work = "attention-statistics"
    ways = {number: {f"{number:,} sentences": peak_of(work, number, 40)} for number in (few, many)}
    return Case(plain=ways[few], ours=ways[many])


def peak_of(work: str, sentences: int, words: int) -> Way:
    """The way that counts the MiB that the work adds at its peak."""
    return lambda: (float(apart("memory", work, sentences, words, **TIDY)), None)


def added_at_peak(work: Callable[[], object]) -> float:
    """MiB of resident memory by which this process grows at most while the work is done; at least a page."""
    process, done = psutil.Process(), threading.Event()
    before = process.memory_info().rss
    peak = before

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, process.memory_info().rss)
            time.sleep(PAUSE)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return max(peak - before, mmap.PAGESIZE) / MEBIBYTE


def main(name: str, sentences: str, words: str) -> None:
    """Prints the MiB that the named work adds; a first sentence, which loads libraries, is not counted."""
    model, work = WORKS[name]
    specimen, longest = load(model), int(words)
    shortest = 4 if int(sentences) > 1 else longest
    texts = sentences_of_many_lengths(int(sentences), shortest, longest)
    work(specimen, [["a", "short", "sentence", "."]])
    print(added_at_peak(lambda: work(specimen, texts)))


if __name__ == "__main__":
    main(*sys.argv[1:])
