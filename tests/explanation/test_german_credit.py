"""German credit as published: both views' factors, PS and PN to six digits."""

import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

from suffice import Explainer, InputError, datasets

KEEP = {
    ("Age", "Housing", "Checking", "Duration"): 0.941429,
    ("Job", "Housing", "Checking", "Duration"): 0.941429,
    ("Age", "Savings", "Checking", "Duration"): 0.965714,
    ("Housing", "Savings", "Checking", "Duration"): 0.918571,
    ("Housing", "Checking", "Credit", "Duration"): 0.928571,
    ("Savings", "Checking", "Duration", "Purpose"): 0.911429,
    ("Job", "Housing", "Savings", "Checking", "Credit", "Purpose"): 0.955714,
}
FLIP = {
    ("Age", "Job", "Housing", "Checking", "Duration"): 0.902857,
    ("Age", "Housing", "Savings", "Checking", "Duration"): 0.914286,
    ("Age", "Housing", "Checking", "Duration", "Purpose"): 0.914286,
    ("Housing", "Savings", "Checking", "Duration", "Purpose"): 0.910000,
    ("Sex", "Job", "Housing", "Savings", "Checking", "Duration"): 0.905714,
    ("Age", "Sex", "Housing", "Checking", "Credit", "Duration"): 0.917143,
    ("Sex", "Job", "Housing", "Checking", "Credit", "Duration", "Purpose"): 0.908571,
}


@pytest.fixture(scope="module")
def german(data_home):
    X, y = datasets.german_credit(data_home)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)
    model = ExtraTreesClassifier(random_state=0, max_depth=15).fit(X_train, y_train)
    assert model.score(X_test, y_test) == 0.71
    return model, X, y


@pytest.mark.parametrize("engine", ["blackbox", "trees"])
def test_published_factors_and_necessities(german, engine):
    model, X, y = german
    explainer = Explainer(model, X, references=y != y[998], engine=engine)
    e = explainer.explain(X.iloc[998], tau=0.9, search="exhaustive")
    assert e.provenance.evaluator == engine
    assert e.provenance.n_references == 700
    assert e.provenance.hybrids == 358_400
    if engine == "blackbox":
        assert e.provenance.rows_predicted == 1 + 59_417  # the input first
    else:  # the model is needed for the ties alone, 1,108 hybrids, and a few rows as a check
        assert 0 < e.provenance.rows_predicted < 1_108 + 64
    for view, published, necessity in ((e.keep, KEEP, 0.334298), (e.flip, FLIP, 0.143505)):
        assert {f.features: round(f.sufficiency, 6) for f in view.factors} == published
        assert round(view.necessity, 6) == necessity
    assert e.complete


def test_sufficiency_is_not_monotone(german):
    """Adding a held feature can make the outcome rarer, so no shortcut may assume otherwise."""
    model, X, y = german
    e = Explainer(model, X, references=y != y[998]).explain(X.iloc[998])
    names = [p.name for p in e.keep.players]
    falls = pairs = 0
    dense = e.keep.tally.dense
    for j in range(len(names)):
        halves = dense.reshape(-1, 2, 1 << j)
        falls += int((halves[:, 1] < halves[:, 0]).sum())
        pairs += halves[:, 0].size
    assert 0 < falls / pairs < 0.3


def test_a_missing_data_set_says_where_to_get_it(tmp_path):
    with pytest.raises(InputError, match=r"german_credit_data.csv.*Kaggle.*SUFFICE_DATA"):
        datasets.german_credit(tmp_path)
