"""Hashes of what an answer depends on: equal in every process, whatever was done before.

Python's own way to write an object down depends on which of its parts are the same object, and not
only equal: joblib's hashes do not. What they say of a model is believed only if it has the same one
when it is written and read back; else it is told by its answers.
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from hashlib import file_digest, sha256
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from joblib.hashing import NumpyHasher

from suffice.decision import Decider
from suffice.tables import Table, plain
from suffice.typing import Values

__all__ = ["hash_of_file", "hash_of_model", "hash_of_object", "hash_of_table"]


def hash_of_model(given: Decider) -> str:
    """Of a model's state; of one that cannot be written down, of its answers for the data."""
    if isinstance(given.choice.model, FunctionType):
        return f"code:{_sha256(_hashed(given.choice.model))}"
    with suppress(Exception):  # every library has its own way to refuse
        # Some models are put together otherwise when they are fitted than when they are read.
        read = _read_back(given.choice.model)
        state = _hashed(read)
        if _hashed(_read_back(read)) == state:
            return f"state:{_sha256(state)}"
    return f"answers:{_hash_of_values([given.answers])}"


def hash_of_object(given: Any) -> str:
    """Of anything else that was given; of what cannot be written down, of what it is called."""
    if isinstance(given, Table):
        return hash_of_table(given)
    with suppress(Exception):
        return f"state:{_sha256(_hashed(given))}"
    return f"name:{_sha256(type(given).__qualname__)}"


def hash_of_file(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def hash_of_table(table: Table) -> str:
    """Of a table's names, dtypes and values."""
    about = repr([(name, table.dtype(j)) for j, name in enumerate(table.names)])
    columns = [table.column(j) for j in range(len(table.names))]
    return f"values:{_hash_of_values(columns, about)}"


def _hash_of_values(columns: list[Values], about: str = "") -> str:
    digest = sha256(about.encode())
    for values in columns:
        if values.dtype.kind in "biufmM":
            digest.update(np.ascontiguousarray(values).tobytes())
        else:
            cells = [f"{type(v).__name__}:{plain(v)}" for v in values.tolist()]
            digest.update(repr(cells).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()


class _Hasher(NumpyHasher):  # type: ignore[misc]
    """Functions by what they do: by name alone, a changed one would be the same."""

    def save(self, obj: Any) -> None:
        """Write an object into the hash."""
        if isinstance(obj, FunctionType):
            cells = [cell.cell_contents for cell in obj.__closure__ or ()]
            obj = ("function", _code(obj.__code__), obj.__defaults__, obj.__kwdefaults__, cells)
        super().save(obj)


def _code(code: CodeType) -> tuple[Any, ...]:
    constants = [_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return code.co_code, constants, code.co_names, code.co_varnames


def _read_back(given: Any) -> Any:
    return pickle.loads(pickle.dumps(given))


def _hashed(given: Any) -> str:
    return str(_Hasher(hash_name="sha1").hash(given))
