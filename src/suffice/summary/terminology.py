"""Terminology for tables, texts and images: nouns for features, verbs for interventions, hints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from suffice.explanation import Explanation, Player
from suffice.explanation.schema import ImageSubject, TextRefinement, TextSubject
from suffice.formatting import format_columns, format_value, plural


@dataclass(frozen=True)
class Terms:
    """Words that depend on the kind of data: rows of a table, texts, images."""

    feature: str = "feature"
    keep: str = "Hold these values, let all others vary"
    flip: str = "Replace these values, hold all others"
    holding: str = "holding"
    advice: str = "choose other references"
    scope_phrase: str = ""
    """" of these words", where sets of other words were not searched."""
    scope_note: str = ""
    """Sentences on what no set can name, so that nothing unsearched is claimed."""
    why_all_held: str = "with every feature held it is the input itself"
    """Why all features together keep the outcome by construction; "" where they need not."""
    why_all_replaced: str = "with every feature replaced it is the reference itself"


def terms_for(explanation: Explanation, hints: ReaderHints) -> Terms:
    """Return the terminology for an explanation."""
    subject, context = explanation.subject, explanation.provenance.context
    if isinstance(subject, TextSubject):
        return _text_terms(subject, hints)
    if isinstance(subject, ImageSubject):
        return _image_part_terms(context.words) if context.kind == "parts" else _IMAGE_TERMS
    return _CAUSAL_TERMS if context.kind == "causal" else Terms()


_CAUSAL_TERMS = Terms(
    keep="Give the references these values, let their effects follow",
    flip="Replace these values, let their effects follow, hold the rest",
    holding="giving the references",
    why_all_held="with every feature given it is the input itself",
)

_IMAGE_TERMS = Terms(
    feature="region",
    keep="Hold these regions, replace all other regions",
    flip="Replace these regions, hold all other regions",
    why_all_held="with every region held it is the picture itself",
    why_all_replaced="with every region replaced nothing of the picture is left",
)


def _image_part_terms(context: str) -> Terms:
    """Return the terminology for parts of regions, with a note on the rest of the image."""
    return Terms(
        feature="part",
        keep="Hold these parts, replace all other parts",
        flip="Replace these parts, hold all other parts",
        scope_phrase=" of these parts",
        scope_note=f"Beyond its context it says nothing: {context}.",
        why_all_held="",
        why_all_replaced="",
    )


def _coarse_to_fine_note(closer: TextRefinement) -> str:
    """Return how a long text was searched: its passages first, then words within some of them."""
    every = "every set of them" if closer.complete else "as far as time allowed"
    first = f"The text has {closer.words:,} words, so its {closer.passages} passages were searched "
    first += f"first ({every})"
    if not closer.within:
        return f"{first}, and no set of them names a passage that could be looked into."
    into = f"{first}; then the words of {plural(closer.within, 'passage')}, those of each view's "
    if closer.found:
        return f"{into}best set."
    return f"{into}best set, in which no set of words was found within the limits."


def _text_terms(subject: TextSubject, hints: ReaderHints) -> Terms:
    what = subject.unit
    marked = subject.pieces(frozenset(range(len(subject.spans))))
    rest = any(c.isalnum() for piece, inside in marked if not inside for c in piece)
    notes = [_coarse_to_fine_note(subject.closer)] if subject.closer is not None else []
    notes += ["Sets with words of the rest of the text were not looked at."] * rest
    if what == "span":
        notes.append("What lies within a span was not told apart.")
    elif what != "word":
        notes.append(f"Single words within a {what} were not told apart: {hints.refine}.")
    return Terms(
        feature=what,
        keep=f"Keep these {what}s, replace all others",
        flip=f"Replace these {what}s, keep all others",
        advice="choose another mask",
        scope_phrase=f" of these {what}s" if notes else "",
        scope_note=" ".join(notes),
        why_all_held="" if rest else f"with every {what} kept it is the text itself",
        why_all_replaced="" if rest else f"with every {what} replaced nothing of the text is left",
    )


def feature_value(player: Player) -> tuple[str, bool]:
    """Return the input's value of a feature, and whether it is a list of columns with values.

    >>> feature_value(Player("age", {"age": 41}))
    ('41', False)
    >>> feature_value(Player("money", {"income": 3, "debt": 2}))
    ('income = 3, debt = 2', True)
    """
    if len(player.values) == 1:
        return format_value(next(iter(player.values.values()))), False
    if player.name == " + ".join(player.values):  # columns that were joined for going together
        return " + ".join(map(format_value, player.values.values())), False
    return format_columns(player.values), True


# Hints for readers in Python and for users of the command.


@dataclass(frozen=True)
class ReaderHints:
    """Names of attributes, calls and arguments that give more: of Python, or of the command."""

    lower: str = ".at({tau}) needs no new model call"
    factors: str = ".{view}.factors"
    values: str = ".players"
    full: str = "print(….full())"
    names: str = ".players has them in full"
    left_out: str = ".left_out"
    refine: str = "see refine"
    # A command may run for hours; a page waits for seconds.
    most_seconds: float = inf
    """Calls that would take longer are not suggested."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Option of the command by argument in Python; empty in Python."""

    def argument(self, name: str) -> str:
        """Return the name of an argument as the reader would write it.

        >>> ReaderHints(arguments={"max_size": "--max-size"}).argument("max_size")
        '--max-size'
        """
        return self.arguments.get(name, name)


PYTHON_HINTS = ReaderHints()
"""Hints for readers in Python."""
