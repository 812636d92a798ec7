"""One analysis of a record: what it takes, what it is made from, and how it is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any

from suffice.audit.catalogue import Catalogue, Entry
from suffice.explainer import Explainer
from suffice.explanation import Explanation
from suffice.results import Result
from suffice.tables import Table

__all__ = ["Analysis", "Arguments", "Material"]

Arguments = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Material:
    """What analyses are made from."""

    decisions: Sequence[Explanation]
    ids: Sequence[str]
    """What each decision is called."""
    labels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Groups by columns that the model does not see: a label for each decision."""
    explainer: Explainer | None = None
    """Of the model, for the analyses that ask it; None: it is not at hand."""
    rows: Table | None = None
    """The decisions' inputs, as they were given; None: not all of them are at hand."""
    given: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By analysis: what it was given that is no JSON."""


@dataclass(frozen=True)
class Analysis:
    """One of them: what it is called, and its function."""

    name: str
    heading: str
    function: Callable[..., Result]
    result: type[Result]
    filled: tuple[str, ...] = ("explanations",)
    """Parameters that are no part of the question: the record itself fills them in."""
    also: tuple[str, ...] = ()
    """What may be asked beside the function's own arguments."""
    given: tuple[str, ...] = ()
    """What it is given that is no JSON: a record does not keep it."""
    asks_model: bool = False
    call: Callable[[Material, Mapping[str, Any], Arguments], Result] | None = None
    """How the function is called, with what is given that is no JSON, and what is asked. None: with
    the decisions and what is asked."""
    tried: Arguments | None = field(default_factory=dict)
    """What is asked instead where it is only tried; None: it is not tried."""

    @property
    def parameters(self) -> dict[str, Parameter]:
        """What can be asked, by name."""
        own = signature(self.function).parameters
        hidden = (*self.filled, *self.given, "ids", "progress")
        return {name: p for name, p in own.items() if name not in hidden}

    def lacks(self, material: Material) -> str | None:
        """Why it cannot be run from this; None where it can."""
        if self.asks_model and material.explainer is None:
            return "no model was given"
        if self.asks_model and material.rows is None:
            return "X lacks rows that were recorded"
        missing = [name for name in self.given if name not in material.given.get(self.name, {})]
        return f"{missing[0]} was not given" if missing else None

    def run(self, material: Material, asked: Arguments) -> Result:
        """Ask it."""
        found = self._arguments(material, asked)
        if self.call is not None:
            return self.call(material, material.given.get(self.name, {}), found)
        own = {name: value for name, value in found.items() if name not in self.also}
        return self.function(material.decisions, **own)

    def _arguments(self, material: Material, asked: Arguments) -> Arguments:
        """What the function is called with, from what was asked."""
        found = dict(asked)
        if "catalogue" in found:
            found["catalogue"] = Catalogue(tuple(Entry(**e) for e in found["catalogue"]))
        if isinstance(found.get("by"), str):
            found["by"] = material.labels.get(found["by"], found["by"])
        if "ids" in signature(self.function).parameters:
            found["ids"] = list(material.ids)
        return found
