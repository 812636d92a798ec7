"""German credit at τ = 0.9, all 700 references: pruned, curtailed search of black boxes.

For each model: rows that the pruned search asks for, its sample for necessity included, as a share
of the *distinct* rows of the full sweep, counted in the same run; whether factors and hits are the
same; and the whole time of the search against the time inside the model, as the evaluator sees it.
BLAS has one thread: for products this thin, on a busy machine, two take several times as long.

The second model is the first, and sleeps 20 µs a row: a ratio of times needs a model that is dear.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from time import perf_counter, sleep
from typing import Any

from experiments.german.setting import setting
from experiments.runner.lab import data_home
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.measure import Row, at_most
from suffice import Target
from suffice.context import make_players
from suffice.context.references import canonical_order
from suffice.context.swap import SwapHybrids
from suffice.evaluate.blackbox import BlackBox
from suffice.models import as_model
from suffice.search import Question as Asked, run_sweep
from suffice.search.profile import Profile
from suffice.search.pruned import Pruned, pruned_search
from suffice.tables import as_table
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

    def ask(self) -> tuple[SwapHybrids, BlackBox]:
        """A context and an evaluator that know nothing yet."""
        context = SwapHybrids(self.pool, make_players(self.pool))
        return context, BlackBox(self.target, context, True, distinct=True)


def same_factors(pruned: Pruned, question: Question) -> tuple[bool, int]:
    """Do both views have the factors and hits of the full sweep? And how many rows has that?"""
    context, evaluator = question.ask()
    tally = run_sweep(evaluator, context.d).tally
    same = True
    for findings, counts in ((pruned.keep, tally), (pruned.flip, tally.other_view())):
        true = {m.members: m.hits for m in Profile(counts).minimal_at(TAU)}
        same &= findings.decided and {f.members: f.hits for f in findings.factors} == true
    return same, evaluator.rows_predicted


def rows() -> Iterator[Row]:
    if not data_home().is_dir():
        yield Row("pruned search on German", "-", "-", None, f"no data at {data_home()}")
        return
    trees, X, y, _ = setting(data_home())
    with warnings.catch_warnings():  # that more training would change it is no matter here
        warnings.simplefilter("ignore", ConvergenceWarning)
        mlp, longer = (
            make_pipeline(StandardScaler(), MLPClassifier(random_state=1, max_iter=most)).fit(X, y)
            for most in (200, 1000)
        )
    with threadpool_limits(1):
        yield from _measured("MLP", Question(mlp, X, y), timed=False)
        yield from _measured("MLP that sleeps 20 µs a row", Question(Sleeping(mlp), X, y))
        yield from _measured("MLP trained longer, sleeping", Question(Sleeping(longer), X, y))
        yield from _measured("ExtraTrees as a black box", Question(trees, X, y), timed=False)


def _measured(name: str, question: Question, timed: bool = True, runs: int = 5) -> Iterator[Row]:
    ratios, overheads = [], []
    for _ in range(runs):
        started = perf_counter()
        context, evaluator = question.ask()
        pruned = pruned_search(evaluator, context, Asked(TAU))
        took = perf_counter() - started
        ratios.append(took / evaluator.model_seconds)
        overheads.append(took - evaluator.model_seconds)
    same, distinct = same_factors(pruned, question)
    share = evaluator.rows_predicted / distinct
    asked = f"{evaluator.rows_predicted:,} of {distinct:,} distinct rows"
    detail = f"{asked}; {'the same factors' if same else 'OTHER FACTORS'}"
    yield at_most(f"pruned, {name}: rows", 100 * share, 25, detail, "%")
    if timed:
        detail = f"{1e3 * median(overheads):.0f} ms besides the model"
        yield at_most(f"pruned, {name}: time / model time", median(ratios), 1.15, detail)
