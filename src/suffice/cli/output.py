"""Output of the command: messages, progress, reports and files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from suffice.formatting import plural, printable
from suffice.progress import listen_to_progress

if TYPE_CHECKING:
    from rich.console import Console

    from suffice.explanation import Explanation

_MAX_MESSAGE_LENGTH = 2000
"""Characters of a message: whatever a file or a name holds, the screen stays readable."""


def console() -> Console:
    """Return the terminal; it prints plain text if standard output is a file or a pipe."""
    from rich.console import Console

    # COLUMNS=0, as some shells set it, would leave no room for a single letter.
    width = get_terminal_size().columns
    return Console(highlight=False, soft_wrap=False, width=max(width, 20) if width else 80)


def print_message(message: str) -> None:
    """Print a message on standard error, without characters that control the terminal."""
    text = printable(message)
    click.echo(
        text if len(text) <= _MAX_MESSAGE_LENGTH else text[: _MAX_MESSAGE_LENGTH - 1] + "…",
        err=True,
    )


interrupt_texts = ["Stopped: nothing was done."]
"""The last one is what `suffice.__main__` prints at Ctrl-C: what was done, and how to go on."""


@contextmanager
def interrupts_print(text: str) -> Iterator[None]:
    """Let Ctrl-C print this text while the block runs."""
    interrupt_texts.append(text)
    try:
        yield
    finally:
        interrupt_texts.pop()


def print_resume_command(message: str, arguments: Sequence[str]) -> None:
    """Print why a run stopped, and the command that continues it."""
    text, again = resume_command(message, arguments).split("\n", 1)
    print_message(text)
    click.echo(again, err=True)  # whole, however long, so that it can be copied


def resume_command(message: str, arguments: Sequence[str]) -> str:
    """Return a message, and on a line of its own the command that continues a run."""
    words = ["suffice", *arguments]
    again = shlex.join(words if "--resume" in words else [*words, "--resume"])
    return f"{message} To continue:\n  {again}"


def folder_size(folder: Path) -> str:
    """Return the number of files in a folder and their size: "3 files, 1.2 MB"."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    return f"{plural(len(files), 'file')}, {size / 1e6:,.1f} MB"


def write_html(explanation: Explanation, path: Path) -> None:
    """Write the report, and print its path."""
    write_output(explanation.to_html(), path)
    if str(path) != "-":
        print_message(f"Report: {path.resolve()}")


def write_output(text: str, path: Path) -> None:
    """Write a text to a file, or the same bytes to standard output for '-'."""
    from suffice.results import encode_text, write_text

    if str(path) == "-":
        # As bytes: the terminal's encoding may lack characters that a file has.
        click.echo(encode_text(text), nl=not text.endswith("\n"))
    else:
        write_text(path, text, "output")


# -- progress: a bar on a terminal, otherwise a line now and then, for logs ---------------


_SECONDS_BETWEEN_LINES = 30.0

_LINE_FORMAT = "{n_fmt} of {total_fmt} rows, {rate_noinv_fmt}, {remaining} left{postfix}"


@contextmanager
def show_progress(errors: Callable[[], int] | None = None) -> Iterator[RowCounter]:
    """Show rows done, rows per second, time left and, where they are counted, errors."""
    counter = RowCounter(errors)
    with listen_to_progress(counter.see):
        try:
            yield counter
        finally:
            counter.close()


class RowCounter:
    """Counts rows that are explained from now on, and shows them by a progress bar."""

    def __init__(self, errors: Callable[[], int] | None) -> None:
        self._errors = errors
        self._bar: Any = None
        self.rows = 0
        """Rows explained since the first report; rows stored by an earlier run do not count."""

    def see(self, what: str, done: float, total: float | None) -> None:
        """Show progress of the rows; the progress within a single row is not shown."""
        if what != "explanations":
            return
        if self._bar is None:
            self._bar = _open_bar(done, total)
        self._bar.total = total
        if self._errors is not None and (count := self._errors()):
            self._bar.set_postfix_str(plural(count, "error"), refresh=False)
        self.rows = int(done) - self._bar.initial
        self._bar.update(int(done) - self._bar.n)

    def close(self) -> None:
        """Close the progress bar."""
        if self._bar is not None:
            self._bar.close()


def _open_bar(done: float, total: float | None) -> Any:
    from tqdm import tqdm

    if sys.stderr.isatty():
        return tqdm(
            total=total, initial=int(done), unit=" rows", dynamic_ncols=True, mininterval=0.2
        )

    class LogLines(tqdm):  # type: ignore[misc,unused-ignore]
        """Progress bar that prints a line for each update."""

        def display(self, msg: str | None = None, pos: int | None = None) -> bool:
            print_message(msg or str(self))
            return True

        def close(self) -> None:  # without a last line: the caller reports the end
            self.disable = True

    return LogLines(
        total=total,
        initial=int(done),
        unit=" rows",
        bar_format=_LINE_FORMAT,
        mininterval=_SECONDS_BETWEEN_LINES,
        # tqdm would otherwise print a first line at once, and count updates in place of seconds.
        delay=1e-9,
        smoothing=0,  # the rate of the whole run, not of the last seconds
        miniters=1,
    )
