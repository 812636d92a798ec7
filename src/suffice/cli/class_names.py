"""Names for the classes that a booster's file numbers.

xgboost and lightgbm keep 0, 1, … in place of the labels that a model was trained on, and nothing in
the file tells which was which: a table's labels in sorted order are as often right as turned round.
So the user says it. Where the table has labels, those that go with each number are told as a hint.
"""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Any

from suffice.cli.output import tell
from suffice.errors import InputError
from suffice.models import adapt, as_model, fitted_columns
from suffice.models.boosters import LightgbmModel, XgboostModel
from suffice.tables import as_table

__all__ = ["hint_at_classes", "with_classes"]


def with_classes(model: Any, classes: Sequence[str], name: str) -> Any:
    """The booster with its classes named; a model that names its own must name the same."""
    known = [str(label) for label in getattr(model, "classes_", ())]
    if not known:
        got = f"{', '.join(classes)} for {name}, which gives numbers or does not tell its classes"
        raise InputError("--classes", got, "none")
    if _numbered(model) and len(known) == len(classes):
        named = adapt(model.original, classes=classes)
        named.__name__ = name
        return named
    if set(known) != set(classes):
        each = "a name for each of" if _numbered(model) else "the names in the file:"
        raise InputError("--classes", ", ".join(classes), f"{each} {', '.join(known)}")
    return model


def hint_at_classes(model: Any, data: Any, labels: Any) -> None:
    """Tell how to name the classes where the file numbers them and the table names them."""
    if not _numbered(model):
        return
    import pandas as pd

    labels = labels.astype(str).to_numpy()
    _, answers = as_model(model, fitted_columns(model, as_table(data)))
    mostly = pd.crosstab(answers, labels).idxmax(axis=1).to_dict()
    names = [str(mostly.get(number)) for number in range(len(model.classes_))]
    if set(names) != set(labels) or names == list(map(str, model.classes_)):
        return
    said = ", ".join(f"{number} mostly {name!r}" for number, name in enumerate(names))
    option = quote(",".join(names))
    tell(f"{model} numbers its classes. By the table's labels, {said}: --classes {option}?")


def _numbered(model: Any) -> bool:
    """Is it a booster of those that have no names for their classes?"""
    return isinstance(model, LightgbmModel | XgboostModel) and hasattr(model, "classes_")
