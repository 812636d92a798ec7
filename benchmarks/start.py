"""Starting up, with a warm cache: seconds are the promise here, so seconds are the target."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Row, at_most, seconds


def rows() -> Iterator[Row]:
    command = Path(sys.executable).with_name("suffice")
    bare = seconds(lambda: _run(sys.executable, "-c", "pass"))
    whole = seconds(lambda: _run(sys.executable, "-c", "import suffice"))
    detail = f"python {bare:.2f} s, with the import {whole:.2f} s"
    yield at_most("import suffice", whole - bare, 0.35, detail, "s")
    yield at_most("suffice --help", seconds(lambda: _run(str(command), "--help")), 0.4, "", "s")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
