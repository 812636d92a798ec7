"""Score one feature set, rule or counterfactual row against the best that was possible.

A set *does as well* as another if it reaches τ where the other does, and otherwise is at least as
sufficient. So leaving features out of a set that suffices leaves a set that suffices.

If every set was counted, scores are read from the counts. Otherwise the model predicts the hybrids
of the sets in question, and scores that need all sets are None.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, isfinite
from typing import Any

import numpy as np

from suffice.audit.decision_counts import count_feature_set, submasks
from suffice.context.cost import column_costs_of_table, player_costs, total_costs
from suffice.decision import Decision
from suffice.errors import InputError, SufficeError
from suffice.explainer import Explainer
from suffice.explanation import Explanation, View
from suffice.factors.lattice import Lattice, held_of_masks, members_of, sizes_by_mask
from suffice.factors.order import cost_at_most
from suffice.factors.predicates import Factor
from suffice.factors.rule_text import ValueNames, format_rule
from suffice.formatting import format_change
from suffice.inference import Share, fewest_hits
from suffice.rules import Rule, score_rule
from suffice.rules.conditions import Conditions, conditions_from_rule, rule_holds
from suffice.rules.rule_counts import count_perturbed, perturb
from suffice.tables import Table, as_scalar, read_row
from suffice.typing import Counts
from suffice.validation import check_integer, check_number

_MAX_SUBSETS = 1 << 12
"""Limit on subsets of one set that the model predicts if not all sets were counted."""


@dataclass(frozen=True)
class SetMark:
    """Score of one feature set, with the best sets of its size and smaller ones."""

    features: tuple[str, ...]
    n: int
    """Number of references."""
    hits: int
    """Number of references with the view's outcome."""
    reaches: bool
    """Whether that is at least a share τ."""
    necessity: float | None
    """PN: share of the outcome's hybrids in which at least these features are held (flip:
    replaced). None if not every set was counted."""
    best: tuple[str, ...] | None
    """Most sufficient set of this size; None if not known."""
    best_hits: int | None
    better: int | None
    """Number of sets of this size with more hits."""
    worse: int | None
    """Number of sets of this size with fewer hits."""
    sets: int | None
    """Number of sets of this size; None if not all were counted."""
    spare: tuple[str, ...] | None
    """Most features that can be left out so that the rest does as well; () for none, None if not
    known."""
    smaller: tuple[str, ...] | None
    """Smallest set of any features that does as well; None if no smaller one is known."""
    necessity_baseline: float | None = None
    """Share of all hybrids in which they are held (flip: replaced): the necessity expected by
    chance. None without a necessity, and in results of older versions."""

    def __post_init__(self) -> None:
        check_integer("n", self.n)
        check_integer("hits", self.hits, 0, self.n)
        if self.best_hits is not None:
            check_integer("best_hits", self.best_hits, self.hits, self.n)
        for name in ("necessity", "necessity_baseline"):
            if (share := getattr(self, name)) is not None:
                check_number(name, share, "a share", least=0, most=1)
        counts = self.better, self.worse, self.sets
        if any(count is not None for count in counts):
            better, worse, sets = (
                check_integer("better, worse, sets", count, 0) for count in counts
            )
            check_integer("sets", sets, better + worse + 1)
        if (self.best is None) != (self.best_hits is None):
            raise InputError("best", self.best, "a set with its hits, or neither")
        if not set(self.spare or ()) <= set(self.features):
            raise InputError("spare", self.spare, "some of the set's features")

    @property
    def size(self) -> int:
        """Number of features of the set."""
        return len(self.features)

    @property
    def sufficiency(self) -> float:
        """PS: share of references with the view's outcome."""
        return self.hits / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Exact 95% Clopper–Pearson interval, references read as a sample."""
        return Share(self.hits, self.n).interval

    @property
    def best_sufficiency(self) -> float | None:
        """Sufficiency of the best set of this size."""
        return None if self.best_hits is None else self.best_hits / self.n

    @property
    def as_good(self) -> bool | None:
        """True if no set of this size is more sufficient."""
        return None if self.better is None else self.better == 0

    @property
    def beats(self) -> float | None:
        """Share of the other sets of this size that are less sufficient; None if there is none."""
        if self.worse is None or self.sets is None or self.sets < 2:
            return None
        return self.worse / (self.sets - 1)

    @property
    def minimal(self) -> bool | None:
        """True if the set is τ-minimal (Def. 4): it reaches τ, and no subset does."""
        if not self.reaches:
            return False
        return None if self.spare is None else not self.spare


class SetMarker:
    """Scores feature sets of one view of one decision."""

    def __init__(self, view: View, decision: Decision) -> None:
        self.view, self._decision = view, decision
        self._tally = view.tally
        self.n = view.tally.n
        self._names = tuple(player.name for player in view.players)
        self._idle = tuple(left.player.name for left in view.explanation.left_out)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all features, in the data's order."""
        known = {*self._names, *self._idle}
        return tuple(name for name in self._decision.players.names if name in known)

    @cached_property
    def min_hits(self) -> int:
        """Smallest number of references that is a share τ."""
        return fewest_hits(self.n, self.view.tau)

    def mark(self, features: Iterable[str]) -> SetMark:
        """Return the score of one set."""
        wanted = set(features)
        features = tuple(name for name in self.names if name in wanted)
        size, counted = len(features), self._tally.complete
        (hits,) = self.hits([features])
        # A subset "does as well" if it reaches τ where the set does, and else if it has as many
        # hits.
        level = min(hits, self.min_hits)
        best, best_hits = self.best_of_size(size) or (None, None)
        better, worse, sets = self._rank(size, hits) or (None, None, None)
        inside = self._smallest_inside(features, level)
        return SetMark(
            features=features,
            n=self.n,
            hits=hits,
            reaches=hits >= self.min_hits,
            necessity=self.view.necessity_of(features) if counted else None,
            necessity_baseline=self.view.necessity_baseline_of(features) if counted else None,
            best=best,
            best_hits=best_hits,
            better=better,
            worse=worse,
            sets=sets,
            spare=None if inside is None else tuple(f for f in features if f not in inside),
            smaller=self._smallest(level, size),
        )

    def hits(self, sets: Sequence[Iterable[str]]) -> list[int]:
        """Return the hits of each set, from the counts or else by the model's predictions."""
        counts = [count_feature_set(self.view, one, self.view.tau)[0] for one in sets]
        known = [hits for hits in counts if hits is not None]
        return known if len(known) == len(sets) else self._predict_hits(sets)

    def best_of_size(self, size: int) -> tuple[tuple[str, ...], int] | None:
        """Return the first set of this size with the most hits, and its hits."""
        found: tuple[int, int, int] | None = None
        for of_players, _ in self._levels(size):
            level = self._level(of_players)
            if level is None:
                return None
            place = int(level.argmax())
            if found is None or level[place] > found[0]:
                found = int(level[place]), of_players, place
        if found is None:
            return None
        hits, of_players, place = found
        members = self._tally.lattice.members(of_players, place, place + 1)[0].tolist()
        # Irrelevant features fill the set up to its size without changing its hits.
        chosen = {*(self._names[m] for m in members), *self._idle[: size - of_players]}
        return tuple(name for name in self.names if name in chosen), hits

    def smallest(self) -> tuple[str, ...] | None:
        """Return the smallest set that reaches τ, of several the most sufficient, or None."""
        return self.view[0].features if len(self.view) else None

    def _levels(self, size: int) -> Iterator[tuple[int, int]]:
        """Yield numbers of relevant features of a set, and ways to choose the irrelevant others."""
        idle = len(self._idle)
        for of_players in range(min(size, len(self._names)), max(0, size - idle) - 1, -1):
            yield of_players, comb(idle, size - of_players)

    def _level(self, size: int) -> Counts | None:
        """Return the hits of all sets of players of this size; None if not all were counted."""
        tally = self._tally
        return tally.levels[size] if tally.n_evaluated(size) == tally.lattice.width(size) else None

    def _rank(self, size: int, hits: int) -> tuple[int, int, int] | None:
        """Return the numbers of sets of this size with more hits, with fewer, and of all."""
        better = worse = sets = 0
        for of_players, ways in self._levels(size):
            level = self._level(of_players)
            if level is None:
                return None
            # A set of relevant features stands for all sets that add irrelevant ones to it.
            better += ways * int((level > hits).sum())
            worse += ways * int((level < hits).sum())
            sets += ways * len(level)
        return better, worse, sets

    def _smallest(self, level: int, below: int) -> tuple[str, ...] | None:
        """Return the smallest set with `level` hits and fewer than `below` features, or None."""
        for size in range(min(below, len(self._names) + 1)):
            counts = self._level(size)
            if counts is None:
                break
            if len(counts) and counts.max() >= level:
                found = self.best_of_size(size)
                return None if found is None else found[0]
        if level < self.min_hits:
            return None
        known = self.smallest()
        return known if known is not None and len(known) < below else None

    def _smallest_inside(self, features: tuple[str, ...], level: int) -> tuple[str, ...] | None:
        """Return the smallest subset with `level` hits, of several the most sufficient.

        None if there are too many subsets to predict.
        """
        matter = tuple(name for name in features if name in self._names)
        if self._tally.complete:
            # Subsets in increasing order of mask: position j is bit mask j over `matter`.
            mask = sum(1 << self._names.index(name) for name in matter)
            hits = self._tally.dense[submasks(mask)].astype(np.int64)
            sizes = sizes_by_mask(len(matter))
            does = np.flatnonzero(hits >= level)
            does = does[sizes[does] == sizes[does].min()]
            best = does[hits[does].argmax()]
            return tuple(matter[m] for m in members_of(int(best)))
        if 1 << len(matter) > _MAX_SUBSETS:
            return None
        for size in range(len(matter) + 1):
            sets = list(combinations(matter, size))
            found = self.hits(sets)
            if max(found) >= level:
                return sets[int(np.argmax(found))]
        return matter

    def _predict_hits(self, sets: Sequence[Iterable[str]]) -> list[int]:
        """Count the hits of each set by letting the model predict its hybrids."""
        players = self._decision.players
        held = np.zeros((len(sets), len(players)), dtype=bool)
        for row, one in zip(held, sets, strict=True):
            row[list(players.indices(list(one), "other"))] = True
        keep, flip = self._decision.hybrids
        if self.view.name == "keep":
            outcomes = self._decision.evaluator(keep, exhaustive=False).outcomes(held)
        else:
            outcomes = ~self._decision.evaluator(flip, exhaustive=False).outcomes(~held)
        return [int(count) for count in outcomes.sum(axis=1)]


_MAX_CONDITIONS = 8
"""Limit on conditions that are left out in every combination; above it `spare` is None."""


@dataclass(frozen=True)
class RuleMark:
    """Score of one rule, exact over the data's rows made to meet it (Prop. 2)."""

    rule: Rule
    holds: bool
    """Whether the rule is true of the input."""
    conditions: int
    """Number of conditions, those on one feature taken together."""
    spare: tuple[str, ...] | None
    """Most conditions that can be left out so that the rest does as well: reaches τ if the rule
    does, and otherwise is as precise. None if not known."""

    def __post_init__(self) -> None:
        if len(self.spare or ()) > self.conditions:
            raise InputError("spare", self.spare, f"at most {self.conditions} conditions")

    @property
    def reaches(self) -> bool | None:
        """True if its precision is at least τ; None if no row meets the rule."""
        return None if self.rule.precision is None else self.rule.precision >= self.rule.tau


def mark_rule(
    explainer: Explainer, decision: Decision, factor: Factor | None, tau: float
) -> RuleMark:
    """Return the score of a rule, with the conditions that it does not need."""
    if factor is None:
        return RuleMark(score_rule(explainer, decision.row, None, tau=tau), True, 0, ())
    conditions = conditions_from_rule(factor, decision.data, decision.players)
    held = bool(rule_holds(factor, decision.row)[0])
    known = decision.row.stack(decision.data)
    if not conditions.holds(known).any(axis=0).all():  # no row meets one of the conditions
        rule = score_rule(explainer, decision.row, factor, distribution="observed", tau=tau)
        return RuleMark(rule, held, len(conditions), None)
    rule = score_rule(explainer, decision.row, factor, tau=tau)
    # All combinations are counted, which doubles with each condition.
    few = len(conditions) <= _MAX_CONDITIONS
    return RuleMark(
        rule, held, len(conditions), _spare_conditions(decision, conditions, tau) if few else None
    )


def _spare_conditions(decision: Decision, conditions: Conditions, tau: float) -> tuple[str, ...]:
    """Count every rule made of some of the conditions, and return the most that can be spared."""
    d = len(conditions)
    hybrids = perturb(decision, conditions)
    counts = count_perturbed(decision, conditions, hybrids, d, progress=False)
    level = min(int(counts.hits[d][0]), fewest_hits(hybrids.n, tau))
    size = next(size for size, hits in enumerate(counts.hits) if hits.max() >= level)
    place = int(counts.hits[size].argmax())
    kept = Lattice(d).members(size, place, place + 1)[0].tolist()
    return tuple(format_rule(c.factor) for i, c in enumerate(conditions) if i not in kept)


_MAX_CHANGES = 12
"""Limit on changes of a row that are taken back in every combination."""


@dataclass(frozen=True)
class RowMark:
    """Score of one counterfactual row."""

    change: str
    """Changes from the input, as text."""
    features: tuple[str, ...]
    """Features that the row changes."""
    flips: bool
    """Whether the model gives the row another outcome."""
    cost: float | None
    """Cost of the change; None if it is infinite."""
    spare: tuple[str, ...] | None
    """Most changes, by cost, that can be taken back so that the row still flips; () for none, None
    if not known or the row does not flip."""
    spare_cost: float | None
    """Cost of the rest."""

    def __post_init__(self) -> None:
        for name in ("cost", "spare_cost"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), "a number >= 0", least=0)
        if not set(self.spare or ()) <= set(self.features):
            raise InputError("spare", self.spare, "some of the features that change")


@dataclass(frozen=True)
class CheapestFlip:
    """The cheapest change to values of one reference that flips the outcome."""

    change: str
    features: tuple[str, ...]
    cost: float

    def __post_init__(self) -> None:
        check_number("cost", self.cost, "a number >= 0", least=0)

    @classmethod
    def of(cls, e: Explanation) -> CheapestFlip | None:
        """Return the cheapest change of an explanation; None if nothing flips."""
        best = e.cheapest
        return None if best is None else cls(str(best), best.features, best.cost)


def counterfactual_table(
    given: Sequence[Mapping[str, Any]], decision: Decision, labels: ValueNames | None
) -> Table | None:
    """Return the rows with the data's columns and dtypes; None if there are none.

    Columns that a row does not name keep the input's values.
    """
    row, data = decision.row, decision.data
    here = {name: row.cell(0, j) for j, name in enumerate(data.names)}
    found = []
    for i, cells in enumerate(given):
        try:
            named = {str(name): value for name, value in cells.items()}
            cast = {n: _column_value(v, n, data, labels) for n, v in named.items()}
            found.append(read_row({**here, **cast}, data, argument="other"))
        except SufficeError as error:
            raise error.at(f"counterfactual {i}") from error
    return found[0].stack(*found[1:]) if found else None


def _column_value(value: Any, column: str, data: Table, labels: ValueNames | None) -> Any:
    """Return the column's own value for a name of it, or for a number given as text (DiCE)."""
    known = (labels or {}).get(column, {})
    pairs = known.items() if isinstance(known, Mapping) else enumerate(known)
    for own, name in pairs:
        if name == value:
            return own
    if isinstance(value, str) and column in data.names:
        j = data.names.index(column)
        if data.column(j).dtype.kind in "iuf":
            try:
                return float(value)
            except ValueError:
                return value
    return value


def mark_counterfactuals(rows: Table, decision: Decision) -> tuple[RowMark, ...]:
    """Return the score of each row, in order."""
    players = decision.players
    pool = decision.row.stack(rows)
    codes = pool.codes()
    moves = codes[1:] != codes[0]
    by_player = np.stack([moves[:, list(c)].any(axis=1) for c in players.columns], axis=1)
    costs = player_costs(column_costs_of_table(pool, decision.data, decision.cost), players)
    costs = np.where(by_player, costs, 0.0)
    flips = decision.target(rows) != decision.y
    marks = []
    for i in range(len(rows)):
        changed = np.flatnonzero(by_player[i])
        spare, rest = None, None
        if flips[i] and len(changed) <= _MAX_CHANGES:
            kept = _cheapest_subset(pool, i + 1, changed, costs[i], decision)
            spare = tuple(players.names[p] for p in changed if p not in kept)
            rest = float(total_costs(costs[i : i + 1, sorted(kept)])[0])
        total = float(total_costs(costs[i : i + 1])[0])
        marks.append(
            RowMark(
                change=_change_text(pool, i + 1, changed, decision),
                features=tuple(players.names[p] for p in changed),
                flips=bool(flips[i]),
                cost=total if isfinite(total) else None,
                spare=spare,
                spare_cost=rest if rest is not None and isfinite(rest) else None,
            )
        )
    return tuple(marks)


def _cheapest_subset(
    pool: Table, row: int, changed: Any, costs: Any, decision: Decision
) -> set[int]:
    """Return the cheapest subset of the row's changes that flips; of equal cost the smallest."""
    masks = np.arange(1 << len(changed))
    parts = held_of_masks(masks, len(changed))
    source = np.zeros((len(masks), len(pool.names)), dtype=np.int64)
    for place, player in enumerate(changed):
        source[:, list(decision.players.columns[player])] = row * parts[:, place : place + 1]
    flips = decision.target(pool.gather(source)) != decision.y
    flips[-1] = True  # the row itself: its own prediction decides, whatever a batch gives
    prices = total_costs(np.where(parts, costs[changed], 0.0))
    best = len(masks) - 1
    for mask in np.flatnonzero(flips).tolist():
        fewer = mask.bit_count() < best.bit_count()
        cheaper = not cost_at_most(prices[best], prices[mask])
        if cheaper or (fewer and cost_at_most(prices[mask], prices[best])):
            best = mask
    return {int(changed[place]) for place in members_of(best)}


def _change_text(pool: Table, row: int, changed: Any, decision: Decision) -> str:
    told = []
    for player in changed:
        columns = decision.players.columns[player]
        old, new = (
            {pool.names[j]: as_scalar(pool.cell(at, j)) for j in columns} for at in (0, row)
        )
        told.append(format_change(decision.players.names[player], old, new))
    return ", ".join(filter(None, told)) or "nothing"
