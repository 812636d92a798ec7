"""A long text: its passages are searched first, then the words of those that were found to matter.

Each view's best set of passages is looked into. All other words are replaced in the keep view and
held in the flip view, as they are for any set that names none of them; so what is found there is
sufficient, and minimal, in the text as a whole. One limit bounds both looks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import msgspec

from suffice.explainer import Asked
from suffice.explanation import Explanation
from suffice.explanation.closer import features_to_refine
from suffice.explanation.subject import Closer, TextSubject
from suffice.search.limits import Limits
from suffice.search.plan import PATIENCE, More, Plan
from suffice.search.stop import Stop
from suffice.text.parts import Parts, look_into

__all__ = ["passages_then_words"]

Answer = Callable[[Parts, Asked], Explanation]
"""An explanation of parts of a text."""

_FIRST = 0.4
"""Of the time or the rows: for the passages, if they need as much."""
_LEAST_TIME = 0.3
"""Of the time: for the words, whatever the passages took."""
_LEAST_ROWS = 1000
"""A smaller budget is not shared out: passages need it all."""


def passages_then_words(answer: Answer, parts: Parts, question: Asked) -> Explanation:
    """The words that suffice, found by way of passages; or passages, and why no words."""
    started = perf_counter()
    time, budget = question.get("time_limit"), question.get("budget")
    limits = Limits(question.get("max_size"), budget, time).checked(0)
    seconds = limits.time_limit or PATIENCE
    rows = limits.budget
    # Where no time is given, passages take the little that they need.
    first = None if time is None else _FIRST * seconds
    some = None if rows is None else min(rows, max(int(_FIRST * rows), _LEAST_ROWS))
    coarse = answer(parts, question | _share(first, some))
    members = _to_look_into(coarse)
    left = None if rows is None else rows - coarse.provenance.rows_predicted
    if not members or (left is not None and left < _LEAST_ROWS):
        return _told(coarse, parts, coarse, len(members), limits)
    names = [coarse.players[number].name for number in members]
    remaining = max(seconds - (perf_counter() - started), _LEAST_TIME * seconds)
    fine = answer(look_into(coarse, names), question | _share(remaining, left))
    worse = any(
        before.factors and not after.factors
        for before, after in ((coarse.keep, fine.keep), (coarse.flip, fine.flip))
    )
    return _told(coarse if worse else fine, parts, coarse, len(members), limits, fine)


def _share(seconds: float | None, rows: int | None) -> Asked:
    return {"time_limit": seconds, "budget": rows}


def _to_look_into(coarse: Explanation) -> tuple[int, ...]:
    """The passages of each view's best set; none where it names none."""
    best = [min((f.size for f in view.factors), default=0) for view in (coarse.keep, coarse.flip)]
    return features_to_refine(coarse, None) if any(best) else ()


def _told(
    e: Explanation,
    parts: Parts,
    coarse: Explanation,
    within: int,
    limits: Limits,
    fine: Explanation | None = None,
) -> Explanation:
    """The answer with what was done for it, under the limits as they were given."""
    looks = [look.provenance for look in (coarse, fine) if look is not None]
    subject = e.subject
    assert isinstance(subject, TextSubject)
    closer = Closer(len(parts.atoms), len(parts.spans), coarse.complete, within, found=e is fine)
    plan = e.provenance.plan
    return replace(
        e,
        stopped=None if e.stopped is None else _as_given(e.stopped, limits),
        subject=msgspec.structs.replace(subject, closer=closer),
        provenance=msgspec.structs.replace(
            e.provenance,
            plan=None if plan is None else _plan_as_given(plan, limits),
            hybrids=sum(look.hybrids for look in looks),
            rows_predicted=sum(look.rows_predicted for look in looks),
            seconds=sum(look.seconds for look in looks),
            model_seconds=sum(look.model_seconds for look in looks),
        ),
    )


def _as_given(stop: Stop, limits: Limits) -> Stop:
    """A share of a limit is told as the limit."""
    if stop.kind == "time_limit" and limits.time_limit is None:
        return Stop("patience", PATIENCE)
    whole = {
        "time_limit": limits.time_limit,
        "budget": limits.budget,
        "hybrids": limits.budget,
    }.get(stop.kind)
    return stop if whole is None else Stop(stop.kind, whole)


def _plan_as_given(plan: Plan, limits: Limits) -> Plan:
    """What would give more is more of what was given."""
    given = {"time_limit": limits.time_limit or PATIENCE, "budget": limits.budget}
    shares = {"time_limit": plan.limits.time_limit, "budget": plan.limits.budget}

    def scaled(more: More) -> More:
        for name, share in shares.items():
            asked, whole = more.arguments.get(name), given[name]
            if isinstance(asked, int | float) and share and whole:
                times = round(asked / share)
                return replace(more, arguments={name: times * whole}, seconds=times * whole)
        return more

    told = replace(limits, time_limit=given["time_limit"], unasked=limits.time_limit is None)
    return replace(plan, limits=told, more=tuple(map(scaled, plan.more)))
