"""Files that are either whole or not there. Depends on nothing of the project but `errors`."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from bertology_utils.errors import BertologyError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside `path` to write a file or folder to, moved into place when the block ends well.

    Raises:
        BertologyError: it cannot be written, for want of space above all; what was at `path` is untouched.
    """
    part = path.with_name(f"{path.name}.part{path.suffix if path.suffix == '.npy' else ''}")
    old = path.with_name(f"{path.name}.old.part")  # a folder cannot be replaced in one step
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _put_back(old, path)
        _remove(part)
        yield part
        if path.is_dir():
            path.replace(old)
        part.replace(path)
    except (OSError, RuntimeError, SafetensorError) as error:  # torch and safetensors have errors of their own
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0][:100]
        raise BertologyError(f"{path} cannot be written ({reason}). What was there before is untouched.") from None
    finally:
        _put_back(old, path)
        _remove(part)


def _put_back(old: Path, path: Path) -> None:
    """What was set aside returns where nothing took its place, and goes where something did."""
    if old.exists() and not path.exists():
        old.replace(path)
    _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
