"""Answers made of labels and scores, and the pipelines of transformers that give them.

[{"label": "POSITIVE", "score": 0.98}, …]                    the best label of each text
[[{"label": "POSITIVE", "score": 0.98}, {…}], …]             all of them, with top_k=None
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from suffice.errors import InputError, ModelError, shorten
from suffice.models.adapter import Adapter
from suffice.models.outputs import Options, Outputs
from suffice.tables.frames import as_table
from suffice.tables.labels import as_labels, own
from suffice.typing import Values

__all__ = ["PipelineModel", "best_labels", "is_labelled", "require_known", "score_table"]


def is_labelled(answers: Any) -> bool:
    """Is this a list of labels with scores, or of lists of these?"""
    if not isinstance(answers, list) or not answers:
        return False
    first = answers[0]
    if isinstance(first, list) and first:
        first = first[0]
    return isinstance(first, Mapping) and {"label", "score"} <= first.keys()


def best_labels(answers: Any, classes: Sequence[Any] | None = None, name: str = "") -> Values:
    """The label that scores highest, for each row; the first of those that score the same."""
    best = [max(_listed(row), key=lambda pair: pair["score"])["label"] for row in answers]
    require_known(best, classes, name)
    return as_labels(best)


def require_known(labels: Sequence[Any], classes: Sequence[Any] | None, name: str) -> None:
    """Raise where the user has named the classes and a label is none of them."""
    unknown = [] if classes is None else [label for label in labels if label not in classes]
    if unknown:
        raise _unknown(unknown[0], classes, name)


def score_table(answers: Any, classes: Sequence[Any] | None, name: str = "") -> Values:
    """(rows, classes): every label's score; needs answers that list them all."""
    tables = [{pair["label"]: pair["score"] for pair in _listed(row)} for row in answers]
    order = sorted(tables[0]) if classes is None else list(classes)
    for table in tables:
        unknown = [label for label in table if label not in order]
        if unknown:
            raise _unknown(unknown[0], order, name)
        if len(table) != len(order) or len(order) < 2:
            raise InputError(
                "model",
                f"{name}, which scores {len(table)} of {max(len(order), 2)} labels",
                "a score for every label",
                "Pipelines of transformers give them with top_k=None.",
            )
    return np.array([[table[label] for label in order] for table in tables], dtype=np.float64)


def _listed(row: Any) -> list[Any]:
    return row if isinstance(row, list) else [row]


def _unknown(label: object, classes: Any, name: str) -> ModelError:
    return ModelError(
        f"{name} returned label {shorten(own(label))}, which is not of {list(classes)}"
    )


class PipelineModel(Adapter):
    """A classification pipeline of transformers, asked about texts.

    Rows are a list of texts or a table of one column; `preprocess` makes texts of anything else.
    """

    def __init__(self, model: Any, options: Options) -> None:
        names = getattr(model.model.config, "id2label", None) or {}
        known = tuple(names[i] for i in sorted(names))
        name, given = type(model).__name__, options.classes
        if given is not None and set(given) != set(known):
            listed = ", ".join(map(repr, known))
            raise InputError("classes", given, f"the pipeline's own labels in any order: {listed}")
        if options.threshold is not None:
            allowed = f"None for {name}, which gives labels"
            raise InputError("threshold", options.threshold, allowed)
        super().__init__(model, name, options, Outputs(name, given or known or None))

    def _take(self, rows: Any) -> list[Any]:
        if isinstance(rows, list | tuple):
            return list(rows)
        if isinstance(rows, np.ndarray) and rows.ndim == 1:
            return list(rows.tolist())
        table = as_table(rows)
        if len(table.names) == 1:
            return list(table.column(0).tolist())
        raise InputError(
            "data",
            f"{len(table.names)} columns",
            f"one column of texts for {self.__name__}",
            "Pass suffice.adapt(model, preprocess=…), a function that makes a list of texts of "
            "rows.",
        )

    def _ask(self, texts: Any, **question: Any) -> Any:
        if self._options.batch_size is not None:
            question["batch_size"] = self._options.batch_size
        answers = self.original(list(texts), **question)
        if not is_labelled(answers):
            raise ModelError(
                f"{self.__name__} returned {shorten(answers)}; expected a list of "
                '{"label": …, "score": …} for each text'
            )
        return answers

    def _labels(self, batch: Any, rows: int) -> Values:
        return best_labels(self._ask(batch), self._outputs.classes, self.__name__)

    def _scores(self, batch: Any, rows: int) -> Values:
        return score_table(self._ask(batch, top_k=None), self._outputs.classes, self.__name__)
