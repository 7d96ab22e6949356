"""How much a processor does in a second, where nothing is compared: scoring by models of five sizes, and pre-training.

Depends on `training` for pre-training steps. What a processor without AVX-512 would do is measured with the libraries
held to AVX2, in a process of its own:

    python -m bertology_utils.bench.throughput SIZE
"""

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from transformers import BertConfig, BertForMaskedLM

from bertology_utils.instruments.cloze import pseudo_log_likelihood
from bertology_utils.models import Specimen, load
from bertology_utils.project import DEFAULT_MODEL

from .instruments import sentences_of_many_lengths
from .measure import Case, Way, apart, timed
from .training import muon_step

WITHOUT_AVX512 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


def prepare_sizes(folder: Path, sizes: Mapping[str, list[int]], sentences: int, words: int, threads: list[int]) -> Case:
    """Seconds for a sentence's pseudo-log-likelihood by untrained BERTs (layers, width), on so many threads each."""
    texts = sentences_of_many_lengths(sentences, words, words)
    specimens = {f"{name}, {layers} x {width}": bert(layers, width) for name, (layers, width) in sizes.items()}
    ways = {
        f"{name}, {count} thread{'s' * (count > 1)}": scoring(specimen, texts, count)
        for name, specimen in specimens.items()
        for count in threads
    }
    first, *others = ways
    return Case(plain={first: ways[first]}, ours={name: ways[name] for name in others})


def bert(layers: int, width: int) -> Specimen:
    """A BERT of the proportions and vocabulary of devlin2019bert and turc2019wellread with random weights."""
    sizes = {"num_hidden_layers": layers, "hidden_size": width, "intermediate_size": 4 * width}
    torch.manual_seed(0)
    model = BertForMaskedLM(BertConfig(num_attention_heads=width // 64, **sizes)).eval()
    return replace(load(DEFAULT_MODEL), model=model, name=f"bert-{layers}x{width}")


def scoring(specimen: Specimen, texts: list[list[str]], threads: int) -> Way:
    """The way that counts the seconds of a sentence."""

    def way() -> tuple[float, None]:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            pseudo_log_likelihood(specimen, texts[:1], "original")
            elapsed, _ = timed(lambda: pseudo_log_likelihood(specimen, texts, "original"))()
        finally:
            torch.set_num_threads(before)
        return elapsed / len(texts), None

    return way


def prepare_pieces(folder: Path, **size: int) -> Case:
    """Seconds of a pre-training step in float32 with Muon, with all that the processor has and without AVX-512."""

    def step(variables: Mapping[str, str]) -> Way:
        return lambda: (float(apart("throughput", json.dumps(size), **variables)), None)

    return Case(plain={"held to AVX2": step(WITHOUT_AVX512)}, ours={"all instructions": step({})})


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(muon_step(Path(place), **json.loads(sys.argv[1])))
