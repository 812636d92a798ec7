"""List of explanations with a summary of its own: outcomes, commonest sets, incomplete searches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, ClassVar, SupportsIndex, overload

from suffice.explanation.explanation import Explanation
from suffice.formatting import format_features, format_name, plural
from suffice.results import Column, OmittedRows, Panel, Rendered, RenderFormat, Sheet
from suffice.search.profile import Profile
from suffice.typing import ViewName

_SETS_SHOWN = 5

_HEADINGS: dict[ViewName, str] = {
    "keep": "Feature sets that most often suffice to keep the outcome",
    "flip": "Feature sets that most often suffice to flip the outcome",
}


class Explanations(Rendered, list[Explanation]):
    """A list of explanations; `print` and a notebook show what they have in common.

    `Explainer.explain_many` returns it. It does everything that a list does, and a slice of it has
    a summary, too.

    >>> import pandas as pd
    >>> from suffice import Explainer
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> def grant(rows):
    ...     return (rows["income"] - 4 * rows["debt"] > 20).map({True: "granted", False: "refused"})
    >>> explained = Explainer(grant, people).explain_many(people)
    >>> explained
    <Explanations: Why? 4 decisions: 3 granted, 1 refused>
    >>> print(explained[:3])
    Why? 3 decisions: 2 granted, 1 refused
      Every minimal set at τ = 0.9 was found for all of them.
    Feature sets that most often suffice to keep the outcome
      decisions  share  of those with  feature set
              1   100%  refused        income
              1    50%  granted        income, debt
              1    50%  granted        income
    Feature sets that most often suffice to flip the outcome
      decisions  share  of those with  feature set
              2   100%  granted        income
              1   100%  refused        income, debt
              1    50%  granted        debt
      Counted are the decisions that have the set among their minimal ones. [0] is the first
      explanation, to_frame() has every set of each, to_html("why.html") writes them as one page.
    """

    page_face: ClassVar[RenderFormat] = "report"

    @property
    def sheet(self) -> Sheet:
        """The summary in words and tables."""
        outcomes = Counter(e.outcome for e in self)
        counted = ", ".join(f"{n:,} {format_name(o)}" for o, n in outcomes.most_common())
        title = f"Why? {plural(len(self), 'decision')}" + (f": {counted}" if counted else "")
        if not self:
            return Sheet(title)
        panels = [
            _set_panel("keep", ((e.outcome, e.keep_profile, e) for e in self), outcomes),
            _set_panel("flip", ((e.outcome, e.flip_profile, e) for e in self), outcomes),
        ]
        note = (
            "Counted are the decisions that have the set among their minimal ones. [0] is the "
            "first explanation, to_frame() has every set of each, "
            'to_html("why.html") writes them as one page.'
        )
        return Sheet(title, (self._completeness(),), tuple(p for p in panels if p.rows), (note,))

    def _completeness(self) -> str:
        taus = sorted({e.tau for e in self})
        at = f" at τ = {taus[0]:g}" if len(taus) == 1 else ""
        unfinished = sum(not e.complete for e in self)
        if not unfinished:
            return f"Every minimal set{at} was found for all of them."
        return (
            f"Every minimal set{at} was found for {len(self) - unfinished:,} of "
            f"{plural(len(self), 'decision')}; the other searches may have missed some."
        )

    def to_frame(self) -> Any:
        """Return the sets of every explanation as a pandas frame; `decision` counts from 0."""
        import pandas as pd

        frames = []
        for number, e in enumerate(self):
            frame = e.to_frame()
            frame.insert(0, "decision", number)
            frames.append(frame)
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    @overload
    def __getitem__(self, at: SupportsIndex) -> Explanation: ...

    @overload
    def __getitem__(self, at: slice) -> Explanations: ...

    def __getitem__(self, at: SupportsIndex | slice) -> Explanation | Explanations:
        """Return one explanation, or those of a slice with a summary of their own."""
        found = super().__getitem__(at)
        return Explanations(found) if isinstance(found, list) else found


def _set_panel(
    view: ViewName,
    decisions: Iterable[tuple[str, Profile, Explanation]],
    outcomes: Counter[str],
) -> Panel:
    """Return the sets of features that are minimal in most decisions of one view."""
    counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for outcome, profile, e in decisions:
        names = [player.name for player in e.players]
        for found in profile.minimal_at(e.tau):
            counts[outcome, tuple(names[j] for j in found.members)] += 1
    # Where as many decisions have them, in the order in which they were met: that of the rows.
    rows = tuple(
        (
            n,
            n / outcomes[outcome],
            format_name(outcome),
            format_features(features) if features else "no feature",
        )
        for (outcome, features), n in counts.most_common(_SETS_SHOWN)
    )
    columns = (
        Column("decisions", "number"),
        Column("share", "share"),
        Column("of those with"),
        Column("feature set"),
    )
    more = OmittedRows(len(counts) - len(rows), "to_frame()", "set")
    return Panel(columns, rows, _HEADINGS[view], more)
