"""The pre-training engine: one YAML file in, one model folder out. Depends on every other module of this folder.

The learning rate warms up, stays constant, and falls linearly over the last `cooldown` steps, so that a run can be
prolonged from its last checkpoint before the fall. Only masked positions go through the prediction head. A checkpoint
holds model, optimiser and step (batches depend on seed and step alone) and is moved into place when complete: killing
the process at any moment loses at most the steps since the last one.
"""

import json
import math
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel
from transformers.utils.logging import disable_progress_bar

from bertology_utils.errors import BertologyError
from bertology_utils.files import locked, replacing
from bertology_utils.project import EVALUATIONS

from . import checkpoints
from .batches import Batches, run_tokenizer, tokenizer_digest
from .card import write_card
from .config import PretrainingConfig, learning_rate_factor, read_config
from .corpus import unknown_share
from .network import Network, build_model, compile_blocks, stack_layers
from .optimizers import Optimizers
from .parallel import Processes
from .passes import Batch
from .precision import bfloat16_speed, fast_dtype
from .wordpieces import special_names

LOCK = ".lock"
LOG_EVERY = 30.0  # seconds
MOST_UNKNOWN = 0.001  # share of [UNK] in held-out text above which the tokenizer does not fit it

console = Console()


class Pretraining:
    """One run: prepares the data, trains from the last checkpoint or from nothing, writes the model."""

    def __init__(self, config: PretrainingConfig, processes: Processes | None = None):
        self.config = config
        self.processes = processes or Processes()
        self.device = self.processes.device
        self.folder = Path(os.path.expanduser(config.work)) / config.name
        with self.processes.main_first(), locked(self.folder.parent / LOCK):  # who comes second finds the tokens made
            self.tokenizer = run_tokenizer(config)
            self.batches = Batches(config, self.tokenizer, self.processes.rank, self.processes.count)
        model = build_model(config, self.batches.special.vocabulary_size, self.batches.segments)
        if model.config.vocab_size < self.batches.special.vocabulary_size:
            raise BertologyError("The tokenizer of the model to start from has more pieces than the model.")
        if self.device.type == "cpu":  # its fused attention is slow to differentiate: half of the time of a short batch
            model.set_attn_implementation("eager")
        else:
            compile_blocks(model)
        self.dtype = self._chosen_dtype()
        self.network = Network(model, self.batches.objectives, config.cls_normalisation).to(self.device)
        self.trained = self.processes.share(self.network)
        self.mean = AveragedModel(self.network) if config.average else None
        self.optimizer = Optimizers(self.network, config, self.dtype)
        self.step = 0
        self.tokens = 0
        self.seconds = 0.0

    @property
    def model(self) -> nn.Module:
        return self.network.model

    @property
    def cased(self) -> bool:
        """Does the tokenizer keep capitals?"""
        return not getattr(self.tokenizer.normalizer, "lowercase", True)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint.pt"

    def _chosen_dtype(self) -> torch.dtype:
        """The number format of products: that of the configuration, else the one in which this processor is faster."""
        if self.config.bf16 is not None:
            return torch.bfloat16 if self.config.bf16 else torch.float32
        dtype = fast_dtype(self.device.type)
        if self.device.type == "cpu" and self.processes.is_main:
            speed = bfloat16_speed(self.device.type)
            console.print(f"products in bfloat16 are {speed:.2g} times as fast as in float32 here: {dtype} is used")
        return dtype

    def _autocast(self) -> AbstractContextManager:
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.dtype == torch.bfloat16)

    def _stack_from(self, path: Path) -> None:
        if not path.exists():
            raise BertologyError(f"The shallower run to stack has no checkpoint: {path}.")
        state = checkpoints.read(path, self.device)
        planned = sum(phase["steps"] for phase in state["config"]["phases"])
        if state["step"] < planned:
            raise BertologyError(f"The run to stack, {path}, is at step {state['step']} of {planned}: finish it first.")
        if state["tokenizer"] != tokenizer_digest(self.tokenizer):
            raise BertologyError(f"The run to stack, {path}, has another tokenizer than this one.")
        try:
            self.model.load_state_dict(stack_layers(state["model"], self.config.layers))
        except RuntimeError:
            raise BertologyError(f"The run to stack, {path}, has other sizes than this one.") from None

    # ------------------------------------------------------------ training

    def train_step(self, batch: Batch | None = None) -> dict[str, Tensor]:
        """One update; the losses of the objectives (nats), before weighting."""
        batch = self.batches[self.step] if batch is None else batch
        weights = self.config.objectives_of(self.config.phase_at(self.step))
        self.network.train()
        with self._autocast():
            losses = self.trained(self._placed(batch), list(weights))
        sum(weights[name] * loss for name, loss in losses.items()).backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step(learning_rate_factor(self.step, self.config))
        self.step += 1
        if self.step > self.config.steps - self.config.average:
            self.mean.update_parameters(self.network)
        self.tokens += int(batch["attention_mask"].sum()) * self.processes.count
        return {name: loss.detach() for name, loss in losses.items()}

    def _placed(self, batch: Batch) -> Batch:
        return {key: tensor.to(self.device, non_blocking=True) for key, tensor in batch.items()}

    def begin(self) -> None:
        """Step 0: the blocks of a shallower run, where one is to be stacked, and the first checkpoint."""
        if self.config.stack is not None:
            self._stack_from(self.folder.parent / self.config.stack / "checkpoint.pt")
        self._keep()

    def run(self) -> Path:
        """Trains to the last step and writes the model folder."""
        progress = _Progress(self)
        if self.step == 0:
            self.begin()
        for batch in self.batches.from_step(self.step):
            progress.add(self.train_step(batch))
            due = self.step % self.config.checkpoint_every == 0 or self.step in self.config.keep_steps
            if due or self.step == self.config.steps:
                self._require_numbers()
            if due and self.step < self.config.steps:
                self._record(self.evaluate)
                self._keep()
        if self.mean is not None:
            self.network.load_state_dict(self.mean.module.state_dict())
        return self.finish(self.config.remarks)

    def _require_numbers(self) -> None:
        """Raises BertologyError where the weights have diverged, so that the last checkpoint before it stays."""
        if not all(tensor.isfinite().all() for tensor in self.network.state_dict().values()):
            raise BertologyError(
                f"The weights are no numbers any more at step {self.step}: lower the learning rates.\n"
                "The last checkpoint and what was recorded up to it are untouched."
            )

    def finish(self, remarks: Mapping[str, str]) -> Path:
        """Evaluates the weights as they are and writes the model folder; `remarks` are further lines of its card."""
        final = self.folder / "final"
        if self.processes.is_main:
            longer = 3 * self.config.evaluation_batches
            evaluation = self._record(lambda: self.evaluate(longer) | self.evaluate_corpora())
            self._keep()
            with replacing(final) as part:
                self.write_model(part)
                write_card(part, self.facts() | evaluation, remarks)
                shutil.copy(self.folder / EVALUATIONS, part)
        self.processes.wait()
        return final

    # ------------------------------------------------------------ evaluation

    @torch.no_grad()
    def evaluate(self, batches: int | None = None) -> dict:
        """Held-out losses (nats a masked piece) on fixed batches.

        `mlm_loss` masks single pieces of single segments in every run, so that runs with unlike objectives compare;
        `losses` are those of the objectives of the last phase, on inputs as in training.
        """
        self.network.eval()
        batches = batches or self.config.evaluation_batches
        mlm = float(np.mean([self._masked_loss(batch) for batch in self.batches.held_out_batches(batches)]))
        names = list(self.config.objectives_of(self.config.phases[-1]))
        own = [self._losses(batch, names) for batch in self.batches.own_batches(math.ceil(batches / 2))]
        losses = {name: float(np.mean([found[name] for found in own])) for name in names}
        return {"step": self.step, "mlm_loss": mlm, "perplexity": math.exp(min(mlm, 50)), "losses": losses}

    @torch.no_grad()
    def evaluate_corpora(self) -> dict[str, dict[str, float]]:
        """Held-out masked-token loss and share of [UNK] of every corpus that a phase reads."""
        self.network.eval()
        weights = np.sum([self.batches.weights(phase) for phase in self.config.phases], axis=0)
        read = [name for name, weight in zip(self.batches.train, weights, strict=True) if weight > 0]
        unk = self.batches.special.unk
        losses = {
            name: [
                self._masked_loss(batch)
                for batch in self.batches.held_out_batches(self.config.evaluation_batches, name)
            ]
            for name in read
        }
        return {
            "corpus_losses": {name: float(np.mean(found)) for name, found in losses.items()},
            "unknown_shares": {name: unknown_share(self.batches.held_out[name], unk) for name in read},
            "amounts": self.batches.amounts_read(self.tokenizer, self.tokens),
        }

    def _masked_loss(self, batch: Batch) -> float:
        with self._autocast():
            return self.network.masked_loss(self._placed(batch)).item()

    def _losses(self, batch: Batch, names: list[str]) -> dict[str, float]:
        with self._autocast():
            return {name: loss.item() for name, loss in self.network(self._placed(batch), names).items()}

    # ------------------------------------------------------------ what is written

    def save_checkpoint(self) -> None:
        state = {
            "config": self.config.model_dump(),
            "model": self.model.state_dict(),
            "heads": self.network.heads.state_dict(),
            **({"mean": self.mean.state_dict()} if self.mean is not None else {}),
            "optimizer": self.optimizer.state_dict(),
            "tokenizer": tokenizer_digest(self.tokenizer),
            "step": self.step,
            "tokens": self.tokens,
            "seconds": self.seconds,
        }
        checkpoints.save(self.checkpoint, state)

    def _keep(self) -> None:
        """The checkpoint of this step, after the model folder where one is due, so that none can be missed."""
        if not self.processes.is_main:
            return
        kept = self.folder / f"step-{self.step}"
        # A run that never got beyond step 0 may have left the start of another configuration.
        if self.step in self.config.keep_steps and (self.step == 0 or not kept.exists()):
            with replacing(kept) as part:
                self.write_model(part)
        self.save_checkpoint()

    def alone(self) -> AbstractContextManager:
        """Holds the run's folder against a second process that would train it; those of one run share it."""
        if not self.processes.is_main:
            return nullcontext()
        return locked(
            self.folder.parent / f".{self.config.name}{LOCK}", f"{self.folder} is being trained by another process."
        )

    def has_progress(self) -> bool:
        return self.checkpoint.exists() and checkpoints.read(self.checkpoint)["step"] > 0

    def resume(self) -> None:
        """Goes on from the last checkpoint, where there is one.

        On one machine with one number of threads the weights are bit by bit those of a run never stopped.
        """
        if not self.checkpoint.exists():
            return
        state = checkpoints.read(self.checkpoint, self.device)
        checkpoints.check_same_run(self.checkpoint, state, self.config, tokenizer_digest(self.tokenizer))
        self.load_weights(state)
        self.optimizer.load_state_dict(state["optimizer"])
        if self.mean is not None:
            self.mean.load_state_dict(state["mean"])
        self.step, self.tokens, self.seconds = state["step"], state["tokens"], state["seconds"]
        if self.processes.is_main:
            self._forget_later_records()

    def load_weights(self, state: Mapping[str, Any]) -> None:
        """The weights of model and heads from a checkpoint."""
        self.model.load_state_dict(state["model"])
        self.network.heads.load_state_dict(state.get("heads", {}))

    def _forget_later_records(self) -> None:
        """Drops what was recorded after the checkpoint, or only half written."""
        log = self.folder / EVALUATIONS
        if not log.exists():
            return
        lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if line.endswith("}\n") and json.loads(line)["step"] <= self.step]
        with replacing(log) as part:
            part.write_text("".join(kept), encoding="utf-8")

    def write_model(self, folder: Path) -> None:
        """The model in half precision with its tokenizer, as transformers loads them."""
        for place, model in self.network.finished().items():
            if len(self.batches.label_names) > 1:
                model.config.id2label = self.batches.label_names
            model.half().save_pretrained(folder / place)
            (folder / place / "tokenizer.json").write_text(self.tokenizer.to_str(), encoding="utf-8")
            settings = {
                "tokenizer_class": "BertTokenizer",
                "do_lower_case": not self.cased,
                "model_max_length": model.config.max_position_embeddings,
            } | special_names()
            (folder / place / "tokenizer_config.json").write_text(json.dumps(settings, indent=2), encoding="utf-8")

    def facts(self) -> dict:
        """What the model card says of the run, beside the evaluation."""
        return self.config.model_dump() | {
            "config": self.config,
            "model": self.model,
            "vocabulary": self.batches.special.vocabulary_size,
            "labels": self.batches.label_names,
            "cased": self.cased,
            "tokens": self.tokens,
            "seconds": self.seconds,
            "precision": str(self.dtype).removeprefix("torch."),
        }

    def _record(self, evaluate) -> dict:
        """Evaluates, prints and logs; in the main process alone."""
        if not self.processes.is_main:
            return {}
        evaluation = evaluate() | {"tokens": self.tokens, "seconds": round(self.seconds)}
        console.print("held out:", evaluation)
        for name, share in evaluation.get("unknown_shares", {}).items():
            if share > MOST_UNKNOWN:
                console.print(f"warning: {share:.2%} of the held-out pieces of '{name}' are [UNK]; raise 'alphabet'")
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            with open(self.folder / EVALUATIONS, "a", encoding="utf-8") as log:
                log.write(json.dumps(evaluation) + "\n")
        except OSError as error:
            raise BertologyError(f"{self.folder} cannot be written ({error.strerror}).") from None
        return evaluation


class _Progress:
    """Prints losses, speed and the time left now and then."""

    def __init__(self, run: Pretraining):
        self.run, self.recent = run, []
        self.started = self.logged = time.monotonic()
        self.before, self.tokens_before = run.seconds, run.tokens

    def add(self, losses: dict[str, Tensor]) -> None:
        run, now = self.run, time.monotonic()
        run.seconds = self.before + now - self.started
        self.recent.append(losses)
        if (now - self.logged > LOG_EVERY or run.step == run.config.steps) and run.processes.is_main:
            self._print((run.tokens - self.tokens_before) / (now - self.started))
            self.logged, self.recent = now, []

    def _print(self, speed: float) -> None:
        run = self.run
        last = self.recent[-1]
        means = {name: np.mean([float(losses[name]) for losses in self.recent if name in losses]) for name in last}
        left = (run.config.steps - run.step) * run.tokens / max(run.step, 1) / speed / 60
        told = "  ".join(f"{name} {mean:.3f}" for name, mean in means.items())
        console.print(f"step {run.step}/{run.config.steps}  {told}  {speed:,.0f} tokens/s  {left:.0f} min left")


def pretrain(config_path: Path, resume: bool = False) -> Path:
    """Pre-trains the model that `config_path` describes and returns the folder of the finished model.

    Raises BertologyError: a wrong configuration or corpus, a checkpoint that would be overwritten or does not fit, or a
    full disk.
    """
    disable_progress_bar()  # that of the writing of weights, which takes no time here
    run = Pretraining(read_config(config_path))
    with run.alone():
        if resume:
            run.resume()
        elif run.has_progress():
            raise BertologyError(f"{run.folder} holds a begun run: go on with --resume, or choose another name.")
        return run.run()
