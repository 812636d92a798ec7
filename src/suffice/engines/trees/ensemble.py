"""`Ensemble`: the trees of any library as plain arrays of splits, thresholds and leaf values.

The numeric splits of every library get one form here, `value <= threshold` in float64: a strict `<`
becomes `<=` at the next smaller number of the library's own float type, and where a library
compares float32, columns are rounded to float32 and widened. A split also has the side of missing
values, and a categorical split the categories that go left.

Many nodes have the same test (histogram-based libraries have at most 255 thresholds per column), so
the distinct tests are kept once, in `SplitTable`, and nodes refer to them by number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.engines.pipeline_columns import describe_model
from suffice.engines.select_engine import Unreadable
from suffice.errors import short_repr
from suffice.tables.cells import distinct_keys, is_missing, unwrap_label
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, Reals

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class CategorySplit:
    """A categorical split: `members` go left (or right), other `known` categories the other way.

    Unknown categories go where missing values go; `known` None means that all are known.
    """

    members: frozenset[int]
    left: bool = True
    known: frozenset[int] | None = None

    @cached_property
    def sorted_members(self) -> Reals:
        """The members in order, followed by a NaN, which equals no value."""
        return np.array([*sorted(self.members), np.nan])

    @cached_property
    def sorted_known(self) -> Reals:
        """The known categories in order, followed by a NaN."""
        return np.array([*sorted(self.known or ()), np.nan])


@dataclass(frozen=True, eq=False)
class SplitTable:
    """The distinct tests of all nodes."""

    column: Ints
    threshold: Reals
    missing_left: BoolVector
    categories: dict[int, CategorySplit]
    """Categorical splits by number of the test; all other tests compare with a threshold."""

    @cached_property
    def by_threshold(self) -> Counts:
        """The tests in order of column and threshold."""
        return np.lexsort((self.threshold, self.column))

    def answer(self, number: int, values: Reals) -> BoolVector:
        """Return which of a column's values go left at a split."""
        missing = np.isnan(values)
        if number not in self.categories:
            left = values <= self.threshold[number]
        else:
            split = self.categories[number]
            whole = np.trunc(np.where(missing, -1.0, values))
            left = _is_among(whole, split.sorted_members) == split.left
            if split.known is not None:
                missing = missing | ~_is_among(whole, split.sorted_known)
        return np.asarray(np.where(missing, self.missing_left[number], left))


def _is_among(values: Reals, numbers: Reals) -> BoolVector:
    """Return which values are among sorted numbers; for few of them five times as fast as
    `numpy.isin`."""
    return np.asarray(numbers[np.searchsorted(numbers, values)] == values)


ZERO_IS_SECOND_CLASS = (-5e-324, 0.0)
"""Two classes are separated at zero, and zero is the second class's."""


@dataclass(frozen=True, eq=False)
class LibrarySum:
    """The order and precision in which a library adds up leaves, to repeat its sum to the bit."""

    scores: Callable[[Table], Any]
    """The library's own scores of rows, before any link; repeated sums over the divisor must equal
    them."""
    base: Reals
    """(outputs,): the exact number that the first leaf is added to."""
    parts: tuple[float, float] | None = None
    """For labels of two classes: a margin up to the first number means the first class, one from
    the second number on the second class; None: the sigmoid decides."""


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Arrays of the nodes of all trees, one tree after another; the score of a row of data is base
    + sum of its leaves / divisor."""

    roots: Ints
    test: Ints
    """By node: the number of its test, -1 at a leaf."""
    left: Ints
    right: Ints
    values: Reals
    """(nodes, outputs), zero at inner nodes."""
    tests: SplitTable
    matrix: Callable[[Table], Reals]
    """Function from a table to the matrix (rows, columns) that the trees read."""
    base: Reals
    """(outputs,)"""
    divisor: float = 1.0
    classes: tuple[Any, ...] | None = None
    leaf_answers: bool = False
    """Whether there is one tree and its leaf is the prediction, without any addition."""
    tie_to_first: bool = True
    """True if the first of two classes with equal scores wins, as in all libraries but one."""
    unit: float = 2.0**-53
    """Relative rounding error of one addition in the library's own sum."""
    link_slack: float = 0.0
    """Largest distance from its boundary at which the link function may round a score to it."""
    source: Ints | None = None
    """For each column of the matrix the table's column, where they differ."""
    increasing: BoolVector | None = None
    """For each column of the matrix whether it never falls where the table's column rises; None: it
    is the table's column, perhaps rounded."""
    single: bool = False
    """Whether the matrix is the table's own columns, rounded to float32."""
    shares: bool = False
    """Whether the scores of classes are probabilities themselves, without a link function."""
    steepness: float = 1.0
    """The probability is the logistic function of a binary margin times this factor."""
    unsure: tuple[float, float] = (0.0, 0.0)
    """A binary margin between these numbers is in doubt: the model predicts the row."""
    replay: LibrarySum | None = None
    """How the library itself adds up leaves, if that is known."""

    @property
    def margin(self) -> bool:
        """True if the one output is a binary classifier's lead of the second class."""
        return self.classes is not None and len(self.classes) == 2 and len(self.base) == 1

    @cached_property
    def leaves(self) -> int:
        """The number of leaves in all trees."""
        return int((self.test < 0).sum())

    def leaf_ranges(self, values: Reals) -> tuple[Reals, Reals]:
        """Return the smallest and the largest leaf of each tree, of one value per node."""
        leaf = self.test < 0
        least = np.minimum.reduceat(np.where(leaf, values, np.inf), self.roots)
        return least, np.maximum.reduceat(np.where(leaf, values, -np.inf), self.roots)

    def rounding_bound(self, total: float) -> float:
        """Return a bound of the rounding error of the library's sum of leaves of this total
        size."""
        return 2 * (len(self.roots) + 8) * self.unit * total

    @cached_property
    def depth(self) -> int:
        """The longest path of any tree, in splits."""
        level, depth = self.roots, 0
        while len(level := level[self.test[level] >= 0]):
            level = np.concatenate([self.left[level], self.right[level]])
            depth += 1
        return depth


# From a fitted model to an ensemble: what the readers of all libraries share.


def not_a_tree_model(model: Any) -> Unreadable:
    """Return the reason for a model that no reader knows."""
    return Unreadable(f"{describe_model(model)} is not a tree model that suffice can read")


def not_a_leaf_sum(model: Any, setting: str) -> Unreadable:
    """Return the reason for a model whose setting makes its prediction no sum of leaves."""
    return Unreadable(
        f"{describe_model(model)} with {setting} does not predict the sum of its leaves"
    )


def class_labels(classes: Any) -> tuple[Any, ...]:
    """Return a model's classes as labels."""
    return tuple(unwrap_label(label) for label in np.asarray(classes).ravel())


def booster_classes(model: Any, bare: bool, outputs: int) -> tuple[Any, ...]:
    """Return the classes: numbers for a plain booster, as `adapt` numbers them, else the labels."""
    return tuple(range(max(2, outputs))) if bare else class_labels(model.classes_)


@dataclass(frozen=True, eq=False)
class Tree:
    """Tree as a reader returns it: children are node numbers, -1 at a leaf."""

    left: NDArray[Any]
    right: NDArray[Any]
    column: NDArray[Any]
    threshold: Reals
    missing_left: BoolVector
    values: Reals
    """(nodes, outputs): read at the leaves only."""
    categories: dict[int, CategorySplit] | None = None
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
    test, tests = _number_splits(trees, roots, ~leaf)
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


def _number_splits(
    trees: Sequence[Tree], roots: Ints, inner: BoolVector
) -> tuple[Ints, SplitTable]:
    import pandas as pd

    column = np.concatenate([tree.column for tree in trees])[inner].astype(np.int32)
    threshold = np.concatenate([tree.threshold for tree in trees])[inner].astype(np.float64)
    missing = np.concatenate([tree.missing_left for tree in trees])[inner].astype(bool)
    kinds: dict[CategorySplit, int] = {}
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
    _, first = distinct_keys(key)
    by_kind = {number: split for split, number in kinds.items()}
    categories = {i: by_kind[int(k)] for i, k in enumerate(which[first]) if k}
    return test, SplitTable(
        column=column[first],
        threshold=threshold[first],
        missing_left=missing[first],
        categories=categories,
    )


def to_float_matrix(
    table: Table,
    single: bool = False,
    categories: Mapping[int, Sequence[Any]] | None = None,
    unseen_is_missing: bool = True,
) -> Reals:
    """Return (rows, columns) in float64; with `single` each value is rounded to float32 first.

    A column of a categorical dtype becomes the positions of its values in `categories`, which are
    given by column; without them it is not read. A value that they lack counts as missing, or makes
    the rows unreadable.
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
            codes = _category_codes(values, categories[j])
            strange = np.isnan(codes) & ~np.array([is_missing(value) for value in values])
            if strange.any() and not unseen_is_missing:
                raise Unreadable(
                    f"column {table.names[j]!r} holds "
                    f"{short_repr(unwrap_label(values[strange][0]))}, a "
                    "category that the model was not fitted on"
                )
            columns.append(codes)
        elif values.dtype.kind not in "fiub":
            raise Unreadable(f"column {table.names[j]!r} does not hold numbers")
        else:
            columns.append(values.astype(np.float32 if single else np.float64).astype(np.float64))
    return np.stack(columns, axis=1)


def _category_codes(values: Any, known: Sequence[Any]) -> Reals:
    import pandas as pd

    codes = pd.Index(list(known)).get_indexer(values).astype(np.float64)
    codes[codes < 0] = np.nan
    return np.asarray(codes)


# Several ensembles as one, whose score is a weighted sum of theirs.


class EnsembleMember(NamedTuple):
    """A model among others, with its trees."""

    model: Any
    trees: Ensemble
    given: Counts
    """The columns of the table that it gets."""


class MemberContribution(NamedTuple):
    """A member, and what each of its leaves adds to the scores of the combined model."""

    trees: Ensemble
    leaves: Reals
    """(nodes, outputs of the combined model)"""
    base: Reals
    """(outputs of the combined model,)"""
    given: Counts
    """The columns of the table that the member gets."""


def combine_ensembles(
    parts: Sequence[MemberContribution],
    prepare: Callable[[Table], Table] | None = None,
    **rest: Any,
) -> Ensemble:
    """Return one ensemble of all members' trees; `prepare` converts a table before members get
    it."""
    looks: list[_MemberColumns] = []
    source: list[Counts] = []
    increasing: list[BoolVector] = []
    trees: list[Tree] = []
    shared: int | None = None
    for part in parts:
        sees = part.given if part.trees.source is None else part.given[part.trees.source]
        if part.trees.single:
            # A member of a bag knows some columns only, so that the table is rounded as a whole.
            if shared is None:
                shared = sum(map(len, source))
                every = np.arange(int(max(p.given.max() for p in parts)) + 1)
                alone = prepare is None
                looks.append(
                    _MemberColumns(
                        part.trees.matrix if alone else _rounded_to_float32,
                        None if alone else every,
                    )
                )
                source.append(every)
                increasing.append(np.ones(len(every), dtype=bool))
            place = shared + part.given
        else:
            place = sum(map(len, source)) + np.arange(len(sees))
            looks.append(_MemberColumns(part.trees.matrix, None if prepare is None else part.given))
            source.append(sees)
            known = part.trees.increasing
            increasing.append(np.ones(len(sees), dtype=bool) if known is None else known)
        trees += _separate_trees(part, place)
    unit = max(part.trees.unit for part in parts)
    # A member's sum contains its constant, so each addition rounds it; constants may cancel later.
    constants = sum(float(np.abs(part.base).max()) for part in parts)
    rest["link_slack"] = rest.get("link_slack", 0.0) + 2 * (len(trees) + 8) * unit * constants
    return join_trees(
        trees,
        _StackedMatrix(prepare, tuple(looks)),
        base=np.sum([part.base for part in parts], axis=0),
        unit=unit,
        source=np.concatenate(source).astype(np.int32),
        increasing=None
        if all(part.trees.increasing is None for part in parts)
        else np.concatenate(increasing),
        **rest,
    )


def _separate_trees(part: MemberContribution, place: Counts) -> list[Tree]:
    """Return a member's trees one by one, with their splits on the given columns of the whole."""
    ensemble, tests = part.trees, part.trees.tests
    out = []
    for start, end in zip(
        ensemble.roots, np.append(ensemble.roots, len(ensemble.test))[1:], strict=True
    ):
        here = slice(int(start), int(end))
        test = ensemble.test[here]
        leaf = test < 0
        out.append(
            Tree(
                left=np.where(leaf, -1, ensemble.left[here] - start),
                right=np.where(leaf, -1, ensemble.right[here] - start),
                column=_by_node(place[tests.column], test),
                threshold=_by_node(tests.threshold, test),
                missing_left=_by_node(tests.missing_left, test),
                values=part.leaves[here],
                categories={
                    node: tests.categories[t]
                    for node, t in enumerate(test.tolist())
                    if t in tests.categories
                },
            )
        )
    return out


def _by_node(values: Any, test: Any) -> Any:
    """Return values of splits by node, and 0 at leaves."""
    return np.append(values, np.zeros(1, dtype=values.dtype))[test]


class _MemberColumns(NamedTuple):
    matrix: Callable[[Table], Reals]
    columns: Counts | None


@dataclass(frozen=True, eq=False)  # by identity: pools cache what it makes of their rows
class _StackedMatrix:
    """Function from a table to the columns that the members read, side by side."""

    prepare: Callable[[Table], Table] | None
    looks: tuple[_MemberColumns, ...]

    def __call__(self, table: Table) -> Reals:
        table = table if self.prepare is None else self.prepare(table)
        seen = [
            look.matrix(table if look.columns is None else table.select(look.columns.tolist()))
            for look in self.looks
        ]
        return np.concatenate(seen, axis=1)


def _rounded_to_float32(table: Table) -> Reals:
    return np.asarray(table.native, dtype=np.float32).astype(np.float64)
