"""The rows of a chunk, explained one by one: what comes out for each is an answer or its error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from suffice.errors import SufficeError
from suffice.explanation import Explanation
from suffice.tables import Table

__all__ = ["Explains", "explain_rows"]


class Explains(Protocol):
    """What an explainer is to those who explain many rows."""

    @property
    def explain(self) -> Callable[..., Explanation]:
        """Explain one row."""
        ...


def explain_rows(
    explainer: Explains, rows: Sequence[Table], question: dict[str, Any]
) -> list[Explanation | SufficeError]:
    """One for each row, in order; the fault of one row is no other's."""
    found: list[Explanation | SufficeError] = []
    for row in rows:
        try:
            found.append(explainer.explain(row, **question))
        except SufficeError as error:
            found.append(error)
    return found
