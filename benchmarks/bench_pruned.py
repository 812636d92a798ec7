"""German credit at τ = 0.9, all 700 references: pruned, curtailed search of black boxes.

    python benchmarks/bench_pruned.py [--repeat 7]

For each model: rows that the pruned search asks for, its sample for necessity included, as a share
of the *distinct* rows of the full sweep, counted in the same run; whether factors and hits
are the same; and the whole time of the search against the time inside the model, as the evaluator
sees it (the median of the runs, each with a new context). BLAS has one thread: for products this
thin, on a busy machine, two take several times as long.

The second model is the first, and sleeps 20 µs a row: a ratio of times needs a model that is dear.
The first is none, at about 1 µs a row, so its ratio is shown without a target.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from statistics import median
from time import perf_counter, sleep
from typing import Any

from experiments.german_credit import data_home, setting
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from suffice import SwapContext, Target, datasets
from suffice.context import as_table, make_players
from suffice.context.references import canonical_order
from suffice.evaluate.blackbox import BlackBox
from suffice.models import as_model
from suffice.search import Limits, run_sweep
from suffice.search.profile import Profile
from suffice.search.pruned import Pruned, pruned_search
from suffice.target import event_for

TAU = 0.9
ROW = 998
NAP = 20e-6


class Sleeping:
    """Another model's answers, 20 µs a row later."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.classes_ = model.classes_

    def predict(self, rows: Any) -> Any:
        sleep(len(rows) * NAP)
        return self._model.predict(rows)


@dataclass
class Question:
    """One row of German credit and the references of the other label, put to a model."""

    model: Any
    X: Any
    y: Any

    def __post_init__(self) -> None:
        table = as_table(self.X)
        wrapped, answers = as_model(self.model, table)
        self.target = Target(wrapped, event_for(None, wrapped, answers[ROW]))
        others = as_table(self.X[self.y != self.y[ROW]])
        self.pool = as_table(self.X.iloc[[ROW]]).stack(others.take(canonical_order(others)))

    def ask(self) -> tuple[SwapContext, BlackBox]:
        """A context and an evaluator that know nothing yet."""
        context = SwapContext(self.pool, make_players(self.pool))
        return context, BlackBox(self.target, context, True, distinct=True)


def same_factors(pruned: Pruned, question: Question) -> tuple[bool, int]:
    """Do both views have the factors and hits of the full sweep? And how many rows has that?"""
    context, evaluator = question.ask()
    tally = run_sweep(evaluator, context.d, Limits()).tally
    same = True
    for findings, counts in ((pruned.keep, tally), (pruned.flip, tally.other_view())):
        true = {m.members: m.hits for m in Profile(counts).minimal_at(TAU)}
        same &= findings.decided and {f.members: f.hits for f in findings.factors} == true
    return same, evaluator.rows_predicted


def report(name: str, question: Question, repeat: int, timed: bool) -> None:
    ratios, overheads = [], []
    for _ in range(repeat):
        started = perf_counter()
        context, evaluator = question.ask()
        pruned = pruned_search(evaluator, context, TAU)
        took = perf_counter() - started
        ratios.append(took / evaluator.model_seconds)
        overheads.append(took - evaluator.model_seconds)
    same, distinct = same_factors(pruned, question)
    share = evaluator.rows_predicted / distinct
    print(f"{name}: {len(pruned.keep.factors)} keep, {len(pruned.flip.factors)} flip factors")
    print(f"  same factors and hits as the full sweep: {same}")
    print(
        f"  rows predicted: {evaluator.rows_predicted:,} of {distinct:,} distinct, {share:.1%}"
        f" (target ≤ 25%) {'ok' if share <= 0.25 else 'MISSED'}"
    )
    ratio = median(ratios)
    verdict = f" (target ≤ 1.15 ×) {'ok' if ratio <= 1.15 else 'MISSED'}" if timed else ""
    print(
        f"  total / inside the model: {ratio:.2f} ×{verdict}; best {min(ratios):.2f} ×; "
        f"{median(overheads) * 1e3:.0f} ms besides"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7)
    repeat = parser.parse_args().repeat
    X, y = datasets.german_credit(data_home())
    with warnings.catch_warnings():  # that more training would change it is no matter here
        warnings.simplefilter("ignore", ConvergenceWarning)
        mlp, longer = (
            make_pipeline(StandardScaler(), MLPClassifier(random_state=1, max_iter=most)).fit(X, y)
            for most in (200, 1000)
        )
    linear = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    trees, *_ = setting(data_home())
    with threadpool_limits(1):
        report("MLP", Question(mlp, X, y), repeat, timed=False)
        report("MLP, sleeping", Question(Sleeping(mlp), X, y), repeat, timed=True)
        report(
            "MLP, trained longer, sleeping", Question(Sleeping(longer), X, y), repeat, timed=True
        )
        report("linear rule, sleeping", Question(Sleeping(linear), X, y), repeat, timed=True)
        report("ExtraTrees", Question(trees, X, y), 3, timed=True)


if __name__ == "__main__":
    main()
