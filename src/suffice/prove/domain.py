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
belongs to it. Columns of integers hold integers only. Restrictions leave some of these values or
combinations out (`restrictions`); what their factors ask is a test like those of the trees.

Why one value per interval is enough: let x be a number of the range, s(x) what the trees see of it
(some libraries round to float32 first, which keeps the order), and t the least threshold that is
not below s(x). The largest number that the trees see as at most t has the answers of x. If there is
no such t, the largest number of the range has them. A number that a forbidden factor is compared
with is listed with both its neighbours, since its sides are told apart there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from suffice.engines.select_engine import Unreadable, unreadable_on_error
from suffice.engines.trees.encoded_input import go_left
from suffice.engines.trees.ensemble import Ensemble
from suffice.factors import Factor
from suffice.prove.restrictions import Restrictions
from suffice.tables.cells import missing_mask
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, HeldSets, Reals

DomainKind = Literal["values", "range", "box"]
DOMAINS: tuple[DomainKind, ...] = ("values", "range", "box")
UNRESTRICTED = Restrictions()


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
    """(tests, rows of candidates): who goes left at each test of the ensemble, and below that which
    values satisfy each of the atoms."""
    patterns: tuple[tuple[Counts, HeldSets], ...]
    """By column: the tests that read it, and (tests, cells) who goes left at each of them."""
    atoms: tuple[Factor, ...] = ()
    """Conditions of forbidden factors, each on one column."""

    @cached_property
    def sizes(self) -> Counts:
        """The number of cells of each column."""
        return np.array([len(rows) for rows in self.shown])


def make_domain(
    kind: DomainKind,
    ensemble: Ensemble,
    data: Table,
    limits: Restrictions = UNRESTRICTED,
) -> Domain:
    """Return the domain of a table's columns for the trees of an ensemble.

    A restricted domain holds the input's values.
    """
    columns = [_column_values(kind, ensemble, data, j, limits) for j in range(len(data.names))]
    longest = max(map(len, columns))
    native = [_padded(cells, longest) for cells in columns]
    candidates = data.from_cells(native, "data")
    counts = [len(cells) for cells in columns]
    if limits.row is not None:
        candidates, counts = _restricted(candidates, counts, limits.row, limits)
    return _cut_into_cells(kind, ensemble, candidates, counts, limits.atoms)


def _restricted(
    candidates: Table, counts: Sequence[int], row: Table, limits: Restrictions
) -> tuple[Table, list[int]]:
    """Return the allowed candidates, and after them the input's value, column by column."""
    allowed = limits.allowed(candidates)
    kept = [np.flatnonzero(allowed[:count, j]) for j, count in enumerate(counts)]
    own = len(candidates)  # where the row is put
    picked = [np.append(rows, own) for rows in kept]
    longest = max(map(len, picked))
    rows = np.stack([np.append(p, np.full(longest - len(p), own)) for p in picked], axis=1)
    return candidates.stack(row).gather(rows), [len(p) for p in picked]


def value_domain(
    data: Table, row: Table, limits: Restrictions = UNRESTRICTED
) -> tuple[Domain, Counts]:
    """Return the domain with one cell per value in the data, and the cells of a row."""
    stacked = row.stack(data)
    codes = stacked.codes()
    allowed = limits.allowed(stacked)
    shown = []
    for j in range(codes.shape[1]):
        _, first = np.unique(codes[:, j], return_index=True)
        shown.append(first[allowed[first, j]])
    counts = [len(rows) for rows in shown]
    picked = np.stack([np.resize(rows, max(counts)) for rows in shown], axis=1)
    start = np.array([np.argmin(rows) for rows in shown])  # the row itself comes first
    candidates = stacked.gather(picked)
    domain = Domain(
        "values",
        candidates,
        tuple(counts),
        tuple(np.arange(count) for count in counts),
        _atom_answers(limits.atoms, candidates),
        (),
        limits.atoms,
    )
    return domain, start


def with_ends(data: Table, limits: Restrictions) -> Table:
    """Return a table with rows below that hold the ends of runs of numbers.

    Those are the numbers that rules or forbidden factors name, within the data's least and largest.
    """
    columns: list[list[object]] = []
    for j, name in enumerate(data.names):
        column = data.column(j)
        known = missing_mask(column)
        numbers: list[object] = []
        if column.dtype.kind in "fiu" and not known.all():
            least, most = float(column[~known].min()), float(column[~known].max())
            named = _sides([*limits.ends(j), *limits.constants(name)], data, j)
            inside = np.unique(named[(named >= least) & (named <= most)])
            numbers = [int(v) if data.is_integer(j) else float(v) for v in inside]
        columns.append(numbers or data.cells(j)[:1])
    longest = max(map(len, columns))
    return data.stack(data.from_cells([_padded(cells, longest) for cells in columns], "data"))


def with_input(domain: Domain, ensemble: Ensemble, row: Table) -> tuple[Domain, Counts]:
    """Return the domain with an input's values in it, and the input's cells.

    Where the input's values fall into cells of the domain, it is the domain as it was.
    """
    cells = cells_of_row(domain, ensemble, row)
    if cells.min() >= 0:
        return domain, cells
    new = cells < 0
    counts = [count + extra for count, extra in zip(domain.counts, new.tolist(), strict=True)]
    rows = np.zeros((max(counts), len(counts)), dtype=np.int64)
    for j, (count, extra) in enumerate(zip(domain.counts, new, strict=True)):
        rows[:, j] = np.minimum(np.arange(len(rows)), count - 1)
        if extra:
            rows[count:, j] = len(domain.candidates)  # the row that is put below
    joined = domain.candidates.stack(row).gather(rows)
    wider = _cut_into_cells(domain.kind, ensemble, joined, counts, domain.atoms)
    return with_input(wider, ensemble, row)


def cells_of_row(domain: Domain, ensemble: Ensemble, row: Table) -> Counts:
    """Return the cell of each column of a row; -1 where its value is in none."""
    left = answer_tests(ensemble, row, domain.atoms)[:, 0]
    cells = []
    for asked, pattern in domain.patterns:
        same = (pattern == left[asked, None]).all(axis=0)
        cells.append(int(np.argmax(same)) if same.any() else -1)
    return np.array(cells)


def column_places(domain: Domain, j: int) -> Counts:
    """Return the cell of each candidate value of a column."""
    count = domain.counts[j]
    if not domain.patterns:
        return np.arange(count)
    asked, _ = domain.patterns[j]
    return _places(domain, j, domain.answers[asked][:, :count])


def places_of_numbers(
    domain: Domain, ensemble: Ensemble, row: Table, j: int, numbers: Reals
) -> Counts:
    """Return the cell of each of some numbers of a column; -1 for none. `row` is any row."""
    found = []
    asked, _ = domain.patterns[j]
    for start in range(0, len(numbers), _NUMBERS_AT_ONCE):
        part = numbers[start : start + _NUMBERS_AT_ONCE]
        rows = row.take(np.zeros(len(part), dtype=np.int64))
        rows = rows.with_columns({j: part.astype(row.column(j).dtype)})
        found.append(_places(domain, j, answer_tests(ensemble, rows, domain.atoms)[asked]))
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


_NUMBERS_AT_ONCE = 128
"""Numbers whose answers to all tests are in memory at a time."""


def _places(domain: Domain, j: int, answers: HeldSets) -> Counts:
    """Return the cell that has each of the given answers to the tests of a column, or -1."""
    _, pattern = domain.patterns[j]
    cells = {cell.tobytes(): c for c, cell in enumerate(np.packbits(pattern, axis=0).T)}
    packed = np.packbits(answers, axis=0).T
    return np.array([cells.get(value.tobytes(), -1) for value in packed], dtype=np.int64)


def next_number(data: Table, j: int, number: float) -> list[float]:
    """Return numbers right above one: the next of the column's dtype, and the next float32."""
    if data.is_integer(j):
        return [np.floor(number) + 1.0]
    column = data.column(j)
    single = np.float32(number)
    above = single if single > number else np.nextafter(single, np.float32(np.inf))
    exact = np.nextafter(column.dtype.type(number), column.dtype.type(np.inf))
    return [float(exact), float(above)]


def answer_tests(ensemble: Ensemble, rows: Table, atoms: tuple[Factor, ...] = ()) -> HeldSets:
    """Return (tests, rows): who goes left at each test of the ensemble, and satisfies each atom."""
    with unreadable_on_error("the model's library refuses values of the domain"):
        seen = ensemble.matrix(rows)
    left = go_left(ensemble.tests, seen)
    return np.concatenate([left, _atom_answers(atoms, rows)]) if atoms else left


def _atom_answers(atoms: tuple[Factor, ...], rows: Table) -> HeldSets:
    """Return (atoms, rows): which rows satisfy each of the conditions."""
    out = np.zeros((len(atoms), len(rows)), dtype=bool)
    for i, (atom, j) in enumerate(zip(atoms, atom_columns(atoms, rows), strict=True)):
        out[i] = atom({rows.names[j]: rows.column(j)})
    return out


def atom_columns(atoms: tuple[Factor, ...], table: Table) -> list[int]:
    """Return the column that each of the conditions is about."""
    return [table.names.index(next(atom.columns())) for atom in atoms]


def column_of_seen(ensemble: Ensemble, table: Table) -> Counts:
    """Return the table's column behind each column that the trees see."""
    if ensemble.source is None:
        return np.arange(len(table.names))
    return np.asarray(ensemble.source, dtype=np.int64)


def _cut_into_cells(
    kind: DomainKind,
    ensemble: Ensemble,
    candidates: Table,
    counts: Sequence[int],
    atoms: tuple[Factor, ...] = (),
) -> Domain:
    """Group each column's values by their answers; a cell stands where its first value stands."""
    answers = answer_tests(ensemble, candidates, atoms)
    source = column_of_seen(ensemble, candidates)
    owner = np.append(source[ensemble.tests.column], atom_columns(atoms, candidates))
    shown, patterns = [], []
    for j, count in enumerate(counts):
        asked = np.flatnonzero(owner == j)
        packed = np.packbits(answers[asked][:, :count], axis=0)
        if not len(packed):  # the trees never read it: one cell
            packed = np.zeros((1, count), dtype=np.uint8)
        _, first = np.unique(packed, axis=1, return_index=True)
        first = np.sort(first)  # in the order of the values, so that few leaves are torn apart
        shown.append(first)
        patterns.append((asked, answers[asked][:, first]))
    return Domain(kind, candidates, tuple(counts), tuple(shown), answers, tuple(patterns), atoms)


def _column_values(
    kind: DomainKind,
    ensemble: Ensemble,
    data: Table,
    j: int,
    limits: Restrictions,
) -> list[object]:
    """Return the values of a column's domain in order, missing ones last.

    Of the restrictions only those are met that say where a run of numbers ends.
    """
    known = missing_mask(data.column(j))
    cells = data.cells(j)
    codes = data.select([j]).codes()[:, 0]
    _, first = np.unique(codes, return_index=True)
    present = [cells[i] for i in first if not known[i]]
    missing = [cells[i] for i in first if known[i]][:1]
    listed = limits.listed(j)
    if listed is not None:
        return [value for value in listed if value is not None] + missing
    if kind == "values" or not present or j in limits.fixed:
        return present + missing
    categories = data.categories(j)
    if categories is not None:
        return (list(categories) if kind == "box" else present) + missing
    column = data.column(j)
    if column.dtype.kind not in "fiu":
        return present + missing
    seen = np.flatnonzero(column_of_seen(ensemble, data) == j)
    constants = limits.constants(data.names[j])
    if not len(seen) and not constants:
        return present[:1] + missing
    asked = np.flatnonzero(np.isin(ensemble.tests.column, seen))
    if set(asked.tolist()) & set(ensemble.tests.categories):  # numbers that stand for categories
        return present + missing
    thresholds = _thresholds(kind, ensemble, data, j, asked)
    numbers = np.array(present, dtype=np.float64)
    low, high = limits.ends(j)
    ends = _interval_ends(kind, thresholds, numbers, low, high, _sides(constants, data, j))
    if not len(ends):  # the rules leave no number but the input's
        return missing
    if data.is_integer(j):
        bounds = np.iinfo(column.dtype) if column.dtype.kind in "iu" else np.iinfo(np.int64)
        whole = np.unique(np.clip(np.floor(ends), float(bounds.min), float(bounds.max)))
        return [*(int(end) for end in whole if end >= ends[0]), *missing]
    if column.dtype == np.float32:
        ends = np.unique(ends.astype(np.float32)).astype(np.float64)
    return [*(float(end) for end in ends), *missing]


def _thresholds(kind: DomainKind, ensemble: Ensemble, data: Table, j: int, asked: Counts) -> Reals:
    """Return the numbers at which the answers to tests of a column of numbers change."""
    tests = ensemble.tests
    if ensemble.increasing is None or not len(asked):
        return np.unique(tests.threshold[asked])
    if kind == "box" or not ensemble.increasing[tests.column[asked]].all():
        raise Unreadable(
            f"domain={kind!r} cuts a column at the trees' thresholds, and a step of the pipeline "
            f"changes column {data.names[j]!r} first; "
            + ("domain='range' or 'values' reads" if kind == "box" else "domain='values' reads")
            + " such models"
        )
    return _bisected(ensemble, data, j, asked)


def _bisected(ensemble: Ensemble, data: Table, j: int, asked: Counts) -> Reals:
    """Return the largest numbers of the column that go left at each of its tests.

    What the trees see never falls where the column rises, so the numbers that go left come first,
    and bisection finds the last of them to the bit. Tests with one answer in the range have none.
    """
    column = data.column(j)
    known = column[~missing_mask(column)]
    tests = ensemble.tests
    template = data.take(np.zeros(len(asked), dtype=np.int64))

    def goes_left(keys: Counts) -> BoolVector:
        values = keys.astype(column.dtype) if column.dtype.kind in "iu" else _of_keys(keys)
        rows = template.with_columns({j: values.astype(column.dtype)}, "data")
        with unreadable_on_error("the model's library refuses values of the domain"):
            looked = ensemble.matrix(rows)[np.arange(len(asked)), tests.column[asked]]
        return np.asarray(looked <= tests.threshold[asked])

    ends = np.array([known.min(), known.max()])
    first, last = ends.astype(np.int64) if column.dtype.kind in "iu" else _keys(ends)
    low, high = np.full(len(asked), first), np.full(len(asked), last)
    inside = goes_left(low) & ~goes_left(high)
    while (wide := high - 1 > low).any():
        # Halved one by one, since the sum of two keys may be too large.
        middle = np.where(wide, low // 2 + high // 2 + (low & high & 1), low)
        left = goes_left(middle)
        low, high = np.where(wide & left, middle, low), np.where(wide & ~left, middle, high)
    found = low if column.dtype.kind in "iu" else _of_keys(low)
    return np.unique(found[inside].astype(np.float64))


def _keys(numbers: Reals) -> Counts:
    """Return integers in the order of float64 numbers, neighbours for neighbours."""
    bits = np.asarray(numbers, dtype=np.float64).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def _of_keys(keys: Counts) -> Reals:
    """Return the numbers of keys.

    >>> _of_keys(_keys(np.array([-1.5, -0.0, 2.0]))).tolist()
    [-1.5, 0.0, 2.0]
    """
    return np.where(keys < 0, np.iinfo(np.int64).min - keys, keys).view(np.float64)


def _sides(constants: Sequence[float], data: Table, j: int) -> Reals:
    """Return numbers and their nearest neighbours in a column's dtype."""
    values = np.array(constants, dtype=np.float64)
    if data.is_integer(j):
        below, above = np.floor(values), np.ceil(values)
        return np.concatenate([below - 1, below, above, above + 1])
    values = values.astype(data.column(j).dtype)
    near = [values, np.nextafter(values, -np.inf), np.nextafter(values, np.inf)]
    return np.concatenate(near).astype(np.float64)


def _interval_ends(
    kind: DomainKind, thresholds: Reals, numbers: Reals, low: float, high: float, also: Reals
) -> Reals:
    """Return a number of every interval between thresholds: its largest, as trees see it.

    Both the threshold and the float32 below it are listed, so that it does not matter whether the
    library rounds: those that it cannot tell apart end up in one cell. The least and the largest
    number are listed too, since rounding could take them past an end of the range. The numbers
    `also` are listed as they are. Only numbers from `low` to `high` are.
    """
    least, most = numbers.min(), numbers.max()
    with np.errstate(over="ignore"):
        single = thresholds.astype(np.float32)
        down = np.where(single > thresholds, np.nextafter(single, np.float32(-np.inf)), single)
    ends = np.concatenate([thresholds, down.astype(np.float64), also])
    ends = ends[np.isfinite(ends)]
    if kind == "box":
        known = np.abs(np.append(ends, [least, most, *(e for e in (low, high) if np.isfinite(e))]))
        least, most = min(least, high, ends.min(initial=least)), 2.0 * known.max() + 1.0
    least, most = max(least, low), min(most, high)
    if least > most:
        return np.zeros(0)
    return np.unique(np.append(ends[(ends >= least) & (ends <= most)], [least, most]))


def _padded(cells: list[object], length: int) -> list[object]:
    return cells + cells[:1] * (length - len(cells))
