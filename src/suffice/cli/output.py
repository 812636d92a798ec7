"""What the command writes: screens, files, and a word on where they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from suffice.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from suffice.explanation import Explanation

__all__ = ["console", "write_html", "write_text"]


def console() -> Console:
    """The terminal; plain text where it is a file or a pipe."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def write_html(explanation: Explanation, path: Path) -> None:
    """Write the report and say where."""
    write_text(explanation.to_html(), path)
    if str(path) != "-":
        click.echo(f"Report: {path.resolve()}", err=True)


def write_text(text: str, path: Path) -> None:
    """Write a file, or to standard output for '-'."""
    if str(path) == "-":
        click.echo(text)
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            "output", f"{path} ({error.strerror})", "a file that can be written"
        ) from error
