"""A model of another library, asked the way an estimator is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from suffice.errors import InputError
from suffice.models.outputs import Outputs, as_labels, check_classes, check_threshold
from suffice.models.rows import batches
from suffice.typing import Values

__all__ = ["Adapter", "Options"]


@dataclass(frozen=True)
class Options:
    """What a user can say about a model; see `adapt`."""

    classes: tuple[Any, ...] | None = None
    threshold: float | None = None
    batch_size: int | None = None
    device: Any = None
    preprocess: Callable[[Any], Any] | None = None

    @classmethod
    def checked(
        cls, classes: Any, threshold: Any, batch_size: Any, device: Any, preprocess: Any
    ) -> Options:
        """The options, each of the right kind."""
        whole = isinstance(batch_size, int | np.integer) and not isinstance(batch_size, bool)
        if batch_size is not None and not (whole and batch_size >= 1):
            raise InputError("batch_size", batch_size, "None or a whole number >= 1")
        if preprocess is not None and not callable(preprocess):
            raise InputError("preprocess", preprocess, "a function of rows")
        return cls(
            check_classes(classes), check_threshold(threshold), batch_size, device, preprocess
        )

    @property
    def none(self) -> bool:
        """Was nothing said?"""
        return self == Options()


class Adapter:
    """`predict` gives labels or numbers, `predict_proba` a score per class where there are any.

    `classes_` are the labels in the order of the scores. Where they follow from the number of
    outputs they are known once the model has been asked, and missing until then.
    """

    original: Any
    """The user's own model. Never changed."""

    rows_per_call: ClassVar[int | None] = None
    """How many rows go into one call unless the user says; None: all of them."""

    devices: ClassVar[bool] = False
    """Can its inputs be sent to a device?"""

    def __init__(
        self, model: Any, name: str, options: Options, outputs: Outputs | None = None
    ) -> None:
        if options.device is not None and not self.devices:
            hint = "Only torch modules take one; others are asked where they are."
            raise InputError("device", options.device, f"None for {name}", hint)
        self.original = model
        self.__name__ = name
        self._options = options
        self._outputs = outputs or Outputs(name, options.classes, options.threshold)

    @property
    def classes_(self) -> Values:
        """The labels in the order of the scores."""
        classes = self._outputs.classes
        if classes is None:
            raise AttributeError(f"{self.__name__} has no classes, or none are known yet")
        return as_labels(classes)

    def predict(self, rows: Any) -> Values:
        """One label per row, or one number."""
        return self._in_batches(rows, self._labels)

    def predict_proba(self, rows: Any) -> Values:
        """(rows, classes): a score each, as the model gives them: probabilities or logits."""
        return self._in_batches(rows, self._scores)

    def _in_batches(self, rows: Any, ask: Callable[[Any, int], Values]) -> Values:
        size = self._options.batch_size or self.rows_per_call
        parts = [ask(self._prepared(part), len(part)) for part in batches(rows, size)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _prepared(self, rows: Any) -> Any:
        """The batch as the model takes it: by the user's own function, or by `_take`."""
        preprocess = self._options.preprocess
        return self._take(rows) if preprocess is None else preprocess(rows)

    def _take(self, rows: Any) -> Any:
        """Rows of the user's kind as the model takes them."""
        return rows

    def _labels(self, batch: Any, rows: int) -> Values:
        return self._outputs.labels(self._raw(batch), rows)

    def _scores(self, batch: Any, rows: int) -> Values:
        return self._outputs.scores(self._raw(batch), rows)

    def _raw(self, batch: Any) -> Any:
        """The model's raw outputs for one batch."""
        raise NotImplementedError

    def _fitted_on(self, names: Any = None, width: int | None = None) -> None:
        """Tell the columns that the model knows, unless the user's function makes them."""
        if self._options.preprocess is not None:
            return
        if names is not None:
            self.feature_names_in_ = [str(name) for name in names]
        if width is not None:
            self.n_features_in_ = int(width)

    def __repr__(self) -> str:
        return self.__name__
