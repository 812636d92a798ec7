"""A rule written as text, "age > 30 and job = clerk", read as a factor on the columns of a table.

Nothing is evaluated: the text is read word by word. The table is known, so names of columns and
values need no quotes even where they have spaces in them: the longest that fits is taken. What
`in_words` writes is read back, and so is what anchor-exp, alibi and LIME call their conditions.

    rule      := all ("or" all)*
    all       := one ("and" one)*                              also & and |
    one       := "not" one | "(" rule ")" | condition
    condition := column sign value | value sign column [sign value] | column ["not"] "in" {a, b}
               | column "between" low "and" high | column "is" ["not"] "missing"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any, NamedTuple

from suffice.errors import InputError, did_you_mean
from suffice.factors.kinds import Factor
from suffice.factors.predicates import compare, equals, isin
from suffice.tables import Table, plain
from suffice.typing import Scalar
from suffice.wording import show

__all__ = ["Labels", "condition_column", "read_rule"]

Labels = Mapping[str, Mapping[Any, str] | Sequence[str]]
"""By column, what its values are called elsewhere: {value: name}, or names of 0, 1, 2, …"""

_SIGNS = ("<=", ">=", "!=", "<>", "==", "≤", "≥", "≠", "<", ">", "=")
_PLAIN = {"≤": "<=", "≥": ">=", "≠": "!=", "<>": "!=", "==": "="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?\d*|\.\d+)([eE][-+]?\d+)?")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|`([^`]*)`")
_BARE = re.compile(r"[^\s<>=!≤≥≠(){}\[\],&|]+")
_TRUTHS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_DEEPEST = 50


def read_rule(
    text: str, data: Table, labels: Labels | None = None, argument: str = "rule"
) -> Factor | None:
    """The factor that a text means; None for the empty rule, "always".

    A number is taken as it is written. Where a column has to *equal* one that it never has, the
    only value that rounds to it is meant: other tools write few digits.

    >>> from suffice.tables import as_table
    >>> import pandas as pd
    >>> people = as_table(pd.DataFrame({"age": [20, 35], "job kind": ["clerk", "head clerk"]}))
    >>> read_rule("20 < age <= 40 and job kind = head clerk", people)
    compare('age', '>', 20) & compare('age', '<=', 40) & equals('job kind', 'head clerk')
    >>> read_rule("age > 30 and jbo kind = clerk", people)
    Traceback (most recent call last):
    suffice.errors.InputError: rule: got 'age > 30 and jbo kind = clerk', at “jbo kind = clerk”; allowed: a condition on a column, such as 'age > 20'. Did you mean 'job kind'?
    """  # noqa: E501 - the message as it is printed
    if text.strip().lower() == "always":
        return None
    reader = _Reader(text, data, labels or {}, argument)
    found = reader.either()
    if not reader.ended:
        raise reader.error("'and', 'or', or the end")
    return found


def condition_column(text: str, data: Table, argument: str = "rule") -> str:
    """The column that one condition is about, whatever is asked of it.

    >>> from suffice.tables import as_table
    >>> people = as_table([[20, 1]], names=["age", "job"])
    >>> condition_column("30.00 < age <= 40.00", people), condition_column("job=clerk", people)
    ('age', 'job')
    """
    if text in data.names:
        return text
    reader = _Reader(text, data, {}, argument)
    column = reader.column()
    if column is None and reader.literal() is not None and reader.sign():
        column = reader.column()
    if column is None:
        reader.at = 0
        raise reader.error("the name of a column", did_you_mean(text, data.names))
    return column


class _Literal(NamedTuple):
    text: str
    quoted: bool
    at: int
    """Where it stands, for an error to point at."""


class _Reader:
    """Reads from the left; `at` is how far it came."""

    def __init__(self, text: str, data: Table, labels: Labels, argument: str) -> None:
        self._text, self._data, self._labels, self._argument = text, data, labels, argument
        self.at = 0
        self._depth = 0
        self._longest_first = sorted(data.names, key=len, reverse=True)
        self._known: dict[str, list[Scalar]] = {}

    # -- the grammar ----------------------------------------------------------------------

    def either(self) -> Factor:
        """Some conditions, one of which is enough."""
        return self._joined(self._all, ("or", "||", "|"), or_)

    def _all(self) -> Factor:
        return self._joined(self._one, ("and", "&&", "&", ","), and_)

    def _joined(
        self, part: Callable[[], Factor], words: Sequence[str], by: Callable[[Any, Any], Factor]
    ) -> Factor:
        parts = [part()]
        while self._word(*words):
            parts.append(part())
        return reduce(by, parts)

    def _one(self) -> Factor:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self.error(f"at most {_DEEPEST} brackets in each other")
        try:
            before = self.at
            column = self.column()
            if column is not None:
                return self._about(column)
            self.at = before
            if self._word("not", "~"):
                return ~self._one()
            if self._word("("):
                inner = self.either()
                self._must(")")
                return inner
            return self._value_first()
        finally:
            self._depth -= 1

    def _about(self, column: str) -> Factor:
        """column sign value, and what else may follow a column."""
        if self._word("is not missing"):
            return ~equals(column, None)
        if self._word("is missing"):
            return equals(column, None)
        if self._word("not in"):
            return ~self._among(column)
        if self._word("in"):
            return self._among(column)
        if self._word("between"):
            low = self._value(column)
            self._must("and")
            return self._compared(column, ">=", low) & self._compared(
                column, "<=", self._value(column)
            )
        sign = self.sign()
        if sign is None:
            raise self.error(f"=, <, <=, >, >=, != or 'in' after {column!r}")
        return self._compared(column, sign, self._value(column))

    def _value_first(self) -> Factor:
        """value sign column, and perhaps sign value: 30 < age <= 40."""
        start = self.at
        low = self.literal()
        turned = self.sign() if low is not None else None
        column = self.column() if turned is not None else None
        if low is None or turned is None or column is None:
            named = low is not None and _number(low.text) is None
            self.at = start if column is None and (turned is None or named) else self.at
            example = f"'{self._data.names[0]} > 20'"
            near = did_you_mean(self._beginning, self._data.names)
            raise self.error(f"a condition on a column, such as {example}", near)
        first = self._compared(column, _TURNED[turned], low)
        sign = self.sign()
        if sign is None:
            return first
        return first & self._compared(column, sign, self._value(column))

    def _among(self, column: str) -> Factor:
        closing = next((c for o, c in ("{}", "[]", "()") if self._word(o)), None)
        if closing is None:
            raise self.error("values in braces, such as {a, b}")
        found = [self._value(column)]
        while self._word(","):
            found.append(self._value(column))
        self._must(closing)
        return isin(column, [self._bound(column, literal) for literal in found])

    # -- words ----------------------------------------------------------------------------

    def column(self) -> str | None:
        """The longest name of a column that stands here, in quotes or without."""
        self._skip()
        quoted = _QUOTED.match(self._text, self.at)
        if quoted is not None and _inside(quoted) in self._data.names:
            end = quoted.end()
            if self._rest(end).startswith((*_SIGNS, "in", "not", "is", "between")):
                self.at = end
                return _inside(quoted)
        for name in self._longest_first:
            if name and self._stands(name):
                self.at += len(name)
                return name
        return None

    def sign(self) -> str | None:
        """<, <=, >, >=, = or !=, however it is written."""
        found = next((sign for sign in _SIGNS if self._word(sign)), None)
        return None if found is None else _PLAIN.get(found, found)

    def literal(self) -> _Literal | None:
        """A number, a quoted text, or a bare word."""
        self._skip()
        start = self.at
        quoted = _QUOTED.match(self._text, start)
        if quoted is not None:
            self.at = quoted.end()
            return _Literal(_inside(quoted), True, start)
        for pattern in (_NUMBER, _BARE):
            found = pattern.match(self._text, start)
            if found is None or not self._ends(found.end()):
                continue
            if found.group().lower() not in _JOINS:
                self.at = found.end()
                return _Literal(found.group(), False, start)
        return None

    def _value(self, column: str) -> _Literal:
        """A value of this column: the longest known one that stands here, or any other."""
        self._skip()
        start = self.at
        for name in self._shown(column):
            if self._stands(name) and self._ends(start + len(name)):
                self.at += len(name)
                return _Literal(name, False, start)
        found = self.literal()
        if found is None:
            raise self.error(f"a value for {column!r}")
        if not found.quoted and not _NUMBER.fullmatch(found.text):
            # Words that belong together, of a value that the column does not have.
            while not self.ended and not self._rest(self.at).startswith(_AFTER):
                more = self.literal()
                if more is None:
                    break
            return _Literal(self._text[start : self.at].strip(), False, start)
        return found

    def _word(self, *words: str) -> bool:
        self._skip()
        for word in words:
            if self._stands(word, fold=True):
                self.at += len(word)
                return True
        return False

    def _must(self, word: str) -> None:
        if not self._word(word):
            raise self.error(f"{word!r} here")

    def _stands(self, word: str, fold: bool = False) -> bool:
        here = self._text[self.at : self.at + len(word)]
        if here != word and not (fold and here.lower() == word):
            return False
        end = self.at + len(word)
        inside = _letter(word[-1]) and end < len(self._text) and _letter(self._text[end])
        return not inside

    def _ends(self, end: int) -> bool:
        rest = self._rest(end)
        return not rest or rest[0] in "<>=!≤≥≠(){}[],&|" or self._text[end].isspace()

    def _rest(self, at: int) -> str:
        return self._text[at:].lstrip().lower()

    def _skip(self) -> None:
        while self.at < len(self._text) and self._text[self.at].isspace():
            self.at += 1

    @property
    def ended(self) -> bool:
        """Is nothing left to read?"""
        return not self._text[self.at :].strip()

    @property
    def _beginning(self) -> str:
        """What stands before the next sign."""
        return re.split(r"[<>=!≤≥≠(){}\[\],&|]", self._text[self.at :])[0].strip()

    def error(self, allowed: str, hint: str = "") -> InputError:
        """What was expected, and where."""
        rest = " ".join(self._text[self.at :].split())
        shown = rest if len(rest) <= 40 else rest[:39] + "…"
        where = f"at “{shown}”" if shown else "at its end"
        text = " ".join(self._text.split())
        told = text if len(text) <= 120 else text[:119] + "…"
        return InputError(self._argument, f"{told!r}, {where}", allowed, hint)

    # -- values ---------------------------------------------------------------------------

    def _compared(self, column: str, sign: str, literal: _Literal) -> Factor:
        if sign in ("=", "!="):
            value = self._bound(column, literal)
            return equals(column, value) if sign == "=" else compare(column, "!=", value)
        number = None if literal.quoted else _number(literal.text)
        numbers = [isinstance(v, int | float) for v in self._values(column) if v is not None]
        if number is None and numbers and all(numbers):
            self.at = literal.at
            raise self.error(f"a number after {column!r} {sign}")
        return compare(column, sign, literal.text if number is None else number)

    def _bound(self, column: str, literal: _Literal) -> Scalar:
        """The column's own value that a text stands for."""
        named = self._labelled(column)
        if literal.text in named:
            return named[literal.text]
        known = self._values(column)
        if literal.text in known:
            return literal.text
        if not literal.quoted and literal.text.lower() == "missing" and None in known:
            return None
        if any(isinstance(value, bool) for value in known) and literal.text.lower() in _TRUTHS:
            return _TRUTHS[literal.text.lower()]
        number = _number(literal.text)
        meant = [] if number is None else _rounds_to(literal.text, number, known)
        same = [v for v in known if isinstance(v, str) and v.lower() == literal.text.lower()]
        if len(meant or same) == 1:
            return (meant or same)[0]
        self.at = literal.at
        if len(meant) > 1:
            raise self.error(f"more digits: {', '.join(map(show, meant[:4]))} are all written so")
        near = did_you_mean(literal.text, [*named, *(show(v) for v in known)])
        raise self.error(f"a value that {column!r} has in the data", near)

    def _values(self, column: str) -> list[Scalar]:
        """The values that a column has, each once."""
        if column not in self._known:
            from pandas import unique

            cells = self._data.column(self._data.names.index(column))
            self._known[column] = list(dict.fromkeys(map(plain, unique(cells))))
        return self._known[column]

    def _labelled(self, column: str) -> dict[str, Scalar]:
        given = self._labels.get(column, {})
        pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
        return {str(name): plain(value) for value, name in pairs}

    def _shown(self, column: str) -> list[str]:
        """What may stand for a value of several words, the longest first."""
        texts = [value for value in self._values(column) if isinstance(value, str)]
        return sorted({*texts, *self._labelled(column)} - {""}, key=lambda t: (-len(t), t))


_JOINS = ("and", "or", "not")
_AFTER = ("and ", "or ", "&", "|", ",", ")", "]", "}")


def _letter(character: str) -> bool:
    return character.isalnum() or character == "_"


def _inside(quoted: re.Match[str]) -> str:
    found = next(group for group in quoted.groups() if group is not None)
    return re.sub(r"\\(.)", r"\1", found)


def _number(text: str) -> float | int | None:
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return int(text)
    except ValueError:
        return float(text)


def _rounds_to(text: str, number: float, known: Sequence[Scalar]) -> list[Scalar]:
    """The numbers that are written so: equal, or, where none is, equal when rounded as it is."""
    numbers = [v for v in known if isinstance(v, int | float) and not isinstance(v, bool)]
    same = [value for value in numbers if value == number]
    if same:
        return list(same)
    _, _, decimals = text.lower().partition(".")
    digits = len(decimals)
    rounded = [v for v in numbers if round(v, digits) == number or f"{v:g}" == text]
    return list(rounded)
