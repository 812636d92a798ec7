"""Requests of the explorer as typed structs, from which its OpenAPI description is made."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from suffice.question_fields import ContrastFields, QuestionFields
from suffice.typing import Scalar


class _Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base class of requests: a field with an unknown name is an error."""


class RowCondition(_Request, frozen=True):
    """A condition on one column; "is missing" needs no `value`."""

    column: str
    test: Literal["is", "is not", "at least", "at most", "contains", "is missing"]
    value: Scalar = None


RowConditions = Annotated[list[RowCondition], msgspec.Meta(max_length=50)]
"""Conditions of one request. Each reads a column, so thousands would take seconds."""


class RowsRequest(_Request, frozen=True):
    """Request for a page of the table."""

    first: int = 0
    count: int = 50
    sort: str | None = None
    """A column, or "prediction"."""
    descending: bool = False
    where: RowConditions = []
    prediction: str | None = None
    """Only rows with this prediction, as the page shows it."""
    model: str | None = None


class RowRequest(_Request, frozen=True):
    """Request for the values of one row of the table."""

    row: int


class ContrastRequest(ContrastFields, frozen=True, kw_only=True):
    """The outcome to explain, and the references: all rows, or those that meet conditions."""

    references: Literal["opposite", "all"] | RowConditions = "opposite"  # type: ignore[assignment]
    groups: dict[str, list[str]] | Literal["auto"] = msgspec.field(default_factory=dict)
    """Columns that go together, by the name of the group; "auto" joins correlated ones."""
    causal: bool = False
    """Whether changes have effects, by the graph of the server."""
    mask: Literal["auto", "corpus"] = "auto"
    """What replaces words of a text: a token that makes a contrast, or words of other texts."""


class Input(_Request, frozen=True):
    """An input: a row of the table with some values changed, or all values, or a text."""

    row: int | None = None
    values: dict[str, Scalar] = {}
    text: str | None = None


class ChangeRules(_Request, frozen=True):
    """Rules on changes in addition to those that the server declares, by names of features."""

    immutable: list[str] = []
    actionable: list[str] | None = None
    increasing: list[str] = []
    decreasing: list[str] = []


class PredictRequest(_Request, frozen=True):
    """Request for the prediction of one input."""

    input: Input
    model: str | None = None


class ExplainRequest(QuestionFields, frozen=True, kw_only=True):
    """Request for the explanation of one input."""

    input: Input
    model: str | None = None
    contrast: ContrastRequest = ContrastRequest()
    changes: ChangeRules = ChangeRules()
    """Rules for the cheapest change in the headline; the sets do not depend on them."""
    time_limit: float | None = None


class ShapleyRequest(_Request, frozen=True):
    """Request for the Shapley values of one input."""

    input: Input
    model: str | None = None
    contrast: ContrastRequest = ContrastRequest()
    time_limit: float | None = None


class RulesRequest(_Request, frozen=True):
    """Request for the rules of one input."""

    input: Input
    model: str | None = None
    contrast: ContrastRequest = ContrastRequest()
    tau: float = 0.9
    alpha: float | None = None
    max_size: int | None = None
    time_limit: float | None = None


class RecourseOptionsRequest(_Request, frozen=True):
    """Request for the cheapest recourse options of one input, under constraints."""

    input: Input
    model: str | None = None
    contrast: ContrastRequest = ContrastRequest()
    changes: ChangeRules = ChangeRules()
    tau: float | None = None
    ranges: dict[str, tuple[float | None, float | None]] = {}
    max_cost: float | None = None
    max_size: int | None = None
    max_options: int | None = 20
    values: Literal["observed", "grid"] = "observed"
    time_limit: float | None = None
