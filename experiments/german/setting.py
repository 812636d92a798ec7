"""The setting of the German credit experiments, as in the paper's appendix."""

from pathlib import Path

from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

from suffice import Explainer, Explanation, Option, datasets
from suffice.datasets import GERMAN_CATEGORIES

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
    return Explainer(model, X, references=y != y[INPUT]).explain(
        X.iloc[INPUT], tau=0.9, search="exhaustive"
    ), accuracy


def in_words(column: str, value: float) -> str:
    """A value of the prepared table as the data has it: NA where the column's mean stands for it.

    >>> in_words("Checking", 0.651815), in_words("Housing", 0), in_words("Duration", 30)
    ('NA', 'own', '30')
    """
    names = GERMAN_CATEGORIES.get(column)
    if names is None:
        return f"{value:g}"
    return names[int(value)] if float(value).is_integer() else "NA"


def new_values(option: Option) -> str:
    """What an option changes to, as the paper writes it: "Age: 65, Housing: own"."""
    moved = option.changes.items()
    return ", ".join(f"{column}: {in_words(column, new)}" for column, (_, new) in moved)
