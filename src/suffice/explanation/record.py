"""The stored form of an explanation: versioned JSON, with a published schema.

Counts are stored, not conclusions: whatever can be asked of an explanation can be asked of one
read back. Reference rows are not stored, save the values of each flip's cheapest change.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from suffice.errors import InputError
from suffice.explanation.subject import Subject
from suffice.inference import Adjustment
from suffice.search.limits import Stop
from suffice.search.profile import Proof
from suffice.typing import Scalar

__all__ = ["ExplanationRecord", "Provenance", "decode", "encode", "explanation_schema"]


class PlayerRecord(msgspec.Struct, frozen=True):
    """A feature or a group, with the input's values by column."""

    name: str
    values: dict[str, Scalar]


class ChangeRecord(msgspec.Struct, frozen=True):
    """The cheapest observed change of some features that flips the outcome."""

    features: list[int]
    cost: float
    values: dict[str, Scalar]


class DrawsRecord(msgspec.Struct, frozen=True):
    """A sample of D: per draw, which players were held (one digit each), and the outcome."""

    held: list[str]
    outcomes: list[bool]


class FoundRecord(msgspec.Struct, frozen=True):
    """A factor found by a search that did not count everything."""

    features: list[int]
    hits: int
    proof: Proof


class FindingsRecord(msgspec.Struct, frozen=True):
    """What such a search found at one τ; `decided` if that is all there is."""

    tau: float
    factors: list[FoundRecord]
    decided: bool
    decided_size: int
    only_at_tau: bool


class Provenance(msgspec.Struct, frozen=True):
    """Where the numbers came from and what they cost."""

    model: str
    evaluator: str
    """What worked out the outcomes: "blackbox", or an engine that knows the model's shape."""
    note: str | None
    """Why no engine served; None where one did or none was wanted."""
    references: str
    n_references: int
    random_state: int
    hybrids: int
    """Hybrids whose outcome is known."""
    rows_predicted: int
    """Rows that the model was really asked about to learn them."""
    seconds: float
    model_seconds: float
    versions: dict[str, str]
    context: str = "values swapped"
    """How hybrids are made of the input and the references."""


class ExplanationRecord(msgspec.Struct, frozen=True, tag_field="format", tag="suffice.explanation"):
    """Everything that an explanation is made of."""

    version: Literal[1]
    prediction: Scalar
    keeps: str
    """The outcome that the input has, in words."""
    flips_to: str
    """The other outcome, in words."""
    tau: float
    alpha: float | None
    adjust: Adjustment
    max_size: int | None
    size_weights: tuple[float, ...] | None
    players: list[PlayerRecord]
    hits: list[list[int]]
    """By size of the held set, then in order of its bit mask: references that keep the outcome.
    -1 where a subset was not visited; a list ends early where the rest was not."""
    keep_findings: FindingsRecord | None
    flip_findings: FindingsRecord | None
    changes: list[ChangeRecord]
    draws: DrawsRecord | None
    stopped: Stop | None
    provenance: Provenance
    flip_hits: list[list[int]] | None = None
    """The same counts of the hybrids that the flip view reads, where it reads others: still
    references that keep the outcome, by the set that is held. None: it reads those of `hits`."""
    flip_draws: DrawsRecord | None = None
    subject: Subject | None = None
    """The text or picture that was explained; None for a row of a table."""


def encode(record: ExplanationRecord) -> str:
    """The JSON text."""
    return msgspec.json.encode(record).decode()


def decode(text: str | bytes) -> ExplanationRecord:
    """Read the JSON text; what is wrong with it is said by field."""
    try:
        return msgspec.json.decode(text, type=ExplanationRecord)
    except msgspec.DecodeError as error:
        hint = "It may be of another version, or not an explanation."
        raise InputError("text", str(error), "JSON written by Explanation.to_json", hint) from error


def explanation_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of `Explanation.to_json`.

    >>> explanation_schema()["$ref"]
    '#/$defs/ExplanationRecord'
    """
    schema = msgspec.json.schema(ExplanationRecord)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
