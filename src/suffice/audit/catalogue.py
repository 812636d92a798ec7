"""Catalogue of reason codes and texts for `audit.reasons`, from a mapping, CSV or YAML file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from typing import Any, Literal

from suffice.errors import InputError, did_you_mean
from suffice.formatting import join_first
from suffice.validation import check_bool, read_text_file, read_yaml_file

ChangeDirection = Literal["higher", "lower", "other"]
"""Direction of the change that helps: a higher value, a lower one, or another category."""

EntryDirection = ChangeDirection | Literal["any"]
"""Direction that an entry is declared for; "any": its text is true whichever direction helps."""

_DIRECTIONS: tuple[EntryDirection, ...] = ("higher", "lower", "other", "any")


@dataclass(frozen=True)
class CatalogueEntry:
    """Code and text of one reason, for a change of a feature in one direction.

    An entry without a direction is for categories. For a number, "Income too low" would also be
    given where a lower income helps; for a true/false feature, "No guarantor" where there is one.
    """

    feature: str
    code: str
    text: str
    direction: EntryDirection | None = None

    @property
    def missing_field(self) -> str:
        """The field that is blank, "code" or "text"; "" if none is."""
        return next((w for w in ("code", "text") if not getattr(self, w).strip()), "")


@dataclass(frozen=True)
class Catalogue:
    """Entries of a catalogue, looked up by feature and direction."""

    entries: tuple[CatalogueEntry, ...]

    def entry(self, feature: str, direction: ChangeDirection | None) -> CatalogueEntry | None:
        """Return the entry for this direction, else one for "any" or without any, else None."""
        # A text for the direction that helps is more specific than one for "any"; one without a
        # direction is for categories.
        own = {e.direction: e for e in self.entries if e.feature == feature}
        return (own.get(direction) if direction else None) or own.get("any") or own.get(None)

    def check(self, features: Iterable[str]) -> None:
        """Raise if an entry names an unknown feature; features may lack an entry."""
        known = tuple(features)
        for entry in self.entries:
            if entry.feature not in known:
                hint = did_you_mean(entry.feature, known)
                got = f"an entry for {entry.feature!r}, which is no feature"
                raise InputError("catalogue", got, "features of the explanations", hint)


def read_catalogue(given: Any, *, blanks: bool = False) -> Catalogue:
    """Read a catalogue from a file (.csv, .yaml), or from a mapping of feature to reason.

    In a mapping a feature has (code, text), or {"code": …, "text": …}, or one of these for each
    direction that helps: {"higher": …, "lower": …}, or "any" for a text that is true of both. A
    number needs directions, and so does a true/false feature, of which true is higher. A missing
    value needs "any". A YAML file holds such a mapping. A CSV file has the columns feature, code,
    text and optionally direction; lines that begin with # above the header are comments. Entries
    without a code or a text are refused, unless `blanks` is true.

    >>> said = {"home": ("R1", "Housing"), "age": {"higher": ("R2", "Too young")}}
    >>> found = read_catalogue(said)
    >>> found.entry("age", "higher").code, found.entry("age", "lower")
    ('R2', None)
    >>> read_catalogue({"debt": ("R1", "")})
    Traceback (most recent call last):
    suffice.errors.InputError: catalogue: got an entry for 'debt' without text; allowed: ...
    """
    blanks = check_bool("blanks", blanks)
    if isinstance(given, Catalogue):
        return given if blanks else Catalogue(tuple(_check_entries(given.entries, blanks)))
    if isinstance(given, str | Path):
        entries = tuple(_from_file(Path(given)))
    elif isinstance(given, Mapping):
        entries = tuple(_from_mapping(given))
    else:
        allowed = "a mapping of feature to (code, text), or the path of a .csv or .yaml file"
        raise InputError("catalogue", given, allowed)
    if not entries:
        raise InputError("catalogue", "no entries", "at least one")
    return Catalogue(tuple(_check_entries(entries, blanks)))


def _check_entries(entries: Iterable[CatalogueEntry], blanks: bool) -> Iterator[CatalogueEntry]:
    seen: set[tuple[str, EntryDirection | None]] = set()
    for entry in entries:
        if entry.missing_field and not blanks:
            got = f"an entry for {entry.feature!r} without {entry.missing_field}"
            raise InputError("catalogue", got, "a code and a text in every entry")
        key = entry.feature, entry.direction
        if key in seen:
            way = "" if entry.direction is None else f" ({entry.direction})"
            got = f"two entries for {entry.feature!r}{way}"
            raise InputError("catalogue", got, "one for each feature and direction")
        seen.add(key)
        yield entry


def _from_mapping(given: Mapping[Any, Any]) -> Iterator[CatalogueEntry]:
    for feature, said in given.items():
        # {"code": …, "text": …} and {"higher": …} are both mappings: only the second has
        # directions.
        if isinstance(said, Mapping) and set(said) & set(_DIRECTIONS):
            for direction, part in said.items():
                yield CatalogueEntry(
                    str(feature), *_code_and_text(feature, part), _read_direction(direction)
                )
        else:
            yield CatalogueEntry(str(feature), *_code_and_text(feature, said))


def _code_and_text(feature: Any, said: Any) -> tuple[str, str]:
    if isinstance(said, Mapping) and set(said) <= {"code", "text"}:
        return str(said.get("code") or ""), str(said.get("text") or "")
    if isinstance(said, list | tuple) and len(said) == 2:
        return str(said[0] or ""), str(said[1] or "")
    allowed = "(code, text), {'code': …, 'text': …}, or one of these for each direction"
    raise InputError("catalogue", f"{said!r} for {feature!r}", allowed)


def _read_direction(given: Any) -> EntryDirection | None:
    if given is None or str(given).strip() == "":
        return None
    for known in _DIRECTIONS:
        if str(given).strip() == known:
            return known
    raise InputError("catalogue", f"direction {given!r}", join_first(map(repr, _DIRECTIONS)))


def _from_file(path: Path) -> Iterator[CatalogueEntry]:
    if path.suffix.lower() in (".yaml", ".yml"):
        found = read_yaml_file("catalogue", path, ".csv")
        if not isinstance(found, Mapping):
            raise InputError("catalogue", path.name, "a mapping of feature to reason")
        yield from _from_mapping(found)
        return
    if path.suffix.lower() != ".csv":
        raise InputError("catalogue", path.name, "a .csv or .yaml file")
    lines = read_text_file("catalogue", path).splitlines()
    # Comments only above the header: below it, "# of loans" may be a feature.
    rows = csv.DictReader(dropwhile(lambda line: line.startswith("#"), lines))
    lacking = {"feature", "code", "text"} - set(rows.fieldnames or ())
    if lacking:
        got = f"{path.name} without the column {sorted(lacking)[0]!r}"
        raise InputError("catalogue", got, "columns feature, code, text (and direction)")
    for row in rows:
        yield CatalogueEntry(
            row["feature"] or "",
            row["code"] or "",
            row["text"] or "",
            _read_direction(row.get("direction")),
        )
