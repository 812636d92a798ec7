"""The sentences of Table 2, a line for each set of words, its words shaded."""

from typing import Any

from experiments.imdb.sentences import Sentence
from experiments.runner.drawing import GREY, OURS, THEIRS

__all__ = ["draw"]

FLIP = "#a33b5c"
_LINES = 4
"""Sets shown per view; the table has them all."""
_CHARACTER, _LINE = 0.094, 0.23
_LEFT, _NOTE = 1.15, 2.2


def draw(shown: list[Sentence], found: list[dict[str, Any]]) -> Any:
    """A block per sentence: how it is predicted, R2I sets, I2R sets, Anchors."""
    from matplotlib.figure import Figure

    blocks = [_lines(row) for row in found]
    height = sum(_LINE * (len(lines) + 2.6) for lines in blocks)
    width = max(7.0, *(_right(s.text.split()) + _NOTE for s in shown))
    figure = Figure(figsize=(width, height), facecolor="white")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.axis("off")
    y = _LINE
    for sentence, row, lines in zip(shown, found, blocks, strict=True):
        right = "correctly" if row["label"] == sentence.truth else "wrongly"
        title = f"“{_cut(sentence.raw, int(9.5 * width))}”"
        ax.text(0.15, y, title, fontsize=9.5, fontweight="bold", va="center")
        mask = f"mask “{row['mask']}”" if row["mask"] else "no mask contrasts"
        which = f"training run {row['run']}: " if "run" in row else ""
        says = f"{which}{right} predicted {row['label']} ({row['chance']:.2f} positive); {mask}"
        ax.text(0.15, y + 0.85 * _LINE, says, fontsize=8, color=GREY, va="center")
        y += 1.95 * _LINE
        for label, color, held, note in lines:
            ax.text(0.15, y, label, fontsize=8.5, color=color, va="center")
            _words(ax, sentence.text.split(), held, note, y, color)
            y += _LINE
        y += 0.65 * _LINE
    return figure


def _lines(row: dict[str, Any]) -> list[tuple[str, str, list[int], str]]:
    if not row["mask"]:
        return []
    out = []
    for key, label, color in (("keep", "R2I, keeps", OURS), ("flip", "I2R, flips", FLIP)):
        sets = row[key]
        more = len(sets) - _LINES
        for i, held in enumerate(sets[:_LINES]):
            last = more > 0 and i == _LINES - 1
            out.append((label * (i == 0), color, held, f"and {more} more" * last))
    for rule in row["anchors"]:
        note = f"“{rule['mask']}”; precision {rule['precision reported']:.2f}, PS {rule['PS']:.0f}"
        out.append(("Anchors", THEIRS, rule["held"], note))
    return out


def _words(ax: Any, words: list[str], held: list[int], note: str, y: float, color: str) -> None:
    """The words at fixed places, so that lines can be compared."""
    from matplotlib.patches import FancyBboxPatch

    x = _LEFT
    for i, word in enumerate(words):
        wide = _CHARACTER * len(word)
        inside = i in held
        if inside:
            box = FancyBboxPatch(
                (x - 0.03, y - 0.37 * _LINE),
                wide + 0.06,
                0.74 * _LINE,
                boxstyle="round,pad=0,rounding_size=0.03",
                facecolor=color,
                edgecolor="none",
            )
            ax.add_patch(box)
        ax.text(
            x + wide / 2,
            y,
            word,
            family="monospace",
            fontsize=8.5,
            ha="center",
            va="center",
            color="white" if inside else GREY,
        )
        x += wide + 1.2 * _CHARACTER
    ax.text(x + 0.08, y, note, fontsize=7, color=color, va="center")


def _right(words: list[str]) -> float:
    """Where a line of these words ends."""
    return _LEFT + _CHARACTER * (sum(map(len, words)) + 1.2 * len(words))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
