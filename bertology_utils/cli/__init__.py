"""The command line `bertology`. Depends on every module only inside the command that needs it, so that help is quick.

Mistakes of the user end in one or two lines on stderr: exit code 2 for a wrong call, 1 for everything else, 130 after
an interrupt.
"""

import errno
import os
import sys

import typer

from bertology_utils.cli import chapters, decisions, specimens, studies  # noqa: F401 (they register their commands)
from bertology_utils.cli.common import app
from bertology_utils.errors import BertologyError, first_line
from bertology_utils.project import FOLDER_VARIABLE, ORDER_VARIABLE, data_folder

INTERRUPTED = "Interrupted; nothing half-written was kept."


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; defects of the package keep their traceback."""
    try:
        settle_data()
        code = app(arguments, standalone_mode=False, prog_name="bertology") or 0
        # typer turns an interrupt inside a command into this code without a word
        return fail(INTERRUPTED, 130) if code == 130 else code
    except BertologyError as error:
        return fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        return fail(INTERRUPTED, 130)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return fail("No space left on the device.")
        if isinstance(error, BrokenPipeError):
            return fail("", 1)
        return fail(f"{error.strerror or error}: {error.filename}" if error.filename else first_line(error))
    except typer.TyperException as error:
        message = error.format_message()  # empty where the help was printed instead
        return fail(f"{message}\nTry `bertology --help`." if message else "", error.exit_code)


def settle_data() -> None:
    """Make the folder of the data absolute, since kernels start in another folder than the command, and refuse sources
    that do not exist before anything starts."""
    folder = data_folder()
    if folder is not None:
        os.environ[FOLDER_VARIABLE] = str(folder)
    if os.environ.get(ORDER_VARIABLE):
        from bertology_utils.data.registry import source_order

        source_order()


def fail(message: str, code: int = 1) -> int:
    """Say what went wrong on stderr and give the exit code back."""
    if message:
        print(message, file=sys.stderr)
    return code
