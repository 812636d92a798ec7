"""How facts are shown: shares, values, counts and names in the words everything is said in.

One way for every screen, page, error and figure. A fact stays a number, a type or a date until it
comes here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time

from suffice.typing import Scalar

__all__ = [
    "and_more",
    "columns",
    "condition",
    "count",
    "cut",
    "duration",
    "harmless",
    "large",
    "listed",
    "moved",
    "named",
    "or_none",
    "percent",
    "price",
    "show",
    "three_digits",
    "with_sign",
]

_NAME = 60
_VALUE = 200
_DIGITS = 40
_COLUMNS = 3
"""So many columns of a group are told; of a larger one only their number."""


def percent(share: float | None) -> str:
    """A share as a percentage that never rounds up to certainty; a dash where it is undefined.

    >>> percent(0.9414), percent(0.9999), percent(1.0), percent(0.0004), percent(None)
    ('94%', '>99%', '100%', '<1%', '–')
    """
    if share is None:
        return "–"
    if 0 < share < 0.005:
        return "<1%"
    if 0.995 <= share < 1:
        return ">99%"
    return f"{share:.0%}"


def three_digits(share: float | None) -> str:
    """A probability with three digits after the point, or as many as show that it is not 0 or 1.

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


def with_sign(value: float, written: Callable[[float], str] = three_digits) -> str:
    """A difference, with a plus or a true minus.

    >>> with_sign(0.25), with_sign(-0.25), with_sign(0.0), with_sign(-12.5, price)
    ('+0.250', '−0.250', '0.000', '−12.5')
    """
    return ("+" if value > 0 else "−" if value < 0 else "") + written(abs(value))


def show(value: Scalar | date | time) -> str:
    """A value as text.

    >>> show(0.6518151), show(45.0), show(None), show("own"), show(True), show("")
    ('0.6518', '45', 'missing', 'own', 'yes', '""')
    >>> show(datetime(2020, 1, 31)), show("2020-01-31T00:00:00"), show(datetime(2020, 1, 31, 9, 30))
    ('2020-01-31', '2020-01-31', '2020-01-31 09:30')
    """
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:g}"
    if isinstance(value, str):
        return cut(harmless(_short_date(value)), _VALUE) or '""'
    if isinstance(value, date | time):
        return _short_date(value.isoformat())
    return str(value) if abs(value) < 10**_DIGITS else large(value)


def _short_date(text: str) -> str:
    """A time stamp without what it does not say: midnight, and seconds that are none."""
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


def harmless(text: str) -> str:
    r"""The text without characters that would steer a terminal or turn the reading direction.

    >>> harmless("red\x1b[31m \u202etext\x00"), harmless("two\nlines")
    ('red␛[31m �text␀', 'two lines')
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_harmless(c) for c in text)


def _harmless(character: str) -> str:
    code = ord(character)
    if character in "\n\r\t\v\f\x85\u2028\u2029":
        return " "
    if code < 0x20 or code == 0x7F:
        return chr(0x2421 if code == 0x7F else 0x2400 + code)
    # Marks of direction, lone surrogates and other invisible controls; joiners stay, for emoji.
    kind = unicodedata.category(character)
    steers = kind in ("Cc", "Cs") or character in _DIRECTION
    return "\N{REPLACEMENT CHARACTER}" if steers else character


def cut(text: str, room: int) -> str:
    """The beginning of a text that is longer than there is room; "…" says so.

    >>> cut("an unusually long name", 12)
    'an unusuall…'
    """
    return text if len(text) <= room else text[: room - 1].rstrip() + "…"


def named(name: str) -> str:
    """A name as it is shown: harmless, and cut where it is very long."""
    return cut(harmless(name), _NAME)


def condition(name: str, values: Mapping[str, Scalar] | None = None) -> str:
    """A feature with its value; a group with a few of its columns; a region, which has none.

    >>> condition("age", {"age": 41}), condition("money", {"income": 3, "debt": 2})
    ('age = 41', 'money (income = 3, debt = 2)')
    >>> condition("income + debt", {"income": 3, "debt": 2})
    'income = 3 + debt = 2'
    """
    if not values:
        return named(name)
    if len(values) == 1 and name in values:
        return f"{named(name)} = {show(values[name])}"
    if name == " + ".join(values):  # joined for going together, and so named
        return " + ".join(condition(c, {c: v}) for c, v in values.items())
    return f"{named(name)} ({columns(values)})"


def columns(values: Mapping[str, Scalar]) -> str:
    """A few columns with their values; of many only how many there are.

    >>> columns({"income": 3, "debt": 2}), columns(dict.fromkeys("abcd"))
    ('income = 3, debt = 2', '4 columns')
    """
    if len(values) > _COLUMNS:
        return count(len(values), "column")
    return ", ".join(condition(c, {c: v}) for c, v in values.items())


def moved(name: str, old: Mapping[str, Scalar], new: Mapping[str, Scalar]) -> str:
    """The columns of a feature that a change really moves; "" where it moves none.

    >>> moved("age", {"age": 41}, {"age": 50}), moved("age", {"age": 41}, {"age": 41})
    ('age 41 → 50', '')
    """
    really = [c for c in old if new[c] != old[c] or type(new[c]) is not type(old[c])]
    if len(old) > _COLUMNS and really:
        return f"{named(name)} ({count(len(really), 'column')})"
    return ", ".join(f"{named(c)} {show(old[c])} → {show(new[c])}" for c in really)


_DIRECTION = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def count(n: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "reference"), count(1200, "reference")
    ('1 reference', '1,200 references')
    """
    return f"{large(n)} {noun}" + ("" if n == 1 else "s")


def or_none(n: int) -> str:
    """How many of some things.

    >>> or_none(0), or_none(1200)
    ('none', '1,200')
    """
    return large(n) if n else "none"


def large(n: int) -> str:
    """A whole number of any size.

    >>> large(1200), large(2**40), large(2**2000), large(-(2**40))
    ('1,200', '1.1e+12', '1.1e+602', '-1.1e+12')
    """
    if n < 0:
        return f"-{large(-n)}"
    if n < 10**12:
        return f"{n:,}"
    digits = len(str(n)) - 1 if n < 10**300 else int((n.bit_length() - 1) * 0.30102999566398)
    while 10 ** (digits + 1) <= n:
        digits += 1
    lead = n // 10 ** (digits - 3) / 1000
    return f"{lead:.2g}e+{digits}"


def duration(seconds: float) -> str:
    """About how long, in a unit that one can picture.

    >>> [duration(s) for s in (0.004, 0.25, 8, 100, 7200, 1e6, 1e12)]
    ['under 0.1 s', '0.2 s', '8 s', '2 min', '2 hours', '12 days', 'over 1,000 years']
    """
    if seconds < 0.1:
        return "under 0.1 s"
    if seconds < 1:
        return f"{seconds:.1f} s"
    for unit, length, most in _UNITS:
        if seconds / length < most:
            n = max(1, round(seconds / length))
            return f"{n} {unit}" if unit in ("s", "min") else count(n, unit)
    return "over 1,000 years"


_UNITS = (
    ("s", 1, 90),
    ("min", 60, 90),
    ("hour", 3600, 36),
    ("day", 86400, 700),
    ("year", 365.25 * 86400, 1000),
)


def price(cost: float) -> str:
    """What a change costs, in three figures.

    >>> price(2.5634), price(1.0)
    ('2.56', '1')
    """
    return f"{cost:.3g}"


def listed(words: Iterable[str], word: str = "and") -> str:
    """Words in a row.

    >>> listed(["age"]), listed(["age", "job"]), listed(["age", "job", "debt"], "or")
    ('age', 'age and job', 'age, job or debt')
    """
    *before, last = list(words) or [""]
    return f"{', '.join(before)} {word} {last}" if before else last


def and_more(words: Iterable[str], most: int = 12) -> str:
    """The first few of many words, and how many more there are.

    >>> and_more("abcde", 3)
    'a, b, c and 2 more'
    """
    known = list(words)
    if len(known) <= most:
        return ", ".join(known)
    return f"{', '.join(known[:most])} and {len(known) - most:,} more"
