"""Counts of a decision's feature sets by bit mask, with its minimal sets and cheapest changes.

`read_decision_counts` yields a `DecisionCounts` for each explanation. Rows of a stored batch that
hold all counts are read column by column instead (`stored_counts`), without building an explanation
for each: both ways give the same numbers. `FeatureIndex` numbers the features of many decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from suffice.audit.decisions import as_explanations, decision_names, input_values
from suffice.errors import InputError, NotVisitedError
from suffice.explanation import Change, Explanation, View
from suffice.explanation.cheapest_changes import CheapestChanges
from suffice.explanation.schema import ContextRecord, Direction
from suffice.factors.lattice import held_of_masks, members_of, sizes_by_mask, supersets_of
from suffice.formatting import join_first
from suffice.inference import interval_and_p_value
from suffice.progress import progress_bar
from suffice.typing import BoolVector, Counts, Reals, Scalar, SmallCounts, ViewName
from suffice.validation import check_tau


class SufficiencyLevels(NamedTuple):
    """Largest τ at which each set suffices: `taus[level_of[mask]]`.

    Without a test that is the set's share of references; with a test, the bound of that share.
    """

    level_of: SmallCounts
    taus: Reals

    def at_least(self, tau: float) -> BoolVector:
        """Return, by bit mask, whether the set suffices at τ."""
        return np.asarray(self.taus >= tau)[self.level_of]


class FlipCosts(NamedTuple):
    """Sets of features whose changes were priced, as bit masks, and the lowest cost of each set."""

    masks: Any
    costs: Reals

    def cheapest(self, among: BoolVector) -> int | None:
        """Return the mask of lowest cost among the marked sets, the first of equals, or None."""
        some = np.flatnonzero(among)
        return int(self.masks[some[self.costs[some].argmin()]]) if len(some) else None


class DecisionCounts:
    """Counts, minimal sets and cheapest changes of one decision, read from its explanation.

    Bit masks are over `features`. `irrelevant_features` were left out of the explanation because
    they cannot change the outcome: a set suffices with them exactly if it does without them.
    """

    def __init__(self, number: int, name: str, e: Explanation, tau: float | None) -> None:
        self.number, self.name, self._e = number, name, e
        self.outcome, self.tau = e.outcome, e.tau if tau is None else tau
        self.features = tuple(player.name for player in e.players)
        self.irrelevant_features = tuple(left.player.name for left in e.left_out)
        self.n_references = e.keep_profile.tally.n
        self.complete = e.at(self.tau).complete

    @property
    def all_features(self) -> tuple[str, ...]:
        """Names of all features, the irrelevant ones last."""
        return (*self.features, *self.irrelevant_features)

    @property
    def explanation(self) -> Explanation:
        """Explanation that the counts are read from."""
        return self._e

    @property
    def context(self) -> ContextRecord:
        """Record of the context, which made the hybrids."""
        return self._e.provenance.context

    def hits(self, view: ViewName) -> SmallCounts | None:
        """Return the references with the view's outcome, by bit mask; None if a set is missing."""
        tally = self._view(view).tally
        return tally.dense if tally.complete else None

    def levels(self, view: ViewName) -> SufficiencyLevels:
        """Return the largest passing τ of every set; valid only where all sets were counted."""
        steps = self._view(view).profile.steps
        return SufficiencyLevels(steps.passes, steps.taus)

    def count_set(self, view: ViewName, mask: int) -> tuple[int | None, bool | None]:
        """Return the hits of one set and whether it suffices at τ; (None, None) if not counted."""
        return _count_members(self._view(view), members_of(mask), self.tau)

    def minimal_masks(self, view: ViewName) -> list[int]:
        """Return the τ-minimal sets as bit masks, in the order of `View.factors`."""
        return [int(mask) for mask in minimal_masks(self._view(view), self.tau)]

    def weights(self, view: ViewName) -> Reals:
        """Return the weight in D of one set, by its size."""
        return self._view(view).profile.weights

    def size_weights(self, view: ViewName) -> tuple[float, ...] | None:
        """Return the probability of each set size under D; None if all sets are equally likely."""
        return self._view(view).profile.size_weights

    def values(self, feature: int) -> Mapping[str, Scalar]:
        """Return the input's values of one feature, by column."""
        return self._e.players[feature].values

    @property
    def inputs(self) -> Mapping[str, Scalar]:
        """The input's values by column."""
        return input_values(self._e)

    @property
    def flip_costs(self) -> FlipCosts:
        """Sets whose change flips the outcome, with the lowest cost of each."""
        changes = self._e.changes
        if isinstance(changes, CheapestChanges):
            masks, costs = changes.priced.masks, changes.priced.costs
        else:
            masks, costs = list(changes), np.array([c.cost for c in changes.values()], dtype=float)
        return FlipCosts(np.array(masks, dtype=object), np.asarray(costs, dtype=float))

    @property
    def directions(self) -> Mapping[str, Direction]:
        """Direction of each numeric feature in the cheapest changes that need it."""
        return self._e.directions

    def change(self, mask: int) -> Change:
        """Return the cheapest change of a set in `flip_costs`."""
        return self._e.changes[mask]

    @property
    def cheapest_cost(self) -> float | None:
        """Cost of the cheapest change of any set."""
        return None if self._e.cheapest is None else self._e.cheapest.cost

    @property
    def cheapest(self) -> Change | None:
        """The cheapest change of any set."""
        return self._e.cheapest

    def mask_of(self, names: Iterable[str]) -> int:
        """Return the bit mask of a set of feature names; irrelevant features have no bit."""
        wanted = set(names)
        return sum(1 << i for i, name in enumerate(self.features) if name in wanted)

    def require_counts(self) -> None:
        """Raise `InputError` unless every set was counted in both views."""
        if self.hits("keep") is not None and self.hits("flip") is not None:
            return
        got = f"decision {self.name}, of which not every set was counted"
        allowed = "decisions with all their counts"
        hint = (
            "Explain with search='exhaustive' and fewer features (groups); where they are stored, "
            "write them with counts=True."
        )
        raise InputError("explanations", got, allowed, hint)

    def _view(self, view: ViewName) -> View:
        return self._e.keep if view == "keep" else self._e.flip


def read_decision_counts(
    given: Any, *, tau: float | None, ids: Sequence[Any] | None, progress: bool | None
) -> Iterator[DecisionCounts]:
    """Yield the counts of each decision, at `tau` or, with None, at the decision's own τ."""
    explanations = as_explanations(given)
    checked = None if tau is None else check_tau(tau)
    names = decision_names(explanations, ids)
    with progress_bar("decisions", len(explanations), progress) as bar:
        for counts in _iter_counts(explanations, names, checked):
            yield counts
            bar.update(1)


def _iter_counts(
    explanations: Sequence[Explanation], names: Sequence[str], tau: float | None
) -> Iterator[DecisionCounts]:
    stored: Any = explanations
    if hasattr(stored, "tables"):  # a loaded batch; other sequences must work without pyarrow
        from suffice.audit.stored_counts import read_stored_counts

        yield from read_stored_counts(stored, names, tau)
        return
    for number, e in enumerate(explanations):
        if not isinstance(e, Explanation):
            raise InputError("explanations", f"a {type(e).__name__} among them", "explanations")
        yield DecisionCounts(number, names[number], e, tau)


def minimal_masks(view: View, tau: float) -> Counts:
    """Return the bit masks of the τ-minimal sets, in the order of `View.factors`."""
    profile = view.profile
    if view.tally.complete and profile.findings is None:
        return profile.bars.places[profile.bars.at(tau)]
    lattice = view.tally.lattice
    return np.array([lattice.mask(m.members) for m in profile.minimal_at(tau)], dtype=object)


def minimal_feature_sets(view: View, tau: float) -> Iterator[frozenset[str]]:
    """Yield the τ-minimal sets as sets of feature names, in the order of `View.factors`."""
    names = [player.name for player in view.players]
    for mask in minimal_masks(view, tau).tolist():
        yield frozenset(names[i] for i in members_of(int(mask)))


def count_feature_set(
    view: View, features: Iterable[str], tau: float
) -> tuple[int | None, bool | None]:
    """Return the hits of a set of feature names and whether it suffices at τ.

    A feature that the explanation does not know changes no count: it was left out because it cannot
    matter, or the model never had it. Returns (None, None) if the set was not counted.
    """
    wanted = set(features)
    return _count_members(
        view, [i for i, player in enumerate(view.players) if player.name in wanted], tau
    )


def _count_members(
    view: View, members: Sequence[int], tau: float
) -> tuple[int | None, bool | None]:
    """Return the hits of a set of players and whether it suffices: by share, or by the test."""
    # The order of the cases matters: without a test the share decides; with one, sets beyond the
    # tested family have only their own p-value.
    profile, n = view.profile, view.tally.n
    try:
        hits = profile.hits(members)
    except NotVisitedError:
        return None, None
    if profile.alpha is None:
        return hits, hits / n >= tau
    if len(members) > profile.largest:
        # Sets above max_size are outside the tested family: no adjusted p-value exists for them.
        return hits, interval_and_p_value(hits, n, tau)[1] <= profile.alpha
    if view.tally.complete and profile.findings is None:
        # The bound that the barcode uses, so that minimal sets and this verdict agree at τ.
        steps = profile.steps
        return hits, bool(steps.taus[steps.passes[view.tally.lattice.mask(members)]] >= tau)
    return hits, profile.p_value(hits, tau) <= profile.alpha


MAX_LISTED_FEATURES = 20
"""Above this number of features the 2^d sets are not listed."""


class FeatureIndex:
    """One numbering of features for many decisions, and conversions between their bit masks.

    A decision whose irrelevant features were left out has fewer bits than the shared numbering.
    """

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()

    def add(self, decision: DecisionCounts) -> None:
        """Take the names from the first decision; raise if a later one has other features."""
        # All masks of a result refer to the first decision's order of features.
        if not self.names:
            self.names = decision.all_features
            self._all = frozenset(self.names)
        if decision.features == self.names:
            return
        # Decisions may leave out different features; together with these all must have the same.
        own = frozenset(decision.all_features)
        if own != self._all:
            odd = join_first(map(repr, sorted(own ^ self._all)), 4)
            got = f"decisions about other features ({odd})"
            hint = "Explain all of them with the same groups."
            raise InputError("explanations", got, "decisions about the same features", hint)

    def to_shared_masks(self, features: tuple[str, ...], masks: Iterable[int]) -> list[int]:
        """Convert a decision's own bit masks to masks over all features."""
        if features == self.names:
            return list(masks)
        positions = _positions(features, self.names)
        return [sum(1 << at for i, at in enumerate(positions) if mask >> i & 1) for mask in masks]

    def to_own_masks(self, features: tuple[str, ...], masks: Iterable[int]) -> list[int]:
        """Convert masks over all features to a decision's own: irrelevant features lose a bit."""
        if features == self.names:
            return list(masks)
        positions = _positions(features, self.names)
        return [sum((mask >> at & 1) << i for i, at in enumerate(positions)) for mask in masks]

    def expand(self, features: tuple[str, ...], by_mask: Any) -> Any:
        """Return an array indexed by a decision's own masks as one indexed by shared masks."""
        return by_mask if features == self.names else by_mask[own_masks(features, self.names)]

    def names_of_mask(self, mask: int) -> tuple[str, ...]:
        """Return the feature names of a shared mask."""
        return tuple(self.names[i] for i in members_of(mask))


@lru_cache(maxsize=256)
def _positions(features: tuple[str, ...], names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(map(names.index, features))


@lru_cache(maxsize=16)
def own_masks(features: tuple[str, ...], names: tuple[str, ...]) -> Counts:
    """Return, for every bit mask over `names`, the mask over `features` (a subset of `names`)."""
    # An irrelevant feature changes no count, so masks that differ only in its bit read one entry.
    masks = np.arange(1 << len(names))
    found = np.zeros_like(masks)
    for i, at in enumerate(_positions(features, names)):
        found |= (masks >> at & 1) << i
    return found


@lru_cache(maxsize=64)
def submasks(mask: int) -> Counts:
    """Return the masks of all subsets of a mask, the empty one first, in increasing order.

    >>> submasks(0b101).tolist()
    [0, 1, 4, 5]
    """
    # Each member doubles the list; appending the sets with it keeps the list sorted.
    found = np.zeros(1, dtype=np.int64)
    for i in members_of(mask):
        found = np.concatenate([found, found | 1 << i])
    return found


def contains_minimal(minimal: list[int], d: int) -> BoolVector | None:
    """Return, by bit mask, whether the set contains a minimal one; None above the feature limit."""
    return None if d > MAX_LISTED_FEATURES else supersets_of(minimal, d)


class WeightedHybrids(NamedTuple):
    """Weights under D of the hybrids that have a view's outcome, set by set."""

    membership: BoolVector
    """(sets, features): which features each set holds (flip: replaces), by bit mask."""
    set_weights: Reals
    """By bit mask: weight of the set in D."""
    outcome_weights: Reals
    """By bit mask: weight of the set times its references with the outcome."""

    @property
    def total(self) -> float:
        """Weight of all hybrids with the outcome; 0 if no hybrid has it."""
        return float(self.outcome_weights.sum())

    @property
    def necessity(self) -> Reals:
        """PN of "at least this feature is held" (flip: replaced), by feature.

        Equal to `view.necessity_of([feature])`, for all features by one matrix product.
        """
        return np.asarray(self.outcome_weights @ self.membership) / self.total

    @property
    def expected(self) -> Reals:
        """Probability under D of being held (flip: replaced), by feature, whatever the outcome."""
        return np.asarray(self.set_weights @ self.membership) / float(self.set_weights.sum())

    def share_with_any(self, features: list[int]) -> float:
        """Return the share of the outcome's hybrids that have at least one of the features."""
        return self._share_with_any(features, self.outcome_weights)

    def expected_with_any(self, features: list[int]) -> float:
        """Return the share of all hybrids that have at least one of the features."""
        return self._share_with_any(features, self.set_weights)

    def _share_with_any(self, features: list[int], weights: Reals) -> float:
        return float(weights[self.membership[:, features].any(axis=1)].sum() / weights.sum())


def weighted_hybrids(decision: DecisionCounts, view: ViewName) -> WeightedHybrids | None:
    """Return the weighted hybrids of one decision; None if not every set was counted."""
    hits, d = decision.hits(view), len(decision.features)
    if hits is None:
        return None
    weights = decision.weights(view)[sizes_by_mask(d)]
    return WeightedHybrids(_membership(d), weights, hits * weights)


@lru_cache(maxsize=16)
def _membership(d: int) -> BoolVector:
    return held_of_masks(np.arange(1 << d), d)
