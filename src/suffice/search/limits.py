"""How far a search may go: what a user may bound, and when a bound is needed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from suffice.errors import InputError

__all__ = ["EXHAUSTIVE_PLAYERS", "Limits"]

EXHAUSTIVE_PLAYERS = 24
"""2^24 subsets still fit in memory; past that a bound has to be given."""


@dataclass(frozen=True)
class Limits:
    """How far to go: largest size of a set, rows the model may be asked, seconds."""

    max_size: int | None = None
    budget: int | None = None
    time_limit: float | None = None

    @property
    def none(self) -> bool:
        """Is the sweep to be exhaustive?"""
        return self.max_size is None and self.budget is None and self.time_limit is None

    def checked(self, d: int) -> Limits:
        """The same limits in plain numbers; an error for one that cannot be meant.

        Also where none is given and one is needed.
        """
        for name in ("max_size", "budget"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | np.integer) and value >= 1):
                raise InputError(name, value, "None or a whole number >= 1")
        limit = self.time_limit
        if limit is not None and not (
            isinstance(limit, int | float | np.number) and 0 < limit < np.inf
        ):
            raise InputError("time_limit", limit, "None or a positive number of seconds")
        if d > EXHAUSTIVE_PLAYERS and self.none:
            raise InputError(
                "data",
                f"{d} features, so 2^{d} subsets",
                f"at most {EXHAUSTIVE_PLAYERS} for an exhaustive search",
                "Pass max_size (e.g. 3) to search small sets exhaustively, groups to join columns "
                "into fewer players, or budget or time_limit to stop early.",
            )
        return Limits(
            None if self.max_size is None else int(self.max_size),
            None if self.budget is None else int(self.budget),
            None if limit is None else float(limit),
        )

    def check_budget(self, n: int, sets: int = 1) -> None:
        """Raise for a budget too small for so many sets per view on each of n references."""
        if self.budget is not None and self.budget < 2 * sets * n:
            raise InputError(
                "budget",
                f"{self.budget} rows",
                f"at least {2 * sets * n}: {sets} set(s) per view on each of {n} references",
                "Use fewer references with n_references.",
            )

    def share(self, share: float) -> Limits:
        """Part of the rows and of the seconds that are allowed in all."""
        return replace(
            self,
            budget=None if self.budget is None else int(self.budget * share),
            time_limit=None if self.time_limit is None else self.time_limit * share,
        )
