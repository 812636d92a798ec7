"""Rules as text: parses "age > 30 and job = clerk" as a factor, and formats factors.

The text is parsed word by word and never evaluated. Since the table is known, names of columns and
values need no quotes even if they contain spaces: the longest name that fits is taken. The parser
reads what `format_rule` writes, and the conditions of anchor-exp, alibi and LIME.

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
from suffice.factors.predicates import (
    And,
    Auxiliary,
    Between,
    Compare,
    Equals,
    Factor,
    Held,
    IsIn,
    Not,
    Or,
    compare,
    equals,
    isin,
)
from suffice.formatting import format_value, join_words, printable
from suffice.tables import Table, as_scalar
from suffice.typing import Scalar

ValueNames = Mapping[str, Mapping[Any, str] | Sequence[str]]
"""Names that a tool gives to the values of a column: {value: name}, or names of 0, 1, 2, …"""

_SIGN_TOKENS = ("<=", ">=", "!=", "<>", "==", "≤", "≥", "≠", "<", ">", "=")
_SIGN_ALIASES = {"≤": "<=", "≥": ">=", "≠": "!=", "<>": "!=", "==": "="}
_REVERSED_SIGNS = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?\d*|\.\d+)([eE][-+]?\d+)?")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|`([^`]*)`")
_BARE = re.compile(r"[^\s<>=!≤≥≠(){}\[\],&|]+")
_BOOLEAN_WORDS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_MAX_DEPTH = 50


def parse_rule(
    text: str, data: Table, labels: ValueNames | None = None, argument: str = "rule"
) -> Factor | None:
    """Parse a rule into a factor; None for the empty rule, "always".

    A number is taken as it is written. If a column must *equal* a number that it never has, the one
    value that rounds to it is taken, since other tools write few digits.

    >>> from suffice.tables import as_table
    >>> import pandas as pd
    >>> people = as_table(pd.DataFrame({"age": [20, 35], "job kind": ["clerk", "head clerk"]}))
    >>> parse_rule("20 < age <= 40 and job kind = head clerk", people)
    compare('age', '>', 20) & compare('age', '<=', 40) & equals('job kind', 'head clerk')
    >>> parse_rule("age > 30 and jbo kind = clerk", people)
    Traceback (most recent call last):
    suffice.errors.InputError: rule: got 'age > 30 and jbo kind = clerk', at “jbo kind = clerk”; allowed: a condition on a column, such as 'age > 20'. Did you mean 'job kind'?
    """  # noqa: E501 - the message as it is printed
    if text.strip().lower() == "always":
        return None
    reader = _RuleParser(text, data, labels or {}, argument)
    found = reader.either()
    if not reader.ended:
        raise reader.error("'and', 'or', or the end")
    return found


def condition_column(text: str, data: Table, argument: str = "rule") -> str:
    """Return the column of a text with one condition.

    >>> from suffice.tables import as_table
    >>> people = as_table([[20, 1]], names=["age", "job"])
    >>> condition_column("30.00 < age <= 40.00", people), condition_column("job=clerk", people)
    ('age', 'job')
    """
    if text in data.names:
        return text
    reader = _RuleParser(text, data, {}, argument)
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
    """Position in the text, for errors."""


class _RuleParser:
    """Recursive descent parser of rules."""

    def __init__(self, text: str, data: Table, labels: ValueNames, argument: str) -> None:
        self._text, self._data, self._labels, self._argument = text, data, labels, argument
        self.at = 0
        self._depth = 0
        self._longest_first = sorted(data.names, key=len, reverse=True)
        self._known: dict[str, list[Scalar]] = {}

    # -- the grammar ----------------------------------------------------------------------

    def either(self) -> Factor:
        """Parse conditions joined by "or"."""
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
        if self._depth > _MAX_DEPTH:
            raise self.error(f"at most {_MAX_DEPTH} brackets in each other")
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
        """Parse what follows a column: "sign value", "between", "in" or "is"."""
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
        """Parse "value sign column" and perhaps a second "sign value": 30 < age <= 40."""
        start = self.at
        low = self.literal()
        turned = self.sign() if low is not None else None
        column = self.column() if turned is not None else None
        if low is None or turned is None or column is None:
            named = low is not None and _parse_number(low.text) is None
            self.at = start if column is None and (turned is None or named) else self.at
            example = f"'{self._data.names[0]} > 20'"
            near = did_you_mean(self._beginning, self._data.names)
            raise self.error(f"a condition on a column, such as {example}", near)
        first = self._compared(column, _REVERSED_SIGNS[turned], low)
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
        """Read the longest column name at the position, quoted or not."""
        self._skip()
        quoted = _QUOTED.match(self._text, self.at)
        if quoted is not None and _unquote(quoted) in self._data.names:
            end = quoted.end()
            if self._rest(end).startswith((*_SIGN_TOKENS, "in", "not", "is", "between")):
                self.at = end
                return _unquote(quoted)
        for name in self._longest_first:
            if name and self._stands(name):
                self.at += len(name)
                return name
        return None

    def sign(self) -> str | None:
        """Read <, <=, >, >=, = or !=, in any spelling."""
        found = next((sign for sign in _SIGN_TOKENS if self._word(sign)), None)
        return None if found is None else _SIGN_ALIASES.get(found, found)

    def literal(self) -> _Literal | None:
        """Read a number, a quoted text or a bare word."""
        self._skip()
        start = self.at
        quoted = _QUOTED.match(self._text, start)
        if quoted is not None:
            self.at = quoted.end()
            return _Literal(_unquote(quoted), True, start)
        for pattern in (_NUMBER, _BARE):
            found = pattern.match(self._text, start)
            if found is None or not self._ends(found.end()):
                continue
            if found.group().lower() not in _CONNECTIVES:
                self.at = found.end()
                return _Literal(found.group(), False, start)
        return None

    def _value(self, column: str) -> _Literal:
        """Read a value of a column: the longest known one at the position, or any other."""
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
            # A value of several words that the column does not have: the error names all of them.
            while not self.ended and not self._rest(self.at).startswith(_VALUE_ENDS):
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
        """Return whether a word is next, and not only the start of a longer one."""
        here = self._text[self.at : self.at + len(word)]
        if here != word and not (fold and here.lower() == word):
            return False
        end = self.at + len(word)
        inside = (
            _is_word_character(word[-1])
            and end < len(self._text)
            and _is_word_character(self._text[end])
        )
        return not inside

    def _ends(self, end: int) -> bool:
        """Return whether a value can end at this position: at a space, a sign or a bracket."""
        rest = self._rest(end)
        return not rest or rest[0] in "<>=!≤≥≠(){}[],&|" or self._text[end].isspace()

    def _rest(self, at: int) -> str:
        return self._text[at:].lstrip().lower()

    def _skip(self) -> None:
        while self.at < len(self._text) and self._text[self.at].isspace():
            self.at += 1

    @property
    def ended(self) -> bool:
        """Return whether nothing is left to read."""
        return not self._text[self.at :].strip()

    @property
    def _beginning(self) -> str:
        """Return the text before the next sign."""
        return re.split(r"[<>=!≤≥≠(){}\[\],&|]", self._text[self.at :])[0].strip()

    def error(self, allowed: str, hint: str = "") -> InputError:
        """Return the error that names what was expected, and where."""
        rest = " ".join(self._text[self.at :].split())
        shown = rest if len(rest) <= 40 else rest[:39] + "…"
        where = f"at “{shown}”" if shown else "at its end"
        text = " ".join(self._text.split())
        rule = text if len(text) <= 120 else text[:119] + "…"
        return InputError(self._argument, f"{rule!r}, {where}", allowed, hint)

    # -- values ---------------------------------------------------------------------------

    def _compared(self, column: str, sign: str, literal: _Literal) -> Factor:
        if sign in ("=", "!="):
            value = self._bound(column, literal)
            return equals(column, value) if sign == "=" else compare(column, "!=", value)
        number = None if literal.quoted else _parse_number(literal.text)
        numbers = [isinstance(v, int | float) for v in self._values(column) if v is not None]
        if number is None and numbers and all(numbers):
            self.at = literal.at
            raise self.error(f"a number after {column!r} {sign}")
        return compare(column, sign, literal.text if number is None else number)

    def _bound(self, column: str, literal: _Literal) -> Scalar:
        """Return the column's value that a literal means."""
        named = self._labelled(column)
        if literal.text in named:
            return named[literal.text]
        known = self._values(column)
        if literal.text in known:
            return literal.text
        if not literal.quoted and literal.text.lower() == "missing" and None in known:
            return None
        if (
            any(isinstance(value, bool) for value in known)
            and literal.text.lower() in _BOOLEAN_WORDS
        ):
            return _BOOLEAN_WORDS[literal.text.lower()]
        number = _parse_number(literal.text)
        meant = [] if number is None else _values_written_as(literal.text, number, known)
        same = [v for v in known if isinstance(v, str) and v.lower() == literal.text.lower()]
        if len(meant or same) == 1:
            return (meant or same)[0]
        self.at = literal.at
        if len(meant) > 1:
            raise self.error(
                f"more digits: {', '.join(map(format_value, meant[:4]))} are all written so"
            )
        near = did_you_mean(literal.text, [*named, *(format_value(v) for v in known)])
        raise self.error(f"a value that {column!r} has in the data", near)

    def _values(self, column: str) -> list[Scalar]:
        """Return the distinct values of a column."""
        if column not in self._known:
            from pandas import unique

            cells = self._data.column(self._data.names.index(column))
            self._known[column] = list(dict.fromkeys(map(as_scalar, unique(cells))))
        return self._known[column]

    def _labelled(self, column: str) -> dict[str, Scalar]:
        given = self._labels.get(column, {})
        pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
        return {str(name): as_scalar(value) for value, name in pairs}

    def _shown(self, column: str) -> list[str]:
        """Return the texts of values of several words, longest first."""
        texts = [value for value in self._values(column) if isinstance(value, str)]
        return sorted({*texts, *self._labelled(column)} - {""}, key=lambda t: (-len(t), t))


_CONNECTIVES = ("and", "or", "not")
_VALUE_ENDS = ("and ", "or ", "&", "|", ",", ")", "]", "}")


def _is_word_character(character: str) -> bool:
    return character.isalnum() or character == "_"


def _unquote(quoted: re.Match[str]) -> str:
    found = next(group for group in quoted.groups() if group is not None)
    return re.sub(r"\\(.)", r"\1", found)


def _parse_number(text: str) -> float | int | None:
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return int(text)
    except ValueError:
        return float(text)


def _values_written_as(text: str, number: float, known: Sequence[Scalar]) -> list[Scalar]:
    """Return the known numbers equal to a written one, or else equal after rounding."""
    numbers = [v for v in known if isinstance(v, int | float) and not isinstance(v, bool)]
    same = [value for value in numbers if value == number]
    if same:
        return list(same)
    _, _, decimals = text.lower().partition(".")
    digits = len(decimals)
    rounded = [v for v in numbers if round(v, digits) == number or f"{v:g}" == text]
    return list(rounded)


# Factors as text, such as "30 < age ≤ 45 and home = rents".


_SIGN_SYMBOLS = {"<=": "≤", ">=": "≥", "!=": "≠"}
_REVERSED_SYMBOLS = {">": "<", ">=": "≤"}


def format_rule(factor: Factor | None) -> str:
    """Format a factor as a rule; None, the empty rule, as "always".

    >>> from suffice import compare, equals, held
    >>> format_rule(compare("age", ">", 30) & equals("home", "rents") & compare("age", "<=", 45))
    '30 < age ≤ 45 and home = rents'
    >>> format_rule(equals("guarantor", False) & compare("rate", "<=", 0.123456789))
    'guarantor = no and rate ≤ 0.123456789'
    >>> format_rule(held("age", "job"))
    'exactly age and job held'
    """
    if factor is None:
        return "always"
    if isinstance(factor, And):
        return " and ".join(_format_parts(list(factor.parts)))
    return _format_part(factor)


def _format_parts(parts: list[Factor]) -> list[str]:
    """Format the parts of a conjunction, joining two bounds of one column at the first."""
    out = []
    while parts:
        first = parts.pop(0)
        other = next((p for p in parts if _is_interval(first, p) or _is_interval(p, first)), None)
        if other is None:
            out.append(
                f"({_format_part(first)})" if isinstance(first, And | Or) else _format_part(first)
            )
            continue
        parts.remove(other)
        low, high = (first, other) if _is_interval(first, other) else (other, first)
        assert isinstance(low, Compare) and isinstance(high, Compare)
        out.append(
            f"{_format_value(low.value)} {_REVERSED_SYMBOLS[low.relation]} {_format_part(high)}"
        )
    return out


def _is_interval(low: Factor, high: Factor) -> bool:
    return (
        isinstance(low, Compare)
        and isinstance(high, Compare)
        and low.column == high.column
        and low.relation in (">", ">=")
        and high.relation in ("<", "<=")
    )


def _format_part(factor: Factor) -> str:
    match factor:
        case Equals(column, None):
            return f"{printable(column)} is missing"
        case Equals(column, value):
            return f"{printable(column)} = {_format_value(value)}"
        case Compare(column, relation, value):
            return (
                f"{printable(column)} {_SIGN_SYMBOLS.get(relation, relation)} "
                f"{_format_value(value)}"
            )
        case IsIn(column, values):
            return f"{printable(column)} in {{{', '.join(map(_format_value, values))}}}"
        case Between(column, low, high):
            return f"{_format_value(low)} ≤ {printable(column)} ≤ {_format_value(high)}"
        case Or(parts):
            return " or ".join(_format_grouped(part) for part in parts)
        case Not(part):
            return f"not ({format_rule(part)})"
        case And():
            return format_rule(factor)
        case Auxiliary(name):
            return printable(name)
        case Held(players):
            return (
                f"exactly {join_words(map(printable, players))} held" if players else "nothing held"
            )
        case _:
            return repr(factor)


def _format_grouped(factor: Factor) -> str:
    return f"({format_rule(factor)})" if isinstance(factor, And) else _format_part(factor)


def _format_value(value: Scalar) -> str:
    """Format a value for a rule: numbers with all digits, since they are bounds."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else format_value(value)
