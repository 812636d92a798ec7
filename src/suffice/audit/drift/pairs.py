"""Decisions before and after: the same rows, explained twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.audit.decisions import as_decisions, inputs
from suffice.audit.groups import names_of
from suffice.errors import InputError
from suffice.explanation import Explanation
from suffice.explanation.subject import Subject, TextSubject
from suffice.tables.table import same
from suffice.wording import count, show

__all__ = ["Pair", "Pairs", "paired"]


@dataclass(frozen=True)
class Pair:
    """One row, explained twice."""

    name: str
    place: int
    """Its number among the decisions before."""
    before: Explanation
    after: Explanation


@dataclass(frozen=True)
class Pairs:
    """Which decision of the one side belongs to which of the other; each is read when it is due."""

    before: Sequence[Explanation]
    after: Sequence[Explanation]
    places: tuple[tuple[int, int], ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Pair]:
        for name, (i, j) in zip(self.names, self.places, strict=True):
            pair = Pair(
                name, i, _explanation("a", self.before[i]), _explanation("b", self.after[j])
            )
            _require_same_row(pair)
            yield pair


def _explanation(argument: str, given: Any) -> Explanation:
    if not isinstance(given, Explanation):
        raise InputError(argument, f"a {type(given).__name__} among them", "explanations")
    return given


def paired(a: Any, b: Any, ids: Sequence[Any] | None = None) -> Pairs:
    """Pair decisions by their place, or by their ids where both sides are stored.

    `ids` names the pairs; else stored ids do, or numbers.
    """
    before, after = as_decisions(a, "a"), as_decisions(b, "b")
    if not (hasattr(before, "ids") and hasattr(after, "ids")):
        if len(before) != len(after):
            hint = (
                "Explain the same rows, in the same order; stored batches (suffice.load) are "
                "paired by id."
            )
            got, allowed = count(len(after), "decision"), f"as many as a has, {len(before):,}"
            raise InputError("b", got, allowed, hint)
        places = tuple((i, i) for i in range(len(before)))
        return Pairs(before, after, places, tuple(names_of(before, ids)))
    known = _by_id("b", after.ids)
    mine = _by_id("a", before.ids)
    places = tuple((i, known[id]) for id, i in mine.items() if id in known)
    if not places:
        hint = "Pass list(suffice.load(folder)) to pair by place."
        raise InputError("b", "no id that a has", "stored batches of the same rows", hint)
    own = [id for id in mine if id in known]
    return Pairs(before, after, places, tuple(names_of(own, own if ids is None else ids)))


def _by_id(argument: str, ids: list[Any]) -> dict[Any, int]:
    found = {id: i for i, id in enumerate(ids)}
    if len(found) < len(ids):
        twice = next(id for i, id in enumerate(ids) if found[id] != i)
        hint = "Pass list(suffice.load(folder)) to pair by place."
        raise InputError(argument, f"several decisions with the id {twice!r}", "one each", hint)
    return found


def _require_same_row(pair: Pair) -> None:
    """Raise unless both sides are about the same input, cut into the same features."""
    mine, other = inputs(pair.before), inputs(pair.after)
    shared = [column for column in mine if column in other]
    alike = _subject(pair.before.subject) == _subject(pair.after.subject)
    if not alike or not (shared or pair.before.subject is not None):
        what = "another text or picture" if not alike else "no column that a has"
        raise InputError("b", f"decision {pair.name}, with {what}", _SAME)
    for column in shared:
        if not same(mine[column], other[column]):
            got = (
                f"decision {pair.name} with {column} = {show(other[column])}, where a has "
                f"{show(mine[column])}"
            )
            hint = "Pass both in the same order, or as stored batches, which are paired by id."
            raise InputError("b", got, _SAME, hint)
    parts, others = (_features(e) for e in (pair.before, pair.after))
    for column in shared:
        if parts[column] != others[column]:
            got = (
                f"decision {pair.name}, where {column!r} belongs to {others[column]!r}, and in a "
                f"to {parts[column]!r}"
            )
            raise InputError(
                "b", got, "the same groups of columns", "Explain both with the same groups."
            )


_SAME = "decisions about the same rows, in the same order"


def _features(e: Explanation) -> dict[str, str]:
    """By column: the feature that it belongs to."""
    players = (*e.players, *(left.player for left in e.left_out))
    return {column: player.name for player in players for column in player.values}


def _subject(subject: Subject | None) -> Any:
    if subject is None:
        return None
    if isinstance(subject, TextSubject):
        return subject.text, subject.spans
    return subject.png, subject.runs
