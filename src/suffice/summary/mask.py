"""Of a text: what was put in the place of words, why that, and why it may be poor."""

from __future__ import annotations

from suffice.explanation.record import MaskRecord
from suffice.wording import harmless, listed, named

__all__ = ["mask_note"]


def mask_note(mask: MaskRecord) -> str:
    """The token that was found, and what the model makes of it, in plain words.

    >>> print(mask_note(MaskRecord("the", "bad", ("UNK",), known=True)))
    Each word left out is replaced by “the”: a text of nothing else comes out as “bad”, while one
    of “UNK” comes out as this text does. The model knows “the” and counts it wherever it stands, so
    that it may take many words to outweigh it: see whether another mask says the same.
    """
    token, outcome = _shown(mask.token), named(mask.outcome)
    if mask.token:
        said = f"Each word left out is replaced by {token}: a text of nothing else comes out as "
    else:
        said = "Each word left out is deleted: an empty text comes out as "
    others = listed(map(_shown, mask.passed_over), "or")
    passed = f", while one of {others} comes out as this text does" * bool(mask.passed_over)
    return f"{said}“{outcome}”{passed}. {_READ[mask.known].format(token)}"


def _shown(token: str) -> str:
    return f"“{harmless(token)}”" if token else "nothing"


_READ = {
    True: "The model knows {0} and counts it wherever it stands, so that it may take many words to "
    "outweigh it: see whether another mask says the same.",
    False: "The model does not know {0}, so such a text reads as if the words were not there. It "
    "may have learnt little from texts so short: see whether another mask says the same.",
    None: "The model may never have met texts with {0} in so many places, and what it says of them "
    "is then a guess: see whether another mask, or Corpus(texts) with texts like yours, says the "
    "same.",
}
"""By whether the model knows the token."""
