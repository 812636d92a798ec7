"""`suffice.report`: many explanations in one HTML page, with an index and what they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from suffice.errors import InputError, SufficeError
from suffice.explanation import Explanation
from suffice.formatting import format_condition, format_name, plural, printable, truncate
from suffice.report.html import (
    document,
    explanation_body,
    render_template,
    script_bundle,
    stylesheet,
)
from suffice.report.page_data import page_scripts
from suffice.report.render_result import fragment, terminal, text  # noqa: F401 - see `page`
from suffice.results import write_text
from suffice.summary import Summary, summarise
from suffice.validation import check_name_list as read_names, check_string

_LONGEST_TITLE = 200
_FEATURES_LISTED = 20
"""Most features listed in the overview of a page."""


@dataclass(frozen=True)
class IndexEntry:
    """One line of the index."""

    number: int
    name: str
    outcome: str
    score: float | None
    answer: str
    keep: int | None
    """Number of sets that keep the outcome; None if the decision could not be explained."""
    flip: int | None
    cost: float | None
    """Of the cheapest change."""


@dataclass
class ReportTotals:
    """Totals over the explanations of a page: outcomes, features in sets, failures."""

    outcomes: Counter[str] = field(default_factory=Counter)
    complete: int = 0
    failed: int = 0
    shares: dict[str, dict[str, float]] = field(default_factory=lambda: {"keep": {}, "flip": {}})
    """By view and feature: the share of a decision's sets that have it, summed over decisions."""
    with_sets: Counter[str] = field(default_factory=Counter)
    """By view: number of decisions that have sets."""

    def add(self, e: Explanation) -> None:
        """Add one explanation to the totals."""
        self.outcomes[format_name(e.outcome)] += 1
        self.complete += e.complete
        for view in (e.keep, e.flip):
            digest, sums = view.digest, self.shares[view.name]
            self.with_sets[view.name] += digest.n > 0
            for name, times in digest.counts if digest.n else ():
                told = format_condition(name)
                sums[told] = sums.get(told, 0.0) + times / digest.n

    @property
    def explained(self) -> int:
        """Number of explanations, without failures."""
        return sum(self.outcomes.values())

    @property
    def features(self) -> list[tuple[str, float, float]]:
        """Features with the mean share of the sets that have them, to keep and to flip the
        outcome; the largest first."""
        keep, flip = (
            {f: share / max(self.with_sets[view], 1) for f, share in self.shares[view].items()}
            for view in ("keep", "flip")
        )
        both = [(f, keep.get(f, 0.0), flip.get(f, 0.0)) for f in keep | flip]
        return sorted((f for f in both if f[1] + f[2] > 0), key=lambda f: -(f[1] + f[2]))


def report(
    explanations: Iterable[Explanation | SufficeError],
    path: str | Path | None = None,
    *,
    title: str | None = None,
    names: Sequence[str] | None = None,
) -> str:
    """Write many explanations as one self-contained page.

    The page begins with totals and an index that can be searched and sorted; with scripts off it is
    a plain list. Explanations are read once, so those of `suffice.load` need not be in memory
    together.

    Parameters
    ----------
    explanations
        Explanations, as `explain_many` or `load` gives them. Errors among them are listed as
        decisions that could not be explained.
    path
        The file to write; None: only the text is returned.
    title
        Heading of the page. None: the number of decisions.
    names
        Name of each in the index, such as the number of an application. None: they are numbered.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import suffice
    >>> X, y = suffice.datasets.loans(200)
    >>> X = X[["age", "income", "debt"]]
    >>> explainer = suffice.Explainer(DecisionTreeClassifier(random_state=0).fit(X, y), X)
    >>> page = suffice.report(explainer.explain_many(X.iloc[:5]), names=list("abcde"))
    >>> "Why? 5 decisions" in page
    True
    """
    heading = (
        "" if title is None else truncate(printable(check_string("title", title)), _LONGEST_TITLE)
    )
    called = None if names is None else read_names("names", names)
    # One pass: the explanations may come from disk, more than memory holds.
    together = ReportTotals()
    entries: list[IndexEntry] = []
    bodies: list[str] = []
    summaries: list[Summary] = []
    for number, item in enumerate(_checked_items(explanations), start=1):
        name = _name(called, number)
        if isinstance(item, SufficeError):
            together.failed += 1
            said = printable(str(item))
            entries.append(IndexEntry(number, name, "", None, said, None, None, None))
            bodies.append("")
            continue
        together.add(item)
        summary = summarise(item)
        # Only what makes a difference to the style is kept of each.
        summaries += [summary] if summary.source_text or summary.image else []
        entries.append(_entry(number, name, item, summary))
        bodies.append(
            explanation_body(summary, page_scripts(item, summary, brief=True), within=True)
        )
    if not entries:
        raise InputError("explanations", "none", "at least one explanation")
    if called is not None and len(called) != len(entries):
        raise InputError("names", f"{len(called)} names", f"{len(entries)}, one per explanation")
    heading = heading or f"Why? {plural(len(entries), 'decision')}"
    listed = render_template(
        "many.html.j2",
        title=heading,
        together=together,
        features=together.features[:_FEATURES_LISTED],
        more_features=max(len(together.features) - _FEATURES_LISTED, 0),
        entries=entries,
        bodies=bodies,
        size=_size_text(sum(map(len, bodies)) + len(script_bundle())),
    )
    style = stylesheet(summaries[-1:], "page.css", "live.css", "sheet.css", "many.css")
    page = document(heading, style, listed, script_bundle())
    if path is not None:
        write_text(path, page)
    return page


page = report
"""How `suffice.explanation.explanations` draws a list of explanations: all of them on a page, and
the summary as text, on a terminal and in a notebook like the sheet of any result."""


def _checked_items(explanations: object) -> Iterator[Explanation | SufficeError]:
    allowed = "explanations, as explain_many or load gives them"
    if isinstance(explanations, Explanation):
        yield explanations
        return
    if not isinstance(explanations, Iterable) or isinstance(explanations, str | bytes):
        raise InputError("explanations", explanations, allowed)
    try:
        items = iter(explanations)
    except TypeError as error:  # an array of no dimension says that it can be gone through
        raise InputError("explanations", explanations, allowed) from error
    for item in items:
        if not isinstance(item, Explanation | SufficeError):
            raise InputError("explanations", item, allowed)
        yield item


def _name(called: Sequence[str] | None, number: int) -> str:
    if called is None or number > len(called):
        return str(number)
    return format_name(called[number - 1])


def _entry(number: int, name: str, e: Explanation, summary: Summary) -> IndexEntry:
    return IndexEntry(
        number=number,
        name=name,
        outcome=format_name(e.outcome),
        score=e.score.value if e.score is not None else None,
        answer=summary.answer,
        keep=len(e.keep),
        flip=len(e.flip),
        cost=e.cheapest.cost if e.cheapest is not None else None,
    )


def _size_text(characters: int) -> str:
    return f"{characters / 1e6:.1f} MB" if characters >= 1e6 else f"{characters / 1e3:.0f} KB"
