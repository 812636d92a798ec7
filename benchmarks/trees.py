"""How much faster the tree engine is than the models it reads, and than shap on the same trees.

A sweep is everything that an explanation pays for its input: turning the ensemble towards it,
walking, summing, and asking the model about ties. Reading the model is done once per model, and
numba is loaded before anything is timed.
"""

import resource
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from experiments.german.setting import setting
from experiments.runner.lab import data_home
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import RandomForestClassifier

from benchmarks.timing import Row, Work, at_least, at_most, ratio, seconds
from suffice import Explainer
from suffice.context import SwapHybrids, make_players
from suffice.engines import BlackBox
from suffice.engines.trees import TreeEngine, TreeModel, read_trees
from suffice.factors.lattice import held_of_masks
from suffice.models import wrap_model
from suffice.tables import as_table
from suffice.target import Target, event_for


class Case:
    """One input, its references and a model, ready to be swept."""

    def __init__(self, model: Any, row: Any, references: Any, sweeps: bool = True) -> None:
        self.model = model
        table = as_table(row)
        wrapped, _ = wrap_model(model, as_table(references))
        self.target = Target(wrapped, event_for(None, wrapped, wrapped.predict(table)[0]))
        self.hybrids = SwapHybrids(table.stack(as_table(references)), make_players(table))
        self.y = bool(self.target(table)[0])
        self.trees = TreeModel(read_trees(model))
        if sweeps:
            self.sweep()

    def sweep(self) -> int:
        engine = TreeEngine(self.trees, self.target, self.hybrids, self.y, "numba")
        hits = sum(int(found.sum()) for _, found, _ in engine.sweep())
        assert engine.note is None
        return hits

    def rows(self) -> Any:
        """Every hybrid, as a table."""
        d, n = self.hybrids.d, self.hybrids.n
        held = held_of_masks(np.arange(1 << d), d)
        return self.hybrids.rows(np.repeat(held, n, axis=0), np.tile(np.arange(n), 1 << d))


def rows() -> Iterator[Row]:
    if find_spec("numba") is None:
        yield Row("tree engine", "-", "-", None, "numba is not installed")
        return
    if data_home().is_dir():
        yield from _german()
    for library in ("xgboost", "lightgbm"):
        yield _boosted(library)
    times = {}
    for d, n, target in ((16, 256, 300), (20, 128, 1000), (22, 128, 1000)):
        times[d], row = _rate(d, n, target)
        yield row
    yield _explained(20, 50, 1000)
    growth = times[22] / times[20] / (4 * 22 / 20)
    yield at_most("time from d = 20 to 22 over that of 2^d · d", growth, 1.0, "128 references")
    yield from _lists()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    yield at_most("memory after d = 22", peak, 2.0, "the whole run's peak", "GiB")


def _german() -> Iterator[Row]:
    model, X, y, _ = setting(data_home())
    references = X[y != y[998]].reset_index(drop=True)
    case = Case(model, X.iloc[[998]], references)
    row = _against_predict("German, ExtraTrees-100, all 512 subsets / predict", case, 25)
    yield replace(row, detail=f"{row.detail}; scikit-learn {version('scikit-learn')}")
    yield from _one_explanation(model, X, y)


ROWS = range(3, 1000, 45)
"""Rows of German credit to report on; the engine was tuned on others."""


def _one_explanation(model: Any, X: Any, y: Any) -> Iterator[Row]:
    """All that `explain` does for a row, against peers that are given the same references."""
    label = y[998]
    references = X[y != label].reset_index(drop=True)
    explainer = Explainer(model, X, references=y != label)
    rows = [X.iloc[i] for i in ROWS if y[i] == label][:8]
    arrays = [row.to_frame().T.to_numpy(float) for row in rows]

    def ours() -> None:
        for row in rows:
            explainer.explain(row)

    for _ in range(3):
        ours()
    took = seconds(ours) / len(rows)
    detail = f"512 subsets × {len(references)} references, mean of {len(rows)} rows"
    what = "German: one explanation, 700 references, warm"
    yield at_most(what, 1e3 * took, 20, detail, "ms")
    what = "German: shap TreeExplainer, interventional / explain"
    if find_spec("shap") is None:
        yield Row(what, "-", "≥ 12 ×", None, "shap is not installed")
    else:
        import shap

        # A plain array as background is silently cut to 100 rows: the masker says how many to keep.
        numbers = references.to_numpy(float)
        background = shap.maskers.Independent(numbers, max_samples=len(numbers))
        peer = shap.TreeExplainer(model, background, feature_perturbation="interventional")
        times, theirs, took = ratio(
            lambda: [peer.shap_values(x, check_additivity=False) for x in arrays], ours, runs=3
        )
        detail = f"{1e3 * took / len(rows):.0f} ms; shap {version('shap')} "
        detail += f"{theirs / len(rows):.2f} s for 9 values"
        yield at_least(what, times, 12, detail)
    yield _against_shapiq(model, references, arrays, ours)


def _against_shapiq(model: Any, references: Any, arrays: list[Any], ours: Work) -> Row:
    what = "German: shapiq's Shapley values, interventional / explain"
    if find_spec("shapiq") is None:
        return Row(what, "-", "≥ 3 ×", None, "shapiq is not installed (it needs Python 3.12)")
    from shapiq.tree.interventional.computer import InterventionalTreeSHAPIQ

    peer = InterventionalTreeSHAPIQ(
        model, references.to_numpy(float), class_index=1, index="SV", max_order=1
    )
    times, theirs, took = ratio(lambda: [peer.explain_function(x[0]) for x in arrays], ours, runs=3)
    each = len(arrays)
    detail = f"{1e3 * took / each:.0f} ms; shapiq {version('shapiq')} {1e3 * theirs / each:.0f} ms"
    return at_least(what, times, 3, detail)


def _boosted(library: str) -> Row:
    what = f"{library}, 300 trees of depth 6, d = 12, 500 references / predict"
    if find_spec(library) is None:
        return Row(what, "-", "≥ 50 ×", None, f"{library} is not installed")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 12))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + np.sin(3 * X[:, 3]) + rng.normal(size=4000) > 0).astype(int)
    if library == "xgboost":
        import xgboost

        model: Any = xgboost.XGBClassifier(n_estimators=300, max_depth=6, n_jobs=2)
    else:
        import lightgbm

        model = lightgbm.LGBMClassifier(
            n_estimators=300, max_depth=6, num_leaves=63, n_jobs=2, verbose=-1
        )
    model.fit(X, y)
    answers = model.predict(X)
    row = _against_predict(what, Case(model, X[:1], X[answers != answers[0]][:500]), 50)
    return replace(row, detail=f"{row.detail}; {library} {import_module(library).__version__}")


def _against_predict(what: str, case: Case, target: float) -> Row:
    everything = case.rows()
    assert case.sweep() == int((case.target(everything) == case.y).sum()), "the counts differ"
    times, theirs, ours = ratio(lambda: case.model.predict(everything.native), case.sweep)
    detail = f"{1e3 * ours:.0f} ms; predict of {len(everything):,} rows {theirs:.2f} s"
    return at_least(what, times, target, detail)


def _forest(d: int) -> tuple[RandomForestClassifier, np.ndarray]:
    rng = np.random.default_rng(d)
    X = rng.normal(size=(2000, d))
    y = (X[:, : d // 2].sum(axis=1) + X[:, 0] * X[:, 1] > 0).astype(int)
    return RandomForestClassifier(100, random_state=0).fit(X, y), X


def _explained(d: int, n: int, target: float) -> Row:
    """The whole of it: input predicted, search planned, sets counted, flips priced, both views."""
    model, X = _forest(d)
    explainer = Explainer(model, X, n_references=n)
    many = np.tile(X, (25, 1))

    def explain() -> None:
        e = explainer.explain(X[0], search="auto")
        assert e.complete and e.provenance.hybrids == n << d

    times, theirs, ours = ratio(lambda: model.predict(many), explain)
    detail = f"{1e3 * ours:.0f} ms; predict {len(many) / theirs:.3g} rows/s"
    what = f"forest of 100, d = {d}, {n} references, a whole explanation: hybrids/s over rows/s"
    return at_least(what, times * (n << d) / len(many), target, detail)


def _rate(d: int, n: int, target: float) -> tuple[float, Row]:
    model, X = _forest(d)
    answers = model.predict(X)
    case = Case(model, X[:1], X[answers != answers[0]][:n])
    many = np.tile(X, (25, 1))
    theirs = len(many) / seconds(lambda: model.predict(many))
    took = seconds(case.sweep)
    ours = case.hybrids.n * 2.0**d / took
    detail = f"{n} references: {ours:.3g} hybrids/s; predict {theirs:.3g} rows/s"
    what = f"forest of 100, d = {d}: hybrids/s over rows/s"
    return took, at_least(what, ours / theirs, target, detail)


def _lists() -> Iterator[Row]:
    """Any subsets, half of their players held: the least that such lists have in common."""
    X, y = load_breast_cancer(return_X_y=True)
    yield _list("breast cancer, d = 30", X, y)
    yield _list("d = 100", *make_classification(2000, 100, n_informative=12, random_state=0))


def _list(what: str, X: Any, y: Any) -> Row:
    model = RandomForestClassifier(100, random_state=0).fit(X, y)
    answers = model.predict(X)
    case = Case(model, X[:1], X[answers != answers[0]][:100], sweeps=False)
    held = np.random.default_rng(0).random((1000, X.shape[1])) < 0.5
    engine = TreeEngine(case.trees, case.target, case.hybrids, case.y, "numba")
    asked = BlackBox(case.target, case.hybrids, case.y).outcomes(held)
    assert (engine.outcomes(held) == asked).all(), "the outcomes differ"

    def ask() -> object:
        return BlackBox(case.target, case.hybrids, case.y).outcomes(held)

    times, theirs, ours = ratio(ask, lambda: engine.outcomes(held))
    detail = (
        f"1,000 subsets × {case.hybrids.n} references: {asked.size / ours:.3g} hybrids/s; "
        f"by asking {asked.size / theirs:.3g}"
    )
    return at_least(f"list of subsets, forest of 100, {what} / black box", times, 20, detail)
