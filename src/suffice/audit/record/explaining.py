"""Decisions explained into a record; and those that they are compared with."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.audit.record.chain import MANIFEST, seal_of
from suffice.audit.record.facts import counts_kept, known_hashes
from suffice.audit.record.folder import BEFORE, EXPLANATIONS
from suffice.errors import InputError
from suffice.explainer import Asked, Explainer
from suffice.many.lock import LOCK
from suffice.tables import Table

if TYPE_CHECKING:
    from suffice.many.load import Stored

__all__ = ["before_of", "explained", "keep_before"]


def explained(
    explainer: Explainer,
    table: Table,
    inside: Path,
    *,
    id: str | None,
    hashes: Mapping[str, str] | None,
    workers: int | None,
    resume: bool,
    question: Asked,
) -> Stored:
    """Every decision explained into a folder; what tells of the time is not left there."""
    from suffice.many.manifest import MANIFEST as BEGUN
    from suffice.many.store import LOG
    from suffice.many.to import explain_to

    stored = explain_to(
        explainer,
        table.native,
        inside,
        id=id,
        resume=resume and (inside / BEGUN).exists(),
        workers=workers,
        counts=counts_kept(explainer),
        hashes=known_hashes(explainer, hashes),
        **question,
    )
    for name in (LOG, LOCK):
        (inside / name).unlink(missing_ok=True)
    if not len(stored):
        why = stored.errors["message"].iloc[0]
        raise InputError("X", f"no row that can be explained ({why})", "at least one")
    return stored


def before_of(given: Any) -> Explainer | Stored:
    """What decisions are compared with: a model, or explanations that are stored and whole."""
    from suffice.many.load import Stored, load

    if isinstance(given, Explainer | Stored):
        return given
    if not isinstance(given, str | PathLike):
        allowed = "an Explainer, or the folder of a record or of `suffice batch`"
        raise InputError("compare: with", given, allowed)
    folder = Path(given)
    if (folder / MANIFEST).exists():
        seal_of(folder, "compare: with")
        folder = folder / EXPLANATIONS
    try:
        found = load(folder)
    except InputError as error:
        allowed = "a model's file, or the folder of a record or of `suffice batch`"
        raise InputError("compare: with", f"{given}", allowed, str(error)) from error
    if not found.finished or not len(found):
        raise InputError("compare: with", f"{given}, which is not finished", "a finished one")
    return found


def keep_before(before: Explainer | Stored, folder: Path, explain: Any) -> Stored:
    """A copy of stored explanations in the record; those of a model are made there."""
    from suffice.many.load import load
    from suffice.many.store import LOG, WORK

    inside = folder / BEFORE
    if isinstance(before, Explainer):
        made: Stored = explain(before, inside)
        return made
    shutil.rmtree(inside, ignore_errors=True)
    shutil.copytree(before.folder, inside, ignore=shutil.ignore_patterns(LOG, LOCK, WORK))
    return load(inside)
