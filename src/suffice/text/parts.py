"""A text cut into features, and each feature into the atoms that are replaced one by one.

A passage is replaced word by word, so that looking at its words later means looking at the same
texts more closely. A user's own span is replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from suffice.checks import choice, ran
from suffice.errors import InputError
from suffice.explanation import Explanation
from suffice.explanation.closer import features_to_refine
from suffice.explanation.subject import TextSubject, Unit as Noun
from suffice.text.passages import passages, words_within
from suffice.text.spans import Span, Unit, check_spans, sentences, span_names, words

__all__ = ["WORD_PLAYERS", "Parts", "check_unit", "cut", "look_into"]

WORD_PLAYERS = 60
"""So many words are told apart from the start, by the same searches as so many columns are."""

UNITS = ("auto", "word", "sentence", "passage")


@dataclass(frozen=True)
class Parts:
    """The features of a text, and the atoms they are made of."""

    text: str
    spans: list[Span]
    atoms: list[Span]
    noun: Noun
    """What a feature is."""
    seen: Sequence[int]
    """The atoms that belong to features; the others are out of sight."""

    @property
    def atom_names(self) -> list[str]:
        """A name for each atom."""
        return span_names(self.text, self.atoms)

    @property
    def groups(self) -> dict[str, list[str]] | None:
        """The atoms of each feature by name; None where each is a feature itself."""
        if self.noun in ("word", "span"):
            return None
        names = dict(zip(self.atoms, self.atom_names, strict=True))
        return {
            name: [names[atom] for atom in words_within(self.atoms, [span])]
            for name, span in zip(span_names(self.text, self.spans), self.spans, strict=True)
        }


def check_unit(unit: Unit) -> Unit:
    """A known unit, or a function."""
    return unit if callable(unit) else choice("unit", unit, UNITS, also="a callable text -> spans")


def cut(text: str, unit: Unit, spans: Iterable[Sequence[int]] | None) -> Parts:
    """The features that the unit, or a user's own spans, make of a text."""
    if spans is None and callable(unit):
        spans = ran("unit", unit, "a function from a text to [(start, stop), …]", text)
    if spans is not None or callable(unit):
        own = check_spans(spans, text)
        return Parts(text, own, own, "span", range(len(own)))
    atoms = words(text)
    seen = range(len(atoms))
    if not atoms:
        hint = "Pass spans to hold or replace other characters."
        raise InputError("text", f"{text!r}, which has no word", "at least one word", hint)
    if unit == "word" or (unit == "auto" and len(atoms) <= WORD_PLAYERS):
        return Parts(text, atoms, atoms, "word", seen)
    if unit == "sentence":
        whole = [span for span in sentences(text) if words_within(atoms, [span])]
        return Parts(text, whole, atoms, "sentence", seen)
    return Parts(text, passages(text, atoms), atoms, "passage", seen)


def look_into(explanation: Explanation, named: Sequence[str] | str | None) -> Parts:
    """The single words of some features of an explanation; None: of each view's best factor."""
    subject = getattr(explanation, "subject", None)
    if not isinstance(subject, TextSubject):
        raise InputError("explanation", "one that is not of a text", "one of a text")
    numbers = features_to_refine(explanation, named)
    atoms = words(subject.text)
    within = words_within(atoms, [subject.spans[n] for n in numbers])
    if len(within) <= len(numbers):
        got = ", ".join(explanation.keep.players[n].name for n in numbers) or "nothing"
        hint = "There is nothing smaller to look at."
        raise InputError("features", got, "passages of more than one word", hint)
    return Parts(subject.text, within, atoms, "word", [atoms.index(atom) for atom in within])
