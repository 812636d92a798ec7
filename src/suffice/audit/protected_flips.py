"""References that flip a decision by protected values alone, also where effects are random.

If the effects of a change are fixed, the counts of an explanation show such references. Where a
causal context draws effects at random, a reference may flip the decision by the draw alone: if the
graph has an edge from sex to job, the job is drawn again, even if it does not depend on sex. There
the model predicts each draw twice, with the decision's own protected values and with the
reference's, and only a difference between the two counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.audit.decision_counts import DecisionCounts, submasks
from suffice.context.causal.context import CausalHybrids
from suffice.context.cost import declared_change_costs
from suffice.errors import InputError
from suffice.explainer import Explainer
from suffice.explanation import Change, Player
from suffice.factors.lattice import held_of_masks, members_of
from suffice.factors.order import COST_TOLERANCE
from suffice.tables import as_scalar
from suffice.typing import VIEWS, BoolVector


class FlipCounter:
    """Counts of the references that flip one decision by their protected values alone."""

    def __init__(self, decision: DecisionCounts) -> None:
        self.found = decision
        self.minimal: list[int] | None = [
            mask for view in VIEWS for mask in decision.minimal_masks(view)
        ]
        """Minimal masks of both views; None if they do not show what a feature does."""

    def flips(self, own: int) -> tuple[int | None, int | None]:
        """Return the references that flip it by the whole set, and the most of any subset."""
        flipped, _ = self.found.count_set("flip", own)
        hits = self.found.hits("flip")
        # The empty set comes first and is left out: it flips nothing that was changed.
        most = flipped if hits is None else int(hits[submasks(own)[1:]].max(initial=0))
        return flipped, most

    def change(self, own: int) -> Change | None:
        """Return the cheapest known change of features of the set that flips it."""
        costs = self.found.flip_costs
        cheapest = costs.cheapest(_nonempty_submasks(costs.masks, own))
        return None if cheapest is None else self.found.change(cheapest)


_MAX_SUBSETS_COMPARED = 6
"""Protected features up to which every subset is predicted; above, all of them together."""


class SameNoiseFlips(FlipCounter):
    """Counts where effects are random: predictions with and without the change, on the same noise.

    A reference counts if the decision stands with its own protected values and falls with the
    reference's. Where those are equal, both rows are the same, so such a reference never counts.
    """

    def __init__(self, found: DecisionCounts, explainer: Explainer) -> None:
        self.found, self.minimal = found, None
        self.decision = decision = explainer.decide(dict(found.inputs))
        hybrids = decision.hybrids[1]
        if (
            not isinstance(hybrids, CausalHybrids)
            or decision.players.names != found.features
            or decision.target.event.describe(decision.y) != found.outcome
            or hybrids.n != found.n_references
        ):
            raise self._other_explainer()
        self.hybrids = hybrids
        self._flips: dict[int, BoolVector] = {}

    def flips(self, own: int) -> tuple[int | None, int | None]:
        """Return the references that flip it by the whole set, and the most of any subset."""
        every = [int(self._by_reference(mask).sum()) for mask in self._subsets(own)]
        return int(self._by_reference(own).sum()), max(every, default=0)

    def change(self, own: int) -> Change | None:
        """Return the cheapest change of features of the set that flips it for a reference."""
        d = self.decision
        costs = declared_change_costs(d.pool, d.data, d.players, d.cost, d.changes)
        best: tuple[float, int, int] | None = None
        for mask in self._subsets(own):
            price = costs[:, list(members_of(mask))].sum(axis=1)
            # Only references that flip by their values, not by the draw, offer a change.
            price[~self._by_reference(mask)] = np.inf
            reference = int(price.argmin())
            # A later, larger set wins only if it is cheaper beyond rounding: sets come by size.
            if price[reference] < (np.inf if best is None else best[0] * (1 - COST_TOLERANCE)):
                best = float(price[reference]), mask, reference
        if best is None:
            return None
        cost, mask, reference = best
        players = tuple(
            Player(self.found.features[i], self.found.values(i)) for i in members_of(mask)
        )
        names = d.pool.names
        new = {
            # Row 0 of the pool is the input itself.
            column: as_scalar(d.pool.column(names.index(column))[reference + 1])
            for player in players
            for column in player.values
        }
        return Change(players, new, cost)

    @staticmethod
    def _subsets(own: int) -> list[int]:
        if own.bit_count() > _MAX_SUBSETS_COMPARED:
            return [own]
        return sorted(submasks(own)[1:].tolist(), key=lambda mask: (mask.bit_count(), mask))

    def _by_reference(self, mask: int) -> BoolVector:
        """Return, by reference, whether its values on these features flip the decision."""
        if mask not in self._flips:
            n, target, y = self.hybrids.n, self.decision.target, self.decision.y
            held = np.repeat(~held_of_masks(np.array([mask]), self.hybrids.d), n, axis=0)
            each = np.arange(n)
            falls = target(self.hybrids.rows(held, each)) != y
            counted, _ = self.found.count_set("flip", mask)
            # The stored count is that of the same draws, so any other number shows another
            # explainer.
            if counted not in (None, int(falls.sum())):
                raise self._other_explainer()
            # The same draw with the own protected values: where that falls too, the noise did it.
            stands = target(self.hybrids.rows_by_noise_alone(held, each)) == y
            self._flips[mask] = np.asarray(stands & falls)
        return self._flips[mask]

    def _other_explainer(self) -> InputError:
        got = f"one that does not give the counts of decision {self.found.name}"
        return InputError("explainer", got, "the Explainer that made the explanations")


def _nonempty_submasks(masks: Any, own: int) -> Any:
    """Return which masks are nonempty and within `own`."""
    return (masks != 0) & (masks & ~own == 0) if len(masks) else np.zeros(0, dtype=bool)
