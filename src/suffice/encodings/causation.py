"""What a causal model says about a cause: Pearl's three probabilities, and the measures on D."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from suffice.context.sample import Sample
from suffice.encodings.causal_question import Contrast
from suffice.factors.kinds import Factor
from suffice.measures import Measures

__all__ = ["Causation"]


@dataclass(frozen=True)
class Causation:
    """Pearl's three probabilities, and all that they were read from."""

    cause: Contrast
    effect: Factor
    measures: Measures
    """The four measures of c, "X was set to x", for y on D. Each space has weight 1; one that is
    empty has none. Our PN, P(X was set to x | y), has no counterpart among Pearl's."""
    pns: float
    """P(y_x, y'_x')."""
    observational: Mapping[tuple[bool, bool], float]
    """P(x, y), P(x, y'), P(x', y), P(x', y'): the first is [True, True]. Their sum is below 1 where
    the cause takes other values besides."""
    experimental: Mapping[bool, float]
    """P(y_x) at True, P(y_x') at False."""
    n: int | None
    """How many worlds were drawn; None where all were enumerated."""
    intervals: Mapping[str, tuple[float, float] | None] | None
    """Exact 95% intervals by name; None where there is nothing to estimate."""
    sample: Sample | None = field(compare=False, repr=False)
    """A sample of D: as many rows of R as of I, the nodes after X was set, tagged by `tag`. Only
    where worlds were drawn (enumerated ones differ in weight, which rows have not) and both
    spaces have some. The more frequent space is cut to the size of the other."""

    @property
    def necessity(self) -> float | None:
        """nec = PS(1 - c, y'); None where no world has x and y."""
        return self.measures.contrapositive.sufficiency

    @property
    def sufficiency(self) -> float | None:
        """suf = PS(c, y); None where no world has x' and y'."""
        return self.measures.sufficiency

    @property
    def exact(self) -> bool:
        """Were all worlds enumerated?"""
        return self.n is None

    @property
    def tag(self) -> str:
        """The name of the auxiliary W in `sample`."""
        return self.cause.tag

    def __str__(self) -> str:
        how = "exact" if self.n is None else f"from {self.n:,} worlds, 95% intervals"
        lines = [f"Is {self.cause} a cause of {self.effect!r}? ({how})"]
        for name in ("necessity", "sufficiency", "pns"):
            value = getattr(self, name)
            shown = "undefined: no world to condition on" if value is None else f"{value:.3f}"
            interval = (self.intervals or {}).get(name)
            if interval is not None:
                shown += f"  ({interval[0]:.3f} to {interval[1]:.3f})"
            lines.append(f"  {name:<12} {shown}")
        return "\n".join(lines)
