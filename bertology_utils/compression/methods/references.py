"""Baselines that stand beside the table: what a row must beat to have done anything.

Depends on `lesson`, and on the masks of `prune` and the integers of `quantize`.
"""

from bertology_utils.compression.methods.lesson import Lesson, Method, Small, dense, sparse
from bertology_utils.compression.prune import apply_masks, magnitude_masks
from bertology_utils.tuning.regimens import held_at_zero

HALF = 0.5


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
    Method("magnitude, retrained", "baseline", _magnitude, counted="encoder", defines=("nonzero_pruned", 0.0)),
)
