"""Proposition 4: Pearl's probabilities of causation as sufficiency, exact against sampled."""

from math import isclose

import numpy as np
import pandas as pd

from experiments.runner.drawing import OURS, THEIRS, new_figure, tidy
from experiments.runner.lab import Lab
from experiments.runner.result import Claim, Result
from suffice import CausalModel, probabilities_of_causation

P, Q = 0.7, 0.2


def worlds() -> dict[str, tuple[CausalModel, str, str, dict[str, float | None]]]:
    """Name: a Boolean causal model, a cause, an effect, and the values in closed form."""
    squad = CausalModel(
        {"captain": ["order"], "A": ["captain", "nerves"], "B": ["captain"], "death": ["A", "B"]},
        mechanisms={
            "order": P,
            "nerves": Q,
            "captain": lambda order: order,
            "A": lambda captain, nerves: captain | nerves,
            "B": lambda captain: captain,
            "death": lambda A, B: A | B,
        },
    )
    # Given A shot and the prisoner died, he would live without A only if there was no order.
    shot = P + (1 - P) * Q
    either = _two(lambda x, u: x | u)
    both = _two(lambda x, u: x & u)
    parity = _two(lambda x, u: x ^ u)
    return {
        "firing squad: A, death": (
            squad,
            "A",
            "death",
            {"nec": (1 - P) * Q / shot, "suf": 1.0, "PNS": 1 - P},
        ),
        "x or u": (either, "x", "y", {"nec": 1 - Q, "suf": 1.0, "PNS": 1 - Q}),
        "x and u": (both, "x", "y", {"nec": 1.0, "suf": Q, "PNS": Q}),
        "x xor u": (parity, "x", "y", {"nec": 1.0, "suf": 1.0, "PNS": 1 - Q}),
    }


def run(lab: Lab) -> Result:
    n = lab.size(5_000, 2_000)
    rows = []
    for name, (scm, cause, effect, closed) in worlds().items():
        exact = probabilities_of_causation(scm, cause, effect)
        drawn = probabilities_of_causation(scm, cause, effect, n_worlds=n)
        for measure, attribute in (("suf", "sufficiency"), ("nec", "necessity"), ("PNS", "pns")):
            low, high = getattr(drawn.intervals, attribute)
            rows.append(
                {
                    "causal model": name,
                    "measure": measure,
                    "closed form": closed[measure],
                    "exact": getattr(exact, attribute),
                    "sampled": getattr(drawn, attribute),
                    "low": low,
                    "high": high,
                }
            )
    table = pd.DataFrame(rows)
    equal = [isclose(r["closed form"], r["exact"], abs_tol=1e-12) for r in rows]
    inside = [r["low"] <= r["exact"] <= r["high"] for r in rows]
    claims = (
        Claim(
            "suf(x, y) = PS(c, y) and nec(x, y) = PS(1 − c, y′) on the mixture of both "
            "counterfactual spaces",
            "proved",
            f"{sum(equal)} of {len(rows)} values equal the closed form",
            all(equal),
            note="With the tag on the space in which X is set to x, as the proof needs it; the "
            "proposition's wording tags the other one.",
        ),
        Claim(
            "sampling the worlds agrees with enumerating them",
            "—",
            f"{sum(inside)} of {len(rows)} exact values lie in the sample's 95% interval",
            sum(inside) >= len(rows) - 2,
            setting="ours",
        ),
    )
    return Result(
        "Proposition 4: probabilities of causation",
        claims,
        {"p (order)": P, "q (nerves, u)": Q, "worlds sampled": n, "seed": 0},
        tables={"pearl": table},
        figures={"pearl": _draw(table)},
    )


def _two(function) -> CausalModel:
    return CausalModel({"y": ["x", "u"]}, mechanisms={"x": 0.5, "u": Q, "y": function})


def _draw(table: pd.DataFrame):
    figure, ax = new_figure(7.0, 3.4)
    labels = table["causal model"] + ": " + table["measure"]
    place = np.arange(len(table))[::-1]
    error = np.abs(table[["low", "high"]].to_numpy().T - table["sampled"].to_numpy())
    ax.errorbar(table["sampled"], place, xerr=error, fmt="o", ms=3.5, color=THEIRS, capsize=2)
    ax.plot(table["exact"], place, "|", ms=13, mew=1.6, color=OURS)
    ax.set_yticks(place, labels)
    ax.set_xlim(-0.03, 1.03)
    tidy(ax, "probability: exact (bar), sampled with 95% interval (dot)")
    return figure
