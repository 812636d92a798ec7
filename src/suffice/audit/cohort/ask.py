"""Ask of many decisions what suffices for them, and compare groups of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from suffice.audit.all_features import AllFeatures
from suffice.audit.cohort.brittle import Least, how_cheap, how_small
from suffice.audit.cohort.result import Cohort, Difference
from suffice.audit.cohort.sums import LISTED, Key, Sum
from suffice.audit.decisions import VIEWS, as_decisions
from suffice.audit.gaps import Share, adjusted, gap
from suffice.audit.groups import By, grouping
from suffice.audit.known import read_decisions
from suffice.checks import threshold, whole

__all__ = ["cohort"]


def cohort(
    explanations: Any,
    by: By = None,
    *,
    tau: float | None = None,
    most: int = LISTED,
    ids: Sequence[Any] | None = None,
    progress: bool | None = None,
) -> Cohort:
    """What suffices for many decisions: counts added up by outcome, and by group where given.

    `by` is a column of the inputs, a function of an explanation, or a label for each decision;
    `tau` None takes each decision's own; `most` sets are told of each part; `ids` names the
    decisions (else they are called as they were stored, or by their numbers).

    >>> from sklearn.linear_model import LogisticRegression
    >>> from suffice import Explainer, audit, datasets
    >>> X, y = datasets.loans()
    >>> X = X[["age", "income", "debt", "late payments"]]
    >>> explainer = Explainer(LogisticRegression(max_iter=1000).fit(X, y), X, n_references=50)
    >>> found = audit.cohort(explainer.explain_many(X.iloc[:40]))
    >>> part = found.part("keep", "refused")
    >>> part.decisions
    18
    >>> best = part.sets[0]
    >>> best.features, best.minimal, best.suffices
    (('income', 'debt'), 7, 9)
    """
    found = as_decisions(explanations)
    group_of, shown = grouping(by, len(found)), whole("most", most)
    everything, sums = AllFeatures(), dict[Key, Sum]()
    smallest, cheapest = Least(how_small), Least(how_cheap)
    for known in read_decisions(found, tau=tau, ids=ids, progress=progress):
        known.require_counts()
        everything.take(known)
        group = group_of(known)
        for view in VIEWS:
            key = known.outcome, group, view
            sums.setdefault(key, Sum(everything)).add(known, view)
        for least in (smallest, cheapest):
            least.offer(known, group)
    wanted = {key: part.listed(shown) for key, part in sums.items()}
    parts = tuple(
        part.part(key, wanted[key])
        for key, part in sorted(
            sums.items(), key=lambda item: (item[0][0], item[0][1] or "", item[0][2] == "flip")
        )
    )
    return Cohort(
        n=len(found),
        tau=None if tau is None else threshold(tau),
        features=everything.names,
        parts=parts,
        brittle=smallest.found,
        cheapest=cheapest.found,
        differences=tuple(_differences(sums, wanted, everything)),
    )


def _differences(
    sums: Mapping[Key, Sum], wanted: Mapping[Key, list[int]], everything: AllFeatures
) -> list[Difference]:
    """Every pair of groups of one outcome, for every set that either of them lists."""
    found: list[tuple[Any, ...]] = []
    for one, other in combinations(sorted(sums, key=str), 2):
        (outcome, group, view), (outcome2, group2, view2) = one, other
        if (outcome, view) != (outcome2, view2) or group is None or group2 is None:
            continue
        masks = list(dict.fromkeys((*wanted[one], *wanted[other])))
        suffices = [sums[key].of(masks)[1].tolist() for key in (one, other)]
        n = sums[one].decisions, sums[other].decisions
        for mask, a, b in zip(masks, *suffices, strict=True):
            shares = Share(a, n[0]), Share(b, n[1])
            found.append((outcome, view, mask, (group, group2), shares, gap(*shares)))
    p_values = adjusted([g for *_, g in found])
    out = [
        Difference(outcome, view, everything.named(mask), groups, shares, g, p)
        for (outcome, view, mask, groups, shares, g), p in zip(found, p_values, strict=True)
    ]
    return sorted(out, key=lambda d: (d.p_adjusted, -abs(d.gap.difference)))
