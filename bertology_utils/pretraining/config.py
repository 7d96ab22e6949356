"""What decides a pre-training run: one YAML file, checked before anything is read or trained. Depends on pydantic.

A file may extend another one (`extends: nano.yaml`): its keys replace those of the other, and its keys of `masking`
those of the other's `masking`, so that a variant shows what it changes and nothing else. Later rounds and other seeds
stand in the file itself, under `variants`, each over the file's own keys or those of another (`of`): `FILE.yaml#NAME`.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    ValidationError,
    field_validator,
    model_validator,
)

from bertology_utils.bibliography import load_references
from bertology_utils.errors import BertologyError, first_fault, unknown
from bertology_utils.files import read_yaml
from bertology_utils.pretraining.objectives import PAIR_TASKS

from .corpus import MOST_PIECES
from .examples import SHORTEST_INPUT
from .sources import CorpusSource
from .wordpieces import SPECIAL_TOKENS

OBJECTIVES = (
    "masked-tokens",
    "span-boundary",
    "replaced-tokens",
    "permutation",
    "ngram-order",
    "capitals",
    "z-loss",
    *PAIR_TASKS,
)
OF_MASKS = ("span-boundary", "replaced-tokens", "z-loss")  # what cannot be without masked tokens
Objectives = dict[str, PositiveFloat]


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Masking(_Settings):
    """What masked language modelling hides, and how.

    unit: `piece` (devlin2019bert), `word` (its whole-word masking), `phrase` (zhang2019ernie: runs of capitalised
    words, or the entries of the file `phrases`), `ngram` (lan2019albert) or `span` (joshi2020spanbert).
    copies: None draws masks anew at every step (liu2019roberta); a number makes that many fixed ones of every text.
    subsample: rare pieces more often (lample2019crosslingual).
    """

    unit: Literal["piece", "word", "phrase", "ngram", "span"] = "piece"
    share: float = Field(0.15, gt=0, lt=1)
    symbol: Literal["[MASK]", "[UNK]"] = "[MASK]"
    hidden: float = Field(0.8, ge=0, le=1)
    replaced: float = Field(0.1, ge=0, le=1)
    copies: int | None = Field(None, gt=0)
    subsample: bool = False
    phrases: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "Masking":
        if self.hidden + self.replaced > 1:
            raise ValueError("the hidden and the replaced share are more than one together")
        if self.subsample and self.unit != "piece":
            raise ValueError("subsampling by frequency chooses single pieces: leave 'unit' out")
        if self.phrases and self.unit != "phrase":
            raise ValueError("a list of phrases needs 'unit: phrase'")
        return self


def _some_weight(mixture: Any) -> Any:
    if (isinstance(mixture, dict) and sum(mixture.values()) <= 0) or mixture == []:
        raise ValueError("at least one corpus needs a weight above zero")
    return mixture


Mixture = Annotated[dict[str, NonNegativeFloat] | list[str], AfterValidator(_some_weight)]
"""Name to weight, or names alone, weighted by size."""


class Phase(_Settings):
    """A stretch of training on one mixture of corpora."""

    steps: int = Field(gt=0)
    length: int = Field(64, ge=SHORTEST_INPUT)
    mixture: Mixture | None = None
    objectives: Objectives | None = None  # instead of those of the run


class PretrainingConfig(_Settings):
    """All that decides a pre-training run; unknown keys are errors."""

    name: str = Field(pattern=r"^\w[\w.-]*$")
    study: str
    about: str = ""
    data: str = ""
    language: list[str] = ["en"]
    license: str = "cc-by-sa-4.0"
    attribution: str = ""  # what the licence of a model that this one starts from asks to be said
    remarks: dict[str, str] = {}  # further lines of the table in the model card
    seed: int = Field(0, ge=0)
    corpora: dict[str, CorpusSource] = Field(min_length=1)
    smoothing: float | None = Field(None, ge=0, le=1)  # sizes to this power weigh corpora where a phase does not
    work: str
    vocabulary_size: int = Field(12_000, gt=len(SPECIAL_TOKENS), le=MOST_PIECES)
    alphabet: int = Field(400, gt=0)  # characters that the tokenizer may know; Chinese needs thousands
    cased: bool = False  # keep capitals and accents, without which Hindi loses its vowel signs
    tokenizer: str | None = None  # a tokenizer.json to use instead of one trained on the corpora
    layers: int = Field(8, gt=0)
    width: int = Field(256, gt=0)
    heads: int = Field(8, gt=0)
    inner: int | None = Field(None, gt=0)  # width of the feed-forward blocks; 4 x width by default
    positions: int = Field(128, ge=SHORTEST_INPUT)
    initializer_range: PositiveFloat = 0.02
    body: Literal["bert", "norms-first", "rotary", "gated", "modern"] = "bert"  # see `network.BODIES`
    scaled_start: bool = False  # what a block adds to its input starts smaller, by the root of twice the layers
    embedding_width: int | None = Field(None, gt=0)  # factorised embeddings
    shared_layers: bool = False  # one block, applied `layers` times
    cls_normalisation: bool = False  # the [CLS] vector standardised before the heads that read it
    stack: str | None = None  # a shallower run, whose blocks this one repeats
    start: str | None = None  # a model folder to train on from: its sizes, tokenizer and weights
    objectives: Objectives = {"masked-tokens": 1.0, "next-sentence": 1.0}  # with the weights of their losses
    masking: Masking = Masking()
    stream: bool = False  # text across sentences and documents instead of pairs or segments
    single_share: float = Field(0.25, ge=0, le=1)
    batch: int = Field(32, gt=0)  # inputs of 64 pieces; longer ones make fewer
    learning_rate: PositiveFloat = 1e-3
    matrix_learning_rate: PositiveFloat | None = 3e-3  # of Muon; null: AdamW for the matrices too
    head_learning_rate: PositiveFloat | None = None  # where the prediction head starts from nothing
    weight_decay: float = Field(0.01, ge=0)
    warmup: int = Field(500, ge=0)
    cooldown: int = Field(2000, ge=0)
    average: int = Field(0, ge=0)  # the last steps, whose mean weights are the model; 0: those of the last step
    checkpoint_every: int = Field(500, gt=0)
    evaluation_batches: int = Field(
        20, gt=0
    )  # of 32 held-out inputs at every checkpoint; three times as many at the end
    evaluation_mixture: Mixture | None = None  # of held-out text; by default the last phase's
    keep_steps: list[int] = []  # whose models are kept
    workers: int = Field(0, ge=0)  # processes that prepare batches beside a GPU
    bf16: bool | None = None  # autocast; by default where the processor is faster in it
    phases: list[Phase] = Field(min_length=1)

    @field_validator("corpora", mode="before")
    @classmethod
    def _short_form(cls, corpora: Any) -> Any:
        """A corpus may be given by its path alone."""
        if not isinstance(corpora, dict):
            return corpora
        return {name: {"path": source} if isinstance(source, str) else source for name, source in corpora.items()}

    @field_validator("study")
    @classmethod
    def _known_study(cls, study: str) -> str:
        if study not in load_references():
            raise ValueError(f"the bibliography has no study '{study}'")
        return study

    @model_validator(mode="after")
    def _consistent(self) -> "PretrainingConfig":
        for check in (_check_data, _check_sizes, _check_body, _check_objectives):
            check(self)
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

    def objectives_of(self, phase: Phase) -> Objectives:
        return phase.objectives or self.objectives

    @property
    def all_objectives(self) -> list[str]:
        """Every objective of any phase, each once."""
        return list(dict.fromkeys(name for phase in self.phases for name in self.objectives_of(phase)))

    def rows_of(self, phase: Phase) -> int:
        """Inputs a batch."""
        return max(1, self.batch * 64 // phase.length)


def _check_data(config: PretrainingConfig) -> None:
    known = set(config.corpora)
    mixtures = [config.evaluation_mixture, *(phase.mixture for phase in config.phases)]
    unknown_corpora = {name for mixture in mixtures for name in mixture or ()} - known
    if unknown_corpora:
        raise ValueError(f"a mixture names the unknown corpus '{sorted(unknown_corpora)[0]}'")
    if len({source.title for source in config.corpora.values()}) < len(known):
        raise ValueError("two corpora share a file name, by which their tokens are stored")
    if config.smoothing is not None and all(isinstance(phase.mixture, dict) for phase in config.phases):
        raise ValueError("'smoothing' changes nothing where every phase gives its own weights")
    if config.start and {"cased", "alphabet"} & config.model_fields_set:
        raise ValueError("a run that starts from a model has that model's vocabulary: leave those keys out")
    if config.tokenizer and config.start:
        raise ValueError("a run that starts from a model has that model's tokenizer: leave 'tokenizer' out")


def _check_sizes(config: PretrainingConfig) -> None:
    if config.width % config.heads:
        raise ValueError(f"the width {config.width} is not a multiple of the {config.heads} heads")
    if max(phase.length for phase in config.phases) > config.positions:
        raise ValueError(f"a phase is longer than the {config.positions} positions")
    if config.stack and config.start:
        raise ValueError("a run either starts from a model or stacks a shallower run, not both")
    albert = config.shared_layers or config.embedding_width
    if albert and (config.stack or config.start):
        raise ValueError("shared layers and factorised embeddings cannot start from another model")
    if config.average > config.steps:
        raise ValueError(f"'average' is more than the run's {config.steps} steps")
    if config.stack == config.name:
        raise ValueError("a run cannot stack itself")
    if config.keep_steps and not 0 <= min(config.keep_steps) <= max(config.keep_steps) <= config.steps:
        raise ValueError(f"'keep_steps' lie outside of the run's {config.steps} steps")


def _check_body(config: PretrainingConfig) -> None:
    begun = config.start or config.stack
    other_tasks = [name for name in config.all_objectives if name not in ("masked-tokens", "z-loss")]
    if config.body != "bert" and other_tasks:
        raise ValueError(f"a body '{config.body}' fills in blanks: leave '{other_tasks[0]}' out")
    if config.body != "bert" and (begun or config.shared_layers or config.embedding_width):
        raise ValueError(f"a body '{config.body}' is trained from nothing, with layers and embeddings of its own")
    if config.scaled_start and (begun or config.body not in ("bert", "norms-first")):
        raise ValueError("'scaled_start' is for a BERT, or one with norms first, that begins from nothing")


def _check_objectives(config: PretrainingConfig) -> None:
    for phase in config.phases:
        _check_phase(config, phase)
    replaced = "replaced-tokens" in config.all_objectives
    if replaced and not set(config.all_objectives) <= {"masked-tokens", "replaced-tokens"}:
        raise ValueError("replaced-token detection goes with masked tokens (its generator) and nothing else")
    if replaced and (config.stack or config.start or config.shared_layers or config.embedding_width):
        raise ValueError("replaced-token detection trains a generator and a discriminator from nothing")
    paired = [name for name in config.all_objectives if name in PAIR_TASKS]
    if config.stream and "single_share" in config.model_fields_set:
        raise ValueError("a stream of text has no pairs, so 'single_share' changes nothing")
    if config.stream and paired:
        raise ValueError(f"a stream of text has no pairs for '{paired[0]}'")
    if config.cls_normalisation and not paired:
        raise ValueError("'cls_normalisation' needs an objective that reads [CLS], such as next-sentence")
    if config.cls_normalisation and min(map(config.rows_of, config.phases)) < 2:
        raise ValueError("'cls_normalisation' needs at least two inputs a batch")


def _check_phase(config: PretrainingConfig, phase: Phase) -> None:
    chosen = config.objectives_of(phase)
    for name in chosen:
        if name not in OBJECTIVES:
            raise ValueError(str(unknown("objective", name, OBJECTIVES)).replace("\n", " "))
        if name in OF_MASKS and "masked-tokens" not in chosen:
            raise ValueError(f"'{name}' needs masked-tokens beside it")
    formats = {config.corpora[name].format for name in phase.mixture or config.corpora}
    documents = formats & {"documents", "lines"}
    needs_text = [name for name in chosen if name in PAIR_TASKS or name == "capitals"]
    if needs_text and not documents:
        raise ValueError(f"'{needs_text[0]}' needs running text, and a phase has none")


def read_config(path: Path) -> PretrainingConfig:
    """The configuration in a YAML file.

    Raises BertologyError: no such file, no YAML mapping, an unknown key, or a value that cannot be.
    """
    content = _read_settings(Path(path))
    try:
        return PretrainingConfig(**content)
    except ValidationError as error:
        key, fault = first_fault(error)
        if error.errors()[0]["type"] == "extra_forbidden" and "." not in key:
            fault = str(unknown("key", key, PretrainingConfig.model_fields)).replace("\n", " ")
            key = ""
        where = f"'{key}': " if key else ""
        raise BertologyError(f"{path}: {where}{fault.rstrip('.')}{'' if fault.endswith('?') else '.'}") from None


def _read_settings(path: Path, extended: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The keys of a file, or of its variant after a `#`, over those that they extend."""
    file, _, name = str(path).partition("#")
    content = _mapping(Path(file))
    variants = content.pop("variants", None) or {}
    base = content.pop("extends", None)
    above = Path(file).parent / str(base) if base is not None else None
    if name:
        if name not in variants:
            raise unknown(f"variant of {file}", name, variants)
        content = {"name": name} | variants[name]
        above = Path("#".join(filter(None, [file, content.pop("of", None)])))
    if above is None:
        return content
    if path.resolve() in extended:
        raise BertologyError(f"{path} extends itself.")
    inherited = _read_settings(above, (*extended, path.resolve()))
    if isinstance(content.get("masking"), dict):
        content["masking"] = (inherited.get("masking") or {}) | content["masking"]
    return inherited | content


def _mapping(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise BertologyError(f"There is no configuration file {path}.")
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise BertologyError(f"{path} holds no settings; a configuration is a list of 'key: value' lines.")
    return content


def learning_rate_factor(step: int, config: PretrainingConfig) -> float:
    """Trapezoid: linear warm-up, constant, linear fall to zero; 0 steps of either mean none."""
    rising = min(1.0, (step + 1) / max(1, config.warmup))
    falling = min(1.0, (config.steps - step) / max(1, config.cooldown))
    return min(rising, falling)
