"""One rule as it is told to a user: 30 < age ≤ 45 and home = rents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from suffice.checks import threshold, whole
from suffice.errors import InputError
from suffice.factors.kinds import AnyFactor
from suffice.factors.words import in_words
from suffice.inference import clopper_pearson, p_value
from suffice.results import Column, Panel, Result, Sheet
from suffice.wording import count, percent, show, three_digits

__all__ = ["Distribution", "InData", "Judged", "Rule"]

Distribution = Literal["perturbed", "observed"]
Judged = Distribution | Literal["sample"]


@dataclass(frozen=True)
class InData:
    """How many rows of the data there are, satisfy a rule, have its outcome, and do both."""

    rows: int
    met: int
    outcome: int
    both: int

    def __post_init__(self) -> None:
        whole("rows", self.rows)
        whole("met", self.met, 0, self.rows)
        whole("outcome", self.outcome, 0, self.rows)
        whole("both", self.both, max(0, self.met + self.outcome - self.rows), self.met)
        whole("outcome", self.outcome, self.both)


@dataclass(frozen=True, repr=False)
class Rule(Result):
    """If the conditions hold, then the outcome: how surely, and for how many.

    `coverage` and `necessity` are taken over the rows of the data, whatever distribution precision
    is taken over: c_A is a property of x alone, so whom a rule applies to needs no made-up rows.
    """

    plots = ("rule",)

    factor: AnyFactor | None
    """The conditions; None for the empty rule, which always holds."""
    outcome: str
    """The outcome, in words, that the rule is for."""
    distribution: Judged
    """Which rows precision is a share of: the data's, made to satisfy the rule ("perturbed") or
    looked at ("observed"), or those of a sample that was given."""
    n: int
    """How many rows precision is a share of."""
    hits: int
    """How many of them have the outcome."""
    in_data: InData
    """The same counts, and those of the outcome, over the rows of the data."""
    tau: float = 0.9
    """The precision that `p_value` tests against."""
    minimal_for: tuple[float, float] | None = None
    """(low, high]: the thresholds at which the rule is τ-minimal; None where that is unknown."""

    def __post_init__(self) -> None:
        whole("n", self.n, 0)
        whole("hits", self.hits, 0, self.n)
        threshold(self.tau)
        low, high = self.minimal_for or (0, 1)
        if not 0 <= low <= high <= 1:
            raise InputError("minimal_for", self.minimal_for, "two numbers from 0 to 1, in order")

    @property
    def precision(self) -> float | None:
        """PS(c_A, y): among the rows that satisfy the rule, the share with the outcome.

        None where there is no such row.
        """
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Exact 95% Clopper–Pearson interval of precision, reading those rows as a sample."""
        if not self.n:
            return None
        low, high = clopper_pearson(self.hits, self.n)
        return float(low), float(high)

    @property
    def p_value(self) -> float | None:
        """Exact one-sided binomial test of precision <= τ."""
        return float(p_value(self.hits, self.n, self.tau)) if self.n else None

    @property
    def coverage(self) -> float:
        """The share of the data's rows that satisfy the rule."""
        return self.in_data.met / self.in_data.rows

    @property
    def necessity(self) -> float | None:
        """PN(c_A, y): among the data's rows with the outcome, the share that satisfy the rule."""
        return self.in_data.both / self.in_data.outcome if self.in_data.outcome else None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule reads."""
        return () if self.factor is None else tuple(dict.fromkeys(self.factor.columns()))

    @property
    def words(self) -> str:
        """The conditions in words; "always" where there is none."""
        return in_words(self.factor)

    @property
    def sheet(self) -> Sheet:
        """The rule, its three measures and what they mean."""
        what = f"“{self.outcome}”"
        rows = (
            ("precision", self.precision, f"of {self._judged}, those with the outcome"),
            ("coverage", self.coverage, "of the data's rows, those that meet the rule"),
            ("necessity", self.necessity, "of the data's rows with the outcome, those that do"),
        )
        columns = (Column("measure"), Column("share", "share"), Column("what it is a share of"))
        return Sheet(
            f"If {self.words}, then {what}" if self.factor is not None else f"Always {what}",
            lead=(self._summed_up,),
            panels=(Panel(columns, rows),),
            notes=self._notes,
        )

    def to_frame(self) -> Any:
        """The rule as a pandas frame of one row."""
        return to_frame((self,))

    @property
    def _judged(self) -> str:
        rows = count(self.n, "row")
        if self.distribution == "perturbed":
            return f"{rows} of data changed to meet the rule"
        where = "data" if self.distribution == "observed" else "the sample"
        return f"{rows} of {where} that meet the rule"

    @property
    def _summed_up(self) -> str:
        if self.interval is None:
            return "No row meets the rule, so nothing is known of its precision."
        low, high = map(percent, self.interval)
        return (
            f"{percent(self.precision)} of the rows that meet it have this outcome (95% interval "
            f"{low} to {high}). {percent(self.coverage)} of the data meet it."
        )

    @property
    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.p_value is not None:
            test = f"Binomial test of precision {show(self.tau)} or less: p = {self.p_value:.2g}."
            notes.append(test)
        if self.minimal_for is not None and self.minimal_for[0] < self.minimal_for[1]:
            low, high = map(three_digits, self.minimal_for)
            notes.append(
                f"For a precision above {low} and up to {high} nothing can be left out of it."
            )
        return tuple(notes)


def to_frame(rules: tuple[Rule, ...]) -> Any:
    """Rules as a pandas frame, a row each."""
    import pandas as pd

    columns = "rule precision low high n p_value coverage necessity"
    none = None, None
    rows = [
        (r.words, r.precision, *(r.interval or none), r.n, r.p_value, r.coverage, r.necessity)
        for r in rules
    ]
    return pd.DataFrame(rows, columns=columns.split())
