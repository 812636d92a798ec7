"""The columns that a model was fitted on, found in the table that the user gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.errors import InputError
from suffice.models.adapter import Adapter
from suffice.models.detect import adapted
from suffice.tables.frames import ArrayTable, PandasTable
from suffice.tables.table import Table

__all__ = ["fitted_columns"]


def fitted_columns(model: Any, data: Table, argument: str = "data") -> Table:
    """The columns of `data` that the model was fitted on, in the kind it was fitted on."""
    model = adapted(model)
    names = getattr(model, "feature_names_in_", None)
    width = getattr(model, "n_features_in_", None)
    if names is not None and not _renamed(model, names, data):
        if isinstance(data, ArrayTable):
            return _name_columns(data, [str(n) for n in names])
        return data.select([data.position(str(name), argument) for name in names])
    if width is not None and width != len(data.names):
        raise InputError(
            argument,
            f"{len(data.names)} columns",
            f"the {width} columns that the model was fitted on",
            "Drop the others (the label, an index), or fit the model on a frame so that it "
            "knows its columns by name.",
        )
    if width is not None and not isinstance(data, ArrayTable) and _fitted_on_arrays(model):
        columns = [data.column(j) for j in range(len(data.names))]
        return ArrayTable(np.stack(columns, axis=1), data.names)
    return data


def _renamed(model: Any, names: Any, data: Table) -> bool:
    """lightgbm writes underscores for spaces in the names it was fitted on; their order stays."""
    known = _library(model) == "lightgbm"
    return known and len(names) == len(data.names) and list(names) != list(data.names)


def _fitted_on_arrays(model: Any) -> bool:
    """scikit-learn warns when a model fitted on an array is given names; others do not care."""
    return _library(model) == "sklearn"


def _library(model: Any) -> str:
    fitted = model.original if isinstance(model, Adapter) else model
    return type(fitted).__module__.partition(".")[0]


def _name_columns(data: ArrayTable, names: list[str]) -> Table:
    if len(names) != len(data.names):
        raise InputError(
            "data",
            f"an array of {len(data.names)} columns",
            f"the {len(names)} columns that the model was fitted on: {', '.join(names)}",
        )
    import pandas as pd

    frame = pd.DataFrame(data.native, columns=names)
    return PandasTable(frame.infer_objects())
