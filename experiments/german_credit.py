"""The setting of the German credit experiments, as in the paper's appendix."""

from pathlib import Path

from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

from suffice import Explainer, Explanation, datasets

INPUT = 998


def setting(data_home: Path):
    """The model, the table and the labels, as in the appendix."""
    X, y = datasets.german_credit(data_home)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)
    model = ExtraTreesClassifier(random_state=0, max_depth=15).fit(X_train, y_train)
    return model, X, y, model.score(X_test, y_test)


def explain(data_home: Path) -> tuple[Explanation, float]:
    """Input row 998 against all 700 references of the other label, τ = 0.9: both views."""
    model, X, y, accuracy = setting(data_home)
    return Explainer(model, X, references=y != y[INPUT]).explain(X.iloc[INPUT], tau=0.9), accuracy
