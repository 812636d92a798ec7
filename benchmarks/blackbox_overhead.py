"""German credit, 9 features, 700 references, ExtraTrees: the black box's overhead."""

from collections.abc import Iterator

import numpy as np
from experiments.german.setting import setting
from experiments.runner.lab import data_home

from benchmarks.timing import Row, at_most, ratio
from suffice import Explainer


def rows() -> Iterator[Row]:
    home = data_home()
    if not home.is_dir():
        yield Row("German credit", "-", "-", None, f"no data at {home}: set SUFFICE_DATA")
        return
    model, X, y, _ = setting(home)
    explainer = Explainer(model, X, references=y != y[998], engine="blackbox")
    row = X.iloc[998]

    def everything_predicted() -> None:
        """The plain vectorised way: build all 2^9 × 700 hybrids and predict them at once."""
        x, references = row.to_numpy(float), X[y != y[998]].to_numpy(float)
        held = (np.arange(512)[:, None] >> np.arange(9) & 1).astype(bool)
        hybrids = np.where(held[:, None], x, references).reshape(-1, 9)
        frame = type(X)(hybrids, columns=X.columns)
        (model.predict(frame).reshape(512, -1) == model.predict(X.iloc[[998]])[0]).sum(axis=1)

    needed = distinct_hybrids(X, y)

    def ours() -> None:
        explainer.explain(row, search="exhaustive")

    times, took, predict = ratio(ours, lambda: model.predict(needed))
    detail = f"{took:.3f} s; predict of {len(needed):,} distinct rows {predict:.3f} s"
    yield at_most("German: explain / predict of the rows needed", times, 1.3, detail)
    times, took, plain = ratio(ours, everything_predicted)
    detail = f"{took:.3f} s; numpy with one predict of 358,400 rows {plain:.3f} s"
    yield at_most("German: explain / vectorised numpy", times, 0.3, detail)


def distinct_hybrids(X, y):
    x, references = X.iloc[998].to_numpy(float), X[y != y[998]].to_numpy(float)
    held = (np.arange(512)[:, None] >> np.arange(9) & 1).astype(bool)
    hybrids = np.where(held[:, None], x, references).reshape(-1, 9)
    return type(X)(hybrids, columns=X.columns).drop_duplicates(ignore_index=True)
