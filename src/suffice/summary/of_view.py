"""One view in words: its answer in a clause, its factors, what is missing, how much it covers."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.explanation import View
from suffice.summary.answer import cheapest_change, clause, often
from suffice.summary.digest import DigestSummary, summarise_digest
from suffice.summary.lines import FactorLine, by_construction, line_of
from suffice.summary.picture import Picture, picture_of
from suffice.summary.searched import further, minimality, none_tried, tried_up_to
from suffice.summary.terms import Terms
from suffice.summary.ways import Ways
from suffice.wording import and_more, condition, count, named, percent

__all__ = ["ViewSummary", "summarise_view"]

_WORTH_LOWERING = 0.5
"""No lower threshold is advised where larger sets, which may reach far more, were not tried."""


@dataclass(frozen=True)
class ViewSummary:
    """One view, ready to be shown."""

    name: str
    outcome: str
    answer: str
    """The view's answer in a clause."""
    title: str
    cheapest: str
    """The cheapest change of any set, in words; "" for keep, and where there is none."""
    does: str
    """What is done to the features of a set, and to all others."""
    by_construction: str
    """Why all features together do it in any case; "" where they need not."""
    lead: str
    tau: float
    digest: DigestSummary | None
    """What the factors have in common, where there are more than a dozen."""
    factors: tuple[FactorLine, ...]
    """The first of them: no more are put into words than are shown."""
    n_factors: int
    """How many there are in all."""
    minimality: str
    """How it is known that they are minimal, where not against every set inside them."""
    none_reached: str
    """What to know, and to do, where no factor reaches τ; "" where one does."""
    necessity: float | None
    necessity_text: str
    curve: tuple[tuple[float, float], ...]
    """Steps (τ, cumulative necessity); () where it is not known at every τ, or all are alike."""
    picture: Picture | None
    """Its sets at every threshold, to be drawn; None where all thresholds are alike."""

    @property
    def more(self) -> int:
        """How many factors are not shown."""
        return self.n_factors - len(self.factors)


def summarise_view(view: View, terms: Terms, ways: Ways, most: int) -> ViewSummary:
    """Put one view into words, and at most so many of its factors."""
    keep, outcome = view.name == "keep", named(view.outcome)
    tested = (
        f", each by an exact binomial test at α = {view.alpha:g}"
        + (f" ({view.adjust}-adjusted)" if view.adjust != "none" else "")
        if view.alpha is not None
        else ""
    )
    result = f"“{outcome}” {'stays' if keep else 'results'}{often(view)}{tested}."
    does = terms.keep if keep else terms.flip
    # Factors found at one τ say nothing of the others, and one reference makes all of them alike.
    curve = view.curve if view.profile.findings is None and view.tally.n > 1 else ()
    factors = tuple(line_of(view, factor, terms) for factor in view[:most])
    return ViewSummary(
        name=view.name,
        outcome=outcome,
        answer=clause(view, terms),
        title=f"Keeps “{outcome}”" if keep else f"Flips to “{outcome}”",
        cheapest=cheapest_change(view),
        does=does,
        by_construction=by_construction(view, terms),
        lead=f"{does}: {result}" if factors else "",
        tau=view.tau,
        digest=summarise_digest(view, terms, most),
        factors=factors,
        n_factors=len(view),
        minimality=minimality(view, terms),
        none_reached="" if factors else _none_reached(view, terms, ways),
        necessity=view.necessity,
        necessity_text=_necessity(view, terms),
        curve=curve,
        picture=picture_of(view, curve),
    )


def _none_reached(view: View, terms: Terms, ways: Ways) -> str:
    """The best there is, what even a change of everything does, and what could be changed."""
    best, everything, findings = view.best, view.everything, view.profile.findings
    test = "" if view.alpha is None else f" at level α = {view.alpha:g}"
    if not view.profile.can_pass(view.tau):
        n = view.tally.n
        return (
            f"No set of {terms.feature}s can pass the test of τ = {view.tau:g}{test}: with "
            f"{count(n, 'reference')} not even {n:,} of {n:,} would be enough. Use more "
            "references, a lower τ or a larger α."
        )
    none = none_tried(view, terms)
    none = f"{none[0].upper()}{none[1:]} reaches τ = {view.tau:g}{test}"
    rest = further(view, terms, ways)
    if findings is not None and findings.only_at_tau:
        if tried_up_to(view) < 0:
            return f"No set of {terms.feature}s was decided: the budget or the time was too small."
        lower = f"You could search at a lower τ, or {terms.advice}."
        return " ".join(filter(None, (f"{none}: each was decided.", rest or lower)))
    if best is None:
        return f"No set of {terms.feature}s was evaluated: the budget or the time was too small."
    does = "keeps" if view.name == "keep" else "flips"
    names = and_more(map(condition, best.features)) or f"no {terms.feature}"
    parts = [f"{none}."]
    if best.sufficiency:
        parts.append(f"The best {does} {percent(best.sufficiency)}: {names}.")
    else:
        parts.append(f"None {does} it even once.")
    if everything is not None and everything.sufficiency < view.tau:
        what = "Holding" if view.name == "keep" else "Replacing"
        themselves = f"so many of the references are themselves predicted “{named(view.outcome)}”"
        why = "" if view.name == "keep" else f" ({themselves})"
        parts.append(f"{what} every {terms.feature} {does} {percent(everything.sufficiency)}{why}.")
    parts += [rest] if rest else []
    reach = best.minimal_for[1]
    if reach >= _WORTH_LOWERING or (view.complete and reach > 0):
        lower = f"lower the threshold: {ways.lower.format(tau=_floor(reach))}"
        parts.append(f"Or {lower}." if rest else f"L{lower[1:]}.")
        parts.append(f"Or {terms.advice}.")
    elif not rest:
        parts.append(f"You could {terms.advice}.")
    return " ".join(parts)


def _necessity(view: View, terms: Terms) -> str:
    outcome = f"“{named(view.outcome)}”"
    if view.necessity is None:
        if view.tally.complete:
            return f"No hybrid comes out as {outcome}, so nothing is necessary for it."
        return "Necessity was not estimated."
    if not len(view):
        return ""
    one = len(view) == 1
    who = "This set and its supersets" if one else "These sets and their supersets"
    text = f"cover {percent(view.necessity)} of the ways to {outcome} (necessity"
    text += f" among sets{terms.among})" if terms.among else ")"
    if view.necessity_interval is None:
        return f"{who} {text}."
    low, high = view.necessity_interval
    return f"{who} {text}; estimated, 95% interval {percent(low)} to {percent(high)}."


def _floor(share: float) -> str:
    """A threshold just reachable, with few digits: rounded down, or the share itself."""
    rounded = int(share * 100) / 100
    return f"{rounded:g}" if rounded > 0 else f"{share:.3g}"
