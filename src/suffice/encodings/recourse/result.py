"""The answer: the ways to the desired outcome, cheapest first, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from suffice.checks import number, threshold, whole
from suffice.errors import InputError
from suffice.results import Column, Frozen, Panel, Rest, Result, Sheet
from suffice.typing import Scalar
from suffice.wording import count, listed, percent, show

__all__ = ["Option", "Recourse", "Solution", "beyond", "cheapest"]

_SHOWN = 10
_LEGEND = (
    "Sufficiency: of the references allowed on these features, the share whose values do it. "
    "Necessity: of all the ways, the share that change at least these features."
)
_WORKS = "Works: the share of draws in which these very values do it."


@dataclass(frozen=True, repr=False)
class Option(Result):
    """A set of features, and the cheapest allowed change of them that gives the desired outcome.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from suffice import Explainer
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> def grant(rows):
    ...     return np.where(rows["income"] - 4 * rows["debt"] > 20, "granted", "refused")
    >>> ways = Explainer(grant, people).recourse({"income": 25, "debt": 8}, tau=0.6)
    >>> option = ways.options[0]
    >>> option.features, option.sufficiency
    (('income',), 0.6666666666666666)
    >>> option.changes
    {'income': (25, 60)}
    """

    plots = ("recourse",)

    features: tuple[str, ...]
    values: Mapping[str, Scalar]
    """New values of all the features' columns."""
    old: Mapping[str, Scalar]
    """The input's values of the same columns."""
    cost: float
    n: int
    """How many references are allowed on these features."""
    hits: int | None
    """How many of them give the desired outcome; None where a limit ended the count before."""
    necessity: float | None
    """PN of the features and all larger sets: the share of the desired outcome's allowed hybrids
    that change at least these features. An estimate where a limit bounds the search; None where
    there is nothing to estimate it from."""
    reliability: float = 1.0
    """How often these very values give the desired outcome: less than 1 only where consequences
    are drawn at random."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", Frozen(self.values))
        object.__setattr__(self, "old", Frozen(self.old))
        if self.values.keys() != self.old.keys():
            raise InputError("values", dict(self.values), f"new values of {listed(self.old)}")
        number("cost", self.cost, "a number >= 0", least=0)
        whole("n", self.n, least=0)
        if self.hits is not None:
            whole("hits", self.hits, least=0, most=self.n)
        for name in ("necessity", "reliability"):
            share = getattr(self, name)
            if share is not None:
                number(name, share, "a number in [0, 1]", least=0, most=1)

    @property
    def sufficiency(self) -> float | None:
        """PS: among the references allowed on these features, the share whose values give the
        desired outcome. None where none is allowed (a grid's values need not be any reference's),
        or where they were not counted."""
        return self.hits / self.n if self.n and self.hits is not None else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Exact 95% Clopper–Pearson interval of the sufficiency."""
        if not self.n or self.hits is None:
            return None
        from suffice.inference import clopper_pearson

        low, high = clopper_pearson(self.hits, self.n)
        return float(low), float(high)

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

    @property
    def says(self) -> str:
        """The change in words, on one line."""
        moves = [f"{name} {show(old)} → {show(new)}" for name, (old, new) in self.changes.items()]
        same = [name for name in self.features if name in self.values and name not in self.changes]
        kept = f"; {', '.join(same)} as {'it is' if len(same) == 1 else 'they are'}" if same else ""
        return ", ".join(moves) + kept

    @property
    def sheet(self) -> Sheet:
        """The change, what it costs, and how surely it works."""
        lead = [f"It costs {self.cost:.3g}."]
        if self.interval is not None:
            low, high = map(percent, self.interval)
            lead.append(
                f"Of the {count(self.n, 'reference')} whose values are allowed here, "
                f"{percent(self.sufficiency)} give the desired outcome (95% interval {low} to "
                f"{high})."
            )
        if self.necessity is not None:
            what = listed(self.features)
            lead.append(f"{percent(self.necessity)} of all the ways to it change {what}.")
        if self.reliability < 1:
            lead.append(f"These very values work in {percent(self.reliability)} of the draws.")
        return Sheet(self.says, (" ".join(lead),))

    def to_frame(self) -> Any:
        """One row per column of the features, as a pandas frame."""
        import pandas as pd

        rows = [(name, self.old[name], new) for name, new in self.values.items()]
        return pd.DataFrame(rows, columns=["column", "old", "new"])


@dataclass(frozen=True, repr=False)
class Recourse(Result, Sequence[Option]):
    """Every option that no cheaper one inside it makes needless; see `Explainer.recourse`.

    It is the sequence of its options: `r[0]` is the cheapest, and `for option in r` goes on.
    """

    plots = ("recourse",)

    desired: str
    """The outcome wanted, in words."""
    outcome: str
    """The present outcome, in words."""
    options: tuple[Option, ...]
    """Cheapest first."""
    tau: float | None
    """The sufficiency asked for; None: one verified change is enough."""
    values: Literal["observed", "grid"]
    """Where new values come from."""
    complete: bool
    """False where the search was cut short: `reason` then says where."""
    reason: str | None
    """Why there is no option, or why there may be better ones; None where neither is so."""
    more: int | None = 0
    """How many further options were found and left out for `max_options`; None: the search ended
    with those asked for, so there may be more."""

    def __post_init__(self) -> None:
        if self.tau is not None:
            threshold(self.tau)
        if self.more is not None:
            whole("more", self.more, least=0)

    @property
    def feasible(self) -> bool:
        """Is there any option?"""
        return bool(self.options)

    @property
    def best(self) -> Option | None:
        """c*: the cheapest option (Proposition 3)."""
        return self.options[0] if self.options else None

    def __len__(self) -> int:
        return len(self.options)

    def __iter__(self) -> Iterator[Option]:
        return iter(self.options)

    @overload
    def __getitem__(self, at: int) -> Option: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Option, ...]: ...
    def __getitem__(self, at: int | slice) -> Option | tuple[Option, ...]:
        return self.options[at]

    @property
    def sheet(self) -> Sheet:
        """One line per option."""
        head = f"From {self.outcome} to {self.desired}: "
        reasons = tuple(self.reason.splitlines()) if self.reason else ()
        if not self.options:
            return Sheet(f"{head}no way found", notes=reasons)
        random = any(option.reliability < 1 for option in self.options)
        shares = ["sufficiency", "necessity"] + ["works"] * random
        columns = [Column("cost", "number"), *(Column(heading, "share") for heading in shares)]
        rows = [
            (o.cost, o.sufficiency, o.necessity, *[o.reliability] * random, o.says)
            for o in self.options[:_SHOWN]
        ]
        more = Rest(len(self.options) - _SHOWN, ".options")
        panel = Panel((*columns, Column("change")), tuple(rows), more=more)
        legend = f"{_LEGEND} {_WORKS}" if random else _LEGEND
        notes = (legend, *self._left_out(), *reasons)
        return Sheet(f"{head}{self._how_many()}", panels=(panel,), notes=notes)

    def _how_many(self) -> str:
        n = len(self.options)
        if self.more == 0:
            return count(n, "way")
        first = "the cheapest" if n == 1 else f"the {n} cheapest"
        if self.more is None:
            return f"{first} {'way' if n == 1 else 'ways'}; there may be more"
        return f"{first} of {count(n + self.more, 'way')}"

    def _left_out(self) -> tuple[str, ...]:
        if self.more is None:
            return ("The search ended with the cheapest, as max_options asks.",)
        return (f"Left out for max_options: {count(self.more, 'way')}.",) if self.more else ()

    def to_frame(self) -> Any:
        """One row per option, as a pandas frame."""
        import pandas as pd

        names = (
            "features", "changes", "cost", "sufficiency", "n", "necessity", "reliability",
        )  # fmt: skip
        rows = [
            (", ".join(o.features), o.says, o.cost, o.sufficiency, o.n, o.necessity, o.reliability)
            for o in self.options
        ]
        return pd.DataFrame(rows, columns=list(names))


def cheapest(options: Iterable[Option]) -> tuple[Option, ...]:
    """Those that no cheaper one inside them makes needless: cheapest first, then smallest."""
    kept: list[Option] = []
    for option in sorted(options, key=lambda o: (o.cost, o.size, o.features)):
        inside = (set(other.features) <= set(option.features) for other in kept)
        if not any(inside):
            kept.append(option)
    return tuple(kept)


@dataclass(frozen=True)
class Solution:
    """Options under some constraints, and why there may be others: nothing, if there are none."""

    options: tuple[Option, ...]
    cut_short: tuple[str, ...] = ()
    more: int | None = 0
    """Further options that were left out; None: not looked for."""


def beyond(most: int | None, found: int) -> int:
    """How many of those found are left out where at most so many are asked for."""
    return 0 if most is None else max(0, found - most)
