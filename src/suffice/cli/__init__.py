"""The command `suffice`.

Exit codes: 0 done, 2 a mistake in the call or its input, 1 any other failure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from suffice.cli.demo import demo
from suffice.cli.explain import explain
from suffice.cli.reproduce import reproduce
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
app.add_command(reproduce)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; a user's mistake ends in one sentence, not in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a letter shows "?"
            stream.reconfigure(errors="replace")
    try:
        app.main(arguments, prog_name="suffice", standalone_mode=True)
    except SufficeError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2 if isinstance(error, InputError) else 1)
