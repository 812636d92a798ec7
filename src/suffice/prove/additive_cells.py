"""Additive models over a domain: a column is a tree whose leaves are the values of the column.

The score of a row is a sum of one term per column (`engines.additive_margins`), so each column adds
a step function of its values, and the largest sum over a box is the sum of the columns' largest
terms: branch and bound ends at the first box, but for sums within rounding of the boundary.

Terms become integers: with the scale k = 2^30 / Σ_j max |t_j|, the integer Σ_j rint(k t_j) is off
k Σ_j t_j by at most d / 2. The model's own sum of a row is off by at most γ times the sum of the
absolute values of all that it adds up. What a column adds is at most what its whole row adds, so
for any combination of d values that sum is at most d times the largest of any row.
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil, floor

import numpy as np

from suffice.context.players import make_players
from suffice.decision import Decision
from suffice.engines.additive_margins import rounding_factor, score_combinations
from suffice.engines.additive_model import AdditiveModel
from suffice.engines.evaluator import Unreadable
from suffice.engines.trees.margins import IntegerMargin
from suffice.prove.domain import Domain, value_domain
from suffice.prove.leaf_boxes import NO_BOUND, EnsembleBoxes
from suffice.typing import Counts, Reals

_LARGEST_SUM = 2.0**30


def read_columns(
    model: AdditiveModel, decision: Decision
) -> tuple[Domain, Counts, EnsembleBoxes, list[IntegerMargin]]:
    """Return the domain of values, the input's cells, a box for each cell, and the margins.

    `Unreadable` where the scores do not tell the outcome.
    """
    event = decision.target.event
    if event.kind == "versus" and model.has_separate_probabilities:
        raise Unreadable(f"the probabilities of {model.name} are a fit of their own")
    domain, start = value_domain(decision.data, decision.row)
    scores = model.scores_of_rows(domain.candidates, make_players(domain.candidates))
    classes = decision.target.model.classes or ()
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
