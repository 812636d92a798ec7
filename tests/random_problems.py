"""Small worlds for property tests: any Boolean model on a grid, an input, references."""

from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from hypothesis import strategies as st

from suffice import Explainer

VALUES = 3


@dataclass(frozen=True)
class Problem:
    """A model given by its truth table on a grid of VALUES^d rows."""

    truth: tuple[bool, ...]
    x: tuple[int, ...]
    references: tuple[tuple[int, ...], ...]

    @property
    def d(self) -> int:
        return len(self.x)

    def f(self, row) -> bool:
        at = 0
        for value in row:
            at = at * VALUES + int(value)
        return self.truth[at]

    def model(self, rows) -> np.ndarray:
        return np.array([self.f(row) for row in np.asarray(rows)], dtype=int)

    def explainer(self, **options) -> Explainer:
        """References are given, so that nothing depends on how they would be chosen."""
        data = np.array(self.references)
        options = {"references": "all"} | options
        return Explainer(
            self.model, data, outcome=options.pop("outcome", int(self.f(self.x))), **options
        )

    def hybrid(self, held, reference) -> tuple[int, ...]:
        return tuple(self.x[j] if j in held else reference[j] for j in range(self.d))

    def keeps(self, held) -> int:
        """Slow and plain: how many references keep the outcome when `held` is held."""
        y = self.f(self.x)
        return sum(self.f(self.hybrid(held, r)) == y for r in self.references)

    def flips(self, replaced) -> int:
        """How many references flip the outcome when `replaced` is replaced."""
        y = self.f(self.x)
        rest = set(range(self.d)) - set(replaced)
        return sum(self.f(self.hybrid(rest, r)) != y for r in self.references)


def has_both_outcomes(world: Problem) -> bool:
    """Does the model give both answers somewhere among the input and its references?"""
    return len({world.f(r) for r in (world.x, *world.references)}) == 2


def with_both_answers(world: Problem) -> Problem:
    """Return a two-sided world: where the model gives one answer only, give the input another.

    For strategies, in place of a filter that rejects most of what they draw. The input moves where
    it is the only reference.
    """
    if has_both_outcomes(world):
        return world
    x = world.x
    if set(world.references) == {x}:
        x = ((x[0] + 1) % VALUES, *x[1:])
    truth = list(world.truth)
    at = int(np.ravel_multi_index(x, (VALUES,) * world.d))
    truth[at] = not world.f(world.references[0])
    return Problem(tuple(truth), x, world.references)


@st.composite
def problems(draw, max_d: int = 4, max_references: int = 6) -> Problem:
    d = draw(st.integers(1, max_d))
    row = st.tuples(*[st.integers(0, VALUES - 1)] * d)
    # One bit for each row of the grid: a list of booleans takes several times as long to draw.
    size = (VALUES**d + 7) // 8
    bits = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), dtype=np.uint8)
    truth = tuple(np.unpackbits(bits, count=VALUES**d).astype(bool).tolist())
    references = draw(st.lists(row, min_size=1, max_size=max_references))
    return Problem(truth, draw(row), tuple(references))


def subsets(d: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(d), k) for k in range(d + 1)))


def minimal_by_definition(share: dict, tau: float) -> set:
    """Definition 4 word by word, under the subset order."""
    return {
        c
        for c in share
        if share[c] >= tau and not any(set(b) < set(c) and share[b] >= tau for b in share)
    }


thresholds = st.one_of(
    st.floats(0.01, 1.0), st.sampled_from([k / n for n in range(1, 7) for k in range(1, n + 1)])
)
