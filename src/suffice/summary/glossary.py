"""The words that a newcomer may not know, each with its meaning in one explanation."""

from __future__ import annotations

from suffice.explanation import Explanation
from suffice.explanation.subject import TextSubject
from suffice.summary.terms import Terms
from suffice.wording import named, percent

__all__ = ["glossary_for"]


def glossary_for(e: Explanation, terms: Terms) -> tuple[tuple[str, str], ...]:
    """In the order in which they come up."""
    outcome, other = f"“{named(e.outcome)}”", f"“{named(e.other_outcome)}”"
    held, rest = f"these {terms.feature}s", f"all other {terms.feature}s"
    words = [
        ("reference", _reference(e)),
        ("keeps", f"With {held} as they are and {rest} as in a reference, it is still {outcome}."),
        ("flips", f"With {held} as in a reference and {rest} as they are, it becomes {other}."),
        (
            "share",
            "Of how many references that is so. Its marks are a 95% interval, if the references "
            "are taken as a sample of more.",
        ),
        (
            "threshold τ",
            f"The share that a set must reach, here {percent(e.tau)}. A set is minimal if no "
            "smaller set inside it reaches τ.",
        ),
        (
            "necessity",
            "Of all mixtures of the input and a reference that have the outcome, the share in "
            "which one of the sets shown was held (or replaced).",
        ),
    ]
    if e.cheapest is not None and not isinstance(e.subject, TextSubject):
        words.append(("cost", _COSTS[e.provenance.cost]))
    return tuple(words)


def _reference(e: Explanation) -> str:
    references = e.provenance.references
    if references.kind == "texts":
        return f"What takes the place of what is replaced: {references.words}."
    if references.kind == "pictures":
        return f"The picture that replaced regions are taken from: {references.words}."
    if references.kind == "opposite":
        return "A row of the data that the model predicts otherwise: the input is held against it."
    return "A row that the input is held against."


_COSTS = {
    "deviations": "How far a change goes: a number by its distance in typical deviations of its "
    "column (median absolute deviations), any other value 1. Only values that a reference has.",
    "weighted": "How far a change goes: distances in typical deviations of each column, times the "
    "weights given. Only values that a reference has.",
    "own": "What a change costs by the function given. Only values that a reference has.",
}
