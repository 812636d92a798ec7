"""JSON inside an HTML page for its script, escaped: stored explanation, names and sentences.

The script computes from counts. If every set was counted, it reads the text of `to_json`, which the
reader can also save; else the sets that are minimal at some threshold. If the search decided sets
at one τ only, the page contains these sets, and τ cannot be moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import numpy as np

from suffice.explanation import Explanation, Player, View, as_views
from suffice.explanation.schema import ImageSubject, TextSubject
from suffice.explanation.storage import to_record
from suffice.formatting import format_condition
from suffice.results import json_text
from suffice.search.profile import MinimalSet
from suffice.summary import Summary, ViewSummary
from suffice.summary.signature import order_by_necessity, signature_column
from suffice.summary.view_summary import UNPROVEN_NOTE, change_text
from suffice.typing import Reals

_MOST_FEATURES_COUNTED = 16
"""Up to this many features, a page contains the count of every set."""
_MOST_SETS = 20_000
"""With more sets that are minimal at some threshold, a page contains those at τ only."""
_MOST_SETS_AT_TAU = 2_000
_LONGEST_JSON = 1_500_000
"""Longest stored explanation that a page contains; without it the page offers no JSON."""
_MOST_CHANGES = 2_000


class PageBar(msgspec.Struct, array_like=True, frozen=True):
    """A minimal set: its features' indices, its hits and its subsets' most hits, or thresholds."""

    members: tuple[int, ...]
    hits: int
    below: int
    low: float | None = None
    high: float | None = None
    note: str = ""


class PageView(msgspec.Struct, frozen=True, omit_defaults=True):
    """Facts of a view that cannot be computed from the counts."""

    name: str
    outcome: str
    does: str
    """The intervention: "Replace these values, hold all others"."""
    order: list[int]
    """Indices of the features, the most necessary first."""
    complete: bool
    by_construction: str = ""
    """Why all features together suffice by construction."""
    all_suffice: bool = False
    """Whether that is so for any references of their kind."""
    minimality: str = ""
    """How far minimality was checked; "" where against every subset."""
    none_reached: str = ""
    """Why there is no set at the only τ that is known; "" where there is one."""
    moves: list[str] = []
    """The distinct moves that changes consist of, as text."""
    changes: list[tuple[tuple[int, ...], list[int], float]] = []
    """A set, the indices of its cheapest change's moves, and the cost."""
    bars: list[PageBar] | None = None
    """Sets that are minimal at some threshold, if not every set was counted."""
    mass: list[tuple[int, float]] = []
    """Pairs of a number of hits, and the mass of the outcome that reaches exactly this many."""
    chance: list[tuple[int, float]] = []
    """Such pairs of all hybrids, whatever their outcome."""
    tests: int = 1
    """Number of sets that a test is adjusted for."""
    necessity: str = ""
    """Sentence on necessity at the only τ that is known."""
    fixed_tau_reason: str = ""
    """Why the threshold cannot be moved on the page; "" where it can."""
    only_at_tau: bool = False
    """Whether the search decided sets at τ only, so that nothing is known below τ."""
    n_sets: int = 0
    """Number of sets at τ where the page has only the smallest of them; else 0."""
    common: list[tuple[int, int]] = []
    """Then, of features in half of all those sets or more: the index, and the number of sets."""


class PageData(msgspec.Struct, frozen=True, omit_defaults=True):
    """An explanation as the script reads it."""

    question: str
    feature: str
    features: list[tuple[str, str, str]]
    """Name, value, and the full name where that is longer than both."""
    conditions: list[str]
    n: int
    tau: float
    alpha: float | None
    adjust: str
    counted: bool
    """Whether the stored explanation contains the count of every set."""
    takes_over: bool
    """Whether the script lists the sets itself; not where each is shown in an image."""
    one_reference: bool
    views: list[PageView]
    scope_phrase: str = ""


@dataclass(frozen=True)
class PageScripts:
    """JSON texts of a page, escaped for script elements."""

    words: str
    stored: str
    """The stored explanation; "" where it is too long, or in a page of many."""
    counts: str = ""
    """The part of the stored explanation that the script reads, where `stored` is ""."""


def page_scripts(result: Explanation | View, summary: Summary, brief: bool = False) -> PageScripts:
    """Return the JSON of an explanation, or of one view of it, for the page's script.

    In a page of many it is `brief`: counts without the rest of the stored explanation, and changes
    only of the sets at τ.
    """
    views = as_views(result)
    e = views[0].explanation
    # A search at one τ knows nothing of other thresholds, even if its counts are complete.
    whole = all(view.tally.complete and view.profile.findings is None for view in (e.keep, e.flip))
    counted = whole and len(e.players) <= _MOST_FEATURES_COUNTED
    words = PageData(
        question=summary.question,
        feature=summary.feature,
        features=[_feature(e, p) for p in e.players],
        conditions=[format_condition(p.name, p.values) for p in e.players],
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
        scope_phrase=summary.scope_phrase,
    )
    stored = "" if brief else e.to_json()
    # The script needs the counts in any case; the JSON is only for saving.
    stored = stored if len(stored) <= _LONGEST_JSON else ""
    counts = "" if stored else json_text({"content": _counts(e, counted)})
    return PageScripts(*map(script_safe_json, (json_text(words), stored, counts)))


def _counts(e: Explanation, counted: bool) -> dict[str, object]:
    """Return the part of the stored explanation that the script reads."""
    record = to_record(e)
    subject = record.subject if isinstance(record.subject, TextSubject) else None
    return {
        "hits": record.hits if counted else [],
        "flip_hits": record.flip_hits if counted else None,
        "max_size": record.max_size,
        "size_weights": record.size_weights,
        "subject": subject,
    }


def script_safe_json(text: str) -> str:
    r"""Escape JSON for a script element: no tags, and no marks that change the text direction.

    >>> script_safe_json('{"name": "</script>\u202e"}')
    '{"name": "\\u003c/script>\\u202e"}'
    """
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_UNSAFE = re.compile("[<\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _feature(e: Explanation, player: Player) -> tuple[str, str, str]:
    column = signature_column(e, player)
    full = "" if column.full_name == column.label else column.full_name
    return column.name, column.value, full


def _view(view: View, said: ViewSummary, counted: bool, brief: bool) -> PageView:
    profile = view.profile
    changes = _changes(view, brief)
    # Thousands of changes consist of few moves: each text is stored once.
    unique = dict.fromkeys(move for _, told, _ in changes for move in told)
    moves = {move: at for at, move in enumerate(unique)}
    known = PageView(
        name=view.name,
        outcome=said.outcome,
        does=said.intervention,
        order=order_by_necessity(view.explanation),
        complete=view.complete,
        by_construction=said.construction_note,
        all_suffice=said.all_suffice,
        minimality=said.minimality,
        moves=list(moves),
        changes=[(members, [moves[m] for m in told], cost) for members, told, cost in changes],
    )
    if counted:
        return known
    # Other corrections need all p-values of the family, which the page does not have.
    movable = profile.findings is None and profile.n_minimal_at_any_tau <= _MOST_SETS
    if movable and profile.adjust in ("none", "bonferroni"):
        # The script tests by itself, at any α the reader types, so bars are those of the shares.
        untested = profile.with_test(None, "none")
        return msgspec.structs.replace(
            known,
            bars=[_bar_in_hits(m, view.tally.n) for m in untested.minimal_at_any_tau()],
            mass=_mass(untested.tally.n, *untested.reach_of_outcome()),
            chance=_mass(untested.tally.n, *untested.reach_of_all()),
            tests=profile.n_tested,
        )
    cut = len(view) > _MOST_SETS_AT_TAU
    counts = enumerate(n for _, n in view.digest.counts)
    return msgspec.structs.replace(
        known,
        bars=[_bar_at_tau(m) for m in profile.minimal_at(view.tau)[:_MOST_SETS_AT_TAU]],
        n_sets=len(view) if cut else 0,
        common=[(at, n) for at, n in counts if 2 * n >= len(view)] if cut else [],
        necessity=said.necessity_text,
        none_reached=said.none_reached,
        fixed_tau_reason=_fixed_tau_reason(view),
        only_at_tau=profile.findings is not None,
    )


def _bar_at_tau(minimal: MinimalSet) -> PageBar:
    note = UNPROVEN_NOTE if minimal.proof == "none" else ""
    return PageBar(minimal.members, minimal.hits, 0, minimal.low, minimal.high, note)


def _fixed_tau_reason(view: View) -> str:
    if (findings := view.profile.findings) is not None:
        return (
            f"This search looked for sets at the threshold τ = {findings.tau:g}, so it cannot be "
            "moved here. Ask again at another."
        )
    return "There are too many sets to put all of them into a page, so τ cannot be moved here."


def _bar_in_hits(minimal: MinimalSet, n: int) -> PageBar:
    """Return a set with hits in place of shares, which are hits divided by n."""
    return PageBar(minimal.members, minimal.hits, round(minimal.low * n))


def _mass(n: int, reach: Reals, weight: Reals) -> list[tuple[int, float]]:
    """Return weights by the number of references that a reach is of."""
    # Shares are hits over n: integers compare exactly and are shorter in JSON.
    hits, which = np.unique(np.rint(reach * n), return_inverse=True)
    mass = np.bincount(which, weights=weight, minlength=len(hits))
    return [(int(h), float(w)) for h, w in zip(hits, mass, strict=True)]


def _changes(view: View, brief: bool) -> list[tuple[tuple[int, ...], list[str], float]]:
    """Return sets with the moves of their cheapest change, and its cost to six digits."""
    told: Iterable[MinimalSet] = ()
    if view.changes:
        profile = view.profile
        told = profile.minimal_at(view.tau) if brief else profile.minimal_at_any_tau(_MOST_CHANGES)
    out = []
    for minimal in told:
        change = view.changes.get(view.tally.lattice.mask(minimal.members))
        if change is not None:
            moves = change_text(view, change).split(", ")
            out.append((minimal.members, moves, float(f"{change.cost:.6g}")))
    return out
