"""Pre-training steps of our engine beside those of the `Trainer` of transformers: same model, text and batch size.

Both start from the same weights and draw masked sentence pairs from the same text, on the same threads and without
dropout. The Trainer uses AdamW; ours is judged with what the recipe of `pocket-bert` uses, Muon for matrices, and timed
with the Trainer's AdamW besides. The text is made of pseudo-words with Zipf's frequencies, so that the
vocabulary has its full size without a corpus.
"""

import copy
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import (
    BertForPreTraining,
    DataCollatorForLanguageModeling,
    PreTrainedTokenizerFast,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.models.bert.modeling_bert import BertForPreTrainingOutput
from transformers.trainer_callback import PrinterCallback

from bertology_utils.errors import BertologyError
from bertology_utils.pretraining.config import PretrainingConfig
from bertology_utils.pretraining.engine import Pretraining
from bertology_utils.pretraining.wordpieces import as_pretrained

from .measure import Case, Way, timed

LENGTH = 64
WARM_UP = 2  # steps that are not timed
RATE = 1e-3
MUON_RATE = 3e-3
SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
NOT_WORSE = 0.1  # nats by which our loss after the same steps may lie above the Trainer's


def prepare_pretraining(
    folder: Path, layers: int, width: int, heads: int, vocabulary: int, batch: int, steps: int, sentences: int
) -> Case:
    """Ways that train `steps` timed steps and return the loss in nats on fixed masked rows; seconds are of one step."""
    settings = settings_of(folder, layers, width, heads, vocabulary, batch, steps, sentences)
    text = Path(settings["corpora"]["words"])
    run = Pretraining(PretrainingConfig(**settings))
    tokenizer = as_pretrained(run.tokenizer)
    examples = pairs(text, tokenizer)
    held_out = DataCollatorForLanguageModeling(tokenizer, seed=1)([examples.pop() for _ in range(batch)])

    def engine(**changes: Any) -> Way:
        return lambda: time_engine(PretrainingConfig(**settings | changes), run.model.state_dict(), steps, held_out)

    def trainer(model_class: type = BertForPreTraining, attention: str = "sdpa", **options: Any) -> Way:
        model = model_class(run.model.config)
        model.set_attn_implementation(attention)  # that of the library unless told otherwise
        arguments = {"output_dir": str(folder / "trainer"), "per_device_train_batch_size": batch, **options}
        weights = copy.deepcopy(run.model.state_dict())
        return lambda: time_trainer(model, weights, examples, tokenizer, steps, arguments, held_out)

    return Case(
        plain={"Trainer, float32": trainer(), "Trainer, bfloat16": trainer(bf16=True)},
        parts={
            "Trainer, bfloat16, head at masked pieces only": trainer(HeadAtMasks, bf16=True),
            "Trainer, bfloat16, plain attention": trainer(attention="eager", bf16=True),
            "ours, float32": engine(bf16=False),
            "ours, bfloat16, AdamW for matrices too": engine(),
        },
        ours={"ours, bfloat16, Muon for matrices": engine(matrix_learning_rate=MUON_RATE)},
        difference=lambda theirs, own: own - theirs,
        tolerance=NOT_WORSE,
    )


def settings_of(
    folder: Path, layers: int, width: int, heads: int, vocabulary: int, batch: int, steps: int, sentences: int
) -> dict[str, Any]:
    """The settings of a run on made text, which is written."""
    text = folder / "words.txt"
    write_text(text, sentences, vocabulary)
    return {
        "name": "bench", "study": "devlin2019bert", "corpora": {"words": str(text)}, "work": str(folder),
        "layers": layers, "width": width, "heads": heads, "vocabulary_size": vocabulary, "batch": batch,
        "learning_rate": RATE, "matrix_learning_rate": None, "warmup": 0, "cooldown": 0, "single_share": 0.0,
        "phases": [{"steps": WARM_UP + steps, "length": LENGTH, "mixture": {"words": 1.0}}],
    }  # fmt: skip


def muon_step(folder: Path, steps: int, **size: int) -> float:
    """Median seconds of a step in float32 with Muon for matrices, its batch included."""
    settings = settings_of(folder, steps=steps, **size) | {"bf16": False, "matrix_learning_rate": MUON_RATE}
    return median(step_seconds(Pretraining(PretrainingConfig(**settings)), steps))


# --- the two sides --------------------------------------------------------------------------------------------------


def time_engine(
    config: PretrainingConfig, weights: dict[str, torch.Tensor], steps: int, held_out: dict[str, torch.Tensor]
) -> tuple[float, float]:
    """Median seconds of a step of our engine, its batch included, and the held-out loss after the last."""
    run = Pretraining(config)
    run.model.load_state_dict(weights)
    return median(step_seconds(run, steps)), masked_loss(run.model, held_out)


def step_seconds(run: Pretraining, steps: int) -> list[float]:
    """Seconds of each step behind the first ones."""
    return [timed(run.train_step)()[0] for _ in range(WARM_UP + steps)][WARM_UP:]


def time_trainer(
    model: BertForPreTraining,
    weights: dict[str, torch.Tensor],
    examples: list[dict[str, Any]],
    tokenizer: PreTrainedTokenizerFast,
    steps: int,
    arguments: dict[str, Any],
    held_out: dict[str, torch.Tensor],
) -> tuple[float, float]:
    """Median seconds from the end of one step to the end of the next, and the held-out loss after the last."""
    model.load_state_dict(weights)
    clock = StepClock()
    trainer = Trainer(
        model,
        trainer_arguments(max_steps=WARM_UP + steps, **arguments),
        DataCollatorForLanguageModeling(tokenizer),
        examples,
        callbacks=[clock],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    seconds = np.diff(clock.ends)[WARM_UP - 1 :]
    return float(np.median(seconds)), masked_loss(trainer.accelerator.unwrap_model(trainer.model), held_out)


def trainer_arguments(**options: Any) -> TrainingArguments:
    """The engine's optimisation, said in the Trainer's words; nothing is logged or saved."""
    try:
        return TrainingArguments(
            learning_rate=RATE, lr_scheduler_type="constant", weight_decay=0.01, adam_beta2=0.98, adam_epsilon=1e-6,
            max_grad_norm=1.0, use_cpu=not torch.cuda.is_available(), save_strategy="no", logging_strategy="no",
            report_to="none", disable_tqdm=True, dataloader_pin_memory=False, seed=0, **options,
        )  # fmt: skip
    except ImportError:
        raise BertologyError("The Trainer of transformers needs another package: pip install accelerate") from None


class StepClock(TrainerCallback):
    """Notes when each step ended."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_step_end(self, *arguments: Any, **more: Any) -> None:
        self.ends.append(time.perf_counter())


class HeadAtMasks(BertForPreTraining):
    """The same model and loss, with the vocabulary scored where a piece is to be predicted and nowhere else."""

    def forward(self, input_ids, token_type_ids, attention_mask, labels, next_sentence_label):
        output = self.bert(input_ids, attention_mask, token_type_ids)
        asked = labels != -100
        scores = self.cls.predictions(output.last_hidden_state[asked])
        relation = self.cls.seq_relationship(output.pooler_output)
        loss = nn.functional.cross_entropy(scores, labels[asked])
        return BertForPreTrainingOutput(loss + nn.functional.cross_entropy(relation, next_sentence_label.view(-1)))


@torch.no_grad()
def masked_loss(model: BertForPreTraining, rows: dict[str, torch.Tensor]) -> float:
    """Cross-entropy in nats of the masked pieces of fixed rows, in float32."""
    inputs = {name: rows[name].to(model.device) for name in ("input_ids", "token_type_ids", "attention_mask")}
    hidden = model.bert.eval()(**inputs).last_hidden_state
    logits = model.cls.predictions(hidden).float().cpu()
    return nn.functional.cross_entropy(logits.flatten(0, 1), rows["labels"].flatten()).item()


# --- the text -------------------------------------------------------------------------------------------------------


def write_text(path: Path, sentences: int, words: int, seed: int = 0) -> None:
    """Short sentences of pseudo-words, fifty a document; the n-th word is drawn with a probability like 1/n."""
    rng = np.random.default_rng(seed)
    spelt = np.array(["".join(SYLLABLES[i] for i in rng.integers(len(SYLLABLES), size=3)) for _ in range(words)])
    shares = 1 / np.arange(1, words + 1)
    lines = [
        " ".join(spelt[rng.choice(words, size=rng.integers(3, 7), p=shares / shares.sum())]) + "."
        for _ in range(sentences)
    ]
    path.write_text("\n\n".join("\n".join(lines[i : i + 50]) for i in range(0, sentences, 50)), encoding="utf-8")


def pairs(path: Path, tokenizer: PreTrainedTokenizerFast, seed: int = 0) -> list[dict[str, Any]]:
    """Full rows `[CLS] a [SEP] b [SEP]` of running text, half of them with a second part from elsewhere."""
    flat = tokenizer(path.read_text(encoding="utf-8"), add_special_tokens=False, verbose=False)["input_ids"]
    half = (LENGTH - 3) // 2
    parts = [flat[i : i + half] for i in range(0, len(flat) - half, half)]
    rng = np.random.default_rng(seed)
    cls, sep = tokenizer.cls_token_id, tokenizer.sep_token_id
    rows = []
    for first, following in zip(parts[::2], parts[1::2], strict=False):
        is_random = int(rng.integers(2))
        second = parts[rng.integers(len(parts))] if is_random else following
        rows.append(
            {
                "input_ids": [cls, *first, sep, *second, sep],
                "token_type_ids": [0] * (half + 2) + [1] * (half + 1),
                "attention_mask": [1] * (2 * half + 3),
                "next_sentence_label": is_random,
            }
        )
    return rows
