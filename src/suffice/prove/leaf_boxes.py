"""Leaf boxes: leaves of an ensemble or terms of an additive model as boxes, with bounds of sums.

A path to a leaf allows some cells of each column that it tests. Where these are no run of
neighbouring cells (a categorical split, a missing value), the leaf is several boxes, one for each
combination of runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from suffice.context.players import make_players
from suffice.decision import Decision
from suffice.engines.additive_margins import rounding_factor, score_combinations
from suffice.engines.additive_model import AdditiveModel, read_weights
from suffice.engines.pipeline_columns import increasing_columns
from suffice.engines.select_engine import Unreadable
from suffice.engines.trees.encoded_input import IntegerMargin
from suffice.engines.trees.ensemble import Ensemble
from suffice.factors import Factor
from suffice.factors.predicates import And, Not, Or
from suffice.prove.branch_and_bound import LeafBoxes
from suffice.prove.domain import (
    Domain,
    DomainKind,
    atom_columns,
    column_of_seen,
    value_domain,
    with_ends,
)
from suffice.prove.restrictions import Restrictions
from suffice.tables.table import Table
from suffice.typing import Counts, Reals

# Additive models over a domain: a column is a tree whose leaves are the values of the column.
#
# The score of a row is a sum of one term per column (`engines.additive_margins`), so each column
# adds a step function of its values, and the largest sum over a box is the sum of the columns'
# largest terms: branch and bound ends at the first box, but for sums within rounding of the
# boundary.
#
# Terms become integers: with the scale k = 2^30 / Σ_j max |t_j|, the integer Σ_j rint(k t_j) is off
# k Σ_j t_j by at most d / 2. The model's own sum of a row is off by at most γ times the sum of the
# absolute values of all that it adds up. What a column adds is at most what its whole row adds, so
# for any combination of d values that sum is at most d times the largest of any row.


_LARGEST_SUM = 2.0**30


def read_columns(
    model: AdditiveModel, decision: Decision, kind: DomainKind, limits: Restrictions
) -> tuple[Domain, Counts, EnsembleBoxes, list[IntegerMargin]]:
    """Return the domain of values, the input's cells, a box for each cell, and the margins.

    `Unreadable` where the scores do not tell the outcome.
    """
    event = decision.target.event
    if event.kind == "versus" and model.has_separate_probabilities:
        raise Unreadable(f"the probabilities of {model.name} are a fit of their own")
    data = decision.data
    if kind != "values":
        _require_rising_terms(model, data, kind)
        data = with_ends(data, limits)
    domain, start = value_domain(data, decision.row, limits)
    scores = model.scores_of_rows(domain.candidates, make_players(domain.candidates))
    classes = decision.target.wrapped.classes or ()
    combinations = score_combinations(event, scores.decision, classes, model.score_method)
    d = len(domain.counts)
    gamma = rounding_factor(scores.roundings + 4 * d + 32, scores.eps)
    margins = []
    for signs, constant, blur in combinations:
        terms = np.sum([sign * scores.terms[k] for k, sign in signs.items()], axis=0)
        base = constant + sum(sign * float(scores.base[k]) for k, sign in signs.items())
        mass = d * float(sum(scores.mass[k].max() for k in signs))
        slack = gamma * (abs(constant) + blur + 3 * mass) + np.finfo(float).tiny
        if not np.isfinite([terms.sum(), base, slack]).all():
            raise Unreadable("the model's terms are not all finite in the domain")
        margins.append(_integer_margin(domain, terms, base, slack))
    return domain, start, _column_boxes(domain), margins


def _require_rising_terms(model: AdditiveModel, data: Table, kind: DomainKind) -> None:
    """Raise `Unreadable` unless every column of numbers has a term that rises, or falls, with it.

    Over a run of numbers a sum of such terms is largest where each number is at an end of the run,
    and the ends are in the domain.
    """
    name = model.name
    if kind == "box":
        raise Unreadable(f"{name} has no largest score over domain='box'; 'range' has an end")
    read_weights(model.parts.final, len(model.parts.owner))
    rises = increasing_columns(model.parts, len(data.names))
    for j, column in enumerate(data.names):
        seen = model.parts.owner == j
        if data.column(j).dtype.kind in "fiu" and not (rises[seen].all() and seen.sum() < 2):
            raise Unreadable(
                f"the term of column {column!r} neither rises nor falls with it; domain='values' "
                f"reads such models"
            )


def _integer_margin(domain: Domain, terms: Reals, base: float, slack: float) -> IntegerMargin:
    """Return the margin base + sum of terms > 0 in integers, by cell of all columns in a row."""
    by_cell = [terms[shown, j] for j, shown in enumerate(domain.shown)]
    total = sum(float(np.abs(column).max()) for column in by_cell)
    scale = _LARGEST_SUM / max(total, abs(base), slack, np.finfo(float).tiny * _LARGEST_SUM)
    value = np.rint(np.concatenate(by_cell) * scale).astype(np.int32)
    rounding = len(by_cell) / 2 + 2
    no_below = max(floor(scale * (-slack - base) - rounding), 1 - NO_BOUND)
    yes_from = min(ceil(scale * (slack - base) + rounding), NO_BOUND - 1)
    roots = np.zeros(0, dtype=np.int32)  # cells are no trees
    return IntegerMargin(roots, value, no_below, yes_from, NO_BOUND, NO_BOUND)


def _column_boxes(domain: Domain) -> EnsembleBoxes:
    """Return a box for each cell of each column, in all other columns the whole domain."""
    sizes = domain.sizes
    first = np.append(0, np.cumsum(sizes)).astype(np.int32)
    low = np.zeros((first[-1], len(sizes)), dtype=np.int32)
    high = np.tile((sizes - 1).astype(np.int32), (first[-1], 1))
    for j, (begin, end) in enumerate(pairwise(first)):
        low[begin:end, j] = high[begin:end, j] = np.arange(end - begin)
    node = np.arange(first[-1], dtype=np.int32)
    return EnsembleBoxes(low, high, node, first, most_steps=int(sizes.max()))


# The leaves of trees as boxes, and the sums of them by which a decision can fall.


NO_BOUND = 2**31 - 1
"""An end of a margin at or beyond this is no bound."""

_MOST_BOXES = 1 << 22
"""Boxes of all leaves together; more would not fit into a few hundred megabytes."""


@dataclass(frozen=True, eq=False)
class EnsembleBoxes:
    """Boxes of the leaves that rows of a domain can reach; a leaf may have several."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    node: NDArray[np.int32]
    """The leaf that each box belongs to."""
    first: NDArray[np.int32]
    """(trees + 1,): where the boxes of each tree begin."""
    most_steps: int = 12
    """See `LeafBoxes`."""


@dataclass(frozen=True, eq=False)
class RequiredSum:
    """A sum of leaf values that is at least `need` wherever the outcome may be another one.

    From `sure` on it is no obstacle to another one; between the two the model has to be asked.
    """

    leaves: LeafBoxes
    need: int
    sure: int

    @property
    def most(self) -> int:
        """A bound of the sum everywhere."""
        return self.leaves.base + int(self.leaves.value[self.leaves.first[:-1]].sum())


def read_boxes(ensemble: Ensemble, domain: Domain) -> EnsembleBoxes:
    """Return the boxes of all leaves; `Unreadable` where there would be too many."""
    source = column_of_seen(ensemble, domain.candidates)
    column = source[ensemble.tests.column]
    # The cells that go left at each test, and all cells of each column, as bits of an integer.
    goes_left = [
        _bits(answers[domain.shown[j]])
        for answers, j in zip(domain.answers[: len(column)], column.tolist(), strict=True)
    ]
    full = [(1 << int(size)) - 1 for size in domain.sizes]
    test, left, right = ensemble.test.tolist(), ensemble.left.tolist(), ensemble.right.tolist()
    boxes: list[tuple[int, dict[int, list[tuple[int, int]]]]] = []
    first = [0]
    count = 0
    owner = column.tolist()
    for root in ensemble.roots.tolist():
        waiting: list[tuple[int, dict[int, int]]] = [(root, {})]
        while waiting:
            node, allowed = waiting.pop()
            number = test[node]
            if number < 0:
                runs = {j: runs_of(cells) for j, cells in allowed.items() if cells != full[j]}
                boxes.append((node, runs))
                count += int(np.prod([len(r) for r in runs.values()], dtype=np.int64))
                if count > _MOST_BOXES:
                    raise Unreadable(f"its leaves are more than {_MOST_BOXES:,} boxes of cells")
                continue
            j = owner[number]
            here = allowed.get(j, full[j])
            for child, cells in (
                (left[node], here & goes_left[number]),
                (right[node], here & ~goes_left[number]),
            ):
                if cells:  # else no row of the domain comes here
                    waiting.append((child, allowed | {j: cells}))
        first.append(count)
    return EnsembleBoxes(*_expand(boxes, count, domain.sizes), np.array(first, dtype=np.int32))


def _expand(
    boxes: Sequence[tuple[int, dict[int, list[tuple[int, int]]]]], count: int, sizes: Counts
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return (boxes, columns) first and last cells, one row for each combination of runs, and
    numbers."""
    low = np.zeros((count, len(sizes)), dtype=np.int32)
    high = np.tile((sizes - 1).astype(np.int32), (count, 1))
    numbers = np.empty(count, dtype=np.int32)
    place = 0
    for number, runs in boxes:
        for combination in product(*runs.values()):
            numbers[place] = number
            for j, (begin, end) in zip(runs, combination, strict=True):
                low[place, j], high[place, j] = begin, end
            place += 1
    return low, high, numbers


def forbid(required: RequiredSum, domain: Domain, factors: Sequence[Factor]) -> RequiredSum:
    """Return the sum with a tree for each forbidden factor.

    Where the factor holds, the tree takes so much from the sum that it cannot reach `need`.
    """
    leaves = required.leaves
    penalty = max(required.most - required.need + 1, 1)
    for factor in factors:
        low, high, holds = _truth_boxes(domain, factor)
        order = np.argsort(holds, kind="stable")  # larger values first
        if holds.all():
            leaves = replace(leaves, base=leaves.base - penalty)
        elif holds.any():
            leaves = replace(
                leaves,
                low=np.concatenate([leaves.low, low[order]]),
                high=np.concatenate([leaves.high, high[order]]),
                value=np.concatenate([leaves.value, -penalty * holds[order].astype(np.int64)]),
                first=np.append(leaves.first, len(leaves.value) + len(holds)).astype(np.int32),
            )
    return replace(required, leaves=leaves)


def _truth_boxes(
    domain: Domain, factor: Factor
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return boxes that part the domain, and for each of them 1 where the factor holds, else 0.

    Atoms are asked one after the other, until the others cannot change the factor's value.
    """
    atoms = domain.atoms
    answers = domain.answers[len(domain.answers) - len(atoms) :]
    columns = atom_columns(atoms, domain.candidates)
    cells = [_bits(a[domain.shown[j]]) for a, j in zip(answers, columns, strict=True)]
    full = [(1 << int(size)) - 1 for size in domain.sizes]
    own = [i for i, atom in enumerate(atoms) if atom in set(factor.atoms())]
    boxes: list[tuple[int, dict[int, list[tuple[int, int]]]]] = []
    count = 0
    waiting: list[tuple[dict[Factor, bool], dict[int, int]]] = [({}, {})]
    while waiting:
        known, allowed = waiting.pop()
        holds = _value(factor, known)
        if holds is not None:
            runs = {j: runs_of(here) for j, here in allowed.items() if here != full[j]}
            boxes.append((int(holds), runs))
            count += int(np.prod([len(r) for r in runs.values()], dtype=np.int64))
            if count > _MOST_BOXES:
                raise Unreadable(f"{factor!r} is more than {_MOST_BOXES:,} boxes of cells")
            continue
        i = next(i for i in own if atoms[i] not in known)
        here = allowed.get(columns[i], full[columns[i]])
        for value, part in ((True, here & cells[i]), (False, here & ~cells[i])):
            if part:
                waiting.append((known | {atoms[i]: value}, allowed | {columns[i]: part}))
    return _expand(boxes, count, domain.sizes)


def _value(factor: Factor, known: Mapping[Factor, bool]) -> bool | None:
    """Return a factor's value from those of some atoms; None where it depends on others."""
    if isinstance(factor, Not):
        inner = _value(factor.part, known)
        return None if inner is None else not inner
    if not isinstance(factor, And | Or):
        return known.get(factor)
    settles = isinstance(factor, Or)  # the value of one part that is the whole's
    values = [_value(part, known) for part in factor.parts]
    if settles in values:
        return settles
    return None if None in values else not settles


Route = tuple[RequiredSum, ...]
"""Sums that must all reach what they need for the outcome to be another one."""


def routes(boxes: EnsembleBoxes, margins: Sequence[IntegerMargin], all_hold: bool) -> list[Route]:
    """Return the routes, each sufficient alone, by which an outcome can be lost.

    `all_hold`: the outcome is that all margins say yes, so that it is lost with any of them; else
    that not all of them do, so that it is lost where all say yes.
    """
    if all_hold:
        return [(way,) for margin in margins for way in _ways_out(boxes, margin)]
    ways = [way for margin in margins for way in _ways_in(boxes, margin)]
    # A class that is hardly ever ahead of another leaves few boxes for the other comparisons.
    return [tuple(sorted(ways, key=lambda way: way.most - way.need))] if ways else []


def _ways_out(boxes: EnsembleBoxes, margin: IntegerMargin) -> list[RequiredSum]:
    """Return the sums by any of which a margin that holds stops to hold."""
    found = []
    if margin.yes_from > -NO_BOUND:
        found.append(
            RequiredSum(_leaves(boxes, margin, -1), 1 - margin.yes_from, 1 - margin.no_below)
        )
    if margin.yes_to < NO_BOUND:
        found.append(RequiredSum(_leaves(boxes, margin, 1), margin.yes_to + 1, margin.no_above + 1))
    return found


def _ways_in(boxes: EnsembleBoxes, margin: IntegerMargin) -> list[RequiredSum]:
    """Return the bounds that a margin must meet, all of them, to hold where it does not."""
    found = []
    if margin.yes_from > -NO_BOUND:
        found.append(RequiredSum(_leaves(boxes, margin, 1), margin.no_below, margin.yes_from))
    if margin.yes_to < NO_BOUND:
        found.append(RequiredSum(_leaves(boxes, margin, -1), -margin.no_above, -margin.yes_to))
    return found


def _leaves(boxes: EnsembleBoxes, margin: IntegerMargin, sign: int) -> LeafBoxes:
    """Return the boxes with their values, largest first in each tree, without constant trees."""
    value = sign * margin.value.astype(np.int64)[boxes.node]
    tree = np.repeat(np.arange(len(boxes.first) - 1), np.diff(boxes.first))
    order = np.lexsort((-value, tree))
    ordered = value[order]
    largest, smallest = ordered[boxes.first[:-1]], ordered[boxes.first[1:] - 1]
    varies = largest != smallest
    kept = order[varies[tree[order]]]
    sizes = np.diff(boxes.first)[varies]
    return LeafBoxes(
        low=np.ascontiguousarray(boxes.low[kept]),
        high=np.ascontiguousarray(boxes.high[kept]),
        value=value[kept],
        first=np.append(0, np.cumsum(sizes)).astype(np.int32),
        base=int(largest[~varies].sum()),
        most_steps=boxes.most_steps,
    )


def _bits(flags: NDArray[np.bool_]) -> int:
    """Return an integer whose bit c is flag c."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def runs_of(cells: int) -> list[tuple[int, int]]:
    """Return the runs of ones of a set of cells, as first and last cell.

    >>> runs_of(0b1011100)
    [(2, 4), (6, 6)]
    """
    found = []
    place = 0
    while cells:
        gap = (cells & -cells).bit_length() - 1
        cells >>= gap
        place += gap
        length = (~cells & (cells + 1)).bit_length() - 1
        found.append((place, place + length - 1))
        cells >>= length
        place += length
    return found
