"""Students with thin bodies of their own, which begin from nothing: narrow and short inside, or narrow and shallow.

Depends on `lesson`, `traces` and transformers. Sizes are the studies' in proportion to the teacher's.
"""

import copy
import dataclasses
from functools import partial

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from bertology_utils.compression.distill import kept_layers, renamed
from bertology_utils.compression.methods.lesson import (
    FROM_NOTHING,
    Batch,
    Course,
    Encoded,
    Lesson,
    Method,
    Small,
    dense,
)
from bertology_utils.compression.methods.problems import TEN_LANGUAGES, Questions
from bertology_utils.compression.methods.traces import answers_loss
from bertology_utils.errors import NotAskable
from bertology_utils.instruments.blocks import encoder_layers, watched
from bertology_utils.models import Specimen


def part_of(width: int, share: float, heads: int) -> int:
    """About this share of a width, a multiple of the heads: 256, 1/3 and 8 heads give 88."""
    return max(1, round(width * share / heads)) * heads


def squared_distance(student: Tensor, teacher: Tensor, real: Tensor) -> Tensor:
    """Mean squared difference of two states (batch, pieces, width) at the real pieces (batch, pieces): a scalar."""
    return nn.functional.mse_loss(student[real], teacher[real])


# ---------------------------------------------------------------- WaLDORf

WALDORF_DEPTH, WALDORF_WIDTH = 2 / 3, 1 / 2
WALDORF_TEXT_RATE, WALDORF_RATE = 2e-3, 1.5e-3  # of two for the task, 5e-4 gets .89 of another (voice) in place of .99


class Waldorf(PreTrainedModel):
    """A convolution halves the sequence, narrow blocks read it, a transposed convolution gives each piece its state.

    The states that come out are as wide as the teacher's, so that both compare without any map between them.
    """

    config_class = BertConfig
    _supports_sdpa = True

    def __init__(self, config: BertConfig, inner: BertConfig) -> None:
        super().__init__(config)
        width = inner.hidden_size
        self.blocks = BertModel(inner, add_pooling_layer=False)
        self.shorten = nn.Conv1d(width, width, kernel_size=3, stride=2, padding=1)
        self.restore = nn.ConvTranspose1d(width, config.hidden_size, kernel_size=2, stride=2)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.blocks.get_input_embeddings()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
        output_hidden_states: bool = False,
        return_dict: bool = True,
    ) -> BaseModelOutput:
        """States (batch, pieces, outer width), of all blocks if asked, each restored by the same convolution."""
        pieces = input_ids.shape[1]
        vectors = self.get_input_embeddings()(input_ids) * attention_mask.unsqueeze(-1)
        types = None if token_type_ids is None else token_type_ids[:, ::2]
        inner = self.blocks(
            inputs_embeds=self.shorten(vectors.mT).mT,
            attention_mask=attention_mask[:, ::2],  # a place is real where the first of its two pieces is
            token_type_ids=types,
            output_hidden_states=output_hidden_states,
        )
        hidden = inner.hidden_states if output_hidden_states else (inner.last_hidden_state,)
        states = tuple(self.restore(state.mT).mT[:, :pieces] for state in hidden)
        return BaseModelOutput(states[-1], hidden_states=states if output_hidden_states else None)


def waldorf_body(origin: Specimen) -> Waldorf:
    """A new body: two thirds of the depth, half of the width."""
    width = part_of(origin.width, WALDORF_WIDTH, origin.heads)
    shared = {
        "vocab_size": origin.vocabulary_size,
        "num_hidden_layers": max(1, round(WALDORF_DEPTH * origin.layers)),
        "num_attention_heads": origin.heads,
        "max_position_embeddings": origin.max_pieces,
        "initializer_range": getattr(origin.encoder.config, "initializer_range", 0.02),
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    inner = BertConfig(hidden_size=width, intermediate_size=4 * width, **shared)
    return Waldorf(BertConfig(hidden_size=origin.width, intermediate_size=4 * width, **shared), inner)


def states_loss(student: nn.Module, teacher: nn.Module, batch: Batch) -> Tensor:
    """Squared distance of the student's states to those of the teacher's blocks that are spread over its depth."""
    inputs = {name: values for name, values in batch.items() if name not in ("labels", "places")}
    own = student(**inputs, output_hidden_states=True).hidden_states
    with torch.no_grad():
        target = teacher(**inputs, output_hidden_states=True).hidden_states
    kept, real = kept_layers(len(target), len(own)), batch["attention_mask"].bool()
    return torch.stack([squared_distance(a, target[i], real) for a, i in zip(own, kept, strict=True)]).mean()


def _waldorf(course: Course) -> Specimen:
    """The hidden states of the pre-trained teacher on unlabelled text.

    Deviation: the study has millions of made-up questions, and begins with a tuned teacher at once.
    """
    student = renamed(course.origin, "waldorf", waldorf_body(course.origin))
    student = dataclasses.replace(student, has_mlm_head=False)
    loss = lambda model, batch: states_loss(model, course.origin.encoder, batch)  # noqa: E731
    course.read(student, loss, rate=WALDORF_TEXT_RATE)
    return student


def _waldorf_taught(lesson: Lesson) -> Small:
    """The hidden states and the answers of the tuned teacher on the task (tian2019waldorf)."""
    network, teacher = lesson.network(), lesson.teacher

    def loss(own: nn.Module, batch: Batch) -> Tensor:
        return states_loss(own.encoder, teacher.encoder, batch) + answers_loss(own, batch, teacher)

    lesson.train(network, loss, rate=WALDORF_RATE)
    return dense(network, inner_share=inner_share(network.encoder))


@torch.no_grad()
def inner_share(body: Waldorf, pieces: int = 16) -> float:
    """Length of the sequence in the blocks by that of the input: what a trial input of so many pieces shows."""
    ids = torch.ones(1, pieces, dtype=torch.long)
    with watched(encoder_layers(body.blocks), lambda block, given, output: given[0].shape[1]) as seen:
        body(ids, torch.ones_like(ids))
    return max(seen) / pieces


# ---------------------------------------------------------------- MiniBERT

MINI_LAYERS, MINI_WIDTH = 3, 1 / 3
MINI_STEPS = 2  # times the steps on text: of its first stage, and of its second on tags of text
MINI_TEXT_RATE, MINI_RATE = 3e-3, 2e-3  # no others were tried


def mini_model(origin: Specimen) -> PreTrainedModel:
    """A new model of the origin's class: 3 blocks, a third of the width."""
    config = copy.deepcopy(origin.model.config)
    config.num_hidden_layers = MINI_LAYERS
    config.hidden_size = part_of(origin.width, MINI_WIDTH, origin.heads)
    config.intermediate_size = 4 * config.hidden_size
    return type(origin.model)(config)


def _minibert(course: Course) -> Specimen:
    """A small multilingual model that fills blanks; the course's text is of all languages."""
    student = renamed(course.origin, "mini", mini_model(course.origin))
    course.read(student, rate=MINI_TEXT_RATE, steps=MINI_STEPS * course.budget.text_steps)
    return student


def _mini_taught(lesson: Lesson) -> Small:
    """The tuned teacher's tags of every word of unlabelled sentences of all languages (tsai2019small).

    Deviation: the text is generated, so its words are the task's, those of the test among them, but no tag is.

    Raises NotAskable for a task that asks no words.
    """
    if not lesson.problem.train.of_words:
        raise NotAskable(f"MiniBERT labels words, and {lesson.problem.name} asks for one answer a sentence.")
    every_word = Questions(lesson.text, [[0] * len(words) for words in lesson.text])  # the labels are not looked at
    network = lesson.network()
    lesson.train(
        network,
        partial(answers_loss, teacher=lesson.teacher),
        rate=MINI_RATE,
        steps=MINI_STEPS * lesson.budget.text_steps,
        encoded=Encoded.of(lesson.body, every_word),
    )
    return dense(network, blocks=len(encoder_layers(network.encoder)))


METHODS = (
    Method("WaLDORf", "distillation", _waldorf_taught, _waldorf, FROM_NOTHING, defines=("inner_share", 0.5)),
    Method(
        "MiniBERT",
        "distillation",
        _mini_taught,
        general=_minibert,
        defines=("blocks", 3.0),
        model="pocket-mbert",
        problems=(TEN_LANGUAGES,),
    ),
)
