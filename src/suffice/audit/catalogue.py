"""A catalogue of reasons: what may be said of each feature, under which code.

It is checked before use: every entry has a code and a text, and is of a feature that there is; a
feature that is a reason has an entry.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from typing import Any, Literal

from suffice.checks import read_text, read_yaml, truth
from suffice.errors import InputError, did_you_mean
from suffice.wording import and_more

__all__ = ["Catalogue", "Direction", "Entry", "read_catalogue"]

Direction = Literal["higher", "lower", "other"]
"""Where the change that would help goes: to a higher value, a lower one, another category."""

_DIRECTIONS: tuple[Direction, ...] = ("higher", "lower", "other")


@dataclass(frozen=True)
class Entry:
    """One reason: its code and its text, for one direction or for any (None)."""

    feature: str
    code: str
    text: str
    direction: Direction | None = None

    @property
    def lacks(self) -> str:
        """What it should have and has not: "code", "text"; "" where it has both."""
        return next((w for w in ("code", "text") if not getattr(self, w).strip()), "")


@dataclass(frozen=True)
class Catalogue:
    """All entries; look up by feature and direction."""

    entries: tuple[Entry, ...]

    def entry(self, feature: str, direction: Direction | None) -> Entry | None:
        """The entry for this direction, else the one for any; None where there is neither."""
        own = [e for e in self.entries if e.feature == feature]
        return next((e for wanted in (direction, None) for e in own if e.direction == wanted), None)

    def check(self, features: Iterable[str]) -> None:
        """Refuse entries of features that are not there; what lacks one is told when it matters."""
        known = tuple(features)
        for entry in self.entries:
            if entry.feature not in known:
                hint = did_you_mean(entry.feature, known)
                got = f"an entry for {entry.feature!r}, which is no feature"
                raise InputError("catalogue", got, "features of the explanations", hint)


def read_catalogue(given: Any, *, blanks: bool = False) -> Catalogue:
    """A catalogue from a file (.csv, .yaml), or from a mapping of feature to what is said.

    In a mapping a feature has (code, text), or {"code": …, "text": …}, or one of these for each
    direction: {"higher": …, "lower": …}. A file has the same: in CSV the columns feature, code,
    text and, where it is wanted, direction; lines above their names that begin with # are
    comments. Entries without a code or a text are refused, unless `blanks` says that whoever reads
    it looks out for them.

    >>> said = {"debt": ("R1", "Debt is too high"), "age": {"higher": ("R2", "Too young")}}
    >>> found = read_catalogue(said)
    >>> found.entry("age", "higher").code, found.entry("age", "lower")
    ('R2', None)
    >>> read_catalogue({"debt": ("R1", "")})
    Traceback (most recent call last):
    suffice.errors.InputError: catalogue: got an entry for 'debt' without text; allowed: ...
    """
    blanks = truth("blanks", blanks)
    if isinstance(given, Catalogue):
        return given if blanks else Catalogue(tuple(_checked(given.entries, blanks)))
    if isinstance(given, str | Path):
        entries = tuple(_from_file(Path(given)))
    elif isinstance(given, Mapping):
        entries = tuple(_from_mapping(given))
    else:
        allowed = "a mapping of feature to (code, text), or the path of a .csv or .yaml file"
        raise InputError("catalogue", given, allowed)
    if not entries:
        raise InputError("catalogue", "no entries", "at least one")
    return Catalogue(tuple(_checked(entries, blanks)))


def _checked(entries: Iterable[Entry], blanks: bool) -> Iterator[Entry]:
    seen: set[tuple[str, Direction | None]] = set()
    for entry in entries:
        if entry.lacks and not blanks:
            got = f"an entry for {entry.feature!r} without {entry.lacks}"
            raise InputError("catalogue", got, "a code and a text in every entry")
        key = entry.feature, entry.direction
        if key in seen:
            way = "" if entry.direction is None else f" ({entry.direction})"
            got = f"two entries for {entry.feature!r}{way}"
            raise InputError("catalogue", got, "one for each feature and direction")
        seen.add(key)
        yield entry


def _from_mapping(given: Mapping[Any, Any]) -> Iterator[Entry]:
    for feature, said in given.items():
        if isinstance(said, Mapping) and set(said) & set(_DIRECTIONS):
            for direction, part in said.items():
                yield Entry(str(feature), *_said(feature, part), _direction(direction))
        else:
            yield Entry(str(feature), *_said(feature, said))


def _said(feature: Any, said: Any) -> tuple[str, str]:
    if isinstance(said, Mapping) and set(said) <= {"code", "text"}:
        return str(said.get("code") or ""), str(said.get("text") or "")
    if isinstance(said, list | tuple) and len(said) == 2:
        return str(said[0] or ""), str(said[1] or "")
    allowed = "(code, text), {'code': …, 'text': …}, or one of these for each direction"
    raise InputError("catalogue", f"{said!r} for {feature!r}", allowed)


def _direction(given: Any) -> Direction | None:
    if given is None or str(given).strip() == "":
        return None
    for known in _DIRECTIONS:
        if str(given).strip() == known:
            return known
    raise InputError("catalogue", f"direction {given!r}", and_more(map(repr, _DIRECTIONS)))


def _from_file(path: Path) -> Iterator[Entry]:
    if path.suffix.lower() in (".yaml", ".yml"):
        found = read_yaml("catalogue", path, ".csv")
        if not isinstance(found, Mapping):
            raise InputError("catalogue", path.name, "a mapping of feature to what is said")
        yield from _from_mapping(found)
        return
    if path.suffix.lower() != ".csv":
        raise InputError("catalogue", path.name, "a .csv or .yaml file")
    lines = read_text("catalogue", path).splitlines()
    # Only above the names: further down, "# of loans" may be a feature.
    rows = csv.DictReader(dropwhile(lambda line: line.startswith("#"), lines))
    lacking = {"feature", "code", "text"} - set(rows.fieldnames or ())
    if lacking:
        got = f"{path.name} without the column {sorted(lacking)[0]!r}"
        raise InputError("catalogue", got, "columns feature, code, text (and direction)")
    for row in rows:
        yield Entry(
            row["feature"] or "",
            row["code"] or "",
            row["text"] or "",
            _direction(row.get("direction")),
        )
