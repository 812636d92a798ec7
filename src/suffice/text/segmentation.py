"""Segmentation of a text into words, sentences, passages or the user's spans.

A span is a (start, stop) pair of character positions.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import pairwise
from operator import itemgetter
from unicodedata import category

from suffice.errors import InputError, short_repr
from suffice.explanation import Explanation
from suffice.explanation.explanation import features_to_refine
from suffice.explanation.schema import TextSubject, TextUnit
from suffice.validation import call_user_function, check_choice, check_integer

Span = tuple[int, int]
UnitSpec = str | Callable[[str], Iterable[Sequence[int]]]
"""The name of a unit, or a function from a text to its spans."""

_JOINERS = "'’-‐‑"
_IDEOGRAPHS = ((0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF))
"""Kana and Han are written without spaces, so each character is a word."""

# Words are matched on the shape of a text, which has one letter per character: w for letters and
# digits, m for marks on the character before, c for an ideograph (a word by itself), s for emoji
# and other symbols, - for a character that joins two words into one.
_WORD = re.compile(r"cm*|s[sm]*|w[wm]*(?:-w[wm]*)*")

_END = re.compile(r"([.!?…]+[\"'”’»)\]]*)(?=\s|$)|[。！？]+[」』”’）]*|\n\s*\n")
# Matched against the last eight characters before a stop, so no abbreviation here may be longer.
_ABBREVIATION = re.compile(
    r"(?:^|[\s.(\[\"'“‘])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|No|vs|e\.g|i\.e|cf)\.$"
)

_NEXT = re.compile(r"\s*(\S)")

_NAME_LENGTH = 40


def words(text: str) -> list[Span]:
    """Return the spans of words, with inner apostrophes and hyphens and without punctuation.

    >>> [text[a:b] for text in ["Don’t re-read it!"] for a, b in words(text)]
    ['Don’t', 're-read', 'it']
    """
    shape = "".join(map(_kind, text))
    return [match.span() for match in _WORD.finditer(shape)]


def sentences(text: str) -> list[Span]:
    """Return the spans of sentences with their closing marks; a blank line also ends a sentence.

    >>> [text[a:b] for text in ["Dr. No is… well, late. Why?"] for a, b in sentences(text)]
    ['Dr. No is… well, late.', 'Why?']
    """
    cuts = [0]
    # In a text without capitals, a lower-case letter after a stop may begin a sentence.
    cased = text != text.lower()
    for match in _END.finditer(text):
        # Slices of a few characters only: a long text has thousands of stops.
        before, after = text[max(0, match.end() - 8) : match.end()], _NEXT.match(text, match.end())
        small = cased and after is not None and after.group(1).islower()
        mark = match.group(1) or ""
        pause = mark != "" and not set("!?") & set(mark) and small
        if not (pause or (mark == "." and _ABBREVIATION.search(before))):
            cuts.append(match.end())
    cuts.append(len(text))
    return [_strip(text, a, b) for a, b in pairwise(cuts) if text[a:b].strip()]


def check_spans(given: object, text: str) -> list[Span]:
    """Return the user's spans in ascending order; raise if they overlap, are empty or outside."""
    allowed = f"spans (start, stop) apart from each other, within 0 to {len(text)}"
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise InputError("spans", given, allowed)
    spans: list[Span] = []
    for span in given:
        try:
            start, stop = (check_integer("spans", edge, least=-(2**62)) for edge in span)
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
    """Return a unique readable name for each span; repeated words get a number.

    >>> span_names("so so good", [(0, 2), (3, 5), (6, 10)])
    ['so', 'so (2)', 'good']
    """
    names: dict[str, None] = {}
    times: dict[str, int] = {}
    for start, stop in spans:
        plain = " ".join(text[start:stop].split()) or repr(text[start:stop])
        plain = plain if len(plain) <= _NAME_LENGTH else plain[: _NAME_LENGTH - 1].rstrip() + "…"
        name = plain
        while name in names:  # the text itself may contain "word (2)"
            times[plain] = times.get(plain, 1) + 1
            name = f"{plain} ({times[plain]})"
        names[name] = None
    return list(names)


def check_text(text: object) -> str:
    """Return the text if it is a string with more than white space."""
    if not isinstance(text, str):
        hint = "Call explain once for each text." if isinstance(text, list | tuple) else ""
        raise InputError("text", f"{type(text).__name__} {short_repr(text)}", "one string", hint)
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


# Passages: a long text in a few parts, so that every set of parts can be evaluated.


MOST_PASSAGES = 12
_ENOUGH_WORDS = 10
"""A passage of at most this many words is not cut further."""

_CLAUSE = ",;:—–()\n"


def passages(text: str, words: Sequence[Span], most: int = MOST_PASSAGES) -> list[Span]:
    """Return at most `most` spans that hold all words, cut at sentences or clauses if possible."""
    parts = _join_shortest([p for s in sentences(text) if (p := words_in_span(words, s))], most)
    while len(parts) < most:
        at = max(range(len(parts)), key=lambda i: len(parts[i]))
        if len(parts[at]) <= _ENOUGH_WORDS:
            break
        part = parts[at]
        cut = part.start + _middle_cut(text, words[part.start : part.stop])
        parts[at : at + 1] = [range(part.start, cut), range(cut, part.stop)]
    edges = [(words[part[0]][0], words[part[-1]][1]) for part in parts]
    return [
        (start, _with_punctuation(text, stop, after))
        for (start, stop), after in zip(edges, [a for a, _ in edges[1:]] + [len(text)], strict=True)
    ]


def words_in_span(words: Sequence[Span], span: Span) -> range:
    """Return the indices of the words that lie inside a span.

    Words are sorted and disjoint, so their starts and their stops both ascend: two bisections find
    the indices, and cutting a text of n words takes O(n log n) instead of O(n²).

    >>> words_in_span([(0, 2), (3, 5), (6, 9)], (1, 9))
    range(1, 3)
    """
    first = bisect_left(words, span[0], key=itemgetter(0))
    return range(first, max(first, bisect_right(words, span[1], key=itemgetter(1))))


def _join_shortest(parts: list[range], most: int) -> list[range]:
    """Join neighbours, the pair with the fewest words first, until at most `most` parts are left.

    A heap holds every pair of neighbours by its number of words, the leftmost first among equals.
    A pair is stale once one of its parts was joined with another, and is then skipped.
    """
    left: dict[int, range] = {part.start: part for part in parts}
    starts = {part.stop: part.start for part in parts}
    pairs = [(len(a) + len(b), a.start, b.stop) for a, b in pairwise(parts)]
    heapify(pairs)
    while len(left) > most:
        _, start, stop = heappop(pairs)
        middle = left[start].stop if start in left else stop
        if middle not in left or left[middle].stop != stop:
            continue
        del left[middle]
        left[start] = range(start, stop)
        starts[stop] = start
        if start in starts:
            before = starts[start]
            heappush(pairs, (stop - before, before, stop))
        if stop in left:
            after = left[stop].stop
            heappush(pairs, (after - start, start, after))
    return [left[start] for start in sorted(left)]


def _middle_cut(text: str, part: Sequence[Span]) -> int:
    """Return where to cut a part in two: at the clause end nearest to the middle.

    Clause ends outside the middle half do not count; without one the cut is in the middle.
    """
    n = len(part)

    def cost(cut: int) -> tuple[bool, int]:
        gap = text[part[cut - 1][1] : part[cut][0]]
        clause = any(sign in gap for sign in _CLAUSE)
        return not (clause and n <= 4 * cut <= 3 * n), abs(2 * cut - n)

    return min(range(1, n), key=cost)


def _with_punctuation(text: str, stop: int, before: int) -> int:
    """Return a stop that includes the closing punctuation of a passage, up to the first space."""
    while stop < before and not text[stop].isspace():
        stop += 1
    return stop


# Features of a text, and the atoms (words or spans) that are replaced one by one.


MOST_WORD_PLAYERS = 60
"""A text of at most this many words is searched word by word from the start."""

UNITS = ("auto", "word", "sentence", "passage")


@dataclass(frozen=True)
class TextParts:
    """Features of a text, and the atoms (words or spans) that each feature consists of."""

    text: str
    spans: list[Span]
    atoms: list[Span]
    unit: TextUnit
    """Kind of feature: "word", "sentence", "passage" or "span"."""
    visible: Sequence[int]
    """Indices of the atoms that belong to features; the other atoms are hidden."""

    @property
    def atom_names(self) -> list[str]:
        """Unique names of all atoms."""
        return span_names(self.text, self.atoms)

    @property
    def groups(self) -> dict[str, list[str]] | None:
        """Names of the atoms of each feature; None if each atom is a feature."""
        if self.unit in ("word", "span"):
            return None
        names = self.atom_names
        return {
            name: [names[i] for i in words_in_span(self.atoms, span)]
            for name, span in zip(span_names(self.text, self.spans), self.spans, strict=True)
        }


def check_unit(unit: UnitSpec) -> UnitSpec:
    """Return the unit if it is a known name or a callable."""
    return (
        unit
        if callable(unit)
        else check_choice("unit", unit, UNITS, also="a callable text -> spans")
    )


def split_text(text: str, unit: UnitSpec, spans: Iterable[Sequence[int]] | None) -> TextParts:
    """Cut a text into features by a unit, or by the user's spans where these are given."""
    if spans is None and callable(unit):
        spans = call_user_function(
            "unit", unit, "a function from a text to [(start, stop), …]", text
        )
    if spans is not None or callable(unit):
        own = check_spans(spans, text)
        return TextParts(text, own, own, "span", range(len(own)))
    atoms = words(text)
    visible = range(len(atoms))
    if not atoms:
        hint = "Pass spans to hold or replace other characters."
        raise InputError("text", f"{text!r}, which has no word", "at least one word", hint)
    if unit == "word" or (unit == "auto" and len(atoms) <= MOST_WORD_PLAYERS):
        return TextParts(text, atoms, atoms, "word", visible)
    if unit == "sentence":
        whole = [span for span in sentences(text) if words_in_span(atoms, span)]
        return TextParts(text, whole, atoms, "sentence", visible)
    return TextParts(text, passages(text, atoms), atoms, "passage", visible)


def words_of_features(explanation: Explanation, named: Sequence[str] | str | None) -> TextParts:
    """Return the single words of the named features, for a search inside these.

    With `named=None` these are the features of the best factor of each view.
    """
    subject = getattr(explanation, "subject", None)
    if not isinstance(subject, TextSubject):
        raise InputError("explanation", "an explanation of other data", "an explanation of a text")
    numbers = features_to_refine(explanation, named)
    atoms = words(subject.text)
    within = sorted(i for n in numbers for i in words_in_span(atoms, subject.spans[n]))
    if len(within) <= len(numbers):
        got = ", ".join(explanation.keep.players[n].name for n in numbers) or "nothing"
        hint = "Single words cannot be cut further."
        raise InputError("features", got, "passages of more than one word", hint)
    return TextParts(subject.text, [atoms[i] for i in within], atoms, "word", within)
