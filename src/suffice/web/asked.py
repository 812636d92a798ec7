"""What the explorer can be asked, as it arrives: typed, and refused in words where it is not so."""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec

from suffice.errors import InputError
from suffice.typing import Scalar

__all__ = [
    "AskedRecourse",
    "AskedRow",
    "AskedRows",
    "Condition",
    "Contrast",
    "ExplainInput",
    "Input",
    "PredictInput",
    "read",
]


class _Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is not known is refused: nothing is accepted and ignored."""


class Condition(_Asked, frozen=True):
    """A condition on one column; `value` is not looked at by "is missing"."""

    column: str
    test: Literal["is", "is not", "at least", "at most", "contains", "is missing"]
    value: Scalar = None


class AskedRows(_Asked, frozen=True):
    """A page of the table."""

    first: int = 0
    count: int = 50
    sort: str | None = None
    """A column, or "prediction"."""
    descending: bool = False
    where: list[Condition] = []
    prediction: str | None = None
    """Only rows with this prediction, as it is shown."""
    model: str | None = None


class AskedRow(_Asked, frozen=True):
    """One row of the table."""

    row: int


class Contrast(_Asked, frozen=True):
    """What an input is held against, and what counts as its outcome."""

    references: Literal["opposite", "all"] | list[Condition] = "opposite"
    n_references: int | None = None
    outcome: str | None = None
    """A class, as it is shown; None: the one predicted."""
    at_least: float | None = None
    at_most: float | None = None
    groups: dict[str, list[str]] = {}
    causal: bool = False
    """Do changes have their consequences, by the graph that was given?"""


class Input(_Asked, frozen=True):
    """A row of the table, with values changed; or all of its values; or a text."""

    row: int | None = None
    values: dict[str, Scalar] = {}
    text: str | None = None


class PredictInput(_Asked, frozen=True):
    """One input to be predicted."""

    input: Input
    model: str | None = None


class ExplainInput(_Asked, frozen=True):
    """One input to be explained."""

    input: Input
    model: str | None = None
    contrast: Contrast = Contrast()
    tau: float = 0.9
    alpha: float | None = None
    adjust: str = "none"
    max_size: int | None = None
    search: str = "auto"
    time_limit: float | None = None


class AskedRecourse(_Asked, frozen=True):
    """The cheapest ways to another outcome, under constraints."""

    input: Input
    model: str | None = None
    contrast: Contrast = Contrast()
    tau: float | None = None
    immutable: list[str] = []
    increasing: list[str] = []
    decreasing: list[str] = []
    ranges: dict[str, tuple[float | None, float | None]] = {}
    max_cost: float | None = None
    max_size: int | None = None
    max_options: int | None = 20
    values: Literal["observed", "grid"] = "observed"
    time_limit: float | None = None


_Kind = TypeVar("_Kind")


def read(body: bytes, kind: type[_Kind]) -> _Kind:
    """What was sent, or an error that says what is wrong with it.

    >>> read(b'{"count": "many"}', AskedRows)
    Traceback (most recent call last):
    suffice.errors.InputError: request: got Expected `int`, got `str` - at `$.count`; ...
    """
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except msgspec.DecodeError as error:
        allowed = f"JSON of {kind.__name__}, as /api/openapi.json describes it"
        raise InputError("request", str(error), allowed) from error
