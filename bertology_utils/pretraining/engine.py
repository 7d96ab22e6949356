"""The pre-training engine: one YAML file in, one model folder out. Depends on `corpus`, `examples` and transformers.

The learning rate warms up, stays constant, and falls linearly over the last `cooldown` steps, so that a run can be
prolonged from its last checkpoint before the fall. Only masked positions go through the prediction head. A checkpoint
holds model, optimiser and step (batches depend on seed and step alone) and is moved into place when complete: killing
the process at any moment loses at most the steps since the last one.
"""

import hashlib
import json
import math
import os
import time
from pathlib import Path
from pickle import UnpicklingError

import numpy as np
import torch
from rich.console import Console
from tokenizers import Tokenizer
from torch import nn
from transformers import BertConfig, BertForPreTraining

from ..errors import BertologyError
from .card import write_card
from .config import PretrainingConfig, learning_rate_factor, read_config
from .corpus import Corpus, tokenize, train_tokenizer
from .examples import IGNORED, PairSampler, SpecialIds, collate, mask_tokens

console = Console()


def build_model(config: PretrainingConfig, vocabulary_size: int) -> BertForPreTraining:
    """The model at the first step: from nothing, or the weights of `start` without dropout, with fresh heads."""
    torch.manual_seed(config.seed)
    if config.start is not None:
        quiet = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "dtype": torch.float32}
        return BertForPreTraining.from_pretrained(config.start, local_files_only=True, **quiet)
    return BertForPreTraining(
        BertConfig(
            vocab_size=vocabulary_size,
            hidden_size=config.width,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            intermediate_size=4 * config.width,
            max_position_embeddings=config.positions,
            initializer_range=config.initializer_range,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )


def stack_layers(shallow: dict[str, torch.Tensor], layers: int) -> dict[str, torch.Tensor]:
    """Weights of a model of `layers` layers whose blocks repeat those of a shallower one (Gong et al. 2019)."""
    prefix = "bert.encoder.layer."
    own = {int(name.removeprefix(prefix).split(".")[0]) for name in shallow if name.startswith(prefix)}
    stacked = {name: tensor for name, tensor in shallow.items() if not name.startswith(prefix)}
    for layer in range(layers):
        source = f"{prefix}{layer % len(own)}."
        stacked |= {
            f"{prefix}{layer}.{name.removeprefix(source)}": tensor.clone()
            for name, tensor in shallow.items()
            if name.startswith(source)
        }
    return stacked


def _adamw(parameters: list[nn.Parameter], config: PretrainingConfig) -> torch.optim.AdamW:
    """AdamW with weight decay on matrices and embeddings only."""
    decayed = {"params": [p for p in parameters if p.ndim > 1], "weight_decay": config.weight_decay}
    plain = {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0}
    return torch.optim.AdamW([decayed, plain], lr=config.learning_rate, betas=(0.9, 0.98), eps=1e-6, fused=True)


class Optimizers:
    """AdamW for embeddings, norms and heads; Muon for the matrices of the blocks, which learn faster with it."""

    def __init__(self, model: BertForPreTraining, config: PretrainingConfig):
        muon = config.matrix_learning_rate is not None
        matrices = [p for p in model.bert.encoder.parameters() if p.ndim == 2] if muon else []
        head = list(model.cls.predictions.transform.parameters())
        groups = {"matrices": {id(p) for p in matrices}, "head": {id(p) for p in head}}
        body = [p for p in model.parameters() if not any(id(p) in group for group in groups.values())]
        self.parts = [_adamw(body, config), _adamw(head, config)]
        self.rates = [config.learning_rate, config.head_learning_rate or config.learning_rate]
        if muon:
            decay, rate = config.weight_decay, config.matrix_learning_rate
            self.parts.append(torch.optim.Muon(matrices, rate, weight_decay=decay, adjust_lr_fn="match_rms_adamw"))
            self.rates.append(rate)

    def step(self, factor: float) -> None:
        """One update at `factor` of the peak learning rates; clears the gradients."""
        for part, rate in zip(self.parts, self.rates, strict=True):
            for group in part.param_groups:
                group["lr"] = rate * factor
            part.step()
            part.zero_grad(set_to_none=True)

    def state_dict(self) -> list[dict]:
        return [part.state_dict() for part in self.parts]

    def load_state_dict(self, states: list[dict]) -> None:
        for part, state in zip(self.parts, states, strict=True):
            part.load_state_dict(state)


def losses(model: BertForPreTraining, batch: dict[str, torch.Tensor], labels: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Masked-token and next-sentence loss (nats); the vocabulary is scored at the masked positions only."""
    keys = ("input_ids", "attention_mask", "token_type_ids")
    output = model.bert(**{key: batch[key] for key in keys})
    at_masks = labels != IGNORED
    scores = model.cls.predictions(output.last_hidden_state[at_masks])
    relation = model.cls.seq_relationship(output.pooler_output)
    paired = batch["next_sentence_label"] != IGNORED
    return (
        _mean_cross_entropy(scores, labels[at_masks]),
        _mean_cross_entropy(relation[paired], batch["next_sentence_label"][paired]),
    )


def _mean_cross_entropy(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """0 instead of the mean over nothing, which is no number and would spoil all weights."""
    return nn.functional.cross_entropy(scores.float(), labels) if len(labels) else scores.float().sum()


class Pretraining:
    """One run: prepares the data, trains from the last checkpoint or from nothing, writes the model."""

    def __init__(self, config: PretrainingConfig):
        self.config = config
        self.folder = Path(os.path.expanduser(config.work)) / config.name
        self.tokenizer = self._tokenizer()
        ids = {t: self.tokenizer.token_to_id(f"[{t.upper()}]") for t in ("pad", "cls", "sep", "mask")}
        self.special = SpecialIds(**ids, vocabulary_size=self.tokenizer.get_vocab_size())
        self.train: dict[str, Corpus] = {}
        self.held_out: dict[str, Corpus] = {}
        for name, path in config.corpora.items():
            digest = hashlib.sha256(self.tokenizer.to_str().encode()).hexdigest()[:8]
            store = Path(os.path.expanduser(config.work)) / f"tokens-{digest}"
            self.train[name], self.held_out[name] = tokenize(Path(path), self.tokenizer, store).split()
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = build_model(config, self.special.vocabulary_size).to(self.device)
        if config.stack is not None:
            self._stack_from(self.folder.parent / config.stack / "checkpoint.pt")
        self.optimizer = Optimizers(self.model, config)
        self.step = 0
        self.tokens = 0
        self.seconds = 0.0

    def _tokenizer(self) -> Tokenizer:
        if self.config.start is not None:
            tokenizer = Tokenizer.from_file(str(Path(self.config.start) / "tokenizer.json"))
            tokenizer.no_truncation()
            tokenizer.no_padding()
            return tokenizer
        path = Path(os.path.expanduser(self.config.work)) / f"tokenizer-{self.config.vocabulary_size}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            paths = [Path(p) for p in self.config.corpora.values()]
            train_tokenizer(paths, self.config.vocabulary_size).save(str(path))
        return Tokenizer.from_file(str(path))

    def _stack_from(self, path: Path) -> None:
        if not path.exists():
            raise BertologyError(f"The shallower run to stack has no checkpoint: {path}.")
        state = self._read_checkpoint(path)
        try:
            self.model.load_state_dict(stack_layers(state["model"], self.config.layers))
        except RuntimeError:
            raise BertologyError(f"The run to stack, {path}, has other sizes than this one.") from None

    def batch(self, step: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """The batch of a step depends on seed and step alone, so a resumed run sees what an unbroken one does."""
        phase = self.config.phase_at(step)
        rng = np.random.default_rng((self.config.seed, step))
        sampler = PairSampler(
            [(self.train[n], w) for n, w in phase.mixture.items()], phase.length, self.config.single_share, rng
        )
        batch_size = max(1, self.config.batch * 64 // phase.length)
        return self._masked([sampler.draw() for _ in range(batch_size)], int(rng.integers(2**31)))

    def _masked(self, examples: list, seed: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        batch = collate(examples, self.special)
        batch["input_ids"], labels = mask_tokens(batch["input_ids"], self.special, torch.Generator().manual_seed(seed))
        return {k: v.to(self.device) for k, v in batch.items()}, labels.to(self.device)

    def train_step(self) -> tuple[float, float]:
        batch, labels = self.batch(self.step)
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.config.bf16):
            mlm, nsp = losses(self.model, batch, labels)
        (mlm + nsp if self.config.next_sentence else mlm).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step(learning_rate_factor(self.step, self.config))
        self.step += 1
        self.tokens += int(batch["attention_mask"].sum())
        return mlm.item(), nsp.item()

    @torch.no_grad()
    def evaluate(self, batches: int = 20) -> dict[str, float]:
        """Held-out masked-token loss, its accuracy, and next-sentence accuracy, on fixed batches."""
        rng = np.random.default_rng(12345)
        mixture = [(corpus, self.config.phases[-1].mixture.get(name, 0.0)) for name, corpus in self.held_out.items()]
        sampler = PairSampler(mixture, self.config.phases[-1].length, self.config.single_share, rng)
        self.model.eval()
        totals = np.zeros(2)
        for _ in range(batches):
            batch, labels = self._masked([sampler.draw() for _ in range(32)], int(rng.integers(2**31)))
            with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.config.bf16):
                totals += [loss.item() for loss in losses(self.model, batch, labels)]
        self.model.train()
        mlm, nsp = totals / batches
        return {"step": self.step, "mlm_loss": float(mlm), "perplexity": math.exp(mlm), "nsp_loss": float(nsp)}

    def save_checkpoint(self) -> None:
        state = {
            "config": self.config.model_dump(),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "tokens": self.tokens,
            "seconds": self.seconds,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / "checkpoint.pt.part"
        torch.save(state, part)
        part.replace(self.folder / "checkpoint.pt")
        if self.step in self.config.keep_steps:
            self.write_model(self.folder / f"step-{self.step}")

    def has_progress(self) -> bool:
        path = self.folder / "checkpoint.pt"
        return path.exists() and self._read_checkpoint(path)["step"] > 0

    def resume(self) -> None:
        path = self.folder / "checkpoint.pt"
        if not path.exists():
            return
        state = self._read_checkpoint(path)
        fixed = ("vocabulary_size", "layers", "width", "heads", "positions", "seed")
        changed = [key for key in fixed if state["config"].get(key) != getattr(self.config, key)]
        if changed:
            raise BertologyError(f"{path} is of another configuration ('{changed[0]}' differs). Choose another name.")
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.tokens, self.seconds = state["step"], state["tokens"], state["seconds"]

    def _read_checkpoint(self, path: Path) -> dict:
        try:
            return torch.load(path, map_location=self.device, weights_only=True)
        except (RuntimeError, EOFError, UnpicklingError) as error:
            raise BertologyError(f"The checkpoint {path} is damaged ({str(error).splitlines()[0][:100]}).") from None

    def write_model(self, folder: Path) -> None:
        """The model in half precision with its tokenizer, as transformers loads them."""
        folder.mkdir(parents=True, exist_ok=True)
        half = build_model(self.config, self.special.vocabulary_size)
        half.load_state_dict(self.model.state_dict())
        half.half().save_pretrained(folder)
        self.tokenizer.save(str(folder / "tokenizer.json"))
        tokenizer_config = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": True,
            "model_max_length": self.config.positions,
        } | {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
        (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config, indent=2), encoding="utf-8")

    def run(self) -> Path:
        started, logged, recent = time.monotonic(), time.monotonic(), []
        before, tokens_before = self.seconds, self.tokens
        self.model.train()
        if self.step == 0:
            self.save_checkpoint()
        while self.step < self.config.steps:
            recent.append(self.train_step())
            self.seconds = before + time.monotonic() - started
            if time.monotonic() - logged > 30 or self.step == self.config.steps:
                self._log(np.mean(recent, axis=0), (self.tokens - tokens_before) / (time.monotonic() - started))
                logged, recent = time.monotonic(), []
            if self.step % self.config.checkpoint_every == 0 or self.step in self.config.keep_steps:
                self.save_checkpoint()
                self._record(self.evaluate())
        self.save_checkpoint()
        evaluation = self.evaluate(batches=60)
        self._record(evaluation)
        self.write_model(self.folder / "final")
        write_card(self.folder / "final", self.facts() | evaluation)
        return self.folder / "final"

    def facts(self) -> dict:
        """What the model card says of the run, beside the evaluation."""
        config = self.config
        parameters = sum(p.numel() for p in self.model.parameters()) / 1e6
        stages = [f"{p.steps:,} steps at length {p.length} on {', '.join(p.mixture)}" for p in config.phases]
        stacked = f"; blocks started from those of {config.stack} (progressive stacking)" if config.stack else ""
        effort = f"{self.tokens / 1e6:.1f} million pieces in {self.seconds / 60:.0f} minutes"
        history = f"{effort}: {'; '.join(stages)}{stacked}"
        chosen = config.model_dump(include={"name", "about", "data", "layers", "width", "heads", "positions"})
        return chosen | {"parameters": parameters, "vocabulary": self.special.vocabulary_size, "history": history}

    def _log(self, recent: np.ndarray, speed: float) -> None:
        left = (self.config.steps - self.step) * self.tokens / max(self.step, 1) / speed / 60
        console.print(
            f"step {self.step}/{self.config.steps}  "
            f"masked-token loss {recent[0]:.3f}  next-sentence loss {recent[1]:.3f}  "
            f"{speed:,.0f} tokens/s  {left:.0f} min left"
        )

    def _record(self, evaluation: dict[str, float]) -> None:
        evaluation |= {"tokens": self.tokens, "seconds": round(self.seconds)}
        console.print("held out:", evaluation)
        with open(self.folder / "evaluations.jsonl", "a", encoding="utf-8") as log:
            log.write(json.dumps(evaluation) + "\n")


def pretrain(config_path: Path, resume: bool = False) -> Path:
    """Pre-trains the model that `config_path` describes and returns the folder of the finished model.

    Raises:
        BertologyError: a wrong configuration or corpus, or a checkpoint that would be overwritten or does not fit.
    """
    run = Pretraining(read_config(config_path))
    if resume:
        run.resume()
    elif run.has_progress():
        raise BertologyError(f"{run.folder} holds a begun run: go on with --resume, or choose another name.")
    return run.run()
