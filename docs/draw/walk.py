"""A page whose code, files and commands are followed in order, as its reader would.

Blocks of `python` are doctests that share their names; of `sh`, commands behind `$` with what they
print; of `csv` and `toml`, files whose name is in their first line.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, DocTestParser, DocTestRunner, OutputChecker
from pathlib import Path
from typing import Any

__all__ = ["Step", "steps", "walk"]

_STEP = re.compile(r"^```(python|sh|csv|toml)\n(.*?)^```$|^!\[[^\]]*\]\(([^)]+)\)$", re.M | re.S)
_LIKE = ELLIPSIS | NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Step:
    """One block of a page, or a picture that it shows."""

    kind: str
    text: str
    """What is in the block; of a picture its path."""
    line: int


def steps(page: str) -> Iterator[Step]:
    """The blocks and pictures of a page, in order.

    >>> [step.kind for step in steps("```sh\\n$ ls\\n```\\n\\n![A cat](cat.png)\\n")]
    ['sh', 'picture']
    """
    for found in _STEP.finditer(page):
        line = page.count("\n", 0, found.start()) + 1
        yield Step(found[1] or "picture", found[2] or found[3] or "", line)


def walk(page: Path, into: Path) -> Iterator[tuple[Step, dict[str, Any]]]:
    """Do every step in the folder `into`; after each, the names that the page's code has made.

    What comes out otherwise than the page says is an AssertionError with the line.
    """
    names: dict[str, Any] = {}
    before = Path.cwd()
    os.chdir(into)
    try:
        for step in steps(page.read_text(encoding="utf-8")):
            match step.kind:
                case "python":
                    _code(step, names, page)
                case "sh":
                    _commands(step, page)
                case "csv" | "toml":
                    name, _, rest = step.text.partition("\n")
                    Path(name.removeprefix("#").strip()).write_text(rest, encoding="utf-8")
            yield step, names
    finally:
        os.chdir(before)


def _code(step: Step, names: dict[str, Any], page: Path) -> None:
    test = DocTestParser().get_doctest(step.text, names, page.name, str(page), step.line)
    told: list[str] = []
    failed = DocTestRunner(optionflags=_LIKE, verbose=False).run(
        test, out=told.append, clear_globs=False
    )
    names.update(test.globs)
    assert not failed.failed, "".join(told)


def _commands(step: Step, page: Path) -> None:
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command, wanted in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", step.text, re.M):
        ran = subprocess.run(
            command,
            shell=True,
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PATH": beside, "COLUMNS": "90"},
        )
        alike = not wanted or OutputChecker().check_output(wanted, ran.stdout, _LIKE)
        where = f"{page.name}, line {step.line}: {command}"
        assert alike, f"{where}\n{wanted}came out as\n{ran.stdout}{ran.stderr}"
        assert wanted or not ran.returncode, f"{where}\n{ran.stdout}{ran.stderr}"
