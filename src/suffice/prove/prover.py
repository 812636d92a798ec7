"""Decide for sets of features whether holding them keeps the outcome everywhere in a domain.

A set is refuted by one row that agrees with the input on it and has another outcome. Such a row
refutes every set of features on which it agrees with the input, so all rows that were found are
kept and asked first; the first of them are the rows of data with another outcome. Where none
refutes a set, branch and bound looks for one (`branch_and_bound`), and its end without a point is
the proof.

All minimal sets follow by duality: a set is sufficient if it meets every contrastive set (one whose
change can lose the outcome), and minimal sufficient sets and minimal contrastive sets are each
other's minimal hitting sets. Each step takes a set that meets all contrastive sets found so far and
contains no sufficient one, decides it, and shrinks it or its row to a minimal set (the scheme of
MARCO: Liffiton, Previti, Malik and Marques-Silva, Constraints 21, 2016). There is no such set left
when all have been found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from suffice.context.hybrids import SwapContext
from suffice.decision import Decision
from suffice.engines.additive_model import AdditiveModel
from suffice.engines.select_engine import WRONG_TREES, Unreadable
from suffice.engines.trees.ensemble import Ensemble
from suffice.engines.trees.tree_model import TreeModel
from suffice.errors import ModelError
from suffice.prove.branch_and_bound import NO_POINT, POINT
from suffice.prove.domain import (
    UNRESTRICTED,
    Domain,
    DomainKind,
    cells_of_row,
    column_of_seen,
    make_domain,
    with_input,
)
from suffice.prove.joint_search import JointSearch
from suffice.prove.leaf_boxes import EnsembleBoxes, Route, forbid, read_boxes, read_columns, routes
from suffice.prove.restrictions import Restrictions
from suffice.randomness import Stream, generator
from suffice.tables.table import Table
from suffice.typing import Counts

_BOXES_AT_ONCE = 256
"""Boxes between two looks at the clock, where a time limit was given."""


_POINTS_CHECKED = 16
"""Random points of the domain that the model is asked about before the first proof."""


class Refutation(NamedTuple):
    """A row of the domain with another outcome than the input."""

    agrees: int
    """Bit mask of the players on which the row agrees with the input."""
    cells: tuple[int, ...] | None
    """Its cells; None for a row of data."""
    row: int
    """The number of the row of data; -1 where there are cells."""


class ProofResult(NamedTuple):
    """The verdict on one set: proved if nothing refutes it and nothing is left open."""

    refutation: Refutation | None
    open_share: float
    """0 where it is decided; else how far, in parts of the whole range of scores, an open box could
    still reach beyond the boundary of the decision."""

    @property
    def proved(self) -> bool:
        """True if every row of the domain that shares the set's values has the input's outcome."""
        return self.refutation is None and self.open_share == 0


class OutOfTimeError(Exception):
    """The time limit was reached."""


@dataclass(eq=False)
class Prover:
    """Verdicts on sets of players of one decision; what was found for one set serves the next."""

    decision: Decision
    domain: Domain
    start: Counts
    """The input's cells."""
    routes: Sequence[Route]
    boxes_per_set: int
    limits: Restrictions = UNRESTRICTED
    cells_are_exact: bool = True
    """All rows of some cells have one score; else those of other rows may be lower."""
    ensemble: Ensemble | None = None
    """The trees; None for an additive model."""
    out_of_time: Callable[[], bool] = lambda: False
    known: list[Refutation] = field(default_factory=list)
    boxes: int = 0
    """Boxes looked at so far."""
    rows_predicted: int = 0
    _unchecked: list[tuple[int, ...]] = field(default_factory=list)
    _verdicts: dict[int, ProofResult] = field(default_factory=dict)

    def __post_init__(self) -> None:
        largest = int(self.domain.sizes.max(initial=1))
        self._searches = [JointSearch(route, largest) for route in self.routes]
        # Holding a set proves all that contain it, so proved sets are kept as they are found.
        self._proved: list[int] = []
        self._add_rows_of_data()

    @property
    def d(self) -> int:
        """The number of players."""
        return len(self.decision.players)

    @property
    def cell_of(self) -> Callable[[Table], Counts] | None:
        """Function from a row to its cells, -1 outside of all; None for an additive model."""
        if self.ensemble is None:
            return None
        return partial(cells_of_row, self.domain, self.ensemble)

    def is_category(self, j: int) -> bool:
        """Return whether the trees take the numbers of a column for categories."""
        if self.ensemble is None:
            return False
        source = column_of_seen(self.ensemble, self.decision.data)
        tests = self.ensemble.tests
        return any(source[tests.column[number]] == j for number in tests.categories)

    def _add_rows_of_data(self) -> None:
        """Take the rows of data with another outcome as refutations, most similar first."""
        decision = self.decision
        target = decision.target
        scored = target.event.needs_scores
        truth = target(decision.data) if scored else target.read(decision.answers)
        self.rows_predicted += len(decision.data) if scored else 0
        others = np.flatnonzero(truth != decision.y)
        if self.limits:
            rows = decision.data.take(others)
            others = others[self.limits.allowed(rows).all(axis=1) & ~self.limits.forbids(rows)]
        if not len(others):
            return
        codes = decision.row.stack(decision.data.take(others)).codes()
        same_columns = codes[1:] == codes[0]
        agrees = np.zeros(len(others), dtype=object)
        for player, columns in enumerate(decision.players.columns):
            agrees |= same_columns[:, list(columns)].all(axis=1).astype(object) << player
        seen: dict[int, int] = {}
        for mask, row in zip(agrees.tolist(), others.tolist(), strict=True):
            seen.setdefault(mask, row)
        kept: list[int] = []
        for mask in sorted(seen, key=lambda m: (-m.bit_count(), m)):
            if not any(mask & other == mask for other in kept):  # it refutes nothing more
                kept.append(mask)
                self.known.append(Refutation(mask, None, seen[mask]))

    def decide(self, mask: int) -> ProofResult:
        """Return the verdict on one set, from what is known or by a search."""
        # A row refutes every subset of the players on which it agrees with the input; a proof holds
        # for every superset.
        for refutation in self.known:
            if mask & refutation.agrees == mask:
                return ProofResult(refutation, 0.0)
        if any(mask & proved == proved for proved in self._proved):
            return ProofResult(None, 0.0)
        if mask not in self._verdicts:
            self._verdicts[mask] = self._search(mask)
            if self._verdicts[mask].proved:
                self._proved.append(mask)
        return self._verdicts[mask]

    def _search(self, mask: int) -> ProofResult:
        low, high = self.start.copy(), self.start.copy()
        for player, columns in enumerate(self.decision.players.columns):
            if not mask >> player & 1:
                for j in columns:
                    low[j], high[j] = 0, self.domain.sizes[j] - 1
        return self.search_box(low, high)

    def search_box(self, low: Counts, high: Counts) -> ProofResult:
        """Return whether all rows of a box of cells have the outcome."""
        open_share = 0.0
        for route, search in zip(self.routes, self._searches, strict=True):
            search.begin(low, high, self.start)
            while search.boxes < self.boxes_per_set:
                before = search.boxes
                verdict = search.go_on(min(_BOXES_AT_ONCE, self.boxes_per_set - before))
                self.boxes += search.boxes - before
                if self.out_of_time():
                    raise OutOfTimeError
                if verdict == NO_POINT:
                    break
                if verdict == POINT and (found := self._confirm(search)):
                    return ProofResult(found, 0.0)
                # Rows beside a point that rounding could not tell may be another matter.
                if search.is_stuck or (verdict == POINT and not self.cells_are_exact):
                    break
            else:
                verdict = None
            # Out of boxes, or a point that rounding could not tell: the best open box may still
            # exceed what is needed by this much.
            if verdict != NO_POINT:
                beyond = search.beyond + 1
                span = max(route[0].most - route[0].need, beyond)
                open_share = max(open_share, beyond / span)
        return ProofResult(None, open_share)

    def _confirm(self, search: JointSearch) -> Refutation | None:
        """Return a point as a refutation; None if its outcome is the input's after all.

        That can only be where the sum is within rounding of the boundary, and the model is asked.
        Where it is not, the model is asked about many points in one call: see `check`.
        """
        cells = tuple(search.point.tolist())
        if not search.is_sure:
            self.rows_predicted += 1
            if bool(self.decision.target(self.rows_of([cells]))[0]) == self.decision.y:
                return None
        else:
            self._unchecked.append(cells)
        refutation = Refutation(self._agreement(cells), cells, -1)
        # What it refutes besides need not be kept: rows that agree on a part of these players.
        self.known = [
            other for other in self.known if other.agrees & refutation.agrees != other.agrees
        ]
        self.known.append(refutation)
        return refutation

    def check_reading(self) -> None:
        """Ask the model about points of the domain; `Unreadable` if the sums say otherwise.

        Points that are found are checked anyway; a proof rests on all that are not.
        """
        rng = generator(0, Stream.CHECKS)
        points = np.stack(
            [rng.integers(size, size=_POINTS_CHECKED) for size in self.domain.sizes], axis=1
        ).astype(np.int32)
        points = points[~self.limits.forbids(self.rows_of(points))]
        if not len(points):
            return
        lost = self.decision.target(self.rows_of(points)) != self.decision.y
        self.rows_predicted += len(points)
        sums = [[(way, way.leaves.sums(points)) for way in route] for route in self.routes]
        surely_lost = np.any(
            [np.all([s >= way.sure for way, s in route], axis=0) for route in sums], axis=0
        )
        surely_kept = np.all(
            [np.any([s < way.need for way, s in route], axis=0) for route in sums], axis=0
        )
        if (surely_lost & ~lost).any() or (surely_kept & lost).any():
            raise Unreadable("the model does not predict as its parameters say")

    def check(self) -> None:
        """Ask the model about all points that the trees decided; raise if it decides otherwise."""
        if not self._unchecked:
            return
        rows = self.rows_of(self._unchecked)
        self.rows_predicted += len(rows)
        self._unchecked.clear()
        if (self.decision.target(rows) == self.decision.y).any():
            raise ModelError("the model does not predict a counterexample as its parameters say")

    def _agreement(self, cells: Sequence[int]) -> int:
        same = [c == s for c, s in zip(cells, self.start.tolist(), strict=True)]
        return sum(
            1 << player
            for player, columns in enumerate(self.decision.players.columns)
            if all(same[j] for j in columns)
        )

    def rows_of(self, points: Any) -> Table:
        """Return rows in these cells, with the input's values in cells that are the input's.

        `points` are lists of a cell for each column.
        """
        cells, input_row = np.array(points), len(self.domain.candidates)
        rows = np.empty_like(cells)
        for j, shown in enumerate(self.domain.shown):
            rows[:, j] = np.where(cells[:, j] == self.start[j], input_row, shown[cells[:, j]])
        return self._candidates_and_input.gather(rows)

    @cached_property
    def _candidates_and_input(self) -> Table:
        return self.domain.candidates.stack(self.decision.row)

    def table_of(self, refutation: Refutation) -> Table:
        """Return the row of a refutation."""
        if refutation.cells is None:
            return self.decision.data.take(np.array([refutation.row]))
        return self.rows_of([refutation.cells])


@dataclass
class MinimalSets:
    """Minimal sets as bit masks of players; complete if none was left open."""

    sufficient: list[int] = field(default_factory=list)
    contrastive: list[int] = field(default_factory=list)
    open: dict[int, ProofResult] = field(default_factory=dict)
    """Sets that could not be decided."""
    complete: bool = False


def find_minimal_sets(
    prover: Prover, found: MinimalSets, most_sets: int, stopped: Callable[[], bool]
) -> None:
    """Find all minimal sufficient and contrastive sets, into `found`."""
    everyone = (1 << prover.d) - 1
    while not stopped() and len(found.sufficient) + len(found.contrastive) < most_sets:
        # A sufficient set meets every contrastive set. An open set is treated as if it were
        # refuted: the next candidate must not lie inside it.
        blocked = [*found.contrastive, *(everyone & ~mask for mask in found.open)]
        mask = next_candidate(prover.d, blocked, found.sufficient)
        if mask is None:
            found.complete = not found.open
            return
        result = prover.decide(mask)
        if result.proved:
            smallest = _shrink(prover, mask, found)
            found.sufficient.append(smallest)
        elif result.refutation is not None:
            found.contrastive.append(everyone & ~_grow(prover, result.refutation.agrees, found))
        else:
            # Whatever it contains is undecided too, unless it is refuted: look elsewhere.
            found.open[mask] = result


def _shrink(prover: Prover, mask: int, found: MinimalSets) -> int:
    """Leave features out of a proved set for as long as it stays proved."""
    for player in range(prover.d):
        without = mask & ~(1 << player)
        if without == mask:
            continue
        result = prover.decide(without)
        if result.proved:
            mask = without
        elif result.refutation is None:
            found.open[without] = result
    return mask


def _grow(prover: Prover, agrees: int, found: MinimalSets) -> int:
    """Hold more features of a refuted set for as long as it stays refuted."""
    for player in range(prover.d):
        if agrees >> player & 1:
            continue
        result = prover.decide(agrees | 1 << player)
        if result.refutation is not None:
            agrees = result.refutation.agrees
        elif not result.proved:
            found.open[agrees | 1 << player] = result
    return agrees


def next_candidate(d: int, to_meet: Sequence[int], to_miss: Sequence[int]) -> int | None:
    """Return a set that meets each of `to_meet` and contains none of `to_miss`, or None.

    Depth-first: the clause with the fewest free features is branched on, so that clauses with one
    are settled at once. Small sets come first.

    >>> next_candidate(3, [0b011], [0b001]), next_candidate(2, [0b01], [0b01])
    (2, None)
    """
    everyone = (1 << d) - 1

    def solve(chosen: int, refused: int) -> int | None:
        best, best_in, best_size = 0, True, d + 1
        for clause in to_meet:
            if not clause & chosen:
                free = clause & ~refused
                size = free.bit_count()
                if not size:
                    return None
                if size < best_size:
                    best, best_in, best_size = free, True, size
        for clause in to_miss:
            if not clause & refused:
                free = clause & ~chosen
                size = free.bit_count()
                if not size:
                    return None
                if size < best_size:
                    best, best_in, best_size = free, False, size
        if best_size > d:
            return chosen & everyone
        bit = best & -best
        first = (chosen | bit, refused) if best_in else (chosen, refused | bit)
        second = (chosen, refused | bit) if best_in else (chosen | bit, refused)
        answer = solve(*first)
        return solve(*second) if answer is None else answer

    return solve(0, 0)


def make_prover(
    decision: Decision, kind: DomainKind, max_boxes: int, limits: Restrictions = UNRESTRICTED
) -> Prover:
    """Return a prover for the trees or the terms of a decision's model; `Unreadable` without."""
    if not isinstance(decision.context, SwapContext):
        raise Unreadable("only swapped values are proved about, not this context's")
    try:
        trees = decision.engine_selector.read_trees()
    except Unreadable as no_trees:
        return _additive_prover(decision, kind, max_boxes, limits, no_trees)
    if trees.disagrees:
        raise Unreadable(WRONG_TREES)
    reading = trees.event_margins(decision.target.event)
    fresh = bool(limits) or (kind, id(decision.data)) not in trees.domains
    domain, boxes = _encoded(trees, kind, decision, limits)
    domain_here, start = with_input(domain, trees.ensemble, decision.row)
    if domain_here is not domain:
        boxes = read_boxes(trees.ensemble, domain_here)
    ways = routes(boxes, reading.margins, decision.y != reading.reverse)
    ways = _restricted(ways, domain_here, limits)
    prover = Prover(decision, domain_here, start, ways, max_boxes, limits, ensemble=trees.ensemble)
    if fresh:
        prover.check_reading()
    return prover


def _restricted(ways: list[Route], domain: Domain, limits: Restrictions) -> list[Route]:
    """Forbid what is forbidden on every route, by its first sum."""
    return [(forbid(first, domain, limits.forbidden), *rest) for first, *rest in ways]


def _additive_prover(
    decision: Decision,
    kind: DomainKind,
    max_boxes: int,
    limits: Restrictions,
    no_trees: Unreadable,
) -> Prover:
    try:
        model = decision.engine_selector.read_additive()
    except Unreadable as reason:
        raise Unreadable(f"{no_trees}, and {reason}") from None
    if not isinstance(model, AdditiveModel):
        raise Unreadable("a model of texts has no domain of values")
    domain, start, boxes, margins = read_columns(model, decision, kind, limits)
    ways = _restricted(routes(boxes, margins, decision.y), domain, limits)
    prover = Prover(decision, domain, start, ways, max_boxes, limits, kind == "values")
    prover.check_reading()
    return prover


def _encoded(
    trees: TreeModel, kind: DomainKind, decision: Decision, limits: Restrictions
) -> tuple[Domain, EnsembleBoxes]:
    """Return the domain of the data and the leaves in it, made once for each model and table.

    A restricted domain depends on the input and is made anew.
    """
    key = kind, id(decision.data)
    cache = trees.domains
    if limits or key not in cache:
        domain = make_domain(kind, trees.ensemble, decision.data, limits)
        boxes = read_boxes(trees.ensemble, domain)
        if limits:
            return domain, boxes
        cache[key] = domain, boxes, decision.data
    domain, boxes, _ = cache[key]
    return domain, boxes
