"""`Recourse` and `Option`: the recourse options found, cheapest first, or the reason for none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from suffice.errors import InputError
from suffice.formatting import chance_phrase, format_value, join_words, percent, plural
from suffice.measures import ratio
from suffice.results import Column, FrozenDict, OmittedRows, Panel, Result, Sheet
from suffice.typing import Scalar
from suffice.validation import check_integer, check_number, check_tau

_OPTIONS_SHOWN = 10
_VERIFIED_LEGEND = "The model verified every change: each gives the desired outcome."
_LEGEND = (
    "Sufficiency: of the references allowed on these features, the share whose values do it.",
    "Set necessity: of all changes that do it, the share that change at least these features; by "
    "chance: of all changes, whatever they do.",
)
_RELIABILITY_LEGEND = "Works: the share of draws in which these very values do it."


@dataclass(frozen=True, repr=False)
class Option(Result):
    """A set of features, and the cheapest allowed change of them that gives the desired outcome.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from suffice import Explainer
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> def grant(rows):
    ...     return np.where(rows["income"] - 4 * rows["debt"] > 20, "granted", "refused")
    >>> found = Explainer(grant, people).recourse({"income": 25, "debt": 8}, tau=0.6)
    >>> option = found.options[0]
    >>> option.features, option.sufficiency
    (('income',), 0.6666666666666666)
    >>> option.changes
    {'income': (25, 60)}
    """

    plots = ("recourse",)

    features: tuple[str, ...]
    values: Mapping[str, Scalar]
    """New values of all columns of the features."""
    old: Mapping[str, Scalar]
    """The input's values of the same columns."""
    cost: float
    n: int
    """Number of references whose values on these features are allowed."""
    hits: int | None
    """Number of those that give the desired outcome; None if a limit ended the search first."""
    necessity: float | None
    """PN of the features and all larger sets: of the allowed hybrids with the desired outcome, the
    share that change at least these features. An estimate where a limit bounds the search; None
    where there is nothing to estimate it from."""
    reliability: float = 1.0
    """The share of draws in which these very values give the desired outcome: below 1 only in a
    causal context with random consequences."""
    necessity_baseline: float | None = None
    """What chance gives for `necessity`: of all allowed hybrids, whatever their outcome, the share
    that change at least these features."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", FrozenDict(self.values))
        object.__setattr__(self, "old", FrozenDict(self.old))
        if self.values.keys() != self.old.keys():
            raise InputError("values", dict(self.values), f"new values of {join_words(self.old)}")
        check_number("cost", self.cost, "a number >= 0", least=0)
        check_integer("n", self.n, least=0)
        if self.hits is not None:
            check_integer("hits", self.hits, least=0, most=self.n)
        for name in ("necessity", "reliability", "necessity_baseline"):
            share = getattr(self, name)
            if share is not None:
                check_number(name, share, "a number in [0, 1]", least=0, most=1)

    @property
    def sufficiency(self) -> float | None:
        """PS: of the references allowed on these features, the share whose values give the desired
        outcome. None where no reference is allowed (a grid's values need not be any reference's),
        or where they were not counted."""
        return self.hits / self.n if self.n and self.hits is not None else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Exact 95% Clopper–Pearson interval of the sufficiency."""
        if not self.n or self.hits is None:
            return None
        from suffice.inference import Share

        return Share(self.hits, self.n).interval

    @property
    def necessity_lift(self) -> float | None:
        """The necessity divided by its baseline; 1 where change and outcome are unrelated."""
        return ratio(self.necessity, self.necessity_baseline)

    @property
    def changes(self) -> dict[str, tuple[Scalar, Scalar]]:
        """The columns that really change, as {column: (old, new)}."""
        return {
            name: (self.old[name], new)
            for name, new in self.values.items()
            if new != self.old[name] or type(new) is not type(self.old[name])
        }

    @property
    def size(self) -> int:
        """Number of features that the option sets."""
        return len(self.features)

    @property
    def text(self) -> str:
        """Text of the change, on one line."""
        moves = [
            f"{name} {format_value(old)} → {format_value(new)}"
            for name, (old, new) in self.changes.items()
        ]
        same = [name for name in self.features if name in self.values and name not in self.changes]
        kept = f"; {', '.join(same)} as {'it is' if len(same) == 1 else 'they are'}" if same else ""
        return ", ".join(moves) + kept

    @property
    def sheet(self) -> Sheet:
        """The change, its cost, and how reliably it works."""
        lead = [f"Cost: {self.cost:.3g}."]
        if self.reliability == 1:
            lead.append("The model verified this change.")
        if self.interval is not None:
            low, high = map(percent, self.interval)
            lead.append(
                f"Of the {plural(self.n, 'reference')} whose values are allowed here, "
                f"{percent(self.sufficiency)} have values that do it (95% interval {low} to "
                f"{high})."
            )
        if self.necessity is not None:
            what = join_words(self.features)
            chance = ""
            if self.necessity_baseline is not None and self.necessity_lift is not None:
                chance = f" ({chance_phrase(self.necessity_baseline, self.necessity_lift)})"
            share = percent(self.necessity)
            lead.append(f"{share} of all changes that do it change {what}{chance}.")
        if self.reliability < 1:
            lead.append(f"These very values work in {percent(self.reliability)} of the draws.")
        return Sheet(self.text, (" ".join(lead),))

    def to_frame(self) -> Any:
        """Return a pandas frame with one row per column of the features."""
        import pandas as pd

        rows = [(name, self.old[name], new) for name, new in self.values.items()]
        return pd.DataFrame(rows, columns=["column", "old", "new"])


@dataclass(frozen=True, repr=False)
class Recourse(Result, Sequence[Option]):
    """Minimal recourse options under the cost order; see `Explainer.recourse`.

    The result is a sequence: `r[0]` is the cheapest option, `for option in r` visits all.
    """

    plots = ("recourse",)

    desired: str
    """The desired outcome, in words."""
    outcome: str
    """The present outcome, in words."""
    options: tuple[Option, ...]
    """Cheapest first."""
    tau: float | None
    """The least sufficiency of an option; None: one verified change is enough."""
    values: Literal["observed", "grid", "any"]
    """Origin of the new values."""
    complete: bool
    """False where a limit ended the search: `reason` then says where."""
    reason: str | None
    """Why there is no option, or why better ones may be missing; None where neither is so."""
    more: int | None = 0
    """How many further options were found and left out for `max_options`; None: the search ended
    when it had `max_options`, so there may be more."""
    certified: bool | None = None
    """With `values="any"`: whether it is proved that no row with the outcome is cheaper than the
    best option, or that none has the outcome. None for other values."""
    gap: float | None = None
    """With `values="any"`: by how much a row could be cheaper than the best option."""

    def __post_init__(self) -> None:
        if self.gap is not None:
            check_number("gap", self.gap, "a number >= 0", least=0)
        if self.tau is not None:
            check_tau(self.tau)
        if self.more is not None:
            check_integer("more", self.more, least=0)

    @property
    def feasible(self) -> bool:
        """True if there is any option."""
        return bool(self.options)

    @property
    def best(self) -> Option | None:
        """c*: the cheapest option (Proposition 3)."""
        return self.options[0] if self.options else None

    @property
    def radius(self) -> float | None:
        """The robustness of the decision: no row that the constraints allow has the outcome at a
        lower cost (within a millionth of it). None unless `values="any"` proves a bound."""
        if self.best is None:
            return float("inf") if self.certified else None
        return None if self.gap is None else self.best.cost - self.gap

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
        """A table with one line per option, a legend, and the reasons."""
        head = f"From {self.outcome} to {self.desired}: "
        reasons = tuple(self.reason.splitlines()) if self.reason else ()
        if not self.options:
            return Sheet(f"{head}no recourse option found", notes=reasons)
        if self.values == "any":
            return self._certified_sheet(head, reasons)
        random = any(option.reliability < 1 for option in self.options)
        shares = ["sufficiency", "set necessity", "by chance"] + ["works"] * random
        columns = [Column("cost", "number"), *(Column(heading, "share") for heading in shares)]
        rows = [
            (
                o.cost,
                o.sufficiency,
                o.necessity,
                o.necessity_baseline,
                *[o.reliability] * random,
                o.text,
            )
            for o in self.options[:_OPTIONS_SHOWN]
        ]
        more = OmittedRows(len(self.options) - _OPTIONS_SHOWN, ".options")
        panel = Panel((*columns, Column("change")), tuple(rows), more=more)
        legend = (*_LEGEND, _RELIABILITY_LEGEND) if random else (_VERIFIED_LEGEND, *_LEGEND)
        notes = (*legend, *self._left_out(), *reasons)
        return Sheet(f"{head}{self._how_many()}", panels=(panel,), notes=notes)

    def _certified_sheet(self, head: str, reasons: tuple[str, ...]) -> Sheet:
        rows = tuple((option.cost, option.text) for option in self.options)
        panel = Panel((Column("cost", "number"), Column("change")), rows)
        what = "the cheapest change, proved" if self.certified else "a change"
        proof = f"A cheaper one could save {self.gap:.3g} at most."
        if self.certified:
            proof = (
                "Proved: of the rows in the data's range that the constraints allow, none with the "
                "desired outcome is cheaper."
            )
        return Sheet(f"{head}{what}", panels=(panel,), notes=(_VERIFIED_LEGEND, proof, *reasons))

    def _how_many(self) -> str:
        n = len(self.options)
        if self.more == 0:
            return plural(n, "recourse option")
        first = "the cheapest" if n == 1 else f"the {n} cheapest"
        if self.more is None:
            return f"{first} recourse {'option' if n == 1 else 'options'}; there may be more"
        return f"{first} of {plural(n + self.more, 'recourse option')}"

    def _left_out(self) -> tuple[str, ...]:
        if self.more is None:
            return ("The search ended with the cheapest, because of max_options.",)
        return (f"Left out for max_options: {plural(self.more, 'option')}.",) if self.more else ()

    def to_frame(self) -> Any:
        """Return a pandas frame with one row per option."""
        import pandas as pd

        names = (
            "features", "changes", "cost", "sufficiency", "n", "necessity", "reliability",
            "necessity_baseline", "necessity_lift",
        )  # fmt: skip
        rows = [
            (
                ", ".join(o.features),
                o.text,
                o.cost,
                o.sufficiency,
                o.n,
                o.necessity,
                o.reliability,
                o.necessity_baseline,
                o.necessity_lift,
            )
            for o in self.options
        ]
        return pd.DataFrame(rows, columns=list(names))
