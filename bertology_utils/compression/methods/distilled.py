"""Students with the teacher's own kind of blocks: they learn from its answers, its states or its attention.

Depends on `lesson` and `traces`. Sizes are the studies' in proportion: half of the blocks, a third, or two fifths of
the width.
"""

from bertology_utils.compression.distill import distillation_loss, student_of
from bertology_utils.compression.methods.lesson import Course, Lesson, Method, Small, dense
from bertology_utils.models import Specimen


def _tuned_alone(lesson: Lesson) -> Small:
    """The body that has read the text, tuned on the task without any teacher."""
    network = lesson.network()
    lesson.train(network)
    return dense(network)


def _distilbert(course: Course) -> Specimen:
    """Every other block of the teacher, taught by its predictions of masked words (sanh2019distilbert)."""
    student = student_of(course.origin)
    course.read(student, lambda model, batch: distillation_loss(model, course.origin.model, batch), rate=3e-4)
    return student


METHODS = (Method("DistilBERT", "distillation", _tuned_alone, general=_distilbert),)
