"""Manifest of an audit record (`manifest.json`): hashes of model, data and files, and the seal.

The seal is the hash of the manifest without its seal, so that a changed byte of a file or of the
manifest is found. `SHA256SUMS` repeats the hashes of all files for `sha256sum -c SHA256SUMS`.
Whoever can rewrite the whole folder can seal it anew: only a seal kept elsewhere shows that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from suffice.audit.record_analyses import Arguments
from suffice.batch.hashing import hash_file
from suffice.errors import InputError, missing_package, short_repr
from suffice.explainer import Explainer
from suffice.explanation.explain import library_versions
from suffice.results import json_text
from suffice.tables import as_scalar
from suffice.typing import NaturalNumber

if TYPE_CHECKING:
    from suffice.batch.load import Stored

RECORD_MANIFEST, SUMS_FILE = "manifest.json", "SHA256SUMS"
RECORD_FORMAT, RECORD_VERSION = "suffice audit record", 2

FactKind = Literal["model", "data", "catalogue", "question", "version"]


class SealedFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hash of a model, of data or of a question, or the version of a library."""

    kind: FactKind
    name: str
    value: str


class SealedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Name, SHA-256 and size in bytes of a file of the record."""

    name: str
    value: str
    size: NaturalNumber


class RecordManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Content of `manifest.json`, in the order of the file."""

    format: str
    version: NaturalNumber
    previous: str | None
    """Seal of the record before this one; None if there is none."""
    facts: tuple[SealedFact, ...]
    files: tuple[SealedFile, ...]
    seal: str

    def encode(self) -> bytes:
        """Return the bytes of the file: there is one way to write it, so that every byte counts."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"

    def sums(self) -> bytes:
        """Return the bytes of `SHA256SUMS`: a line for each file, the manifest last."""
        own = SealedFile(RECORD_MANIFEST, sha256(self.encode()).hexdigest(), 0)
        return "".join(f"{file.value}  {file.name}\n" for file in (*self.files, own)).encode()


def seal_manifest(
    facts: Iterable[SealedFact], files: Iterable[SealedFile] = (), previous: str | None = None
) -> RecordManifest:
    """Return the manifest with its seal.

    >>> one, other = (seal_manifest([SealedFact("version", "numpy", n)]) for n in ("2.0", "2.1"))
    >>> len(one.seal), one.seal == other.seal
    (64, False)
    """
    # The seal covers the manifest with an empty seal: no file can contain its own hash.
    bare = RecordManifest(RECORD_FORMAT, RECORD_VERSION, previous, tuple(facts), tuple(files), "")
    return msgspec.structs.replace(bare, seal=sha256(bare.encode()).hexdigest())


FaultKind = Literal["changed", "missing", "extra", "broken"]


@dataclass(frozen=True)
class Fault:
    """Fault of one file of a record."""

    name: str
    kind: FaultKind
    why: str = ""

    def __str__(self) -> str:
        words = {
            "changed": "was changed",
            "missing": "is missing",
            "extra": "does not belong to the record",
            "broken": "is no manifest of a record",
        }
        return f"{self.name} {words[self.kind]}" + (f" ({self.why})" if self.why else "")


def read_record_manifest(folder: Path, argument: str = "folder") -> RecordManifest | Fault:
    """Return the manifest of a folder, or its fault; raise if the folder is no record."""
    path = folder / RECORD_MANIFEST
    try:
        text = path.read_bytes()
    except FileNotFoundError as error:
        there = (
            f"{folder}, which has no {RECORD_MANIFEST}" if folder.exists() else f"{folder}: none"
        )
        allowed = "a folder that `suffice audit` or audit.record wrote"
        hint = "A record that was not finished has none: go on with --resume (resume=True)."
        raise InputError(argument, there, allowed, hint if folder.exists() else "") from error
    except OSError as error:
        raise InputError(argument, f"{path} ({error.strerror})", "a readable record") from error
    try:
        raw: Any = msgspec.json.decode(text)
        known = isinstance(raw, dict) and raw.get("format") == RECORD_FORMAT
        if known and raw.get("version") != RECORD_VERSION:
            why = f"version {short_repr(raw.get('version'))}, not {RECORD_VERSION}"
            return Fault(RECORD_MANIFEST, "broken", why)
        found = msgspec.convert(raw, RecordManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return Fault(RECORD_MANIFEST, "broken", f"it cannot be read: {short_repr(str(error))}")
    if found.format != RECORD_FORMAT:
        return Fault(RECORD_MANIFEST, "broken", f"format {short_repr(found.format)}")
    # Both are needed: the seal finds changed content, the bytes find another spelling of it.
    sealed = seal_manifest(found.facts, found.files, found.previous)
    if sealed.seal != found.seal or found.encode() != text:
        return Fault(RECORD_MANIFEST, "changed", "its seal does not follow from its content")
    return found


def list_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files that a manifest lists by their path in the folder, sorted."""
    found = [p for p in folder.rglob("*") if p.is_symlink() or not p.is_dir()]
    named = sorted((path.relative_to(folder).as_posix(), path) for path in found)
    return ((name, path) for name, path in named if name not in (RECORD_MANIFEST, SUMS_FILE))


def read_seal(given: Any, argument: str = "folder") -> str:
    """Return the seal of a record; raise if a byte of it was changed."""
    if not isinstance(given, str | PathLike):
        raise InputError(argument, given, "the folder of a record")
    folder = Path(given)
    found = read_record_manifest(folder, argument)
    faults = [found] if isinstance(found, Fault) else list(find_faults(folder, found))
    if faults or isinstance(found, Fault):
        raise InputError(argument, f"{folder}: {faults[0]}", "a record that is whole")
    return found.seal


def seal_file(name: str, path: Path) -> SealedFile:
    """Return the hash and size of a file."""
    return SealedFile(name, hash_file(path), path.stat().st_size)


def find_faults(folder: Path, manifest: RecordManifest) -> Iterator[Fault]:
    """Yield files that differ from what was sealed, that are missing, and that were added."""
    sealed = {file.name: file for file in manifest.files}
    there = dict(list_files(folder))
    # A file that was added is a fault as well: a page may link to it.
    for name in sorted(sealed.keys() | there.keys()):
        if name not in there:
            yield Fault(name, "missing")
        elif name not in sealed:
            yield Fault(name, "extra")
        # A link could lead to content that changes after it was checked.
        elif there[name].is_symlink() or not there[name].is_file():
            yield Fault(name, "changed", "it is a link, not a file")
        else:
            try:
                file = seal_file(name, there[name])
            except OSError as error:
                yield Fault(name, "changed", error.strerror or "it cannot be read")
                continue
            if file.size != sealed[name].size:
                yield Fault(name, "changed", f"{sealed[name].size:,} bytes → {file.size:,}")
            elif file.value != sealed[name].value:
                yield Fault(name, "changed")
    sums = folder / SUMS_FILE
    if not sums.exists():
        yield Fault(SUMS_FILE, "missing")
    elif sums.is_symlink() or not sums.is_file() or sums.read_bytes() != manifest.sums():
        yield Fault(SUMS_FILE, "changed")


# Facts that a record rests on.


_MAX_COUNTED_FEATURES = 16
"""Limit on features up to which the counts of all sets are stored, for the analyses to read."""
_QUESTION_HASHES = ("context", "cost", "outcome", "references")
"""Hashes in the manifest of a batch run that are about its question."""


def require_pyarrow() -> None:
    """Raise if pyarrow is not installed: explanations are stored in Parquet files."""
    if find_spec("pyarrow") is None:
        raise missing_package("An audit record", "pyarrow", "audit")


def hashes_with_predictions(
    explainer: Explainer, given: Mapping[str, str] | None
) -> dict[str, str]:
    """Return the given hashes with that of the model's predictions for its data."""
    # The hash of a model object may differ between processes; its predictions identify it as well.
    answers = [as_scalar(answer) for answer in explainer.answers.tolist()]
    return {**(given or {}), "answers": sha256(json_text(answers).encode()).hexdigest()}


def store_counts(explainer: Explainer) -> bool | None:
    """Return whether the counts of all sets are stored; None: as `explain_to` decides."""
    return True if len(explainer.decider.players) <= _MAX_COUNTED_FEATURES else None


def sealed_facts(stored: Stored, wanted: Mapping[str, Arguments]) -> Iterator[SealedFact]:
    """Yield hashes of model, data, question and catalogues, and versions of libraries."""
    hashes = stored.manifest.hashes
    named: dict[str, tuple[FactKind, str]] = {
        "model": ("model", str(stored.manifest.explainer["model"])),
        "answers": ("model", "its answers for the data"),
        "data": ("data", "rows that references come from"),
        "input": ("data", "decisions"),
    }
    # Other hashes were given by the caller, of files that model or data were read from.
    others = sorted(hashes.keys() - named.keys() - set(_QUESTION_HASHES))
    for name, (kind, text) in named.items():
        yield SealedFact(kind, text, str(hashes[name]))
    for name in others:
        yield SealedFact("data", name, str(hashes[name]))
    for name in _QUESTION_HASHES:
        yield SealedFact("question", name, str(hashes[name]))
    for name, arguments in wanted.items():
        if "catalogue" in arguments:
            entries = msgspec.json.encode(arguments["catalogue"], order="sorted")
            yield SealedFact("catalogue", name, sha256(entries).hexdigest())
    for name, number in current_versions().items():
        yield SealedFact("version", name, number)


def current_versions() -> dict[str, str]:
    """Return the versions of the libraries on which numbers and files depend."""
    found = dict(library_versions())
    for name in ("scipy", "pyarrow", "matplotlib", "jinja2"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return dict(sorted(found.items()))
