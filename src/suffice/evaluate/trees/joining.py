"""Several ensembles as one, whose score is a weighted sum of theirs.

A member may see the table in its own way (some of the columns, after steps of its own), so the
matrix of the whole has what each of them sees side by side; members that all see the numbers of the
table rounded to float32 share one set of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from suffice.evaluate.trees.ensemble import Ensemble
from suffice.evaluate.trees.reading import Tree, join_trees
from suffice.tables.table import Table
from suffice.typing import Counts, Reals

__all__ = ["Member", "Part", "combine"]


class Member(NamedTuple):
    """A model among others, with its trees."""

    model: Any
    trees: Ensemble
    given: Counts
    """The columns of the table that it is given."""


class Part(NamedTuple):
    """A member, and what each of its leaves adds to the scores of the whole."""

    trees: Ensemble
    leaves: Reals
    """(nodes, outputs of the whole)"""
    base: Reals
    """(outputs of the whole,)"""
    given: Counts
    """The columns of the table that the member is given."""


def combine(
    parts: Sequence[Part], prepare: Callable[[Table], Table] | None = None, **rest: Any
) -> Ensemble:
    """One ensemble of all members' trees; `prepare` makes of a table what members are given."""
    looks: list[_Look] = []
    source: list[Counts] = []
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
                    _Look(part.trees.matrix if alone else _rounded, None if alone else every)
                )
                source.append(every)
            place = shared + part.given
        else:
            place = sum(map(len, source)) + np.arange(len(sees))
            looks.append(_Look(part.trees.matrix, None if prepare is None else part.given))
            source.append(sees)
        trees += _split(part, place)
    unit = max(part.trees.unit for part in parts)
    # A member rounds its constant at every tree that it adds, and constants may cancel in the end.
    constants = sum(float(np.abs(part.base).max()) for part in parts)
    rest["link_slack"] = rest.get("link_slack", 0.0) + 2 * (len(trees) + 8) * unit * constants
    return join_trees(
        trees,
        _SideBySide(prepare, tuple(looks)),
        base=np.sum([part.base for part in parts], axis=0),
        unit=unit,
        source=np.concatenate(source).astype(np.int32),
        **rest,
    )


def _split(part: Part, place: Counts) -> list[Tree]:
    """A member's trees, one by one, asking the columns at these places."""
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
                column=_of_test(place[tests.column], test),
                threshold=_of_test(tests.threshold, test),
                missing_left=_of_test(tests.missing_left, test),
                values=part.leaves[here],
                categories={
                    node: tests.categories[t]
                    for node, t in enumerate(test.tolist())
                    if t in tests.categories
                },
            )
        )
    return out


def _of_test(values: Any, test: Any) -> Any:
    """What nodes have of their tests; at a leaf, nothing."""
    return np.append(values, np.zeros(1, dtype=values.dtype))[test]


class _Look(NamedTuple):
    matrix: Callable[[Table], Reals]
    columns: Counts | None


@dataclass(frozen=True)
class _SideBySide:
    """What members see of a table, one beside the other."""

    prepare: Callable[[Table], Table] | None
    looks: tuple[_Look, ...]

    def __call__(self, table: Table) -> Reals:
        table = table if self.prepare is None else self.prepare(table)
        seen = [
            look.matrix(table if look.columns is None else table.select(look.columns.tolist()))
            for look in self.looks
        ]
        return np.concatenate(seen, axis=1)


def _rounded(table: Table) -> Reals:
    return np.asarray(table.native, dtype=np.float32).astype(np.float64)
