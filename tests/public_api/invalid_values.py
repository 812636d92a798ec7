"""Values that no user means, and what every public call must do with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from suffice import ModelError, SufficeError

MAX_MESSAGE_LENGTH = 1_500
"""Characters of a message: more would not be read."""


class Unprintable:
    """Its own repr raises."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Incomparable:
    """Equality with it raises, as with an array of two."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no equality")


def raising_function(*_: object, **__: object) -> None:
    raise KeyError("of the user's own")


def letter_generator() -> Iterator[str]:
    yield from "xyz"


INVALID_VALUES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "true": lambda: True,
    "minus": lambda: -1,
    "zero": lambda: 0,
    "half": lambda: 1.5,
    "huge": lambda: 1e308,
    "long": lambda: 10**30,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "blank": lambda: "",
    "word": lambda: "two",
    "essay": lambda: "never heard\n" * 10_000,
    "bytes": lambda: b"x",
    "empty": list,
    "list": lambda: ["greedy"],
    "nones": lambda: [None],
    "array": lambda: np.array(["a", "b"]),
    "matrix": lambda: np.array([[1]]).view(np.matrix),
    "nothing": dict,
    "mapping": lambda: {"g": None},
    "object": object,
    "unprintable": Unprintable,
    "incomparable": Incomparable,
    "raises": lambda: raising_function,
    "complex": lambda: complex(1, 1),
    "decimal": lambda: Decimal("NaN"),
    "na": lambda: pd.NA,
    "generator": letter_generator,
}
"""Each made anew: a generator can be read once."""


def message_fault(error: BaseException, names: tuple[str, ...]) -> str | None:
    """Why an error is none that a user can act on; None where it is one.

    It has to name the argument, or the user's own model where that is what failed.
    """
    said = str(error)
    if not isinstance(error, SufficeError):
        return f"{type(error).__name__}: {said[:300]}"
    if len(said) > MAX_MESSAGE_LENGTH:
        return f"a message of {len(said):,} characters"
    if "\n" in said or "\r" in said:
        return f"a message of several lines: {said[:300]!r}"
    if not isinstance(error, ModelError) and not any(name in said for name in names):
        return f"a message that names none of {names}: {said[:300]}"
    if "got ;" in said:
        return f"a message that shows nothing: {said[:300]}"
    return None
