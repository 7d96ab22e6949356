"""One table for all families of recipes: size, time, and what is kept of the full model's scores.

Depends on `scorecard` for time and on `distill` and `quantize` for the models that are timed.
"""

from collections.abc import Sequence

from bertology_utils.absent import unless_absent
from bertology_utils.compression.distill import student_of
from bertology_utils.compression.quantize import dynamic_int8
from bertology_utils.compression.scorecard import latency
from bertology_utils.figures import Figure, table
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs

Recipe = tuple[str, Runs, float, float, str]
CAPTION = (
    "Size, time on this machine (one sentence of 32 pieces), loss and agreement. 'Kept of the lead' is of the lead in "
    "loss over the untrained twin. The 8-bit time is that of PyTorch's integer kernels for the linear layers, its "
    "scores are those of rounded weights. GOBO and pruning run as ordinary floats, so the full model's time stands for "
    "theirs. Published figures are for BERT-base on other tasks; all but GOBO's were reached with training."
)


def milliseconds(specimen: Specimen, layers: int) -> dict[str, float]:
    """The time of one sentence: `full` model, `student` with so many layers, linear layers in integers of `8 bits`."""
    model = specimen.model
    student, integers = student_of(specimen, layers).model, dynamic_int8(model)
    return {"full": latency(model), "student": latency(student), "8 bits": latency(integers)}


@unless_absent
def recipes_table(recipes: Sequence[Recipe], full: Runs) -> Figure:
    """A row a recipe, of (name, scores as of `Exam`, times smaller, milliseconds, what was published)."""
    agreement, (loss, of_twin) = (
        full.model["agreement"].mean(),
        (side["loss"].mean() for side in (full.model, full.twin)),
    )

    def row(name: str, runs: Runs, factor: float, time: float, published: str) -> dict[str, str]:
        own, right = runs.model["loss"].mean(), runs.model["agreement"].mean()
        return {
            "model": name,
            "× smaller": f"{factor:.2f}",
            "ms a sentence": f"{time:.1f}",
            "loss": f"{own:.2f}",
            "agreement": f"{right:.1%}",
            "kept": f"{right / agreement:.0%}",
            "kept of the lead": f"{(of_twin - own) / (of_twin - loss):.0%}",
            "published": published,
        }

    return table([row(*recipe) for recipe in recipes], caption=CAPTION)
