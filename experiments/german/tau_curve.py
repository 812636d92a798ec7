"""Appendix figure: cumulative necessity against τ, here exact at every τ, with the barcode."""

import numpy as np
import pandas as pd

from experiments.german.setting import INPUT, explain
from experiments.runner.drawing import GREY, OURS, new_figure, tidy
from experiments.runner.lab import Lab
from experiments.runner.result import Claim, Result

_BARS = 30


def run(lab: Lab) -> Result:
    e, accuracy = explain(lab.data)
    view = e.keep
    steps = pd.DataFrame(view.curve, columns=["τ", "cumulative PN"])
    bars = pd.DataFrame(
        [
            {
                "features": ", ".join(f.features) or "nothing",
                "minimal above τ": f.minimal_for[0],
                "up to τ": f.minimal_for[1],
            }
            for f in view.barcode
        ]
    )
    falls = bool((np.diff(steps["cumulative PN"]) <= 0).all())
    at = [f"{view.at(tau).necessity:.3f} at {tau}" for tau in (0.5, 0.7, 0.9)]
    claim = Claim(
        "a lower τ lets the factors cover more of the outcome",
        "a falling curve",
        f"it never rises over all {len(steps)} steps: " + ", ".join(at),
        falls,
    )
    published = tuple(
        Claim(
            f"the τ-minimal factors at τ = 0.9 and what they cover ({name})",
            f"7 factors, cumulative PN {pn}",
            f"{len(v.factors)} factors, cumulative PN {v.necessity:.6f}",
            len(v.factors) == 7 and f"{v.necessity:.6f}" == pn,
            setting="the authors' code, run again",
        )
        for name, v, pn in (("R2I", e.keep, "0.334298"), ("I2R", e.flip, "0.143505"))
    )
    return Result(
        "Appendix: τ against cumulative necessity (German credit, R2I)",
        (claim, *published),
        {
            "input": f"row {INPUT}",
            "references": e.provenance.n_references,
            "held-out accuracy": f"{accuracy:.2f}",
            "sets minimal at some τ": len(bars),
        },
        tables={"curve": steps, "barcode": bars},
        figures={"tau-curve": _draw(steps, bars)},
    )


def _draw(steps: pd.DataFrame, bars: pd.DataFrame):
    figure, (left, right) = new_figure(8.6, 4.6, 2, width_ratios=[1, 1.35])
    tau, necessity = steps["τ"].to_numpy(), steps["cumulative PN"].to_numpy()
    left.stairs(necessity, np.concatenate([[0], tau]), color=OURS, lw=1.6, baseline=None)
    left.axvline(0.9, color=GREY, lw=0.8, ls=":")
    left.text(0.89, 1.0, "τ = 0.9", ha="right", va="top", color=GREY, fontsize=8)
    left.set(xlim=(0, 1), ylim=(0, 1.02))
    tidy(left, "τ", "cumulative necessity (PN)", "Every τ at once")
    shown = bars.head(_BARS).iloc[::-1]
    for place, (_, bar) in enumerate(shown.iterrows()):
        right.plot([bar["minimal above τ"], bar["up to τ"]], [place, place], color=OURS, lw=3)
    right.set_yticks(range(len(shown)), shown["features"], fontsize=5.5)
    right.set_xlim(min(0.7, shown["minimal above τ"].min() - 0.02), 1)
    right.axvline(0.9, color=GREY, lw=0.8, ls=":")
    tidy(right, "minimal for τ in", "", f"The highest {len(shown)} of {len(bars)} bars")
    right.tick_params(axis="y", labelsize=5.5, length=0)
    return figure
