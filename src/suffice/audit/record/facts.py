"""What a record says of itself: what was asked of what, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from suffice.audit.record.analysis import Arguments
from suffice.audit.record.chain import Fact, Kind
from suffice.errors import InputError
from suffice.explainer import Explainer
from suffice.explanation.explain import versions
from suffice.results import json_text
from suffice.tables import plain
from suffice.wording import and_more, count, named, percent, show

if TYPE_CHECKING:
    from suffice.many.load import Stored

__all__ = [
    "about",
    "counts_kept",
    "known_hashes",
    "need_pyarrow",
    "rests_on",
    "versions_now",
]

_COUNTS = 16
"""Up to so many features the counts of all sets are kept: analyses read them."""
_ASKED = ("context", "cost", "outcome", "references")
"""Hashes of a stored portfolio that are of its question."""


def need_pyarrow() -> None:
    """Explanations are kept in Parquet files."""
    if find_spec("pyarrow") is None:
        hint = "pip install suffice[audit]"
        raise InputError("record", "it without pyarrow", "it with pyarrow", hint)


def known_hashes(explainer: Explainer, given: Mapping[str, str] | None) -> dict[str, str]:
    """What was given, and what the model says of the data: two models that answer alike are one."""
    answers = [plain(answer) for answer in explainer.answers.tolist()]
    return {**(given or {}), "answers": sha256(json_text(answers).encode()).hexdigest()}


def counts_kept(explainer: Explainer) -> bool | None:
    """Are the counts of all sets kept? None: as `explain_to` has it."""
    return True if len(explainer.decider.players) <= _COUNTS else None


def about(stored: Stored) -> Iterator[tuple[str, str]]:
    """What was asked, of what, in words."""
    m, asked = stored.manifest, stored.manifest.question
    shared = m.shared.provenance
    yield "Model", str(m.explainer["model"])
    outcomes = stored.to_frame()["outcome"].value_counts().sort_index().items()
    told = and_more((f"{named(str(outcome))}: {n:,}" for outcome, n in outcomes), 8)
    yield "Decisions", f"{len(stored):,} ({told})"
    failed = len(stored.errors)
    if failed:
        yield "Not explained", f"{count(failed, 'row')}, each with its reason in the record"
    names = [name for name, _ in m.shared.players]
    yield "Features", f"{len(names)}: {and_more(map(named, names), 30)}"
    most = m.explainer["n_references"]
    many = "all rows" if most is None else f"up to {count(most, 'row')}"
    kind = {"opposite": "that the model decides otherwise", "all": "of any outcome"}
    which = kind.get(str(m.explainer["references"]), "that were given")
    rows = "the data" if shared.data is None else f"{shared.data[0]:,}"
    yield "Contrast", f"{many} {which}, of {rows} ({shared.context.words})"
    yield (
        "Question",
        f"which features, held or replaced, settle the outcome for at least "
        f"{percent(asked['tau'])} of these rows",
    )
    if asked["alpha"] is not None:
        adjusted = "" if asked["adjust"] == "none" else f", adjusted ({asked['adjust']})"
        yield "Test", f"each share is tested at level {show(asked['alpha'])}{adjusted}"
    if not m.repeatable:
        yield "Limits", "searches ended with their time: another run would differ a little"


def rests_on(stored: Stored, wanted: Mapping[str, Arguments]) -> Iterator[Fact]:
    """What the answers depend on: the model, the data, the catalogue, the versions."""
    m = stored.manifest
    told: dict[str, tuple[Kind, str]] = {
        "model": ("model", str(m.explainer["model"])),
        "answers": ("model", "its answers for the data"),
        "data": ("data", "rows that references come from"),
        "input": ("data", "decisions"),
    }
    # What else whoever recorded it knew the hash of is a file that something was read from.
    others: dict[str, tuple[Kind, str]] = {
        name: ("data", name) for name in sorted(m.hashes.keys() - told.keys() - set(_ASKED))
    }
    asked: dict[str, tuple[Kind, str]] = {name: ("question", name) for name in _ASKED}
    for name, (kind, called) in (told | others | asked).items():
        yield Fact(kind, called, str(m.hashes[name]))
    for name, arguments in wanted.items():
        if "catalogue" in arguments:
            yield Fact("catalogue", name, _hash(arguments["catalogue"]))
    for name, number in versions_now().items():
        yield Fact("version", name, number)


def _hash(plain: Any) -> str:
    return sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()


def versions_now() -> dict[str, str]:
    """Of what the numbers and the files depend on."""
    found = dict(versions())
    for name in ("scipy", "pyarrow", "matplotlib", "jinja2"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return dict(sorted(found.items()))
