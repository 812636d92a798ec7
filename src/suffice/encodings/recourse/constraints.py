"""What a change must respect: who may change, to which values, into which rows, at what price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from suffice.encodings.recourse.rules import Rule
from suffice.factors import Factor

__all__ = ["Constraints"]


@dataclass(frozen=True)
class Constraints:
    """Everything that is asked of a change besides the outcome; each part can be lifted alone."""

    fixed: Mapping[int, str] = field(default_factory=dict)
    """Players that cannot change, with the reason in words."""
    rules: tuple[Rule, ...] = ()
    forbidden: tuple[Factor, ...] = ()
    tau: float | None = None
    max_cost: float = np.inf
    max_size: int | None = None

    def lifted(self) -> Iterator[tuple[str, Constraints]]:
        """Each constraint in words, with all the others."""
        for player, says in self.fixed.items():
            rest = {p: why for p, why in self.fixed.items() if p != player}
            yield f"{says}: if it could change", replace(self, fixed=rest)
        for i, rule in enumerate(self.rules):
            rest_of_rules = self.rules[:i] + self.rules[i + 1 :]
            yield f"{rule.says}: if it need not", replace(self, rules=rest_of_rules)
        for i, factor in enumerate(self.forbidden):
            rest_of_factors = self.forbidden[:i] + self.forbidden[i + 1 :]
            words = f"{factor!r} is forbidden: if it were allowed"
            yield words, replace(self, forbidden=rest_of_factors)
        if self.max_cost < np.inf:
            yield f"max_cost={self.max_cost:g}: at a higher price", replace(self, max_cost=np.inf)
        if self.max_size is not None:
            words = f"max_size={self.max_size}: with larger sets"
            yield words, replace(self, max_size=None)
        if self.tau is not None:
            yield f"tau={self.tau:g}: if one verified change is enough", replace(self, tau=None)
