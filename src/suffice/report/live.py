"""What the page's script is given: the stored explanation, and the words to speak of it in.

The script works from counts: the very text that `to_json` writes where every set was counted, so
that it can be taken out of the page again; else the sets that are minimal at some threshold. Where
a search decided at one τ only, its sets are all there is, and the script says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import numpy as np

from suffice.explanation import Explanation, Player, View
from suffice.explanation.subject import ImageSubject, TextSubject
from suffice.results import json_text
from suffice.search.profile import Minimal, Profile
from suffice.summary import Summary, ViewSummary
from suffice.summary.lines import UNPROVEN, change_words
from suffice.summary.picture import by_necessity, value_of
from suffice.wording import condition, harmless, named

__all__ = ["Live", "LiveTexts", "harmless_json", "live_of"]

_COUNTED = 16
"""Up to so many features, every set's count goes into the page."""
_LISTED = 20_000
"""Beyond so many sets that are minimal somewhere, only those at τ do."""
_FIXED = 2_000
_STORED = 1_500_000
"""A longer stored form is left out, and the page offers no JSON."""
_CHANGES = 2_000


class LiveBar(msgspec.Struct, array_like=True, frozen=True):
    """A set by its features' numbers, its hits and the most hits inside it; or the thresholds."""

    members: tuple[int, ...]
    hits: int
    below: int
    low: float | None = None
    high: float | None = None
    note: str = ""


class LiveView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One view: what it is called, and what the counts alone do not tell."""

    name: str
    outcome: str
    does: str
    """What is done to the features of a set, and to the others."""
    order: list[int]
    """The features, those that matter most first."""
    complete: bool
    by_construction: str = ""
    """What is to be said of all features together."""
    moves: list[str] = []
    """What a change can be made of, in words, each once."""
    changes: list[tuple[tuple[int, ...], list[int], float]] = []
    """A set, the moves of its cheapest change, and its cost."""
    bars: list[LiveBar] | None = None
    """Where not every set was counted: those that are minimal somewhere."""
    mass: list[tuple[int, float]] = []
    """Hits reached, each with how much of the outcome reaches just them."""
    tests: int = 1
    """How many sets a test is adjusted for."""
    necessity: str = ""
    """At the one τ that is known: how much is covered, in words."""
    unmoved: str = ""
    """Why the threshold cannot be moved here; "" where it can."""


class Live(msgspec.Struct, frozen=True, omit_defaults=True):
    """An explanation for the script."""

    question: str
    feature: str
    features: list[tuple[str, str, str]]
    """Name, value, and both in full where they had to be cut."""
    conditions: list[str]
    n: int
    tau: float
    alpha: float | None
    adjust: str
    counted: bool
    """Does the stored form beside this hold the count of every set?"""
    takes_over: bool
    """Does the script draw the sets itself? Not where each is shown in a picture."""
    one_reference: bool
    views: list[LiveView]
    among: str = ""


@dataclass(frozen=True)
class LiveTexts:
    """What the script is given, as it stands in a page."""

    words: str
    stored: str
    """The whole explanation; "" where it is too long, or one of many."""
    counts: str = ""
    """In its place: what the script reads of it."""


def live_of(result: Explanation | View, summary: Summary, brief: bool = False) -> LiveTexts:
    """What the script is given of an explanation, or of one view of it.

    Where it is one of many it is `brief`: counts without the rest of what is stored, and changes
    only of the sets at τ.
    """
    e = result if isinstance(result, Explanation) else result.explanation
    views = (e.keep, e.flip) if isinstance(result, Explanation) else (result,)
    whole = all(view.tally.complete and view.profile.findings is None for view in (e.keep, e.flip))
    counted = whole and len(e.players) <= _COUNTED
    words = Live(
        question=summary.question,
        feature=summary.feature,
        features=[_feature(e, p) for p in e.players],
        conditions=[condition(p.name, p.values) for p in e.players],
        n=e.keep.tally.n,
        tau=e.tau,
        alpha=e.keep.alpha,
        adjust=e.keep.adjust,
        counted=counted,
        takes_over=not isinstance(e.subject, ImageSubject),
        one_reference=e.keep.tally.n == 1,
        views=[
            _view(v, said, counted, brief) for v, said in zip(views, summary.views, strict=True)
        ],
        among=summary.among,
    )
    stored = "" if brief else e.to_json()
    stored = stored if len(stored) <= _STORED else ""
    counts = "" if stored else json_text({"content": _counts(e, counted)})
    return LiveTexts(*map(harmless_json, (json_text(words), stored, counts)))


def _counts(e: Explanation, counted: bool) -> dict[str, object]:
    """What the script reads of the stored form."""
    record = e._record()
    subject = record.subject if isinstance(record.subject, TextSubject) else None
    return {
        "hits": record.hits if counted else [],
        "flip_hits": record.flip_hits if counted else None,
        "max_size": record.max_size,
        "size_weights": record.size_weights,
        "subject": subject,
    }


def harmless_json(text: str) -> str:
    r"""JSON as it may stand in a script element: no tag begins or ends inside it, and nothing in it
    turns the reading direction of who looks at the source.

    >>> harmless_json('{"name": "</script>\u202e"}')
    '{"name": "\\u003c/script>\\u202e"}'
    """
    return _STEERS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_STEERS = re.compile("[<\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _feature(e: Explanation, player: Player) -> tuple[str, str, str]:
    name, value = player.name, value_of(e, player)
    full = f"{harmless(name)} = {value}" if value else harmless(name)
    short = f"{named(name)} = {value}" if value else named(name)
    return named(name), value, "" if full == short else full


def _view(view: View, said: ViewSummary, counted: bool, brief: bool) -> LiveView:
    profile = view.profile
    changes = _changes(view, brief)
    unique = dict.fromkeys(move for _, told, _ in changes for move in told)
    moves = {move: at for at, move in enumerate(unique)}
    known = LiveView(
        name=view.name,
        outcome=said.outcome,
        does=said.does,
        order=by_necessity(view.explanation),
        complete=view.complete,
        by_construction=said.by_construction,
        moves=list(moves),
        changes=[(members, [moves[m] for m in told], cost) for members, told, cost in changes],
    )
    if counted:
        return known
    movable = profile.findings is None and profile.n_minimal_somewhere <= _LISTED
    if movable and profile.adjust in ("none", "bonferroni"):
        untested = profile.tested(None, "none")
        return msgspec.structs.replace(
            known,
            bars=[_in_hits(m, view.tally.n) for m in untested.minimal_somewhere()],
            mass=_mass(untested),
            tests=profile.n_tested,
        )
    return msgspec.structs.replace(
        known,
        bars=[_at_tau(m) for m in profile.minimal_at(view.tau)[:_FIXED]],
        necessity=said.necessity_text,
        unmoved=_unmoved(view),
    )


def _at_tau(minimal: Minimal) -> LiveBar:
    note = UNPROVEN if minimal.proof == "none" else ""
    return LiveBar(minimal.members, minimal.hits, 0, minimal.low, minimal.high, note)


def _unmoved(view: View) -> str:
    if view.profile.findings is not None:
        return (
            f"This search looked for sets at the threshold τ = {view.tau:g}, so it cannot be moved "
            "here. Ask again at another."
        )
    return "There are too many sets to put all of them into a page, so τ cannot be moved here."


def _in_hits(minimal: Minimal, n: int) -> LiveBar:
    """Shares are hits divided by n, so hits come back whole."""
    return LiveBar(minimal.members, minimal.hits, round(minimal.low * n))


def _mass(profile: Profile) -> list[tuple[int, float]]:
    reach, weight = profile.reach_of_outcome()
    hits, which = np.unique(np.rint(reach * profile.tally.n), return_inverse=True)
    mass = np.bincount(which, weights=weight, minlength=len(hits))
    return [(int(h), float(w)) for h, w in zip(hits, mass, strict=True)]


def _changes(view: View, brief: bool) -> list[tuple[tuple[int, ...], list[str], float]]:
    """What each set's cheapest change is, as the page tells it: move by move, since many share
    them, and with a cost of as many digits as could ever be shown."""
    told: Iterable[Minimal] = ()
    if view.changes:
        profile = view.profile
        told = profile.minimal_at(view.tau) if brief else profile.minimal_somewhere(_CHANGES)
    out = []
    for minimal in told:
        change = view.changes.get(view.tally.lattice.mask(minimal.members))
        if change is not None:
            moves = change_words(view, change).split(", ")
            out.append((minimal.members, moves, float(f"{change.cost:.6g}")))
    return out
