"""Baselines that stand beside the table: what a row must beat to have done anything.

Depends on `lesson`, on `distill` for cutting blocks and on the masks of `prune`.
"""

from collections.abc import Callable

from bertology_utils.compression.distill import student_of
from bertology_utils.compression.methods.lesson import Course, Lesson, Method, Small, dense, sparse
from bertology_utils.compression.prune import apply_masks, magnitude_masks
from bertology_utils.models import Specimen, twin
from bertology_utils.tuning.regimens import held_at_zero

HALF = 0.5


def tuned_alone(lesson: Lesson) -> Small:
    """The lesson's body tuned on the task without any teacher."""
    network = lesson.network()
    lesson.train(network)
    return dense(network)


def _fewer_blocks(share: int) -> Callable[[Course], Specimen]:
    return lambda course: student_of(course.origin, max(1, course.origin.layers // share))


def _untouched(lesson: Lesson) -> Small:
    return dense(lesson.copy_of_teacher())


def _magnitude(lesson: Lesson) -> Small:
    """Half of the blocks' weights, the smallest, zeroed at once and held there through one more tuning."""
    network = lesson.copy_of_teacher()
    masks = magnitude_masks(network.encoder, HALF)
    apply_masks(network.encoder, masks)
    with held_at_zero(network.encoder, masks):
        lesson.train(network)
    pruned = sum(int(network.encoder.get_parameter(name)[~mask].count_nonzero()) for name, mask in masks.items())
    named = {f"encoder.{name}": mask for name, mask in masks.items()}
    return sparse(network, named, nonzero_pruned=pruned)


METHODS = (
    Method("BERT-base", "reference", _untouched),
    Method("untrained twin, tuned", "baseline", tuned_alone, general=lambda course: twin(course.origin, course.seed)),
    Method("half of the blocks, tuned", "baseline", tuned_alone, general=_fewer_blocks(2)),
    Method("a quarter of the blocks, tuned", "baseline", tuned_alone, general=_fewer_blocks(4)),
    Method("magnitude, retrained", "baseline", _magnitude, counted="encoder", defines=("nonzero_pruned", 0.0)),
)
