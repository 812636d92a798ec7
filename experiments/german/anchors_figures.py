"""The pictures of the comparison with Anchors."""

from typing import Any

import numpy as np
import pandas as pd

from experiments.german.anchors_contest import BEAMS, TESTS
from experiments.runner.drawing import ACCENT, GREY, OURS, THEIRS, new_figure, tidy

__all__ = ["draw_mean", "draw_shares", "draw_twins"]

ANCHORS = next(iter(BEAMS))
LENS = next(iter(TESTS))
SIDES = (("all", "reported", "as each reports"), ("half", "held out", "on held-out rows"))
WORDS = {"mean": "mean PS of LENS's factors", "min": "worst factor's PS", "max": "best factor's PS"}
KINDS = {
    (False, False): (GREY, "o", "both at least τ"),
    (True, False): (THEIRS, "s", "Anchors below τ"),
    (False, True): (OURS, "^", "LENS below τ"),
    (True, True): ("black", "D", "both below τ"),
}


def draw_mean(per_input: pd.DataFrame, tau: float) -> Any:
    """Figure 3, as reported and on held-out rows."""
    figure, axes = new_figure(8.0, 4.2, 2, sharex=True, sharey=True)
    for ax, side in zip(axes, SIDES, strict=True):
        _scatter(ax, per_input, "mean", side, tau)
    axes[1].set_ylabel("")
    _legend(figure, axes[0])
    return figure


def draw_twins(per_input: pd.DataFrame, tau: float) -> Any:
    """The appendix's twins: the worst and the best factor in place of the mean."""
    figure, axes = new_figure(12.0, 3.8, 4, sharex=True, sharey=True)
    panels = [(statistic, side) for statistic in ("min", "max") for side in SIDES]
    for ax, (statistic, side) in zip(axes, panels, strict=True):
        _scatter(ax, per_input, statistic, side, tau)
    for ax in axes[1::2]:
        ax.set_ylabel("")
    _legend(figure, axes[0])
    return figure


def _scatter(ax: Any, per_input: pd.DataFrame, statistic: str, side: Any, tau: float) -> None:
    chosen, measure, title = side
    wide = per_input[per_input["chosen on"] == chosen].pivot(index="input", columns="method")
    theirs = wide[f"{measure}, mean"][ANCHORS].to_numpy()
    ours = wide[f"{measure}, {statistic}"][LENS].to_numpy()
    for (low_theirs, low_ours), (colour, marker, label) in KINDS.items():
        which = ((theirs < tau) == low_theirs) & ((ours < tau) == low_ours)
        style = {"color": colour, "marker": marker, "label": label}
        ax.scatter(theirs[which], ours[which], s=18, alpha=0.7, lw=0, **style)
    ax.axvline(tau, color=GREY, lw=0.9, ls=":")
    ax.axhline(tau, color=GREY, lw=0.9, ls=":")
    share = f"below τ: Anchors {np.mean(theirs < tau):.0%}, LENS {np.mean(ours < tau):.0%}"
    tidy(ax, "precision of Anchors' rule", WORDS[statistic], f"{title}\n{share}")


def _legend(figure: Any, ax: Any) -> None:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8
    )


def draw_shares(shares: pd.DataFrame) -> Any:
    """Chosen on one half: the share of inputs below τ there, and on the other half."""
    figure, ax = new_figure(7.6, 4.2)
    half = shares[shares["chosen on"] == "half"]
    methods = list(dict.fromkeys(half["method"]))
    for place, method in enumerate(reversed(methods)):
        rows = half[half["method"] == method].set_index("measured")
        colour = OURS if method in TESTS else THEIRS if method in BEAMS else ACCENT
        for offset, measure, alpha in ((0.19, "reported", 0.35), (-0.19, "held out", 1.0)):
            _bar(ax, place + offset, rows.loc[measure], colour, alpha)
    ax.set_yticks(range(len(methods)), [_name(half, m) for m in reversed(methods)])
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set_xlim(0, 1.2)
    ax.set_xticks(np.linspace(0, 1, 6))
    tidy(ax, "share of inputs below τ", "", "Chosen on one half of the rows, measured on the other")
    _explain_bars(ax)
    return figure


def _name(half: pd.DataFrame, method: str) -> str:
    """The method, and on how many inputs it has no answer."""
    row = half[half["method"] == method].iloc[0]
    missing = row["without answer"]
    inputs = "1 input" if missing == 1 else f"{missing} inputs"
    return f"{method}\n(no rule or factor for {inputs})" if missing else method


def _bar(ax: Any, y: float, row: Any, colour: str, alpha: float) -> None:
    mean, best, worst = (row[f"{s} below τ"] for s in ("mean", "max", "min"))
    ax.barh(y, mean, height=0.36, color=colour, alpha=alpha, lw=0)
    if best != worst:
        ax.plot([best, worst], [y, y], color="black", lw=1, marker="|", ms=7)
    words = f"{mean:.0%}" if mean == worst else f"mean {mean:.0%}, worst {worst:.0%}"
    ax.text(worst + 0.012, y, words, va="center", fontsize=8)


def _explain_bars(ax: Any) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(color=GREY, alpha=0.35, lw=0, label="on the rows chosen by"),
        Patch(color=GREY, lw=0, label="on held-out rows"),
        Line2D([], [], color="black", lw=1, marker="|", ms=7, label="LENS's best to worst factor"),
    ]
    ax.legend(handles=handles, frameon=False, fontsize=8, loc="lower right")
