"""Recourse by its definition, word by word, for small worlds: all sets, all changes, exact costs."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from hypothesis import strategies as st

from suffice import equals
from tests.random_problems import VALUES, Problem, problems, subsets


@dataclass(frozen=True)
class Constraints:
    """Constraints in a form that plain Python can check."""

    immutable: frozenset = frozenset()
    ranges: dict = field(default_factory=dict)
    up: frozenset = frozenset()
    down: frozenset = frozenset()
    steps: dict = field(default_factory=dict)
    forbidden: tuple = ()
    """Each {column: value}: all of them together may not be."""
    weights: tuple = ()
    """Fractions, so that equal costs are equal whatever the order of adding up; or infinity."""
    tau: float | None = None
    max_cost: Fraction | None = None
    max_size: int | None = None
    grid: bool = False

    def arguments(self) -> dict:
        factors = []
        for pairs in self.forbidden:
            parts = [equals(f"x{j}", v) for j, v in pairs.items()]
            factors.append(parts[0] if len(parts) == 1 else parts[0] & parts[1])
        weights = {f"x{j}": float(w) for j, w in enumerate(self.weights)}
        return {
            "immutable": [f"x{j}" for j in self.immutable],
            "ranges": {f"x{j}": bounds for j, bounds in self.ranges.items()},
            "increasing": [f"x{j}" for j in self.up],
            "decreasing": [f"x{j}" for j in self.down],
            "steps": {f"x{j}": step for j, step in self.steps.items()},
            "forbidden": factors,
            "cost": lambda column, old, new: np.where(  # inf × 0 is no cost
                new == old, 0.0, weights[column] * np.maximum(abs(new - old), 0.5)
            ),
            "tau": self.tau,
            "max_cost": None if self.max_cost is None else float(self.max_cost),
            "max_size": self.max_size,
            "values": "grid" if self.grid else "observed",
        }

    def value_ok(self, world: Problem, j: int, v: int) -> bool:
        old = world.x[j]
        low, high = self.ranges.get(j, (None, None))
        return v == old or (
            (low is None or v >= low)
            and (high is None or v <= high)
            and not (j in self.up and v < old)
            and not (j in self.down and v > old)
            and (v - old) % self.steps.get(j, 1) == 0
        )

    def row_ok(self, world: Problem, row) -> bool:
        return all(self.value_ok(world, j, v) for j, v in enumerate(row)) and not any(
            all(row[j] == v for j, v in pairs.items()) for pairs in self.forbidden
        )

    def cost(self, world: Problem, row) -> Fraction | float:
        return sum(
            self.weights[j] * abs(v - world.x[j]) for j, v in enumerate(row) if v != world.x[j]
        )


@dataclass(frozen=True)
class ExpectedOption:
    cost: Fraction | float
    n: int
    hits: int


def options_by_definition(world: Problem, asked: Constraints) -> dict:
    """The options: {set: Truth}."""
    y = world.f(world.x)
    free = [j for j in range(world.d) if j not in asked.immutable]
    qualified = {}
    for members in subsets(world.d):
        if not members or not set(members) <= set(free):
            continue
        rest = set(range(world.d)) - set(members)
        rows = [world.hybrid(rest, r) for r in world.references]
        allowed = [row for row in rows if asked.row_ok(world, row)]
        hits = [row for row in allowed if world.f(row) != y]
        changes = list(hits)
        if asked.grid:
            changes += [row for row in grid_rows(world, asked, members) if world.f(row) != y]
        limit = np.inf if asked.max_cost is None else asked.max_cost
        prices = [asked.cost(world, row) for row in changes]
        prices = [p for p in prices if p <= limit and p < np.inf]
        if asked.max_size is not None and len(members) > asked.max_size:
            continue
        if asked.tau is not None and not (allowed and len(hits) / len(allowed) >= asked.tau):
            continue
        if prices:
            qualified[members] = ExpectedOption(min(prices), len(allowed), len(hits))
    return {
        t: found
        for t, found in qualified.items()
        if not any(set(s) < set(t) and q.cost <= found.cost for s, q in qualified.items())
    }


def grid_rows(world: Problem, asked: Constraints, members):
    """Every combination in which each member has a new value that is observed, or a step away."""
    values = []
    for j in members:
        seen = {r[j] for r in world.references} | {world.x[j]}
        if j in asked.steps:
            low, high = asked.ranges.get(j, (None, None))
            low = min(seen) if low is None else low
            high = max(seen) if high is None else high
            seen = set(range(low, high + 1))
        values.append([v for v in seen if v != world.x[j]])
    for combination in product(*values):
        row = list(world.x)
        for j, v in zip(members, combination, strict=True):
            row[j] = v
        if asked.row_ok(world, row):
            yield tuple(row)


def feature_numbers(option) -> tuple:
    return tuple(int(name[1:]) for name in option.features)


def resulting_row(world: Problem, option) -> tuple:
    row = list(world.x)
    for name, value in option.values.items():
        row[int(name[1:])] = value
    return tuple(row)


THIRDS = [Fraction(k, 3) for k in range(1, 8)]
WEIGHTS = [Fraction(0), Fraction(1, 2), Fraction(1), Fraction(2), np.inf, *THIRDS, Fraction(1, 10)]


@cache
def constraint_sets(d: int) -> st.SearchStrategy[Constraints]:
    """Constraints on `d` columns."""
    columns = st.integers(0, d - 1)
    some = st.frozensets(columns, max_size=max(1, d - 1))
    bound = st.sampled_from([(0, 1), (1, None), (None, 1), (1, 1), (0, 2)])
    pairs = st.dictionaries(columns, st.integers(0, VALUES - 1), min_size=1, max_size=2)
    return st.builds(
        Constraints,
        immutable=some,
        ranges=st.dictionaries(columns, bound, max_size=2),
        up=st.frozensets(columns, max_size=1),
        down=st.frozensets(columns, max_size=1),
        steps=st.dictionaries(columns, st.sampled_from([1, 2]), max_size=1),
        forbidden=st.lists(pairs, max_size=2).map(tuple),
        weights=st.tuples(*[st.sampled_from(WEIGHTS)] * d),
        tau=st.sampled_from([None, None, 0.25, 0.5, 1.0]),
        max_cost=st.sampled_from([None, Fraction(1, 2), Fraction(1), Fraction(3), *THIRDS]),
        max_size=st.sampled_from([None, None, 1, 2]),
    ).map(_without_contradictions)


def _without_contradictions(asked: Constraints) -> Constraints:
    """Drop directions of immutable columns, and one of two directions: those are errors."""
    up = asked.up - asked.immutable
    return replace(asked, up=up, down=asked.down - asked.immutable - up)


@st.composite
def recourse_cases(draw, max_d: int = 4) -> tuple[Problem, Constraints]:
    world = draw(problems(max_d=max_d))
    return world, draw(constraint_sets(world.d))
