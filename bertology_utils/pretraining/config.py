"""What decides a pre-training run: one YAML file, checked before anything is read or trained. Depends on pydantic."""

from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, ValidationError, field_validator, model_validator

from ..errors import BertologyError
from .corpus import MOST_PIECES, SPECIAL_TOKENS
from .examples import SHORTEST_INPUT


class Phase(BaseModel):
    """A stretch of training on one mixture of corpora (name to weight)."""

    model_config = ConfigDict(extra="forbid")
    steps: int = Field(gt=0)
    length: int = Field(64, ge=SHORTEST_INPUT)
    mixture: dict[str, NonNegativeFloat]

    @field_validator("mixture")
    @classmethod
    def _some_weight(cls, mixture: dict[str, float]) -> dict[str, float]:
        if sum(mixture.values()) <= 0:
            raise ValueError("at least one corpus needs a weight above zero")
        return mixture


class PretrainingConfig(BaseModel):
    """All that decides a pre-training run; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid")
    name: str
    study: str
    about: str = ""
    data: str = ""
    seed: int = 0
    corpora: dict[str, str]
    work: str
    vocabulary_size: int = Field(12_000, gt=len(SPECIAL_TOKENS), le=MOST_PIECES)
    layers: int = Field(8, gt=0)
    width: int = Field(256, gt=0)
    heads: int = Field(8, gt=0)
    positions: int = 128
    initializer_range: float = 0.02
    stack: str | None = None  # a shallower run, whose blocks this one repeats
    start: str | None = None  # a model folder to train on from: its sizes, tokenizer and weights
    next_sentence: bool = True
    batch: int = Field(32, gt=0)
    learning_rate: float = 1e-3
    matrix_learning_rate: float | None = 3e-3  # of Muon; null: AdamW for the matrices too
    head_learning_rate: float | None = None  # where the prediction head starts from nothing
    weight_decay: float = 0.01
    warmup: int = Field(500, ge=0)
    cooldown: int = Field(2000, ge=0)
    single_share: float = Field(0.25, ge=0, le=1)
    checkpoint_every: int = Field(500, gt=0)
    keep_steps: list[int] = []
    bf16: bool = True
    phases: list[Phase] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> "PretrainingConfig":
        unknown_corpora = {name for phase in self.phases for name in phase.mixture} - set(self.corpora)
        if unknown_corpora:
            raise ValueError(f"a phase mixes the unknown corpus '{sorted(unknown_corpora)[0]}'")
        if self.width % self.heads:
            raise ValueError(f"the width {self.width} is not a multiple of the {self.heads} heads")
        if max(phase.length for phase in self.phases) > self.positions:
            raise ValueError(f"a phase is longer than the {self.positions} positions")
        if len({Path(path).name for path in self.corpora.values()}) < len(self.corpora):
            raise ValueError("two corpora share a file name, by which their tokens are stored")
        return self

    @property
    def steps(self) -> int:
        return sum(phase.steps for phase in self.phases)

    def phase_at(self, step: int) -> Phase:
        for phase in self.phases:
            if step < phase.steps:
                return phase
            step -= phase.steps
        return self.phases[-1]


def read_config(path: Path) -> PretrainingConfig:
    """The configuration in a YAML file.

    Raises:
        BertologyError: no such file, no YAML mapping, an unknown key, or a value that cannot be.
    """
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BertologyError(f"There is no configuration file {path}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BertologyError(f"{path} is not YAML: {' '.join(str(error).split())[:160]}.") from None
    if not isinstance(content, dict):
        raise BertologyError(f"{path} holds no settings; a configuration is a list of 'key: value' lines.")
    try:
        return PretrainingConfig(**content)
    except ValidationError as error:
        first = error.errors()[0]
        where = f"'{'.'.join(map(str, first['loc']))}': " if first["loc"] else ""
        raise BertologyError(f"{path}: {where}{first['msg'].removeprefix('Value error, ')}.") from None


def learning_rate_factor(step: int, config: PretrainingConfig) -> float:
    """Trapezoid: linear warm-up, constant, linear fall to zero; 0 steps of either mean none."""
    rising = min(1.0, (step + 1) / max(1, config.warmup))
    falling = min(1.0, (config.steps - step) / max(1, config.cooldown))
    return min(rising, falling)
