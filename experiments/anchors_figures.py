"""The pictures of the comparison with Anchors."""

from typing import Any

import numpy as np
import pandas as pd

from experiments.anchors_contest import BEAMS, TESTS
from experiments.drawing import ACCENT, GREY, OURS, THEIRS, new_figure, tidy

__all__ = ["draw_mean", "draw_shares", "draw_twins"]

ANCHORS = next(iter(BEAMS))
LENS = next(iter(TESTS))
SIDES = (("all", "reported", "as each reports"), ("half", "held out", "on held-out rows"))


def draw_mean(per_input: pd.DataFrame, tau: float) -> Any:
    """Figure 3, as reported and on held-out rows."""
    figure, axes = new_figure(8.0, 3.9, 2, sharex=True, sharey=True)
    for ax, side in zip(axes, SIDES, strict=True):
        _scatter(ax, per_input, "mean", side, tau)
    axes[0].set_ylabel("mean PS of LENS's factors")
    return figure


def draw_twins(per_input: pd.DataFrame, tau: float) -> Any:
    """The appendix's twins: the worst and the best factor in place of the mean."""
    figure, axes = new_figure(12.0, 3.4, 4, sharex=True, sharey=True)
    panels = [(statistic, side) for statistic in ("min", "max") for side in SIDES]
    for ax, (statistic, side) in zip(axes, panels, strict=True):
        _scatter(ax, per_input, statistic, side, tau)
        ax.set_ylabel(f"{statistic} PS of LENS's factors")
        ax.tick_params(labelleft=True)
    return figure


def _scatter(ax: Any, per_input: pd.DataFrame, statistic: str, side: Any, tau: float) -> None:
    chosen, measure, title = side
    wide = per_input[per_input["chosen on"] == chosen].pivot(index="input", columns="method")
    theirs = wide[f"{measure}, mean"][ANCHORS].to_numpy()
    ours = wide[f"{measure}, {statistic}"][LENS].to_numpy()
    for which, colour, marker in (
        ((theirs >= tau) & (ours >= tau), GREY, "o"),
        ((theirs < tau) & (ours >= tau), THEIRS, "s"),
        ((theirs >= tau) & (ours < tau), OURS, "^"),
        ((theirs < tau) & (ours < tau), "black", "D"),
    ):
        ax.scatter(theirs[which], ours[which], s=17, color=colour, marker=marker, alpha=0.7, lw=0)
    ax.axvline(tau, color=GREY, lw=0.9, ls=":")
    ax.axhline(tau, color=GREY, lw=0.9, ls=":")
    tidy(ax, "precision of Anchors' rule", "", title)
    ax.text(
        0.03,
        0.03,
        f"below τ: Anchors {np.mean(theirs < tau):.0%}, LENS {np.mean(ours < tau):.0%}",
        transform=ax.transAxes,
        fontsize=8,
    )


def draw_shares(shares: pd.DataFrame) -> Any:
    """Chosen on one half: the share of inputs below τ there, and on the other half."""
    figure, ax = new_figure(7.6, 4.0)
    half = shares[shares["chosen on"] == "half"]
    methods = list(dict.fromkeys(half["method"]))
    for place, method in enumerate(reversed(methods)):
        rows = half[half["method"] == method].set_index("measured")
        colour = OURS if method in TESTS else THEIRS if method in BEAMS else ACCENT
        for offset, measure, alpha in ((0.19, "reported", 0.35), (-0.19, "held out", 1.0)):
            row = rows.loc[measure]
            y = place + offset
            ax.barh(y, row["mean below τ"], height=0.36, color=colour, alpha=alpha, lw=0)
            ends = row["max below τ"], row["min below τ"]
            if ends[0] != ends[1]:
                ax.plot(ends, [y, y], color="black", lw=1, marker="|", ms=7)
            right = max(row["mean below τ"], ends[1])
            ax.text(right + 0.008, y, f"{row['mean below τ']:.0%}", va="center", fontsize=8)
    ax.set_yticks(range(len(methods)), list(reversed(methods)))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set_xlim(left=0)
    tidy(ax, "share of inputs below τ: pale on the rows chosen by, full on held-out rows")
    return figure
