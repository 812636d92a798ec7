"""One factor as it is read out, and one bar of the barcode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from suffice.explanation import Player, SufficientFactor, View
from suffice.explanation.subject import ImageSubject, TextSubject
from suffice.search.profile import Minimal
from suffice.summary.terms import Terms
from suffice.typing import Scalar
from suffice.wording import and_more, condition, cut, harmless, price, show

__all__ = ["Bar", "FactorLine", "bar_of", "line_of"]

_CONDITIONS_SHOWN = 30

Pieces = tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class FactorLine:
    """A factor as it is read out."""

    conditions: tuple[str, ...]
    """Keep: "Job = skilled". Flip: the features that are replaced."""
    names: tuple[str, ...]
    """The features' names in full, however long."""
    sufficiency: float
    interval: tuple[float, float]
    n: int
    p_value: float
    minimal_for: tuple[float, float]
    change: str
    """The cheapest observed change of this set that flips, in words; "" for keep."""
    cost: float | None
    notes: tuple[str, ...]
    """What else there is to say of it, a sentence each."""
    pieces: Pieces = ()
    """Of a text: its characters in order, and whether they belong to the factor."""
    regions: tuple[int, ...] = ()
    """Of a picture: the numbers of the regions to be marked."""

    @property
    def shown(self) -> str:
        """What a picture with its regions marked shows, for those who cannot see it."""
        return f"The picture with {', '.join(self.conditions) or 'nothing'} marked"

    @property
    def text(self) -> str:
        """The conditions on one line."""
        return and_more(self.conditions, _CONDITIONS_SHOWN) or "nothing: it comes about anyway"


@dataclass(frozen=True)
class Bar:
    """A factor's interval of thresholds: one bar of the barcode."""

    label: str
    low: float
    high: float
    size: int


def bar_of(view: View, minimal: Minimal) -> Bar:
    """The bar of a set that is minimal at some τ."""
    names = [condition(view.players[member].name) for member in minimal.members]
    return Bar(", ".join(names) or "nothing", minimal.low, minimal.high, len(names))


def line_of(view: View, factor: SufficientFactor, terms: Terms) -> FactorLine:
    """A factor in words, and where it is in a text or a picture."""
    subject = view.explanation.subject
    text = subject if isinstance(subject, TextSubject) else None
    numbers = {player.name: i for i, player in enumerate(view.players)}
    members = [numbers[name] for name in factor.features]
    told = text is None and view.name == "keep"
    change = ""
    # What a single token would be in a word's place is said once, above.
    if factor.change is not None and not (text and factor.n == 1):
        new = factor.change.values
        change = _words_changed(factor.players, new) if text else str(factor.change)
    return FactorLine(
        conditions=tuple(str(p) if told else condition(p.name) for p in factor.players),
        names=tuple(harmless(name) for name in factor.features),
        sufficiency=factor.sufficiency,
        interval=factor.interval,
        n=factor.n,
        p_value=factor.p_value,
        minimal_for=factor.minimal_for,
        change=change,
        cost=factor.cost,
        notes=_notes(view, factor, terms, change),
        pieces=_harmless(text.pieces(frozenset(members))) if text and members else (),
        regions=tuple(members) if isinstance(subject, ImageSubject) else (),
    )


def _notes(view: View, factor: SufficientFactor, terms: Terms, change: str) -> tuple[str, ...]:
    notes = []
    if factor.size == len(view.players):
        why = terms.all_held if view.name == "keep" else terms.all_replaced
        if (
            why
            and view.name == "flip"
            and view.explanation.provenance.references.kind == "opposite"
        ):
            why += ", and references were chosen for being predicted otherwise"
        notes += [f"true by construction: {why}"] if why else []
    if change and isinstance(view.explanation.subject, TextSubject):
        notes.append(f"for example: {change}")  # words have no prices: it is one of many
    elif change and factor.cost is not None:
        notes.append(f"cheapest change of this set: {change} (cost {price(factor.cost)})")
    if factor.proof == "one smaller":
        notes.append("minimal against the sets one smaller")
    if factor.proof == "none":
        notes.append("sufficient; there was no time to look for a smaller set inside")
    return tuple(notes)


def _harmless(pieces: Pieces) -> Pieces:
    return tuple((harmless(characters), marked) for characters, marked in pieces)


def _words_changed(players: Sequence[Player], new: Mapping[str, Scalar]) -> str:
    moves = []
    for player in players:
        if all(new[c] == old for c, old in player.values.items()):
            continue
        before, after = (
            _brief(" ".join(show(values[c]) for c in player.values if values[c] != ""))
            for values in (player.values, new)
        )
        moves.append(f"{before} → {after or 'nothing'}")
    return ", ".join(moves)


def _brief(words: str, room: int = 30) -> str:
    """The first words of a passage, whose place in the text is shown elsewhere."""
    if len(words) <= room:
        return words
    at = words.rfind(" ", 0, room)
    return words[:at].rstrip() + " …" if at > 0 else cut(words, room)
