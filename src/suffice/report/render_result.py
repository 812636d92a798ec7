"""Results as text, terminal output, notebook cell, HTML page; `suffice.report`; audit records."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from suffice.errors import InputError, SufficeError
from suffice.explanation import Explanation
from suffice.formatting import format_condition, format_name, plural, printable, truncate
from suffice.progress import progress_bar
from suffice.report.html import (
    document,
    explanation_body,
    render_template,
    script_bundle,
    stylesheet,
)
from suffice.report.page_data import page_scripts
from suffice.results import Panel, Rendered, Result, write_text
from suffice.summary import Summary, summarise
from suffice.validation import check_name_list as read_names, check_string

if TYPE_CHECKING:
    from suffice.audit.record_result import Record

_WIDTH = 92


def text(result: Rendered) -> str:
    """Return plain text, for `print` and for files."""
    s = result.sheet
    lines = [printable(s.title)]
    lines += _wrapped_lines(s.lead)
    for panel in s.panels:
        lines += [printable(panel.heading)] if panel.heading else []
        lines += _table_lines(panel)
        lines += [f"  … {panel.more}"] if panel.more else []
    return "\n".join(lines + _wrapped_lines(s.notes))


def terminal(result: Rendered) -> Any:
    """Return the sheet as what a rich console prints."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    s = result.sheet
    parts: list[Any] = [Text(printable(s.title), style="bold"), *map(_indented, s.lead)]
    for panel in s.panels:
        parts += [Text(printable(panel.heading), style="bold cyan")] if panel.heading else []
        table = Table(box=None, padding=(0, 1), header_style="dim")
        for column in panel.columns:
            right = column.kind != "text"
            table.add_column(
                printable(column.heading), justify="right" if right else "left", overflow="fold"
            )
        for row in panel.rows:
            table.add_row(
                *(Text(c.text_of(value)) for c, value in zip(panel.columns, row, strict=True))
            )
        parts.append(Padding(table, (0, 0, 0, 1)))
        parts += [_indented(f"… {panel.more}", "dim")] if panel.more else []
    return Group(*parts, *(_indented(note, "dim") for note in s.notes))


def _indented(words: str, style: str = "") -> Any:
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(printable(words), style=style), (0, 0, 0, 2))


def page(result: Rendered) -> str:
    """Return an HTML document."""
    sheet = result.sheet
    content = render_template("sheet-body.html.j2", s=sheet)
    return document(sheet.title, stylesheet([], "page.css", "sheet.css"), content)


def fragment(result: Rendered) -> str:
    """Return HTML with its own style, for a notebook."""
    content = render_template("sheet-body.html.j2", s=result.sheet)
    return render_template(
        "sheet-fragment.html.j2", style=stylesheet([], "sheet.css"), content=content
    )


def _table_lines(panel: Panel) -> list[str]:
    """Return the lines of a table that fits the text's width where its cells allow that.

    The headings of a wide table are broken between words. A last column of text is wrapped into the
    room that is left.
    """
    cells = [[*row] for row in panel.texts]
    heads = [[printable(column.heading)] for column in panel.columns]
    # One line of headings for a table without rows, too.
    columns = [*zip(*cells, strict=True)] or [()] * len(heads)
    longest = [max(map(len, column), default=0) for column in columns]
    if sum(max(len(h), n) + 2 for (h,), n in zip(heads, longest, strict=True)) > _WIDTH:
        heads = [h.split() or [h] for (h,) in heads]
    widths = [max(n, *map(len, lines)) for lines, n in zip(heads, longest, strict=True)]
    before = sum(widths[:-1]) + 2 * len(widths)
    if panel.columns[-1].kind == "text":  # it may be prose; 12 is the width of a word
        widths[-1] = max(12, min(widths[-1], _WIDTH - before))
    height = max(map(len, heads))
    headings = [[""] * (height - len(lines)) + lines for lines in heads]
    lines = []
    for row in [*zip(*headings, strict=True), *cells] if any(map(any, heads)) else cells:
        rest = wrap(row[-1], widths[-1]) or [""]
        padded = [
            text.ljust(width) if column.kind == "text" else text.rjust(width)
            for text, width, column in zip([*row[:-1], rest[0]], widths, panel.columns, strict=True)
        ]
        lines.append(("  " + "  ".join(padded)).rstrip())
        lines += [" " * before + more for more in rest[1:]]
    return lines


def _wrapped_lines(sentences: tuple[str, ...]) -> list[str]:
    return [
        line
        for sentence in sentences
        for line in wrap(printable(sentence), _WIDTH, initial_indent="  ", subsequent_indent="  ")
    ]


# The page of an audit record. It has each figure twice, for light and for dark screens. Without
# matplotlib it has the tables only, whose shares have bars.


_SENTENCES_AT_TOP = 3
"""Sentences of a finding at the top."""
_TABLES_UNFOLDED = 2
"""Tables of a finding that are not folded away."""


FIGURES_PROGRESS = "figures"
"""Title of the progress bar over the findings whose figures are drawn."""


class FigureImages(NamedTuple):
    """A figure as data URIs."""

    light: str
    dark: str


def record_page(
    record: Record, links: bool = False, figures: bool = True, progress: bool | None = False
) -> str:
    """Return an HTML document; `links` adds links to the files of the record's folder."""
    # Imported here: printing any other result needs nothing of audits.
    from suffice.audit.record_result import files_of

    with progress_bar(FIGURES_PROGRESS, len(record.findings) * figures, progress) as bar:

        def pictures(result: Result) -> list[FigureImages]:
            drawn = _figures(result) if figures else []
            bar.update(figures)
            return drawn

        content = render_template(
            "record.html.j2",
            r=record,
            links=links,
            brief=_SENTENCES_AT_TOP,
            open=_TABLES_UNFOLDED,
            files=files_of,
            pictures=pictures,
        )
    return document(record.title, stylesheet([], "page.css", "sheet.css", "record.css"), content)


def terminal_summary(record: Record) -> Any:
    """Return title, description and first findings of a record for a rich console."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [Text(printable(record.title), style="bold")]
    parts += [_indented(f"{label}: {words}") for label, words in record.about]
    for finding in record.findings:
        parts.append(Text(finding.heading, style="bold cyan"))
        said = finding.result.sheet.lead
        parts += map(_indented, said[:_SENTENCES_AT_TOP])
        more = len(said) - _SENTENCES_AT_TOP
        if more > 0:
            parts.append(_indented(f"… and {more} more on the page", "dim"))
    return Group(*parts)


def _figures(result: Result) -> list[FigureImages]:
    """Return the figures of a result; empty if its class has none, or without matplotlib."""
    kinds = [kind for kind in type(result).plots if kind != "measures"]
    if not kinds:
        return []
    try:
        import matplotlib as mpl
    except ImportError:
        return []
    # The same bytes every time, since they are sealed: ids from a fixed salt, and no date.
    with mpl.rc_context({"svg.hashsalt": "suffice", "svg.fonttype": "path"}):
        return [
            FigureImages(_figure_uri(result, kind, "#f6f8fb"), _figure_uri(result, kind, "#1a2029"))
            for kind in kinds
        ]


def _figure_uri(result: Result, kind: str, paper: str) -> str:
    from matplotlib import pyplot, rc_context

    # Without `ax` the figure is as large as its content needs.
    with rc_context({"figure.facecolor": paper}):
        figure: Any = result.plot(kind).figure
    file = BytesIO()
    figure.savefig(file, format="svg", facecolor=paper, metadata={"Date": None})
    pyplot.close(figure)
    return f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"


# `suffice.report`: many explanations in one HTML page, with an index and what they share.


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
    """Cost of the cheapest change."""


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


def _checked_items(explanations: object) -> Iterator[Explanation | SufficeError]:
    allowed = "explanations, as explain_many or load gives them"
    if isinstance(explanations, Explanation):
        yield explanations
        return
    if not isinstance(explanations, Iterable) or isinstance(explanations, str | bytes):
        raise InputError("explanations", explanations, allowed)
    try:
        items = iter(explanations)
    except TypeError as error:  # an array without dimensions has `__iter__`, but raises
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
