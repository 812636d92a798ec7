"""Schema of a stored explanation: the structs of its versioned JSON.

Counts are stored, not conclusions, so an explanation that is read back answers every question that
the original answers. Rows of references are not stored, only the values of cheapest changes.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from suffice.context.hybrids import ContextKind
from suffice.explanation.sufficient_factor import LeftOutFeature, Player
from suffice.search.findings import Proof
from suffice.search.limits import Stop
from suffice.search.plan import Plan
from suffice.target import PredictionScore
from suffice.typing import Adjustment, Scalar, ViewName

Direction = Literal["higher", "lower", "either"]
"""Where the cheapest changes that need a feature move it; "either": equally cheap ones disagree, or
they make it missing."""

NO_DATE = datetime.min.replace(tzinfo=UTC)
"""The date of what has none."""


class ChangeRecord(msgspec.Struct, frozen=True):
    """An observed change of some features that flips the outcome."""

    features: list[int]
    cost: float
    values: dict[str, Scalar]
    reliability: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """The share of draws in which it flips; 1 unless effects are random."""


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
    """Minimal sets that a search found at one τ; `decided` if there are no others."""

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
    """Description of the context, which makes hybrids of the input and the references."""

    kind: ContextKind
    words: str
    draws_effects: bool = False
    """True if effects of a change have fresh noise, so that the change may flip by chance."""


class MaskRecord(msgspec.Struct, frozen=True):
    """Token that replaces words, and how it was chosen where the user gave none."""

    token: str
    outcome: str
    """The outcome of a text of this token alone."""
    passed_over: tuple[str, ...]
    """Tokens whose texts have the input's outcome, so that they make no contrast."""
    known: bool | None
    """Whether the model's vocabulary has a word of the token; None: unknown."""


class ReferencesRecord(msgspec.Struct, frozen=True):
    """Description of the references that the input is compared with."""

    kind: Literal["opposite", "all", "given", "texts", "pictures"]
    """Rows predicted otherwise, the whole data, or rows that the user chose; for a text or a
    picture what replaces words or regions."""
    words: str
    mask: MaskRecord | None = None
    """Mask of a text whose token was chosen automatically; None where the user gave it."""


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Origin of an explanation's numbers (model, data, search), and what they cost."""

    model: str
    data: tuple[int, int] | None
    """Rows and columns of the table that references come from; None for a text or a picture."""
    references: ReferencesRecord
    n_references: int
    context: ContextRecord
    cost: Literal["deviations", "weighted", "own"]
    """How changes are priced: by distances in typical deviations, by weighted ones, or by the
    user's function."""
    random_state: int
    evaluator: str = ""
    """What computed the outcomes: "blackbox", or an engine that reads the model."""
    note: str | None = None
    """Why no engine served; None where one did or none was wanted."""
    hybrids: int = 0
    """Hybrids whose outcome is known."""
    rows_predicted: int = 0
    """Rows that the model predicted to learn them, as if no other input was explained."""
    created: datetime = NO_DATE
    """When the explanation was made."""
    seconds: float = 0.0
    model_seconds: float = 0.0
    unseen_labels: tuple[str, ...] = ()
    """Labels that the model predicted for hybrids or inputs, and for no row of data."""
    versions: dict[str, str]
    change_rules: str = ""
    """Rules on changes that were declared to the explainer, in words."""
    plan: Plan | None = None
    """How the search was planned, and what would give more."""


class VolatileRecord(msgspec.Struct, frozen=True):
    """Facts of a provenance that differ from call to call: time, rows predicted, engine used.

    They are stored in a block of their own, beside the content, so that the rest of the text is the
    same for the same question.
    """

    evaluator: str
    note: str | None
    hybrids: int
    rows_predicted: int
    created: datetime
    seconds: float
    model_seconds: float
    unseen_labels: tuple[str, ...] = ()


class ExplanationRecord(msgspec.Struct, frozen=True):
    """Everything that an explanation is made of."""

    prediction: Scalar
    score: PredictionScore | None
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
    players: list[Player]
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
    """Counts like `hits` over the flip view's own hybrids: still references that keep the outcome,
    by the set that is held. None: both views read `hits`."""
    flip_draws: DrawsRecord | None = None
    left_out: list[LeftOutFeature] = []
    """Features that cannot matter here: all counts are what they would be with them."""
    subject: Subject | None = None
    """The text or picture that was explained; None for a row of a table."""
    cheapest_ties: list[ChangeRecord] = []
    """Other changes of the same cost as `cheapest`."""
    directions: dict[str, Direction] = {}
    """By feature that is one number: where the cheapest changes that need it move it."""


class ViewRecord(msgspec.Struct, frozen=True):
    """A view: which one, and of what."""

    view: ViewName
    explanation: ExplanationRecord


# What was explained, where its features are places in a text or in a picture.


TextUnit = Literal["word", "sentence", "passage", "span"]
"""What a feature of a text is: a span is the user's own."""


class TextRefinement(msgspec.Struct, frozen=True):
    """Search of a long text in two steps: its passages, then the words of some passages."""

    words: int
    """Number of words in the whole text."""
    passages: int
    complete: bool
    """Whether every set of passages was searched."""
    within: int
    """Passages that were looked into: those of each view's best set; 0: none could be."""
    found: bool
    """Did that find words for each view that had passages? If not, passages are the answer."""


class TextSubject(msgspec.Struct, frozen=True, tag_field="kind", tag="text"):
    """A text; player i is the characters from spans[i][0] up to spans[i][1]."""

    text: str
    spans: tuple[tuple[int, int], ...]
    unit: TextUnit
    closer: TextRefinement | None = None
    """Second step of a long text's search; None for a text searched at once."""

    def pieces(self, players: frozenset[int]) -> tuple[tuple[str, bool], ...]:
        """Return the text in pieces (characters, whether marked), cut where a mark begins or ends.

        >>> TextSubject("not good", ((0, 3), (4, 8)), "word").pieces(frozenset({1}))
        (('not ', False), ('good', True))
        """
        marked = np.zeros(len(self.text), dtype=bool)
        for player in players:
            start, stop = self.spans[player]
            marked[start:stop] = True
        cuts = [0, *(np.flatnonzero(marked[1:] != marked[:-1]) + 1).tolist(), len(self.text)]
        return tuple((self.text[a:b], bool(marked[a])) for a, b in pairwise(cuts) if a < b)


MOST_PIXELS = 2**26
"""Most pixels of an image: with 67 million its map of regions takes half a gigabyte. What is
explained, stored and read back has the same limit."""


class ImageSubject(msgspec.Struct, frozen=True, tag_field="kind", tag="image"):
    """A picture (PNG, base64); player i is the pixels whose label is i."""

    png: str
    height: int
    width: int
    runs: tuple[tuple[int, int], ...]
    """The label of each pixel, row by row: (label, how many pixels in a row have it)."""
    marks: tuple[str, ...]
    """What is written on each player's region in a drawing; "" where nothing need be."""

    @classmethod
    def of(cls, png: bytes, labels: NDArray[np.integer], marks: Sequence[str]) -> ImageSubject:
        """Store a picture, its map of labels, and what to write on the regions.

        >>> subject = ImageSubject.of(b"", np.array([[0, 0], [1, 1]]), ["sky", "sea"])
        >>> subject.runs, subject.labels.tolist()
        (((0, 2), (1, 2)), [[0, 0], [1, 1]])
        """
        flat = labels.ravel()
        starts = np.concatenate([[0], np.flatnonzero(np.diff(flat)) + 1])
        lengths = np.diff(np.append(starts, flat.size))
        runs = tuple(zip(flat[starts].tolist(), lengths.tolist(), strict=True))
        height, width = labels.shape
        return cls(b64encode(png).decode(), height, width, runs, tuple(marks))

    @property
    def labels(self) -> NDArray[np.int64]:
        """The label of each pixel."""
        label, length = np.array(self.runs, dtype=np.int64).reshape(-1, 2).T
        return np.repeat(label, length).reshape(self.height, self.width)

    @property
    def picture(self) -> bytes:
        """Bytes of the PNG file."""
        return b64decode(self.png)


Subject = TextSubject | ImageSubject
