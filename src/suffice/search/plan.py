"""Plan of a search: which method, predicted time and memory, idle features, calls that give more.

`search="auto"` counts every set if that is the work of seconds. If not, every set is decided at the
given τ, by streaming the lattice or with few rows, if that is the work of seconds. Else the search
is an anytime one: it returns the best sets verified within its work, and lists what it did not
search. Work is predicted from counts and never measured (`engines.work`), so every machine searches
the same question in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeGuard

import numpy as np

from suffice.context.hybrids import Hybrids, SwapHybrids
from suffice.engines import (
    CubeEvaluator,
    Evaluator,
    IdlePlayerEvaluator,
    IdleReason,
    LatticeEvaluator,
)
from suffice.engines.work import (
    LOOKUP,
    UNITS_PER_SECOND,
    estimate_seconds,
    max_distinct_rows,
    numba_is_installed,
)
from suffice.errors import InputError
from suffice.factors.lattice import Lattice
from suffice.formatting import duration, duration_phrase, format_bytes, format_integer, plural
from suffice.results import Column, FrozenDict, Panel, Result, Sheet
from suffice.search.limits import (
    DEFAULT_WORK,
    EXHAUSTIVE_PLAYERS,
    HYBRIDS_PER_ROW,
    STREAMED_PLAYERS,
    Limits,
)
from suffice.search.question import Question
from suffice.typing import NaturalNumber, NonNegative, Scalar

SearchMethod = Literal["exhaustive", "streamed", "bounds", "pruned", "greedy", "anytime"]
"""Method of a search: "streamed" is exhaustive at one τ, "anytime" finds the best within limits;
the others are the values of `search=`."""

DEFAULT_TIME_LIMIT = estimate_seconds(DEFAULT_WORK)
"""Seconds that a search aims to take if no limit is given."""

_WORK_PER_SET = 1000.0
"""Work of reading both views, and the cheapest changes, from the count of a set."""

_WORK_PER_STREAMED_SET = 30.0
"""Work of deciding a set at one τ from its count, 64 sets to a word."""

_MOST_BYTES = 1 << 30
"""Memory that search="auto" may use: fixed, so that every machine makes the same plan."""

_PRUNED_SHARE = 0.35
"""Share of the distinct rows that a pruned search predicts, on the safe side."""

_PRUNED_PLAYERS = 16
"""Most players of a pruned search: with more, its tables cost more than the rows it saves."""

_GREEDY_SETS = 1 << 16
"""Sets that the starts of a greedy search test, roughly."""

_MOST_FLOAT_PLAYERS = 900
"""Most players whose number of sets is a finite float."""

_PRACTICALLY_INFINITE = 1e300
"""Stand-in for infinite work, seconds or sets that can still be stored as a number."""


@dataclass(frozen=True)
class Suggestion:
    """Call that would find more sets, and about how long it would take."""

    arguments: Mapping[str, Scalar]
    """Arguments of the call: of `Explainer` for `groups` and `n_references`, else of `explain`."""
    seconds: float
    complete: bool
    """True if the call would find every set there is."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", FrozenDict(self.arguments))

    def __str__(self) -> str:
        return self.text({})

    def text(self, names: Mapping[str, str]) -> str:
        """Return the call as text; `names` maps arguments to the names of a command's options.

        >>> Suggestion({"time_limit": 60.0}, 60, complete=False).text({})
        'explain(x, time_limit=60)'
        >>> Suggestion({"groups": "auto"}, 0.2, complete=True).text({"groups": "--auto-groups"})
        '--auto-groups'
        """
        if any(name in names for name in self.arguments):
            return " ".join(_format_option(names[name], v) for name, v in self.arguments.items())
        given = ", ".join(
            f"{name}={value!r}" if isinstance(value, str) else f"{name}={_format_argument(value)}"
            for name, value in self.arguments.items()
        )
        made = "groups" in self.arguments or "n_references" in self.arguments
        return f"Explainer(model, data, {given})" if made else f"explain(x, {given})"


Suggestions = tuple[tuple[Suggestion, ...], tuple[tuple[str, ...], ...]]
"""Calls that would find more sets, and features that are copies of each other."""


@dataclass(frozen=True, repr=False)
class Plan(Result):
    """Plan of a search: its method, and the time and memory it is predicted to take.

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from suffice import Explainer, datasets
    >>> X, y = datasets.loans()
    >>> X = X[["age", "income", "debt", "late payments"]]
    >>> model = RandomForestClassifier(random_state=0).fit(X, y)
    >>> plan = Explainer(model, X).plan(X.iloc[8])
    >>> plan.way, plan.players, plan.complete
    ('exhaustive', 4, True)
    """

    asked: str
    """The value of `search=`."""
    way: SearchMethod
    players: NaturalNumber
    left_out: NaturalNumber
    """Number of players left out because they cannot matter here."""
    references: NaturalNumber
    evaluator: str
    complete: bool
    """True if the search will find every set there is, provided the prediction holds."""
    every_tau: bool
    """True if the result will hold for every τ, not only for the given one."""
    seconds: NonNegative
    """Predicted seconds, from counted work; for a search that its limit will end, the limit's."""
    exhaustive_seconds: NonNegative
    """Predicted seconds to count every set or, beyond what memory holds, to decide it at this τ."""
    limits: Limits = field(default_factory=Limits)
    memory: NonNegative = 0.0
    """Upper bound of the search's peak memory in bytes, without the model's own and without code,
    such as compiled kernels, that a first search loads."""
    # Factories, since a class attribute would hide the suggestions that are made when first read.
    more: tuple[Suggestion, ...] = field(default_factory=tuple)
    """Calls that would find more sets, the quickest first; empty if the search is complete."""
    copies: tuple[tuple[str, ...], ...] = field(default_factory=tuple)
    """Features that are perfect copies of each other in the data, where these were searched."""

    def with_suggestions(self, make: Callable[[], Suggestions]) -> Plan:
        """Return a copy of the plan whose `more` and `copies` are made when first read.

        Comparing all columns of a table takes longer than many a search.
        """
        out = replace(self, more=(), copies=())
        for name in ("more", "copies"):
            del out.__dict__[name]
        out.__dict__["_make_suggestions"] = make
        return out

    def __getattr__(self, name: str) -> Any:
        make = self.__dict__.get("_make_suggestions")
        if name not in ("more", "copies") or make is None:
            raise AttributeError(name)
        self.__dict__["more"], self.__dict__["copies"] = make()
        del self.__dict__["_make_suggestions"]
        return self.__dict__[name]

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields; suggestions are made before a plan leaves the process."""
        return self._record().__dict__.copy()

    def _record(self) -> Plan:
        _ = self.more
        return self

    @property
    def sets(self) -> int:
        """Number of sets of players."""
        return 1 << self.players

    @property
    def sheet(self) -> Sheet:
        """Sentences and table that show the plan."""
        calls = tuple((str(more), more.complete, duration(more.seconds)) for more in self.more)
        columns = Column("what would give more"), Column("complete"), Column("takes about")
        return Sheet(
            f"Plan: {self.text}",
            (self._size(), *self._memory_sentences(), *self._kernel_sentences()),
            (Panel(columns, calls),) if calls else (),
            tuple(f"Copies of each other: {', '.join(names)}." for names in self.copies),
        )

    def _kernel_sentences(self) -> tuple[str, ...]:
        """Return what a tree engine lacks without compiled kernels: time, never sets."""
        if self.evaluator != "trees" or numba_is_installed():
            return ()
        return (
            "Seconds are those of compiled kernels. numba is not installed here, and without it "
            "the same search takes 20 to 100 times as long. Install it with: pip install numba",
        )

    @property
    def text(self) -> str:
        """Sentence on the method of the search, and the time it will take."""
        what, largest = _METHOD_SENTENCES[self.way], self.limits.max_size
        if self.way == "anytime":
            return f"{what} {self._within()}."
        if self.way in ("greedy", "bounds"):  # either may end long before
            most = f", {duration_phrase(self.seconds, 'in at most')}"
            return f"{what}{most * (self.seconds < _NOT_WORTH_SAYING)}."
        if not self.complete and self.limits.ends_early:
            done = "decided at this τ" if self.way == "pruned" else "counted"
            return f"sets are {done}, the smallest first, {self._within()}."
        if largest is not None and largest < self.players:
            what = what.replace("every set", f"every set of up to {plural(largest, 'feature')}")
        return f"{what}, {duration_phrase(self.seconds)}."

    def _within(self) -> str:
        """Return the limit that may end the search."""
        limits = self.limits
        if limits.budget is not None and limits.time_limit is None:
            return f"with at most {format_integer(limits.budget)} model rows"
        return duration_phrase(limits.time_limit or self.seconds, "within")

    def _size(self) -> str:
        left = f" ({self.left_out} more cannot matter here)" if self.left_out else ""
        does = "counted" if self.players <= EXHAUSTIVE_PLAYERS else "decided at one τ"
        return (
            f"{plural(self.players, 'feature')}{left}, so {format_integer(self.sets)} sets, "
            f"against {plural(self.references, 'reference')}, by {self.evaluator}: all of them "
            f"would be {does} {duration_phrase(self.exhaustive_seconds)}."
        )

    def _memory_sentences(self) -> list[str]:
        if not self.memory:  # a plan of an older version
            return []
        return [f"It takes at most about {format_bytes(self.memory)}, beside what the model takes."]

    def to_frame(self) -> Any:
        """Return a pandas frame: a row for this plan, then one per call that would find more."""
        import pandas as pd

        rows: list[tuple[str, float, bool]] = [(self.way, self.seconds, self.complete)]
        rows += [(str(m), m.seconds, m.complete) for m in self.more]
        return pd.DataFrame(rows, columns=["call", "seconds", "complete"])

    def __repr__(self) -> str:
        return f"<Plan: {self.text}>"


_METHOD_SENTENCES: dict[SearchMethod, str] = {
    "exhaustive": "every set is counted",
    "streamed": "every set is decided at this τ",
    "bounds": "sets are decided at this τ in bulk, by bounds",
    "pruned": "every set is decided at this τ, with few model rows",
    "greedy": "small sets are counted, larger ones looked for from many starts",
    "anytime": "the best sets that can be verified",
}


_NOT_WORTH_SAYING = 1e6
"""Seconds beyond which the plan of a search that ends early gives no duration of the full
search."""


def make_plan(asked: str, evaluator: Evaluator, narrowed: SearchTask) -> Plan:
    """Choose the method: the one that `search=` names, or for "auto" by the predicted work."""
    question, hybrids = narrowed.question, narrowed.hybrids
    limits, d = question.limits, hybrids[0].d
    sweeping = _sweep_work(evaluator, narrowed)
    counting = sweeping + _number_of_sets(d) * _WORK_PER_SET
    streaming = sweeping + _number_of_sets(d) * _WORK_PER_STREAMED_SET
    everything = counting if d <= EXHAUSTIVE_PLAYERS else streaming
    plan = Plan(
        asked=asked,
        way="anytime",
        players=d,
        left_out=len(narrowed.idle),
        references=evaluator.n,
        evaluator=evaluator.name,
        complete=False,
        every_tau=False,
        seconds=0.0,
        exhaustive_seconds=estimate_seconds(everything),
        limits=limits,
    )
    if asked == "auto":
        plan = _plan_automatically(plan, evaluator, hybrids[0], question, everything, streaming)
    else:
        plan = _plan_named_search(plan, evaluator, hybrids[0])
    sweeps = 1 if hybrids[0] is hybrids[1] else 2
    return replace(
        plan, memory=sweeps * predict_bytes(plan.way, evaluator, hybrids[0], plan.limits)
    )


def require_search_possible(search: str, evaluator: Evaluator, hybrids: Hybrids) -> None:
    """Raise for a search that this model or context does not allow."""
    if search == "pruned" and not isinstance(hybrids, SwapHybrids):
        hint = "It orders hybrids by the values they share, which are not known before they are "
        raise InputError("search", "'pruned'", "'auto' in this context", f"{hint}made.")
    if search == "bounds" and not isinstance(evaluator, CubeEvaluator):
        hint = "Only tree and additive models that an engine reads, on swapped values, tell bounds."
        raise InputError("search", "'bounds'", "'auto' for this model and context", hint)


def _plan_named_search(plan: Plan, evaluator: Evaluator, hybrids: Hybrids) -> Plan:
    """Return the plan of the search that `search=` names."""
    require_search_possible(plan.asked, evaluator, hybrids)
    limits, seconds = plan.limits, plan.exhaustive_seconds
    streams = isinstance(evaluator, LatticeEvaluator) and plan.players <= STREAMED_PLAYERS
    if plan.asked in ("exhaustive", "pruned") and not streams:
        limits.require_bounded(plan.players)
    ends = _seconds_allowed(limits, evaluator)
    small = estimate_seconds(_work_of_small_sets(plan, evaluator, seconds * UNITS_PER_SECOND))
    took, whole = min(seconds, small, ends), limits.unlimited
    if plan.asked == "exhaustive":
        # An engine can stream the lattice when its counts do not fit in memory.
        beyond = whole and plan.players > EXHAUSTIVE_PLAYERS
        way: SearchMethod = "streamed" if beyond else "exhaustive"
        return replace(plan, way=way, complete=whole, every_tau=not beyond, seconds=took)
    if plan.asked == "pruned":
        return replace(plan, way="pruned", complete=whole, seconds=min(small * _PRUNED_SHARE, ends))
    if plan.asked == "bounds":
        return replace(plan, way="bounds", seconds=min(seconds, ends))
    each = evaluator.n * evaluator.work_per_hybrid()
    starts = estimate_seconds((_GREEDY_SETS + 2.0 * plan.players**2) * each)
    return replace(plan, way="greedy", seconds=min(seconds, ends, starts))


def _plan_automatically(
    plan: Plan,
    evaluator: Evaluator,
    hybrids: Hybrids,
    question: Question,
    everything: float,
    streaming: float,
) -> Plan:
    limits, d = plan.limits, plan.players
    allowed = limits.time_limit * UNITS_PER_SECOND if limits.time_limit else DEFAULT_WORK
    ends = replace(limits, work=DEFAULT_WORK) if not limits.ends_early else limits
    until = _seconds_allowed(ends, evaluator)
    if limits.max_size is not None and limits.max_size < d:
        # With `max_size` only small sets count: all of them, or as many as the work allows.
        work = _work_of_small_sets(plan, evaluator, everything)
        bounded = limits if work <= allowed else ends
        took = min(estimate_seconds(work), until)
        return replace(plan, way="exhaustive", every_tau=True, seconds=took, limits=bounded)
    rows = plan.sets * plan.references if d <= _MOST_FLOAT_PLAYERS else np.inf
    affordable = limits.budget is None or rows <= limits.budget
    fits = plan.sets * (BYTES_PER_SET + plan.references // 8) <= _MOST_BYTES
    if d <= EXHAUSTIVE_PLAYERS and affordable and everything <= allowed and fits:
        took = estimate_seconds(everything)
        return replace(plan, way="exhaustive", complete=True, every_tau=True, seconds=took)
    # A stream keeps the hits of all sets, one byte each if that is enough.
    hits_fit = plan.sets * (1 if plan.references < 1 << 8 else 2) <= _MOST_BYTES
    lattice = isinstance(evaluator, LatticeEvaluator) and limits.budget is None and hits_fit
    few_tests = question.adjust in ("none", "bonferroni")
    if lattice and d <= STREAMED_PLAYERS and streaming <= allowed and few_tests:
        return replace(plan, way="streamed", complete=True, seconds=estimate_seconds(streaming))
    swapped = isinstance(hybrids, SwapHybrids) and not isinstance(evaluator, LatticeEvaluator)
    work = _PRUNED_SHARE * everything
    if swapped and d <= _PRUNED_PLAYERS and affordable and few_tests and work <= allowed:
        return replace(plan, way="pruned", complete=True, seconds=estimate_seconds(work))
    # A correction for multiple tests needs their number: count small sets as far as work allows.
    way: SearchMethod = "anytime" if question.adjust == "none" else "exhaustive"
    return replace(plan, way=way, seconds=until, limits=ends)


def _work_of_small_sets(plan: Plan, evaluator: Evaluator, everything: float) -> float:
    """Return the work of all sets of up to `max_size` players, from that of all sets."""
    d, largest = plan.players, plan.limits.max_size
    if largest is None or largest >= d:
        return everything
    sets = 2 * Lattice(d).count_up_to(largest)
    share = sets / plan.sets if d <= _MOST_FLOAT_PLAYERS else 0.0
    return everything * share if share else float(sets) * evaluator.n * LOOKUP


def _seconds_allowed(limits: Limits, evaluator: Evaluator) -> float:
    """Return the seconds after which a limit ends the search, at most; infinite without one."""
    seconds = np.inf if limits.time_limit is None else limits.time_limit
    work = np.inf if limits.work is None else limits.work
    if limits.budget is not None:
        each = evaluator.work_per_hybrid()
        hybrid = each if isinstance(evaluator, LatticeEvaluator) else LOOKUP
        work = min(work, limits.budget * (each + HYBRIDS_PER_ROW * hybrid))
    return min(seconds, estimate_seconds(work))


class RunSearch(NamedTuple):
    """Search for all rows of a batch run, and whether repeating the run gives the same results."""

    search: str
    repeatable: bool


def choose_run_search(search: str, plan: Plan | None) -> RunSearch:
    """Choose one search for all rows of a batch run, from the plan of one of its rows.

    `search="auto"` depends on how many rows of a decision are distinct: if all sets of one row are
    counted, so are those of the others. `plan` is None if no row can be planned.
    """
    if plan is None:
        return RunSearch(search, search == "exhaustive")
    if search == "auto" and plan.way == "exhaustive" and plan.complete:
        return RunSearch("exhaustive", True)
    return RunSearch(search, plan.limits.time_limit is None)


def _sweep_work(evaluator: Evaluator, narrowed: SearchTask) -> float:
    """Return the work of the outcomes of all sets, by an engine's sweep or by predictions."""
    hybrids, sets = narrowed.hybrids, _number_of_sets(narrowed.hybrids[0].d)
    if sets == _PRACTICALLY_INFINITE:
        return _PRACTICALLY_INFINITE
    if isinstance(evaluator, LatticeEvaluator):
        return evaluator.sweep_work()
    sweeps = 1 if hybrids[0] is hybrids[1] else 2
    rows = max_distinct_rows(hybrids[0]) * evaluator.work_per_hybrid()
    return sweeps * (rows + sets * evaluator.n * LOOKUP)


def _number_of_sets(d: int) -> float:
    """Return the number of sets of d players as a float, capped at a huge number."""
    return float(1 << d) if d <= _MOST_FLOAT_PLAYERS else _PRACTICALLY_INFINITE


def _format_option(name: str, value: Scalar) -> str:
    """Return an option of a command; a flag if its name includes the value."""
    return name if str(value) in name.split("-") else f"{name} {_format_argument(value)}"


def _format_argument(value: Scalar) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, eq=False)
class SearchTask:
    """Question restricted to the players that may matter, with their hybrids."""

    hybrids: tuple[Hybrids, Hybrids]
    """Hybrids of the keep view, and of the flip view."""
    question: Question
    players: tuple[int, ...]
    """Index of each of its players among all players."""
    idle: Mapping[int, IdleReason]
    """Players left out of the search, with the reason of each."""

    @classmethod
    def of_all(cls, hybrids: tuple[Hybrids, Hybrids], question: Question) -> SearchTask:
        """Return the task in which no player is left out."""
        return cls(hybrids, question, tuple(range(hybrids[0].d)), {})


# Players that cannot matter for this input and these references: leaving them out changes nothing.


SKIP_IDLE_CHECK_UP_TO = 12
"""Players up to which counting all sets is faster than checking which players matter."""


def drop_idle_players(hybrids: SwapHybrids, question: Question, evaluator: Evaluator) -> SearchTask:
    """Leave out the players of `find_idle_players` if that changes no number of the result."""
    idle = find_idle_players(hybrids, evaluator)
    if not idle:
        return SearchTask.of_all((hybrids, hybrids), question)
    players = tuple(p for p in range(hybrids.d) if p not in idle)
    among = hybrids.restrict_to(players)
    return SearchTask((among, among), question, players, idle)


def may_drop_idle_players(hybrids: Hybrids, question: Question) -> TypeGuard[SwapHybrids]:
    """Return whether leaving out idle players saves work and changes no number of the result.

    They must stay if a correction for multiple tests counts all sets, or if D prefers sets of some
    sizes, so that the number of idle players held matters.
    """
    counted = question.adjust != "none" or question.size_weights is not None
    swapped = isinstance(hybrids, SwapHybrids) and hybrids.d > SKIP_IDLE_CHECK_UP_TO
    return swapped and not counted


def find_idle_players(hybrids: SwapHybrids, evaluator: Evaluator) -> Mapping[int, IdleReason]:
    """Return the idle players with reasons; at least one player is left.

    The reason "equal in all references" comes first, since it needs no model.
    """
    idle: dict[int, IdleReason] = {}
    if isinstance(evaluator, IdlePlayerEvaluator):
        idle |= evaluator.idle_players()
    same = (hybrids.codes[1:] == hybrids.codes[0]).all(axis=0)
    idle |= {int(player): "same" for player in np.flatnonzero(same)}
    if len(idle) == hybrids.d:
        del idle[min(idle)]
    return dict(sorted(idle.items()))


# Peak memory, predicted from counts: sets, hybrids of a block, rows of a call.
#
# The bytes are upper bounds of measurements with 4 to 800 features and 50 to 50,000 references,
# without the model's own memory. `make soak` compares them with the peak of real searches.


BYTES_PER_SET = 56
"""Counts and intervals of both views; outcomes are extra, a bit for each reference."""

_BASE = 16e6
"""Bytes of small arrays, and of modules that a search imports."""

_BYTES_PER_REFERENCE_CELL = 100
"""Bytes of a reference's value in one column: in copies of the table, as code, cost and rank."""

_BYTES_PER_SWEPT_HYBRID = 20
_SWEPT_TOGETHER = 1 << 21
_SETS_SWEPT_TOGETHER = 1 << 8
"""Hybrids in one block of an engine, and sets in one block."""

_BYTES_PER_ASKED_HYBRID = 48
"""Bytes of a hybrid's key and its place among distinct rows; a byte per player is extra."""

_ASKED_TOGETHER = 1 << 20
_BYTES_PER_CELL = 24
_CELLS_PER_CALL = 1 << 22
"""Cells of the rows in one model call, including intermediate copies."""

_BYTES_PER_ANSWER = 60
_MOST_ANSWERS = 1 << 22
"""Most rows whose predictions are cached."""

_BYTES_PER_NUMBERED_HYBRID = 100
_MOST_NUMBERED = 1 << 22
"""Hybrids that a pruned search numbers in advance."""

_BYTES_PER_KNOWN_SET = 320
_MOST_KNOWN_BYTES = 1 << 28
"""Memory of cached outcomes in a search that does not count all sets."""

_STREAMED_BASE = 64e6

_MANY = 10**18


def predict_bytes(way: str, evaluator: Evaluator, hybrids: Hybrids, limits: Limits) -> float:
    """Return an upper bound of the peak memory, in bytes, of a search with one sweep."""
    d, n = hybrids.d, evaluator.n
    largest = limits.largest(d)
    counted = 2 * Lattice(d).count_up_to(largest) if largest < d else 1 << d
    sets = float(min(counted, _MANY))
    rows = min(sets * n, _affordable_hybrids(evaluator, limits))
    columns = len(hybrids.pool.names)
    total = _BASE + _BYTES_PER_REFERENCE_CELL * n * columns
    if isinstance(evaluator, LatticeEvaluator):
        together = max(_SWEPT_TOGETHER, _SETS_SWEPT_TOGETHER * n)
        total += _BYTES_PER_SWEPT_HYBRID * min(rows, together)
    else:
        block = min(max(rows, n), _ASKED_TOGETHER)
        total += block * (_BYTES_PER_ASKED_HYBRID + d)
        total += _BYTES_PER_CELL * min(block * columns, _CELLS_PER_CALL)
        total += _BYTES_PER_ANSWER * min(rows, _MOST_ANSWERS)
    if way == "exhaustive":
        total += min(sets, rows / n + 1) * (BYTES_PER_SET + n / 8)
    elif way == "streamed":
        total += _STREAMED_BASE + 2 * np.min_scalar_type(n).itemsize * sets
    elif way == "pruned":
        total += _BYTES_PER_NUMBERED_HYBRID * min(sets * n, _MOST_NUMBERED)
    if way not in ("exhaustive", "streamed"):
        known = rows / n * (_BYTES_PER_KNOWN_SET + n / 8 + d / 8)
        total += min(known, _MOST_KNOWN_BYTES)
    return total


def _affordable_hybrids(evaluator: Evaluator, limits: Limits) -> float:
    """Return how many hybrids the limits on rows and work allow; time limits are ignored."""
    each = max(evaluator.work_per_hybrid(), 1.0)
    most = float(_MANY)
    if limits.budget is not None:
        engine = isinstance(evaluator, LatticeEvaluator)
        most = float(limits.budget) * (HYBRIDS_PER_ROW if engine else 1)
    if limits.work is not None:
        most = min(most, limits.work / each)
    return most
