"""One factor as it is read out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from suffice.explanation import Change, Player, SufficientFactor, View
from suffice.explanation.subject import ImageSubject, TextSubject
from suffice.summary.terms import Terms
from suffice.typing import Scalar
from suffice.wording import and_more, condition, cut, harmless, price, show

__all__ = ["UNPROVEN", "FactorLine", "by_construction", "change_words", "line_of", "quoted"]

_CONDITIONS_SHOWN = 30

Pieces = tuple[tuple[str, bool], ...]

UNPROVEN = "sufficient; there was no time to look for a smaller set inside"


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
    remarks: tuple[str, ...]
    """What else there is to say of it, a sentence each, without the change."""
    change_told: str
    """The change as it stands in a list, with its cost; "" where there is none."""
    pieces: Pieces = ()
    """Of a text: its characters in order, and whether they belong to the factor."""
    regions: tuple[int, ...] = ()
    """Of a picture: the numbers of the regions to be marked."""

    @property
    def notes(self) -> tuple[str, ...]:
        """All there is to say of it."""
        return (*self.remarks, self.change_told) if self.change_told else self.remarks

    @property
    def shown(self) -> str:
        """What a picture with its regions marked shows, for those who cannot see it."""
        return f"The picture with {', '.join(self.conditions) or 'nothing'} marked"

    @property
    def text(self) -> str:
        """The conditions on one line."""
        return and_more(self.conditions, _CONDITIONS_SHOWN) or "nothing: it comes about anyway"


def quoted(view: View, names: Sequence[str]) -> list[str]:
    """Names of features; words of a text in quotation marks."""
    text = isinstance(view.explanation.subject, TextSubject)
    return [f"“{condition(name)}”" if text else condition(name) for name in names]


def line_of(view: View, factor: SufficientFactor, terms: Terms) -> FactorLine:
    """A factor in words, and where it is in a text or a picture."""
    subject = view.explanation.subject
    text = subject if isinstance(subject, TextSubject) else None
    numbers = {player.name: i for i, player in enumerate(view.players)}
    members = [numbers[name] for name in factor.features]
    told = text is None and view.name == "keep"
    # What a single token would be in a word's place is said once, above.
    told_above = text is not None and factor.n == 1
    change = "" if factor.change is None or told_above else change_words(view, factor.change)
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
        remarks=_remarks(view, factor, terms),
        change_told=_change_told(view, factor, change),
        pieces=_harmless(text.pieces(frozenset(members))) if text and members else (),
        regions=tuple(members) if isinstance(subject, ImageSubject) else (),
    )


def change_words(view: View, change: Change) -> str:
    """An observed change, briefly where its place in a text is shown besides."""
    text = isinstance(view.explanation.subject, TextSubject)
    return _words_changed(change.players, change.values) if text else str(change)


def by_construction(view: View, terms: Terms) -> str:
    """Why all features together do it in any case; "" where they need not."""
    why = terms.all_held if view.name == "keep" else terms.all_replaced
    opposite = view.explanation.provenance.references.kind == "opposite"
    if why and view.name == "flip" and opposite:
        why += ", and references were chosen for being predicted otherwise"
    return f"true by construction: {why}" if why else ""


def _remarks(view: View, factor: SufficientFactor, terms: Terms) -> tuple[str, ...]:
    if factor.proof == "none":
        return (UNPROVEN,)
    why = by_construction(view, terms) if factor.size == len(view.players) else ""
    return (why,) if why else ()


def _change_told(view: View, factor: SufficientFactor, change: str) -> str:
    if change and isinstance(view.explanation.subject, TextSubject):
        return f"for example: {change}"  # words have no prices: it is one of many
    if change and factor.cost is not None:
        return f"cheapest change of this set: {change} (cost {price(factor.cost)})"
    return ""


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
