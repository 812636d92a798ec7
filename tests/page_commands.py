"""Run the commands that a page of the guide shows, in the process of the test."""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from suffice.cli import main


def commands_of(page: str) -> Callable[..., str]:
    """Return a function that runs the n-th block of commands of a page, and returns what it says."""
    typed = re.findall(r"```sh\n(.*?)```", Path(page).read_text("utf-8"), re.DOTALL)

    def run(block: int, code: int = 0) -> str:
        words = shlex.split(typed[block].removeprefix("$ ").replace("\\\n", " "))
        assert words[0] == "suffice", words
        said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        ended = 0
        with (
            redirect_stdout(said),
            redirect_stderr(said),
            patch.object(sys, "argv", words),
            # The process that opens a model file first takes seconds; tests/cli runs it.
            patch("suffice.cli.models._try_in_child"),
        ):
            try:
                main(words[1:])
            except SystemExit as stop:
                ended = int(stop.code or 0)
        text = said.buffer.getvalue().decode()  # type: ignore[attr-defined]
        assert ended == code, text
        return text

    return run
