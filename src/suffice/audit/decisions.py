"""Arguments that audits share: explanations, names of decisions (`ids`), group labels (`by`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from suffice.errors import InputError, did_you_mean
from suffice.explainer import Explainer
from suffice.explanation import Explanation, all_players
from suffice.formatting import join_first
from suffice.tables import Table, as_scalar
from suffice.tables.cells import is_missing
from suffice.typing import Counts, Scalar
from suffice.validation import call_user_function

if TYPE_CHECKING:
    from suffice.audit.decision_counts import DecisionCounts

D = TypeVar("D")


class DecisionSequence(Generic[D]):
    """Mixin of results that are read as a sequence of their decisions."""

    decisions: tuple[D, ...]

    def __len__(self) -> int:
        return len(self.decisions)

    def __getitem__(self, at: int) -> D:
        return self.decisions[at]

    def __iter__(self) -> Iterator[D]:
        return iter(self.decisions)


DEFAULT_ROWS = 20
"""Default number of decisions to retrain models or grade tools on, since each takes long."""

GroupBy = str | Callable[[Explanation], Any] | Sequence[Any] | None
"""Grouping of decisions: a column of the input, a function of the explanation, or a label each."""

RowGroupBy = str | Callable[[Mapping[str, Any]], Any] | Sequence[Any] | None
"""Grouping of rows: a column of the table, whether or not the model uses it; a function of the
row's values by column; or a label for each row."""

_MAX_GROUPS = 50
"""Limit on groups: every two are compared, so that comparisons grow with the square."""


def as_explanations(given: Any, argument: str = "explanations") -> Sequence[Explanation]:
    """Return one explanation or several as a sequence; a stored batch is not read into memory.

    >>> as_explanations([])
    Traceback (most recent call last):
    suffice.errors.InputError: explanations: got none; allowed: at least one explanation.
    """
    if isinstance(given, Explanation):
        return (given,)
    allowed = "an explanation, a list of them, or suffice.load(folder)"
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(argument, given, allowed)
    # A stored batch is a sequence that reads each explanation on demand, so it is not copied.
    found = given if isinstance(given, Sequence) else list(given)
    if not len(found):
        raise InputError(argument, "none", "at least one explanation")
    if not isinstance(found[0], Explanation):
        raise InputError(argument, f"a list of {type(found[0]).__name__}", allowed)
    return found


def check_explainer(
    given: object, allowed: str = "an Explainer: the model with its data"
) -> Explainer:
    """Return the argument `explainer`, or raise unless it is an Explainer."""
    if not isinstance(given, Explainer):
        raise InputError("explainer", given, allowed, "Pass Explainer(model, data).")
    return given


def input_values(e: Explanation) -> dict[str, Scalar]:
    """Return the input's values by column."""
    return {name: value for player in all_players(e) for name, value in player.values.items()}


def evenly_spaced(few: int, n: int) -> Counts:
    """Return the numbers of `few` of n rows, spread evenly; of all rows if there are no more.

    >>> evenly_spaced(3, 11).tolist(), evenly_spaced(3, 2).tolist()
    ([0, 5, 10], [0, 1])
    """
    return np.unique(np.linspace(0, n - 1, min(few, n)).round().astype(np.int64))


def as_label(value: Any) -> str:
    """Return the name of a group or decision; missing values of all kinds are one group.

    >>> as_label("own"), as_label(True), as_label(1.0), as_label(123456.71), as_label(float("nan"))
    ('own', 'yes', '1', '123456.71', 'missing')
    """
    scalar = as_scalar(value)
    if scalar is None:
        return "missing"
    if isinstance(scalar, bool):
        return "yes" if scalar else "no"
    if isinstance(scalar, float):
        # Integer columns become floats where a value is missing: group "1" stays group "1".
        return repr(scalar + 0.0).removesuffix(".0")  # -0.0 is 0.0
    return str(scalar)


def group_function(by: GroupBy, n: int) -> Callable[[DecisionCounts], str | None]:
    """Return a function from one of n decisions to its group label; it returns None without `by`.

    The function raises `InputError` when it meets more groups than the limit.
    """
    if by is None:
        return lambda decision: None
    label_of = _label_function(by, n)
    seen: set[str] = set()

    def group(decision: DecisionCounts) -> str:
        label = label_of(decision)
        # Counted as they come: a function of the explanation may give a group for every decision.
        seen.add(label)
        if len(seen) > _MAX_GROUPS:
            raise _too_many_groups(f"more than {_MAX_GROUPS}")
        return label

    return group


def _label_function(by: Any, n: int) -> Callable[[DecisionCounts], str]:
    if isinstance(by, str):

        def value_of(decision: DecisionCounts) -> str:
            values = decision.inputs
            if by not in values:
                allowed = f"a column of the inputs: {join_first(map(repr, values))}"
                raise InputError("by", repr(by), allowed)
            return as_label(values[by])

        return value_of
    if callable(by):
        what = "a function of an explanation"
        return lambda decision: as_label(call_user_function("by", by, what, decision.explanation))
    also = "a column of the inputs, a function of an explanation, or labels, "
    labels = [as_label(label) for label in _one_per_item("by", by, n, "decisions", also)]
    if len(set(labels)) > _MAX_GROUPS:
        raise _too_many_groups(f"{len(set(labels)):,}")
    return lambda decision: labels[decision.number]


def _too_many_groups(number: str) -> InputError:
    hint = "A function makes fewer: by=lambda row: row['age'] >= 40."
    return InputError("by", f"{number} groups", f"at most {_MAX_GROUPS}", hint)


def row_groups(by: RowGroupBy, table: Table) -> list[str | None]:
    """Return the group label of each row; None for every row without `by`."""
    if by is None:
        return [None] * len(table)
    labels = [as_label(group) for group in _group_values(by, table)]
    if len(set(labels)) > _MAX_GROUPS:
        raise _too_many_groups(f"{len(set(labels)):,}")
    return [*labels]


def _group_values(by: Any, table: Table) -> Iterable[Any]:
    if isinstance(by, str):
        if by not in table.names:
            hint = did_you_mean(by, table.names)
            raise InputError("by", repr(by), "a column of X, a function, or labels", hint)
        return table.column(table.names.index(by))
    if callable(by):
        columns = [table.column(j) for j in range(len(table.names))]
        rows = (
            dict(zip(table.names, map(as_scalar, cells), strict=True))
            for cells in zip(*columns, strict=True)
        )
        allowed = "a function of a row, {column: value}, that gives its group"
        return [
            call_user_function("by", by, allowed, row, about=f"for row {i}")
            for i, row in enumerate(rows)
        ]
    return _one_per_item("by", by, len(table), "rows", "a column of X, a function, or labels, ")


def decision_names(decisions: Sequence[Any], ids: Sequence[Any] | None) -> list[str]:
    """Return the name of each decision: from `ids`, else its stored id, else its number."""
    if ids is not None:
        return _read_ids(ids, len(decisions), "decisions")
    return [as_label(name) for name in getattr(decisions, "ids", range(len(decisions)))]


def row_names(ids: Sequence[Any] | None, n: int) -> list[str]:
    """Return the name of each row: from `ids`, else its number."""
    return _read_ids(range(n) if ids is None else ids, n, "rows")


def _read_ids(ids: Any, n: int, of: str) -> list[str]:
    names = _one_per_item("ids", ids, n, of, "None, or names, ")
    if any(map(is_missing, names)):
        raise InputError("ids", "no name for some of them", f"one for each of the {n:,} {of}")
    return [as_label(name) for name in names]


def _one_per_item(argument: str, given: Any, n: int, of: str, also: str) -> list[Any]:
    """Return the values as a list, or raise unless there are exactly n."""
    each = f"one for each of the {n:,} {of}"
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        got = repr(given) if isinstance(given, str) else given
        raise InputError(argument, got, f"{also}{each}")
    found = list(np.atleast_1d(given) if isinstance(given, np.ndarray) else given)
    if len(found) != n:
        what = "names" if argument == "ids" else "labels"
        raise InputError(argument, f"{len(found):,} {what}", each)
    return found
