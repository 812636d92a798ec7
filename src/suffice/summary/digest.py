"""Many sets in words: what they have in common, the smallest and the surest of them."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.explanation import View
from suffice.summary.lines import FactorLine, line_of, quoted
from suffice.summary.terms import Terms
from suffice.wording import and_more, count

__all__ = ["DOZEN", "DigestSummary", "summarise_digest"]

DOZEN = 12
"""Up to so many sets are read one by one; more are told by what they have in common."""

_NAMED = 12
"""So many features are named on a line of the digest; the rest are counted."""


@dataclass(frozen=True)
class DigestSummary:
    """Many sets, ready to be shown before any list of them."""

    lead: str
    """How many there are, and of how many features."""
    common: tuple[tuple[str, str], ...]
    """In how many of them, and which features are: "in all", "in most", "in none"."""
    picked: tuple[tuple[str, FactorLine], ...]
    """The smallest and the surest, each with why it is named."""
    heading: str
    """What the list below is of: "The first 12 of 289 sets, smaller ones first"."""


def summarise_digest(view: View, terms: Terms, most: int) -> DigestSummary | None:
    """Put a view's digest into words; None where its sets are few enough to be read.

    At most so many are listed below it.
    """
    digest = view.digest
    smallest, surest = digest.smallest, digest.surest
    if digest.n <= DOZEN or smallest is None or surest is None:
        return None
    mostly = [f"{name} ({in_sets:,})" for name, in_sets in _named(view, digest.mostly)]
    if mostly:
        first, in_sets = digest.mostly[0]
        mostly[0] = f"{quoted(view, [first])[0]} ({in_sets:,} of {digest.n:,})"
    common = [("in all", quoted(view, digest.everywhere)), ("in most", mostly)]
    told = [(label, and_more(words, _NAMED) or f"no {terms.feature}") for label, words in common]
    if digest.nowhere:
        told.append(("in none", and_more(quoted(view, digest.nowhere), _NAMED)))
    picked = {"smallest": smallest, "surest": surest}
    if view.tally.n == 1:  # all are as sure
        picked = {"for example" if len(digest.sizes) == 1 else "smallest": smallest}
    elif len(digest.sizes) == 1:
        picked = {"surest": surest}
    elif smallest == surest:
        picked = {"smallest and surest": smallest}
    which = f"The first {most:,} of" if most < digest.n else "All"
    return DigestSummary(
        lead=f"{_many(view, terms)}.",
        common=tuple(told),
        picked=tuple((label, line_of(view, factor, terms)) for label, factor in picked.items()),
        heading=f"{which} {digest.n:,} sets, smaller ones first",
    )


def _named(view: View, pairs: tuple[tuple[str, int], ...]) -> list[tuple[str, int]]:
    names = quoted(view, [name for name, _ in pairs])
    return [(name, n) for name, (_, n) in zip(names, pairs, strict=True)]


def _many(view: View, terms: Terms) -> str:
    digest = view.digest
    found = "There are" if view.complete else "The search found"
    # Of some there was no time to see whether they are minimal.
    minimal = "none" not in dict(digest.proofs)
    many = f"{found} {count(digest.n, 'minimal set' if minimal else 'set')}"
    (fewest, have), *larger = digest.sizes
    if not larger:
        return f"{many} of {count(fewest, terms.feature)} each"
    most = count(larger[-1][0], terms.feature)
    only = f"one has only {fewest}" if have == 1 else f"{have:,} have only {fewest}"
    return f"{many} of {fewest} to {most} each; {only}"
