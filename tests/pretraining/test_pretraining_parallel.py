"""Pre-training: two processes that `accelerate launch` starts train one model."""

import hashlib
import json
import os
import subprocess
import sys

import pytest
from pretraining_toys import STORIES, config, config_file, write_corpus

from bertology_utils.pretraining.batches import Batches, run_tokenizer

SCRIPT = """
import hashlib, json, os, sys
from pathlib import Path
from bertology_utils.pretraining.config import read_config
from bertology_utils.pretraining.engine import Pretraining

path = Path(sys.argv[1])
run = Pretraining(read_config(path))
losses = []
step = run.train_step
def told(batch=None):
    found = step(batch)
    losses.append(found["masked-tokens"].item())
    return found
run.train_step = told
run.run()
weights = b"".join(t.detach().numpy().tobytes() for t in run.network.parameters())
facts = {"losses": losses, "weights": hashlib.sha256(weights).hexdigest(), "count": run.processes.count}
(path.parent / f"rank-{run.processes.rank}.json").write_text(json.dumps(facts))
"""


def test_the_processes_share_a_batch(tmp_path):
    write_corpus(tmp_path / "toy.txt", STORIES * 2)
    chosen = config(tmp_path, batch=4)
    tokenizer = run_tokenizer(chosen)
    whole, *parts = (Batches(chosen, tokenizer, rank, count)[0] for rank, count in ((0, 1), (0, 2), (1, 2)))
    assert [len(part["input_ids"]) for part in parts] == [len(whole["input_ids"]) // 2] * 2
    assert parts[0]["input_ids"].tolist() != parts[1]["input_ids"].tolist()


def test_two_processes_train_one_model(tmp_path):
    pytest.importorskip("accelerate")
    write_corpus(tmp_path / "toy.txt", STORIES * 2)
    phases = [
        {"steps": 12, "length": 32, "objectives": {"masked-tokens": 1.0}},
        {"steps": 12, "length": 32, "objectives": {"masked-tokens": 1.0, "next-sentence": 1.0}},
    ]
    changes = {"learning_rate": 1e-2, "cooldown": 0, "keep_steps": [0, 8], "cls_normalisation": True, "batch": 4}
    path = config_file(tmp_path, phases=phases, **changes)
    (tmp_path / "script.py").write_text(SCRIPT)
    launch = [
        *(sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"),
        *("--num_machines", "1", "--num_cpu_threads_per_process", "1", "--main_process_port", "0"),
        *("--mixed_precision", "no", "--dynamo_backend", "no"),
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [*launch, str(tmp_path / "script.py"), str(path)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    ranks = [json.loads((tmp_path / f"rank-{rank}.json").read_text()) for rank in (0, 1)]
    assert [rank["count"] for rank in ranks] == [2, 2]
    assert ranks[0]["weights"] == ranks[1]["weights"]
    assert ranks[0]["losses"] != ranks[1]["losses"], "each reads its own part of the batch"
    for losses in (rank["losses"] for rank in ranks):
        assert sum(losses[-6:]) / 6 < sum(losses[:6]) / 6 - 0.3
    folder = tmp_path / "work" / "toy"
    assert {path.name for path in folder.iterdir()} == {
        "checkpoint.pt",
        "evaluations.jsonl",
        "final",
        "step-0",
        "step-8",
    }
    records = [json.loads(line)["step"] for line in (folder / "evaluations.jsonl").open()]
    assert len(records) == len(set(records)), "only one process writes"
    sums = json.loads((folder / "final" / "checksums.json").read_text())
    assert (
        sums["model.safetensors"] == hashlib.sha256((folder / "final" / "model.safetensors").read_bytes()).hexdigest()
    )
