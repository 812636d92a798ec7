"""The answer: the ways to the desired outcome, cheapest first, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import fill
from typing import Any

from suffice.results import Frozen
from suffice.typing import Scalar

__all__ = ["Option", "Recourse"]

_SHOWN = 10
_WIDTH = 92


@dataclass(frozen=True)
class Option:
    """A set of features, and the cheapest allowed change of them that gives the desired outcome."""

    features: tuple[str, ...]
    values: Mapping[str, Scalar]
    """New values of all the features' columns."""
    old: Mapping[str, Scalar]
    """The input's values of the same columns."""
    cost: float
    sufficiency: float | None
    """PS: among the references allowed on these features, the share whose values give the desired
    outcome. None where none is allowed (a grid's values need not be any reference's)."""
    interval: tuple[float, float] | None
    """Exact 95% Clopper–Pearson interval of the sufficiency."""
    n: int
    """How many references are allowed on these features."""
    necessity: float | None
    """PN of the features and all larger sets: the share of the desired outcome's allowed hybrids
    that change at least these features. An estimate where `max_size` bounds the search."""
    reliability: float = 1.0
    """How often these very values give the desired outcome: less than 1 only where consequences
    are drawn at random."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", Frozen(self.values))
        object.__setattr__(self, "old", Frozen(self.old))

    @property
    def changes(self) -> dict[str, tuple[Scalar, Scalar]]:
        """{column: (old, new)} for the columns that really change."""
        return {
            name: (self.old[name], new)
            for name, new in self.values.items()
            if new != self.old[name] or type(new) is not type(self.old[name])
        }

    @property
    def size(self) -> int:
        """How many features it names."""
        return len(self.features)

    def __str__(self) -> str:
        moves = [
            f"{name} {_shown(old)} → {_shown(new)}" for name, (old, new) in self.changes.items()
        ]
        same = [name for name in self.features if name in self.values and name not in self.changes]
        kept = f"; {', '.join(same)} as {'it is' if len(same) == 1 else 'they are'}" if same else ""
        return ", ".join(moves) + kept


@dataclass(frozen=True)
class Recourse:
    """Every option that no cheaper one inside it makes needless; see `Explainer.recourse`."""

    desired: str
    """The outcome wanted, in words."""
    outcome: str
    """The present outcome, in words."""
    options: tuple[Option, ...]
    """Cheapest first."""
    tau: float | None
    """The sufficiency asked for; None: one verified change is enough."""
    values: str
    """Where new values come from: "observed" or "grid"."""
    complete: bool
    """False where the search was cut short: `reason` then says where."""
    reason: str | None
    """Why there is no option, or why there may be better ones; None where neither is so."""

    @property
    def feasible(self) -> bool:
        """Is there any option?"""
        return bool(self.options)

    @property
    def best(self) -> Option | None:
        """c*: the cheapest option (Proposition 3)."""
        return self.options[0] if self.options else None

    def to_frame(self) -> Any:
        """One row per option, as a pandas frame."""
        import pandas as pd

        names = (
            "features", "changes", "cost", "sufficiency", "n", "necessity", "reliability",
        )  # fmt: skip
        rows = [
            (", ".join(o.features), str(o), o.cost, o.sufficiency, o.n, o.necessity, o.reliability)
            for o in self.options
        ]
        return pd.DataFrame(rows, columns=list(names))

    def __str__(self) -> str:
        head = f"From {self.outcome} to {self.desired}: "
        if not self.options:
            return "\n".join([f"{head}no way found", *_wrapped(self.reason, "  ")])
        ways = "1 way" if len(self.options) == 1 else f"{len(self.options)} ways"
        random = any(option.reliability < 1 for option in self.options)
        lines = [f"{head}{ways}", "    cost  suff.  nec.   " + "works  " * random + "change"]
        for option in self.options[:_SHOWN]:
            works = f"{100 * option.reliability:4.0f}%  " if random else ""
            lead = f"{option.cost:8.3g}  {_percent(option.sufficiency)}  "
            lead += f"{_percent(option.necessity)}  {works}"
            lines.append(fill(str(option), _WIDTH, initial_indent=lead, subsequent_indent=" " * 24))
        if len(self.options) > _SHOWN:
            lines.append(f"       …  and {len(self.options) - _SHOWN} more: .options")
        return "\n".join(lines + _wrapped(self.reason, "  "))


def _percent(share: float | None) -> str:
    return "    –" if share is None else f"{100 * share:4.0f}%"


def _shown(value: Scalar) -> str:
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _wrapped(text: str | None, indent: str) -> list[str]:
    if text is None:
        return []
    return [
        fill(line, _WIDTH, initial_indent=indent, subsequent_indent=indent)
        for line in text.splitlines()
    ]
