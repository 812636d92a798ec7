"""A chain of hashes: each entry is linked to the one before it, and the last link seals them all.

Whoever changes a byte of a file breaks its entry; whoever changes an entry breaks every link after
it. Whoever can rewrite the whole folder can rewrite the chain as well: only a seal that is kept
elsewhere tells then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from suffice.errors import InputError, shorten
from suffice.many.fingerprint import hash_of_file

__all__ = [
    "MANIFEST",
    "START",
    "ChainEntry",
    "Fact",
    "Fault",
    "Kind",
    "chained",
    "fact_of_file",
    "faults_of",
    "files_in",
    "manifest_text",
    "read_chain",
    "seal_of",
]

MANIFEST = "manifest.json"
FORMAT, VERSION = "suffice audit record", 1
START = "0" * 64
"""What the first entry is linked to, where no record came before."""

Kind = Literal["model", "data", "catalogue", "question", "version", "file"]


class Fact(NamedTuple):
    """What is to be sealed: of a file its hash and size, of a library its version."""

    kind: Kind
    name: str
    value: str
    size: int | None = None


@dataclass(frozen=True)
class ChainEntry:
    """A fact, and how it hangs together with the one before it."""

    kind: Kind
    name: str
    value: str
    """The SHA-256 of a file, the hash of a model or of data, or a version."""
    size: int | None
    """Bytes of a file; None of what is no file of the record."""
    previous: str
    link: str

    @property
    def holds(self) -> bool:
        """Is its link what follows from the rest?"""
        return self.link == _link(Fact(self.kind, self.name, self.value, self.size), self.previous)


class _Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    version: int
    entries: list[ChainEntry]
    seal: str


FaultKind = Literal["changed", "missing", "extra", "broken"]


@dataclass(frozen=True)
class Fault:
    """What is wrong with one file of a record."""

    name: str
    kind: FaultKind
    why: str = ""

    def __str__(self) -> str:
        words = {
            "changed": "was changed",
            "missing": "is missing",
            "extra": "does not belong to the record",
            "broken": "is no whole chain",
        }
        return f"{self.name} {words[self.kind]}" + (f" ({self.why})" if self.why else "")


def chained(facts: Iterable[Fact], start: str = START) -> tuple[ChainEntry, ...]:
    """Facts as a chain that begins at a link.

    >>> a, b = chained([Fact("version", "numpy", "2.0"), Fact("version", "scipy", "1.15")])
    >>> a.previous == START, b.previous == a.link, a.holds and b.holds
    (True, True, True)
    """
    return tuple(ChainEntry(*fact, start, start := _link(fact, start)) for fact in facts)


def _link(fact: Fact, previous: str) -> str:
    return sha256(msgspec.json.encode([previous, *fact])).hexdigest()


def manifest_text(entries: Sequence[ChainEntry]) -> bytes:
    """The chain as it is written: there is one way to write it, so that every byte counts."""
    whole = _Manifest(FORMAT, VERSION, list(entries), entries[-1].link)
    return msgspec.json.format(msgspec.json.encode(whole), indent=1) + b"\n"


def read_chain(folder: Path, argument: str = "folder") -> tuple[ChainEntry, ...] | Fault:
    """The chain of a folder, or what is wrong with it; an error where the folder is no record."""
    path = folder / MANIFEST
    try:
        text = path.read_bytes()
    except FileNotFoundError as error:
        there = f"{folder}, which has no {MANIFEST}" if folder.exists() else f"{folder}: none"
        allowed = "a folder that `suffice audit` or audit.record wrote"
        hint = "A record that was not finished has none: go on with --resume (resume=True)."
        raise InputError(argument, there, allowed, hint if folder.exists() else "") from error
    except OSError as error:
        raise InputError(argument, f"{path} ({error.strerror})", "a readable record") from error
    try:
        raw: Any = msgspec.json.decode(text)
        if isinstance(raw, dict) and raw.get("format") == FORMAT and raw.get("version") != VERSION:
            return Fault(MANIFEST, "broken", f"version {shorten(raw.get('version'))}")
        found = msgspec.convert(raw, _Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return Fault(MANIFEST, "broken", f"it cannot be read: {shorten(str(error))}")
    if found.format != FORMAT or not found.entries:
        return Fault(MANIFEST, "broken", "it has no entries")
    for one, other in zip(found.entries, found.entries[1:], strict=False):
        if other.previous != one.link:
            return Fault(MANIFEST, "broken", f"{other.name} is not linked to {one.name}")
    for entry in found.entries:
        if not entry.holds:
            return Fault(MANIFEST, "broken", f"the link of {entry.name} does not follow from it")
    if manifest_text(found.entries) != text:
        return Fault(MANIFEST, "changed", "it is not written as it was, or its seal is another")
    return tuple(found.entries)


def files_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every file of a folder but the manifest, by its path from there, in an order that lasts."""
    found = [p for p in folder.rglob("*") if p.is_symlink() or not p.is_dir()]
    named = sorted((path.relative_to(folder).as_posix(), path) for path in found)
    return ((name, path) for name, path in named if name != MANIFEST)


def seal_of(given: Any, argument: str = "folder") -> str:
    """The seal of a record that is whole; an error that says what is wrong with one that is not."""
    if not isinstance(given, str | PathLike):
        raise InputError(argument, given, "the folder of a record")
    folder = Path(given)
    found = read_chain(folder, argument)
    faults = [found] if isinstance(found, Fault) else list(faults_of(folder, found))
    if faults or isinstance(found, Fault):
        raise InputError(argument, f"{folder}: {faults[0]}", "a record that is whole")
    return found[-1].link


def fact_of_file(name: str, path: Path) -> Fact:
    """What is sealed of a file."""
    return Fact("file", name, hash_of_file(path), path.stat().st_size)


def faults_of(folder: Path, entries: Iterable[ChainEntry]) -> Iterator[Fault]:
    """Files that are not, byte by byte, what was sealed; those that are missing, or too many."""
    sealed = {entry.name: entry for entry in entries if entry.kind == "file"}
    there = dict(files_in(folder))
    for name in sorted(sealed.keys() | there.keys()):
        if name not in there:
            yield Fault(name, "missing")
        elif name not in sealed:
            yield Fault(name, "extra")
        elif there[name].is_symlink() or not there[name].is_file():
            yield Fault(name, "changed", "it is a link, not a file")
        else:
            try:
                fact = fact_of_file(name, there[name])
            except OSError as error:
                yield Fault(name, "changed", error.strerror or "it cannot be read")
                continue
            if fact.size != sealed[name].size:
                yield Fault(name, "changed", f"{sealed[name].size:,} bytes → {fact.size:,}")
            elif fact.value != sealed[name].value:
                yield Fault(name, "changed")
