"""`check_context`: hybrids keep held values, and are the same at each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from suffice.context.hybrids import Context, ContextKind, Hybrids, KeyedHybrids, PooledHybrids
from suffice.context.players import Players, make_players
from suffice.errors import InputError, short_repr
from suffice.tables.cells import as_scalar
from suffice.tables.conversion import as_table
from suffice.tables.table import Table
from suffice.testing.assertions import (
    equal_cells,
    errors_as_assertions,
    format_set,
    pickled_copy,
    require,
    require_same_dtypes,
    sample_sets,
)
from suffice.typing import VIEWS, Counts, HeldSets
from suffice.validation import check_integer


def check_context(
    context: Context,
    rows: Any,
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    seed: int = 0,
) -> int:
    """Check the hybrids that a context makes of the first row and the others.

    Holding all players gives the input, for every reference; holding none gives the rows of
    `donors`, if it returns any. Players held in the keep view have the input's values, and players
    replaced in the flip view the donor's; unless the context is causal, both are true in both
    views. Columns and dtypes are the pool's. The same seed gives the same hybrids: together, one by
    one, in another order, again, or in another process. Hybrids with equal keys are equal. Returns
    the number of hybrids that were compared.

    >>> import numpy as np
    >>> from suffice import ConditionalContext, SwapContext
    >>> from suffice.testing import check_context
    >>> rows = np.array([[1, 5, 0], [2, 4, 1], [2, 5, 1], [3, 9, 0]])
    >>> check_context(SwapContext(), rows), check_context(ConditionalContext(n_drawn=2), rows)
    (24, 16)
    """
    require(isinstance(context, Context), f"{short_repr(context)} does not inherit Context")
    seed = check_integer("seed", seed, least=0)
    pool = as_table(rows, argument="rows")
    if len(pool) < 3:
        raise InputError("rows", f"{len(pool)} rows", "an input and two references or more")
    players = make_players(pool, groups)
    _check_description(context)
    before = pool.take(np.arange(len(pool)))
    keep, flip = _bind(context, pool, players, seed)
    again = _bind(context, pool, players, seed)
    elsewhere = _bind(_pickled_context(context), pool, players, seed)
    rng = np.random.default_rng(seed)
    compared = 0
    for view, hybrids in enumerate((keep,) if keep is flip else (keep, flip)):
        asked = _HybridsCheck(VIEWS[view] if keep is not flip else "", hybrids, pool, players, rng)
        asked.check_size()
        asked.check_ends()
        asked.check_sides(context.is_causal)
        asked.check_asking(again[view], elsewhere[view])
        asked.check_keys()
        compared += len(asked.held)
    require(equal_cells(pool, before).all(), "the context changed the rows that it was given")
    return compared


def _check_description(context: Context) -> None:
    words = context.describe()
    told = isinstance(words, str) and words.strip() and "\n" not in words
    require(told, f"describe() gives {short_repr(words)}: not a few words on one line")
    kinds = get_args(ContextKind)
    require(context.kind in kinds, f"kind is {context.kind!r}, none of {', '.join(kinds)}")
    same = context.describe() == words
    require(same, "describe() says something else the second time")


def _bind(context: Context, pool: Table, players: Players, seed: int) -> tuple[Hybrids, Hybrids]:
    with errors_as_assertions("bind"):
        found = context.bind(pool, players, seed)
    pair = isinstance(found, tuple) and len(found) == 2
    require(pair, f"bind gives {short_repr(found)}, not the hybrids of keep and of flip")
    return found


def _pickled_context(context: Context) -> Context:
    with errors_as_assertions("sending the context to another process"):
        copy: Context = pickled_copy(context)
    return copy


class _HybridsCheck:
    """Checks of one view's hybrids, for all sets or a sample, with every reference."""

    def __init__(
        self,
        view: str,
        hybrids: Hybrids,
        pool: Table,
        players: Players,
        rng: np.random.Generator,
    ) -> None:
        self.what = f"the {view} view" if view else "the context"
        self.view = view
        self.hybrids = hybrids
        self.pool = pool
        self.players = players
        self.rng = rng
        self.sets = sample_sets(len(players), rng)
        self.held = np.repeat(self.sets, hybrids.n, axis=0)
        self.references = np.tile(np.arange(hybrids.n), len(self.sets))

    def check_size(self) -> None:
        """Check d, n and the shapes of what the hybrids return."""
        hybrids, d = self.hybrids, len(self.players)
        require(hybrids.d == d, f"{self.what} has d = {hybrids.d}, where there are {d} players")
        n = hybrids.n
        require(isinstance(n, int) and n >= 1, f"{self.what} has n = {n!r}: not 1 or more hybrids")
        require(hybrids.players.names == self.players.names, f"{self.what} has other players")
        given = len(hybrids.pool) == len(self.pool) and equal_cells(hybrids.pool, self.pool).all()
        require(given, f"the pool of {self.what} is not the pool that bind was given")
        require_same_dtypes(
            self.rows(hybrids, self.held[:1], self.references[:1]), self.pool, "rows"
        )

    def rows(self, hybrids: Hybrids, held: HeldSets, references: Counts) -> Table:
        """Return the hybrids of `rows`; require as many as were asked for."""
        with errors_as_assertions("rows"):
            found = hybrids.rows(held, references)
        require(len(found) == len(held), f"rows gives {len(found)} rows for {len(held)} hybrids")
        return found

    def check_ends(self) -> None:
        """Require the input if all is held, and a donor, where named, if nothing is."""
        n, d = self.hybrids.n, len(self.players)
        of_all, every = np.ones((n, d), dtype=bool), np.arange(n)
        found = self.rows(self.hybrids, of_all, every)
        for i, j in np.argwhere(~equal_cells(found, self._inputs(n)))[:1]:
            raise AssertionError(
                f"in {self.what}, holding every player does not give the input: with reference "
                f"{i}, {self.pool.names[j]!r} is {as_scalar(found.cell(int(i), int(j)))!r}"
            )
        donors = self._donors(~of_all[:1])
        if donors is not None:
            found = self.rows(self.hybrids, ~of_all, every)
            taken = equal_cells(found, self.hybrids.pool.take(donors[0]))
            for i, j in np.argwhere(~taken)[:1]:
                raise AssertionError(
                    f"in {self.what}, holding nothing does not give the donor: with reference "
                    f"{i}, {self.pool.names[j]!r} is {as_scalar(found.cell(int(i), int(j)))!r}"
                )

    def check_sides(self, is_causal: bool) -> None:
        """Require the input's values where held, and the donor's where replaced."""
        found = self.rows(self.hybrids, self.held, self.references)
        by_column = self.held[:, self.players.of_column]
        if self.view != "flip" or not is_causal:
            same = equal_cells(found, self._inputs(len(found)))
            self._point(by_column & ~same, found, "is held and has not the input's value")
        donors = self._donors(self.sets)
        if donors is not None and (self.view != "keep" or not is_causal):
            same = equal_cells(found, self.hybrids.pool.take(donors.ravel()))
            self._point(~by_column & ~same, found, "is replaced and has not the donor's value")

    def check_asking(self, again: Hybrids, elsewhere: Hybrids) -> None:
        """Require the same hybrids in any order, batch, process and table."""
        found = self.rows(self.hybrids, self.held, self.references)
        order = self.rng.permutation(len(self.held))
        ways = {
            "in another order": self.rows(self.hybrids, self.held[order], self.references[order]),
            "bound again with the same seed": self.rows(again, self.held, self.references),
            "in another process": self.rows(elsewhere, self.held, self.references),
        }
        for way, rows in ways.items():
            expected = found.take(order) if way == "in another order" else found
            self._same(expected, rows, way)
        for i in order[:10].tolist():
            alone = self.rows(again, self.held[i : i + 1], self.references[i : i + 1])
            self._same(found.take(np.array([i])), alone, "by itself")
        together = self._donors(self.sets)
        if together is None:
            return
        for s in self.rng.permutation(len(self.sets))[:10].tolist():
            donors = self._donors(self.sets[s : s + 1])
            words = f"donors of {format_set(self.sets[s], self.players.names)} hang on other sets"
            same = donors is not None and np.array_equal(donors[0], together[s])
            require(same, f"{words} that are asked about with it")

    def check_keys(self) -> None:
        """Require equal rows where hybrids have equal keys."""
        hybrids = self.hybrids
        if not isinstance(hybrids, KeyedHybrids):
            return
        with errors_as_assertions("keys"):
            keys = hybrids.keys(self.sets)
        shape = len(self.sets), hybrids.n
        require(keys.shape == shape, f"keys has shape {keys.shape}, not (sets, n) = {shape}")
        found = self.rows(hybrids, self.held, self.references)
        self._tell_apart(found, keys.ravel(), "keys")
        if hybrids.stable_keys:
            half = hybrids.keys(self.sets[::-1])[::-1]
            same = np.array_equal(half, keys)
            require(
                same, "stable_keys is True, and keys are others when asked for in another order"
            )
        lasting = hybrids.lasting_keys(self.held, self.references)
        if lasting is not None:
            self._tell_apart(found, lasting, "lasting_keys")

    def _tell_apart(self, rows: Table, keys: Counts, what: str) -> None:
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        same = equal_cells(rows, rows.take(first[which]))
        self._point(~same, rows, f"differs between two hybrids that {what} gives one number")

    def _donors(self, sets: HeldSets) -> Counts | None:
        with errors_as_assertions("donors"):
            found = self.hybrids.donors(sets)
        if found is None:
            return None
        shape = len(sets), self.hybrids.n
        require(found.shape == shape, f"donors has shape {found.shape}, not (sets, n) = {shape}")
        if isinstance(self.hybrids, PooledHybrids):
            in_order = (found == np.arange(1, self.hybrids.n + 1)).all()
            require(in_order, "donors of PooledHybrids are not all references in order")
        inside = ((found >= 1) & (found < len(self.hybrids.pool))).all()
        require(inside, "donors names rows that are not below the input in the pool")
        return found

    def _inputs(self, n: int) -> Table:
        return self.pool.take(np.zeros(n, dtype=np.int64))

    def _same(self, expected: Table, found: Table, way: str) -> None:
        same = equal_cells(expected, found).all()
        require(same, f"{self.what} gives other hybrids {way}")

    def _point(self, wrong: HeldSets, rows: Table, words: str) -> None:
        for i, j in np.argwhere(wrong)[:1].tolist():
            value = short_repr(as_scalar(rows.cell(i, j)))
            raise AssertionError(
                f"in {self.what}, holding {format_set(self.held[i], self.players.names)}, with "
                f"reference {self.references[i]}: {self.pool.names[j]!r} {words}, it is {value}"
            )
