"""What it takes to have a spam mail let through: minimal sets of segments, and what to write there.

Two questions of the same hybrids. From a spam mail's side (I2R): which of its segments, given
another mail's text, have it let through? From a harmless mail's side (R2I, as in the paper's
Table 1): which of its segments, put into spam mails, have those let through?
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from experiments.spam.mails import Mails
from suffice import Explainer, Explanation, SufficientFactor

__all__ = ["ANY", "PAIRS", "SURELY", "TAU", "Relabeller"]

TAU = 0.9
"""What "with high probability" is taken to be."""
SURELY = f"τ = {TAU:g}"
ANY = "any change"
PAIRS = (("From", "To"), ("From", "First Sentence"))
"""The segments that the paper's Table 4 changes."""


@dataclass(frozen=True, eq=False)
class Relabeller:
    """The mails and the model that is to be fooled. Answers are plain JSON, to be kept."""

    mails: Mails
    model: Any

    def from_spam(self, n_references: int | None, i: int) -> dict[str, list[dict[str, Any]]]:
        """Mail i's minimal sets of segments to change, by setting."""
        e = self._explain(i, 1, self.let_through, n_references)
        # One reference that has the mail let through is enough.
        views = {SURELY: e.flip, ANY: e.flip.at(1 / e.provenance.n_references)}
        return {name: [self._told(f) for f in view.factors] for name, view in views.items()}

    def from_harmless(
        self, against: Sequence[int] | None, n_references: int | None, i: int
    ) -> dict[str, list[dict[str, Any]]]:
        """Harmless mail i's minimal sets of segments to put into spam, and the paper's pairs.

        `against`: the spam mails, by row; None: all that are recognised.
        """
        rows = np.arange(len(self.mails.y))
        spam = self.recognised if against is None else np.isin(rows, against)
        view = self._explain(i, 0, spam, n_references).keep
        return {
            "minimal": [self._told(f) for f in view.factors],
            "pairs": [self._told(view.factor(pair)) for pair in PAIRS],
        }

    def text(self, i: int, segment: str) -> str:
        """A mail's words in one segment."""
        return str(self.mails.texts.loc[i, segment])

    def name(self, i: int) -> str:
        """What a mail is called in tables: its sender's first word."""
        return self.text(i, "From").split()[0]

    @cached_property
    def let_through(self) -> np.ndarray:
        """Harmless mails that the model takes for harmless: a mask."""
        return (self.mails.y == 0) & (self.model.predict(self.mails.X) == 0)

    @cached_property
    def recognised(self) -> np.ndarray:
        """Spam mails that the model takes for spam: a mask."""
        return (self.mails.y == 1) & (self.model.predict(self.mails.X) == 1)

    def _explain(self, i: int, label: int, references: np.ndarray, n: int | None) -> Explanation:
        X, groups = self.mails.X, self.mails.groups
        explainer = Explainer(self.model, X, references=references, n_references=n, groups=groups)
        e = explainer.explain(self.mails.row(i), tau=TAU, search="exhaustive", progress=False)
        if e.prediction != label:
            # Its views would speak of the other outcome.
            raise ValueError(f"mail {i} is predicted {e.prediction}: asked about as {label}")
        return e

    def _told(self, factor: SufficientFactor) -> dict[str, Any]:
        low, high = factor.interval
        return {
            "segments": list(factor.features),
            "PS": factor.sufficiency,
            "low": low,
            "high": high,
            "references": factor.n,
            "cost": factor.cost,
            "donor": None if factor.change is None else self._donor(factor.change.values),
        }

    def _donor(self, values: Any) -> int:
        """Whose text it was: the first harmless mail that has these numbers."""
        same = (self.mails.X[list(values)] == pd.Series(values)).all(axis=1).to_numpy()
        return int(np.flatnonzero(same & self.let_through)[0])
