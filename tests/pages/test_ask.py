"""What a browser reads of the models is what Python has, and the page's first answers are Python's."""

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from ask_questions import sentences, write_expected
from safetensors.numpy import load_file

from bertology_utils.activations import word_vectors
from bertology_utils.instruments.cloze import fill_in, pseudo_log_likelihood
from bertology_utils.models import load, twin
from bertology_utils.pages import ask, ask_answers, ask_learnt, extension
from bertology_utils.pages.ask_neighbours import neighbours, references

ROOT = Path(__file__).parents[2]
CLOSE = 1e-4


def read_weights(entry: dict, folder: Path) -> dict[str, np.ndarray]:
    """The tensors of an exported file, cut out as the manifest says."""
    numbers = np.fromfile(folder / entry["file"], dtype="<f2")
    cut = entry["tensors"].items()
    return {name: numbers[t["offset"] : t["offset"] + int(np.prod(t["shape"]))].reshape(t["shape"]) for name, t in cut}


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    ask.export(["ladder-1m", "ladder-1m@400", "random:ladder-1m"], folder)
    return folder


@pytest.fixture(scope="module")
def manifest(exported) -> dict:
    return json.loads((exported / ask.MANIFEST).read_text(encoding="utf-8"))


def test_files_have_the_size_and_checksum_that_the_manifest_says(exported, manifest):
    for entry in manifest["models"].values():
        content = (exported / entry["file"]).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (entry["bytes"], entry["sha256"])
        used = sorted((t["offset"], int(np.prod(t["shape"]))) for t in entry["tensors"].values())
        assert [offset for offset, _ in used] == np.cumsum([0, *(size for _, size in used[:-1])]).tolist()
        assert 2 * sum(size for _, size in used) == entry["bytes"]


@pytest.mark.parametrize("name", ["ladder-1m", "ladder-1m@400"])
def test_trained_weights_are_exported_as_they_are_stored(exported, manifest, name):
    file = "model.safetensors" if "@" not in name else "model.step-400.safetensors"
    stored = load_file(ROOT / "models" / "ladder-1m" / file)
    found = read_weights(manifest["models"][name], exported)
    assert all(np.array_equal(found[key], stored[key]) for key in found)
    assert not any(key.startswith(ask.UNUSED) for key in found)


def test_the_twin_is_pythons_but_for_half_precision(exported, manifest):
    expected = twin(load("ladder-1m")).model.state_dict()
    for name, found in read_weights(manifest["models"]["random:ladder-1m"], exported).items():
        exact = expected[name].numpy()
        bound = np.maximum(np.abs(exact) * 2.0**-11, 2.0**-25)  # half a step of ten bits, or of the smallest numbers
        assert (np.abs(found.astype(np.float32) - exact) <= bound).all()


def test_pieces_stand_in_order(manifest):
    assert manifest["pieces"] == load("ladder-1m").tokenizer.convert_ids_to_tokens(range(12000))


def test_the_edition_changes_with_the_scripts(tmp_path):
    shutil.copytree(ROOT / ask.ASSETS, tmp_path / ask.ASSETS)
    before = ask.version(tmp_path)
    assert before == ask.version(ROOT)
    (tmp_path / ask.ASSETS / "bert.js").write_text("")
    assert ask.version(tmp_path) != before


@pytest.mark.parametrize("name", ask.PANELS)
def test_panels_are_whole_without_a_script(name):
    html = ask.ask_part(name, ROOT)
    assert re.findall(r"<form(?! hidden)", html) == []
    assert name == "notice" or ('role="status"' in html and "<progress" in html)


def test_the_first_answers_are_those_of_the_instruments():
    specimen, question = load(ask.DEFAULT_MODEL), ask.QUESTIONS["fill"]["text"]
    expected = fill_in(specimen, [ask_answers.words_of(specimen, question)], k=ask_answers.SHOWN)
    assert [word for word, _ in ask_answers.filled(ask.DEFAULT_MODEL, question)["best"]] == expected.words[0]
    (words, scores), _ = ask_answers.scored(ask.DEFAULT_MODEL, list(ask.QUESTIONS["sentences"].values()))
    assert sum(scores) == pytest.approx(pseudo_log_likelihood(specimen, [words])[0])
    found = ask_answers.by_layer(ask.DEFAULT_MODEL, ask.QUESTIONS["layers"]["text"])
    assert len(found["lines"]) == specimen.layers + 1
    assert found["lines"][-1][1] == 1


def test_neighbours_are_those_of_a_plain_loop():
    specimen, others = load("ladder-1m"), [("cats", "sleep", "."), ("dogs", "sleep", "."), ("they", "read", "books")]
    found = neighbours(specimen, ("a", "cat"), others)
    pool = [
        (word, other[:, place])
        for words, other in zip(others, word_vectors(specimen, others), strict=True)
        for place, word in enumerate(words)
    ]
    own = word_vectors(specimen, [("a", "cat")])[0]
    for layer, lines in enumerate(found):
        mean = torch.stack([vectors[layer] for _, vectors in pool]).mean(0)
        best: dict[str, float] = {}
        for form, vectors in pool:
            cosine = float(torch.cosine_similarity(own[layer, 1] - mean, vectors[layer] - mean, dim=0))
            best[form] = max(cosine, best.get(form, -1.0))
        expected = sorted(best.items(), key=lambda entry: -entry[1])[:3]
        assert [form for form, _ in lines[1]] == [form for form, _ in expected]
        assert [cosine for _, cosine in lines[1]] == pytest.approx([cosine for _, cosine in expected], abs=1e-5)


def test_references_are_cut_into_the_words_that_they_are_made_of():
    specimen = load("ladder-1m")
    assert [ask_answers.words_of(specimen, " ".join(words)) for words in references()] == list(map(list, references()))


def test_a_word_of_several_pieces_is_told_apart_and_a_piece_is_none():
    assert [
        len(entry) for entry in ask_answers.filled("ladder-1m", "a [MASK] .", ["house", "xylophonist", "##s"])["own"]
    ] == [3, 1, 3]


def test_prepared_sentences_have_one_length():
    specimen = load("ladder-1m")
    assert len({len(ask_answers.words_of(specimen, text)) for text in ask.QUESTIONS["sentences"].values()}) == 1


def test_script_and_style_come_to_pages_with_panels_alone():
    both = ["ask/ask.js", "ask/ask.css"]
    for page, wanted in {ask.PAGE: both, "notebooks/syntax": both, "notebooks/mbert": [], "book/ledger": []}.items():
        added = []
        app = SimpleNamespace(
            srcdir=str(ROOT),
            add_js_file=lambda n, a=added, **_: a.append(n),
            add_css_file=lambda n, a=added: a.append(n),
        )
        extension.add_ask_assets(app, page, "", {}, None)
        assert added == wanted


def test_a_book_without_the_page_gets_no_models(tmp_path):
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), env=SimpleNamespace(found_docs={"book/index"}))
    extension.write_ask_models(app, None)  # which would ask for folders


@pytest.mark.parametrize("path", sorted((ROOT / ask.ASSETS).iterdir()), ids=lambda path: path.name)
def test_scripts_name_no_outside_address_and_write_no_html(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"https?://|@import|//cdn|innerHTML|insertAdjacentHTML|document\.write|\beval\(", text)


def test_the_engine_is_small_enough_to_own():
    engine = "".join((ROOT / ask.ASSETS / name).read_text(encoding="utf-8") for name in ("bert.js", "product.js"))
    lines = [line for line in engine.splitlines() if line.strip() and not line.strip().startswith("//")]
    assert len(lines) < 200
    assert max(map(len, lines)) < 165  # not by being dense


def test_node_computes_what_python_computes(exported, tmp_path):
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    write_expected(tmp_path, sentences(), "ladder-1m")
    command = ["node", ROOT / "tests/pages/ask_in_node.mjs", ROOT / ask.ASSETS, tmp_path, "20"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    for found, engine in zip(json.loads(done.stdout), ("WebAssembly", "JavaScript"), strict=True):
        assert (found["engine"], found["computed"], found["tokens"]) == (engine, 20, [])
        assert (found["forms"], found["patterns"]) == ([], [])
        assert max(found["logits"], found["maps"], found["scores"], found["neighbours"]) < CLOSE


def test_heads_are_marked_as_the_executed_chapter_marks_them(tmp_path):
    assert ask.chapter_marks(tmp_path) == {}
    html = '<figure data-kind="attention"><script type="application/json">{"marks": {"2-5": "obj"}}</script></figure>'
    (tmp_path / ask.MARKING).parent.mkdir(parents=True)
    notebook = {"cells": [{"source": ""}, {"outputs": [{"data": {"text/html": html}}]}]}
    (tmp_path / ask.MARKING).write_text(json.dumps(notebook), encoding="utf-8")
    assert ask.chapter_marks(tmp_path) == {"2-5": "obj"}


@pytest.mark.parametrize("panel", ask_learnt.LEARNT)
def test_each_stored_step_has_a_line_of_the_models_own_answer(panel):
    steps, question = {0: "ladder-1m@0", 400: "ladder-1m@400"}, ask.QUESTIONS[panel]
    found = ask_learnt.LEARNT[panel](list(steps.values()), question)
    assert [len(line) for line in found.lines] == [len(found.titles)] * 2
    alone = ask_learnt.LEARNT[panel]([steps[400]], question)
    assert alone.lines[0][0] == found.lines[1][0]
    html = ask_learnt.learnt_part(panel, steps, question, 4_000_000)
    assert [row for row in steps if f'<th scope="row">{row}</th>' in html] == [0, 400]
    assert ask_learnt.learnt_part(panel, {}, question, 0) == ""
