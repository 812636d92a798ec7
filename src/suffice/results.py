"""`Result`, the base of results: text, notebook, tables, JSON, page; files for their owner only.

A result is frozen and holds facts. Its `sheet` puts them into words once; every screen and page is
drawn from the sheet, so that all of them say the same. Renderers belong to the higher layers
`report` and `plots`, so this module imports them by name, when one is called.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn, Self

import msgspec

from suffice.errors import InputError, one_line, short_repr
from suffice.formatting import format_value, percent, percentage_points, plural, printable
from suffice.typing import Scalar
from suffice.validation import check_choice

ColumnKind = Literal["text", "share", "number", "difference"]
RenderFormat = Literal[
    "text", "full_text", "terminal", "fragment", "page", "record_page", "report", "sheet"
]


@dataclass(frozen=True)
class Estimate:
    """A number with the ends of its interval; value None: only the interval is known."""

    value: float | None
    low: float
    high: float


Cell = Scalar | Estimate
"""A cell of a panel."""


@dataclass(frozen=True)
class Column:
    """A column of a panel: its heading, and how its cells are shown.

    A "share" is a probability, drawn with a bar; a "number" is a cost or a count; a "difference" is
    that of two shares, in percentage points; "text" is words.
    """

    heading: str
    kind: ColumnKind = "text"

    def text_of(self, cell: Cell) -> str:
        """Format a cell of this column.

        >>> Column("share", "share").text_of(Estimate(0.5, 0.25, 0.75))
        '50% (25–75%)'
        >>> Column("gap", "difference").text_of(Estimate(-0.03, -0.5, 0.0))
        '−3 (−50 to 0)'
        """
        if cell is None:
            return "–"
        if isinstance(cell, Estimate):
            share = self.kind == "share"
            low, high = self.text_of(cell.low), self.text_of(cell.high)
            within = f"{low.removesuffix('%')}–{high}" if share else f"{low} to {high}"
            return within if cell.value is None else f"{self.text_of(cell.value)} ({within})"
        if self.kind != "text" and isinstance(cell, int | float):
            if self.kind == "share":
                return percent(float(cell))
            if self.kind == "difference":
                return percentage_points(float(cell))
            if isinstance(cell, int):
                return f"{cell:,}"
            return f"{cell:.3g}" if abs(cell) < 1e6 else f"{cell:,.0f}"
        return format_value(cell)


@dataclass(frozen=True)
class OmittedRows:
    """Number of rows that a panel leaves out, and the attribute that has them; false for none.

    >>> str(OmittedRows(12, ".options")), OmittedRows(1, ".rows", "row").alone, bool(OmittedRows())
    ('and 12 more: .options', 'and 1 more row', False)
    """

    n: int = 0
    where: str = ""
    noun: str = ""

    def __bool__(self) -> bool:
        return self.n > 0

    @property
    def alone(self) -> str:
        """The text without the attribute, for a printed page."""
        if not self:
            return ""
        return f"and {plural(self.n, f'more {self.noun}')}" if self.noun else f"and {self.n:,} more"

    def __str__(self) -> str:
        return f"{self.alone}: {self.where}" if self else ""


@dataclass(frozen=True)
class Panel:
    """A table with a heading; cells are facts, shown by their column's kind. None is a dash."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    heading: str = ""
    more: OmittedRows = OmittedRows()
    """The rows that were left out."""

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The cells of each row as text."""
        return tuple(
            tuple(column.text_of(cell) for column, cell in zip(self.columns, row, strict=True))
            for row in self.rows
        )


@dataclass(frozen=True)
class Field:
    """Column of a table that is declared once, for panels and frames.

    `name` is that of the frame's column, or three names for an `Estimate` and its ends; "" leaves
    the field out of frames. `heading` is that of the panel; None leaves the field out of panels.
    """

    name: str | tuple[str, str, str]
    heading: str | None = None
    kind: ColumnKind = "text"
    value: Callable[[Any], Any] | None = None
    """Value of a row; None: the row's attribute `name`."""
    show: Callable[[Any], Cell] | None = None
    """Converts the value for panels; None: they show it unchanged."""

    def read(self, row: Any) -> Any:
        """Return the value of one row; its `estimate` if it has one, as shares and gaps have."""
        found = getattr(row, str(self.name)) if self.value is None else self.value(row)
        return getattr(found, "estimate", found)

    def cell(self, row: Any) -> Cell:
        """Return the cell of one row in a panel."""
        found: Cell = self.read(row)
        return found if self.show is None else self.show(found)

    def record(self, row: Any) -> dict[str, Any]:
        """Return the cells of one row in a frame, by column."""
        found = self.read(row)
        if isinstance(self.name, str):
            return {self.name: found} if self.name else {}
        # Frames have a column for the value and one for each end of its interval.
        ends = (None, None, None) if found is None else (found.value, found.low, found.high)
        return dict(zip(self.name, ends, strict=True))


def make_panel(
    fields: Iterable[Field],
    rows: Iterable[Any],
    heading: str = "",
    more: OmittedRows = OmittedRows(),
) -> Panel:
    """Return the panel of the fields that have a heading."""
    shown = [field for field in fields if field.heading is not None]
    return Panel(
        tuple(Column(field.heading or "", field.kind) for field in shown),
        tuple(tuple(field.cell(row) for field in shown) for row in rows),
        heading,
        more,
    )


def make_frame(fields: Iterable[Field], rows: Iterable[Any]) -> Any:
    """Return the pandas frame of the fields that have a name.

    >>> fields = Field("size", value=len), Field(("share", "low", "high"), value=lambda row: row[0])
    >>> make_frame(fields, [[Estimate(0.5, 0.2, 0.8)], [None]])
       size  share  low  high
    0     1    0.5  0.2   0.8
    1     1    NaN  NaN   NaN
    """
    import pandas as pd

    every = tuple(fields)
    names = [f.name if isinstance(f.name, tuple) else (f.name,) * bool(f.name) for f in every]
    records = [
        {name: cell for field in every for name, cell in field.record(row).items()} for row in rows
    ]
    return pd.DataFrame(records, columns=[name for several in names for name in several])


@dataclass(frozen=True)
class Sheet:
    """Text and tables of a result, for every renderer."""

    title: str
    lead: tuple[str, ...] = ()
    """Sentences that sum the answer up."""
    panels: tuple[Panel, ...] = ()
    notes: tuple[str, ...] = ()
    """Further sentences: how the answer was found, what was left out."""


class Rendered(ABC):
    """Base of objects with a sheet, shown as text, on terminals, in notebooks and as pages."""

    faces: ClassVar[str] = "suffice.report.render_result"
    """The module with the functions `text`, `terminal`, `fragment` and `page` that render it (and
    `sheet`, where its sentences come from a higher layer)."""
    page_face: ClassVar[RenderFormat] = "page"
    """The function of that module that makes the page."""

    @property
    @abstractmethod
    def sheet(self) -> Sheet:
        """Text and tables of the result."""

    def to_html(self, path: str | Path | None = None) -> str:
        """Return a self-contained HTML page; with `path`, also write it there."""
        page: str = find_renderer(self.page_face, self)(self)
        if path is not None:
            write_text(path, page)
        return page

    def __str__(self) -> str:
        return str(find_renderer("text", self)(self))

    def __repr__(self) -> str:
        """Return the class and the title on one line."""
        title = printable(self.sheet.title)
        return f"<{type(self).__name__}: {title if len(title) <= 90 else title[:89] + '…'}>"

    def __rich__(self) -> Any:
        return find_renderer("terminal", self)(self)

    def _repr_html_(self) -> str:
        return str(find_renderer("fragment", self)(self))


class Result(Rendered):
    """Base class of all results: text, frame, JSON, page and figure.

    A subclass is a frozen dataclass with a `sheet` and a `to_frame`. Where its fields are not all
    of kinds that JSON has, it also overrides `_record` and `_from_record` with a msgspec.Struct
    named in `stored`.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from suffice import Explainer
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> def grant(rows):
    ...     return np.where(rows["income"] - 4 * rows["debt"] > 20, "granted", "refused")
    >>> e = Explainer(grant, people).explain({"income": 25, "debt": 8}, tau=0.6)
    >>> e
    <Explanation: Why “refused”? 2 features, 3 references, τ = 0.6>
    >>> type(e).from_json(e.to_json()) == e
    True
    >>> list(e.to_frame()["features"])
    [('income',), ('income',)]
    """

    version: ClassVar[int] = 1
    """Version of the stored form: it goes up where older texts cannot be read any more."""
    stored: ClassVar[type | None] = None
    """The type of the stored content; None: the class itself."""
    stored_volatile: ClassVar[type | None] = None
    """The type of the block of facts that differ from call to call; None: there is none."""
    plots: ClassVar[tuple[str, ...]] = ("measures",)
    """Names of the functions of `suffice.plots` that draw it, the default first."""

    @abstractmethod
    def to_frame(self) -> Any:
        """Return the result as a pandas frame."""

    def to_json(self) -> str:
        """Return a versioned JSON text of the whole result (see `result_schema`)."""
        return self._json(self._record())

    def _json(self, content: Any, volatile: Mapping[str, Any] | None = None) -> str:
        """Return the JSON text of a content, with volatile facts in a block of their own."""
        envelope = {"result": type(self).__name__, "version": self.version, "content": content}
        return json_text(envelope if volatile is None else envelope | {"volatile": volatile})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the result that a JSON text stores; it equals the original."""
        allowed = f"JSON written by {cls.__name__}.to_json"
        # The envelope is checked first, so that an error names the version and not some field.
        envelope = read_json(text, allowed)
        if envelope.get("result") != cls.__name__:
            raise InputError("text", f"a stored {short_repr(envelope.get('result'))}", allowed)
        if envelope.get("version") != cls.version:
            got = f"version {short_repr(envelope.get('version'))}"
            raise InputError("text", got, f"{allowed}, version {cls.version}")
        try:
            cls._read_volatile(envelope)
            record: Any = msgspec.convert(envelope.get("content"), type=cls.stored or cls)
            return cls._from_record(record)
        except InputError as error:
            if error.argument == "text":
                raise
            raise InputError("text", str(error), allowed) from error
        except (msgspec.ValidationError, TypeError) as error:
            raise InputError("text", str(error), allowed) from error

    def plot(self, kind: str | None = None, ax: Any = None) -> Any:
        """Draw the result with matplotlib into `ax`, or into a new figure."""
        kinds = type(self).plots
        if not kinds:
            got = f"{type(self).__name__}, of which there is no figure"
            raise InputError("plot", got, "to_html(), to_frame() or print()")
        chosen = check_choice("kind", kinds[0] if kind is None else kind, kinds)
        return getattr(import_module("suffice.plots"), chosen)(self, ax=ax)

    def _record(self) -> Any:
        """Return what is stored: by default the fields as they are."""
        return self

    @classmethod
    def _read_volatile(cls, envelope: dict[str, Any]) -> None:
        """Move the facts of the volatile block into the content; most results have none."""
        return

    @classmethod
    def _from_record(cls, record: Any) -> Self:
        """Return the result of what was stored."""
        found: Self = record
        return found


class FrozenDict(dict[str, Scalar]):
    """Values by column that cannot be written to.

    >>> FrozenDict({"age": 41})["age"] = 42
    Traceback (most recent call last):
        ...
    TypeError: this mapping is read-only
    """

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this mapping is read-only")

    __setitem__ = __delitem__ = update = pop = popitem = setdefault = clear = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Scalar]]]:
        return FrozenDict, (dict(self),)


def find_renderer(form: RenderFormat, result: Rendered) -> Callable[[Any], Any]:
    """Return the function that renders a result: as text, on a terminal, in a cell, as a page."""
    found: Callable[[Any], Any] = getattr(import_module(result.faces), form)
    return found


def encode_text(text: str) -> bytes:
    r"""Encode a text for a file; lone surrogates, which UTF-8 cannot hold, are spelled out.

    >>> encode_text("caf\u00e9 \ud800")
    b'caf\xc3\xa9 \\ud800'
    """
    return text.encode("utf-8", errors="backslashreplace")


def write_text(path: object, text: str, argument: str = "path") -> None:
    """Write a text file; an InputError with the reason if it cannot be written."""
    write_bytes(path, encode_text(text), argument)


def private_opener(path: str, flags: int) -> int:
    """Open a file for `open(…, opener=…)`; a new one can be read by its owner only.

    Answers hold the values of people. A file that exists keeps its permissions, so whoever wants to
    share one makes it first, or changes its permissions afterwards.
    """
    return os.open(path, flags, 0o600)


def write_bytes(path: object, content: bytes, argument: str = "path") -> None:
    """Write a file; an InputError with the reason if it cannot be written."""
    allowed = "the path of a file that can be written"
    try:
        with open(Path(path), "wb", opener=private_opener) as file:  # type: ignore[arg-type]
            file.write(content)
    except TypeError as error:
        raise InputError(argument, path, allowed) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(argument, f"{one_line(path)} ({why})", allowed) from error


def json_text(value: Any) -> str:
    r"""Encode a value as JSON; lone surrogates, which UTF-8 cannot hold, become escapes of JSON.

    >>> json_text({"name": "\ud800"})
    '{"name": "\\ud800"}'
    """
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value))


def read_json(text: object, allowed: str) -> dict[str, Any]:
    """Return the object of a JSON text; an InputError with `allowed` if it holds none."""
    if not isinstance(text, str | bytes | bytearray | memoryview):
        raise InputError("text", text, allowed)
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
    try:
        # msgspec refuses lone surrogates even as escapes.
        found = json.loads(raw) if rb"\ud" in raw else msgspec.json.decode(raw)
    except (ValueError, RecursionError) as error:
        raise InputError("text", str(error), allowed) from error
    if not isinstance(found, dict):
        raise InputError("text", f"JSON of a {type(found).__name__}", allowed)
    return found


def result_schema(result: type[Result]) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of what `to_json` of a class of results writes.

    >>> from suffice import Explanation
    >>> schema = result_schema(Explanation)
    >>> schema["title"], schema["required"]
    ('Explanation', ['result', 'version', 'content'])
    """
    given: object = result
    if not isinstance(given, type) or not issubclass(given, Result) or given is Result:
        allowed = "a class of results, such as Explanation or Recourse"
        raise InputError("result", repr(given) if isinstance(given, str) else given, allowed)
    content = msgspec.json.schema(result.stored or result)
    definitions = content.pop("$defs", {})
    for definition in definitions.values():  # only the first paragraph of each docstring
        if "description" in definition:
            definition["description"] = definition["description"].split("\n\n")[0]
    volatile: dict[str, Any] = {}
    if result.stored_volatile is not None:
        block = msgspec.json.schema(result.stored_volatile)
        definitions |= block.pop("$defs", {})
        volatile = {"volatile": block}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": result.__name__,
        "type": "object",
        "properties": {
            "result": {"const": result.__name__},
            "version": {"const": result.version},
            "content": content,
            **volatile,
        },
        "required": ["result", "version", "content"],
        "$defs": definitions,
    }
