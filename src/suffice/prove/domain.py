"""Domain of a proof: the values that each column may take, cut into cells that trees tell apart.

A tree asks a fixed list of questions of each column. Values with the same answers to all of them
are one *cell*: no tree can tell them apart. One value stands for each cell, and a row of such
values for all rows of its cells, so that a statement about finitely many cells holds for every
number.

Which values are in the domain:

- "values": those that the data holds in the column, in any combination;
- "range": any number from the data's least to its largest, for columns of numbers; else "values";
- "box": any number, for columns of numbers; any category that the dtype lists; else "values".

Missing values belong to a column's domain if the data has one there. The input's own value always
belongs to it. Columns of integers hold integers only.

Why one value per interval is enough: let x be a number of the range, s(x) what the trees see of it
(some libraries round to float32 first, which keeps the order), and t the least threshold that is
not below s(x). The largest number that the trees see as at most t has the answers of x. If there is
no such t, the largest number of the range has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from suffice.engines.select_engine import Unreadable, unreadable_on_error
from suffice.engines.trees.ensemble import Ensemble
from suffice.tables.cells import missing_mask
from suffice.tables.table import Table
from suffice.typing import Counts, HeldSets, Reals

DomainKind = Literal["values", "range", "box"]
DOMAINS: tuple[DomainKind, ...] = ("values", "range", "box")


@dataclass(frozen=True, eq=False)
class Domain:
    """Cells of every column, in the order of their values, and a value that stands for each."""

    kind: DomainKind
    candidates: Table
    """Row i has, in each column, the i-th value of its domain; short columns repeat their first."""
    counts: tuple[int, ...]
    """By column: the number of its values."""
    shown: tuple[Counts, ...]
    """By column: the row of `candidates` whose value stands for each cell."""
    answers: HeldSets
    """(tests, rows of candidates): who goes left at each test of the ensemble."""
    patterns: tuple[tuple[Counts, HeldSets], ...]
    """By column: the tests that read it, and (tests, cells) who goes left at each of them."""

    @cached_property
    def sizes(self) -> Counts:
        """The number of cells of each column."""
        return np.array([len(rows) for rows in self.shown])


def make_domain(kind: DomainKind, ensemble: Ensemble, data: Table, simple: bool) -> Domain:
    """Return the domain of a table's columns for the trees of an ensemble.

    `simple`: the trees see the columns as they are, perhaps rounded, so that thresholds are numbers
    of the columns' own.
    """
    columns = [_column_values(kind, ensemble, data, j, simple) for j in range(len(data.names))]
    longest = max(map(len, columns))
    native = [_padded(cells, longest) for cells in columns]
    candidates = data.from_cells(native, "data")
    return _cut_into_cells(kind, ensemble, candidates, [len(cells) for cells in columns])


def value_domain(data: Table, row: Table) -> tuple[Domain, Counts]:
    """Return the domain with one cell per value in the data, and the cells of a row."""
    stacked = row.stack(data)
    codes = stacked.codes()
    shown = [np.unique(codes[:, j], return_index=True)[1] for j in range(codes.shape[1])]
    counts = [len(rows) for rows in shown]
    picked = np.stack([np.resize(rows, max(counts)) for rows in shown], axis=1)
    start = np.array([np.argmin(rows) for rows in shown])  # the row itself comes first
    nobody = np.zeros((0, max(counts)), dtype=bool)
    domain = Domain(
        "values",
        stacked.gather(picked),
        tuple(counts),
        tuple(np.arange(count) for count in counts),
        nobody,
        (),
    )
    return domain, start


def with_input(domain: Domain, ensemble: Ensemble, row: Table) -> tuple[Domain, Counts]:
    """Return the domain with an input's values in it, and the input's cells.

    Where the input's values fall into cells of the domain, it is the domain as it was.
    """
    left = answer_tests(ensemble, row)[:, 0]
    cells = []
    for asked, pattern in domain.patterns:
        same = (pattern == left[asked, None]).all(axis=0)
        cells.append(int(np.argmax(same)) if same.any() else -1)
    if min(cells) >= 0:
        return domain, np.array(cells)
    new = np.array(cells) < 0
    counts = [count + extra for count, extra in zip(domain.counts, new.tolist(), strict=True)]
    rows = np.zeros((max(counts), len(counts)), dtype=np.int64)
    for j, (count, extra) in enumerate(zip(domain.counts, new, strict=True)):
        rows[:, j] = np.minimum(np.arange(len(rows)), count - 1)
        if extra:
            rows[count:, j] = len(domain.candidates)  # the row that is put below
    joined = domain.candidates.stack(row).gather(rows)
    return with_input(_cut_into_cells(domain.kind, ensemble, joined, counts), ensemble, row)


def answer_tests(ensemble: Ensemble, rows: Table) -> HeldSets:
    """Return (tests, rows): who goes left at each test of the ensemble."""
    with unreadable_on_error("the model's library refuses values of the domain"):
        seen = ensemble.matrix(rows)
    tests = ensemble.tests
    values = seen[:, tests.column].T
    left = np.where(
        np.isnan(values), tests.missing_left[:, None], values <= tests.threshold[:, None]
    )
    for number in tests.categories:
        left[number] = tests.answer(number, values[number])
    return np.asarray(left)


def column_of_seen(ensemble: Ensemble, table: Table) -> Counts:
    """Return the table's column behind each column that the trees see."""
    if ensemble.source is None:
        return np.arange(len(table.names))
    return np.asarray(ensemble.source, dtype=np.int64)


def _cut_into_cells(
    kind: DomainKind, ensemble: Ensemble, candidates: Table, counts: Sequence[int]
) -> Domain:
    """Group each column's values by their answers; a cell stands where its first value stands."""
    answers = answer_tests(ensemble, candidates)
    source = column_of_seen(ensemble, candidates)
    shown, patterns = [], []
    for j, count in enumerate(counts):
        asked = np.flatnonzero(source[ensemble.tests.column] == j)
        packed = np.packbits(answers[asked][:, :count], axis=0)
        if not len(packed):  # the trees never read it: one cell
            packed = np.zeros((1, count), dtype=np.uint8)
        _, first = np.unique(packed, axis=1, return_index=True)
        first = np.sort(first)  # in the order of the values, so that few leaves are torn apart
        shown.append(first)
        patterns.append((asked, answers[asked][:, first]))
    return Domain(kind, candidates, tuple(counts), tuple(shown), answers, tuple(patterns))


def _column_values(
    kind: DomainKind, ensemble: Ensemble, data: Table, j: int, simple: bool
) -> list[object]:
    """Return the values of a column's domain in order, missing ones last."""
    known = missing_mask(data.column(j))
    cells = data.cells(j)
    codes = data.select([j]).codes()[:, 0]
    _, first = np.unique(codes, return_index=True)
    present = [cells[i] for i in first if not known[i]]
    missing = [cells[i] for i in first if known[i]][:1]
    if kind == "values" or not present:
        return present + missing
    categories = data.categories(j)
    if categories is not None:
        return (list(categories) if kind == "box" else present) + missing
    column = data.column(j)
    if column.dtype.kind not in "fiu":
        return present + missing
    seen = np.flatnonzero(column_of_seen(ensemble, data) == j)
    if not len(seen):
        return present[:1] + missing
    if not simple:
        raise Unreadable(
            f"domain={kind!r} cuts a column at the trees' thresholds, and a step of the pipeline "
            f"changes column {data.names[j]!r} first; domain='values' reads such models"
        )
    thresholds = np.unique(ensemble.tests.threshold[np.isin(ensemble.tests.column, seen)])
    numbers = np.array(present, dtype=np.float64)
    ends = _interval_ends(kind, thresholds, numbers)
    if data.is_integer(j):
        bounds = np.iinfo(column.dtype) if column.dtype.kind in "iu" else np.iinfo(np.int64)
        whole = np.unique(np.clip(np.floor(ends), float(bounds.min), float(bounds.max)))
        return [*(int(end) for end in whole if end >= ends[0]), *missing]
    if column.dtype == np.float32:
        ends = np.unique(ends.astype(np.float32)).astype(np.float64)
    return [*(float(end) for end in ends), *missing]


def _interval_ends(kind: DomainKind, thresholds: Reals, numbers: Reals) -> Reals:
    """Return a number of every interval between thresholds: its largest, as trees see it.

    Both the threshold and the float32 below it are listed, so that it does not matter whether the
    library rounds: those that it cannot tell apart end up in one cell. The least and the largest
    number are listed too, since rounding could take them past an end of the range.
    """
    least, most = numbers.min(), numbers.max()
    with np.errstate(over="ignore"):
        single = thresholds.astype(np.float32)
        down = np.where(single > thresholds, np.nextafter(single, np.float32(-np.inf)), single)
    ends = np.concatenate([thresholds, down.astype(np.float64)])
    ends = ends[np.isfinite(ends)]
    if kind == "box":
        most = 2.0 * max(abs(most), np.abs(ends).max(initial=0.0)) + 1.0
        least = min(least, ends.min(initial=least))
    return np.unique(np.append(ends[(ends >= least) & (ends <= most)], [least, most]))


def _padded(cells: list[object], length: int) -> list[object]:
    return cells + cells[:1] * (length - len(cells))
