"""Models and tokenizers as somebody else saved them: each is read as it is, or refused in one line."""

import dataclasses
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
from hub_cache import byte_level, uncased, unigram, wrapped
from model_zoo import save_model
from notebook_project import add_notebook, make_project
from safetensors.torch import load_file, save_file
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, BertConfig, BertLMHeadModel, BertModel, GPT2Config, GPT2LMHeadModel, T5Config

from bertology_utils import anatomy, cli
from bertology_utils.activations import vectors_at, word_vectors
from bertology_utils.chapter import Chapter
from bertology_utils.errors import BertologyError
from bertology_utils.instruments import cloze, error_budget
from bertology_utils.instruments.attention import attention_maps, head_statistics
from bertology_utils.models import load, with_attention
from bertology_utils.running import checking, runner
from bertology_utils.text import encode_words
from bertology_utils.verdicts.claims import load_claims

WORDS = ["The", "dogs", "run", "in", "the", "garden", "."]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return save_model("bert", tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture
def copy(bert, tmp_path):
    return shutil.copytree(bert, tmp_path / "copy")


def refused(call, *texts: str) -> None:
    with pytest.raises(BertologyError) as error:
        call()
    assert "\n" not in str(error.value) and all(text in str(error.value) for text in texts), str(error.value)


def change_weights(folder, change) -> None:
    weights = load_file(folder / "model.safetensors")
    save_file(change(weights), folder / "model.safetensors", {"format": "pt"})


# --- weights --------------------------------------------------------------------------------------------------------


def test_a_head_that_the_configuration_promises_and_the_weights_lack_is_none(copy):
    change_weights(copy, lambda weights: {name: w for name, w in weights.items() if not name.startswith("cls.")})
    specimen = load(str(copy))
    assert not specimen.has_mlm_head
    refused(lambda: cloze.pseudo_log_likelihood(specimen, [WORDS]), "no masked-language-model head")
    assert torch.equal(word_vectors(specimen, [WORDS])[0], word_vectors(load(str(copy)), [WORDS])[0])
    assert getattr(specimen.model, "pooler", None) is None, "a pooler at random is none"


def test_a_bare_model_under_any_architecture_has_no_head(copy):
    BertModel.from_pretrained(copy).save_pretrained(copy)
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"architectures": ["BertForMaskedLM"]}))
    assert not load(str(copy)).has_mlm_head


def test_a_body_that_lacks_weights_is_refused(copy):
    change_weights(copy, lambda weights: {name: w for name, w in weights.items() if "layer.1.attention" not in name})
    refused(lambda: load(str(copy)), "parts of its body", "layer.1.attention")


def test_weights_of_another_shape_are_refused_with_the_shapes(copy):
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"intermediate_size": 48}))
    refused(lambda: load(str(copy)), "(64", "(48", "intermediate")


def test_weights_that_are_no_numbers_are_refused(copy):
    load(str(copy))  # a sound model of the same kind says nothing of this one's weights
    change_weights(copy, lambda weights: {name: w * float("nan") for name, w in weights.items()})
    refused(lambda: load(str(copy)), "not finite")


# --- architectures --------------------------------------------------------------------------------------------------


def test_what_reads_from_left_to_right_is_named(copy, tmp_path):
    tokenizer, size = AutoTokenizer.from_pretrained(copy), {"num_hidden_layers": 2, "num_attention_heads": 4}
    decoder = BertConfig(vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, is_decoder=True, **size)
    GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=4)).save_pretrained(copy)
    refused(lambda: load(str(copy)), "gpt2, GPT2LMHeadModel", "left to right")
    BertLMHeadModel(decoder).save_pretrained(copy)
    refused(lambda: load(str(copy)), "bert, BertLMHeadModel", "left to right")


def test_an_encoder_decoder_is_named(copy):
    T5Config(architectures=["T5ForConditionalGeneration"]).save_pretrained(copy)
    refused(lambda: load(str(copy)), "encoder-decoder", "T5ForConditionalGeneration")


@pytest.mark.parametrize("kind", ["bert", "data2vec-text", "longformer", "mpnet", "roberta", "roberta-prelayernorm"])
def test_the_longest_input_is_that_of_the_position_table(kind, tmp_path):
    specimen = load(str(save_model(kind, tmp_path)))
    with torch.no_grad():
        specimen.encoder(torch.full((1, specimen.max_pieces), 9))
        with pytest.raises((IndexError, RuntimeError)):
            specimen.encoder(torch.full((1, specimen.max_pieces + 1), 9))
    refused(lambda: encode_words(specimen, [["dogs"] * 66]), "too long")


def test_scores_and_vectors_do_not_depend_on_the_batch_where_padding_is_mixed_in(tmp_path):
    for kind in ("fnet", "convbert"):
        specimen = load(str(save_model(kind, tmp_path / kind)))
        together = word_vectors(specimen, [WORDS[-2:], WORDS])[0]
        assert specimen.anatomy.mixes_padding and torch.allclose(together, word_vectors(specimen, [WORDS[-2:]])[0])


def test_padding_that_makes_states_no_numbers_is_seen(tmp_path, monkeypatch):
    specimen = load(str(save_model("bert", tmp_path)))
    states = [torch.ones(1, 12, 32), torch.ones(1, 12, 32)]
    padded = [torch.ones(1, 17, 32), torch.full((1, 17, 32), float("nan"))]
    monkeypatch.setattr(anatomy, "_states", lambda *_: padded)
    change = anatomy._change_by_padding(specimen.model, {"input_ids": torch.ones(1, 12, dtype=torch.long)}, states)
    assert dataclasses.replace(specimen.anatomy, padding=change).mixes_padding


def test_head_geometry_is_that_of_the_maps(tmp_path):
    specimen = with_attention(load(str(save_model("convbert", tmp_path))), "eager")
    assert specimen.model.config.num_attention_heads == 4 and specimen.heads == 2
    assert head_statistics(specimen, [WORDS])["previous"].shape == (1, 2, 2)
    refused(lambda: next(attention_maps(specimen, [WORDS], weighting="norm")), "projects the heads' values")


def test_windows_of_attention_are_not_taken_for_maps(tmp_path):
    specimen = with_attention(load(str(save_model("longformer", tmp_path))), "eager")
    refused(lambda: next(attention_maps(specimen, [WORDS])), "longformer", "no attention maps")


# --- tokenizers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "before",
    [
        [pre_tokenizers.Digits()],
        [pre_tokenizers.Split(Regex(r"'s| ?\w+| ?[^\s\w]+"), "isolated")],
    ],
)
def test_words_have_the_pieces_of_running_text_whatever_comes_before_the_bytes(before, tmp_path):
    tokenizer = byte_level()
    bytes_alone = pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=not isinstance(before[0], pre_tokenizers.Split)
    )
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*before, bytes_alone])
    specimen = load(str(save_model("roberta", tmp_path, tokenizer)))
    text = AutoTokenizer.from_pretrained(tmp_path)(" " + " ".join(WORDS))["input_ids"]
    assert encode_words(specimen, [WORDS])[0].input_ids == text
    assert cloze.single_piece(specimen, "dogs") == tokenizer.convert_tokens_to_ids("Ġdogs")


def test_a_tokenizer_with_pieces_across_words_is_refused(tmp_path):
    pieces = [
        ("<pad>", 0.0),
        ("<unk>", 0.0),
        ("[MASK]", 0.0),
        ("▁The▁dogs", -1.0),
        *((f"▁{w}", -5.0) for w in "abcdefgh"),
    ]
    backend = Tokenizer(models.Unigram([*pieces, *((letter, -9.0) for letter in "▁Thedogs")], unk_id=1))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
    tokenizer = wrapped(backend, {"pad": "<pad>", "unk": "<unk>", "mask": "[MASK]"})
    refused(lambda: load(str(save_model("bert", tmp_path, tokenizer))), "otherwise than running text", "The dogs")


def without(tokenizer, *roles: str):
    """A tokenizer that names no pieces of these roles, though it has them."""
    kept = {
        role: getattr(tokenizer, f"{role}_token") for role in ("unk", "cls", "sep", "pad", "mask") if role not in roles
    }
    return wrapped(tokenizer.backend_tokenizer, kept)


@pytest.mark.parametrize("make", [uncased, byte_level, unigram])
def test_without_a_padding_piece_results_are_the_same(make, tmp_path):
    tokenizer = make()
    given = save_model("bert", tmp_path / "given", tokenizer)
    bare = shutil.copytree(given, tmp_path / "bare")
    without(tokenizer, "pad").save_pretrained(bare)
    forget(bare, "pad_token_id")
    scores = [cloze.pseudo_log_likelihood(load(str(folder)), [WORDS[-3:], WORDS]) for folder in (given, bare)]
    np.testing.assert_allclose(*scores, atol=1e-4)


def forget(folder, name: str) -> None:
    """Takes an entry out of a configuration."""
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({key: value for key, value in config.items() if key != name}))


def test_without_a_piece_that_masks_there_is_no_head(tmp_path):
    folder = save_model("bert", tmp_path, without(uncased(), "mask"))
    forget(folder, "mask_token_id")
    specimen = load(str(folder))
    refused(lambda: cloze.fill_in(specimen, [["The", "[MASK]"]]), "cannot fill in masks")
    assert word_vectors(specimen, [WORDS])[0].shape == (3, 7, 32)


def test_special_pieces_are_those_that_the_tokenizer_puts_around_a_sentence(tmp_path):
    specimen = load(str(save_model("bert", tmp_path, without(uncased(), "cls", "sep"))))
    assert (specimen.tokenizer.cls_token, specimen.tokenizer.sep_token) == ("[CLS]", "[SEP]")


def test_a_piece_beyond_the_table_is_refused(copy):
    tokenizer = AutoTokenizer.from_pretrained(copy)
    tokenizer.add_tokens(["extra"])
    tokenizer.save_pretrained(copy)
    refused(lambda: load(str(copy)), "do not fit", "rows")


# --- what is asked of them ------------------------------------------------------------------------------------------

CALLS = [
    lambda s: cloze.pseudo_log_likelihood(s, ["the dog runs"]),
    lambda s: cloze.pseudo_log_likelihood(s, "the dog runs"),
    lambda s: cloze.word_scores(s, [WORDS], only=[9]),
    lambda s: cloze.word_scores(s, [WORDS], only=[1, 2]),
    lambda s: cloze.word_log_probability(s, ["the dog runs"], [1], [["dog"]]),
    lambda s: cloze.word_log_probability(s, [WORDS], [-1], [["dogs"]]),
    lambda s: cloze.word_log_probability(s, [WORDS], [7], [["dogs"]]),
    lambda s: cloze.word_log_probability(s, [WORDS], [1], ["dogs"]),
    lambda s: cloze.word_log_probability(s, [WORDS], [1], []),
    lambda s: cloze.mask_word("dogs", 1),
    lambda s: cloze.fill_in(s, ["the [MASK] runs"]),
    lambda s: cloze.fill_in(s, [["The", "[MASK]"]], k=-1),
    lambda s: word_vectors(s, ["the dog runs"]),
    lambda s: vectors_at(s, ["the dog runs"], [1]),
    lambda s: vectors_at(s, [WORDS], [-1]),
    lambda s: vectors_at(s, [WORDS], [1, 2]),
    lambda s: encode_words(s, [WORDS], ["the dog runs"]),
    lambda s: encode_words(s, [WORDS], [WORDS, WORDS]),
    lambda s: encode_words(s, [["the", None]]),
    lambda s: encode_words(s, iter([WORDS])),
    lambda s: encode_words(s, {tuple(WORDS)}),
    lambda s: encode_words(s, [set(WORDS)]),
    lambda s: encode_words(s, [iter(WORDS)]),
    lambda s: cloze.pseudo_log_likelihood(s, map(str.split, ["the dog runs"])),
    lambda s: cloze.fill_in(s, iter([["The", "[MASK]"]])),
    lambda s: cloze.fill_in(s, [["The", "[MASK]"]], candidates="dogs"),
    lambda s: cloze.answerable(s, ["dogs"]),
    lambda s: cloze.hits_at(s, cloze.fill_in(s, [["The", "[MASK]"]]), ["dogs"]),
    lambda s: cloze.word_scores(s, [WORDS], only=[1.5]),
    lambda s: cloze.word_scores(s, [WORDS], only=["1"]),
    lambda s: vectors_at(s, [WORDS], [None]),
    lambda s: next(attention_maps(s, ["the dog runs"])),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_text_for_words_and_a_place_outside_are_refused(call, tiny):
    refused(lambda: call(tiny), "")


def test_numpy_words_and_places_are_those_of_lists(tiny):
    given = cloze.word_log_probability(tiny, np.array([WORDS]), np.array([1]), np.array([["dogs", "the"]]))
    expected = cloze.word_log_probability(tiny, [WORDS], [1], [["dogs", "the"]])
    np.testing.assert_array_equal(given.log_probabilities, expected.log_probabilities)
    assert torch.equal(vectors_at(tiny, [tuple(WORDS)], np.array([2])), vectors_at(tiny, [WORDS], [2]))


# --- the check ------------------------------------------------------------------------------------------------------


def test_a_check_is_kept_until_the_weights_change(copy, tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr("bertology_utils.instruments.error_budget.error_budget", lambda name: made.append(name) or [])
    for _ in range(2):
        checking.checked(tmp_path, str(copy))
    assert len(made) == 1
    change_weights(copy, lambda weights: {name: 2 * w for name, w in weights.items()})
    checking.checked(tmp_path, str(copy))
    assert len(made) == 2


def test_the_check_is_a_table_of_numbers(bert, tmp_path, capsys):
    root = make_project(tmp_path)
    assert cli.main(["check", str(bert), "--root", str(root)]) == 0
    out = capsys.readouterr().out
    assert "fails" not in out and "left out" not in out and out.count("holds") == 8


def test_code_that_a_model_brings_is_not_run_and_told(copy):
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"auto_map": {"AutoModelForMaskedLM": "own.Model"}}))
    (copy / "own.py").write_text("raise SystemExit")
    (part,) = [part for part in error_budget.error_budget(str(copy)) if "code" in part.part]
    assert part.holds and part.found == "not run, read as transformers' own bert"


def test_scores_that_are_no_numbers_fail_the_check_wherever_they_stand(bert, monkeypatch):
    found = iter([1.0, float("nan")])
    monkeypatch.setattr(error_budget, "_plain_score", lambda *_: next(found))
    (part,) = error_budget._plain(load(str(bert)))
    assert part.found == "nan" and not part.holds


def test_checks_at_the_same_time_wait_for_each_other(tmp_path):
    code = "import sys; from pathlib import Path; from bertology_utils.running import checking\n"
    code += "for _ in range(300): checking.keep(Path(sys.argv[1]), 'absent/model', [])"
    processes = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]


def test_what_a_model_lacks_is_told_and_its_claims_are_left_out(tmp_path):
    folder = str(save_model("fnet", tmp_path / "fnet"))
    (line,) = checking.lacking(tmp_path, [folder])
    assert "attention maps" in line and "left out" in line
    chapter = Chapter("attention", folder, "smoke", 0, None)
    claim = next(c.id for c in load_claims() if c.notebook == "attention" and "attention maps" in c.requires)
    assert "no attention maps" in chapter.absent(claim).reason


def test_a_part_that_fails_ends_the_run(bert, tmp_path, monkeypatch):
    part = {"part": "scores", "found": "0.3", "bar": "0.001", "holds": False, "lacking": ""}
    monkeypatch.setattr(checking, "checked", lambda *_: [part])
    with pytest.raises(BertologyError, match=r"scores: 0\.3 \(bar 0\.001\)"):
        checking.lacking(tmp_path, [str(bert)])


def test_a_model_that_cannot_be_read_ends_the_run_before_any_kernel_starts(copy, tmp_path, capsys, monkeypatch):
    (tmp_path / "book").mkdir()
    root = make_project(tmp_path / "book")
    add_notebook(root, "syntax", "1 + 1")
    change_weights(copy, lambda weights: {name: w for name, w in weights.items() if "layer.0" not in name})
    monkeypatch.setattr(runner, "connect", lambda *_: pytest.fail("started"))
    assert cli.main(["run", "syntax", "--model", str(copy), "--root", str(root)]) == 1
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1 and "parts of its body" in errors
