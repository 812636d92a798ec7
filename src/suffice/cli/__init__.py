"""The command `suffice`: its group of commands, exit codes, and how errors end it.

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
from suffice.cli.options import OPTION_NAMES
from suffice.cli.output import print_message
from suffice.cli.serve import serve
from suffice.errors import InputError, SufficeError

__all__ = ["app", "main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="suffice")
def app() -> None:
    """Explain which features are sufficient, and which are necessary, for a model's decision.

    Start with: suffice demo
    """


for command in (demo, explain, batch, audit, serve):
    app.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; a user's mistake ends in one sentence, not in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a letter shows "?"
            stream.reconfigure(errors="replace")
    try:
        app.main(arguments, prog_name="suffice", standalone_mode=True)
    except InputError as error:
        print_message(f"Error: {error.text(OPTION_NAMES)}")
        sys.exit(2)
    except SufficeError as error:
        print_message(f"Error: {error}")
        sys.exit(1)
    except OSError as error:
        if error.filename is None:  # writing to standard output failed: a full disk, a closed pipe
            _discard_output()
            text = f"the output could not be written ({error.strerror or error})"
        else:
            text = f"{error.filename}: {error.strerror or error}"
        print_message(f"Error: {text}.")
        sys.exit(1)


def _discard_output() -> None:
    """Redirect standard output to nothing: Python would try to write its buffer again at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # standard output is no file, or closed
        return
