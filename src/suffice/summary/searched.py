"""How far a search went: what was tried, what was not, and how to have more tried."""

from __future__ import annotations

from suffice.evaluate import Idle
from suffice.explanation import Explanation, View
from suffice.search.stop import StopKind
from suffice.summary.terms import Terms
from suffice.summary.ways import Ways
from suffice.wording import and_more, count, large, named, percent

__all__ = [
    "completeness",
    "further",
    "left_out",
    "minimality",
    "none_tried",
    "those_searched",
    "tried_up_to",
]


def completeness(e: Explanation, terms: Terms, ways: Ways) -> tuple[str, str]:
    """Complete or not, and for what; and what was searched and what was not."""
    tally, findings = e.keep_profile.tally, e.keep_profile.findings
    if e.complete:
        status = f"Complete for sets{terms.among}" if terms.among else "Complete"
        no_other = f"no other minimal set{terms.among} exists for these references."
        every = count(1 << tally.d, "subset")
        if findings is None:
            return (
                status,
                f"all {every} of {those_searched(e, terms)} were evaluated, so {no_other}",
            )
        every += f" of {those_searched(e, terms)}" if e.left_out else ""
        return f"{status} at τ = {e.tau:g}", (
            f"each of {every} was decided, so {no_other} Another τ needs a new search."
        )
    stopped = _stopped(e, ways)
    size = min(tried_up_to(e.keep), tried_up_to(e.flip))
    sizes = f"up to {count(size, terms.feature)}"
    if findings is not None and not findings.only_at_tau:
        small = f"sets of {sizes} were searched exhaustively; larger ones"
        searched = small if size > 0 else "sets were looked for"
        until = _until(e, stopped)
        others = f"Others may exist{_share_decided(e)}"
        return "Not complete", f"{searched} from many starts, until {until}. {others}."
    if e.stopped is not None and e.stopped.kind == "many":
        every = f"each of {count(1 << tally.d, 'subset')} was decided, and necessity counts them"
        return "Not listed in full", f"{every} all; but there are {stopped}: all of {sizes}."
    if findings is not None:
        decided = f"Every set of {sizes} was decided; larger ones were not all"
        if size < 0:
            decided = "Not even the smallest set was decided"
        return "Not complete", f"stopped by {stopped}. {decided}{_share_decided(e)}."
    searched = f"Every set of {sizes} was tried; larger ones were not all"
    if size < 0:
        searched = "Not even the smallest set was evaluated"
    never = f"{large(e.unvisited)} of {large(1 << tally.d)} subsets were never evaluated"
    return "Not complete", f"stopped by {stopped}. {searched}: {never}."


def those_searched(e: Explanation, terms: Terms) -> str:
    """The features that sets were made of: "11 features", or those that can matter."""
    features = count(len(e.players), terms.feature)
    return f"the {features} that can matter" if e.left_out else features


def left_out(e: Explanation, terms: Terms, ways: Ways) -> str:
    """Which features were left out of the search because they cannot matter, and why; or ""."""
    if not e.left_out:
        return ""
    names: dict[Idle, list[str]] = {reason: [] for reason in _REASONS}
    for left in e.left_out:
        names[left.reason].append(named(left.player.name))
    told = [f"{and_more(n, _NAMED)} ({_REASONS[why]})" for why, n in names.items() if n]
    n, all_of_them = len(e.left_out), len(e.left_out) + len(e.players)
    cut = any(len(some) > _NAMED for some in names.values())
    more = f" All of them: {ways.left_out}." if cut else ""
    were = "cannot matter here and was" if n == 1 else "cannot matter here and were"
    which = f"{n:,} of the {count(all_of_them, terms.feature)}"
    return f"{which} {were} left out, which changes no number: {'; '.join(told)}.{more}"


_NAMED = 12
"""So many features left out for one reason are named; the rest are counted."""

_REASONS: dict[Idle, str] = {
    "same": "the same in every reference",
    "unread": "never read by the model",
    "alike": "treated alike by the model for the input and every reference",
}
"""Why a feature, or several, cannot matter."""


def _share_decided(e: Explanation) -> str:
    """How much of all sets is decided in both views, where somebody kept count."""
    views = (e.keep_profile.findings, e.flip_profile.findings)
    known = [f.decided_share for f in views if f is not None and f.decided_share is not None]
    least = min(known, default=0.0)
    return f"; {percent(least)} of all sets are decided" if least else ""


def _until(e: Explanation, stopped: str) -> str:
    """What ended the starts: a bound of the user's own, or their bringing nothing."""
    ends = {
        "time_limit": " was over",
        "patience": " were over",
        "budget": " were spent",
        "hybrids": " were spent",
        "starts": " were made",
    }
    return "they ended" if e.stopped is None else stopped + ends.get(e.stopped.kind, "")


def _stopped(e: Explanation, ways: Ways) -> str:
    """What ended the search, in the reader's own words for it."""
    if e.stopped is None:
        return ""
    if e.stopped.kind == "patience":
        return f"the {e.stopped.limit:g} s that it takes without a {ways.argument('time_limit')}"
    return e.stopped.told(ways.arguments)


def none_tried(view: View, terms: Terms) -> str:
    """Who is meant where no set was found: "no set of up to 2 features"."""
    findings, sets = view.profile.findings, f"no set of {terms.feature}s"
    if view.complete:
        return sets
    looked_beyond = findings is not None and not findings.only_at_tau
    size = tried_up_to(view)
    if looked_beyond or size < 1:
        return f"{sets} that was tried"
    return f"no single {terms.feature}" if size == 1 else f"no set of up to {size} {terms.feature}s"


def tried_up_to(view: View) -> int:
    """The size up to which every set of a view was tried; -1: not even the empty one was."""
    profile, findings = view.profile, view.profile.findings
    counted = min(profile.tally.exhaustive_size, profile.largest)
    if findings is None:
        return counted
    return findings.decided_size if findings.only_at_tau else max(counted, findings.decided_size)


def further(view: View, terms: Terms, ways: Ways) -> str:
    """What was not searched, and what to give for it to be; "" where all was."""
    if view.complete:
        return ""
    stop, size = view.explanation.stopped, tried_up_to(view)
    known = f"Sets of more than {count(size, terms.feature)}" if size > 0 else "Most sets"
    more = None if stop is None else _MORE.get(stop.kind)
    give = f": give a {more[0]} {ways.argument(more[1])}" if more else ""
    return f"{known} were not all tried{give}."


_MORE: dict[StopKind, tuple[str, str]] = {
    "max_size": ("larger", "max_size"),
    "patience": ("longer", "time_limit"),
    "time_limit": ("longer", "time_limit"),
    "budget": ("larger", "budget"),
    "hybrids": ("larger", "budget"),
}
"""By what ended a search: how its bound is to be changed, and the argument it was given in."""


def minimality(view: View, terms: Terms) -> str:
    """How it is known that sets are minimal, where it is not known against all inside them."""
    n, partly = view.digest.n, dict(view.digest.proofs).get("one smaller")
    if not partly:
        return ""
    less = "it no longer suffices" if n == 1 else "none of these sets suffices any more"
    of_some = f", of {partly:,} of them" if partly < n else ""
    return (
        f"Take any one {terms.feature} away, and {less}; taking several away at once was not "
        f"always tried{of_some}."
    )
