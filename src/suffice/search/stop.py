"""What ended a search: a fact until it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

__all__ = ["HYBRIDS_PER_ROW", "Stop", "StopKind"]

HYBRIDS_PER_ROW = 1000
"""Hybrids that may be covered for each row of a budget. A row that is known already, or that an
engine works out from the model's own shape, costs no row: without this a budget would bound what
the model is asked and not the search."""

StopKind = Literal[
    "max_size",
    "budget",
    "hybrids",
    "time_limit",
    "patience",
    "fruitless",
    "starts",
    "untestable",
    "nothing",
    "many",
]


class Stop(msgspec.Struct, frozen=True):
    """What ended a search: the kind of bound, and the bound as it was given.

    >>> str(Stop("budget", 2000)), str(Stop("time_limit", 0.5)), str(Stop("max_size", 3))
    ('budget=2000 model rows', 'time_limit=0.5 s', 'max_size=3')
    """

    kind: StopKind
    limit: int | float

    def __str__(self) -> str:
        return self.told({})

    def told(self, arguments: Mapping[str, str]) -> str:
        """The same with arguments under other names: an option's, where a command was called.

        >>> Stop("max_size", 3).told({"max_size": "--max-size"})
        '--max-size 3'
        """
        said = _SENTENCES[self.kind].format(self.limit, HYBRIDS_PER_ROW)
        argument = _ARGUMENTS.get(self.kind)
        if argument is None:
            return said
        return f"{arguments[argument]} {said}" if argument in arguments else f"{argument}={said}"


_ARGUMENTS: dict[StopKind, str] = {
    "max_size": "max_size",
    "budget": "budget",
    "hybrids": "budget",
    "time_limit": "time_limit",
}
"""The kinds that are a user's own bounds, and the argument that each was given in."""

_SENTENCES: dict[StopKind, str] = {
    "max_size": "{0}",
    "budget": "{0} model rows",
    "hybrids": "{0} model rows, at most {1:,} hybrids for each",
    "time_limit": "{0:g} s",
    "patience": "its {0:g} s, the time it takes where no time_limit is given",
    "fruitless": "{0} starts in a row brought nothing new",
    "starts": "{0} starts",
    "untestable": "no set can pass the test with {0} references",
    "nothing": "nothing is needed, so there is nothing smaller to find",
    "many": "{0:,} minimal sets in one view, of which only the smallest are listed",
}
