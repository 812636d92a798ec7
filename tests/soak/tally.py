"""Tally of attacks: how often one kind was tried, how often the package held, and what failed.

An attack is a function `attack(count, seed, seconds=None) -> Tally`. The tests call it with a small
count; `make soak` calls it with the full one, and with the seconds that it may take.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic

Try = tuple[str, Callable[[], object]]
"""What is tried, in words that repeat it, and a function that raises if the package does not hold."""


@dataclass
class Tally:
    """Numbers of tries of one kind of attack, and the reports of those that failed."""

    kind: str
    tries: int = 0
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What was measured, for the reader."""
    cut: bool = False
    """Did the time end before all tries were made?"""

    @property
    def held(self) -> int:
        """Number of tries that the package withstood."""
        return self.tries - len(self.failures)

    def add(self, problem: str | None) -> None:
        """Count a try: None if the package held, otherwise what went wrong."""
        self.tries += 1
        if problem is not None:
            self.failures.append(problem)

    def row(self, count: int) -> str:
        """Return the line of the table; it says so if fewer than `count` tries were made in time.

        >>> Tally("kills", tries=34, cut=True).row(60)
        'kills                         34      34       0  CUT OFF after 34 of 60 tries'
        """
        cut = f"  CUT OFF after {self.tries:,} of {count:,} tries" if self.cut else ""
        failed = len(self.failures)
        return f"{self.kind:<24}{self.tries:>8,}{self.held:>8,}{failed:>8,}{cut}"


HEADING = f"{'kind':<24}{'tries':>8}{'held':>8}{'failed':>8}"


def count_tries(kind: str, tries: Iterable[Try], count: int, seconds: float | None = None) -> Tally:
    """Make at most `count` tries, and start none after so many seconds; whatever is raised fails.

    >>> def divide(n):
    ...     return lambda: 1 / n
    >>> tally = count_tries("division", [(f"by {n}", divide(n)) for n in (2, 0, 1)], 2)
    >>> tally.tries, tally.held, tally.failures[0].splitlines()[0]
    (2, 1, 'by 0: ZeroDivisionError: division by zero')
    """
    tally, started = Tally(kind), monotonic()
    for name, check in islice(tries, count):
        if seconds is not None and monotonic() - started > seconds:
            tally.cut = True
            break
        try:
            check()
        except Exception as error:
            lines = traceback.format_exception(error)
            tally.add(f"{name}: {type(error).__name__}: {error}\n{''.join(lines[-4:])}")
        else:
            tally.add(None)
    return tally


def seeded(kind: str, seed: int) -> random.Random:
    """Return the generator of an attack: each kind draws a sequence of its own."""
    return random.Random(f"{kind} {seed}")
