"""The columns that a model was fitted on, as the array or frame that its library takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import ismethod
from typing import Any

import numpy as np

from suffice.errors import InputError, did_you_mean, short_repr
from suffice.formatting import join_first, join_words
from suffice.models.adapter import Adapter, adapt_if_known
from suffice.tables import ArrayTable, PandasTable, as_table
from suffice.tables.table import Table
from suffice.typing import Values


def fitted_columns(model: Any, data: Table, argument: str = "data") -> Table:
    """Return the columns of `data` that the model was fitted on, as an array if it had one."""
    # A method such as `model.predict_proba` takes the columns of its owner.
    model = model.__self__ if ismethod(model) else adapt_if_known(model)
    names = getattr(model, "feature_names_in_", None)
    width = getattr(model, "n_features_in_", None)
    if names is not None:
        wanted = [str(name) for name in names]
        if isinstance(data, ArrayTable):
            return _name_columns(data, wanted, argument)
        return data.select(find_columns(wanted, data.names, argument))
    if width is not None and width != len(data.names):
        raise InputError(
            argument,
            f"{len(data.names)} columns",
            f"the {width} columns that the model was fitted on",
            "Drop the others (the label, an index), or fit the model on a frame, so that it knows "
            "the names of its columns.",
        )
    if width is not None and not isinstance(data, ArrayTable) and _fitted_on_arrays(model):
        columns = [data.column(j) for j in range(len(data.names))]
        if not all(column.dtype.kind in "biuf" for column in columns):
            columns = [column.astype(object) for column in columns]  # else 1 would become "1"
        return ArrayTable(np.stack(columns, axis=1), data.names)
    return data


def find_columns(wanted: Sequence[str], names: Sequence[str], argument: str) -> list[int]:
    """Return the position of each wanted column among the names; an error names those lacking.

    Converters and boosters rename columns: "late payments" becomes late_payments. Such a name is
    accepted where one column only can be meant.

    >>> find_columns(["late_payments", "age"], ["age", "late payments"], "data")
    [1, 0]
    """
    places = {name: j for j, name in enumerate(names)}
    plain: dict[str, list[str]] = {}
    for name in names:
        plain.setdefault(_to_identifier(name), []).append(name)
    found = []
    lacking = []
    for name in wanted:
        meant = [name] if name in places else plain.get(_to_identifier(name), [])
        meant = [other for other in meant if other == name or other not in wanted]
        if len(meant) == 1:
            found.append(places[meant[0]])
        else:
            lacking.append(name)
    if lacking:
        others = [name for name in names if name not in wanted]
        raise InputError(
            argument,
            f"no column {join_words(map(repr, lacking), 'or')}",
            f"the columns that the model was fitted on: {join_first(wanted)}",
            did_you_mean(lacking[0], others, or_list=False),
        )
    return found


def _to_identifier(name: str) -> str:
    return re.sub(r"\W", "_", name).lstrip("_")


def _fitted_on_arrays(model: Any) -> bool:
    """Return whether a model was fitted without names; scikit-learn warns if it gets names then."""
    fitted = model.original if isinstance(model, Adapter) else model
    return type(fitted).__module__.partition(".")[0] == "sklearn"


def _name_columns(data: ArrayTable, names: list[str], argument: str) -> Table:
    if len(names) != len(data.names):
        raise InputError(
            argument,
            f"an array of {len(data.names)} columns",
            f"the {len(names)} columns that the model was fitted on: {join_first(names)}",
        )
    import pandas as pd

    frame = pd.DataFrame(data.native, columns=names)
    return PandasTable(frame.infer_objects())


_PREPROCESS_HINT = (
    "Pass suffice.adapt(model, preprocess=…), a function from rows to the model's inputs."
)


def as_numbers(rows: Any, dtype: Any = np.float64) -> Values:
    """Return (rows, columns) of floats, or images; an error names a column that is not numeric."""
    if isinstance(rows, np.ndarray) and rows.ndim >= 2 and rows.dtype.kind in "biuf":
        return rows.astype(dtype)  # a copy, since models may write into it
    return np.stack(columns_as_numbers(rows), axis=1).astype(dtype)


def columns_as_numbers(rows: Any) -> list[Values]:
    """Return one array of numbers per column, with NaN for missing values."""
    if isinstance(rows, list) and rows and isinstance(rows[0], str):
        raise InputError("data", "texts", "columns of numbers for this model", _PREPROCESS_HINT)
    table = as_table(rows)
    return [_numeric_column(table.column(j), name) for j, name in enumerate(table.names)]


def _numeric_column(values: Values, name: str) -> Values:
    if values.dtype.kind in "biuf":
        return values
    if values.dtype == object:
        import pandas as pd

        missing = (None, pd.NA)
        plain = np.asarray([np.nan if any(v is m for m in missing) else v for v in values.tolist()])
        if plain.dtype.kind in "biuf":
            return plain
    example = next((v for v in values.tolist() if not isinstance(v, int | float)), None)
    got = f"column {name!r}, which holds {short_repr(example)}"
    raise InputError("data", got, "columns of numbers for this model", _PREPROCESS_HINT)


def to_pandas(rows: Any) -> Any:
    """Return a frame of another library as a pandas frame; arrays and pandas frames unchanged."""
    if isinstance(rows, np.ndarray) or hasattr(rows, "iloc"):
        return rows
    return rows.to_pandas() if hasattr(rows, "to_pandas") else np.asarray(rows)
