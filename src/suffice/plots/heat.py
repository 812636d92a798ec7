"""Interactions of two features as a heat map: what they add together beyond what they add apart."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.encodings.attribution import ShapleyInteractions
from suffice.plots.canvas import Canvas
from suffice.plots.lettering import Legend
from suffice.wording import count, harmless

__all__ = ["Heat", "draw_heat", "heat_of"]

_EDGE, _CELL, _LABELS = 0.18, 0.62, 1.9
_TALL = 1.3


@dataclass(frozen=True)
class Heat:
    """A square of amounts, symmetric; its diagonal is empty."""

    title: str
    lead: tuple[str, ...]
    names: tuple[str, ...]
    amounts: tuple[tuple[float | None, ...], ...]
    more: str
    notes: tuple[str, ...]

    @property
    def size(self) -> tuple[float, float]:
        """Of a figure of its own, in inches; it is as high as it needs."""
        return max(6.0, 2 * _EDGE + _LABELS + _CELL * len(self.names)), 5.0


def heat_of(result: ShapleyInteractions, most: int = 20) -> Heat:
    """The facts: the features with the strongest interactions, in their own order."""
    names = result.features
    strongest = dict.fromkeys(names, 0.0)
    for pair, amount in result.items():
        for name in pair:
            strongest[name] = max(strongest[name], abs(amount))
    kept = set(sorted(names, key=lambda name: -strongest[name])[:most])
    shown = [name for name in names if name in kept]
    amounts = tuple(tuple(None if a == b else result[a, b] for b in shown) for a in shown)
    hidden = len(names) - len(shown)
    more = f"and {count(hidden, 'more feature')} with weaker ones: .to_frame()" if hidden else ""
    sheet = result.sheet
    return Heat(sheet.title, sheet.lead, tuple(map(harmless, shown)), amounts, more, sheet.notes)


def draw_heat(heat: Heat, canvas: Canvas) -> float:
    """Draw it; how far down it came. Numbers say what colours say."""
    ink, legend, size = canvas.ink, Legend(canvas.fonts), 8.5
    room, n = canvas.width - 2 * _EDGE, len(heat.names)
    y = canvas.paragraph(_EDGE, _EDGE, heat.title, room, size=12, bold=True)
    for words in heat.lead:
        y = canvas.paragraph(_EDGE, y, words, room)
    y += 0.1
    labels = min(_LABELS, 0.35 * canvas.width)
    cell = min(_CELL, (room - labels) / n)
    left = _EDGE + labels
    told = [canvas.fonts.told(name) for name in heat.names]
    heads = [legend.fitted(name, _TALL, size, 2 if cell > 0.35 else 1) for name in told]
    y += max(canvas.fonts.width(line, size) for head in heads for line in head) + 0.05
    for column, head in enumerate(heads):
        for number, words in enumerate(head):
            aside = (number - (len(head) - 1) / 2) * canvas.leading(size)
            canvas.write(left + (column + 0.5) * cell + aside, y - 0.04, words, size=size,
                         rotation=90)  # fmt: skip
    largest = max((abs(a) for row in heat.amounts for a in row if a is not None), default=0.0)
    for number, row in enumerate(heat.amounts):
        middle = y + (number + 0.5) * cell
        lines = legend.fitted(told[number], labels - 0.1, size, 2)
        for place, words in enumerate(lines):
            at = middle + (place - (len(lines) - 1) / 2) * canvas.leading(size)
            canvas.write(left - 0.08, at, words, size=size, ha="right")
        for column, amount in enumerate(row):
            if amount is None:
                continue
            strength = 0.75 * abs(amount) / largest if largest else 0.0
            color = ink.mixed(ink.keep if amount >= 0 else ink.flip, strength)
            canvas.box(left + column * cell, y + number * cell, cell, cell, facecolor=color,
                       edgecolor=ink.paper, lw=1.0, zorder=1)  # fmt: skip
            sign = "+" if amount > 0 else "−" if amount < 0 else ""
            fits = min(8.0, 72 * cell / 5.2)
            canvas.write(left + (column + 0.5) * cell, middle, f"{sign}{abs(amount):.3f}",
                         size=fits, ha="center", color=ink.on(color))  # fmt: skip
    y += n * cell + 0.12
    for words in (heat.more, *legend.told, *heat.notes):
        y = canvas.paragraph(_EDGE, y, words, room, size=7.5, color=ink.soft)
    return y + _EDGE
