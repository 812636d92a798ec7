"""Anchors as the package anchor-exp has it: one rule per input, and its precision on other draws.

`explain_instance` takes a `beam_size` that it never hands on, so that its beam is always 1. Here
the beam search below it is called as it would be, with any beam; beam 1 is what users get
(`tests/experiments/test_german_anchors.py` holds the two to the same answer).
"""

import copy
import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["Anchors", "Found", "label_of"]

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its imports use names that their own packages deprecate
    from anchor.anchor_base import AnchorBaseBeam
    from anchor.anchor_tabular import AnchorTabularExplainer

DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(
        AnchorTabularExplainer.explain_instance
    ).parameters.items()
}
"""What `explain_instance` is called with where nothing is said."""

RELEASED_BEAM = inspect.signature(AnchorBaseBeam.anchor_beam).parameters["beam_size"].default
"""The beam that users get, whatever `beam_size` they give."""


@dataclass(frozen=True)
class Found:
    """A rule for one input."""

    conditions: tuple[int, ...]
    """Numbers of conditions among those that the input meets."""
    columns: tuple[str, ...]
    precision: float
    """As reported: on the draws that it was chosen by."""


class Anchors:
    """anchor-exp on a frame of numbers.

    `categories`: the values, in order, that a categorical column can have, in this data or in
    other; conditions on these are equalities.
    """

    def __init__(
        self,
        predict: Callable[[Any], Any],
        data: pd.DataFrame,
        categories: Mapping[str, Any],
    ) -> None:
        self._names = list(data.columns)
        self._values = {self._names.index(c): np.asarray(v) for c, v in categories.items()}
        self._predict = predict
        self.explainer = AnchorTabularExplainer(
            ["0", "1"],
            self._names,
            self.encode(data),
            {f: [f"{v:g}" for v in values] for f, values in self._values.items()},
            encoder_fn=self._decode,
        )

    def on(self, data: pd.DataFrame) -> "Anchors":
        """The same conditions, with rows drawn from other data."""
        other = copy.copy(self)
        other.explainer = copy.copy(self.explainer)
        other.explainer.train = self.encode(data)
        other.explainer.d_train = self.explainer.disc.discretize(other.explainer.train)
        return other

    def find(self, x: pd.Series, threshold: float, beam: int = RELEASED_BEAM) -> Found:
        """The rule that the beam search settles on."""
        draw, mapping = self._sampler(x)
        found = AnchorBaseBeam.anchor_beam(
            _narrow(draw),
            delta=DEFAULTS["delta"],
            epsilon=DEFAULTS["tau"],
            batch_size=DEFAULTS["batch_size"],
            desired_confidence=threshold,
            beam_size=beam,
        )
        columns = dict.fromkeys(self._names[mapping[c][0]] for c in found["feature"])
        precision = found["precision"][-1] if found["precision"] else found["all_precision"]
        return Found(tuple(found["feature"]), tuple(columns), float(precision))

    def draws(self, x: pd.Series, found: Found, n: int) -> int:
        """How many of n rows drawn afresh under the rule have the outcome of x."""
        return int(self._sampler(x)[0](list(found.conditions), n)[2].sum())

    def rows(self, x: pd.Series, found: Found) -> tuple[int, int]:
        """Of the rows of data that satisfy the rule as they are: (with the outcome, all)."""
        _, mapping = self._sampler(x)
        train, bins = self.explainer.train, self.explainer.d_train
        holds = np.ones(len(train), dtype=bool)
        for f, relation, v in (mapping[c] for c in found.conditions):
            column = bins[:, f]
            holds &= {"eq": column == v, "leq": column <= v, "geq": column > v}[relation]
        if not holds.any():
            return 0, 0
        same = self._ask(train[holds]) == self._ask(self.encode(x.to_frame().T))
        return int(same.sum()), int(holds.sum())

    def encode(self, rows: pd.DataFrame) -> Any:
        """Categories as 0, 1, …, as anchor-exp wants them."""
        out = rows.to_numpy(dtype=float, copy=True)
        for f, values in self._values.items():
            out[:, f] = np.searchsorted(values, out[:, f])
        return out

    def _decode(self, codes: Any) -> Any:
        out = np.array(codes, dtype=float)
        for f, values in self._values.items():
            out[:, f] = values[out[:, f].astype(int)]
        return out

    def _ask(self, codes: Any) -> Any:
        return self._predict(self._decode(codes))

    def _sampler(self, x: pd.Series) -> Any:
        return self.explainer.get_sample_fn(self.encode(x.to_frame().T)[0], self._predict)


def label_of(forest: Any) -> Callable[[Any], Any]:
    """The forest's own labels, some ten times sooner for the hundred rows that Anchors asks for.

    As scikit-learn does it: the trees' shares are added up in order, so that ties fall alike.
    """
    trees = [tree.tree_ for tree in forest.estimators_]

    def labels(rows: Any) -> Any:
        narrow = np.ascontiguousarray(rows, dtype=np.float32)
        shares = sum(tree.predict(narrow) for tree in trees) / len(trees)
        return forest.classes_[np.argmax(shares, axis=1)]

    return labels


def _narrow(draw: Callable[..., Any]) -> Callable[..., Any]:
    """The same draws in bytes: the search sets aside room for a million of them, at every input."""

    def drawn(*args: Any, **options: Any) -> Any:
        raw, holds, labels = draw(*args, **options)
        return raw[:, :1].astype(np.int8), holds.astype(np.int8), labels

    return drawn
