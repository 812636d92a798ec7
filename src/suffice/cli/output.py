"""What the command writes: screens, files, and a word on where they are."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from suffice.wording import harmless

if TYPE_CHECKING:
    from rich.console import Console

    from suffice.explanation import Explanation

__all__ = ["console", "tell", "tell_of_stop", "write_html", "write_out"]

_LONGEST = 2000
"""Letters of a message: whatever a file or a name holds, the screen stays readable."""


def console() -> Console:
    """The terminal; plain text where it is a file or a pipe."""
    from rich.console import Console

    # COLUMNS=0, as some shells set it, would leave no room for a single letter.
    width = get_terminal_size().columns
    return Console(highlight=False, soft_wrap=False, width=max(width, 20) if width else 80)


def tell(message: str) -> None:
    """A word to the user, beside the answer: nothing in it steers the terminal."""
    text = harmless(message)
    click.echo(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…", err=True)


def tell_of_stop(message: str) -> None:
    """That a run has stopped, and the very command that goes on with it."""
    words = ["suffice", *sys.argv[1:]]
    again = shlex.join(words if "--resume" in words else [*words, "--resume"])
    tell(f"{message} To go on:")
    click.echo(f"  {again}", err=True)  # whole, however long: it is there to be copied


def write_html(explanation: Explanation, path: Path) -> None:
    """Write the report and say where."""
    write_out(explanation.to_html(), path)
    if str(path) != "-":
        tell(f"Report: {path.resolve()}")


def write_out(text: str, path: Path) -> None:
    """Write a file, or to standard output for '-': the same bytes."""
    from suffice.results import as_bytes, write_text

    if str(path) == "-":
        # As bytes: another encoding of the terminal must not cost letters of a file.
        click.echo(as_bytes(text), nl=not text.endswith("\n"))
    else:
        write_text(path, text, "output")
