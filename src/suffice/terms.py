"""What features are called, and what is done to them: words for tables, texts and pictures."""

from __future__ import annotations

import re
from dataclasses import dataclass

from suffice.context import SwapContext
from suffice.explanation import Explanation
from suffice.explanation.subject import ImageSubject, TextSubject

__all__ = ["Terms", "terms_for"]


@dataclass(frozen=True)
class Terms:
    """The words that change with what is explained."""

    feature: str = "feature"
    keep: str = "Hold these values, let all others vary"
    flip: str = "Replace these values, hold all others"
    advice: str = "choose other references"
    among: str = ""
    """" of these words", where a set could also be made of others."""
    beyond: str = ""
    """What no set could name, so that nothing more is claimed than was searched."""


_EFFECTS = Terms(
    keep="Give the references these values, let their effects follow",
    flip="Replace these values, let their effects follow, hold the rest",
)


def terms_for(explanation: Explanation) -> Terms:
    """The words for one explanation."""
    subject = explanation.subject
    if isinstance(subject, TextSubject):
        return _of_text(subject)
    if isinstance(subject, ImageSubject):
        return _of_picture(explanation.provenance.context)
    return Terms() if explanation.one_sweep else _EFFECTS


def _of_text(subject: TextSubject) -> Terms:
    texts = [subject.text[a:b] for a, b in subject.spans]
    what = "passage" if any(re.search(r"[\s.,;:!?…。！？]", t) for t in texts) else "word"
    marked = subject.pieces(frozenset(range(len(texts))))
    rest = any(c.isalnum() for piece, inside in marked if not inside for c in piece)
    beyond = ["Sets with words of the rest of the text were not looked at."] * rest
    if what == "passage":
        beyond.append("Single words within a passage were not told apart: see refine.")
    return Terms(
        feature=what,
        keep=f"Keep these {what}s, replace all others",
        flip=f"Replace these {what}s, keep all others",
        advice="choose another mask",
        among=f" of these {what}s" if beyond else "",
        beyond=" ".join(beyond),
    )


def _of_picture(context: str) -> Terms:
    """Of parts of regions, all else was held or replaced throughout, as the context says."""
    parts = context != SwapContext().describe()
    what = "part" if parts else "region"
    return Terms(
        feature=what,
        keep=f"Hold these {what}s, replace all other {what}s",
        flip=f"Replace these {what}s, hold all other {what}s",
        among=" of these parts" if parts else "",
        beyond=f"Beyond its context it says nothing: {context}." if parts else "",
    )
