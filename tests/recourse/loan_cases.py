"""A forest of loans as an explainer, and rows changed as a recourse option says."""

from sklearn.ensemble import RandomForestClassifier

from suffice import Explainer, datasets


def loans_explainer(**options):
    X, y = datasets.loans(300)
    X = X[["age", "income", "debt", "late payments"]]
    model = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y)
    return Explainer(model, X, **options), X, model


def changed(X, position, option):
    row = X.iloc[[position]].copy()
    for name, value in option.values.items():
        row[name] = value
    return row
