"""Formatting of numbers, percentages, durations, plurals, lists, excerpts; escaping of Markdown.

Every screen, page, error message and figure uses these functions, so that a number or a name looks
the same everywhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from itertools import accumulate
from math import ceil, floor
from typing import Literal

from suffice.typing import Scalar

_NAME_LENGTH = 60
_VALUE_LENGTH = 200
_MOST_DIGITS = 40
_MOST_COLUMNS = 3
"""Columns of a group that are listed; of a larger group only the number of columns is given."""


def percent(share: float | None) -> str:
    """Format a share as a percentage that never rounds to 0% or 100%; a dash for None.

    >>> percent(0.9414), percent(0.9999), percent(1.0), percent(0.0004), percent(None)
    ('94%', '>99%', '100%', '<1%', '–')
    >>> percent(0.005), percent(0.995)  # halves are rounded to even numbers, so to 0 and 100
    ('<1%', '>99%')
    """
    if share is None:
        return "–"
    if 0 < share <= 0.005:
        return "<1%"
    if 0.995 <= share < 1:
        return ">99%"
    return f"{share:.0%}"


def percent_range(low: float, high: float) -> str:
    """Format an interval of shares.

    >>> percent_range(0.25, 0.75), percent_range(0.0, 0.002)
    ('25–75%', '0–<1%')
    """
    return f"{percent(low).removesuffix('%')}–{percent(high)}"


def percentage_points(share: float) -> str:
    """Format a difference of shares in percentage points.

    >>> percentage_points(0.034), percentage_points(-0.5), percentage_points(0.0)
    ('+3', '−50', '0')
    """
    found = round(100 * share)
    return f"+{found}" if found > 0 else f"−{-found}" if found else "0"


def three_digits(share: float | None) -> str:
    """Format a probability with three decimals, or more where it would round to 0 or 1.

    >>> three_digits(0.25), three_digits(0.00016), three_digits(0.99991), three_digits(1.0)
    ('0.250', '0.00016', '0.9999', '1.000')
    """
    if share is None:
        return "–"
    if 0 < abs(share) < 0.0005:
        return f"{share:.2g}"
    if 0.9995 <= share < 1:
        for digits in range(4, 17):
            text = f"{share:.{digits}f}"
            if float(text) < 1:
                return text
    return f"{share:.3f}"


def format_lift(lift: float) -> str:
    """Format how many times as often as by chance something is.

    Halves are rounded up, as the script of a page can do as well.

    >>> format_lift(1.125), format_lift(1.0), format_lift(341.4)
    ('1.13', '1.00', '341')
    """
    if lift >= 10:
        return format_integer(floor(lift + 0.5))
    return f"{floor(lift * 100 + 0.5) / 100:.2f}"


def chance_phrase(baseline: float, lift: float, exact: bool = True) -> str:
    """Format the baseline of a necessity, and its lift over that.

    >>> chance_phrase(0.25, 2.0), chance_phrase(0.25, 2.0, exact=False)
    ('by chance 25%, lift 2.00', 'by chance about 25%, lift 2.00')
    """
    return f"by chance {'' if exact else 'about '}{percent(baseline)}, lift {format_lift(lift)}"


def with_sign(value: float, written: Callable[[float], str] = three_digits) -> str:
    """Format a difference with a plus or a minus sign (U+2212).

    >>> with_sign(0.25), with_sign(-0.25), with_sign(0.0), with_sign(-12.5, format_cost)
    ('+0.250', '−0.250', '0.000', '−12.5')
    """
    return ("+" if value > 0 else "−" if value < 0 else "") + written(abs(value))


def format_value(value: Scalar | date | time) -> str:
    """Format a value of a table: a number, text, date, Boolean or missing value.

    >>> (format_value(0.6518151), format_value(45.0), format_value(None),
    ...  format_value("own"), format_value(True), format_value(""))
    ('0.6518', '45', 'missing', 'own', 'yes', '""')
    >>> (format_value(datetime(2020, 1, 31)), format_value("2020-01-31T00:00:00"),
    ...  format_value(datetime(2020, 1, 31, 9, 30)))
    ('2020-01-31', '2020-01-31', '2020-01-31 09:30')
    """
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:g}"
    if isinstance(value, str):
        return truncate(printable(_short_date(value)), _VALUE_LENGTH) or '""'
    if isinstance(value, date | time):
        return _short_date(value.isoformat())
    return str(value) if abs(value) < 10**_MOST_DIGITS else format_integer(value)


def _short_date(text: str) -> str:
    """Drop midnight, or seconds that are zero, from an ISO timestamp; leave other text alone."""
    if len(text) >= 19 and text[4:5] == "-" and text[10:11] == "T":
        try:
            datetime.fromisoformat(text)
        except ValueError:
            return text
        day, clock = text[:10], text[11:]
        if clock.startswith("00:00:00") and not clock[8:].strip("0."):
            return day
        return f"{day} {clock.removesuffix(':00') if len(clock) == 8 else clock}"
    return text


def printable(text: str, *, keep_lines: bool = False) -> str:
    r"""Replace control characters of terminals and marks that change the reading direction.

    Every renderer passes names, labels and values from data through this function. `keep_lines`
    keeps line feeds, for text that may have several lines.

    >>> printable("red\x1b[31m \u202etext\x00"), printable("two\nlines")
    ('red␛[31m �text␀', 'two lines')
    """
    if text.isascii() and text.isprintable():
        return text
    kept = "\n" if keep_lines else ""
    return "".join(c if c in kept else _printable_character(c) for c in text)


def _printable_character(character: str) -> str:
    code = ord(character)
    if character in "\n\r\t\v\f\x85\u2028\u2029":
        return " "
    if code < 0x20 or code == 0x7F:
        return chr(0x2421 if code == 0x7F else 0x2400 + code)
    # Direction marks, lone surrogates and other controls; zero-width joiners stay, for emoji.
    kind = unicodedata.category(character)
    unsafe = kind in ("Cc", "Cs") or character in _DIRECTION
    return "\N{REPLACEMENT CHARACTER}" if unsafe else character


def escape_markdown(text: str) -> str:
    r"""Escape a text so that Markdown shows it as it is: no emphasis, link, list or heading.

    >>> print(escape_markdown("a*b <script> | [x](y)"))
    a\*b \<script\> \| \[x\](y)
    >>> print(escape_markdown("1. no list"), escape_markdown("# no heading"))
    1\. no list \# no heading
    >>> print(escape_markdown("http://no.link"), escape_markdown("2026-10-01"))
    http:\//no.link 2026-10-01
    """
    marked = re.sub(r"([\\`*_{}\[\]<>|~$&])", r"\\\1", printable(text)).replace("://", ":\\//")
    # Markup of headings and lists counts at the beginning of a line only.
    return re.sub(r"^(\s*\d+)(?=[.)])|^(\s*)(?=[#+=-])", r"\g<0>\\", marked)


def truncate(text: str, room: int) -> str:
    """Cut a text that has more characters than `room`, and end it with "…".

    >>> truncate("an unusually long name", 12)
    'an unusuall…'
    """
    return text if len(text) <= room else text[: room - 1].rstrip() + "…"


def format_name(name: str) -> str:
    """Format a name for display: without unsafe characters, and cut after 60 characters."""
    return truncate(printable(name), _NAME_LENGTH)


def format_condition(name: str, values: Mapping[str, Scalar] | None = None) -> str:
    """Format a feature with its value, or a group with its columns; a region has no value.

    >>> format_condition("age", {"age": 41}), format_condition("money", {"income": 3, "debt": 2})
    ('age = 41', 'money (income = 3, debt = 2)')
    >>> format_condition("income + debt", {"income": 3, "debt": 2})
    'income = 3 + debt = 2'
    """
    if not values:
        return format_name(name)
    if len(values) == 1 and name in values:
        return f"{format_name(name)} = {format_value(values[name])}"
    if name == " + ".join(values):  # columns joined because they are correlated
        return " + ".join(format_condition(c, {c: v}) for c, v in values.items())
    return f"{format_name(name)} ({format_columns(values)})"


def format_columns(values: Mapping[str, Scalar]) -> str:
    """Format columns with their values; of more than three only their number.

    >>> format_columns({"income": 3, "debt": 2}), format_columns(dict.fromkeys("abcd"))
    ('income = 3, debt = 2', '4 columns')
    """
    if len(values) > _MOST_COLUMNS:
        return plural(len(values), "column")
    return ", ".join(format_condition(c, {c: v}) for c, v in values.items())


def format_change(name: str, old: Mapping[str, Scalar], new: Mapping[str, Scalar]) -> str:
    """Format the columns of a feature whose value a change alters; "" if it alters none.

    >>> (format_change("age", {"age": 41}, {"age": 50}),
    ...  format_change("age", {"age": 41}, {"age": 41}))
    ('age 41 → 50', '')
    """
    # 1 == True in Python, but a change from one to the other is shown.
    altered = [c for c in old if new[c] != old[c] or type(new[c]) is not type(old[c])]
    if len(old) > _MOST_COLUMNS and altered:
        return f"{format_name(name)} ({plural(len(altered), 'column')})"
    return ", ".join(
        f"{format_name(c)} {format_value(old[c])} → {format_value(new[c])}" for c in altered
    )


_DIRECTION = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plural(n: int, noun: str) -> str:
    """Format a number with its noun in the singular or plural.

    >>> plural(1, "reference"), plural(1200, "reference")
    ('1 reference', '1,200 references')
    """
    return f"{format_integer(n)} {noun}" + ("" if n == 1 else "s")


def number_or_none(n: int) -> str:
    """Format a number of things, with "none" for 0.

    >>> number_or_none(0), number_or_none(1200)
    ('none', '1,200')
    """
    return format_integer(n) if n else "none"


def format_integer(n: int) -> str:
    """Format an integer of any size, with exponent from a trillion on.

    >>> (format_integer(1200), format_integer(2**40),
    ...  format_integer(2**2000), format_integer(-(2**40)))
    ('1,200', '1.1e+12', '1.1e+602', '-1.1e+12')
    """
    if n < 0:
        return f"-{format_integer(-n)}"
    if n < 10**12:
        return f"{n:,}"
    # Python limits the length of str(n), so the digits of a huge number come from log10(2).
    digits = len(str(n)) - 1 if n < 10**300 else int((n.bit_length() - 1) * 0.30102999566398)
    while 10 ** (digits + 1) <= n:
        digits += 1
    lead = n // 10 ** (digits - 3) / 1000
    return f"{lead:.2g}e+{digits}"


def duration(seconds: float) -> str:
    """Format a duration in a suitable unit, rounded.

    >>> [duration(s) for s in (0.004, 0.25, 8, 100, 7200, 1e6, 1e12)]
    ['under 0.1 s', '0.2 s', '8 s', '2 min', '2 hours', '12 days', 'over 1,000 years']
    """
    beyond, amount = _bounded_duration(seconds)
    return f"{beyond} {amount}".strip()


def duration_phrase(seconds: float, lead: str = "in about") -> str:
    """Format a duration with the words that lead to it in a sentence.

    >>> [duration_phrase(s) for s in (0.004, 8, 1e12)]
    ['in under 0.1 s', 'in about 8 s', 'in over 1,000 years']
    >>> duration_phrase(8, "within"), duration_phrase(0.004, "within")
    ('within 8 s', 'in under 0.1 s')
    """
    beyond, amount = _bounded_duration(seconds)
    return f"in {beyond} {amount}" if beyond else f"{lead} {amount}"


def _bounded_duration(seconds: float) -> tuple[Literal["", "under", "over"], str]:
    """Return a duration in a suitable unit, and whether it is under or over that."""
    if seconds < 0.1:
        return "under", "0.1 s"
    if seconds < 1:
        return "", f"{seconds:.1f} s"
    for unit, length, most in _UNITS:
        if seconds / length < most:
            n = max(1, round(seconds / length))
            return "", f"{n} {unit}" if unit in ("s", "min") else plural(n, unit)
    return "over", "1,000 years"


def format_bytes(count: float) -> str:
    """Format an amount of memory, rounded up.

    >>> [format_bytes(n) for n in (3e5, 16.2e6, 1.01e9)]
    ['1 MB', '17 MB', '1.1 GB']
    """
    if count < 1e9:
        return f"{ceil(count / 1e6)} MB"
    return f"{ceil(count / 1e8) / 10:,.1f} GB"


_UNITS = (
    ("s", 1, 90),
    ("min", 60, 90),
    ("hour", 3600, 36),
    ("day", 86400, 700),
    ("year", 365.25 * 86400, 1000),
)


def format_cost(cost: float) -> str:
    """Format a cost with three significant digits.

    >>> format_cost(2.5634), format_cost(1.0)
    ('2.56', '1')
    """
    return f"{cost:.3g}"


def join_words(words: Iterable[str], word: str = "and") -> str:
    """Join words with commas, and the last one with "and" or another word.

    >>> join_words(["age"]), join_words(["age", "job"]), join_words(["age", "job", "debt"], "or")
    ('age', 'age and job', 'age, job or debt')
    """
    *before, last = list(words) or [""]
    return f"{', '.join(before)} {word} {last}" if before else last


def join_first(words: Iterable[str], most: int = 12) -> str:
    """Join the first words with commas, and say how many more there are.

    >>> join_first("abcde", 3)
    'a, b, c and 2 more'
    """
    known = list(words)
    if len(known) <= most:
        return ", ".join(known)
    return f"{', '.join(known[:most])} and {len(known) - most:,} more"


def join_within(words: Iterable[str], room: int) -> str:
    """Join as many words as fit into the room, at least one, and say how many more there are.

    >>> join_within(["income", "late payments"], 17), join_within(["income", "debt"], 12)
    ('income and 1 more', 'income, debt')
    >>> join_within(["a name without an end", "debt"], 20)
    'a name wi… and 1 more'
    """
    known = list(words)
    whole = ", ".join(known)
    if len(whole) <= room or not known:
        return whole
    ends = accumulate(len(word) + 2 for word in known)
    fits = sum(end <= room for end in ends)
    for n in range(min(fits, len(known) - 1), 0, -1):
        text = f"{', '.join(known[:n])} and {len(known) - n:,} more"
        if len(text) <= room or n == 1:
            return text
    rest = f" and {len(known) - 1:,} more" if len(known) > 1 else ""
    return truncate(known[0], max(10, room - len(rest))) + rest


def format_features(features: Sequence[str]) -> str:
    """Format the names of a set of features; "nothing" for the empty set."""
    return ", ".join(map(format_name, features)) or "nothing"


# Excerpts of a text around marked words.


MarkedPieces = Sequence[tuple[str, bool]]
"""Consecutive pieces of a text, each with whether it is marked."""

_EXCERPT_MARGIN = 24
"""Characters kept beside a mark, at least."""


def excerpt(pieces: MarkedPieces, room: int) -> list[tuple[str, bool]]:
    """Cut pieces of a text to about `room` characters, keeping marks and text near them.

    Runs of white space become one space.

    >>> excerpt([("a " * 50, False), ("b", True), (" c" * 50, False)], 60)
    [('… a a a a a a a a a a a ', False), ('b', True), (' c c c c c c c c c c c …', False)]
    """
    flat = [(re.sub(r"\s+", " ", text), marked) for text, marked in pieces]
    if sum(len(text) for text, _ in flat) <= room:
        return flat
    if len(flat) == 1 and not flat[0][1]:  # without marks, show the beginning
        return [(_shortened(flat[0][0], room, start=True, end=False), False)]
    # Every mark gets the same room, however long the text between two of them.
    near = max(_EXCERPT_MARGIN, room // (2 * len(flat)))
    last = len(flat) - 1
    return [
        (
            _shortened(text, 3 * near if marked else near, marked or i > 0, marked or i < last),
            marked,
        )
        for i, (text, marked) in enumerate(flat)
    ]


def bracketed(pieces: MarkedPieces) -> str:
    """Join pieces into plain text, with marked ones in square brackets.

    >>> bracketed([("not ", False), ("good", True)])
    'not [good]'
    """
    return "".join(f"[{text}]" if marked else text for text, marked in pieces)


def _shortened(text: str, near: int, start: bool, end: bool) -> str:
    """Keep `near` characters at the start and at the end, for each that is True."""
    if len(text) <= near * (start + end) + 3:
        return text
    head = re.sub(r"\S*$", "", text[:near]).rstrip() or text[:near] if start else ""
    tail = re.sub(r"^\S*", "", text[-near:]).lstrip() or text[-near:] if end else ""
    return f"{head} … {tail}" if start and end else f"{head} …" if start else f"… {tail}"
