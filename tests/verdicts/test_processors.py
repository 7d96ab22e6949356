"""Two instruction sets: they are really used, and what differs is kept and shown."""

import os
import platform
import subprocess
import sys

import pytest
from notebook_project import add_notebook, already_checked, make_project

from bertology_utils import cli
from bertology_utils.pages.run_record import processor_table
from bertology_utils.verdicts import processors

# the verdict and the effect that this chapter "measures" depend on the variable
RECORD = """import json, os, pathlib
old = os.environ["ATEN_CPU_CAPABILITY"] == "default"
result = {"id": "sva-in-cloze", "model": MODEL, "verdict": "weaker" if old else "replicates",
          "clauses": [{"effect": 0.25 if old else 0.5}]}
same = {"id": "agreement-attraction", "model": MODEL, "verdict": "replicates", "clauses": []}
pathlib.Path(RECORD).write_text(json.dumps({"results": [result, same]}))"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the instruction sets of x86-64")
def test_processes_use_the_instruction_set():
    code = "import torch; print(torch.backends.cpu.get_cpu_capability())"
    before, found = dict(os.environ), []
    for name in processors.INSTRUCTIONS:
        with processors.instructions(name):
            found.append(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
    assert found == ["DEFAULT", "AVX2"] and dict(os.environ) == before


def test_verdicts_that_differ_are_kept_and_shown(tmp_path, capsys):
    root = already_checked(make_project(tmp_path))
    add_notebook(root, "syntax", RECORD)
    assert cli.main(["processors", "--root", str(root)]) == 0
    assert "1 of 2 verdicts differ" in capsys.readouterr().out
    kept = processors.read(root / processors.PATH)
    assert [(row.claim, row.sse, row.avx2, row.moved) for row in kept] == [
        ("agreement-attraction", "replicates", "replicates", 0.0),
        ("sva-in-cloze", "weaker", "replicates", 0.25),
    ]
    processors.write(root / processors.PATH, kept[:1])
    assert processors.read(root / processors.PATH) == kept
    html = processor_table(kept)
    assert "sva-in-cloze" in html and "1 (50.0%)" in html and html.count("agreement-attraction") == 0
    assert processor_table([]) == ""
