"""German credit, input row 998, all 700 references of the other outcome, τ = 0.9: both views.

The setting of the paper's appendix. Run: make reproduce
"""

import sys
from pathlib import Path

from rich.console import Console
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

from experiments.lab import data_home
from suffice import Explainer, Explanation, InputError, datasets

INPUT = 998


def setting(data_home: Path):
    """The model, the table and the labels, as in the appendix."""
    X, y = datasets.german_credit(data_home)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)
    model = ExtraTreesClassifier(random_state=0, max_depth=15).fit(X_train, y_train)
    return model, X, y, model.score(X_test, y_test)


def explain(data_home: Path) -> tuple[Explanation, float]:
    model, X, y, accuracy = setting(data_home)
    return Explainer(model, X, references=y != y[INPUT]).explain(X.iloc[INPUT], tau=0.9), accuracy


def main() -> None:
    console = Console(highlight=False)
    try:
        explanation, accuracy = explain(data_home())
    except InputError as error:
        sys.exit(f"Error: {error}")
    console.print(explanation)
    console.print(f"\nheld-out accuracy {accuracy:.2f}")
    for view in (explanation.keep, explanation.flip):
        console.print(f"\n{view.name}: cumulative PN {view.necessity:.6f}")
        for factor in view.factors:
            console.print(f"  PS {factor.sufficiency:.6f}  {', '.join(factor.features)}")


if __name__ == "__main__":
    main()
