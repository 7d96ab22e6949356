"""Pre-training: exact resuming, what is written and when, stacking and starting, and how a run can break."""

import errno
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from pretraining_toys import STORIES, config, config_file, write_corpus
from transformers import AutoModelForMaskedLM, AutoModelForPreTraining, AutoTokenizer, BertForPreTraining

from bertology_utils import cli
from bertology_utils.errors import BertologyError
from bertology_utils.files import replacing
from bertology_utils.instruments.cloze import pseudo_log_likelihood
from bertology_utils.models import load, twin
from bertology_utils.pretraining import checkpoints
from bertology_utils.pretraining.card import add_scores
from bertology_utils.pretraining.engine import Pretraining, pretrain
from bertology_utils.pretraining.network import compile_blocks, stack_layers

LM = {"masked-tokens": 1.0}
STATEFUL = {
    "bert": {},
    "static words": {"objectives": LM, "masking": {"copies": 2, "unit": "word"}},
    "spans": {"objectives": {**LM, "span-boundary": 1.0}, "masking": {"unit": "span"}},
    "permutation": {"objectives": {"permutation": 1.0}},
    "replaced": {"objectives": {**LM, "replaced-tokens": 50.0}},
    "centred": {"cls_normalisation": True, "objectives": {**LM, "next-previous": 1.0, "ngram-order": 1.0}},
    "shared": {"shared_layers": True, "embedding_width": 8, "objectives": {**LM, "sentence-order": 1.0}},
    "averaged": {"average": 4},
    "modern": {"body": "modern", "objectives": {**LM, "z-loss": 1e-4}},
    "phases": {
        "phases": [
            {"steps": 2, "length": 32, "objectives": LM},
            {"steps": 4, "length": 16, "objectives": {**LM, "capitals": 1.0}},
        ]
    },
}


@pytest.fixture
def folder(tmp_path):
    write_corpus(tmp_path / "toy.txt")
    return tmp_path


def numbers(losses: dict[str, torch.Tensor]) -> list[float]:
    return [loss.item() for loss in losses.values()]


@pytest.mark.parametrize("name", STATEFUL)
def test_a_resumed_run_is_the_unbroken_one(folder, name):
    chosen = config(folder, **STATEFUL[name])
    torch.manual_seed(99)  # whatever the process did before
    whole = Pretraining(chosen)
    unbroken = [numbers(whole.train_step()) for _ in range(6)]
    first = Pretraining(chosen)
    begun = [numbers(first.train_step()) for _ in range(3)]
    first.save_checkpoint()
    del first
    torch.manual_seed(1)
    second = Pretraining(chosen)
    second.resume()
    assert second.step == 3 and second.tokens > 0
    assert begun + [numbers(second.train_step()) for _ in range(3)] == unbroken
    for key, weight in whole.network.state_dict().items():
        assert torch.equal(weight, second.network.state_dict()[key]), key


def test_the_seed_fixes_a_run_from_the_text_on(folder):
    """In work folders of their own, so that each run trains its tokenizer and stores its text itself."""

    def losses(work: str, seed: int) -> list[list[float]]:
        run = Pretraining(config(folder, work=str(folder / work), seed=seed))
        return [numbers(run.train_step()) for _ in range(3)]

    first = losses("a", 0)
    assert losses("b", 0) == first != losses("c", 1)


def test_the_log_of_a_resumed_run_is_that_of_the_unbroken_one(folder):
    pretrain(config_file(folder, name="whole", checkpoint_every=2))
    broken = Pretraining(config(folder, name="broken", checkpoint_every=2))
    for _ in range(2):
        broken.train_step()
    broken._record(broken.evaluate)
    broken.save_checkpoint()
    for _ in range(2):
        broken.train_step()
    broken._record(broken.evaluate)  # killed before the checkpoint of this step, in the middle of the next record
    with open(broken.folder / "evaluations.jsonl", "a") as log:
        log.write('{"step": 4, "mlm')
    pretrain(config_file(folder, name="broken", checkpoint_every=2), resume=True)
    logs = [
        [json.loads(line) | {"seconds": 0} for line in (folder / "work" / name / "evaluations.jsonl").open()]
        for name in ("whole", "broken")
    ]
    assert logs[0] == logs[1] and [record["step"] for record in logs[0]] == [2, 4, 6]


def test_batches_prepared_ahead_are_the_same_and_sorted_by_length(folder):
    """Sixteen inputs a batch are enough for the inputs of eight steps to be drawn together."""
    write_corpus(folder / "toy.txt", STORIES * 8)
    phases = [{"steps": 11, "length": 8}, {"steps": 6, "length": 16}]
    run = Pretraining(config(folder, workers=1, batch=4, phases=phases))
    ahead = list(run.batches.from_step(4))
    assert len(ahead) == 13
    for step, batch in enumerate(ahead, 4):
        assert all(torch.equal(batch[key], value) for key, value in run.batches[step].items())
    masks = [run.batches[step]["attention_mask"] for step in range(11, 17)]
    pieces = [int(mask.sum()) for mask in masks]
    assert max(pieces) - min(pieces) <= 32 and sum(pieces) / sum(mask.numel() for mask in masks) > 0.9


def test_the_finished_model_is_loaded_as_a_specimen(folder):
    final = pretrain(config_file(folder, keep_steps=[0, 3]))
    assert {path.name for path in final.parent.iterdir()} == {
        "checkpoint.pt", "step-0", "step-3", "evaluations.jsonl", "final",
    }  # fmt: skip
    evaluations = [json.loads(line) for line in (final.parent / "evaluations.jsonl").read_text().splitlines()]
    assert evaluations[-1]["step"] == 6 and evaluations[-1]["perplexity"] > 1
    assert (final / "evaluations.jsonl").read_text() == (final.parent / "evaluations.jsonl").read_text()
    assert evaluations[-1]["unknown_shares"] == {"toy": 0.0} and evaluations[-1]["corpus_losses"]["toy"] > 0
    assert 0 < evaluations[-1]["amounts"]["toy"]["words"] < evaluations[-1]["tokens"]
    for place in (final, final.parent / "step-0"):
        specimen = load(str(place))
        assert (specimen.layers, specimen.width, specimen.has_mlm_head) == (1, 16, True)
        assert pseudo_log_likelihood(specimen, [["The", "cook", "slept", "."]])[0] < 0
    assert isinstance(AutoModelForPreTraining.from_pretrained(final), BertForPreTraining)


@pytest.mark.parametrize(
    ("changes", "architecture"),
    [
        ({"objectives": LM}, "BertForMaskedLM"),
        ({"objectives": {**LM, "sentence-order": 1.0}}, "BertForMaskedLM"),
        ({"shared_layers": True, "objectives": LM}, "AlbertForMaskedLM"),
        ({"objectives": {**LM, "replaced-tokens": 50.0}}, "ElectraForPreTraining"),
    ],
)
def test_models_without_next_sentence_open_with_their_masked_lm_head(folder, changes, architecture):
    final = pretrain(config_file(folder, **changes))
    specimen = load(str(final))
    assert specimen.model.config.architectures == [architecture]
    if architecture == "ElectraForPreTraining":
        assert not specimen.has_mlm_head
        specimen = load(str(final / "generator"))
    assert specimen.has_mlm_head and pseudo_log_likelihood(specimen, [["The", "cook", "slept", "."]])[0] < 0
    assert twin(specimen).has_mlm_head and twin(specimen).is_random
    run = Pretraining(config(folder, **changes))
    run.resume()
    batch = next(run.batches.held_out_batches(1))
    inputs = {key: batch[key] for key in ("input_ids", "attention_mask", "token_type_ids", "position_ids")}
    logits = specimen.model(**inputs).logits.flatten(0, 1)[batch["masked"]]
    saved = torch.nn.functional.cross_entropy(logits, batch["labels"])
    assert saved.item() == pytest.approx(run.network.eval().masked_loss(batch).item(), abs=5e-3)  # half precision


def test_the_standardisation_of_cls_becomes_part_of_the_pooler(folder):
    run = Pretraining(config(folder, cls_normalisation=True))
    for _ in range(6):
        run.train_step()
    network = run.network.eval()
    (saved,) = network.finished().values()
    batch = run.batches[0]
    inputs = {key: batch[key] for key in ("input_ids", "attention_mask", "token_type_ids", "position_ids")}
    hidden = network.model.bert(**inputs).last_hidden_state
    assert torch.allclose(saved.bert(**inputs).pooler_output, network.pool(hidden), atol=1e-5)
    assert not torch.allclose(network.model.bert(**inputs).pooler_output, network.pool(hidden), atol=1e-3)


def test_kept_models_are_written_and_differ(folder):
    final = pretrain(config_file(folder, keep_steps=[0, 1, 2, 4, 6]))
    kept = {path.name: AutoModelForMaskedLM.from_pretrained(path) for path in final.parent.glob("step-*")}
    assert set(kept) == {f"step-{n}" for n in (0, 1, 2, 4, 6)}
    weights = [kept[f"step-{n}"].state_dict()["bert.encoder.layer.0.output.dense.weight"] for n in (0, 1, 2, 4, 6)]
    assert all(not torch.equal(a, b) for a, b in pairwise(weights))


# --- going on, stacking, starting -----------------------------------------------------------------------------------


def test_a_begun_run_is_not_overwritten_by_mistake(folder, capsys):
    begun = Pretraining(config(folder))
    begun.save_checkpoint()
    assert not begun.has_progress()  # the checkpoint of step 0 is no loss
    begun.train_step()
    begun.save_checkpoint()
    path = config_file(folder)
    assert cli.main(["pretrain", str(path)]) == 1 and "--resume" in capsys.readouterr().err


@pytest.mark.parametrize("change", [{"twin": 0.5}, {"format": "lines"}])
def test_a_checkpoint_knows_how_its_text_was_read_and_not_where_it_lay(folder, change):
    own = config(folder)
    state = {"config": own.model_dump(), "step": 1}
    elsewhere = config(folder, corpora={"toy": {"path": "elsewhere/toy.txt"}})
    checkpoints.check_same_run(Path("a.pt"), state, elsewhere, "tokenizer")
    other = config(folder, corpora={"toy": {"path": "elsewhere/toy.txt", **change}})
    with pytest.raises(BertologyError, match="corpora"):
        checkpoints.check_same_run(Path("a.pt"), state, other, "tokenizer")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"width": 32}, "width"),
        ({"layers": 2}, "layers"),
        ({"seed": 1}, "seed"),
        ({"learning_rate": 0.5}, "learning_rate"),
        ({"objectives": LM}, "objectives"),
        ({"masking": {"unit": "word"}}, "masking"),
        ({"batch": 3}, "batch"),
        ({"warmup": 1}, "warmup"),
        ({"phases": [{"steps": 6, "length": 16}]}, "phases"),
    ],
)
def test_the_checkpoint_of_another_configuration_is_refused(folder, change, field):
    run = Pretraining(config(folder))
    run.train_step()
    run.save_checkpoint()
    before = run.checkpoint.read_bytes()
    with pytest.raises(BertologyError, match=rf"another configuration .*{field}"):
        Pretraining(config(folder, **change)).resume()
    assert run.checkpoint.read_bytes() == before


def test_another_text_is_another_configuration(folder):
    Pretraining(config(folder)).save_checkpoint()
    write_corpus(folder / "other.txt")
    corpora = {"toy": str(folder / "other.txt")}
    given = str(folder / "work" / "tokenizer-150.json")
    with pytest.raises(BertologyError, match=r"another configuration .*corpora"):
        Pretraining(config(folder, corpora=corpora, tokenizer=given)).resume()


def test_a_run_may_move_and_be_prolonged(folder):
    run = Pretraining(config(folder, phases=[{"steps": 4, "length": 32}]))
    run.train_step()
    run.save_checkpoint()
    (folder / "elsewhere").mkdir()
    (folder / "toy.txt").rename(folder / "elsewhere" / "toy.txt")
    phases = [{"steps": 8, "length": 32}, {"steps": 2, "length": 16}]
    longer = Pretraining(
        config(
            folder, corpora={"toy": str(folder / "elsewhere" / "toy.txt")}, phases=phases, cooldown=1, keep_steps=[3]
        )
    )
    longer.resume()
    assert longer.step == 1 and longer.config.steps == 10


def test_a_damaged_checkpoint_is_told(folder):
    run = Pretraining(config(folder))
    run.save_checkpoint()
    run.checkpoint.write_bytes(run.checkpoint.read_bytes()[:1000])
    with pytest.raises(BertologyError, match="damaged"):
        run.resume()


def test_compiled_blocks_keep_their_names_and_are_written_as_ever(folder):
    run = Pretraining(config(folder))
    names = list(run.model.state_dict())
    compile_blocks(run.model)  # compiles when first called
    assert all(block._compiled_call_impl for block in run.model.bert.encoder.layer)
    assert list(run.model.state_dict()) == names
    run.write_model(folder / "written")
    assert AutoModelForPreTraining.from_pretrained(folder / "written").config.num_hidden_layers == run.config.layers


def test_stacking_repeats_the_blocks_and_keeps_the_rest(folder):
    shallow = Pretraining(config(folder, name="shallow", layers=2))
    shallow.run()
    deep = Pretraining(config(folder, name="deep", layers=4, stack="shallow"))
    deep.begin()
    source = shallow.model.state_dict()
    for name, weight in deep.model.state_dict().items():
        origin = name.replace("layer.2.", "layer.0.").replace("layer.3.", "layer.1.")
        assert torch.equal(weight, source[origin]), name
    assert len(stack_layers(source, 2)) == len(source)
    shutil.rmtree(shallow.folder)
    again = Pretraining(deep.config)
    again.resume()  # at step 0, whose weights the checkpoint has
    assert all(torch.equal(weight, deep.model.state_dict()[name]) for name, weight in again.model.state_dict().items())


def test_only_a_finished_run_of_like_sizes_and_tokenizer_can_be_stacked(folder):
    shallow = Pretraining(config(folder, name="shallow", layers=2))
    shallow.train_step()
    shallow.save_checkpoint()

    def refused(message, **changes):
        with pytest.raises(BertologyError, match=message):
            Pretraining(config(folder, name="deep", **{"stack": "shallow", "layers": 4} | changes)).begin()

    refused("no checkpoint", stack="nothing")
    refused("finish it first")
    shallow.run()
    refused("other sizes", width=32)
    refused("not a multiple", layers=3)
    refused("another tokenizer", vocabulary_size=60)
    assert not (folder / "work" / "deep").exists()


def test_a_new_start_leaves_no_model_of_an_older_configuration(folder):
    kept = Pretraining(config(folder, keep_steps=[0]))
    kept.begin()
    wider = Pretraining(config(folder, keep_steps=[0], width=32))
    wider.begin()
    assert AutoModelForMaskedLM.from_pretrained(wider.folder / "step-0").config.hidden_size == 32


def test_a_run_starts_from_a_model_and_says_whom_it_owes(folder):
    body = pretrain(config_file(folder, name="body", objectives=LM))
    given = {"attribution": "Body of Ann's model, Apache-2.0.", "license": "apache-2.0", "start": str(body)}
    run = Pretraining(config(folder, name="further", head_learning_rate=0.1, **given))
    weight = "bert.encoder.layer.0.output.dense.weight"
    assert torch.equal(run.model.state_dict()[weight].half(), load(str(body)).model.state_dict()[weight].half())
    card = (run.run() / "README.md").read_text()
    assert "license: apache-2.0" in card and card.rstrip().endswith("Body of Ann's model, Apache-2.0.")
    with pytest.raises(BertologyError, match="'layers' is 2, but the model to start from has 1"):
        Pretraining(config(folder, name="other", layers=2, start=str(body)))
    with pytest.raises(BertologyError, match="no tokenizer"):
        Pretraining(config(folder, name="other", start=str(folder)))


def test_labels_take_the_place_of_segments(folder):
    (folder / "classed.tsv").write_text("".join(f"{'abc'[n % 3]}\tthe cook slept {n}\n" for n in range(60)))
    corpora = {"classed": {"path": str(folder / "classed.tsv"), "format": "labelled"}}
    phases = [{"steps": 2, "length": 16}]
    plain = pretrain(config_file(folder, name="plain", objectives=LM))
    for start in (None, str(plain)):
        changes = {"corpora": corpora, "phases": phases, "objectives": LM, "work": str(folder / "labels")}
        final = pretrain(config_file(folder, name=f"from-{bool(start)}", start=start, **changes))
        model = load(str(final)).model
        assert model.config.type_vocab_size == 3 and model.config.id2label == {0: "a", 1: "b", 2: "c"}
        assert "0 = a, 1 = b, 2 = c" in (final / "README.md").read_text()


@pytest.mark.parametrize("cased", [True, False])
def test_the_saved_tokenizer_cuts_as_the_one_of_the_run(folder, cased):
    run = Pretraining(config(folder, cased=cased))
    run.write_model(folder / "model")
    text = "Ann Smith saw Äpfel, हिन्दी and 他 in New York."
    assert (
        AutoTokenizer.from_pretrained(folder / "model").tokenize(text)
        == run.tokenizer.encode(text, add_special_tokens=False).tokens
    )
    assert ("A" in "".join(run.tokenizer.encode("Ann").tokens[1:-1])) == cased
    assert (run.tokenizer.normalizer.normalize_str("हिन्दी") == "हिन्दी") == cased


def test_the_card_puts_a_pair_loss_beside_a_guess(folder):
    final = pretrain(config_file(folder, objectives={**LM, "sentence-distance": 0.5}))
    card = (final / "README.md").read_text()
    assert re.search(r"masked-tokens \d\.\d{3}, sentence-distance \d\.\d{3} \(a guess: 1\.099\)", card)


def test_the_card_tells_the_run_and_takes_scores(folder):
    spans = {"objectives": {**LM, "span-boundary": 0.5}, "masking": {"unit": "span", "copies": 4}}
    final = pretrain(config_file(folder, **spans, about="A toy.", data="Stories.", language=["en", "fr"]))
    card = (final / "README.md").read_text()
    for text in (
        "license: cc-by-sa-4.0", "language: [en, fr]", "A toy.", "Stories.", "span boundaries (× 0.5)",
        "spans of one to ten words (15%; 80% [MASK], 10% random), 4 fixed masks a text", "`devlin2019bert`",
        "at most 0.000% [UNK]", "| toy |",
    ):  # fmt: skip
        assert text in card, text
    add_scores(final, "Zorro", ["paradigm", "accuracy"], [["agreement", 0.8]])
    add_scores(final, "Zorro", ["paradigm", "accuracy"], [["agreement", 0.9]])
    card = (final / "README.md").read_text()
    assert card.count("## Zorro") == 1 and "| agreement | 0.9 |" in card and "0.8 |" not in card
    assert card.index("## Data") < card.index("## Zorro") < card.index("## Intended use")
    load(str(final))  # the checksums hold


# --- what can break -------------------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_last_checkpoint(folder, monkeypatch):
    run = Pretraining(config(folder))
    run.train_step()
    run.save_checkpoint()
    before = run.checkpoint.read_bytes()

    def full(state, part):
        Path(part).write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(torch, "save", full)
    run.train_step()
    with pytest.raises(BertologyError, match=r"checkpoint.pt cannot be written \(No space left on device\)"):
        run.save_checkpoint()
    assert run.checkpoint.read_bytes() == before and not list(run.folder.glob("*.part*"))


def test_a_limit_on_file_sizes_stops_a_run_like_a_full_disk(folder, capsys):
    """The writers of torch and safetensors have errors of their own; here they meet a real one."""
    Pretraining(config(folder))  # tokenizer and tokens
    for name, kept in (("full", [0]), ("full-too", [])):
        path = config_file(folder, name=name, keep_steps=kept)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (9000, hard))
        try:
            code = cli.main(["pretrain", str(path)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        errors = capsys.readouterr().err
        assert code == 1 and "cannot be written" in errors and errors.count("\n") == 1, errors
        assert not list((folder / "work" / name).glob("*"))


def test_a_failed_folder_leaves_the_old_one(tmp_path):
    with replacing(tmp_path / "model") as part:
        part.mkdir()
        (part / "weights").write_text("old")
    with pytest.raises(BertologyError, match="untouched"), replacing(tmp_path / "model") as part:
        part.mkdir()
        (part / "weights").write_text("new")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert (tmp_path / "model" / "weights").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_folder_that_was_set_aside_when_the_process_was_killed_comes_back(tmp_path):
    (tmp_path / "model.old.part").mkdir()
    (tmp_path / "model.old.part" / "weights").write_text("old")
    with pytest.raises(BertologyError), replacing(tmp_path / "model") as part:
        assert (tmp_path / "model" / "weights").read_text() == "old"
        part.mkdir()
        raise OSError(errno.ENOSPC, "No space left on device")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_folder_that_cannot_be_moved_into_place_leaves_the_old_one(tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_text("old")
    move = Path.replace

    def full(path, target):
        if path.name == "model.part":
            raise OSError(errno.ENOSPC, "No space left on device")
        return move(path, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(BertologyError, match="untouched"), replacing(tmp_path / "model") as part:
        part.mkdir()
    assert (tmp_path / "model" / "weights").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_killing_at_any_moment_leaves_a_checkpoint_to_go_on_from(folder):
    steps = [{"steps": 60, "length": 32}]
    whole = Pretraining(config(folder, name="whole", phases=steps))
    for _ in range(60):
        whole.train_step()
    path = config_file(folder, phases=steps, checkpoint_every=1, keep_steps=list(range(0, 60, 5)))
    command = [sys.executable, "-m", "bertology_utils", "pretrain", str(path), "--resume"]
    checkpoint, random_moment = folder / "work" / "toy" / "checkpoint.pt", random.Random(0)
    for _ in range(2):
        written = {checkpoint.stat().st_mtime_ns} if checkpoint.exists() else set()
        known = len(written)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(written) < known + 3:
            time.sleep(0.001)
            written |= {checkpoint.stat().st_mtime_ns} if checkpoint.exists() else set()
        time.sleep(random_moment.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        state = checkpoints.read(checkpoint)
        assert 0 <= state["step"] <= 60
        for kept in checkpoint.parent.glob("step-*[0-9]"):
            AutoModelForPreTraining.from_pretrained(kept)
    assert 0 < state["step"] < 60
    resumed = Pretraining(config(folder, phases=steps))
    resumed.resume()
    while resumed.step < 60:
        resumed.train_step()
    for key, weight in whole.network.state_dict().items():
        assert torch.equal(weight, resumed.network.state_dict()[key]), key
    assert np.isfinite(resumed.evaluate(2)["mlm_loss"])
