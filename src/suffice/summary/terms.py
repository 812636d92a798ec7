"""What features are called, and what is done to them: words for tables, texts and pictures."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.explanation import Explanation
from suffice.explanation.subject import Closer, ImageSubject, TextSubject
from suffice.summary.ways import Ways
from suffice.wording import count

__all__ = ["Terms", "terms_for"]


@dataclass(frozen=True)
class Terms:
    """The words that change with what is explained."""

    feature: str = "feature"
    keep: str = "Hold these values, let all others vary"
    flip: str = "Replace these values, hold all others"
    holding: str = "holding"
    advice: str = "choose other references"
    among: str = ""
    """" of these words", where a set could also be made of others."""
    beyond: str = ""
    """What no set could name, so that nothing more is claimed than was searched."""
    all_held: str = "with every feature held it is the input itself"
    """Why all features together keep the outcome by construction; "" where they do not."""
    all_replaced: str = "with every feature replaced it is the reference itself"


def terms_for(explanation: Explanation, ways: Ways) -> Terms:
    """The words for one explanation."""
    subject, context = explanation.subject, explanation.provenance.context
    if isinstance(subject, TextSubject):
        return _of_text(subject, ways)
    if isinstance(subject, ImageSubject):
        return _of_parts(context.words) if context.kind == "parts" else _OF_PICTURE
    return _EFFECTS if context.kind == "causal" else Terms()


_EFFECTS = Terms(
    keep="Give the references these values, let their effects follow",
    flip="Replace these values, let their effects follow, hold the rest",
    holding="giving the references",
    all_held="with every feature given it is the input itself",
)

_OF_PICTURE = Terms(
    feature="region",
    keep="Hold these regions, replace all other regions",
    flip="Replace these regions, hold all other regions",
    all_held="with every region held it is the picture itself",
    all_replaced="with every region replaced nothing of the picture is left",
)


def _of_parts(context: str) -> Terms:
    """Of parts of regions, all else was held or replaced throughout, as the context says."""
    return Terms(
        feature="part",
        keep="Hold these parts, replace all other parts",
        flip="Replace these parts, hold all other parts",
        among=" of these parts",
        beyond=f"Beyond its context it says nothing: {context}.",
        all_held="",
        all_replaced="",
    )


def _looked_at(closer: Closer) -> str:
    """What was done with a long text, and why its answer is passages where it is."""
    every = "every set of them" if closer.complete else "as far as time allowed"
    first = f"The text has {closer.words:,} words, so its {closer.passages} passages were searched "
    first += f"first ({every})"
    if not closer.within:
        return f"{first}, and no set of them names a passage that could be looked into."
    into = f"{first}; then the words of {count(closer.within, 'passage')}, those of each view's "
    if closer.found:
        return f"{into}best set."
    return f"{into}best set, in which no set of words was found within the limits."


def _of_text(subject: TextSubject, ways: Ways) -> Terms:
    what = subject.unit
    marked = subject.pieces(frozenset(range(len(subject.spans))))
    rest = any(c.isalnum() for piece, inside in marked if not inside for c in piece)
    beyond = [_looked_at(subject.closer)] if subject.closer is not None else []
    beyond += ["Sets with words of the rest of the text were not looked at."] * rest
    if what == "span":
        beyond.append("What lies within a span was not told apart.")
    elif what != "word":
        beyond.append(f"Single words within a {what} were not told apart: {ways.refine}.")
    return Terms(
        feature=what,
        keep=f"Keep these {what}s, replace all others",
        flip=f"Replace these {what}s, keep all others",
        advice="choose another mask",
        among=f" of these {what}s" if beyond else "",
        beyond=" ".join(beyond),
        all_held="" if rest else f"with every {what} kept it is the text itself",
        all_replaced="" if rest else f"with every {what} replaced nothing of the text is left",
    )
