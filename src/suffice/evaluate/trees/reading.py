"""From a fitted model to an ensemble: what the readers of all libraries share.

A reader is the module named like the library; it gives each tree as it finds it, and says how the
library turns a table into the numbers that its trees compare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.errors import shorten
from suffice.evaluate.columns import PerColumn, kind_of, split_pipeline
from suffice.evaluate.protocol import Unreadable
from suffice.evaluate.registry import find_reader
from suffice.evaluate.trees.ensemble import Categories, Ensemble, Ints, Tests
from suffice.models.adapter import Adapter
from suffice.tables.cells import first_seen, is_missing
from suffice.tables.labels import own
from suffice.tables.table import Table
from suffice.typing import BoolVector, Reals

__all__ = [
    "Tree",
    "join_trees",
    "labels_of",
    "not_a_tree_model",
    "not_the_sum",
    "numbers",
    "read_trees",
]

_READERS = ("sklearn", "xgboost", "lightgbm", "catboost")
"""A reader is chosen by the library that the model's class comes from, which is then loaded."""


def read_trees(model: Any, columns: tuple[str, ...] = ()) -> Ensemble:
    """The trees of a fitted model; `Unreadable` says why they are not read.

    `columns` names the table that the model is given, for pipelines: steps before the trees may do
    what they like to a column, as long as they keep it apart from the others.
    """
    if isinstance(model, Adapter):
        return _read_adapted(model, columns)
    parts = split_pipeline(model, columns)
    trees = _read_estimator(parts.final, () if parts.steps else columns)
    if not parts.steps:
        return trees
    source = np.arange(len(parts.owner)) if trees.source is None else trees.source
    return replace(
        trees,
        matrix=partial(_matrix_after, parts, trees.matrix),
        source=parts.owner[source].astype(np.int32),
        single=False,
        replay=trees.replay
        and replace(trees.replay, scores=partial(_scores_after, parts, trees.replay.scores)),
    )


def _read_adapted(model: Adapter, columns: tuple[str, ...]) -> Ensemble:
    """The trees of a model whose classes are called otherwise, and of which no more is said."""
    if not model.only_names:
        raise Unreadable(f"{kind_of(model.original)} is given a threshold or rows of the user's")
    trees = read_trees(model.original, columns)
    names = labels_of(model.classes_) if hasattr(model, "classes_") else None
    if (names is None) != (trees.classes is None):
        raise Unreadable(f"{kind_of(model.original)} gives numbers that are read as classes")
    return replace(trees, classes=names)


def _read_estimator(model: Any, columns: tuple[str, ...]) -> Ensemble:
    library = type(model).__module__.split(".")[0]
    read = find_reader("trees", model)
    if read is None and library not in _READERS:
        raise not_a_tree_model(model)
    try:
        if read is not None:
            ensemble = read(model)
        elif library == "sklearn":
            ensemble = _module(library).read(model, columns)
        else:
            ensemble = _module(library).read(model)
    except Unreadable:
        raise
    except Exception as error:  # readers look inside other libraries, whose insides change
        raise Unreadable(
            f"{kind_of(model)} is not fitted, or keeps its trees in a form that suffice does not "
            "know"
        ) from error
    if not isinstance(ensemble, Ensemble):
        raise Unreadable(f"the reader of {kind_of(model)} gives {shorten(ensemble)}, no Ensemble")
    return ensemble


def _module(library: str) -> Any:
    return import_module(f"suffice.evaluate.trees.{library}")


def not_a_tree_model(model: Any) -> Unreadable:
    """The reason for all that no reader knows."""
    return Unreadable(f"{kind_of(model)} is not a tree model that suffice can read")


def not_the_sum(model: Any, setting: str) -> Unreadable:
    """The reason for a model whose setting makes its prediction something else."""
    return Unreadable(f"{kind_of(model)} with {setting} does not predict the sum of its leaves")


def labels_of(classes: Any) -> tuple[Any, ...]:
    """A model's classes as the labels that they are."""
    return tuple(own(label) for label in np.asarray(classes).ravel())


def _matrix_after(parts: PerColumn, matrix: Callable[[Table], Reals], rows: Table) -> Reals:
    """Rows as the trees at the end of a pipeline see them."""
    return matrix(parts.seen(rows))


def _scores_after(parts: PerColumn, scores: Callable[[Table], Any], rows: Table) -> Any:
    """The library's own scores of rows, at the end of a pipeline."""
    return scores(parts.seen(rows))


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree as a reader finds it: children are numbers of nodes, -1 at a leaf."""

    left: NDArray[Any]
    right: NDArray[Any]
    column: NDArray[Any]
    threshold: Reals
    missing_left: BoolVector
    values: Reals
    """(nodes, outputs): read at the leaves only."""
    categories: dict[int, Categories] | None = None
    """By number of the node."""


def join_trees(trees: Sequence[Tree], matrix: Callable[[Table], Reals], **rest: Any) -> Ensemble:
    """Lay trees one after another and number their distinct tests."""
    if not trees:
        raise Unreadable("the model has no trees")
    sizes = [len(tree.left) for tree in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
    shift = np.repeat(roots, sizes)
    left, right = (np.concatenate([getattr(t, side) for t in trees]) for side in ("left", "right"))
    leaf = left < 0
    values = np.concatenate([tree.values for tree in trees]).astype(np.float64)
    if not np.isfinite(values[leaf]).all():
        raise Unreadable("a leaf of the model holds no finite number")
    values[~leaf] = 0.0
    test, tests = _number_tests(trees, roots, ~leaf)
    return Ensemble(
        roots=roots,
        test=test,
        left=np.where(leaf, -1, left + shift).astype(np.int32),
        right=np.where(leaf, -1, right + shift).astype(np.int32),
        values=values,
        tests=tests,
        matrix=matrix,
        **rest,
    )


def _number_tests(trees: Sequence[Tree], roots: Ints, inner: BoolVector) -> tuple[Ints, Tests]:
    import pandas as pd

    column = np.concatenate([tree.column for tree in trees])[inner].astype(np.int32)
    threshold = np.concatenate([tree.threshold for tree in trees])[inner].astype(np.float64)
    missing = np.concatenate([tree.missing_left for tree in trees])[inner].astype(bool)
    kinds: dict[Categories, int] = {}
    which = np.zeros(len(inner), dtype=np.int64)
    for root, tree in zip(roots, trees, strict=True):
        for node, split in (tree.categories or {}).items():
            which[root + node] = kinds.setdefault(split, len(kinds) + 1)
    which = which[inner]
    # Adding 0.0 makes -0.0 and 0.0, which compare equal, one test. Tests are numbered in order of
    # appearance, so that the nodes of a tree find theirs close together.
    key = pd.factorize(np.where(which > 0, 0.0, threshold + 0.0))[0].astype(np.int64)
    for part in (column, missing, which):
        key = pd.factorize(key * (int(part.max(initial=0)) + 1) + part)[0].astype(np.int64)
    test = np.full(len(inner), -1, dtype=np.int32)
    test[inner] = key
    _, first = first_seen(key)
    by_kind = {number: split for split, number in kinds.items()}
    categories = {i: by_kind[int(k)] for i, k in enumerate(which[first]) if k}
    return test, Tests(
        column=column[first],
        threshold=threshold[first],
        missing_left=missing[first],
        categories=categories,
    )


def numbers(
    table: Table,
    single: bool = False,
    categories: Mapping[int, Sequence[Any]] | None = None,
    unseen_is_missing: bool = True,
) -> Reals:
    """(rows, columns) in float64; with `single` each value is rounded to float32 first.

    A column whose dtype lists categories becomes the positions of its values in `categories`, given
    by column; without a list it is not read. A value that the list lacks is a missing one, or else
    a reason not to read the rows.
    """
    columns = []
    for j in range(len(table.names)):
        values = table.column(j)
        if table.categories(j) is not None:
            if not categories or j not in categories:
                raise Unreadable(
                    f"column {table.names[j]!r} holds categories, and how the model numbers them "
                    "is not read"
                )
            codes = _positions(values, categories[j])
            strange = np.isnan(codes) & ~np.array([is_missing(value) for value in values])
            if strange.any() and not unseen_is_missing:
                raise Unreadable(
                    f"column {table.names[j]!r} holds {shorten(own(values[strange][0]))}, a "
                    "category that the model was not fitted on"
                )
            columns.append(codes)
        elif values.dtype.kind not in "fiub":
            raise Unreadable(f"column {table.names[j]!r} does not hold numbers")
        else:
            columns.append(values.astype(np.float32 if single else np.float64).astype(np.float64))
    return np.stack(columns, axis=1)


def _positions(values: Any, known: Sequence[Any]) -> Reals:
    import pandas as pd

    codes = pd.Index(list(known)).get_indexer(values).astype(np.float64)
    codes[codes < 0] = np.nan
    return np.asarray(codes)
