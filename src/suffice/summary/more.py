"""What would give more than a search that is not complete: calls, in the reader's own language."""

from __future__ import annotations

from suffice.explanation import Explanation
from suffice.search.plan import More
from suffice.summary.terms import Terms
from suffice.summary.ways import Ways
from suffice.wording import count, duration, listed, named

__all__ = ["calls_for_more", "copies"]

_COPIES_TOLD = 4


def calls_for_more(e: Explanation, terms: Terms, ways: Ways) -> tuple[tuple[str, str], ...]:
    """Calls that can be made as they stand, each with what it would give and about how soon."""
    plan = e.provenance.plan
    # Where larger sets were not asked for, no more time would try them.
    small = e.stopped is not None and e.stopped.kind == "max_size"
    if plan is None or e.complete or small:
        return ()
    return tuple((more.told(ways.arguments), _gives(more, terms)) for more in plan.more)


def copies(e: Explanation) -> str:
    """Features that say the same in the data, so that sets come in as many versions; or ""."""
    plan = e.provenance.plan
    if plan is None or not plan.copies:
        return ""
    told = "; ".join(listed(map(named, names)) for names in plan.copies[:_COPIES_TOLD])
    more = len(plan.copies) - _COPIES_TOLD
    rest = f"; and {more:,} more" if more > 0 else ""
    return f"Copies of each other in the data: {told}{rest}."


def _gives(more: More, terms: Terms) -> str:
    takes = duration(more.seconds)
    if not more.complete:
        return f"searches on, {takes} in all" if "time_limit" in more.arguments else "searches on"
    every = f"every set, in about {takes}"
    if "groups" in more.arguments:
        return f"{terms.feature}s that go together count as one; {every}"
    references = more.arguments.get("n_references")
    if isinstance(references, int):
        return f"against {count(references, 'reference')}: {every}"
    return every
