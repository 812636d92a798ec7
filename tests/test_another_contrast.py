"""An explainer with another contrast answers as one that was made with it."""

import pandas as pd
import pytest

from suffice import ConditionalContext, Explainer, InputError, datasets

X, y = datasets.loans()
X = X[["age", "income", "debt", "late payments"]]


class Counting:
    """A model that counts the rows it is asked about."""

    def __init__(self):
        self.rows = 0

    def __call__(self, rows):
        self.rows += len(rows)
        return (rows["income"] - 2 * rows["debt"] > 10).map({True: "granted", False: "refused"})


@pytest.mark.parametrize(
    "changes",
    [
        {"references": "all"},
        {"references": (X["age"] > 40).to_numpy(), "n_references": 20},
        {"outcome": "granted", "n_references": 30},
        {"groups": {"money": ["income", "debt"]}},
        {"context": ConditionalContext(), "n_references": 20},
    ],
)
def test_it_answers_as_an_explainer_made_so(changes):
    made = Explainer(Counting(), X, **changes).explain(X.iloc[8], search="exhaustive")
    other = Explainer(Counting(), X).but(**changes).explain(X.iloc[8], search="exhaustive")
    pd.testing.assert_frame_equal(made.to_frame(), other.to_frame())
    assert made.keep.curve == other.keep.curve


def test_the_model_is_not_asked_about_the_data_again():
    model = Counting()
    explainer = Explainer(model, X)
    before = model.rows
    explainer.but(references="all", n_references=10)
    assert model.rows == before


def test_the_first_explainer_stays_as_it_was():
    explainer = Explainer(Counting(), X)
    explainer.but(references="all", groups={"money": ["income", "debt"]}, n_references=3)
    assert len(explainer.explain(X.iloc[8]).players) == 4


def test_what_is_no_contrast_is_refused_by_name():
    with pytest.raises(InputError, match="but: got 'engine'; allowed: outcome, references"):
        Explainer(Counting(), X).but(engine="trees")
