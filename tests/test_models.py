"""Specimens: identity, twins, checkpoints, the packaged model, and every way in which a name can be wrong."""

import copy
import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertModel

from bertology_utils import models, project
from bertology_utils.errors import BertologyError
from bertology_utils.models import add_checkpoint, embedded_models, head_name, load, twin, with_attention
from bertology_utils.project import EXTRA_MODELS, PackagedModel, checkpoint_steps, resolve_model, split_model
from bertology_utils.running.freshness import file_hash, model_hashes
from bertology_utils.text import encode_words


def test_names_are_one_based():
    assert head_name(8, 9) == "8-10"


def test_the_twin_shares_architecture_and_nothing_else(tiny):
    other = twin(tiny)
    assert other.name == f"random:{tiny.name}" and other.is_random
    assert other.layers == tiny.layers and other.vocabulary_size == tiny.vocabulary_size
    ours, theirs = (s.encoder.embeddings.word_embeddings.weight for s in (tiny, other))
    assert not torch.allclose(ours, theirs)
    assert torch.equal(theirs, twin(tiny).encoder.embeddings.word_embeddings.weight)


def test_the_twin_of_a_twin_has_another_seed(tiny_twin):
    assert twin(tiny_twin).sha256 != tiny_twin.sha256


def test_a_twin_has_the_seed_that_was_asked_for_and_never_the_specimens_own(tiny, tiny_twin):
    assert (tiny_twin.seed, twin(tiny, seed=3).seed, twin(tiny_twin).seed, twin(tiny_twin, seed=5).seed) == (0, 3, 1, 5)
    assert twin(tiny_twin, seed=0).seed == 1
    assert twin(tiny_twin, seed=5).sha256 == twin(tiny, seed=5).sha256 != tiny_twin.sha256


def test_another_attention_keeps_the_weights_as_they_are_now(tiny, tiny_eager):
    loaded = with_attention(tiny, "eager")
    ids = torch.tensor([[2, 8, 9, 3]])
    with torch.no_grad():
        maps, expected = (s.encoder(ids, output_attentions=True).attentions for s in (loaded, tiny_eager))
    assert all(torch.equal(a, b) for a, b in zip(maps, expected, strict=True))
    assert loaded.attention == "eager" and tiny.model.config._attn_implementation == "sdpa"
    tuned = replace(tiny, model=copy.deepcopy(tiny.model))
    with torch.no_grad():
        words_of(tuned)[7] += 1.0
    eager = with_attention(tuned, "eager")
    assert torch.equal(words_of(eager), words_of(tuned)) and not torch.equal(words_of(eager), words_of(tiny))
    with torch.no_grad():
        words_of(eager)[7] = 0.0
    assert words_of(tuned)[7].any(), "a change of the copy leaves the specimen alone"


def test_eager_attention_returns_maps(tiny_eager):
    output = tiny_eager.encoder(torch.tensor([[2, 8, 3]]), output_attentions=True)
    assert len(output.attentions) == tiny_eager.layers


def test_unknown_names_are_told_at_once():
    started = time.monotonic()
    with pytest.raises(BertologyError, match="pocket-bert"):
        load("pocket-bret")
    with pytest.raises(BertologyError, match="network is off"):
        load("somebody/some-bert")
    assert time.monotonic() - started < 5


def test_a_folder_without_a_model_is_told(tmp_path):
    with pytest.raises(BertologyError, match=r"no config\.json"):
        load(str(tmp_path))


def test_altered_or_truncated_weights_are_refused(tiny_folder, tmp_path):
    folder = tmp_path / "altered"
    shutil.copytree(tiny_folder, folder)
    (folder / "checksums.json").write_text(json.dumps({"model.safetensors": "0" * 64}), encoding="utf-8")
    with pytest.raises(BertologyError, match="altered"):
        load(str(folder))
    (folder / "checksums.json").unlink()
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(BertologyError, match="cannot be read"):
        load(str(folder))


@pytest.mark.parametrize("name", embedded_models())
def test_embedded_models_match_their_checksums_and_have_a_card(name):
    specimen = load(name)
    assert specimen.sha256
    card = Path(specimen.source, "README.md").read_text(encoding="utf-8")
    assert "CC BY-SA" in card


# --- checkpoints ----------------------------------------------------------------------------------------------------


@pytest.fixture
def book(tiny_folder, tmp_path, monkeypatch):
    """A project whose only model, `tiny`, has checkpoints of steps 0, 10 and 100: its weights times 0, 1 and 2."""
    folder = tmp_path / "models" / "tiny"
    shutil.copytree(tiny_folder, folder)
    weights = load_file(folder / "model.safetensors")
    for factor, step in enumerate((0, 10, 100)):
        save_file({name: factor * tensor for name, tensor in weights.items()}, tmp_path / "step", {"format": "pt"})
        add_checkpoint(folder, step, tmp_path / "step")
    monkeypatch.setattr(models, "ROOT", tmp_path)
    return tmp_path


def words_of(specimen):
    return specimen.encoder.embeddings.word_embeddings.weight


def test_names_fall_into_prefix_name_and_step():
    assert split_model("random:pocket-bert@40") == ("random:", "pocket-bert", 40)
    assert split_model("pocket-bert") == ("", "pocket-bert", None)
    assert split_model("/home/me@work/model") == ("", "/home/me@work/model", None)


def test_a_checkpoint_is_its_own_weights_with_the_finished_models_tokenizer(book, tiny):
    late = load("tiny@100")
    assert (late.name, late.revision) == ("tiny@100", "step 100") and late.sha256 != load("tiny").sha256
    assert late.sha256 == file_hash(book / "models" / "tiny" / "model.step-100.safetensors")
    assert torch.equal(words_of(late), 2 * words_of(tiny)) and not words_of(load("tiny@0")).any()
    assert late.has_mlm_head and late.tokenizer.get_vocab() == tiny.tokenizer.get_vocab()


def test_the_twin_of_a_checkpoint_is_that_of_the_model(book):
    other = load("random:tiny@10")
    assert torch.equal(words_of(other), words_of(load("random:tiny")))
    assert twin(load("tiny@10")).name == other.name and other.is_random


def test_a_copy_that_was_killed_on_the_way_is_no_model(book):
    for name in ("tiny.part", "tiny.old.part"):
        shutil.copytree(book / "models" / "tiny", book / "models" / name)
    assert embedded_models() == ["tiny"]


def test_checkpoints_are_steps_of_a_model_and_no_models_of_their_own(book):
    folder = book / "models" / "tiny"
    assert embedded_models() == ["tiny"] and checkpoint_steps(folder) == [0, 10, 100]
    assert resolve_model(book, "tiny@10") == "tiny@10"
    assert resolve_model(book, "random:tiny@10") == "random:tiny@10"
    copy = shutil.copytree(folder, book / "elsewhere")
    assert resolve_model(book, f"{copy}@10") == f"{copy.resolve()}@10" and load(f"{copy}@10").revision == "step 10"


@pytest.mark.parametrize(
    ("name", "text"),
    [("tiny@70", "nearest is tiny@100"), ("random:tiny@4", "nearest is tiny@0"), ("tino@10", "Did you mean tiny?")],
)
def test_an_unknown_step_names_the_nearest(book, name, text):
    for find in (load, lambda model: resolve_model(book, model)):
        with pytest.raises(BertologyError) as error:
            find(name)
        assert text in str(error.value) and str(error.value).count("\n") <= 1


def test_a_model_without_checkpoints_says_so(book):
    (book / "models" / "tiny" / "model.step-0.safetensors").rename(book / "elsewhere")
    for path in (book / "models" / "tiny").glob("model.step-*"):
        path.unlink()
    with pytest.raises(BertologyError, match="without checkpoints"):
        load("tiny@0")


def test_an_altered_or_unlisted_checkpoint_is_refused(book):
    folder = book / "models" / "tiny"
    shutil.copy(folder / "model.step-10.safetensors", folder / "model.step-100.safetensors")
    with pytest.raises(BertologyError, match=r"tiny@100.*altered"):
        load("tiny@100")
    shutil.copy(folder / "model.step-10.safetensors", folder / "model.step-11.safetensors")
    with pytest.raises(BertologyError, match="no checksum"):
        load("tiny@11")
    assert load("tiny@10").layers == 2


def test_a_checkpoint_is_as_fresh_as_its_file(book):
    before = model_hashes(book, "tiny@10")
    save_file({"x": torch.ones(1)}, book / "models" / "tiny" / "model.step-10.safetensors")
    assert model_hashes(book, "tiny@10") != before


# --- the packaged model ---------------------------------------------------------------------------------------------


@pytest.fixture
def packaged(tiny_folder, tmp_path, monkeypatch):
    """A package like that of MiniLM, whose code may not run: an encoder, and a tokenizer that cuts and pads to 128."""
    package = tmp_path / "a_packaged_model"
    BertModel.from_pretrained(tiny_folder).save_pretrained(package / "model")
    shutil.copy(tiny_folder / "tokenizer_config.json", package / "model")
    stored = json.loads((tiny_folder / "tokenizer.json").read_text(encoding="utf-8"))
    stored["truncation"] = {"max_length": 12, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    padding = {"pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    stored["padding"] = padding | {"strategy": {"Fixed": 12}, "direction": "Right"}
    (package / "model" / "tokenizer.json").write_text(json.dumps(stored), encoding="utf-8")
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    digest = file_hash(package / "model" / "model.safetensors")
    monkeypatch.setitem(EXTRA_MODELS, "minilm", PackagedModel("a-packaged-model", package.name, digest))
    return package / "model"


def test_the_packaged_model_is_found_verified_and_without_a_head(packaged):
    specimen, other = load("minilm"), load("random:minilm")
    assert specimen.sha256 == EXTRA_MODELS["minilm"].sha256 and not specimen.has_mlm_head
    assert other.is_random and not torch.equal(words_of(specimen), words_of(other))
    assert resolve_model(project.find_root(), "minilm") == "minilm"
    assert set(model_hashes(project.find_root(), "random:minilm")) >= {"model.safetensors", "tokenizer.json"}
    (packaged / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(BertologyError, match="altered"):
        load("minilm")


def test_what_a_tokenizer_file_says_of_cutting_and_padding_is_not_done(packaged):
    specimen = load("minilm")
    assert [len(specimen.tokenizer.backend_tokenizer.encode(text)) for text in ("a", "a " * 40)] == [3, 42]
    assert [len(e) for e in encode_words(specimen, [["a"], ["a"] * 40])] == [3, 42]


def test_a_package_that_is_not_installed_is_told_with_the_command(monkeypatch):
    monkeypatch.setitem(EXTRA_MODELS, "minilm", PackagedModel("no-such-package", "no_such_package", "0" * 64))
    for find in (load, lambda model: resolve_model(project.find_root(), model)):
        for name in ("minilm", "random:minilm"):
            with pytest.raises(BertologyError, match="pip install no-such-package"):
                find(name)
    assert model_hashes(project.find_root(), "minilm") == {}


@pytest.mark.skipif(EXTRA_MODELS["minilm"].folder is None, reason="the optional package is not installed")
def test_the_real_minilm_loads():
    specimen = load("minilm")
    assert (specimen.layers, specimen.width, specimen.heads) == (6, 384, 12) and not specimen.has_mlm_head
    long = encode_words(specimen, [["a"], ["a"] * 300])
    assert [len(e) for e in long] == [3, 302]
