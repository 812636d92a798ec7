"""Helpers of the tests of rules: a lender without chance, and how to look at all rules."""

from itertools import combinations

import numpy as np
from hypothesis import strategies as st

alphas = st.sampled_from([None, 0.3])
distributions = st.sampled_from(["perturbed", "observed"])

CUTS = [0.5, 1.5]
cut_options = st.sampled_from([{"bins": 2}, {"bins": 3}, {"cuts": CUTS, "bounds": "any"}])


def lender(frame):
    """A model without randomness or fitting, on the made-up loans."""
    score = (
        0.07 * (frame["income"] - 45)
        - 0.1 * (frame["debt"] - 14)
        - 0.9 * frame["late payments"]
        + 0.6 * (frame["home"] == "owns")
    )
    return np.where(np.asarray(score > 0), "granted", "refused")


def unwrapped(text):
    """A text that was wrapped, on one line."""
    return " ".join(text.split())


def condition_names(a, rule):
    """Which conditions a rule is made of, by their names."""
    names = {name: c.feature for c in a.conditions for name in dict.fromkeys(c.factor.columns())}
    return frozenset(names[column] for column in rule.columns)


def every_rule(a):
    names = [c.feature for c in a.conditions]
    return {frozenset(s): a.rule(*s) for k in range(len(names) + 1) for s in combinations(names, k)}


def with_cuts(world, options):
    """Options of `anchor`, with the same cuts for all columns."""
    if "cuts" not in options:
        return options
    return options | {"cuts": {f"x{j}": options["cuts"] for j in range(world.d)}}
