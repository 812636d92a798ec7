"""How a reader asks for more: in Python, or with the options of the command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["PYTHON", "Ways"]


@dataclass(frozen=True)
class Ways:
    """The words for what can be asked next, where the answer is read."""

    lower: str = ".at({tau}) needs no new model call"
    factors: str = ".{view}.factors"
    values: str = ".players"
    names: str = ".players has them in full"
    left_out: str = ".left_out"
    refine: str = "see refine"
    arguments: Mapping[str, str] = field(default_factory=dict)
    """By Python's name: what an argument is called there."""

    def argument(self, name: str) -> str:
        """What an argument is called where the answer is read.

        >>> Ways(arguments={"max_size": "--max-size"}).argument("max_size")
        '--max-size'
        """
        return self.arguments.get(name, name)


PYTHON = Ways()
