"""Figure 3 and its twins: is what LENS and Anchors put forward as sufficient as asked for?

100 inputs of German credit, τ = 0.9. In the paper's setting both are judged on what they were
chosen by. Here also on rows that neither has seen, where nothing is met by construction.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from experiments import anchor_exp, anchors_contest
from experiments.anchors_contest import ALPHA, BEAMS, DRAWS, Contest, contest_all
from experiments.anchors_figures import draw_mean, draw_shares, draw_twins
from experiments.german_causal import CATEGORICAL
from experiments.german_credit import setting
from experiments.lab import Lab
from experiments.result import Claim, Result
from suffice.inference import clopper_pearson

TAU = 0.9
SEED = 0
PAPER = 0.14
"""The share of inputs on which Anchors falls short, as the paper reports it."""
LENS, TESTED, HOLM = anchors_contest.TESTS
ANCHORS, WIDE = BEAMS


def run(lab: Lab) -> Result:
    model, X, _, accuracy = setting(lab.data)
    inputs = np.random.default_rng(SEED).choice(len(X), lab.size(100, 4), replace=False)
    settings = {
        "inputs": len(inputs),
        "τ": TAU,
        "model": f"ExtraTrees, held-out accuracy {accuracy:.2f}",
        "LENS": "R2I, all rows predicted otherwise as references",
        "Anchors": "anchor-exp, quartiles, δ = " + str(anchor_exp.DEFAULTS["delta"]),
        "fresh draws per rule": DRAWS,
        "halves": "rows split at random; chosen on one half, measured on the other",
        "seed": SEED,
    }
    contest = Contest(model, X, CATEGORICAL, TAU, SEED)
    found = contest_all(lab, contest, [int(i) for i in inputs], settings)
    lines = pd.DataFrame([line for one in found for line in one["lines"]])
    per_input, shares = by_input(lines), below(lines, len(inputs))
    seconds = pd.DataFrame([one["seconds"] for one in found])
    return Result(
        "Figure 3: Anchors' precision against the sufficiency of LENS (German credit)",
        claims(shares),
        settings,
        tables={"below-tau": shares, "inputs": per_input, "outputs": lines},
        figures={
            "mean": draw_mean(per_input, TAU),
            "min-and-max": draw_twins(per_input, TAU),
            "below-tau": draw_shares(shares),
        },
        timings={f"{m}, mean seconds per input": round(s, 3) for m, s in seconds.mean().items()},
    )


def by_input(lines: pd.DataFrame) -> pd.DataFrame:
    """One line per input, method and rows chosen on: mean, min and max over its outputs."""
    keys = ["input", "method", "chosen on"]
    groups = lines.groupby(keys, sort=False)
    out = groups["size"].agg(outputs="count", **{"mean size": "mean"})
    for measure in ("reported", "fresh", "held out", "covered", "PS of its features"):
        values = groups[measure].agg(["mean", "min", "max"])
        single = measure in ("fresh", "covered", "PS of its features")
        for statistic in ["mean"] if single else ["mean", "min", "max"]:
            out[measure if single else f"{measure}, {statistic}"] = values[statistic]
    return out.reset_index()


def below(lines: pd.DataFrame, n_inputs: int) -> pd.DataFrame:
    """Per method, rows chosen on and measure: how often below τ.

    By the mean, the worst and the best of each input's outputs; and single outputs that are surely
    below, by an exact test at 5%, so that a threshold missed within the noise is told apart.
    """
    rows = []
    for (method, chosen), part in lines.groupby(["method", "chosen on"], sort=False):
        for measure in ("reported", "fresh", "held out", "covered", "PS of its features"):
            values = part[["input", "size", "held out of", measure]].dropna(subset=[measure])
            if not len(values):
                continue
            of_input = values.groupby("input", sort=False)[measure].agg(["mean", "min", "max"])
            row = {"method": method, "chosen on": chosen, "measured": measure}
            row |= {"inputs": len(of_input), "outputs": len(values)}
            row |= {f"{s} below τ": float((of_input[s] < TAU).mean()) for s in of_input}
            row["outputs below τ"] = float((values[measure] < TAU).mean())
            row["outputs surely below τ"] = _surely(values[measure], measure, values["held out of"])
            row |= {f"average {s}": float(of_input[s].mean()) for s in of_input}
            row["lowest"] = float(of_input["min"].min())
            row["mean size"] = float(values["size"].mean())
            row["without answer"] = n_inputs - part["input"].nunique()
            rows.append(row)
    return pd.DataFrame(rows)


def _surely(values: pd.Series, measure: str, held_out_of: pd.Series) -> float | None:
    n = {"fresh": DRAWS, "held out": held_out_of}.get(measure)
    if n is None:
        return None
    return float((binom.cdf(np.rint(values * n), n, TAU) <= ALPHA).mean())


def claims(shares: pd.DataFrame) -> tuple[Claim, ...]:
    def at(method: str, chosen: str, measure: str) -> Any:
        keys = shares["method"], shares["chosen on"], shares["measured"]
        return shares[(keys[0] == method) & (keys[1] == chosen) & (keys[2] == measure)].iloc[0]

    anchors = partial(_anchors_claim, at)
    worst = at(LENS, "half", "held out"), at(TESTED, "half", "held out")
    theirs = at(ANCHORS, "half", "held out")
    as_sets = at(ANCHORS, "all", "PS of its features")
    return (
        anchors(ANCHORS, "reported", "the paper's: the precision that it reports"),
        anchors(WIDE, "reported", "the same, with the beam that its signature promises"),
        anchors(ANCHORS, "fresh", f"fairer: {DRAWS:,} fresh draws of its own sampler"),
        anchors(WIDE, "fresh", "the same, with the beam that its signature promises"),
        _lens_claim(
            at(LENS, "all", "reported"),
            "min",
            "the paper's: on the references chosen by",
            "By construction: holding every feature has PS 1, so there always is a factor, and "
            "every factor was chosen for PS ≥ τ on these very references.",
        ),
        _lens_claim(at(LENS, "half", "held out"), "mean", "fairer: held-out references, mean PS"),
        _lens_claim(
            at(LENS, "half", "held out"),
            "min",
            "fairer: held-out references, every factor",
            "A factor chosen for PS just over τ on one half is as likely as not below it on the "
            "other; the worst of many nearly always is. Use the test where τ must be met.",
        ),
        _lens_claim(at(TESTED, "half", "held out"), "min", f"the same with the test, α = {ALPHA}"),
        _lens_claim(at(HOLM, "half", "held out"), "min", f"the same, α = {ALPHA} adjusted (Holm)"),
        Claim(
            "even the worst factor of LENS is more consistent than Anchors",
            "the minimum is above τ where Anchors is not",
            f"below τ on held-out rows: worst factor {worst[0]['min below τ']:.0%}, with the test "
            f"{worst[1]['min below τ']:.0%}, Anchors {theirs['min below τ']:.0%} of inputs",
            bool(worst[0]["min below τ"] < theirs["min below τ"]),
            setting="fairer: held-out rows for both",
            note="An input has about "
            f"{worst[0]['outputs'] / worst[0]['inputs']:.0f} factors, of which the worst counts "
            "here, and one anchor; of all factors alike "
            f"{worst[0]['outputs below τ']:.0%} are below τ, with the test "
            f"{worst[1]['outputs below τ']:.0%}. Their rows differ, too: LENS is held to "
            "references predicted otherwise, Anchors to rows of either prediction.",
        ),
        Claim(
            "the columns of Anchors' rule, as a set held at the input's values (R2I)",
            "—",
            f"PS below τ on {as_sets['mean below τ']:.0%} of {as_sets['inputs']} inputs, "
            f"on average {as_sets['average mean']:.2f}",
            None,
            setting="ours: LENS's question asked of Anchors' answer",
        ),
    )


def _anchors_claim(at: Any, method: str, measure: str, setting: str) -> Claim:
    row = at(method, "all", measure)
    share, n = row["mean below τ"], int(row["inputs"])
    low, high = (float(v) for v in clopper_pearson(round(share * n), n))
    alone = "" if measure == "reported" else f"; surely below: {row['outputs surely below τ']:.0%}"
    return Claim(
        "Anchors falls short of τ on some inputs",
        f"{PAPER:.0%} of inputs",
        f"{share:.0%} of {n} inputs (95% interval {low:.0%} to {high:.0%}){alone}; "
        f"lowest {row['lowest']:.2f}",
        bool(low <= PAPER <= high),
        setting=setting,
        note="Holds if the interval has the paper's value in it. anchor-exp reports a precision "
        "below τ only where it found no rule at all, as a rule must reach τ on its draws to be one."
        if (method, measure) == (ANCHORS, "reported")
        else "",
    )


def _lens_claim(row: Any, statistic: str, setting: str, note: str = "") -> Claim:
    surely = row["outputs surely below τ"]
    share = row[f"{statistic} below τ"]
    what = {"mean": "the mean PS", "min": "at least one factor"}[statistic]
    rest = f"; of all {row['outputs']} factors {row['outputs below τ']:.0%}"
    rest += "" if pd.isna(surely) else f", surely {surely:.1%}"
    return Claim(
        "LENS meets τ on 100% of inputs",
        "0% below",
        f"{what} is below τ on {share:.0%} of {row['inputs']} inputs{rest}; lowest "
        f"{row['lowest']:.2f}",
        bool(share == 0),
        setting=setting,
        note=note,
    )
