"""Models fitted again: to rows drawn anew, or to the same rows with another seed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from suffice.checks import ran
from suffice.errors import InputError
from suffice.randomness import Stream, generator
from suffice.tables import Table
from suffice.typing import Counts, Values

__all__ = ["Resample", "Retraining", "read_targets", "retraining"]

Resample = Literal["bootstrap", "seed"]

_ALLOWED = "an estimator, or a function (X, y) -> model or (X, y, seed) -> model"
_TRIES = 100
"""Draws of rows until each class is among them."""
_CLASSES = 50
"""Of more different values, y is taken for numbers."""

Fit = Callable[[Any, Values, int | None], Any]


@dataclass(frozen=True)
class Retraining:
    """How models are fitted, and to what."""

    fit: Fit
    X: Table
    y: Values
    resample: Resample
    seed: int

    def first(self) -> Any:
        """A model fitted to all rows, as it was given."""
        return self._fitted(np.arange(len(self.X)), None, "for all rows")

    def again(self, k: int) -> Iterator[Any]:
        """So many models, each with rows or a seed of its own."""
        for number in range(k):
            rng = generator(self.seed, Stream.RETRAINED, number)
            rows = np.arange(len(self.X)) if self.resample == "seed" else self._drawn(rng)
            seed = int(rng.integers(1 << 31))
            yield self._fitted(rows, seed, f"for model {number + 1} of {k}")

    def _fitted(self, rows: Counts, seed: int | None, about: str) -> Any:
        given = self.X.take(rows).native, self.y[rows], seed
        return ran("fit", self.fit, _ALLOWED, *given, about=about)

    def _drawn(self, rng: np.random.Generator) -> Counts:
        """As many rows as there are, with replacement; every class is among them."""
        import pandas as pd

        n = len(self.y)
        codes, values = pd.factorize(self.y)
        for _ in range(_TRIES):
            rows = rng.integers(n, size=n)
            if len(values) > _CLASSES or len(np.unique(codes[rows])) == len(np.unique(codes)):
                return np.asarray(rows, dtype=np.int64)
        rarest = values[np.bincount(codes[codes >= 0]).argmin()]
        got = f"{rarest!r} so rarely that draws of rows have none of it"
        hint = "resample='seed' fits every model to all rows."
        raise InputError("y", got, "each class several times", hint)


def retraining(fit: Any, X: Table, y: Values, resample: Resample, seed: int) -> Retraining:
    """Check what is to be fitted again."""
    estimator = hasattr(fit, "fit") and not isinstance(fit, type)
    if not estimator and (isinstance(fit, type) or not callable(fit)):
        hint = f"Pass {fit.__name__}()." if isinstance(fit, type) else ""
        raise InputError("fit", fit, _ALLOWED, hint)
    make, seeded = _estimator(fit) if estimator else _function(fit, seed)
    if resample == "seed" and not seeded:
        hint = "resample='bootstrap' draws the rows anew."
        got = "'seed', with models that take none: all would be the same"
        allowed = "an estimator with a random_state, or a function (X, y, seed) -> model"
        raise InputError("resample", got, allowed, hint)
    return Retraining(make, X, y, resample, seed)


def _estimator(fit: Any) -> tuple[Fit, bool]:
    def seeds(estimator: Any) -> list[str]:
        known = estimator.get_params() if hasattr(estimator, "get_params") else ()
        return [name for name in known if name.endswith(("random_state", "random_seed"))]

    def make(X: Any, y: Values, seed: int | None) -> Any:
        model = _unfitted(fit)
        if seed is not None and seeds(model):
            model.set_params(**dict.fromkeys(seeds(model), seed))
        model.fit(X, y)
        return model

    return make, bool(seeds(fit))


def _unfitted(fit: Any) -> Any:
    if not hasattr(fit, "get_params"):
        return deepcopy(fit)
    from sklearn.base import clone

    return clone(fit)


def _function(fit: Callable[..., Any], usual: int) -> tuple[Fit, bool]:
    try:
        parameters = inspect.signature(fit).parameters.values()
    except (TypeError, ValueError):  # some built-in ones do not tell
        parameters = ()  # type: ignore[assignment]
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(placed) < 3:
        return lambda X, y, seed: fit(X, y), False
    return lambda X, y, seed: fit(X, y, usual if seed is None else seed), True


def read_targets(y: Any, n: int) -> Values:
    """What models are fitted to: one value for each row."""
    allowed = f"one value for each of the {n:,} rows of X"
    if isinstance(y, str | bytes | dict) or not hasattr(y, "__len__"):
        raise InputError("y", repr(y) if isinstance(y, str) else y, allowed)
    try:
        found = np.asarray(y)
    except ValueError as error:  # ragged lists
        raise InputError("y", type(y).__name__, allowed) from error
    if found.shape != (n,):
        raise InputError("y", f"an array of shape {found.shape}", allowed)
    return found
