"""LENS and Anchors on the same inputs: what each chooses, and how it fares on rows it did not see.

Every output is one line: by which method, chosen on which rows, its size, the sufficiency or
precision `reported` on what it was chosen by, and the same on

- `fresh`: new draws of Anchors' own sampler, which is what its precision estimates;
- `held out`: the other half of the data. For LENS, the references there; for Anchors and rules,
  draws that perturb the rows there; `covered`: the rows there that satisfy the rule as they are.
"""

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from experiments.peers.anchor_exp import DEFAULTS, RELEASED_BEAM, Anchors, Found, label_of
from experiments.runner.lab import Lab
from suffice import Explainer, Explanation, anchor, score_rule
from suffice.cli.peer_tools import seeded_and_quiet

__all__ = ["ALPHA", "BEAMS", "DRAWS", "RULES", "TESTS", "Contest", "contest_all"]

BATCH = 10
DRAWS = 2_000
ALPHA = 0.05
BEAMS = {"Anchors": RELEASED_BEAM, f"Anchors, beam {DEFAULTS['beam_size']}": DEFAULTS["beam_size"]}
TESTS: dict[str, dict[str, Any]] = {
    "LENS": {},
    f"LENS, α = {ALPHA}": {"alpha": ALPHA},
    f"LENS, α = {ALPHA}, Holm": {"alpha": ALPHA, "adjust": "holm"},
}
RULES = {"rules": None, f"rules, α = {ALPHA}": ALPHA}


class Contest:
    """All methods at one τ, on one table cut in two halves at random."""

    def __init__(
        self, forest: Any, X: pd.DataFrame, categorical: list[str], tau: float, seed: int
    ) -> None:
        half = np.random.default_rng(seed).permutation(len(X)) < len(X) // 2
        predict = label_of(forest)
        self.X, self.tau, self.seed, self.categorical = X, tau, seed, categorical
        self.lens = Explainer(forest, X)
        self.lens_halves = Explainer(forest, X[half]), Explainer(forest, X[~half])
        categories = {column: np.unique(X[column]) for column in categorical}
        self.anchors = Anchors(predict, X, categories)
        self.anchors_half = Anchors(predict, X[half], categories)
        self.anchors_other = self.anchors_half.on(X[~half])

    def __call__(self, i: int) -> dict[str, Any]:
        """All lines of one input, and the seconds that choosing took on all rows."""
        x = self.X.iloc[i]
        seconds: dict[str, float] = {}
        started = perf_counter()
        e = self.lens.explain(x, tau=self.tau, search="exhaustive", progress=False)
        seconds["LENS"] = perf_counter() - started
        lines = [*self._lens(e), *self._lens_halves(x)]
        for method, beam in BEAMS.items():
            with seeded_and_quiet(self.seed, i, beam):
                started = perf_counter()
                found = self.anchors.find(x, self.tau, beam)
                seconds[method] = perf_counter() - started
                lines += [
                    self._anchor(method, x, found, e),
                    self._anchor_half(method, x, self.anchors_half.find(x, self.tau, beam)),
                ]
        lines += self._rules_half(x)
        return {"lines": [{"input": i} | line for line in lines], "seconds": seconds}

    def _lens(self, e: Explanation) -> Iterator[dict[str, Any]]:
        for method, test in TESTS.items():
            for factor in e.keep.at(**test).factors:
                yield _line(method, "all", len(factor.features), factor.sufficiency)

    def _lens_halves(self, x: pd.Series) -> Iterator[dict[str, Any]]:
        chosen, other = (
            e.explain(x, tau=self.tau, search="exhaustive", progress=False).keep
            for e in self.lens_halves
        )
        for method, test in TESTS.items():
            for factor in chosen.at(**test).factors:
                there = other.sufficiency(factor.features)
                yield _line(method, "half", len(factor.features), factor.sufficiency) | {
                    "held out": there,
                    "held out of": other.tally.n,
                }

    def _anchor(self, method: str, x: pd.Series, found: Found, e: Explanation) -> dict[str, Any]:
        return _line(method, "all", len(found.columns), found.precision) | {
            "fresh": self.anchors.draws(x, found, DRAWS) / DRAWS,
            "PS of its features": e.keep.sufficiency(found.columns),
        }

    def _anchor_half(self, method: str, x: pd.Series, found: Found) -> dict[str, Any]:
        hits, n = self.anchors_other.rows(x, found)
        return _line(method, "half", len(found.columns), found.precision) | {
            "fresh": self.anchors_half.draws(x, found, DRAWS) / DRAWS,
            "held out": self.anchors_other.draws(x, found, DRAWS) / DRAWS,
            "held out of": DRAWS,
            "covered": hits / n if n else None,
        }

    def _rules_half(self, x: pd.Series) -> Iterator[dict[str, Any]]:
        chosen, other = self.lens_halves
        rules = anchor(chosen, x, tau=self.tau, categorical=self.categorical)
        for method, alpha in RULES.items():
            best = rules.at(alpha=alpha).best
            if best is None:
                continue
            there = score_rule(other, x, best.factor, tau=self.tau)
            covered = score_rule(other, x, best.factor, distribution="observed", tau=self.tau)
            yield _line(method, "half", len(best.columns), best.precision) | {
                "held out": there.precision,
                "held out of": there.n,
                "covered": covered.precision,
            }


def _line(method: str, rows: str, size: int, reported: float) -> dict[str, Any]:
    return {"method": method, "chosen on": rows, "size": size, "reported": reported}


def contest_all(
    lab: Lab, contest: Contest, inputs: list[int], settings: dict[str, Any]
) -> list[Any]:
    """All inputs, in batches that the cores share; each is seeded for itself, so order is free."""
    from joblib import Parallel, delayed

    def work(batch: list[int]) -> list[Any]:
        return Parallel(n_jobs=lab.size(-1, 1))(delayed(contest)(i) for i in batch)

    batches = [inputs[k : k + BATCH] for k in range(0, len(inputs), BATCH)]
    done = lab.each(work, batches, settings, f"batches of {BATCH} inputs", code=(Anchors,))
    return [one for batch in done for one in batch]
