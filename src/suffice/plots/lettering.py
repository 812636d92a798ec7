"""Text in figures: fonts, width of text, line breaking, and footnotes for names that do not fit.

Characters that no installed font has are replaced by their Unicode name or number, so that a
figure has no empty boxes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from suffice.formatting import printable, truncate

_FALLBACKS = (
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Hiragino Sans",
    "PingFang SC",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Emoji",
    "Segoe UI Symbol",
    "Segoe UI Emoji",
    "Symbola",
)
_INVISIBLE = "\N{ZERO WIDTH JOINER}\N{VARIATION SELECTOR-15}\N{VARIATION SELECTOR-16}"
_LONGEST_LINE = 400
"""Most characters in a line; measuring longer lines takes long, and they fit nowhere."""
_LONGEST_NAME = 600
"""Longer names are cut, and their length is given."""


@dataclass(frozen=True)
class Fonts:
    """Font families, tried one after another until one has a character."""

    families: tuple[str, ...]

    def printable(self, words: str) -> str:
        """Replace unsafe characters, and those that no font has by their names: "[melting face]".

        >>> fonts().printable("a_1 costs $2")
        'a_1 costs $2'
        """
        words = printable(words, keep_lines=True)
        known = _characters(self.families)
        # Nearly always: the loop below costs more than drawing the text.
        if all(ord(c) in known for c in words):
            return words
        return "".join(
            c if ord(c) in known or c.isspace() else "" if c in _INVISIBLE else _by_name(c)
            for c in words
        )

    def width(self, words: str, size: float, bold: bool = False) -> float:
        """Return the width of a line in inches.

        The result is 4% too large, because letters are moved to whole pixels when drawn.
        """
        return 1.04 * _width(self.printable(words), size, bold, self.families)

    def lines(self, words: str, room: float, size: float, bold: bool = False) -> list[str]:
        """Break text into lines no wider than the room; a word that is wider is broken."""
        out: list[str] = []
        line = ""
        for word in words.split():
            longer = f"{line} {word}" if line else word
            if self._fits(longer, room, size, bold):
                line = longer
                continue
            if line:
                out.append(line)
            line = word
            while len(line) > 1 and not self._fits(line, room, size, bold):
                fits = self._that_fit(line, room, size, bold)
                # Break names such as debt_to_income after a sign between words.
                ends = max((line.rfind(sign, 0, fits) for sign in "_-/.,;"), default=-1)
                fits = ends + 1 if ends > fits // 3 else fits
                out.append(line[:fits])
                line = line[fits:]
        return [*out, line] if line else out

    def _that_fit(self, word: str, room: float, size: float, bold: bool) -> int:
        # Bisection, since the width grows with each letter.
        low, high = 1, min(len(word), _LONGEST_LINE)
        while low < high:
            middle = (low + high + 1) // 2
            fits = self._fits(word[:middle], room, size, bold)
            low, high = (middle, high) if fits else (low, middle - 1)
        return low

    def _fits(self, words: str, room: float, size: float, bold: bool) -> bool:
        return len(words) <= _LONGEST_LINE and self.width(words, size, bold) <= room


@dataclass
class Footnotes:
    """Names too long for their place: a number replaces the name, and a footnote repeats it."""

    fonts: Fonts
    full_name_hint: str = "to_json() has it in full"

    def __post_init__(self) -> None:
        self._names: dict[str, int] = {}

    def fit(
        self, name: str, room: float, size: float, most: int, bold: bool = False, brief: str = ""
    ) -> list[str]:
        """Return the name in at most `most` lines; if it needs more, its beginning and a number.

        `brief`, where given, is shown in place of the beginning.
        """
        lines = self.fonts.lines(truncate(name, _LONGEST_NAME), room, size, bold)
        if len(lines) <= most:
            return lines
        if brief:
            lines = self.fonts.lines(truncate(brief, _LONGEST_NAME), room, size, bold)
        # A name gets the same number everywhere in the figure.
        number = f"[{self._names.setdefault(name, len(self._names) + 1)}]"
        if most == 1:
            short = lines[0]
            while short and self.fonts.width(f"{short}… {number}", size, bold) > room:
                short = short[:-1]
            return [f"{short}… {number}" if len(short) > 2 else number]
        return [*lines[: most - 1], number]

    @property
    def notes(self) -> tuple[str, ...]:
        """Footnotes: each number with its name."""
        return tuple(f"[{number}] {self._whole(name)}" for name, number in self._names.items())

    def _whole(self, name: str) -> str:
        if len(name) <= _LONGEST_NAME:
            return name
        return f"{truncate(name, _LONGEST_NAME)} ({len(name):,} characters; {self.full_name_hint})"


def fonts() -> Fonts:
    """Return the user's fonts, followed by installed fallbacks for other scripts and emoji."""
    from matplotlib import rcParams
    from matplotlib.font_manager import fontManager

    # Read at each figure, since users change settings between two.
    own: Sequence[str] = rcParams["font.family"]
    installed = _installed(fontManager)
    return Fonts((*own, *(name for name in _FALLBACKS if name in installed)))


@cache
def _installed(manager: Any) -> frozenset[str]:
    return frozenset(manager.get_font_names())


@cache
def _characters(families: tuple[str, ...]) -> frozenset[int]:
    """Return the code points that at least one of the fonts has, both plain and bold."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    known: set[int] = set()
    for family in families:
        plain, bold = (
            get_font(findfont(FontProperties(family=[family], weight=weight))).get_charmap()
            for weight in ("normal", "bold")
        )
        # A character that only the plain face has would be a box in a heading.
        known |= plain.keys() & bold.keys()
    return frozenset(known)


@cache
def _width(words: str, size: float, bold: bool, families: tuple[str, ...]) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    weight = "bold" if bold else "normal"
    font = FontProperties(family=list(families), size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(words, font, False)
    # Points to inches.
    return float(width) / 72


def _by_name(character: str) -> str:
    kind = unicodedata.category(character)
    if kind == "So":
        return f"[{unicodedata.name(character, hex(ord(character))).lower()}]"
    return f"[U+{ord(printable(character)):04X}]"
