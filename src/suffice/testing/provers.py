"""`check_prover`: verdicts are true, minimal sets are all there, and no row refutes a proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from suffice.errors import InputError
from suffice.explainer import Explainer
from suffice.prove import Proof, Verdict
from suffice.prove.domain import DOMAINS, DomainKind
from suffice.tables.cells import missing_mask
from suffice.tables.conversion import as_table
from suffice.tables.table import Table
from suffice.testing.assertions import errors_as_assertions, require
from suffice.typing import BoolVector, Counts, Reals
from suffice.validation import check_choice, check_integer

ProverFunction = Callable[..., Proof]

_ROUNDS = 24
"""Steps of each climb: a step puts another value into one column of every row."""

_EDGES = 200
"""Numbers at which a model's score jumps that are looked for, for each column and both sides."""

_MOST_ROWS = 1 << 16
"""Rows of a domain up to which all of them are tried."""


def check_prover(
    prove: ProverFunction,
    *,
    model: Any = None,
    rows: Any = None,
    domain: DomainKind = "values",
    worlds: int = 12,
    attempts: int = 2000,
    seed: int = 0,
) -> int:
    """Check that what a prover says of feature sets is true.

    Where a domain has few rows, every set's verdict is compared with all of them. Otherwise rows
    are looked for that refute a proof: at random, from there by climbing towards another outcome,
    and with numbers beside which the model's score jumps. A counterexample must agree with the
    input on the set, lie in the domain and have another outcome; the minimal proved sets and the
    minimal sets whose change loses the outcome must be each other's minimal hitting sets where the
    proof is complete; and the verdicts on sets one by one must agree with those of the search.

    Without `model`, small models are drawn: forests whose votes tie, boosted trees, forests with
    inputs within a rounding of a threshold, linear models. Gives the number of sets checked.

    Parameters
    ----------
    prove
        (explainer, x, features=None, domain=…) -> `Proof`, as `Explainer.prove`.
    model, rows
        A fitted model and its data, to be checked in place of drawn ones; the first rows are the
        inputs.
    domain
        The domain for `model`. Drawn models are checked over "values" and "range".
    worlds
        How many models are drawn, or how many inputs are taken from `rows`.
    attempts
        Rows that are tried against each proved set, each with a climb.

    Examples
    --------
    >>> from suffice import Explainer
    >>> from suffice.testing import check_prover
    >>> check_prover(Explainer.prove, worlds=4, attempts=100) > 30
    True
    """
    check_choice("domain", domain, DOMAINS)
    require(callable(prove), f"{prove!r} is no function that proves")
    if (model is None) != (rows is None):
        raise InputError("model", "one of model and rows", "both, or neither")
    rng = np.random.default_rng(check_integer("seed", seed, least=0))
    count = check_integer("worlds", worlds)
    tries = check_integer("attempts", attempts)
    checked = 0
    for world in _drawn(rng, count) if model is None else _given(model, rows, domain, count):
        checked += _ProofCheck(world, prove, rng, tries).check()
    return checked


@dataclass(frozen=True, eq=False)
class _World:
    """A question to the prover."""

    explainer: Explainer
    x: Table
    domain: DomainKind
    name: str


def _given(model: Any, rows: Any, domain: DomainKind, count: int) -> Iterator[_World]:
    explainer = Explainer(model, rows, references="all")
    for i in range(min(count, len(explainer.data))):
        x = explainer.data.take(np.array([i]))
        yield _World(explainer, x, domain, f"row {i} over domain={domain!r}")


def _drawn(rng: np.random.Generator, count: int) -> Iterator[_World]:
    for number in range(count):
        kind = ("ties", "boosted", "edges", "linear")[number % 4]
        d = int(rng.integers(2, 5))
        if kind == "edges":
            rows = rng.normal(size=(50, d)) * 10.0 ** rng.integers(-3, 4, size=d)
        else:
            rows = rng.integers(0, 3, size=(50, d)).astype(float)
        centred = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        labels = (centred[:, 0] * centred[:, 1] + rng.normal(size=50) > 0).astype(int)
        labels[:2] = 0, 1
        model = _model(kind, int(rng.integers(1000))).fit(rows, labels)
        x = rows[int(rng.integers(50))].copy()
        if kind == "edges":  # a number that float32 and float64 may put on two sides of a threshold
            cuts = model.estimators_[0].tree_
            splits = np.flatnonzero(cuts.feature >= 0)
            if len(splits):
                node = int(rng.choice(splits))
                x[cuts.feature[node]] = np.nextafter(cuts.threshold[node], rng.choice([-9e9, 9e9]))
        explainer = Explainer(model, rows, references="all")
        domain: DomainKind = "range" if kind in ("edges", "linear") else "values"
        row = as_table(x[None], names=explainer.data.names)
        yield _World(explainer, row, domain, f"model {number}: {kind}, seed of {count}")


def _model(kind: str, seed: int) -> Any:
    from sklearn.ensemble import (
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.linear_model import LogisticRegression

    if kind == "ties":  # an even number of fully grown trees, whose votes tie
        return ExtraTreesClassifier(6, random_state=seed)
    if kind == "boosted":
        return GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=seed)
    if kind == "edges":
        return RandomForestClassifier(5, max_depth=4, random_state=seed)
    return LogisticRegression()


class _ProofCheck:
    """Checks of a prover on one question."""

    def __init__(
        self, world: _World, prove: ProverFunction, rng: np.random.Generator, attempts: int
    ) -> None:
        self.world, self.prove, self.rng, self.attempts = world, prove, rng, attempts
        self.decision = world.explainer.decide(world.x)
        self.players = self.decision.players
        self.names = self.players.names

    def check(self) -> int:
        """Run all checks; return the number of sets checked."""
        found = self._ask(None)
        for verdict in found.verdicts:
            self._check_verdict(verdict)
        for verdict in found.contrastive:
            require(verdict.verdict == "refuted", f"a contrastive set is not refuted {self.where}")
            self._check_counterexample(verdict, changing=True)
        if found.complete:
            self._check_duality(found)
        sets = self._sets()
        asked = self._ask([self._features(mask) for mask in sets])
        require(len(asked.verdicts) == len(sets), f"a verdict for each set is missing {self.where}")
        for mask, verdict in zip(sets, asked.verdicts, strict=True):
            same = self._mask(verdict.features) == mask
            require(same, f"{verdict.features} is not the set that was given {self.where}")
            self._check_verdict(verdict)
            if found.complete and verdict.verdict != "open":
                inside = any(self._mask(v.features) & ~mask == 0 for v in found.sufficient)
                told = f"{verdict.verdict}, and the minimal sets say otherwise"
                require(inside == (verdict.verdict == "proved"), self._words(mask, told))
        return len(sets) + len(found.verdicts) + len(found.contrastive)

    @property
    def where(self) -> str:
        """The question, for messages."""
        return f"({self.world.name})"

    def _ask(self, features: Any) -> Proof:
        with errors_as_assertions(f"the prover {self.where}"):
            return self.prove(
                self.world.explainer, self.world.x, features, domain=self.world.domain
            )

    def _sets(self) -> list[int]:
        d = len(self.players)
        if d <= 5:
            return list(range(1 << d))
        drawn = self.rng.random((20, d)) < self.rng.random((20, 1))
        return [sum(1 << int(i) for i in np.flatnonzero(row)) for row in drawn]

    def _features(self, mask: int) -> list[str]:
        return [name for i, name in enumerate(self.names) if mask >> i & 1]

    def _mask(self, features: Sequence[str]) -> int:
        return sum(1 << self.names.index(name) for name in features)

    def _words(self, mask: int, told: str) -> str:
        return f"{{{', '.join(self._features(mask))}}} is {told} {self.where}"

    def _check_verdict(self, verdict: Verdict) -> None:
        mask = self._mask(verdict.features)
        if verdict.counterexample is not None:
            self._check_counterexample(verdict, changing=False)
        elif verdict.verdict == "proved":
            row = self._refutation(mask)
            require(row is None, self._words(mask, f"proved, and refuted by the row {row}"))

    def _check_counterexample(self, verdict: Verdict, changing: bool) -> None:
        assert verdict.counterexample is not None
        mask = self._mask(verdict.features)
        given = dict(verdict.counterexample)
        row = self.decision.data.from_cells([[given[name]] for name in self.decision.data.names])
        lost = bool(self.decision.target(row)[0]) != self.decision.y
        require(lost, self._words(mask, f"refuted by {given}, which keeps the outcome"))
        differs = self.decision.row.stack(row).codes()
        changed = {
            player
            for player, columns in enumerate(self.players.columns)
            if any(differs[0, j] != differs[1, j] for j in columns)
        }
        named = {i for i in range(len(self.players)) if mask >> i & 1}
        # A verdict on holding a set keeps its features; one on changing it keeps all others.
        fits = changed <= named if changing else not named & changed
        require(fits, self._words(mask, f"refuted by {given}, which changes other features"))
        outside = [name for j, name in enumerate(row.names) if not self._in_domain(j, row, differs)]
        require(
            not outside, self._words(mask, f"refuted by {given}, outside the domain: {outside}")
        )

    def _in_domain(self, j: int, row: Table, codes: Counts) -> bool:
        if codes[0, j] == codes[1, j] or self.world.domain == "box":
            return True
        data, value = self.decision.data, row.column(j)
        stacked = data.stack(row).codes()[:, j]
        if (stacked[:-1] == stacked[-1]).any():
            return True
        if self.world.domain == "values" or value.dtype.kind not in "fiu":
            return False
        known = data.column(j)[~missing_mask(data.column(j))]
        return bool(known.min() <= value[0] <= known.max())

    def _check_duality(self, found: Proof) -> None:
        sufficient = {self._mask(v.features) for v in found.sufficient}
        contrastive = {self._mask(v.features) for v in found.contrastive}
        for one, other, word in (
            (sufficient, contrastive, "sufficient"),
            (contrastive, sufficient, "contrastive"),
        ):
            listed = len(found.sufficient if word == "sufficient" else found.contrastive)
            require(len(one) == listed, f"a {word} set is listed twice {self.where}")
            hitting = _minimal_hitting_sets(other, len(self.players))
            missing = [self._features(m) for m in sorted(hitting - one)]
            more = [self._features(m) for m in sorted(one - hitting)]
            require(
                not missing, f"called complete, and lacks the {word} sets {missing} {self.where}"
            )
            require(not more, f"the {word} sets {more} are not minimal {self.where}")

    # -- rows that could refute a proof ------------------------------------------------------------

    def _refutation(self, mask: int) -> list[Any] | None:
        """Return a row of the domain that refutes a set; None if none was found."""
        held = [
            j for p, columns in enumerate(self.players.columns) if mask >> p & 1 for j in columns
        ]
        if self._every_row is not None:
            rows, lost = self._every_row
            agrees = np.ones(len(rows), dtype=bool)
            for j in held:
                agrees &= rows[:, j] == self._own
            found = rows[agrees & lost]
        else:
            found = self._climb(held)
        if not len(found):
            return None
        row = self._pool.gather(found[:1])
        return [row.cell(0, j) for j in range(len(row.names))]

    @cached_property
    def _pool(self) -> Table:
        """Rows whose values are those that rows of the domain are made of; the input comes last."""
        data = self.decision.data
        if self.world.domain != "values":
            data = data.stack(*self._edge_rows())
        return data.stack(self.decision.row)

    @property
    def _own(self) -> int:
        return len(self._pool) - 1

    @cached_property
    def _every_row(self) -> tuple[Counts, BoolVector] | None:
        """All rows of a small domain, as rows of the pool by column, and which lose the outcome."""
        if self.world.domain != "values":
            return None
        codes = self._pool.codes()
        distinct = []
        for j in range(codes.shape[1]):
            _, first = np.unique(codes[::-1, j], return_index=True)  # the input before its equals
            distinct.append(self._own - first)
        if np.prod([float(len(values)) for values in distinct]) > _MOST_ROWS:
            return None
        rows = np.array(list(product(*distinct)))
        return rows, ~self._keeps(rows)

    def _keeps(self, rows: Counts) -> BoolVector:
        truth = self.decision.target(self._pool.gather(rows))
        return np.asarray(truth == self.decision.y)

    def _scores(self, rows: Table) -> Reals:
        """Return scores that are lower the nearer a row is to another outcome; else zeros."""
        wrapped = self.decision.target.wrapped
        if wrapped.classes is None or not wrapped.has_scores:
            return np.zeros(len(rows))
        scores = np.asarray(wrapped.scores(rows))
        own = list(wrapped.classes).index(self.decision.prediction)
        if scores.ndim == 1:
            return np.asarray(scores if own == 1 else -scores)
        return np.asarray(scores[:, own])

    def _climb(self, held: Sequence[int]) -> Counts:
        """Return rows that lose the outcome: random ones, then those that climbs come to."""
        d = len(self._pool.names)
        rows = self.rng.integers(len(self._pool), size=(self.attempts, d))
        rows[:, list(held)] = self._own
        free = [j for j in range(d) if j not in held]
        lost = ~self._keeps(rows)
        if lost.any() or not free:
            return np.asarray(rows[lost])
        score = self._scores(self._pool.gather(rows))
        for _ in range(_ROUNDS):
            step = rows.copy()
            column = self.rng.choice(free, size=len(rows))
            step[np.arange(len(rows)), column] = self.rng.integers(len(self._pool), size=len(rows))
            reached = self._scores(self._pool.gather(step))
            better = reached <= score
            rows[better], score[better] = step[better], reached[better]
        return np.asarray(rows[~self._keeps(rows)])

    def _edge_rows(self) -> Iterator[Table]:
        """Yield tables with numbers of the range in one column: beside jumps, and anywhere."""
        data = self.decision.data
        for j in range(len(data.names)):
            column = data.column(j)
            known = column[~missing_mask(column)]
            if column.dtype.kind not in "fiu" or not len(known):
                continue
            some = data.take(self.rng.integers(len(data), size=_EDGES))
            some = some.with_columns({j: self.rng.choice(known, _EDGES)})
            low, high = self.rng.choice(known, _EDGES), self.rng.choice(known, _EDGES)
            whole = column.dtype.kind in "iu"
            before = self._scores(some.with_columns({j: low}))
            jumps = before != self._scores(some.with_columns({j: high}))
            for _ in range(64 if jumps.any() else 0):
                middle = low + (high - low) // 2 if whole else low + (high - low) / 2
                same = self._scores(some.with_columns({j: middle})) == before
                low, high = np.where(same, middle, low), np.where(same, high, middle)
            drawn = self.rng.uniform(float(known.min()), float(known.max()), _EDGES)
            anywhere = np.floor(drawn) if whole else drawn
            for numbers in (low[jumps], high[jumps], anywhere):
                if len(numbers):
                    template = some.take(np.arange(len(numbers)))
                    yield template.with_columns({j: numbers.astype(column.dtype)})


def _minimal_hitting_sets(sets: set[int], d: int) -> set[int]:
    """Return the minimal sets that meet each of some sets.

    >>> sorted(_minimal_hitting_sets({0b011, 0b110}, 3))
    [2, 5]
    """
    found = {0}
    for one in sets:
        met = {h for h in found if h & one}
        grown = {h | 1 << i for h in found - met for i in range(d) if one >> i & 1}
        found = met | {g for g in grown if not any(g & m == m for m in met)}
    return {f for f in found if not any(f & g == g and g != f for g in found)}
