"""Baselines that stand beside the table: what a row must beat to have done anything.

Depends on `lesson` and on `distill` for cutting blocks.
"""

from collections.abc import Callable

from bertology_utils.compression.distill import student_of
from bertology_utils.compression.methods.lesson import Course, Lesson, Method, Small, dense
from bertology_utils.compression.methods.problems import LONG, TEN_LANGUAGES
from bertology_utils.models import Specimen, twin

HALF, QUARTER = 1 / 2, 1 / 4
UNTRAINED = "untrained twin, tuned"
UNTRAINED_ON_TEXTS = f"{UNTRAINED} on texts"


def tuned_alone(lesson: Lesson) -> Small:
    """The lesson's body tuned on the task without any teacher."""
    network = lesson.network()
    lesson.train(network)
    return dense(network)


def fewer_blocks(share: float) -> Callable[[Course], Specimen]:
    """A body of this share of the pre-trained model's blocks, spread evenly, with nothing taught."""
    return lambda course: student_of(course.origin, max(1, int(course.origin.layers * share)))


def first_blocks(origin: Specimen, share: float) -> Specimen:
    """The pre-trained model cut to this share of its blocks, its first ones, at least two."""
    return student_of(origin, kept=range(max(2, round(share * origin.layers))))


def leading(share: float) -> Callable[[Course], Specimen]:
    return lambda course: first_blocks(course.origin, share)


def _untouched(lesson: Lesson) -> Small:
    return dense(lesson.copy_of_teacher())


def _never_pretrained(course: Course) -> Specimen:
    return twin(course.origin, course.seed)


METHODS = (
    Method("BERT-base", "reference", _untouched),
    Method(UNTRAINED, "baseline", tuned_alone, general=_never_pretrained),
    Method(
        f"{UNTRAINED}, pocket-mbert",
        "baseline",
        tuned_alone,
        general=_never_pretrained,
        model="pocket-mbert",
        problems=(TEN_LANGUAGES,),
    ),
    Method(UNTRAINED_ON_TEXTS, "baseline", tuned_alone, general=_never_pretrained, problems=LONG),
    Method("half of the blocks, tuned", "baseline", tuned_alone, general=fewer_blocks(HALF)),
    Method("a quarter of the blocks, tuned", "baseline", tuned_alone, general=fewer_blocks(QUARTER)),
    Method("first half of the blocks, tuned", "baseline", tuned_alone, general=leading(HALF)),
    Method("first quarter of the blocks, tuned", "baseline", tuned_alone, general=leading(QUARTER)),
)
