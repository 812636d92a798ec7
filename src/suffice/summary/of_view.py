"""One view in words: its answer in a clause, its factors, what is missing, how much it covers."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.explanation import View
from suffice.explanation.subject import TextSubject
from suffice.summary.lines import Bar, FactorLine, bar_of, line_of
from suffice.summary.terms import Terms
from suffice.summary.ways import Ways
from suffice.wording import and_more, condition, count, listed, named, percent, price

__all__ = ["ViewSummary", "summarise_view"]

_BARS_SHOWN = 24
_FEATURES_TOLD = 4
"""So many features are named in the one sentence that sums up; the rest are counted."""


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
    lead: str
    tau: float
    factors: tuple[FactorLine, ...]
    none_reached: str
    """What to know, and to do, where no factor reaches τ; "" where one does."""
    necessity: float | None
    necessity_text: str
    bars: tuple[Bar, ...]
    """The highest few of the barcode."""
    n_bars: int
    """How many bars there are in all."""
    curve: tuple[tuple[float, float], ...]


def summarise_view(view: View, terms: Terms, ways: Ways) -> ViewSummary:
    """Put one view into words."""
    keep, outcome = view.name == "keep", named(view.outcome)
    # One reference makes every share 0 or 1, and all thresholds alike.
    alike = view.tally.n == 1
    at_least = _often(view)
    tested = (
        f", each by an exact binomial test at α = {view.alpha:g}"
        + (f" ({view.adjust}-adjusted)" if view.adjust != "none" else "")
        if view.alpha is not None
        else ""
    )
    result = f"“{outcome}” {'stays' if keep else 'results'}{at_least}{tested}."
    factors = tuple(line_of(view, factor, terms) for factor in view.factors)
    bars = view.profile.minimal_somewhere(_BARS_SHOWN)
    return ViewSummary(
        name=view.name,
        outcome=outcome,
        answer=_keep_clause(view, terms) if keep else _flip_clause(view, terms),
        title=f"Keeps “{outcome}”" if keep else f"Flips to “{outcome}”",
        cheapest="" if keep else _cheapest(view),
        lead=f"{terms.keep if keep else terms.flip}: {result}" if factors else "",
        tau=view.tau,
        factors=factors,
        none_reached="" if factors else _none_reached(view, terms, ways),
        necessity=view.necessity,
        necessity_text=_necessity(view, terms),
        bars=() if alike else tuple(bar_of(view, minimal) for minimal in bars),
        n_bars=view.profile.n_minimal_somewhere,
        # Factors found at one τ say nothing of necessity at the others.
        curve=view.curve if view.profile.findings is None and not alike else (),
    )


def _keep_clause(view: View, terms: Terms) -> str:
    outcome = f"“{named(view.outcome)}”"
    if not view.factors:
        return f"no set of {terms.feature}s{_looked_at(view)} keeps {outcome}{_often(view)}"
    best = view.factors[0]
    share = _share(view, best.sufficiency)
    if not best.size:
        return f"{outcome} comes about anyway: with no {terms.feature} held it stays{share}"
    if best.size == len(view.players) > 1 and terms.all_held:
        every = f"all {count(best.size, terms.feature)} together"
        return f"{outcome} hangs on {every}: no smaller set keeps it{_often(view)}"
    such = f" (one of {len(view.factors):,} such sets)" if len(view.factors) > 1 else ""
    names = _few(_quoted(view, best.features))
    if view.explanation.subject is not None:  # shown in its place: to be named once
        this = f"this {terms.feature} alone keeps"
        these = f"these {terms.feature}s alone keep"
        return f"{outcome} because of {names}: {this if best.size == 1 else these} it{share}{such}"
    held = _few([*map(str, best.players)])
    return f"{outcome} because of {names}: {terms.holding} {held} keeps it{share}{such}"


def _quoted(view: View, names: tuple[str, ...]) -> list[str]:
    """Names of features; words of a text in quotation marks."""
    text = isinstance(view.explanation.subject, TextSubject)
    return [f"“{condition(name)}”" if text else condition(name) for name in names]


def _flip_clause(view: View, terms: Terms) -> str:
    outcome, cheapest = f"“{named(view.outcome)}”", view.explanation.cheapest
    text = isinstance(view.explanation.subject, TextSubject)
    if cheapest is not None and not text:
        known = "" if view.tally.complete else " found"
        return f"the cheapest change{known} that flips it to {outcome} is {cheapest}"
    if not view.factors:
        return f"no set of {terms.feature}s{_looked_at(view)} flips it to {outcome}{_often(view)}"
    best = view.factors[0]
    names = _quoted(view, best.features)
    such = f" (one of {len(view.factors):,} such sets)" if len(view.factors) > 1 else ""
    share = _share(view, best.sufficiency)
    return f"replacing {_few(names) or 'nothing'} flips it to {outcome}{share}{such}"


def _cheapest(view: View) -> str:
    """Of all sets: to be read before any single set's own."""
    cheapest = view.explanation.cheapest
    if cheapest is None or isinstance(view.explanation.subject, TextSubject):
        return ""
    known = "Cheapest change of all" if view.tally.complete else "Cheapest change found"
    unit = {
        "deviations": ", in typical deviations",
        "weighted": ", in weighted typical deviations",
        "own": "",
    }[view.explanation.provenance.cost]
    return f"{known}: {cheapest} (cost {price(cheapest.cost)}{unit})."


def _few(words: list[str]) -> str:
    return listed(words) if len(words) <= _FEATURES_TOLD else and_more(words, _FEATURES_TOLD - 1)


def _share(view: View, share: float) -> str:
    return "" if view.tally.n == 1 else f" for {percent(share)} of references"


def _looked_at(view: View) -> str:
    return "" if view.complete else " that was looked at"


def _often(view: View) -> str:
    return "" if view.tally.n == 1 else _in_cases(view.tau)


def _in_cases(tau: float) -> str:
    return " in all cases" if tau == 1 else f" in at least {percent(tau)} of cases"


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
    if findings is not None and findings.only_at_tau:
        size = findings.decided_size
        if size < 0:
            return f"No set of {terms.feature}s was decided: the budget or the time was too small."
        sets = "No set" if view.complete else f"No set of up to {count(size, terms.feature)}"
        return (
            f"{sets} reaches τ = {view.tau:g}{test}: each was decided. You could search at a lower "
            f"τ, or {terms.advice}."
        )
    if best is None:
        return f"No set of {terms.feature}s was evaluated: the budget or the time was too small."
    does = "keeps" if view.name == "keep" else "flips"
    names = and_more(map(condition, best.features)) or f"no {terms.feature}"
    parts = [f"No set of {terms.feature}s reaches τ = {view.tau:g}{test}."]
    if best.sufficiency:
        parts.append(f"The best {does} {percent(best.sufficiency)}: {names}.")
    else:
        parts.append(f"None {does} it even once.")
    if everything is not None and everything.sufficiency < view.tau:
        what = "Holding" if view.name == "keep" else "Replacing"
        themselves = f"so many of the references are themselves predicted “{named(view.outcome)}”"
        why = "" if view.name == "keep" else f" ({themselves})"
        parts.append(f"{what} every {terms.feature} {does} {percent(everything.sufficiency)}{why}.")
    reach = best.minimal_for[1]
    if reach > 0:
        parts.append(f"Lower the threshold: {ways.lower.format(tau=_floor(reach))}.")
    parts.append(f"Or {terms.advice}." if reach > 0 else f"You could {terms.advice}.")
    if not view.complete:
        parts.append(f"Larger sets than {view.tally.exhaustive_size} were not all searched.")
    return " ".join(parts)


def _necessity(view: View, terms: Terms) -> str:
    outcome = f"“{named(view.outcome)}”"
    if view.necessity is None:
        if view.tally.complete:
            return f"No hybrid comes out as {outcome}, so nothing is necessary for it."
        return "Necessity was not estimated."
    if not view.factors:
        return ""
    one = len(view.factors) == 1
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
