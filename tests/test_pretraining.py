"""Pre-training: text to corpus, examples and masking, resuming, stacking, and every wrong configuration."""

import gzip
import json
import lzma
import os
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from bertology_utils import cli
from bertology_utils.errors import BertologyError
from bertology_utils.pretraining.config import PretrainingConfig, learning_rate_factor, read_config
from bertology_utils.pretraining.corpus import Corpus, documents, tokenize, train_tokenizer
from bertology_utils.pretraining.engine import Pretraining, losses, pretrain, stack_layers
from bertology_utils.pretraining.examples import IGNORED, PairSampler, SpecialIds, collate, mask_tokens

STORIES = [
    'The cook opened the door. "Who is there?" he asked. Nobody answered!',
    "Rain fell on the harbour. The boats stayed where they were. A gull slept.",
    "Ann wrote a letter. She wrote about the garden and the old tree.\nShe sent it on Monday.",
] * 4
SPECIAL = SpecialIds(pad=0, cls=2, sep=3, mask=4, vocabulary_size=100)


def write_corpus(path: Path, stories: list[str] = STORIES) -> Path:
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)
    with opener(path, "wt", encoding="utf-8") as file:
        file.write("\n\n".join(stories) + "\n")
    return path


def settings(folder: Path, **changes) -> dict:
    base = {
        "name": "toy", "study": "devlin2019bert", "corpora": {"toy": str(folder / "toy.txt")},
        "work": str(folder / "work"), "vocabulary_size": 150, "layers": 1, "width": 16, "heads": 2, "positions": 32,
        "batch": 2, "warmup": 2, "cooldown": 2, "checkpoint_every": 3, "bf16": False,
        "phases": [{"steps": 6, "length": 32, "mixture": {"toy": 1.0}}],
    }  # fmt: skip
    return base | changes


def config_file(folder: Path, **changes) -> Path:
    path = folder / "toy.yaml"
    path.write_text(yaml.safe_dump(settings(folder, **changes)), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path):
    write_corpus(tmp_path / "toy.txt")
    return tmp_path


# --- corpus ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.txt", "a.txt.xz", "a.txt.gz"])
def test_documents_are_cut_into_sentences_whatever_the_packing(tmp_path, name):
    found = list(documents(write_corpus(tmp_path / name)))
    assert len(found) == len(STORIES)
    assert found[0] == ["The cook opened the door.", '"Who is there?"', "he asked.", "Nobody answered!"]
    assert [len(sentences) for sentences in found[1:3]] == [3, 3]


def test_the_tokenizer_and_the_stored_corpus_give_the_text_back(folder):
    tokenizer = train_tokenizer([folder / "toy.txt"], 150)
    assert [tokenizer.token_to_id(t) for t in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")] == list(range(5))
    corpus = tokenize(folder / "toy.txt", tokenizer, folder / "store")
    assert len(corpus.documents) == len(STORIES) + 1 and corpus.tokens.dtype == np.uint16
    pieces = [tokenizer.id_to_token(i) for i in corpus.sentence(0)]
    assert " ".join(pieces).replace(" ##", "") == "the cook opened the door ."
    train, held_out = corpus.split()
    assert train.documents[-1] == held_out.documents[0] and held_out.documents[-1] == corpus.documents[-1]
    assert not list((folder / "store").glob("*.part*"))


def test_a_changed_text_is_tokenized_again(folder):
    tokenizer = train_tokenizer([folder / "toy.txt"], 150)
    tokenize(folder / "toy.txt", tokenizer, folder / "store")
    write_corpus(folder / "toy.txt", STORIES * 2)
    later = (folder / "store" / "toy.txt.tokens.npy").stat().st_mtime + 10
    os.utime(folder / "toy.txt", (later, later))
    assert len(tokenize(folder / "toy.txt", tokenizer, folder / "store").documents) == 2 * len(STORIES) + 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.txt", b"", "no text"),
        ("blank.txt", b"\n \n\n", "no text"),
        ("one.txt", b"Only one document. It has two sentences.\n", "fewer than two documents"),
        ("binary.txt", bytes(range(128, 256)) * 20, "not UTF-8"),
        ("zeros.txt", b"\0" * 100, "not UTF-8"),
        ("fake.xz", b"no archive", "not UTF-8"),
        ("fake.gz", b"no archive", "not UTF-8"),
        ("cut.gz", gzip.compress(b"A story. " * 400)[:40], "not UTF-8"),
        ("cut.xz", lzma.compress(b"A story. " * 400)[:70], "not UTF-8"),
        ("missing.txt", None, "does not exist"),
    ],
)
def test_a_corpus_that_is_none_is_told_and_can_be_mended(tmp_path, capsys, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    path = config_file(tmp_path, corpora={"toy": str(tmp_path / name)})
    assert cli.main(["pretrain", str(path)]) == 1
    errors = capsys.readouterr().err
    assert message in errors and errors.count("\n") <= 2
    assert not list((tmp_path / "work").rglob("*.part*"))


def test_a_folder_is_no_corpus(tmp_path):
    with pytest.raises(BertologyError, match="cannot be read"):
        list(documents(tmp_path))


# --- examples -------------------------------------------------------------------------------------------------------


def counted_corpus(lengths: list[int], in_document: int = 5) -> Corpus:
    """Every piece of sentence s has the id 5 + s, so that an example tells where it was drawn."""
    tokens = np.repeat(np.arange(len(lengths)) + 5, lengths).astype(np.uint16)
    starts = [*range(0, len(lengths), in_document), len(lengths)]
    return Corpus(tokens, np.concatenate([[0], np.cumsum(lengths)]), np.array(starts))


@pytest.mark.parametrize("length", [8, 24, 64])
def test_second_segments_follow_or_are_random_as_labelled_and_everything_fits(length):
    rng = np.random.default_rng(3)
    corpus = counted_corpus(rng.integers(1, 30, 40).tolist())
    sampler = PairSampler([(corpus, 1.0)], length, 0.25, rng)
    drawn = [sampler.draw() for _ in range(1500)]
    for example in drawn:
        b = [] if example.b is None else example.b
        assert len(example.a) >= 1 and len(example.a) + len(b) + (2 if example.b is None else 3) <= length
        sentences = sorted(set(example.a.tolist()))
        assert sentences == list(range(sentences[0], sentences[-1] + 1)), "whole stretches of one document"
        assert (sentences[0] - 5) // 5 == (sentences[-1] - 5) // 5
        if example.b is not None:
            follows = b[0] == sentences[-1] + 1 and (b[0] - 5) // 5 == (sentences[-1] - 5) // 5
            assert follows == (not example.is_random)
    singles = np.mean([example.b is None for example in drawn])
    random = np.mean([example.is_random for example in drawn if example.b is not None])
    assert 0.2 < singles < 0.3 and 0.45 < random < 0.75  # a document's last sentence has no follower


def test_the_mixture_is_kept():
    corpora = [(counted_corpus([3] * 10), 3.0), (counted_corpus([3] * 90), 1.0)]
    sampler = PairSampler(corpora, 32, 1.0, np.random.default_rng(0))
    assert abs(np.mean([sampler.draw().a[0] < 15 for _ in range(2000)]) - (0.75 + 0.25 / 9)) < 0.04


def test_masking_shares_and_what_is_never_masked():
    ids = torch.randint(5, 100, (400, 64), generator=torch.Generator().manual_seed(1))
    ids[:, 0], ids[:, 40], ids[:, 50:] = SPECIAL.cls, SPECIAL.sep, SPECIAL.pad
    corrupted, labels = mask_tokens(ids, SPECIAL, torch.Generator().manual_seed(2))
    chosen = labels != IGNORED
    assert not chosen[:, [0, 40]].any() and not chosen[:, 50:].any()
    assert torch.equal(labels[chosen], ids[chosen]) and torch.equal(corrupted[~chosen], ids[~chosen])
    assert abs(chosen.sum().item() / (400 * 48) - 0.15) < 0.01
    masked, kept = (corrupted[chosen] == SPECIAL.mask).float().mean(), (corrupted[chosen] == ids[chosen]).float().mean()
    assert abs(masked - 0.8) < 0.02 and abs(kept - 0.1) < 0.02
    replaced = corrupted[chosen & (corrupted != ids) & (corrupted != SPECIAL.mask)]
    assert replaced.min() >= 5 and replaced.max() < 100 and abs(len(replaced) / chosen.sum() - 0.1) < 0.02


def test_collating_pads_and_labels():
    sampler = PairSampler([(counted_corpus([4] * 20), 1.0)], 24, 0.5, np.random.default_rng(5))
    drawn = [sampler.draw() for _ in range(12)]
    batch = collate(drawn, SPECIAL)
    for row, example in enumerate(drawn):
        length = 2 + len(example.a) + (0 if example.b is None else 1 + len(example.b))
        assert batch["attention_mask"][row].sum() == length and batch["input_ids"][row, 0] == SPECIAL.cls
        assert batch["token_type_ids"][row].sum() == (0 if example.b is None else len(example.b) + 1)
        expected = IGNORED if example.is_random is None else int(example.is_random)
        assert batch["next_sentence_label"][row] == expected


# --- engine ---------------------------------------------------------------------------------------------------------


def config(folder: Path, **changes) -> PretrainingConfig:
    return PretrainingConfig(**settings(folder, **changes))


def test_a_resumed_run_is_the_unbroken_one(folder):
    torch.manual_seed(99)  # whatever the process did before
    whole = Pretraining(config(folder))
    unbroken = [whole.train_step() for _ in range(6)]
    first = Pretraining(config(folder))
    begun = [first.train_step() for _ in range(3)]
    first.save_checkpoint()
    del first
    torch.manual_seed(1)
    second = Pretraining(config(folder))
    second.resume()
    assert second.step == 3 and second.tokens > 0
    resumed = begun + [second.train_step() for _ in range(3)]
    assert np.allclose(resumed, unbroken, rtol=0, atol=1e-6)
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(weight, second.model.state_dict()[name]), name


def test_the_loss_falls_on_a_text_that_repeats(folder):
    run = Pretraining(config(folder, cooldown=0, phases=[{"steps": 60, "length": 32, "mixture": {"toy": 1.0}}]))
    history = [sum(run.train_step()) for _ in range(60)]
    assert np.mean(history[-10:]) < np.mean(history[:10]) - 0.3


def test_the_finished_model_is_loaded_as_a_specimen(folder):
    from bertology_utils.cloze import pseudo_log_likelihood
    from bertology_utils.models import load

    final = pretrain(config_file(folder, keep_steps=[0, 3]))
    assert {path.name for path in final.parent.iterdir()} >= {"checkpoint.pt", "step-0", "step-3", "evaluations.jsonl"}
    evaluations = [json.loads(line) for line in (final.parent / "evaluations.jsonl").read_text().splitlines()]
    assert evaluations[-1]["step"] == 6 and evaluations[-1]["perplexity"] > 1
    specimen = load(str(final))
    assert (specimen.layers, specimen.width, specimen.has_mlm_head) == (1, 16, True)
    assert pseudo_log_likelihood(specimen, [["The", "cook", "slept", "."]])[0] < 0


def test_a_begun_run_is_not_overwritten_by_mistake(folder, capsys):
    begun = Pretraining(config(folder))
    begun.save_checkpoint()
    assert not begun.has_progress()  # the checkpoint of step 0 is no loss
    begun.train_step()
    begun.save_checkpoint()
    path = config_file(folder)
    assert cli.main(["pretrain", str(path)]) == 1 and "--resume" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "field"), [({"width": 32}, "width"), ({"layers": 2}, "layers"), ({"seed": 1}, "seed")]
)
def test_the_checkpoint_of_another_configuration_is_refused(folder, change, field):
    Pretraining(config(folder)).save_checkpoint()
    with pytest.raises(BertologyError, match=rf"another configuration .*{field}"):
        Pretraining(config(folder, **change)).resume()


def test_a_damaged_checkpoint_is_told(folder):
    run = Pretraining(config(folder))
    run.save_checkpoint()
    path = run.folder / "checkpoint.pt"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(BertologyError, match="damaged"):
        run.resume()


def test_stacking_repeats_the_blocks_and_keeps_the_rest(folder):
    shallow = Pretraining(config(folder, name="shallow", layers=2))
    shallow.train_step()
    shallow.save_checkpoint()
    deep = Pretraining(config(folder, name="deep", layers=4, stack="shallow")).model.state_dict()
    source = shallow.model.state_dict()
    for name, weight in deep.items():
        origin = name.replace("layer.2.", "layer.0.").replace("layer.3.", "layer.1.")
        assert torch.equal(weight, source[origin]), name
    assert len(stack_layers(source, 2)) == len(source)
    with pytest.raises(BertologyError, match="no checkpoint"):
        Pretraining(config(folder, stack="nothing"))
    with pytest.raises(BertologyError, match="other sizes"):
        Pretraining(config(folder, width=32, stack="shallow"))


def test_a_batch_without_masks_or_pairs_gives_no_nan(folder):
    run = Pretraining(config(folder, single_share=1.0))
    batch, labels = run.batch(0)
    mlm, nsp = losses(run.model, batch, torch.full_like(labels, IGNORED))
    (mlm + nsp).backward()
    assert mlm.item() == nsp.item() == 0
    assert all(torch.isfinite(p.grad).all() for p in run.model.parameters() if p.grad is not None)


# --- configuration --------------------------------------------------------------------------------------------------


def test_the_learning_rate_is_a_trapezoid(tmp_path):
    phases = [{"steps": 10, "length": 8, "mixture": {"toy": 1}}]
    factors = [learning_rate_factor(step, config(tmp_path, warmup=4, cooldown=4, phases=phases)) for step in range(10)]
    assert factors == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25]
    flat = config(tmp_path, warmup=0, cooldown=0, phases=phases)
    assert {learning_rate_factor(step, flat) for step in range(10)} == {1.0}


def test_phases_follow_each_other(tmp_path):
    phases = [{"steps": 2, "length": 8, "mixture": {"toy": 1}}, {"steps": 3, "length": 16, "mixture": {"toy": 1}}]
    chosen = config(tmp_path, phases=phases)
    assert chosen.steps == 5 and [chosen.phase_at(step).length for step in range(6)] == [8, 8, 16, 16, 16, 16]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learning_rte": 1.0}, "learning_rte"),
        ({"phases": [{"steps": 5, "mixture": {"toys": 1.0}, "length": 8}]}, "unknown corpus 'toys'"),
        ({"phases": [{"steps": 5, "mixture": {"toy": 0.0}}]}, "weight above zero"),
        ({"phases": [{"steps": 5, "mixture": {"toy": 1.0}, "length": 4}]}, "length"),
        ({"phases": [{"steps": 5, "mixture": {"toy": 1.0}, "length": 64}]}, "positions"),
        ({"phases": []}, "phases"),
        ({"heads": 3}, "not a multiple"),
        ({"vocabulary_size": 70_000}, "vocabulary_size"),
        ({"layers": "many"}, "layers"),
        ({"corpora": {"toy": "a/x.txt", "other": "b/x.txt"}}, "share a file name"),
    ],
)
def test_a_wrong_configuration_is_one_line(tmp_path, capsys, change, message):
    assert cli.main(["pretrain", str(config_file(tmp_path, **change))]) == 1
    errors = capsys.readouterr().err
    assert message in errors and errors.count("\n") == 1


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "name: [unclosed", "just words"])
def test_a_file_without_settings_is_told(tmp_path, text):
    (tmp_path / "toy.yaml").write_text(text)
    with pytest.raises(BertologyError, match=r"no settings|not YAML"):
        read_config(tmp_path / "toy.yaml")
    with pytest.raises(BertologyError, match="no configuration file"):
        read_config(tmp_path / "other.yaml")
