"""A section for a model card, in Markdown: what an audit asked and found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from suffice.results import Result
from suffice.wording import harmless

__all__ = ["escaped", "model_card"]

_MOST = 6
"""Sentences of a finding: a card is read in a minute."""


def model_card(
    title: str, date: str | None, about: Iterable[tuple[str, str]], findings: Iterable[Result]
) -> str:
    """The section: headings of the second and third level, lists, no tables."""
    return "\n".join(_lines(title, date, about, findings)) + "\n"


def _lines(
    title: str, date: str | None, about: Iterable[tuple[str, str]], findings: Iterable[Result]
) -> Iterator[str]:
    yield f"## {escaped(title)}"
    yield ""
    if date is not None:
        yield f"- **Date**: {escaped(date)}"
    for label, words in about:
        yield f"- **{escaped(label)}**: {escaped(words)}"
    for result in findings:
        sheet = result.sheet
        yield ""
        yield f"### {escaped(sheet.title)}"
        yield ""
        for sentence in sheet.lead[:_MOST]:
            yield f"- {escaped(sentence)}"
        if len(sheet.lead) > _MOST:
            yield f"- … and {len(sheet.lead) - _MOST} more, in the record"
    yield ""
    yield (
        "Made by `suffice audit` from counts of model answers; what was measured is told, and not "
        "whether it is allowed. `suffice audit verify` checks the record that this section is from."
    )


def escaped(text: str) -> str:
    r"""Words of others, which no reader of Markdown takes for markup.

    >>> print(escaped("a*b <script> | [x](y)"))
    a\*b \<script\> \| \[x\](y)
    >>> print(escaped("1. no list"), escaped("# no heading"), escaped("http://no.link"))
    1\. no list \# no heading http:\//no.link
    >>> print(escaped("2026-10-01"))
    2026-10-01
    """
    marked = re.sub(r"([\\`*_{}\[\]<>|~$&])", r"\\\1", harmless(text)).replace("://", ":\\//")
    # What makes a heading or a list stands at the beginning.
    return re.sub(r"^(\s*\d+)(?=[.)])|^(\s*)(?=[#+=-])", r"\g<0>\\", marked)
