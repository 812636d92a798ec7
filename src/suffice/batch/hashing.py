"""Hashes of models, objects, tables, rows and files that are equal in every process.

A pickle depends on which parts of an object are identical, not only equal; joblib's hashes do not.
The hash of a model's state is used only if it survives pickling and unpickling; otherwise the hash
is that of the model's predictions for the data.
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from enum import Enum
from hashlib import file_digest, sha256
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from joblib.hashing import NumpyHasher
from numpy.typing import NDArray

from suffice.decision import DecisionBuilder
from suffice.tables import PandasTable, Table, as_scalar
from suffice.typing import Values


def hash_model(given: DecisionBuilder) -> str:
    """Return a hash of a model's state, or of its predictions if the state cannot be hashed."""
    if isinstance(given.engine_selector.model, FunctionType):
        return f"code:{_sha256(_joblib_hash(given.engine_selector.model))}"
    with suppress(Exception):  # every library has its own class for what cannot be pickled
        # Some models have another structure after fitting than after unpickling.
        read = _pickle_round_trip(given.engine_selector.model)
        state = _joblib_hash(read)
        if _joblib_hash(_pickle_round_trip(read)) == state:
            return f"state:{_sha256(state)}"
    return f"answers:{_hash_values([given.answers])}"


def hash_object(given: Any) -> str:
    """Return a hash of any other argument, or of its class name if it cannot be hashed."""
    if isinstance(given, Table):
        return hash_table(given)
    with suppress(Exception):
        return f"state:{_sha256(_joblib_hash(given))}"
    return f"name:{_sha256(type(given).__qualname__)}"


def hash_file(*paths: Path) -> str:
    """Return the SHA-256 of the bytes of one file, or of several one after another."""
    digest = sha256()
    for path in paths:
        with path.open("rb") as file:
            file_digest(file, lambda: digest)
    return digest.hexdigest()


def hash_table(table: Table) -> str:
    """Return a hash of a table's column names, dtypes and values."""
    about = repr([(name, table.dtype(j)) for j, name in enumerate(table.names)])
    columns = [table.column(j) for j in range(len(table.names))]
    return f"values:{_hash_values(columns, about)}"


def _hash_values(columns: list[Values], about: str = "") -> str:
    digest = sha256(about.encode())
    for values in columns:
        if values.dtype.kind in "biufmM":
            digest.update(np.ascontiguousarray(values).tobytes())
        else:
            cells = [f"{type(v).__name__}:{as_scalar(v)}" for v in values.tolist()]
            digest.update(repr(cells).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()


class _Hasher(NumpyHasher):  # type: ignore[misc]
    """Hasher of functions by their code, and of objects of suffice by class name and state.

    Pickle stores a function by its name, so a changed function would keep its hash. Pickle stores a
    class with its module, so a class of suffice that moved would change its hash, and a run could
    not be resumed.
    """

    def save(self, obj: Any) -> None:
        """Add an object to the hash."""
        if type(obj).__module__.partition(".")[0] == "suffice" and not isinstance(obj, type):
            obj = ("suffice", type(obj).__name__, _state(obj))
        if isinstance(obj, FunctionType):
            cells = [cell.cell_contents for cell in obj.__closure__ or ()]
            obj = (
                "function",
                _code_state(obj.__code__),
                obj.__defaults__,
                obj.__kwdefaults__,
                cells,
            )
        super().save(obj)


def _state(obj: Any) -> Any:
    """Return the state that pickle would store of an object, without the module of its class."""
    if isinstance(obj, Enum):
        return obj.name
    _, arguments, *rest = obj.__reduce_ex__(4)
    return [a for a in arguments if not isinstance(a, type)], rest


def _code_state(code: CodeType) -> tuple[Any, ...]:
    constants = [_code_state(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return code.co_code, constants, code.co_names, code.co_varnames


def _pickle_round_trip(given: Any) -> Any:
    return pickle.loads(pickle.dumps(given))


def _joblib_hash(given: Any) -> str:
    return str(_Hasher(hash_name="sha1").hash(given))


def hash_rows(table: Table) -> bytes:
    """Return eight bytes for each row, a hash of its cells in the order of the columns.

    >>> import pandas as pd
    >>> from suffice.tables import as_table
    >>> whole = as_table(pd.DataFrame({"age": [41, 23], "job": ["none", None]}))
    >>> hash_rows(whole) == b"".join(hash_rows(whole.take(np.array([i]))) for i in (0, 1))
    True
    """
    mixed: NDArray[np.uint64] = np.zeros(len(table), dtype=np.uint64)
    for j in range(len(table.names)):
        mixed = np.add(mixed * np.uint64(0x9E3779B97F4A7C15), _hash_cells(table, j))
    return mixed.astype("<u8").tobytes()


def _hash_cells(table: Table, position: int) -> NDArray[np.uint64]:
    """Return a hash of each cell of a column, which does not depend on the other cells."""
    import pandas as pd

    if isinstance(table, PandasTable):
        cells = table.native.iloc[:, position]
    else:
        values = table.column(position)
        # Integers hash as floats: beside a missing value, in another slice, they are floats.
        cells = pd.Series(values.astype(np.float64) if values.dtype.kind in "iu" else values)
    if cells.dtype == object:
        cells = pd.Series([f"{type(v).__name__}:{v}" for v in cells], dtype=object)
    hashed = pd.util.hash_pandas_object(cells, index=False, categorize=False)
    return np.asarray(hashed.to_numpy(), dtype=np.uint64)
