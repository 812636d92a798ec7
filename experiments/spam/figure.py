"""Each mail's minimal sets as a matrix: a column per set, a row per segment."""

from typing import Any

from experiments.runner.drawing import OURS, new_figure, tidy
from suffice.datasets import SEGMENTS

__all__ = ["draw_sets"]

_EMPTY = "#e9ecef"


def draw_sets(names: list[str], found: list[Any]):
    """A panel per mail; above each set its PS, in percent."""
    widths = [max(len(factors), 3) for factors in found]
    figure, axes = new_figure(
        1.6 + 0.23 * sum(widths), 3.1, len(found), sharey=True, width_ratios=widths, squeeze=False
    )
    for ax, name, factors in zip(axes[0], names, found, strict=True):
        dots = [(x, y) for x in range(len(factors)) for y in range(len(SEGMENTS))]
        ax.scatter(*zip(*dots, strict=True), s=26, color=_EMPTY, lw=0)
        for x, factor in enumerate(factors):
            rows = [SEGMENTS.index(segment) for segment in factor["segments"]]
            ax.plot([x] * len(rows), rows, color=OURS, lw=1.2, marker="o", ms=5.5, mew=0)
            ax.text(
                x, -0.8, percent(factor["PS"]), ha="center", va="bottom", fontsize=7, rotation=90
            )
        ax.set(xlim=(-0.6, max(len(factors), 3) - 0.4), ylim=(len(SEGMENTS) - 0.5, -2.4))
        ax.set_xticks([])
        tidy(ax)
        ax.set_title(name, loc="left", fontsize=10, pad=2)
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
    axes[0][0].text(-0.75, -0.8, "PS", ha="right", va="bottom", fontsize=9)
    axes[0][0].set_yticks(range(len(SEGMENTS)), SEGMENTS)
    return figure


def percent(share: float) -> str:
    """A share as it fits above a column; what is not nothing does not read as nothing."""
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{100 * share:.1f}%" if share < 0.1 else f"{100 * share:.0f}%"
