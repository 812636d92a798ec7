"""A sample of the distribution D: rows of z = (x, w), with f(z) := f(x) (Sect. 3, "Context")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from suffice.checks import names
from suffice.errors import InputError
from suffice.factors.kinds import HELD
from suffice.tables.frames import as_table
from suffice.tables.table import Table
from suffice.typing import Values

__all__ = ["Sample"]


class Sample(Mapping[str, Values]):
    """Any sample of z: the columns named in `auxiliaries` are W, the rest are the model's x.

    >>> import pandas as pd
    >>> z = pd.DataFrame({"income": [20, 60], "do(income > 50k)": [False, True]})
    >>> sample = Sample(z, auxiliaries=["do(income > 50k)"])
    >>> sample.x.names, sample.auxiliaries
    (('income',), ('do(income > 50k)',))
    """

    def __init__(self, sample: Any, auxiliaries: Iterable[str] = ()) -> None:
        table = as_table(sample, argument="sample")
        chosen = names("auxiliaries", auxiliaries)
        positions = [table.position(name, "auxiliaries") for name in chosen]
        predictors = [j for j in range(len(table.names)) if j not in positions]
        if not predictors:
            raise InputError(
                "auxiliaries", "every column", "at least one column left for the model"
            )
        self.x: Table = table.select(predictors)
        self.w: dict[str, Values] = {table.names[j]: table.column(j) for j in positions}

    @classmethod
    def of_hybrids(cls, x: Table, held: Mapping[str, Values]) -> Sample:
        """Hybrids, with a truth value per player that says whether it was held."""
        sample = cls.__new__(cls)
        sample.x = x
        sample.w = {HELD + player: values for player, values in held.items()}
        return sample

    @property
    def auxiliaries(self) -> tuple[str, ...]:
        """The names of W's columns."""
        return tuple(self.w)

    @property
    def n(self) -> int:
        """How many rows the sample has."""
        return len(self.x)

    def __getitem__(self, name: str) -> Values:
        if name in self.w:
            return self.w[name]
        if name in self.x.names:
            return self.x.column(self.x.names.index(name))
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter((*self.x.names, *self.w))

    def __len__(self) -> int:
        return len(self.x.names) + len(self.w)

    def __repr__(self) -> str:
        return f"Sample({self.n} rows of x{list(self.x.names)}, w{list(self.w)})"
