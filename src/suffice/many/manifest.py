"""What a run was asked, of what: written down once, so that it goes on with the same or not at all.

Nothing in it depends on the time or the machine. `check` is a hash of the rest, which every part
carries: so an edited manifest is noticed, and a part of another run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from suffice.decision import Decider
from suffice.errors import InputError, shorten
from suffice.many.fingerprint import hash_of_model, hash_of_object, hash_of_table
from suffice.many.shared import Shared
from suffice.search import Question
from suffice.wording import show

__all__ = ["MANIFEST", "Manifest", "Storing", "describe", "differences", "read_manifest"]

MANIFEST = "_manifest.json"
FORMAT = "suffice explanations"
VERSION = 1
"""Of the folder's layout: raised when an older one could no longer be read."""


class Storing(msgspec.Struct, frozen=True):
    """How explanations are laid down."""

    id: str | None
    """The column that names rows; None: their numbers do."""
    id_type: str
    counts: bool | None
    """Are counts kept? None: those of up to 12 features."""
    rows_per_part: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the parts of a folder have in common."""

    format: str = FORMAT
    version: int = VERSION
    question: dict[str, Any]
    """What was asked of every row."""
    explainer: dict[str, Any]
    """What the explainer was made of, in words."""
    storing: Storing
    hashes: dict[str, str | None]
    """Of the model, the data, the input and whatever else was given; None: not known before it is
    read."""
    repeatable: bool
    """Would the same run give the same bytes? Not where a search ends with its time."""
    search: str
    """How every row is searched, as it was settled when the run began."""
    shared: Shared
    check: str = ""

    def sealed(self) -> Manifest:
        """With a hash of all the rest."""
        bare = msgspec.structs.replace(self, check="")
        return msgspec.structs.replace(self, check=sha256(bare.to_json()).hexdigest())

    def to_json(self) -> bytes:
        """As it is written."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=2) + b"\n"


def describe(
    given: Decider, asked: str, question: Question, hashes: Mapping[str, str | None]
) -> dict[str, Any]:
    """What was asked, of what, as a manifest says it; hashes that are known are taken over."""
    limits = question.limits
    found: dict[str, str | None] = {
        "data": hash_of_table(given.data),
        "references": hash_of_object(given.references),
        "outcome": hash_of_object(given.outcome),
        "cost": hash_of_object(given.cost),
        "context": hash_of_object(given.context),
    }
    if "model" not in hashes:
        found["model"] = hash_of_model(given)
    return {
        "question": {
            "tau": question.tau,
            "alpha": question.alpha,
            "adjust": question.adjust,
            "max_size": limits.max_size,
            "budget": limits.budget,
            "time_limit": limits.time_limit,
            "search": asked,
        },
        "explainer": {
            "model": repr(given.model),
            "outcome": None if given.outcome is None else shorten(given.outcome),
            "references": given.references if isinstance(given.references, str) else "given",
            "n_references": given.n_references,
            "random_state": given.seed,
            "size_weights": question.size_weights,
            "engine": given.choice.engine,
        },
        "hashes": dict(sorted((found | dict(hashes)).items())),
    }


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder; an error where there is none, or it was edited."""
    path = folder / MANIFEST
    allowed = "a folder that explain_to or `suffice batch` wrote"
    try:
        text = path.read_bytes()
    except FileNotFoundError as error:
        got = (
            f"{folder}, which has no {MANIFEST}"
            if folder.exists()
            else f"{folder} (no such folder)"
        )
        raise InputError("folder", got, allowed) from error
    except OSError as error:
        raise InputError("folder", f"{path} ({error.strerror})", allowed) from error
    broken = "Restore it, or write to another folder."
    try:
        raw = msgspec.json.decode(text)
        version = raw.get("version") if isinstance(raw, dict) else None
        if isinstance(raw, dict) and raw.get("format") == FORMAT and version != VERSION:
            got = f"{path} of version {shorten(version)}"
            raise InputError("folder", got, f"version {VERSION}")
        found = msgspec.convert(raw, Manifest)
    except (msgspec.MsgspecError, TypeError) as error:
        got = f"{path}, which is no manifest ({error})"
        raise InputError("folder", got, allowed, broken) from error
    if found.check != found.sealed().check:
        raise InputError("folder", f"{path}, which was edited", allowed, broken)
    return found


def differences(old: Manifest, new: Manifest) -> list[str]:
    """What changed from one run to another, setting by setting.

    How the search is settled is no setting: it follows from how fast the model is.
    """
    before, after = (dict(_settings(manifest)) for manifest in (old, new))
    out = []
    for name in dict.fromkeys([*after, *before]):
        was, now = before.get(name), after.get(name)
        if was != now:
            kind, _, what = name.partition(".")
            if kind == "hashes":
                out.append(f"the {what} changed: hash {_short(was)} → {_short(now)}")
            else:
                out.append(f"{what or kind}: {_word(was)} → {_word(now)}")
    return out


def _settings(manifest: Manifest) -> Iterator[tuple[str, Any]]:
    built = msgspec.to_builtins(manifest)
    for section in ("question", "explainer", "storing", "hashes"):
        yield from ((f"{section}.{name}", value) for name, value in built[section].items())
    shared = built["shared"]
    yield "players", [name for name, _ in shared["players"]]
    provenance = shared["provenance"]
    yield "context", provenance["context"]["words"]
    for name, version in provenance["versions"].items():
        yield f"version.{name}", version


def _short(given: Any) -> str:
    return "none" if given is None else f"{str(given).rpartition(':')[2][:8]}…"


def _word(given: Any) -> str:
    if isinstance(given, list):
        return ", ".join(map(str, given))
    return "none" if given is None else show(given)
