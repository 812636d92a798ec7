"""German credit: pruned, curtailed search of black boxes, on rows that were not used for tuning.

For each model 20 rows with odd numbers, each at three thresholds: rows that the pruned search asks
for, its sample for necessity included, as a share of the *distinct* rows of the full sweep, counted
in the same run; and whether factors and hits are the same. What the search asks first was tuned on
rows with even numbers. References are all rows of the other label, 300 or 700.

For row 998 at τ = 0.9, the whole time of the search against the time inside the model, as the
evaluator sees it, for a model that sleeps 20 µs a row: a ratio of times needs a model that is dear.
BLAS has one thread: for products this thin, on a busy machine, two take several times as long.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from time import perf_counter, sleep
from typing import Any

import numpy as np
from experiments.german.setting import setting
from experiments.runner.lab import data_home
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.timing import Row, at_most
from suffice import Target
from suffice.context import make_players
from suffice.context.hybrids import SwapHybrids
from suffice.context.references import canonical_order
from suffice.engines.blackbox import BlackBox
from suffice.models import wrap_model
from suffice.search import Question as Asked, exhaustive_search
from suffice.search.exhaustive import Tally
from suffice.search.findings import DecidedSets
from suffice.search.profile import Profile
from suffice.search.pruned import pruned_search
from suffice.tables import as_table
from suffice.target import event_for

TAUS = (0.8, 0.9, 0.95)
ROWS = 20
TIMED = 998
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
    row: int = TIMED

    def __post_init__(self) -> None:
        table = as_table(self.X)
        wrapped, answers = wrap_model(self.model, table)
        self.target = Target(wrapped, event_for(None, wrapped, answers[self.row]))
        others = as_table(self.X[self.y != self.y[self.row]])
        self.pool = as_table(self.X.iloc[[self.row]]).stack(others.take(canonical_order(others)))

    def ask(self) -> tuple[SwapHybrids, BlackBox]:
        """A context and an evaluator that know nothing yet."""
        context = SwapHybrids(self.pool, make_players(self.pool))
        return context, BlackBox(self.target, context, True, distinct=True)


def held_out(X: Any) -> list[int]:
    """Rows with odd numbers, the same ones for every model."""
    return np.random.default_rng(0).choice(np.arange(1, len(X), 2), ROWS, replace=False).tolist()


def same_factors(pruned: DecidedSets, tally: Tally, tau: float) -> bool:
    """Do both views have the factors and hits of the full sweep?"""
    same = True
    for findings, counts in ((pruned.keep, tally), (pruned.flip, tally.other_view())):
        true = {m.members: m.hits for m in Profile(counts).minimal_at(tau)}
        same &= findings.decided and {f.members: f.hits for f in findings.factors} == true
    return same


def rows() -> Iterator[Row]:
    if not data_home().is_dir():
        yield Row("pruned search on German", "-", "-", None, f"no data at {data_home()}")
        return
    trees, X, y, _ = setting(data_home())
    X_train, _, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=42)
    forest = RandomForestClassifier(random_state=0).fit(X_train, y_train)
    with warnings.catch_warnings():  # that more training would change it is no matter here
        warnings.simplefilter("ignore", ConvergenceWarning)
        mlp, longer = (
            make_pipeline(StandardScaler(), MLPClassifier(random_state=1, max_iter=most)).fit(X, y)
            for most in (200, 1000)
        )
    with threadpool_limits(1):
        shares: list[float] = []
        for name, model in (("MLP", mlp), ("ExtraTrees", trees), ("RandomForest", forest)):
            measured, same = _shares(model, X, y)
            yield _row(name, measured, same)
            shares += measured
        yield _row("all three models", shares, True)
        yield _timed("MLP that sleeps 20 µs a row", Question(Sleeping(mlp), X, y))
        yield _timed("MLP trained longer, sleeping", Question(Sleeping(longer), X, y))


def _shares(model: Any, X: Any, y: Any) -> tuple[list[float], bool]:
    """By row and τ: the share of distinct rows asked for; and were all answers right?"""
    shares, same = [], True
    for row in held_out(X):
        question = Question(model, X, y, row)
        context, counting = question.ask()
        tally = exhaustive_search(counting, context.d).tally
        for tau in TAUS:
            context, evaluator = question.ask()
            pruned = pruned_search(evaluator, context, Asked(tau))
            same &= same_factors(pruned, tally, tau)
            shares.append(evaluator.rows_predicted / counting.rows_predicted)
    return shares, same


def _row(name: str, shares: list[float], same: bool) -> Row:
    low, high = np.quantile(shares, [0.25, 0.75])
    detail = (
        f"median of {len(shares)} questions, quartiles {100 * low:.0f}–{100 * high:.0f}%, "
        f"most {100 * max(shares):.0f}%; {'the same factors' if same else 'OTHER FACTORS'}"
    )
    return at_most(f"pruned, {name}: rows", 100 * median(shares), 25, detail, "%")


def _timed(name: str, question: Question, runs: int = 5) -> Row:
    ratios, overheads = [], []
    for _ in range(runs):
        started = perf_counter()
        context, evaluator = question.ask()
        pruned_search(evaluator, context, Asked(0.9))
        took = perf_counter() - started
        ratios.append(took / evaluator.model_seconds)
        overheads.append(took - evaluator.model_seconds)
    detail = f"{1e3 * median(overheads):.0f} ms besides the model"
    return at_most(f"pruned, {name}: time / model time", median(ratios), 1.15, detail)
