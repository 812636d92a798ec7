"""Reading a model's raw numbers: scores per class, one number, or numbers of classes; and what a
user can say about them.

Nothing is guessed. One number per row stays a number; only who knows whether it is a probability or
a logit can say where its two classes part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice import checks
from suffice.errors import InputError, ModelError, SufficeError
from suffice.tables.labels import as_labels, is_label, own
from suffice.typing import Values

__all__ = ["Options", "Outputs", "named", "no_scores"]


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
        if threshold is not None:
            threshold = checks.number("threshold", threshold, "a finite number")
        if batch_size is not None:
            batch_size = checks.whole("batch_size", batch_size, also="None")
        if preprocess is not None and not callable(preprocess):
            raise InputError("preprocess", preprocess, "a function of rows")
        return cls(_checked_classes(classes), threshold, batch_size, device, preprocess)

    @property
    def none(self) -> bool:
        """Was nothing said?"""
        return self == Options()


class Outputs:
    """How the raw outputs of one model are read; learns their width from the first of them."""

    def __init__(
        self,
        name: str,
        classes: tuple[Any, ...] | None = None,
        threshold: float | None = None,
        width: int | None = None,
        probability: bool = False,
    ) -> None:
        if threshold is not None and (classes is None or len(classes) != 2):
            raise InputError(
                "threshold",
                threshold,
                "a threshold between two classes",
                "Name them: classes=(below or equal, above).",
            )
        self.name = name
        self.threshold = threshold
        self.width = width
        """Outputs per row; None until the model has been asked."""
        self._given = classes
        self._probability = probability

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The labels in the order of the scores; None for a number, and until that is known."""
        if self._given is not None or self.width is None or self.width == 1:
            return self._given
        return tuple(range(self.width))

    def labels(self, raw: Any, rows: int) -> Values:
        """One label per row, or one number where there are no classes."""
        out = self._checked(raw, rows)
        if out.ndim == 2:
            return named(self.classes, out.argmax(axis=1))
        if self._given is None:
            return out
        # Floats that are numbers of classes: above either usual threshold, 0 or 0.5, lies 1 alone.
        numbers = out.dtype.kind in "iub" or len(self._given) > 2
        if numbers or self._whole(out):
            return named(self._given, self._numbers_of_classes(out))
        return named(self._given, (out > self._need_threshold()).astype(int))

    def scores(self, raw: Any, rows: int) -> Values:
        """(rows, classes): a score each; for one number, how far it is below and above."""
        out = self._checked(raw, rows)
        if out.ndim == 2:
            return out
        if self._given is None or out.dtype.kind in "iub" or len(self._given) != 2:
            raise no_scores(self.name)
        threshold = self._need_threshold()
        if self._probability and threshold == 0.5:
            return np.stack([1 - out, out], axis=1)
        above = out - threshold
        return np.stack([-above, above], axis=1)

    def _checked(self, raw: Any, rows: int) -> Values:
        out = np.asarray(raw)
        shape = out.shape
        if out.ndim == 2 and out.shape[1] == 1:
            out = out[:, 0]
        wide = out.shape[1] if out.ndim == 2 else 1
        widths = self._widths(out.dtype.kind in "iub" or self._whole(out))
        fits = out.ndim in (1, 2) and len(out) == rows and wide > 0
        if not fits or (widths and wide not in widths):
            raise ModelError(
                f"{self.name} returned shape {shape} for {rows} row(s); "
                f"expected {_expected(rows, widths)}"
            )
        if wide > 1 and self.threshold is not None:
            raise InputError(
                "threshold",
                self.threshold,
                f"None for {self.name}, which gives {wide} scores per row",
                "The class that scores highest is the label.",
            )
        if out.dtype.kind == "f" and np.isnan(out).any():
            bad = int(np.isnan(out).reshape(rows, -1).any(axis=1).sum())
            raise ModelError(f"{self.name} returned NaN for {bad} of {rows} rows")
        self.width = wide
        return out

    def _widths(self, whole: bool) -> tuple[int, ...]:
        """The outputs per row that can be read; none: any number of them."""
        if self.width is not None:
            return (self.width,)
        if self._given is None:
            return ()
        count = len(self._given)
        return (1, count) if count == 2 or whole else (count,)

    def _whole(self, out: Values) -> bool:
        """Are these floats, each the number of a class, and no threshold that says otherwise?"""
        if self._given is None or self.threshold is not None:
            return False
        if out.ndim != 1 or out.dtype.kind != "f":
            return False
        return bool(np.isin(out, np.arange(len(self._given))).all())

    def _numbers_of_classes(self, out: Values) -> Values:
        count = len(self._given or ())
        bad = out[~np.isin(out, np.arange(count))]
        if bad.size:
            raise ModelError(f"{self.name} returned class number {bad[0]}, but there are {count}")
        return out.astype(np.int64)

    def _need_threshold(self) -> float:
        if self.threshold is None:
            raise InputError(
                "threshold",
                None,
                f"a number, since {self.name} gives one number per row for two classes",
                "Give 0.0 if it is a logit, 0.5 if it is a probability.",
            )
        return self.threshold


def _expected(rows: int, widths: tuple[int, ...]) -> str:
    if not widths:
        return f"({rows},) or ({rows}, 1), a number each, or ({rows}, k), a score for each class"
    texts = [
        f"({rows},) or ({rows}, 1)" if k == 1 else f"({rows}, {k}), a score for each of {k} classes"
        for k in widths
    ]
    return ", or ".join(texts)


def no_scores(name: str) -> SufficeError:
    """The error for a question about scores that there are none of."""
    return InputError(
        "model",
        f"{name}, which gives no score per class",
        "a model that does",
        "A number is read with outcome=at_least(t), or as two classes with "
        "suffice.adapt(model, classes=(no, yes), threshold=t).",
    )


def named(classes: Any, numbers: Any) -> Values:
    """The labels of these numbers of classes."""
    return np.asarray(as_labels(classes)[numbers])


def _checked_classes(classes: Any) -> tuple[Any, ...] | None:
    """Labels in the order of the model's scores: at least two, all different."""
    if classes is None:
        return None
    allowed = "two or more different labels, in the order of the model's outputs"
    if isinstance(classes, str) or not np.iterable(classes):
        raise InputError("classes", classes, allowed)
    names = tuple(own(c) for c in classes)
    if not all(map(is_label, names)) or len(set(names)) != len(names) or len(names) < 2:
        raise InputError("classes", names, allowed)
    return names
