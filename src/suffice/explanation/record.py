"""The stored form of an explanation: versioned JSON, with a published schema.

Counts are stored, not conclusions: whatever can be asked of an explanation can be asked of one
read back. Reference rows are not stored, save the values of each flip's cheapest change.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from suffice.context.hybrids import ContextKind
from suffice.evaluate import Idle
from suffice.explanation.subject import Subject
from suffice.inference import Adjustment
from suffice.search.findings import Proof
from suffice.search.plan import Plan
from suffice.search.stop import Stop
from suffice.target import OwnScore
from suffice.typing import Scalar, ViewName

__all__ = [
    "ChangeRecord",
    "ContextRecord",
    "DrawsRecord",
    "ExplanationRecord",
    "FindingsRecord",
    "FoundRecord",
    "LeftOutRecord",
    "MaskRecord",
    "PlayerRecord",
    "Provenance",
    "ReferencesRecord",
    "ViewRecord",
]


class PlayerRecord(msgspec.Struct, frozen=True):
    """A feature or a group, with the input's values by column."""

    name: str
    values: dict[str, Scalar]


class LeftOutRecord(msgspec.Struct, frozen=True):
    """A feature that cannot matter for this input and these references, and why."""

    player: PlayerRecord
    reason: Idle


class ChangeRecord(msgspec.Struct, frozen=True):
    """An observed change of some features that flips the outcome."""

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
    covered: tuple[float, float] | None = None
    """How much of the outcome lies in the closure of the factors, and how much there is, where all
    hybrids were counted."""
    decided_share: float | None = None
    """The share of all sets that is decided at τ, where it is known."""


class ContextRecord(msgspec.Struct, frozen=True):
    """How hybrids are made of the input and the references."""

    kind: ContextKind
    words: str


class MaskRecord(msgspec.Struct, frozen=True):
    """How a token was found that takes the place of words, where none was given."""

    token: str
    outcome: str
    """What a text of nothing else comes out as."""
    passed_over: tuple[str, ...]
    """Tokens that come out as the input does, and so make no contrast."""
    known: bool | None
    """Does the model know a word of it? None: it does not tell."""


class ReferencesRecord(msgspec.Struct, frozen=True):
    """What the input was held against."""

    kind: Literal["opposite", "all", "given", "texts", "pictures"]
    """Rows predicted otherwise, the whole data, or rows that the user chose; of a text or a picture
    what takes the place of what is replaced."""
    words: str
    mask: MaskRecord | None = None
    """Of a text whose mask was found, not given."""


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Where the numbers came from and what they cost."""

    model: str
    data: tuple[int, int] | None
    """Rows and columns of the table that references come from; None for a text or a picture."""
    references: ReferencesRecord
    n_references: int
    context: ContextRecord
    cost: Literal["deviations", "weighted", "own"]
    """What a change costs: distances in typical deviations, these weighted, or as a function of
    the user's says."""
    random_state: int
    evaluator: str
    """What worked out the outcomes: "blackbox", or an engine that knows the model's shape."""
    note: str | None
    """Why no engine served; None where one did or none was wanted."""
    hybrids: int
    """Hybrids whose outcome is known."""
    rows_predicted: int
    """Rows that the model was really asked about to learn them."""
    created: datetime
    """When the explanation was made."""
    seconds: float
    model_seconds: float
    versions: dict[str, str]
    plan: Plan | None = None
    """How the search was planned, and what would give more."""


class ExplanationRecord(msgspec.Struct, frozen=True):
    """Everything that an explanation is made of."""

    prediction: Scalar
    score: OwnScore | None
    """How sure the model is of its prediction, or the value that it gives."""
    outcome: str
    """The outcome that the input has, in words."""
    other_outcome: str
    """The outcome that a flip gives, in words."""
    tau: float
    alpha: float | None
    adjust: Adjustment
    max_size: int | None
    size_weights: tuple[float, ...] | None
    players: list[PlayerRecord]
    hits: list[list[int]]
    """By size of the held set, then in order of its bit mask: references that keep the outcome.
    A list ends early where the rest was not visited."""
    keep_findings: FindingsRecord | None
    flip_findings: FindingsRecord | None
    changes: list[ChangeRecord]
    """The cheapest change of each set that is minimal at some threshold."""
    cheapest: ChangeRecord | None
    """The cheapest change of any set that was evaluated."""
    draws: DrawsRecord | None
    stopped: Stop | None
    provenance: Provenance
    flip_hits: list[list[int]] | None = None
    """The same counts of the hybrids that the flip view reads, where it reads others: still
    references that keep the outcome, by the set that is held. None: it reads those of `hits`."""
    flip_draws: DrawsRecord | None = None
    left_out: list[LeftOutRecord] = []
    """Features that cannot matter here: all counts are what they would be with them."""
    subject: Subject | None = None
    """The text or picture that was explained; None for a row of a table."""


class ViewRecord(msgspec.Struct, frozen=True):
    """A view: which one, and of what."""

    view: ViewName
    explanation: ExplanationRecord
