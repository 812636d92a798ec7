"""`Target`: a model and an outcome (class, threshold, band, versus) as a Boolean function f.

The model is the user's, and is only called. The outcome defines which of its answers count as y: a
class, a class rather than a foil, a threshold, a band around a prediction, any predicate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Number
from typing import Any, Literal, Protocol, cast, runtime_checkable

import numpy as np

from suffice import validation as checks
from suffice.errors import InputError, short_repr
from suffice.formatting import plural
from suffice.tables.cells import (
    equals_label,
    label_index,
    label_text,
    unknown_class_error,
    unwrap_label,
)
from suffice.tables.table import Table
from suffice.typing import BoolVector, Values


@dataclass(frozen=True)
class PredictionScore:
    """The number that stands beside a prediction: how sure the model is, or the value it gives."""

    value: float
    kind: Literal["probability", "score", "value"]
    """Probability of the predicted class, or its score on the model's scale (higher is surer), or
    the value itself of a model that returns numbers."""


@runtime_checkable
class SupportsPredict(Protocol):
    """Protocol of the least that a target needs of a model."""

    def predict(self, rows: Table) -> Values:
        """Return one label or value per row."""
        ...


class Model(SupportsPredict, Protocol):
    """Protocol of a wrapped model: labels or values per row, perhaps scores per class."""

    classes: tuple[Any, ...] | None
    """The labels it can give; None for a regressor or a score."""

    @property
    def has_scores(self) -> bool:
        """True if the model has a function that returns scores."""
        ...

    def scores(self, rows: Table) -> Values:
        """Return one score per row and class."""
        ...

    def prediction_scores(
        self, rows: Table, predictions: Sequence[Any], scores: Values | None = None
    ) -> list[PredictionScore | None]:
        """Return the score beside each row's prediction; None if the model has none."""
        ...


@dataclass(frozen=True)
class Event:
    """Boolean function of the model's predictions, with its text and the text of its negation."""

    text: str
    negation: str
    holds: Callable[[Values], BoolVector]
    needs_scores: bool = False
    kind: Literal["class", "at_least", "at_most", "within", "versus", "custom"] = "custom"
    parameters: tuple[Any, ...] = ()
    """Parameters of `holds`, in the order of the kinds: (label,), (threshold,), (threshold,),
    (prediction, delta), (two numbers of classes), ()."""

    def describe(self, y: bool) -> str:
        """Return the text of the event, or of its negation."""
        return self.text if y else self.negation


@dataclass(frozen=True)
class Outcome:
    """Outcome before the model and the input are known; made by the functions below."""

    name: str
    bind: Callable[[Model, Any], Event]
    """Returns the event for a model and its prediction of the input."""
    depends_on_input: bool = False
    """True if the event depends on the input, as a band around its prediction does."""

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Target:
    """f: rows -> Booleans.

    >>> from suffice import make_target
    >>> from suffice.tables import as_table
    >>> target = make_target(lambda rows: rows.sum(axis=1) > 1, [[0, 1], [1, 1]], True)
    >>> target(as_table([[1, 1], [0, 0]])).tolist()
    [True, False]
    """

    model: SupportsPredict
    event: Event

    @property
    def wrapped(self) -> Model:
        """The model of an explainer's target, which also has classes and scores."""
        return cast(Model, self.model)

    def __post_init__(self) -> None:
        hint = "make_target(model, data, outcome) makes a target of any model."
        model: object = self.model
        if isinstance(model, type) or not isinstance(model, SupportsPredict):
            raise InputError("model", model, "a model whose predict takes a Table", hint)
        event: object = self.event
        if not isinstance(event, Event):
            raise InputError("event", event, "an Event", hint)

    def __call__(self, rows: Table) -> BoolVector:
        """Return f(z) for each row."""
        return self.read(self.answers(rows))

    def answers(self, rows: Table) -> Values:
        """Return the model's answers that the event reads: scores or predictions."""
        given: object = rows
        if not isinstance(given, Table):
            raise InputError("rows", given, "a Table", "suffice.tables.as_table(frame) makes one.")
        return self.wrapped.scores(rows) if self.event.needs_scores else self.model.predict(rows)

    def read(self, answers: Values) -> BoolVector:
        """Read the model's answers as Booleans."""
        given: object = answers
        if not isinstance(given, np.ndarray) or given.ndim not in (1, 2):
            raise InputError("answers", given, "an array with an answer for each row")
        truth = np.asarray(self.event.holds(answers))
        # A predicate of the user may return anything, and a wrong shape would be broadcast
        # silently.
        if truth.shape != (len(answers),) or truth.dtype != bool:
            got = f"{truth.dtype} of shape {truth.shape} for {plural(len(answers), 'row')}"
            raise InputError("outcome", got, "a predicate giving one Boolean per row")
        return truth


def at_least(threshold: float) -> Outcome:
    """Return the outcome that the model's value is >= a threshold.

    >>> at_least(700)
    at_least(700)
    """
    return _threshold("at_least", threshold)


def at_most(threshold: float) -> Outcome:
    """Return the outcome that the model's value is <= a threshold.

    >>> at_most(2.5)
    at_most(2.5)
    """
    return _threshold("at_most", threshold)


def within(delta: float) -> Outcome:
    """Return the outcome that the model's value stays within `delta` of its value at the input.

    >>> within(25).depends_on_input
    True
    """
    width = checks.check_number("delta", delta, "a positive number", above=0)
    return Outcome(
        f"within({_format_exact(width)})", partial(_bind_band, width), depends_on_input=True
    )


def versus(label: object, foil: object) -> Outcome:
    """Return the outcome that the model scores the class `label` above the class `foil`.

    Equal scores count for the class that the model lists first, as in its own `predict`; so do rows
    for which the model scores neither class.

    >>> versus("cat", "dog")
    versus('cat', 'dog')
    """
    name = f"versus({short_repr(label)}, {short_repr(foil)})"
    return Outcome(name, partial(_bind_versus, label, foil))


def satisfies(predicate: Callable[[Values], Any], name: str = "the predicate holds") -> Outcome:
    """Return the outcome that a function of the array of predictions defines.

    >>> import numpy as np
    >>> from suffice import Explainer
    >>> data = np.array([[1.0, 0.0], [3.0, 2.0], [8.0, 1.0]])
    >>> whole = satisfies(lambda answers: answers % 2 == 0, "an even number")
    >>> e = Explainer(lambda rows: rows.sum(axis=1), data, outcome=whole).explain([1.0, 1.0])
    >>> e.outcome
    'an even number'
    """
    if not callable(predicate):
        raise InputError("predicate", predicate, _PREDICATE_ALLOWED)
    if not isinstance(name, str):
        raise InputError("name", name, "a text that says what holds")
    return Outcome(f"satisfies({name!r})", partial(_bind_predicate, predicate, name))


def event_for(outcome: object, model: Model, prediction: Any, argument: str = "outcome") -> Event:
    """Return the event that `outcome` means for this model, at an input with this prediction.

    `argument` is the argument's name, for errors.
    """
    if isinstance(outcome, Outcome):
        return outcome.bind(model, prediction)
    if model.classes is None:
        raise _missing_event_error(outcome, model, prediction, argument)
    # A callable's classes are those seen so far, and the input may be the first of its class.
    known, here = model.classes, unwrap_label(prediction)
    if label_index(known, here) is None:
        known = (*known, here)
    # An outcome of None is the class predicted for this input.
    number = _class_index(known, here if outcome is None else outcome, argument)
    others = known[:number] + known[number + 1 :]
    if not others:
        raise InputError(
            "model",
            f"a model that gives one class, {short_repr(known[number])}, to every row",
            "two classes or more",
            "Nothing can keep or flip its prediction.",
        )
    return class_event(known[number], label_text(others[0]) if len(others) == 1 else None)


def class_event(label: Any, negation: str | None = None) -> Event:
    """Return the event that the model predicts `label`, one of its classes.

    >>> class_event("granted").negation
    'not granted'
    """
    text = label_text(label)
    return Event(
        text,
        negation or f"not {text}",
        lambda answers: equals_label(answers, label),
        kind="class",
        parameters=(label,),
    )


def needs_input(outcome: object) -> bool:
    """Return whether the outcome needs an input: its predicted class, or a band around its value.

    >>> needs_input(None), needs_input(within(3)), needs_input(at_least(3)), needs_input("granted")
    (True, True, False, False)
    """
    return outcome is None or (isinstance(outcome, Outcome) and outcome.depends_on_input)


_PREDICATE_ALLOWED = "a function from the model's answers to Booleans"


def _threshold(kind: Literal["at_least", "at_most"], given: float) -> Outcome:
    threshold = checks.check_number("threshold", given, "a finite number")
    return Outcome(f"{kind}({_format_exact(threshold)})", partial(_bind_threshold, kind, threshold))


def _bind_threshold(
    kind: Literal["at_least", "at_most"], threshold: float, model: Model, prediction: Any
) -> Event:
    _require_values(model, f"{kind}({_format_exact(threshold)})")
    sign, other = ("≥", "<") if kind == "at_least" else ("≤", ">")
    compare = np.greater_equal if kind == "at_least" else np.less_equal
    return Event(
        f"prediction {sign} {threshold:g}",
        f"prediction {other} {threshold:g}",
        lambda answers: np.asarray(compare(answers, threshold)),
        kind=kind,
        parameters=(threshold,),
    )


def _bind_band(delta: float, model: Model, prediction: Any) -> Event:
    _require_values(model, f"within({_format_exact(delta)})")
    # Fixed now: for each input the band is another event.
    at = float(prediction)
    return Event(
        f"prediction within {delta:g} of {at:g}",
        f"prediction more than {delta:g} from {at:g}",
        lambda answers: np.abs(_as_floats(answers) - at) <= delta,
        kind="within",
        parameters=(at, delta),
    )


def _bind_versus(label: object, foil: object, model: Model, prediction: Any) -> Event:
    classes = model.classes
    if classes is None:
        raise InputError("outcome", "versus for a model without classes", "at_least(t), …")
    first, second = (_class_index(classes, given) for given in (label, foil))
    if first == second:
        raise InputError(
            "outcome", f"versus({short_repr(label)}, {short_repr(foil)})", "two different classes"
        )

    def ahead(scores: Values) -> BoolVector:
        # Ties as in argmax: the class that the model lists first wins.
        more, same = (by(scores[:, first], scores[:, second]) for by in (np.greater, np.equal))
        return np.asarray(more | (same & (first < second)))

    here, there = label_text(classes[first]), label_text(classes[second])
    return Event(
        f"{here} rather than {there}",
        f"{there} rather than {here}",
        ahead,
        needs_scores=True,
        kind="versus",
        parameters=(first, second),
    )


def _bind_predicate(
    predicate: Callable[[Values], Any], name: str, model: Model, prediction: Any
) -> Event:
    def holds(answers: Values) -> BoolVector:
        return np.asarray(
            checks.call_user_function("outcome", predicate, _PREDICATE_ALLOWED, answers)
        )

    return Event(name, f"not ({name})", holds)


def _class_index(classes: tuple[Any, ...], label: object, argument: str = "outcome") -> int:
    number = label_index(classes, label)
    if number is None:
        raise unknown_class_error(argument, label, classes)
    return number


def _missing_event_error(
    outcome: object, model: Model, prediction: Any, argument: str
) -> InputError:
    hint = "A number has to be read as yes or no: for example outcome=suffice.at_least(0.5)."
    if _is_network(model):  # its one number is mostly a logit, which 0.5 would misread
        hint = "A number has to be read as yes or no: outcome=suffice.at_least(0) if it is a logit"
        hint += ", at_least(0.5) if it is a probability." if 0 <= prediction <= 1 else "."
    # Labels 0 and 1 of a function are read as numbers when they come as floats.
    if float(prediction).is_integer():
        hint += (
            " If its whole numbers stand for classes, name them in their order: "
            'suffice.adapt(model, classes=("no", "yes")).'
        )
    return InputError(
        argument,
        "no event, and a model that returns numbers" if outcome is None else outcome,
        "at_least(t), at_most(t), within(delta) or satisfies(predicate)",
        hint,
    )


def _is_network(model: Model) -> bool:
    kinds = type(getattr(model, "original", None)).__mro__
    return any(kind.__module__.partition(".")[0] in ("torch", "keras") for kind in kinds)


def _require_values(model: Model, outcome: str) -> None:
    if model.classes is not None and not all(isinstance(c, Number) for c in model.classes):
        raise InputError(
            "outcome",
            f"{outcome} for a model that returns classes",
            "a class, or versus(label, foil)",
            "To threshold a probability pass a callable that returns it, "
            "e.g. lambda X: model.predict_proba(X)[:, 1].",
        )


def _as_floats(answers: Values) -> Values:
    """Return decimals as floats, so that floats can be subtracted; other numbers unchanged."""
    return answers.astype(np.float64) if answers.dtype == object else answers


def _format_exact(number: float) -> str:
    """Return a number as a user would type it.

    >>> _format_exact(700.0), _format_exact(0.1)
    ('700', '0.1')
    """
    return repr(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
