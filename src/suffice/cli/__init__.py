"""The command `suffice`.

Exit codes: 0 done, 2 a mistake in the call or its input, 1 any other failure; 128 and the number of
the signal that stopped a run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from suffice.cli.audit import audit
from suffice.cli.batch import batch
from suffice.cli.demo import demo
from suffice.cli.explain import explain
from suffice.cli.names import OPTIONS
from suffice.cli.output import tell
from suffice.cli.reproduce import reproduce
from suffice.cli.serve import serve
from suffice.errors import InputError, SufficeError

__all__ = ["app", "main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="suffice")
def app() -> None:
    """What is sufficient, and what is necessary, for a model's decision.

    Start with: suffice demo
    """


app.add_command(demo)
app.add_command(explain)
app.add_command(batch)
app.add_command(audit)
app.add_command(reproduce)
app.add_command(serve)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; a user's mistake ends in one sentence, not in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a letter shows "?"
            stream.reconfigure(errors="replace")
    try:
        app.main(arguments, prog_name="suffice", standalone_mode=True)
    except InputError as error:
        tell(f"Error: {error.told(OPTIONS)}")
        sys.exit(2)
    except SufficeError as error:
        tell(f"Error: {error}")
        sys.exit(1)
    except OSError as error:  # a full disk, a closed standard output
        _discard_output()
        tell(f"Error: the output could not be written ({error.strerror or error}).")
        sys.exit(1)


def _discard_output() -> None:
    """What is still in the buffer cannot be written: Python must not try again as it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # standard output is no file, or closed
        return
