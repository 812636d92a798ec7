"""Figure 4 and its twin: what recourse costs, input by input and in sum."""

from typing import Any

import numpy as np
import pandas as pd

from experiments.runner.drawing import ACCENT, GREY, OURS, THEIRS, new_figure, tidy

__all__ = ["draw_mean", "draw_min_max"]

WAYS = {
    "LENS, τ = 0": (OURS, "o"),
    "DiCE, random": (THEIRS, "s"),
    "DiCE, genetic": (ACCENT, "^"),
}
BOXES = (
    "LENS, τ = 0",
    "LENS, τ = 0, 5 cheapest",
    "LENS, τ = 0.5",
    "LENS, τ = 0.9",
    "LENS, any values",
    "DiCE, random",
    "DiCE, genetic",
)


def draw_mean(table: pd.DataFrame) -> Any:
    """Mean cost per input, and its spread for every way."""
    figure, (left, right) = new_figure(9.2, 3.6, 2, width_ratios=[1.5, 1])
    _by_input(left, table, "mean")
    left.legend(frameon=False, fontsize=8, loc="upper left")
    shown = [way for way in BOXES if (table["way"] == way).any()]
    samples = [table.loc[table["way"] == way, "mean"].dropna().to_numpy() for way in shown]
    boxes = right.boxplot(
        samples, orientation="horizontal", widths=0.6, patch_artist=True, showfliers=True,
        flierprops={"markersize": 3, "markeredgecolor": GREY}, medianprops={"color": "black"},
    )  # fmt: skip
    for box, way in zip(boxes["boxes"], shown, strict=True):
        color = OURS if way.startswith("LENS") else WAYS[way][0]
        box.set(facecolor=color, alpha=0.55, edgecolor=color)
    right.set_yticks(range(1, len(shown) + 1), shown)
    right.invert_yaxis()
    right.set_xlim(left=0)
    tidy(right, "mean cost", "", "Over all inputs")
    right.tick_params(axis="y", labelsize=8, length=0)
    return figure


def draw_min_max(table: pd.DataFrame) -> Any:
    """The cheapest and the dearest candidate per input."""
    figure, axes = new_figure(9.2, 3.4, 2)
    for ax, kind in zip(axes, ("min", "max"), strict=True):
        _by_input(ax, table, kind)
    axes[0].legend(frameon=False, fontsize=8, loc="upper left")
    return figure


def _by_input(ax: Any, table: pd.DataFrame, kind: str) -> None:
    """One place per input, those that cost LENS least first; a line joins what belongs together."""
    wide = table[table["way"].isin(WAYS)].pivot(index="input", columns="way", values=kind)
    wide = wide[list(WAYS)].sort_values(list(WAYS), kind="stable")
    places = np.arange(1, len(wide) + 1)
    ax.vlines(places, wide.min(axis=1), wide.max(axis=1), color=GREY, lw=0.6, alpha=0.6)
    for way, (color, marker) in WAYS.items():
        ax.plot(places, wide[way], marker, color=color, ms=4, label=way, alpha=0.9)
    ax.set_ylim(bottom=0)
    ax.margins(x=0.02)
    ax.xaxis.get_major_locator().set_params(integer=True)
    tidy(ax, "inputs, by the cost of LENS", f"{kind} cost", f"The {kind} cost of what is proposed")
