"""A view's answer in a clause: its first set, or what its sets share where there are many."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.explanation import Change, View
from suffice.explanation.subject import TextSubject
from suffice.summary.digest import DOZEN
from suffice.summary.lines import quoted
from suffice.summary.searched import none_tried, those_searched
from suffice.summary.terms import Terms
from suffice.wording import and_more, count, listed, moved, named, percent, price

__all__ = ["cheapest_change", "clause", "often"]

_FEATURES_TOLD = 4
"""So many features are named in the one sentence that sums up; the rest are counted."""


def clause(view: View, terms: Terms) -> str:
    """What keeps the outcome, or what flips it."""
    return _keep(view, terms) if view.name == "keep" else _flip(view, terms)


def cheapest_change(view: View) -> str:
    """The cheapest change of any set, to be read before any single set's own; "" where none is."""
    cheapest = view.explanation.cheapest
    if view.name == "keep" or cheapest is None or _of_text(view):
        return ""
    known = "Cheapest change of all" if view.tally.complete else "Cheapest change found"
    unit = {
        "deviations": ", in typical deviations",
        "weighted": ", in weighted typical deviations",
        "own": "",
    }[view.explanation.provenance.cost]
    return f"{known}: {cheapest} (cost {price(cheapest.cost)}{unit})."


def often(view: View) -> str:
    """In how many cases a set must do what it does; "" where there is but one."""
    if view.tally.n == 1:
        return ""
    return " in all cases" if view.tau == 1 else f" in at least {percent(view.tau)} of cases"


def _keep(view: View, terms: Terms) -> str:
    outcome = f"“{named(view.outcome)}”"
    if not len(view):
        return f"{none_tried(view, terms)} keeps {outcome}{often(view)}"
    best = view[0]
    share = _share(view, best.sufficiency)
    if not best.size:
        return f"{outcome} comes about anyway: with no {terms.feature} held it stays{share}"
    if best.size == len(view.players) > 1 and terms.all_held:
        every = f"all {count(best.size, terms.feature)} together"
        if view.explanation.left_out:
            every = f"{those_searched(view.explanation, terms)}, all of them together"
        return f"{outcome} hangs on {every}: no smaller set keeps it{often(view)}"
    names = _few(quoted(view, best.features))
    # What is shown in its place, as a word in a text, need be named only once.
    held = "" if view.explanation.subject is not None else _few([*map(str, best.players)])
    if len(view) > DOZEN:
        each = f"{_each(view, terms)} keeps {outcome}{_shared(view)}"
        return each + _first(view, f"{terms.holding} {held}" if held else names, share)
    such = _one_of(view)
    if held:
        return f"{outcome} because of {names}: {terms.holding} {held} keeps it{share}{such}"
    this = f"this {terms.feature} alone keeps"
    these = f"these {terms.feature}s alone keep"
    return f"{outcome} because of {names}: {this if best.size == 1 else these} it{share}{such}"


def _flip(view: View, terms: Terms) -> str:
    outcome, cheapest = f"“{named(view.outcome)}”", view.explanation.cheapest
    if cheapest is not None and not _of_text(view):
        known = "" if view.tally.complete else " found"
        return f"the cheapest change{known} that flips it to {outcome} {_briefly(cheapest, terms)}"
    if not len(view):
        return f"{none_tried(view, terms)} flips it to {outcome}{often(view)}"
    best = view[0]
    names = _few(quoted(view, best.features)) or "nothing"
    share = _share(view, best.sufficiency)
    if len(view) > DOZEN:
        flips = f"{_each(view, terms)}, replaced, flips it to {outcome}{_shared(view)}"
        return flips + _first(view, names, share)
    such = _one_of(view)
    return f"replacing {names} flips it to {outcome}{share}{such}"


def _one_of(view: View) -> str:
    sets = "such sets" if view.complete else "such sets found"
    return f" (one of {len(view):,} {sets})" if len(view) > 1 else ""


def _each(view: View, terms: Terms) -> str:
    sets = f"{len(view):,} sets of {terms.feature}s"
    return f"each of {sets}" if view.complete else f"each of the {sets} found"


def _first(view: View, names: str, share: str) -> str:
    """The first of many: the smallest, where not all are of one size."""
    which = "the smallest" if len(view.digest.sizes) > 1 else "one of them"
    return f": {which}, {names},{share}" if share else f"; {which} is {names}"


def _shared(view: View) -> str:
    """What many sets have in common, in half a sentence."""
    digest = view.digest
    if digest.everywhere:
        return f", all with {_few(quoted(view, digest.everywhere))}"
    if digest.mostly:
        (name, in_sets), *_ = digest.mostly
        return f", {in_sets:,} of them with {quoted(view, [name])[0]}"
    return ""


def _briefly(change: Change, terms: Terms) -> str:
    """A change in the sentence that sums up: it is told in full below."""
    moves = [moved(player.name, player.values, change.values) for player in change.players]
    really = list(filter(None, moves))
    if len(really) <= _FEATURES_TOLD:
        return f"is {change}"
    return f"is of {count(len(really), terms.feature)}: {_few(really)}"


def _few(words: Sequence[str]) -> str:
    return listed(words) if len(words) <= _FEATURES_TOLD else and_more(words, _FEATURES_TOLD - 1)


def _share(view: View, share: float) -> str:
    return "" if view.tally.n == 1 else f" for {percent(share)} of references"


def _of_text(view: View) -> bool:
    return isinstance(view.explanation.subject, TextSubject)
