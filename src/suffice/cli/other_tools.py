"""Other explainers that `suffice audit` can run, to have what they say graded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InputError

if TYPE_CHECKING:
    from suffice.explainer import Explainer

__all__ = ["TOOLS", "other_tools"]

TOOLS = ("shap", "permutation")
_BACKGROUND = 50
"""Rows that shap averages over."""
_PERMUTED, _REPEATS = 1000, 5


def other_tools(names: list[str], explainer: Explainer, labels: Any) -> dict[str, Any]:
    """By name: a function from a row to what the tool says of it, or what it says of all."""
    if explainer.decider.model.classes is None:
        raise InputError("[grade]", "it of a model of numbers", "a model of classes")
    made: dict[str, Callable[[], Any]] = {
        "shap": lambda: _shap(explainer),
        "permutation": lambda: _permutation(explainer, labels),
    }
    return {name: made[name]() for name in names}


def _shap(explainer: Explainer) -> Callable[[Any], dict[str, float]]:
    """shap's permutation explainer, of the score of the class that is predicted.

    A cell is the number of the row that it is taken from, so columns of any kind will do.
    """
    try:
        import shap
    except ImportError as error:
        hint = "pip install shap"
        raise InputError("[grade] tools", "shap, which is not here", "permutation", hint) from error
    from suffice.randomness import Stream, generator
    from suffice.tables import as_table

    of, data = explainer.decider, explainer.decider.data
    drawn = generator(of.seed, Stream.AUDITED, 1).permutation(len(data))[:_BACKGROUND]
    background = data.take(np.sort(drawn))
    m, d = len(background), len(data.names)

    def says(row: Any) -> dict[str, float]:
        own = as_table(row, names=data.names, argument="row")
        pool = background.stack(own)
        (label,) = of.model.predict(own.take(np.array([0]))).tolist()
        which = [str(c) for c in of.model.classes or ()].index(str(label))

        def score(cells: Any) -> Any:
            return of.model.scores(pool.gather(np.asarray(cells).astype(int)))[:, which]

        masker = shap.maskers.Independent(np.repeat(np.arange(m)[:, None], d, axis=1), m)
        asked = shap.explainers.Permutation(score, masker, seed=of.seed)
        found = asked(np.full((1, d), m), max_evals=10 * (2 * d + 1), silent=True).values[0]
        return _by_player(explainer, found)

    return says


def _permutation(explainer: Explainer, labels: Any) -> dict[str, float]:
    """scikit-learn's: how much worse the model gets when a column is shuffled. True of all rows."""
    from sklearn.inspection import permutation_importance

    from suffice.tables import as_table

    if labels is None:
        raise InputError("[grade] tools", "permutation without labels", "it with [data] target")
    of = explainer.decider

    def right(_: Any, X: Any, y: Any) -> float:
        return float(np.mean([str(a) for a in of.model.predict(as_table(X))] == np.asarray(y)))

    rows = np.linspace(0, len(of.data) - 1, min(_PERMUTED, len(of.data))).astype(int)
    found = permutation_importance(
        of.model.original,
        of.data.take(rows).native,
        np.asarray([str(label) for label in np.asarray(labels)[rows]]),
        scoring=right,
        n_repeats=_REPEATS,
        random_state=of.seed,
    )
    return _by_player(explainer, found.importances_mean)


def _by_player(explainer: Explainer, by_column: Any) -> dict[str, float]:
    players = explainer.decider.players
    return {
        name: float(sum(by_column[j] for j in columns))
        for name, columns in zip(players.names, players.columns, strict=True)
    }
