"""Benchmarks: the arithmetic of ratios, the plain ways against ours, and every benchmark once at its smallest size."""

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bertology_utils import cli
from bertology_utils.bench import instruments, memory, original_probe
from bertology_utils.bench.measure import Benchmark, Case, measure, speeds, timed, write
from bertology_utils.bench.registry import BENCHMARKS
from bertology_utils.compression.accounting import build, count_macs
from bertology_utils.instruments.cloze import pseudo_log_likelihood
from bertology_utils.instruments.geometry import self_similarity
from bertology_utils.instruments.structural import squared_distances


def fixed(cost, value):
    return lambda: (cost, value)


def made(difference, bar, ours=2.0):
    def prepare(folder: Path) -> Case:
        assert folder.is_dir()
        return Case(
            plain={"slow": fixed(8.0, 1.0), "less slow": fixed(6.0, 1.0)},
            parts={"a part": fixed(3.0, 9.0)},
            ours={"ours": fixed(ours, 1.0 + difference)},
            difference=lambda plain, own: abs(plain - own),
            tolerance=np.float64(0.1),  # as instruments return it; the record must still be plain
        )

    return Benchmark("made", "a made one", "run", prepare, {}, {}, bar=bar)


@pytest.mark.parametrize(
    ("difference", "bar", "verdict"),
    [(0.05, 2.5, "reached"), (0.05, 3.5, "missed"), (0.5, 2.5, "differs"), (0.05, None, ""), (0.5, None, "differs")],
)
def test_the_fastest_plain_way_is_the_measure_and_unequal_results_never_pass(difference, bar, verdict):
    outcome = measure(made(difference, bar), "full")
    assert outcome.ratio == 3.0 and outcome.judged == "ours" and outcome.verdict == verdict
    assert {speed.way: speed.ratio for speed in outcome.speeds} == pytest.approx(
        {"slow": 0.75, "less slow": 1.0, "a part": 2.0, "ours": 3.0}
    )


def test_a_rival_is_the_measure_even_where_another_plain_way_is_faster():
    benchmark = made(0.05, 3.5)
    named = replace(benchmark, prepare=lambda folder: replace(benchmark.prepare(folder), rival="slow"))
    outcome = measure(named, "full")
    assert outcome.ratio == 4.0 and outcome.verdict == "reached"


def test_medians_make_the_ratio_and_rounds_its_range():
    found = speeds({"plain": [4.0, 6.0, 5.0], "ours": [2.0, 1.0, 2.0]}, ["plain"])[1]
    assert (found.cost, found.ratio, found.low, found.high) == (2.0, 2.5, 2.0, 6.0)


def test_time_is_that_of_the_work():
    seconds, value = timed(lambda: sum(range(10)))()
    assert value == 45 and 0 < seconds < 1


def test_memory_is_that_of_the_peak_and_not_what_is_left():
    def work():
        held = np.ones(64 * memory.MEBIBYTE // 8)
        time.sleep(0.5)  # a busy machine looks at the process less often than it should
        assert held.all()

    assert 40 < memory.added_at_peak(work) < 100  # what was freed before may be used again
    assert memory.added_at_peak(lambda: None) < 10


def test_results_are_kept_by_name(tmp_path):
    path, origin = tmp_path / "results" / "bench.json", {"commit": "abc", "date": "today"}
    write(path, [measure(made(0.0, 2.0))], origin)
    path.write_text(json.dumps([*json.loads(path.read_text()), {"name": "another"}]))
    write(path, [measure(made(0.0, 2.0, ours=1.0))], origin)
    stored = json.loads(path.read_text())
    assert [entry["name"] for entry in stored] == ["another", "made"]
    assert stored[1]["ratio"] == 6.0 and stored[1]["verdict"] == "reached" and stored[1]["commit"] == "abc"
    assert stored[1]["speeds"][0] == {"way": "slow", "cost": 8.0, "ratio": 0.75, "low": 0.75, "high": 0.75}


def test_the_plain_likelihood_is_ours(tiny):
    sentences = instruments.sentences_of_many_lengths(4, 4, 12)
    ours = pseudo_log_likelihood(tiny, sentences, "original")
    assert np.allclose(instruments.plain_likelihood(tiny, sentences), ours, atol=1e-3)
    assert all(4 <= len(sentence) <= 12 for sentence in sentences)


def test_what_exact_scores_must_multiply_is_counted_as_by_torch(tiny):
    counted = count_macs(build(tiny.model.config), 9) - tiny.width**2  # without the pooler
    assert counted == 9 * tiny.layers * instruments.products_of_a_piece(tiny, 9)
    sentences = instruments.sentences_of_many_lengths(20, 4, 12)
    limit = instruments.likelihood_limit(tiny, sentences)
    alike = instruments.likelihood_limit(tiny, [sentences[0]] * 8)
    assert limit > alike > 1  # padding is what a peer need not have multiplied


def test_sampled_pairs_estimate_the_closed_form():
    group = np.random.default_rng(0).normal(size=(2, 6, 4)) + 1
    exact = [np.mean([a @ b / np.linalg.norm(a) / np.linalg.norm(b) for i, a in enumerate(layer)
                      for j, b in enumerate(layer) if i != j]) for layer in group]  # fmt: skip
    assert np.allclose(self_similarity(group), exact)
    assert np.allclose(instruments.sampled_similarity([group], 2000)[0], exact, atol=0.05)


def test_the_original_probes_distances_are_ours_and_its_training_lowers_the_loss():
    generator = torch.Generator().manual_seed(0)
    words, projection = torch.randn(2, 5, 8, generator=generator), torch.randn(8, 3, generator=generator)
    pairwise = original_probe.predicted_distances(words, projection)
    assert torch.allclose(pairwise, squared_distances(words @ projection), atol=1e-4)
    gold = [np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(np.float32) for n in (5, 3)]
    batches = original_probe.batches([words[0], words[1, :3]], gold)
    assert batches[0][1][1, 3:].eq(-1).all() and batches[0][2].tolist() == [5, 3]
    losses = [
        original_probe.loss(original_probe.predicted_distances(batches[0][0], trained), *batches[0][1:]).item()
        for trained in (original_probe.train(batches, batches, epochs, 3) for epochs in (1, 100))
    ]
    assert losses[1] < losses[0]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_runs_and_the_exact_ones_agree(name):
    outcome = measure(BENCHMARKS[name], "smoke")
    assert len(outcome.speeds) >= 2 and all(speed.cost > 0 for speed in outcome.speeds)
    if name in ("pseudo-log-likelihood", "self-similarity"):
        assert outcome.equal


def test_the_command_prints_and_records(tmp_path, capsys):
    out = tmp_path / "bench.json"
    assert cli.main(["bench", "roofline", "--smoke", "--out", str(out)]) == 0
    assert "forward pass" in capsys.readouterr().out and json.loads(out.read_text())[0]["size"] == "smoke"
    assert cli.main(["bench", "rofline"]) == 1
    assert "Did you mean roofline?" in capsys.readouterr().err
