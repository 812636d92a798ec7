"""What all explanations of a run have in common: said once, so that no row repeats it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from suffice.decision import Decider
from suffice.explanation import ContextRecord, Explanation, Player, Provenance
from suffice.explanation.explain import Asking, describe_cost, describe_references, versions
from suffice.explanation.storing import NEVER
from suffice.inference import Adjustment
from suffice.search.profile import Profile
from suffice.typing import Scalar

__all__ = ["Shared", "Tells"]


class Tells(Protocol):
    """What an explainer is to those who write down what it was asked."""

    @property
    def decider(self) -> Decider:
        """What it was made of."""
        ...

    @property
    def asking(self) -> Callable[..., Asking]:
        """Checks what is asked of every row."""
        ...


class Shared(msgspec.Struct, frozen=True):
    """Players, test and provenance, where they are the same for every row."""

    players: tuple[tuple[str, tuple[str, ...]], ...]
    """The name of each, and its columns."""
    alpha: float | None
    adjust: Adjustment
    max_size: int | None
    size_weights: tuple[float, ...] | None
    provenance: Provenance
    """Without what differs from row to row, or from machine to machine."""

    @classmethod
    def of(cls, explainer: Tells, asked: Mapping[str, Any]) -> Shared:
        """What the rows that an explainer is asked about have in common."""
        given, question = explainer.decider, explainer.asking(**asked).question
        names, players = given.data.names, given.players
        columns = [tuple(names[j] for j in columns) for columns in players.columns]
        return cls(
            tuple(zip(players.names, columns, strict=True)),
            question.alpha,
            question.adjust,
            question.limits.max_size,
            question.size_weights,
            Provenance(
                model=repr(given.model),
                data=(len(given.data), len(names)),
                references=describe_references(given.references),
                n_references=1,
                context=ContextRecord(given.context.kind, given.context.describe()),
                cost=describe_cost(given.cost),
                random_state=given.seed,
                evaluator="",
                note=None,
                hybrids=0,
                rows_predicted=0,
                created=NEVER,
                seconds=0.0,
                model_seconds=0.0,
                versions=dict(versions()),
            ),
        )

    @property
    def d(self) -> int:
        """How many players there are."""
        return len(self.players)

    def fits(self, e: Explanation) -> bool:
        """Is all this true of an explanation?"""
        names = [player.name for player in e.players]
        same = names == [name for name, _ in self.players] and not e.left_out
        return same and self._tested(e.keep_profile) and self._comes_from(e.provenance)

    def _tested(self, p: Profile) -> bool:
        mine = (self.alpha, self.adjust, self.max_size, self.size_weights)
        return (p.alpha, p.adjust, p.max_size, p.size_weights) == mine

    def _comes_from(self, p: Provenance) -> bool:
        """Is a row's provenance this one, but for what is its own?"""
        mine = self.provenance
        return (
            (p.model, p.data, p.cost, p.random_state)
            == (mine.model, mine.data, mine.cost, mine.random_state)
            and p.references == mine.references
            and p.context == mine.context
            and p.versions == mine.versions
        )

    def players_of(self, values: Mapping[str, Scalar]) -> tuple[Player, ...]:
        """The players of an input with these values."""
        return tuple(
            Player(name, {c: values[c] for c in columns}) for name, columns in self.players
        )

    def provenance_of(self, n_references: int, hybrids: int) -> Provenance:
        """The provenance of one row."""
        return msgspec.structs.replace(self.provenance, n_references=n_references, hybrids=hybrids)
