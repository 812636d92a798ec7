"""Words in a picture: shown as they are written, in lines that fit, and never cut in silence.

A `$` or a `_` of the user's is a character and no formula. Characters that no font here has are
told by their name or their number, so that a picture has no empty boxes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from suffice.wording import cut, harmless

__all__ = ["Fonts", "Legend", "fonts"]

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
_JOINS = "\N{ZERO WIDTH JOINER}\N{VARIATION SELECTOR-15}\N{VARIATION SELECTOR-16}"
_LINE = 400
"""Letters that a line has at the most."""
_LONGEST = 600
"""Of a longer name the beginning is shown, and how long it is."""


@dataclass(frozen=True)
class Fonts:
    """The fonts that a picture is lettered with, one after another until one has the character."""

    families: tuple[str, ...]

    def told(self, words: str) -> str:
        """The words with what no font has by name: "mood [melting face]".

        >>> fonts().told("a_1 costs $2")
        'a_1 costs $2'
        """
        known = _characters(self.families)
        if all(ord(c) in known for c in words):
            return words
        return "".join(
            c if ord(c) in known or c.isspace() else "" if c in _JOINS else _by_name(c)
            for c in words
        )

    def width(self, words: str, size: float, bold: bool = False) -> float:
        """How wide a line is, in inches: a little more, since letters are fitted to pixels."""
        return 1.04 * _width(self.told(words), size, bold, self.families)

    def lines(self, words: str, room: float, size: float, bold: bool = False) -> list[str]:
        """The words in lines no wider than the room; a word that is wider is broken."""
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
                # A name such as debt_to_income is best broken where its words end.
                ends = max((line.rfind(sign, 0, fits) for sign in "_-/.,;"), default=-1)
                fits = ends + 1 if ends > fits // 3 else fits
                out.append(line[:fits])
                line = line[fits:]
        return [*out, line] if line else out

    def _that_fit(self, word: str, room: float, size: float, bold: bool) -> int:
        low, high = 1, min(len(word), _LINE)
        while low < high:
            middle = (low + high + 1) // 2
            fits = self._fits(word[:middle], room, size, bold)
            low, high = (middle, high) if fits else (low, middle - 1)
        return low

    def _fits(self, words: str, room: float, size: float, bold: bool) -> bool:
        # Thousands of letters take long to measure, and fit nowhere.
        return len(words) <= _LINE and self.width(words, size, bold) <= room


@dataclass
class Legend:
    """Names too long for their place: there a number stands, and beneath the picture the name."""

    fonts: Fonts
    where: str = "to_json() has it in full"

    def __post_init__(self) -> None:
        self._names: dict[str, int] = {}

    def fitted(
        self, name: str, room: float, size: float, most: int, bold: bool = False, brief: str = ""
    ) -> list[str]:
        """The name in at most so many lines; where it needs more, its beginning and a number.

        `brief` stands for the beginning where the beginning says little.
        """
        # What would take more than these letters fills any room.
        lines = self.fonts.lines(cut(name, _LONGEST), room, size, bold)
        if len(lines) <= most:
            return lines
        if brief:
            lines = self.fonts.lines(cut(brief, _LONGEST), room, size, bold)
        number = f"[{self._names.setdefault(name, len(self._names) + 1)}]"
        if most == 1:
            short = lines[0]
            while short and self.fonts.width(f"{short}… {number}", size, bold) > room:
                short = short[:-1]
            return [f"{short}… {number}" if len(short) > 2 else number]
        return [*lines[: most - 1], number]

    @property
    def told(self) -> tuple[str, ...]:
        """Each number with its name."""
        return tuple(f"[{number}] {self._whole(name)}" for name, number in self._names.items())

    def _whole(self, name: str) -> str:
        if len(name) <= _LONGEST:
            return name
        return f"{cut(name, _LONGEST)} ({len(name):,} characters; {self.where})"


def fonts() -> Fonts:
    """The user's fonts, and behind them those that have what these lack."""
    from matplotlib import rcParams
    from matplotlib.font_manager import fontManager

    own: Sequence[str] = rcParams["font.family"]
    installed = _installed(fontManager)
    return Fonts((*own, *(name for name in _FALLBACKS if name in installed)))


@cache
def _installed(manager: Any) -> frozenset[str]:
    return frozenset(manager.get_font_names())


@cache
def _characters(families: tuple[str, ...]) -> frozenset[int]:
    """Every character that one of the fonts has, plain and bold."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    known: set[int] = set()
    for family in families:
        plain, bold = (
            get_font(findfont(FontProperties(family=[family], weight=weight))).get_charmap()
            for weight in ("normal", "bold")
        )
        known |= plain.keys() & bold.keys()
    return frozenset(known)


@cache
def _width(words: str, size: float, bold: bool, families: tuple[str, ...]) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    weight = "bold" if bold else "normal"
    font = FontProperties(family=list(families), size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(words, font, False)
    return float(width) / 72


def _by_name(character: str) -> str:
    kind = unicodedata.category(character)
    if kind == "So":
        return f"[{unicodedata.name(character, hex(ord(character))).lower()}]"
    return f"[U+{ord(harmless(character)):04X}]"
