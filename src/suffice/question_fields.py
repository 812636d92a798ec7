"""Question and contrast as typed fields that the command, audit files and web requests share.

Each field has its type, its default and one line of help. The command makes its options of them,
an audit file its keys, and the explorer its requests, so a name means the same in all three.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import Meta

from suffice.errors import InputError
from suffice.typing import Adjustment
from suffice.validation import check_choice, check_integer, check_number

ADJUSTMENTS = get_args(Adjustment)
SEARCHES = ("auto", "exhaustive", "bounds", "pruned", "greedy")
ENGINES = ("auto", "blackbox", "additive", "trees")
REFERENCES = ("opposite", "all")

DEFAULT_N_REFERENCES = 500
"""Largest number of references of a row unless another one is given.

All commands share it, so that `suffice explain` repeats what `suffice batch` or an audit found."""


def _choice(help: str, choices: tuple[str, ...]) -> Meta:
    """Return the metadata of a text with a few allowed values.

    The type is not a `Literal`, whose error would not say which value is near the one given.
    """
    return Meta(description=help, extra_json_schema={"enum": list(choices)})


class QuestionFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The arguments of `Explainer.explain` that the command, audit files and requests share."""

    tau: Annotated[float, Meta(description="Sufficiency that a feature set must reach.")] = 0.9
    alpha: Annotated[float | None, Meta(description="Test each sufficiency at this level.")] = None
    adjust: Annotated[str, _choice("Adjust for multiple testing, with alpha.", ADJUSTMENTS)] = (
        "none"
    )
    search: Annotated[
        str,
        _choice(
            "auto: every set if that takes seconds, otherwise the best sets found in a fixed "
            "amount of work. exhaustive: count every set. bounds: decide sets in bulk. pruned: "
            "decide each set with few rows. greedy: look for larger sets.",
            SEARCHES,
        ),
    ] = "auto"
    max_size: Annotated[
        int | None, Meta(description="Search sets of at most this many features.")
    ] = None
    budget: Annotated[
        int | None, Meta(description="Ask the model for at most this many predictions.")
    ] = None


class ContrastFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The outcome that is explained, and the references that it is contrasted with."""

    outcome: Annotated[
        str | None, Meta(description="The class to explain; default: the predicted one.")
    ] = None
    at_least: Annotated[
        float | None, Meta(description="For a model of numbers: the outcome is >= this number.")
    ] = None
    at_most: Annotated[
        float | None, Meta(description="For a model of numbers: the outcome is <= this number.")
    ] = None
    references: Annotated[
        str, _choice("References: rows with the opposite outcome, or all rows.", REFERENCES)
    ] = "opposite"
    n_references: Annotated[int | None, Meta(description="Use at most this many references.")] = (
        None
    )

    def event(self, classes: Iterable[Any] = ()) -> Any:
        """Return the outcome as `Explainer` takes it: an event, a class, or None.

        A class is given as text; if it names one of `classes`, the label itself is returned.

        >>> ContrastFields(outcome="1").event([0, 1]), ContrastFields().event()
        (1, None)
        """
        from suffice.target import at_least, at_most

        given = [n for n in ("outcome", "at_least", "at_most") if getattr(self, n) is not None]
        if len(given) > 1:
            raise InputError("outcome", " and ".join(given), "one of them at most")
        if self.at_least is not None:
            return at_least(self.at_least)
        if self.at_most is not None:
            return at_most(self.at_most)
        label: Any = {str(c): c for c in classes}.get(str(self.outcome), self.outcome)
        return label.item() if hasattr(label, "item") else label


class ExplainerFields(ContrastFields, frozen=True, kw_only=True):
    """A contrast, with the arguments of `Explainer` that the command and audit files share."""

    engine: Annotated[str, _choice("How predictions of hybrids are computed.", ENGINES)] = "auto"
    seed: Annotated[int, Meta(ge=0, description="Seed of everything that is drawn.")] = 0


class FieldInfo(NamedTuple):
    """A field as an option or a key needs it."""

    name: str
    kind: Literal["text", "number", "integer", "choice"]
    default: Any
    help: str
    choices: tuple[str, ...]
    least: int | None
    """The smallest integer allowed, if the field declares one."""

    def check(self, argument: str, given: object) -> Any:
        """Return a value of the right type; an InputError about `argument` for any other."""
        if self.kind == "choice":
            return check_choice(argument, given, self.choices)
        if self.kind == "number":
            return check_number(argument, given)
        if self.kind == "integer":
            return check_integer(argument, given, least=1 if self.least is None else self.least)
        return str(given)


def describe_fields(struct: type[msgspec.Struct]) -> Iterator[FieldInfo]:
    """Yield name, type, default and help of each field of a struct.

    >>> [field.name for field in describe_fields(QuestionFields)]
    ['tau', 'alpha', 'adjust', 'search', 'max_size', 'budget']
    """
    for field in msgspec.structs.fields(struct):
        found = msgspec.inspect.type_info(field.type)
        assert isinstance(found, msgspec.inspect.Metadata)
        schema, bare = found.extra_json_schema or {}, found.type
        if isinstance(bare, msgspec.inspect.UnionType):  # `T | None`
            bare = next(t for t in bare.types if not isinstance(t, msgspec.inspect.NoneType))
        kind: Literal["text", "number", "integer", "choice"] = "text"
        least = None
        if "enum" in schema:
            kind = "choice"
        elif isinstance(bare, msgspec.inspect.FloatType):
            kind = "number"
        elif isinstance(bare, msgspec.inspect.IntType):
            kind, least = "integer", bare.ge
        choices = tuple(schema.get("enum", ()))
        yield FieldInfo(field.name, kind, field.default, schema["description"], choices, least)
