"""DiCE as a peer: on the same grid it finds nothing that recourse misses (Sect. 5.3)."""

import warnings

import numpy as np
import pytest

from suffice import Explainer, datasets
from suffice.context import make_players
from suffice.context.cost import change_costs
from suffice.tables import as_table

dice_ml = pytest.importorskip("dice_ml")

NUMBERS = ["income", "debt", "late payments"]
CATEGORIES = ["home", "job"]


@pytest.fixture(scope="module")
def setting():
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    X, y = datasets.loans(300)
    X = X[NUMBERS + CATEGORIES]
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), CATEGORIES), remainder="passthrough"
    )
    forest = RandomForestClassifier(n_estimators=30, random_state=0)
    model = make_pipeline(encoder, forest).fit(X, y)
    return model, X, y


def counterfactuals(model, X, y, row, method):
    """DiCE's counterfactuals as rows of X that the model itself confirms."""
    frame = X.assign(decision=(y == "granted").astype(int))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = dice_ml.Data(dataframe=frame, continuous_features=NUMBERS, outcome_name="decision")
        explainer = dice_ml.Dice(
            data, dice_ml.Model(model=Numbered(model), backend="sklearn"), method=method
        )
        options = {"random_seed": 1} if method == "random" else {}
        np.random.seed(1)  # noqa: NPY002  the genetic search draws from numpy's global state
        found = explainer.generate_counterfactuals(
            row, total_CFs=12, desired_class="opposite", verbose=False, **options
        )
    rows = found.cf_examples_list[0].final_cfs_df[list(X.columns)]
    rows = rows.astype(dict.fromkeys(NUMBERS, float)).drop_duplicates(ignore_index=True)
    whole = (rows[NUMBERS] == rows[NUMBERS].round()).all(axis=1)
    rows = rows[whole].astype(X.dtypes.to_dict()).reset_index(drop=True)
    return rows[model.predict(rows) != model.predict(row)[0]].reset_index(drop=True)


class Numbered:
    """The same model with classes 0 and 1, as DiCE wants them."""

    def __init__(self, model):
        self._model = model
        self.classes_ = np.array([0, 1])

    def predict_proba(self, rows):
        return self._model.predict_proba(rows)[:, ::-1]

    def predict(self, rows):
        return (self._model.predict(rows) == "granted").astype(int)


@pytest.mark.parametrize("method", ["random", "genetic"])
def test_dice_finds_nothing_that_recourse_misses(setting, method):
    model, X, y = setting
    # Whole steps of 1 within the observed ranges, and observed categories: DiCE's own space.
    explainer = Explainer(model, X, references="all")
    refused = np.flatnonzero(model.predict(X) == "refused")[:6]
    compared, dearer = 0, 0
    for i in refused:
        row = X.iloc[[i]]
        r = explainer.recourse(row, values="grid", steps=dict.fromkeys(NUMBERS, 1))
        assert r.complete and r.feasible
        theirs = counterfactuals(model, X, y, row, method)
        pool = as_table(row.reset_index(drop=True)).stack(as_table(theirs))
        costs = change_costs(pool, as_table(X), make_players(as_table(X))).sum(axis=1)
        inside = (
            (theirs[NUMBERS] >= X[NUMBERS].min()) & (theirs[NUMBERS] <= X[NUMBERS].max())
        ).all(axis=1)
        for k in np.flatnonzero(inside):
            changed = {c for c in X.columns if theirs.loc[k, c] != row.iloc[0][c]}
            better = [
                o for o in r.options if set(o.features) <= changed and o.cost <= costs[k] + 1e-9
            ]
            assert better, f"DiCE changes {changed} at cost {costs[k]:.3f}"
            compared += 1
            dearer += costs[k] > r.best.cost + 1e-9
    assert compared >= 20
    assert dearer > compared / 2  # exact search is cheaper than most of what is drawn
