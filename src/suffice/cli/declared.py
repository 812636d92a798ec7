"""The file that an audit is declared in: read, and every name in it checked, before anything else.

`suffice audit --example` prints one. Paths in it are relative to it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from suffice.checks import choice, names, number, read_text, read_yaml, text, truth, whole
from suffice.cli.choices import ADJUSTMENTS, ENGINES, REFERENCES, SEARCHES
from suffice.cli.training import MODELS
from suffice.errors import InputError, did_you_mean, one_line, shorten

__all__ = ["Declared", "example", "read_declared"]


@dataclass(frozen=True)
class Declared:
    """What was declared, section by section, and the file it was declared in."""

    path: Path
    audit: dict[str, Any]
    model: dict[str, Any]
    data: dict[str, Any]
    question: dict[str, Any]
    analyses: dict[str, dict[str, Any]]


def example() -> str:
    """A file to begin from, with a word on every choice."""
    return (resources.files("suffice.cli") / "audit_example.toml").read_text(encoding="utf-8")


Reader = Callable[[str, Any], Any]


def _one_of(*options: str) -> Reader:
    return lambda argument, given: choice(argument, given, options)


def _number(argument: str, given: Any) -> float:
    return number(argument, given)


def _date(argument: str, given: Any) -> Any:
    return given if isinstance(given, datetime.date) else text(argument, given, "a date or a text")


def _groups(argument: str, given: Any) -> Any:
    allowed = '"auto", or {name = [columns]}'
    if isinstance(given, Mapping):
        return {str(name): names(argument, columns, allowed) for name, columns in given.items()}
    return choice(argument, given, ("auto",), "{name = [columns]}")


_SECTIONS: dict[str, dict[str, Reader]] = {
    "audit": {"title": text, "date": _date, "out": text, "previous": text},
    "model": {
        "file": text,
        "classes": names,
        "train": _one_of(*MODELS),
        "trust_types": names,
        "trust_pickle": truth,
    },
    "data": {
        "file": text,
        "target": text,
        "id": text,
        "leave_out": names,
        "background": text,
        "rows": text,
        "decided": lambda _, given: str(given),
        "sample": whole,
    },
    "question": {
        "tau": _number,
        "alpha": _number,
        "adjust": _one_of(*ADJUSTMENTS),
        "search": _one_of(*SEARCHES),
        "engine": _one_of(*ENGINES),
        "references": _one_of(*REFERENCES),
        "n_references": whole,
        "outcome": lambda _, given: str(given),
        "at_least": _number,
        "at_most": _number,
        "groups": _groups,
        "max_size": whole,
        "budget": whole,
        "seed": lambda argument, given: whole(argument, given, least=0),
    },
}


def read_declared(path: Path) -> Declared:
    """Read a file; an error names the section and the key that it is about."""
    from suffice.audit.record.analyses import ANALYSES

    raw = _parsed(path)
    known = [*_SECTIONS, *ANALYSES]
    for name, section in raw.items():
        if name not in known:
            hint = did_you_mean(name, known, or_list=False)
            got = f"a section [{one_line(name, 40)}]"
            raise InputError("--config", got, ", ".join(f"[{k}]" for k in known), hint)
        if not isinstance(section, Mapping) and not (name in ANALYSES and section in (None, True)):
            raise InputError(f"[{name}]", shorten(section), "a section of keys and values")
    if "data" not in raw:
        raise InputError("--config", "no section [data]", "one with the file of decisions")
    if "model" not in raw:
        raise InputError("--config", "no section [model]", "one with a file, or train")
    sections = {name: _section(name, raw.get(name) or {}) for name in _SECTIONS}
    if "file" not in sections["data"]:
        raise InputError("[data]", "no file", "the file of decisions")
    if ("file" in sections["model"]) == ("train" in sections["model"]):
        raise InputError("[model]", "both file and train, or neither", "exactly one of the two")
    analyses = {name: dict(raw[name] or {}) for name in raw if name in ANALYSES}
    if not analyses:
        allowed = f"at least one section of {', '.join(f'[{k}]' for k in ANALYSES)}"
        raise InputError("--config", "no analysis", allowed)
    return Declared(path, **sections, analyses=analyses)


def _section(name: str, given: Mapping[Any, Any]) -> dict[str, Any]:
    readers = _SECTIONS[name]
    for key in given:
        if key not in readers:
            hint = did_you_mean(key, readers, or_list=False)
            raise InputError(f"[{name}]", f"a key {shorten(key)}", ", ".join(readers), hint)
    return {key: readers[key](f"[{name}] {key}", value) for key, value in given.items()}


def _parsed(path: Path) -> dict[str, Any]:
    if path.suffix.lower() in (".yaml", ".yml"):
        found = read_yaml("--config", path, ".toml")
    else:
        import tomllib

        try:
            found = tomllib.loads(read_text("--config", path))
        except tomllib.TOMLDecodeError as error:
            raise InputError("--config", f"{path.name}: {error}", "valid TOML") from error
    if not isinstance(found, dict):
        raise InputError("--config", path.name, "sections of keys and values")
    return found
