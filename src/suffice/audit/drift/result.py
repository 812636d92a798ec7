"""What changed between two models, two dates or two batches, on the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from suffice.audit.drift.decision import DecisionDrift
from suffice.audit.drift.sheet import drift_sheet
from suffice.audit.drift.totals import FeatureDrift, SetDrift, feature_drifts, set_drifts
from suffice.audit.gaps import Share
from suffice.results import Result, Sheet

__all__ = ["Drift"]


@dataclass(frozen=True, repr=False)
class Drift(Result):
    """What changed between two explanations of the same decisions: see `suffice.audit.compare`.

    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [30, 60, 45, 60], "debt": [20, 20, 0, 40]})
    >>> old = Explainer(lambda rows: rows["pay"] >= 40, people).explain_many(people)
    >>> new = Explainer(lambda rows: rows["pay"] - rows["debt"] >= 40, people).explain_many(people)
    >>> found = audit.compare(old, new, ids=["Ann", "Bo", "Cy", "Di"])
    >>> [d.name for d in found if d.changed], found.other_sets
    (['Di'], Share(hits=3, n=3))
    >>> [(f.feature, round(f.before, 2), round(f.after, 2)) for f in found.by_feature]
    [('debt', 0.0, 0.83), ('pay', 1.0, 0.83)]
    """

    plots = ("drift", "measures")

    models: tuple[str, str]
    contexts: tuple[str, str]
    """How hybrids were made, before and after."""
    tau: float | None
    """None: each decision's own, which differ."""
    decisions: tuple[DecisionDrift, ...]
    unpaired: tuple[int, int]
    """Decisions that only the one side has: before, after."""
    features: tuple[tuple[str, ...], tuple[str, ...]]
    """Columns that only the one side has: before, after."""

    # -- over all decisions -------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.decisions)

    def __getitem__(self, at: int) -> DecisionDrift:
        return self.decisions[at]

    def __iter__(self) -> Iterator[DecisionDrift]:
        return iter(self.decisions)

    @property
    def nothing(self) -> bool:
        """Did nothing change at all?"""
        return all(d.nothing for d in self.decisions)

    @property
    def changed(self) -> Share:
        """Decisions whose outcome is another."""
        return Share.of(d.changed for d in self.decisions)

    @property
    def same_outcome(self) -> tuple[DecisionDrift, ...]:
        """Decisions with the same outcome on both sides: their sets can be compared."""
        return tuple(d for d in self.decisions if not d.changed)

    @property
    def other_sets(self) -> Share:
        """Of the decisions with the same outcome, those with a minimal set gained or lost."""
        return Share.of(d.other_sets for d in self.same_outcome)

    @property
    def other_codes(self) -> Share:
        """Of the decisions whose codes are known on both sides, those with others."""
        return Share.of(d.other_codes for d in self.decisions if d.codes is not None)

    @property
    def fallen(self) -> Share:
        """Of the options of recourse, those that no longer work."""
        return Share.of(not o.works for d in self.decisions for o in d.options)

    @property
    def stranded(self) -> tuple[DecisionDrift, ...]:
        """Decisions with the same outcome that had an option, and have none that works."""
        return tuple(d for d in self.same_outcome if d.options and d.fallen == d.options)

    @property
    def mean_distance(self) -> float | None:
        """Between barcodes of both views, over the decisions where it is known."""
        known = [
            apart
            for d in self.decisions
            for apart in (d.keep_distance, d.flip_distance)
            if apart is not None
        ]
        return sum(known) / len(known) if known else None

    @property
    def farthest(self) -> tuple[DecisionDrift, ...]:
        """Decisions by how far their barcodes are apart, the farthest first; not those at 0."""
        apart = [d for d in self.decisions if d.distance]
        return tuple(sorted(apart, key=lambda d: -(d.distance or 0.0)))

    @property
    def sets(self) -> tuple[SetDrift, ...]:
        """Sets gained or lost in some decision, those of most decisions first."""
        return set_drifts(self.same_outcome)

    @property
    def by_feature(self) -> tuple[FeatureDrift, ...]:
        """How much of the minimal sets each feature is part of, what moved most first."""
        return feature_drifts(self.same_outcome)

    # -- as a sheet and as frames -------------------------------------------------------

    @property
    def sheet(self) -> Sheet:
        """What changed: outcomes, minimal sets, how far apart, reason codes, ways out."""
        return drift_sheet(self)

    def to_frame(self) -> Any:
        """A row for each decision."""
        import pandas as pd

        rows = [
            {
                "decision": d.name,
                "before": d.outcomes[0],
                "after": d.outcomes[1],
                "changed": d.changed,
                "score_before": d.scores[0],
                "score_after": d.scores[1],
                "lost": len(d.having("lost")),
                "gained": len(d.having("gained")),
                "kept": len(d.having("kept")) + d.unmoved,
                "keep_distance": d.keep_distance,
                "flip_distance": d.flip_distance,
                "codes_before": None if d.codes is None else d.codes[0],
                "codes_after": None if d.codes is None else d.codes[1],
                "options": len(d.options),
                "options_fallen": len(d.fallen),
                "complete": d.complete,
            }
            for d in self.decisions
        ]
        return pd.DataFrame(rows)

    def to_factor_frame(self) -> Any:
        """A row for each minimal set that was lost, gained, or kept with another sufficiency."""
        import pandas as pd

        names = "decision view outcome features fate before after difference low high n_before"
        rows = []
        for d in self.decisions:
            for f in d.factors:
                shift = f.shift
                rows.append(
                    (
                        d.name,
                        f.view,
                        d.outcomes[0],
                        f.features,
                        f.fate,
                        None if f.before is None else f.before.share,
                        None if f.after is None else f.after.share,
                        *((shift.difference, shift.low, shift.high) if shift else (None,) * 3),
                        None if f.before is None else f.before.n,
                        None if f.after is None else f.after.n,
                    )
                )
        return pd.DataFrame(rows, columns=[*names.split(), "n_after"])
