"""The target function f (Sect. 3): a model and an outcome, together a Boolean question.

The model is the user's own and is only ever called. The outcome says which of its answers count as
y: a class, a class rather than a foil, a threshold, a band around a prediction, any predicate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from suffice.errors import InputError, did_you_mean
from suffice.tables.table import Table, plain
from suffice.typing import BoolVector, Values

__all__ = [
    "Event",
    "Model",
    "Outcome",
    "Target",
    "at_least",
    "at_most",
    "event_for",
    "satisfies",
    "versus",
    "within",
]


class Model(Protocol):
    """What the target needs of a model: labels or values per row, perhaps scores per class."""

    classes: tuple[Any, ...] | None
    """The labels it can give; None for a regressor or a score."""

    def predict(self, rows: Table) -> Values:
        """One label or value per row."""
        ...

    def scores(self, rows: Table) -> Values:
        """One score per row and class."""
        ...


@dataclass(frozen=True)
class Event:
    """A Boolean reading of the model's answers, and how to say it."""

    says: str
    denies: str
    holds: Callable[[Values], BoolVector]
    needs_scores: bool = False
    kind: str = "custom"
    """"class", "at_least", "at_most", "within", "versus" or "custom"."""
    parameters: tuple[Any, ...] = ()
    """What fixes `holds`, for those who know the kind: (label,), (threshold,), (threshold,),
    (prediction, delta), (two numbers of classes), ()."""

    def describe(self, y: bool) -> str:
        """The event or its negation, in words."""
        return self.says if y else self.denies


@dataclass(frozen=True)
class Outcome:
    """An outcome that still has to see the model and the input: made by the functions below."""

    kind: str
    bind: Callable[[Model, Any], Event]
    depends_on_input: bool = False
    """Is it about the model's answer at the input, so that it means nothing without one?"""

    def __repr__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class Target:
    """f: rows -> truth values."""

    model: Model
    event: Event

    def __call__(self, rows: Table) -> BoolVector:
        """f(z) for each row."""
        answers = self.model.scores(rows) if self.event.needs_scores else self.model.predict(rows)
        return self.read(answers)

    def read(self, answers: Values) -> BoolVector:
        """Read the model's answers as truth values."""
        truth = np.asarray(self.event.holds(answers))
        if truth.shape != (len(answers),) or truth.dtype != bool:
            got = f"{truth.dtype} of shape {truth.shape}"
            raise InputError("outcome", got, "a predicate giving one truth value per row")
        return truth


def at_least(threshold: float) -> Outcome:
    """The model's value is >= a threshold.

    >>> at_least(700)
    at_least(700)
    """
    return _threshold("at_least", "≥", "<", threshold)


def at_most(threshold: float) -> Outcome:
    """The model's value is <= a threshold."""
    return _threshold("at_most", "≤", ">", threshold)


def within(delta: float) -> Outcome:
    """The model's value stays within `delta` of its value at the input."""
    _check_number("delta", delta, positive=True)

    def bind(model: Model, prediction: Any) -> Event:
        _require_values(model, f"within({delta!r})")
        at = float(prediction)
        says = f"prediction within {delta:g} of {at:g}"
        denies = f"prediction more than {delta:g} from {at:g}"
        return Event(
            says,
            denies,
            lambda answers: np.abs(answers - at) <= delta,
            kind="within",
            parameters=(at, float(delta)),
        )

    return Outcome(f"within({delta!r})", bind, depends_on_input=True)


def versus(label: object, foil: object) -> Outcome:
    """This class rather than that one: which of the two does the model score higher?

    Equal scores count for whichever class the model lists first, as in its own `predict`.
    """

    def bind(model: Model, prediction: Any) -> Event:
        classes = _classes(model, "versus")
        first, second = (_class_number(classes, c) for c in (label, foil))
        if first == second:
            raise InputError("outcome", f"versus({label!r}, {foil!r})", "two different classes")

        def holds(scores: Values) -> BoolVector:
            ahead = scores[:, first] > scores[:, second]
            return np.asarray(ahead | ((scores[:, first] == scores[:, second]) & (first < second)))

        return Event(
            f"{label} rather than {foil}",
            f"{foil} rather than {label}",
            holds,
            needs_scores=True,
            kind="versus",
            parameters=(first, second),
        )

    return Outcome(f"versus({label!r}, {foil!r})", bind)


def satisfies(predicate: Callable[[Values], Any], name: str = "the predicate holds") -> Outcome:
    """Any property of the model's answers: a function of the array of answers."""

    def bind(model: Model, prediction: Any) -> Event:
        return Event(name, f"not ({name})", lambda answers: np.asarray(predicate(answers)))

    return Outcome(f"satisfies({name!r})", bind)


def event_for(outcome: object, model: Model, prediction: Any, argument: str = "outcome") -> Event:
    """The event that `outcome` means for this model, at an input with this prediction.

    `argument` is what the user calls it.
    """
    if isinstance(outcome, Outcome):
        return outcome.bind(model, prediction)
    if model.classes is None:
        raise InputError(
            argument,
            "no event, and a model that returns numbers" if outcome is None else outcome,
            "at_least(t), at_most(t), within(delta) or satisfies(predicate)",
            "A number has to be read as yes or no: for example outcome=suffice.at_least(0.5).",
        )
    # A callable's classes are those seen so far, and the input may be the first of its class.
    known = tuple(dict.fromkeys((*model.classes, plain(prediction))))
    label = plain(prediction) if outcome is None else outcome
    same_as = prediction if outcome is None else outcome  # dates and enums equal only themselves
    _class_number(known, label, argument)
    others = [c for c in known if c != label]
    if not others:
        raise InputError(
            "model",
            f"a model that gives one class, {label!r}, to every row",
            "two classes or more",
            "Nothing can keep or flip its prediction.",
        )
    denies = str(others[0]) if len(others) == 1 else f"not {label}"
    return Event(
        str(label),
        denies,
        lambda labels: np.asarray(labels == same_as, dtype=bool),
        kind="class",
        parameters=(label,),
    )


def _threshold(kind: str, sign: str, other: str, threshold: float) -> Outcome:
    _check_number("threshold", threshold)

    def bind(model: Model, prediction: Any) -> Event:
        _require_values(model, f"{kind}({threshold!r})")
        compare = np.greater_equal if sign == "≥" else np.less_equal
        return Event(
            f"prediction {sign} {threshold:g}",
            f"prediction {other} {threshold:g}",
            lambda answers: np.asarray(compare(answers, threshold)),
            kind=kind,
            parameters=(float(threshold),),
        )

    return Outcome(f"{kind}({threshold!r})", bind)


def _check_number(argument: str, value: object, positive: bool = False) -> None:
    number = isinstance(value, int | float | np.number) and np.isfinite(value)
    if not number or (positive and not value > 0):  # type: ignore[operator]
        raise InputError(argument, value, "a positive number" if positive else "a finite number")


def _require_values(model: Model, outcome: str) -> None:
    if model.classes is not None and any(isinstance(c, str) for c in model.classes):
        raise InputError(
            "outcome",
            f"{outcome} for a model that returns classes",
            "a class, or versus(label, foil)",
            "To threshold a probability pass a callable that returns it, "
            "e.g. lambda X: model.predict_proba(X)[:, 1].",
        )


def _classes(model: Model, outcome: str) -> tuple[Any, ...]:
    if model.classes is None:
        raise InputError("outcome", f"{outcome} for a model without classes", "at_least(t), …")
    return model.classes


def _class_number(classes: tuple[Any, ...], label: object, argument: str = "outcome") -> int:
    try:
        return classes.index(label)
    except ValueError:
        hint = did_you_mean(label, classes)
        raise InputError(
            argument, f"unknown class {label!r}", "classes of the model", hint
        ) from None
