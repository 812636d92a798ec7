"""Timing that benchmarks share."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter


@dataclass(frozen=True)
class Row:
    """One line of the table; `met` is None where it could not be measured."""

    what: str
    measured: str
    target: str
    met: bool | None
    detail: str = ""


Work = Callable[[], object]


def seconds(work: Work, runs: int = 5) -> float:
    """The median time of some runs."""
    return median(_time(work) for _ in range(runs))


def ratio(work: Work, baseline: Work, runs: int = 5) -> tuple[float, float, float]:
    """The median ratio of pairs timed side by side, so that a busy moment strikes both.

    Also the median seconds of each.
    """
    work(), baseline()
    pairs = [(_time(work), _time(baseline)) for _ in range(runs)]
    ours, theirs = zip(*pairs, strict=True)
    return median(a / b for a, b in pairs), median(ours), median(theirs)


def at_most(what: str, value: float, limit: float, detail: str = "", unit: str = "×") -> Row:
    return Row(what, f"{value:.2f} {unit}", f"≤ {limit:g} {unit}", value <= limit, detail)


def at_least(what: str, value: float, limit: float, detail: str = "", unit: str = "×") -> Row:
    return Row(what, f"{value:.1f} {unit}", f"≥ {limit:g} {unit}", value >= limit, detail)


def _time(work: Work) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started
