"""What a node may be set to: any number, whole numbers, or labels that were seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.context.causal.columns import Column, Labels, as_values, is_missing
from suffice.context.causal.fitted import Categorical
from suffice.context.causal.mechanisms import Mechanism, Root
from suffice.errors import InputError
from suffice.typing import Values

__all__ = ["Domain", "find_domains", "truths_like"]


@dataclass(frozen=True, eq=False)
class Domain:
    """The values of one node, as far as they are known."""

    node: str
    labels: Labels | None = None
    numbers: bool = False
    whole: bool = False

    def checked(self, values: Values, argument: str) -> Values:
        """The values, labels as they were first seen; an error for what the node cannot be."""
        if is_missing(values).any():
            allowed = "complete values"
            raise InputError(argument, f"a missing value for {self.node!r}", allowed)
        if self.labels is not None:
            return np.asarray(self.labels.values[self.labels.codes(values, self.node, argument)])
        if self.numbers and values.dtype.kind not in "biuf":
            raise InputError(argument, f"{self.node} = {values[0]!r}", "a number")
        if self.whole and (values != np.rint(values)).any():
            got = values[np.argmax(values != np.rint(values))]
            allowed = f"whole numbers, as {self.node!r} holds by its dtype"
            raise InputError(argument, f"{self.node} = {got}", allowed)
        return values

    def spread(self, value: Any, n: int, argument: str = "do") -> Values:
        """A value, or one per row, that the node is set to, as n values."""
        given = as_values(value)
        if given.ndim > 1 or (given.ndim == 1 and len(given) != n):
            allowed = f"one value, or one for each of {n} rows"
            raise InputError(argument, f"shape {given.shape} for {self.node!r}", allowed)
        return self.checked(np.repeat(given, n) if given.ndim == 0 else given, argument)


def find_domains(
    mechanisms: Mapping[str, Mechanism], columns: Mapping[str, Column]
) -> dict[str, Domain]:
    """Read each node's domain off the data, else off its mechanism."""
    out = {}
    for node, mechanism in mechanisms.items():
        column = columns.get(node)
        if column is not None:
            out[node] = Domain(node, column.labels, column.labels is None, column.whole)
        elif isinstance(mechanism, Categorical):
            out[node] = Domain(node, mechanism.labels)
        else:
            out[node] = Domain(node, _root_labels(mechanism))
    return out


def _root_labels(mechanism: Mechanism) -> Labels | None:
    """The values of a root, where they are labels: any other number can be thought of as well."""
    support = mechanism.support() if isinstance(mechanism, Root) else None
    return Labels(support[0]) if support and support[0].dtype.kind in "Ob" else None


def truths_like(values: Values, natural: Callable[[], Values]) -> Values:
    """0 and 1 as truth values, where the node's own values are: `~1` is not what is meant."""
    if values.dtype.kind in "iuf" and np.isin(values, [0, 1]).all() and natural().dtype == bool:
        return values.astype(bool)
    return values
