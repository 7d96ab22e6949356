"""Every option of every command, called with what it cannot mean: one or two lines, a code, and no traceback."""

import pytest
import typer
from notebook_project import add_notebook, make_project

from bertology_utils import cli
from bertology_utils.cli.common import app

COMMAND = typer.main.get_command(app)
NUMBERS = ("x", "", "1.5", "nan", "-1", "9" * 30, "²", "0x10")
NAMES = ("", " ", "nosuch", "../..", "a\x00b", "é" * 300, "-", "random:random:x", "pocket-bert@",
         "pocket-bert@-1", "<b>")  # fmt: skip
FILES = ("absent.yaml", "folder", "binary.yaml", "empty.yaml", "broken.yaml", "binary.csv", "\x00.csv", "a" * 300)
REQUIRED = {"score": ["nosuch"], "pretrain": ["broken.yaml"], "average": ["mean", "broken.yaml"],
            "compare": ["broken.yaml"], "run": ["nosuch"], "rerun": ["nosuch"], "bench": ["nosuch"],
            "data": ["nosuch"], "teach": ["nosuch"]}  # fmt: skip


def bad_calls():
    """(command, arguments, codes) for each parameter that takes a value; a number that is none is a wrong call."""
    for name, command in COMMAND.commands.items():
        for parameter in command.params:
            kind = str(parameter.type_descriptor.annotation)
            if parameter.name in ("help", "root") or "bool" in kind:
                continue
            number = "int" in kind
            for value in NUMBERS if number else FILES if "Path" in kind else NAMES:
                if parameter.opts[0].startswith("-"):
                    yield name, [f"{parameter.opts[0]}={value}", *REQUIRED.get(name, [])], (2,) if number else (1, 2)
                else:
                    yield name, ["--", value], (1, 2)


CALLS = list(bad_calls())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A book with one chapter, and files of which none is what it should be."""
    root = make_project(tmp_path_factory.mktemp("calls"))
    add_notebook(root, "syntax", "1 + 1")
    (root / "folder").mkdir()
    for name in ("binary.yaml", "binary.csv"):
        (root / name).write_bytes(bytes(range(256)))
    (root / "empty.yaml").write_text("")
    (root / "broken.yaml").write_text("a: [b\n")
    return root


def test_there_are_enough_calls():
    assert len(CALLS) >= 200


@pytest.mark.parametrize(("name", "arguments", "codes"), CALLS, ids=lambda value: ascii(value)[:60])
def test_a_bad_call_is_told(folder, capsys, monkeypatch, name, arguments, codes):
    monkeypatch.chdir(folder)
    code = cli.main([name, *arguments])
    told = capsys.readouterr().err
    assert code in codes and "Traceback" not in told
    assert told.strip() and told.count("\n") <= 3 and len(told) < 1500, told
