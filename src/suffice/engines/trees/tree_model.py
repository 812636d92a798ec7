"""The trees of one fitted model: read and checked against the model once, used for every input.

What an event asks of the sums is read once: that takes as long as all the rest. The reading is
checked once, and now and then again. So is the repeating of the library's own additions. If the
model ever denies the reading, it is given up for all inputs that follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from suffice.context.references import CachedRows
from suffice.engines.evaluator import find_reader, has_patched_methods
from suffice.engines.pipeline_columns import (
    ColumnwisePipeline,
    describe_model,
    increasing_columns,
    split_pipeline,
)
from suffice.engines.select_engine import Unreadable, unreadable_on_error
from suffice.engines.trees.encoded_input import EventMargins, read_event_margins
from suffice.engines.trees.ensemble import Ensemble, Ints, class_labels, not_a_tree_model
from suffice.errors import short_repr
from suffice.models.adapter import Adapter
from suffice.randomness import Stream, generator
from suffice.tables.table import Table
from suffice.target import Event
from suffice.typing import Counts, Reals

FIRST_CHECKS = 32
"""Decided hybrids that the model predicts as a check the first time."""

_LATER_CHECKS = 8
"""Decided hybrids that it predicts at each later check."""

_MAX_UNCHECKED_HYBRIDS = 1 << 26
"""Most hybrids evaluated between two checks, unless one step of the work has more."""

_INPUTS_COMPARED = 8
"""Inputs whose class shares must equal the library's to the bit before they replace its own."""


class TreeModel:
    """The trees of one model, and the checks made of them so far."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble
        self.checks = HybridCheckSchedule()
        self.disagrees = False
        """Whether the model has contradicted the trees as they were read."""
        self.sums_match: bool | None = None if ensemble.replay is not None else False
        """Whether sums equal the library's to the bit; None: not checked yet."""
        self.domains: dict[tuple[str, int], Any] = {}
        """Domains that proofs made of the trees, by their kind and their table."""
        self._readings: dict[tuple[Any, ...], EventMargins] = {}
        self._alike = 0

    def unchecked(self) -> TreeModel:
        """Return the same trees, with no check made yet."""
        other = TreeModel(self.ensemble)
        other._readings = self._readings
        return other

    def event_margins(self, event: Event) -> EventMargins:
        """Return the event's margins; `Unreadable` if the sums do not decide it."""
        if event.kind == "within":  # another event for every input
            return read_event_margins(self.ensemble, event)
        key = event.kind, event.parameters
        if key not in self._readings:
            self._readings[key] = read_event_margins(self.ensemble, event)
        return self._readings[key]

    def class_shares(self, inputs: CachedRows) -> tuple[Reals | None, int]:
        """Return (rows, classes): a forest's class shares, and how many rows it predicted for them.

        At first it predicts all, and its shares are compared with these bit by bit; later it
        predicts none. None: no forest, or one whose additions are not repeated (see `replay`), or
        rows that the library refuses.
        """
        replay, rows = self.ensemble.replay, inputs.table
        if replay is None or self.sums_match is False or self.disagrees or not self.ensemble.shares:
            return None, 0
        try:
            with unreadable_on_error("the library refuses the rows"):
                seen = inputs.cached(self.ensemble.matrix, lambda: self.ensemble.matrix(rows))
                sums = np.zeros((len(rows), len(self.ensemble.base)))
                # Tree by tree, in the forest's order: any other order rounds differently.
                for leaves in leaf_indices(self.ensemble, seen):
                    sums += self.ensemble.values[leaves]
                ours = sums / self.ensemble.divisor
                if self.sums_match or self._alike >= _INPUTS_COMPARED:
                    return ours, 0
                theirs = np.asarray(replay.scores(rows))
        except Unreadable:  # the model itself raises for what is wrong with the rows
            return None, 0
        self._alike += len(rows)
        if not np.array_equal(theirs, ours):
            self.sums_match = False
        return theirs, len(rows)


def leaf_indices(ensemble: Ensemble, rows: Reals) -> Ints:
    """Return (trees, rows): the leaf of each tree that each row of the trees' matrix reaches."""
    tests = ensemble.tests
    row = np.tile(np.arange(len(rows)), len(ensemble.roots))
    node = np.repeat(ensemble.roots, len(rows))
    inner = np.arange(len(node))
    while (inner := inner[ensemble.test[node[inner]] >= 0]).size:
        test = ensemble.test[node[inner]]
        values = rows[row[inner], tests.column[test]]
        left = values <= tests.threshold[test]
        left = np.where(np.isnan(values), tests.missing_left[test], left)
        for number in tests.categories:
            asked = test == number
            left[asked] = tests.answer(number, values[asked])
        node[inner] = np.where(left, ensemble.left[node[inner]], ensemble.right[node[inner]])
    return np.asarray(node.reshape(len(ensemble.roots), len(rows)))


class HybridCheckSchedule:
    """Schedule of checks of hybrids decided by trees against the model.

    The first hybrids are checked one by one until there were enough; later a few are checked
    whenever four times as many hybrids were evaluated as at the last check, or very many more. That
    depends on counts alone, so that the same questions in the same order check the same rows on any
    machine.
    """

    def __init__(self) -> None:
        self._rng = generator(0, Stream.CHECKS)
        self._checked = 0
        self._worked_out = 0
        self._next = 0

    @property
    def begun(self) -> bool:
        """True if the first checks are complete."""
        return self._checked >= FIRST_CHECKS

    def count(self, hybrids: int) -> int:
        """Return how many of the next hybrids the model is to predict as a check."""
        self._worked_out += hybrids
        missing = FIRST_CHECKS - self._checked
        if missing <= 0 and self._worked_out < self._next:
            return 0
        count = missing if missing > 0 else _LATER_CHECKS
        self._checked += min(hybrids, count)
        # The gap grows with the work done, up to a largest one: checks stay a small part of it.
        self._next = self._worked_out + min(3 * self._worked_out, _MAX_UNCHECKED_HYBRIDS)
        return count

    def due(self, hybrids: int) -> Counts:
        """Return the indices of the hybrids to check."""
        count = self.count(hybrids)
        if hybrids <= count:
            return np.arange(hybrids)
        return np.unique(self._rng.integers(hybrids, size=count))


_LIBRARIES = ("sklearn", "xgboost", "lightgbm", "catboost")
"""A reader is chosen by the library that the model's class comes from, which is then loaded."""


def read_trees(model: Any, columns: tuple[str, ...] = ()) -> Ensemble:
    """Read the trees of a fitted model; `Unreadable` gives the reason why they are not read.

    `columns` are the names of the table's columns, for pipelines: steps before the trees may
    transform each column in any way, but not mix columns.
    """
    if isinstance(model, Adapter):
        return _read_adapted(model, columns)
    parts = split_pipeline(model, columns)
    trees = _read_estimator(parts.final, () if parts.steps else columns)
    if not parts.steps:
        return trees
    source = np.arange(len(parts.owner)) if trees.source is None else trees.source
    increasing = increasing_columns(parts, len(columns))[source]
    return replace(
        trees,
        matrix=partial(_matrix_after_pipeline, parts, trees.matrix),
        source=parts.owner[source].astype(np.int32),
        increasing=increasing if trees.increasing is None else increasing & trees.increasing,
        single=False,
        replay=trees.replay
        and replace(
            trees.replay, scores=partial(_scores_after_pipeline, parts, trees.replay.scores)
        ),
    )


def _read_adapted(model: Adapter, columns: tuple[str, ...]) -> Ensemble:
    """Return the trees of an adapted model, which only names its classes differently."""
    if not model.only_renames_classes:
        raise Unreadable(
            f"{describe_model(model.original)} is given a threshold or rows of the user's"
        )
    trees = read_trees(model.original, columns)
    names = class_labels(model.classes_) if hasattr(model, "classes_") else None
    if (names is None) != (trees.classes is None):
        raise Unreadable(f"{describe_model(model.original)} gives numbers that are read as classes")
    return replace(trees, classes=names)


def _read_estimator(model: Any, columns: tuple[str, ...]) -> Ensemble:
    library = type(model).__module__.split(".")[0]
    if has_patched_methods(model):
        raise Unreadable(f"a method of this {describe_model(model)} was replaced")
    read = find_reader("trees", model)
    if read is None and library not in _LIBRARIES:
        raise not_a_tree_model(model)
    with unreadable_on_error(
        f"{describe_model(model)} is not fitted, or keeps its trees in a form that suffice does "
        "not know"
    ):
        if read is not None:
            ensemble = read(model)
        elif library == "sklearn":
            ensemble = _import_reader(library).read(model, columns)
        else:
            ensemble = _import_reader(library).read(model)
    if not isinstance(ensemble, Ensemble):
        raise Unreadable(
            f"the reader of {describe_model(model)} gives {short_repr(ensemble)}, no Ensemble"
        )
    return ensemble


def _import_reader(library: str) -> Any:
    return import_module(f"suffice.engines.trees.{library}")


def _matrix_after_pipeline(
    parts: ColumnwisePipeline, matrix: Callable[[Table], Reals], rows: Table
) -> Reals:
    """Return the matrix that the trees at the end of a pipeline read."""
    return matrix(parts.seen(rows))


def _scores_after_pipeline(
    parts: ColumnwisePipeline, scores: Callable[[Table], Any], rows: Table
) -> Any:
    """Return the library's own scores of rows, at the end of a pipeline."""
    return scores(parts.seen(rows))
