"""A library's own arithmetic, repeated: the same additions, in its order and its precision.

Hybrids whose score is within rounding of a boundary (`margins`) are mostly exact ties, and on which
side of it the library's rounded sum falls depends on nothing but the order and the precision in
which it adds. Readers that know both say so by a `Replay`: base first, then one leaf after
another in the order of the trees, in float64 or float32. The sum is then the library's to the bit,
and no call of the model is needed, which would cost a forest ten milliseconds however few the rows.

Where it is not valid there is no `Replay`, and the model is asked: a forest with threads adds in
the order in which they finish; models made of models add in orders of their own. And it is used
only after it has given, for a sample of hybrids with ties among them, scores that equal the
library's own bit by bit (`TreeModel`).

What turns a sum into an answer is repeated as well, but for the last place of an exponential. Two
classes part where 1 / (1 + exp(-x)) exceeds one half. With u half a unit in the last place of 1,
and an exponential that is off by less than 2u, it is one half up to x = u and above it from 3u on:
in between the library is asked. Of several classes the first of the likeliest wins. Softmax may
round an earlier class up to the likeliest if it is behind by less than 4u: then, too, it is asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.evaluate.trees.blocks import Kernel, numba_is_loaded
from suffice.evaluate.trees.ensemble import Ensemble, Ints
from suffice.evaluate.trees.problem import LANES, Problem
from suffice.tables.labels import as_labels
from suffice.target import Event
from suffice.typing import BoolVector, Counts, Held, Reals, Words

__all__ = ["add_up", "read_sums", "same_scores"]

_STEPS_AT_ONCE = 1 << 18
"""Hybrids × trees that numpy walks together."""


def add_up(problem: Problem, held: Held, references: Counts, kernel: Kernel | None = None) -> Reals:
    """(rows, outputs): the library's sums of single hybrids; for an ensemble with a `Replay`.

    None takes the compiled kernel where it is loaded: numba's start would take longer.
    """
    kernel = kernel or ("numba" if numba_is_loaded() else "numpy")
    ensemble = problem.ensemble
    assert ensemble.replay is not None
    kind = np.float32 if ensemble.unit > 2.0**-53 else np.float64
    sums = np.tile(ensemble.replay.base.astype(kind), (len(held), 1))
    values = ensemble.values.astype(kind, copy=False)
    lanes = problem.list_lanes
    place = np.empty(len(lanes.order), dtype=np.int64)
    place[lanes.order] = np.arange(len(place))
    seen, block = np.unique(place[references] // LANES, return_inverse=True)
    lane = place[references] % LANES ^ 7
    differs = np.stack([problem.sides.words(lanes.references(b)) for b in seen.tolist()])
    if kernel == "numba":
        from suffice.evaluate.trees.kernel import add_in_order

        nodes = problem.nodes[0].view(np.uint32)
        add_in_order(ensemble.roots, nodes, values, differs, block, lane, held, sums)
        return sums
    step = max(1, _STEPS_AT_ONCE // len(ensemble.roots))
    for at in range(0, len(held), step):
        rows = slice(at, at + step)
        for leaves in _leaves(problem, differs, block[rows], lane[rows], held[rows]):
            sums[rows] += values[leaves]
    return sums


def _leaves(problem: Problem, differs: Words, block: Counts, lanes: Counts, held: Held) -> Ints:
    """(trees, rows): the leaf that each hybrid comes to in each tree."""
    roots, nodes = problem.ensemble.roots, problem.nodes[0]
    row = np.tile(np.arange(len(lanes)), len(roots))
    node = np.repeat(roots, len(lanes))
    lane = lanes.astype(np.uint64)[row]
    inner = np.arange(len(node))
    while (inner := inner[nodes[node[inner], 0] >= 0]).size:
        test, toward, away, player = nodes[node[inner]].T
        leaves = (differs[block[row[inner]], test] >> lane[inner] & np.uint64(1)).astype(bool)
        node[inner] = np.where(leaves & ~held[row[inner], player], away, toward)
    return np.asarray(node.reshape(len(roots), len(lanes)))


def same_scores(ensemble: Ensemble, sums: Reals, theirs: Any) -> bool:
    """Are the library's scores of some rows the very ones that these sums make?"""
    theirs, ours = np.asarray(theirs), _scores(ensemble, sums)
    return theirs.size == ours.size and bool((theirs.reshape(ours.shape) == ours).all())


def _scores(ensemble: Ensemble, sums: Reals) -> Reals:
    return sums if ensemble.divisor == 1.0 else sums / ensemble.divisor


def read_sums(ensemble: Ensemble, event: Event, sums: Reals) -> tuple[BoolVector, BoolVector]:
    """By row: does the event hold, and is that sure? Where it is not, the model must be asked."""
    scores = _scores(ensemble, sums)
    sure = np.ones(len(scores), dtype=bool)
    if ensemble.classes is None:
        return np.asarray(event.holds(scores[:, 0])), sure
    if ensemble.shares and event.needs_scores:
        return np.asarray(event.holds(scores)), sure
    if ensemble.shares:
        winner = scores.argmax(axis=1)
    elif ensemble.margin:
        winner, sure = _second_wins(ensemble, event, scores[:, 0])
    else:
        winner, sure = _first_of_the_best(ensemble, scores)
    if event.needs_scores:  # one of two classes rather than the other
        return winner == event.parameters[0], sure
    holds = np.asarray(event.holds(as_labels(ensemble.classes)), dtype=bool)
    return holds[winner], sure


def _second_wins(ensemble: Ensemble, event: Event, margin: Reals) -> tuple[Counts, BoolVector]:
    assert ensemble.replay is not None
    low, high = (n * ensemble.unit / ensemble.steepness for n in (0.99, 3.01))
    if ensemble.replay.parts is not None and not event.needs_scores:
        low, high = ensemble.replay.parts
    return (margin >= high).astype(np.int64), (margin <= low) | (margin >= high)


def _first_of_the_best(ensemble: Ensemble, scores: Reals) -> tuple[Counts, BoolVector]:
    winner = scores.argmax(axis=1)
    behind = scores.max(axis=1)[:, None] - scores
    earlier = np.arange(scores.shape[1]) < winner[:, None]
    return winner, ~(earlier & (behind < 4.01 * ensemble.unit)).any(axis=1)
