"""From a finished run to an embedded model: the last step under its name, the kept ones as its checkpoints.

Depends on `models` (checksums of checkpoints) and `files`.
"""

import shutil
from pathlib import Path

from bertology_utils.errors import BertologyError
from bertology_utils.files import replacing
from bertology_utils.models import add_checkpoint
from bertology_utils.project import EVALUATIONS


def publish(run: Path, models: Path) -> Path:
    """Copies the finished model of the folder `run` to `models/<its name>`, with evaluations and kept steps.

    Returns the model's folder. Raises BertologyError where the run is not finished or the copy cannot be written.
    """
    final, target = run / "final", models / run.name
    if not (final / "config.json").is_file():
        raise BertologyError(f"{run} holds no finished model.")
    if target.exists() and not (target / "config.json").is_file():
        raise BertologyError(f"{target} is there already and holds no model: move it away, or rename the run.")
    with replacing(target) as part:
        shutil.copytree(final, part)
        shutil.copy(run / EVALUATIONS, part)
        for kept in sorted(run.glob("step-*")):
            add_checkpoint(part, int(kept.name.removeprefix("step-")), kept / "model.safetensors")
    return target
