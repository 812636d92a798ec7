"""Where the words and the sentences of a text are: (start, stop) pairs of characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from unicodedata import category

from suffice.checks import whole
from suffice.errors import InputError, shorten

__all__ = ["Span", "Unit", "check_spans", "check_text", "sentences", "span_names", "words"]

Span = tuple[int, int]
Unit = str | Callable[[str], Iterable[Sequence[int]]]
"""The name of a unit, or a function from a text to its spans."""

_JOINERS = "'’-‐‑"
_IDEOGRAPHS = ((0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF))
"""Kana and Han are written without spaces, so each character is a word."""

# A letter per character says what it is: w word, m mark on the one before, c a word by itself,
# s emoji and other signs, - what joins two words into one.
_WORD = re.compile(r"cm*|s[sm]*|w[wm]*(?:-w[wm]*)*")

_END = re.compile(r"([.!?…]+[\"'”’»)\]]*)(?=\s|$)|[。！？]+[」』”’）]*|\n\s*\n")
_ABBREVIATION = re.compile(
    r"(?:^|[\s.(\[\"'“‘])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|No|vs|e\.g|i\.e|cf)\.$"
)

_NEXT = re.compile(r"\s*(\S)")

_NAME_LENGTH = 40


def words(text: str) -> list[Span]:
    """Words with their inner apostrophes and hyphens; no punctuation.

    >>> [text[a:b] for text in ["Don’t re-read it!"] for a, b in words(text)]
    ['Don’t', 're-read', 'it']
    """
    shape = "".join(map(_kind, text))
    return [match.span() for match in _WORD.finditer(shape)]


def sentences(text: str) -> list[Span]:
    """Sentences with their closing marks; a blank line also ends one.

    >>> [text[a:b] for text in ["Dr. No is… well, late. Why?"] for a, b in sentences(text)]
    ['Dr. No is… well, late.', 'Why?']
    """
    cuts = [0]
    cased = text != text.lower()  # else a small letter after a stop tells nothing
    for match in _END.finditer(text):
        # No slice of the whole text: a long one has thousands of stops.
        before, after = text[max(0, match.end() - 8) : match.end()], _NEXT.match(text, match.end())
        small = cased and after is not None and after.group(1).islower()
        mark = match.group(1) or ""
        pause = mark != "" and not set("!?") & set(mark) and small
        if not (pause or (mark == "." and _ABBREVIATION.search(before))):
            cuts.append(match.end())
    cuts.append(len(text))
    return [_strip(text, a, b) for a, b in pairwise(cuts) if text[a:b].strip()]


def check_spans(given: object, text: str) -> list[Span]:
    """A user's own spans, in order; an error where they cannot be meant."""
    allowed = f"spans (start, stop) apart from each other, within 0 to {len(text)}"
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise InputError("spans", given, allowed)
    spans: list[Span] = []
    for span in given:
        try:
            start, stop = (whole("spans", edge, least=-(2**62)) for edge in span)
        except (TypeError, ValueError) as error:
            raise InputError("spans", span, allowed) from error
        if not 0 <= start < stop <= len(text):
            what = "empty" if start == stop else "out of range"
            raise InputError("spans", f"({start}, {stop}), which is {what}", allowed)
        spans.append((start, stop))
    spans.sort()
    for (a, b), (c, d) in pairwise(spans):
        if c < b:
            raise InputError("spans", f"({a}, {b}) and ({c}, {d}), which overlap", allowed)
    if not spans:
        raise InputError("spans", "none", "at least one span to hold or replace")
    return spans


def span_names(text: str, spans: Sequence[Span]) -> list[str]:
    """A readable name for each span; a number tells those of the same words apart.

    >>> span_names("so so good", [(0, 2), (3, 5), (6, 10)])
    ['so', 'so (2)', 'good']
    """
    names: dict[str, None] = {}
    times: dict[str, int] = {}
    for start, stop in spans:
        plain = " ".join(text[start:stop].split()) or repr(text[start:stop])
        plain = plain if len(plain) <= _NAME_LENGTH else plain[: _NAME_LENGTH - 1].rstrip() + "…"
        name = plain
        while name in names:  # the text may itself hold what looks like a numbered name
            times[plain] = times.get(plain, 1) + 1
            name = f"{plain} ({times[plain]})"
        names[name] = None
    return list(names)


def check_text(text: object) -> str:
    """A text that holds something."""
    if not isinstance(text, str):
        hint = "Call it once for each text." if isinstance(text, list | tuple) else ""
        raise InputError("text", f"{type(text).__name__} {shorten(text)}", "one string", hint)
    if not text.strip():
        raise InputError("text", repr(text), "a text with at least one word")
    return text


def _strip(text: str, start: int, stop: int) -> Span:
    inner = text[start:stop]
    return start + len(inner) - len(inner.lstrip()), stop - len(inner) + len(inner.rstrip())


@lru_cache(maxsize=4096)
def _kind(character: str) -> str:
    code, kind = ord(character), category(character)
    if any(low <= code <= high for low, high in _IDEOGRAPHS) and kind[0] == "L":
        return "c"
    if kind[0] == "M" or code in (0x200C, 0x200D) or 0x1F3FB <= code <= 0x1F3FF:
        return "m"
    if kind[0] in "LN" or character == "_":
        return "w"
    return "s" if kind == "So" else "-" if character in _JOINERS else " "
