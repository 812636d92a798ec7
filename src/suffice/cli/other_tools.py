"""Other explainers that `suffice audit` can run, to have what they say graded."""

from __future__ import annotations

import importlib
import io
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InputError
from suffice.wording import and_more

if TYPE_CHECKING:
    from suffice.explainer import Explainer
    from suffice.tables import Table

__all__ = ["TOOLS", "other_tools"]

TOOLS = ("shap", "anchors", "dice", "permutation")
_BACKGROUND = 50
"""Rows that shap averages over."""
_PERMUTED, _REPEATS = 1000, 5
_COUNTERFACTUALS = 5
_OUTCOME = "the outcome"
"""The column in which DiCE wants to have what is predicted."""


def other_tools(names: list[str], explainer: Explainer, labels: Any) -> dict[str, Any]:
    """By name: a function from a row to what the tool says of it, or what it says of all."""
    if explainer.decider.model.classes is None:
        raise InputError("[grade]", "it of a model of numbers", "a model of classes")
    made: dict[str, Callable[[], Any]] = {
        "shap": lambda: _shap(explainer),
        "anchors": lambda: _anchors(explainer),
        "dice": lambda: _dice(explainer),
        "permutation": lambda: _permutation(explainer, labels),
    }
    return {name: made[name]() for name in names}


def _shap(explainer: Explainer) -> Callable[[Any], dict[str, float]]:
    """shap's permutation explainer, of the score of the class that is predicted.

    A cell is the number of the row that it is taken from, so columns of any kind will do.
    """
    shap = _package("shap", "shap")
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


def _anchors(explainer: Explainer) -> Callable[[Any], Any]:
    """anchor-exp, as it comes: numbers cut at their quartiles, rules of precision 0.95."""
    module = _package("anchors", "anchor.anchor_tabular", "anchor-exp")
    from suffice.tables import as_table

    of, codes = explainer.decider, _Coded(explainer.decider.data, "anchors")
    known = module.AnchorTabularExplainer(
        [str(c) for c in of.model.classes or ()],
        list(of.data.names),
        codes.encode(of.data),
        {j: [str(value) for value in values] for j, values in codes.values.items()},
    )

    def labels(rows: Any) -> Any:
        return np.asarray([str(label) for label in of.model.predict(codes.decode(rows))])

    def says(row: Any) -> Any:
        (own,) = codes.encode(as_table(row, names=of.data.names, argument="row"))
        with _seeded(of.seed):
            return known.explain_instance(own, labels)

    return says


def _dice(explainer: Explainer) -> Callable[[Any], list[dict[str, Any]]]:
    """dice-ml by its random search, as it comes: rows that ought to have another outcome."""
    dice_ml = _package("dice", "dice_ml", "dice-ml")
    import pandas as pd

    from suffice.tables import as_table

    of, codes = explainer.decider, _Coded(explainer.decider.data, "dice")
    if len(of.model.classes or ()) != 2:
        raise InputError("[grade] tools", "dice with more than 2 classes", "it with 2 classes")

    def frame(rows: Table) -> Any:
        """Categories by their numbers, as texts: DiCE would draw others as numbers."""
        made = pd.DataFrame(codes.encode(rows), columns=list(of.data.names))
        return made.astype({of.data.names[j]: int for j in codes.values}).astype(
            {of.data.names[j]: str for j in codes.values}
        )

    def table(rows: Any) -> Table:
        return codes.decode(rows[list(of.data.names)].astype(float).to_numpy())

    classes = [str(c) for c in of.model.classes or ()]

    class Asked:
        classes_ = np.arange(2)

        def predict(self, rows: Any) -> Any:
            return np.array([classes.index(str(c)) for c in of.model.predict(table(rows))])

        def predict_proba(self, rows: Any) -> Any:
            return of.model.scores(table(rows))

    numbers = [name for j, name in enumerate(of.data.names) if j not in codes.values]
    given = frame(of.data)
    given[_OUTCOME] = Asked().predict(given)
    data = dice_ml.Data(dataframe=given, continuous_features=numbers, outcome_name=_OUTCOME)
    search = dice_ml.Dice(data, dice_ml.Model(model=Asked(), backend="sklearn"), method="random")

    def says(row: Any) -> list[dict[str, Any]]:
        own = frame(as_table(row, names=of.data.names, argument="row"))
        with _seeded(of.seed):
            try:
                found = search.generate_counterfactuals(
                    own,
                    total_CFs=_COUNTERFACTUALS,
                    desired_class="opposite",
                    random_seed=of.seed,
                    verbose=False,
                )
            except dice_ml.utils.exception.UserConfigValidationException:
                return []  # it found none
        rows = found.cf_examples_list[0].final_cfs_df
        if rows is None or not len(rows):
            return []
        cells = table(rows)
        return [
            {name: cells.cell(i, j) for j, name in enumerate(cells.names)}
            for i in range(len(cells))
        ]

    return says


class _Coded:
    """A table as numbers, for tools that take nothing else; what is no number is numbered."""

    def __init__(self, data: Table, tool: str) -> None:
        from suffice.tables.cells import is_missing

        lacking = [
            name for j, name in enumerate(data.names) if any(map(is_missing, data.column(j)))
        ]
        if lacking:
            got = f"{tool}, of a table with missing values in {and_more(map(repr, lacking), 4)}"
            raise InputError("[grade] tools", got, f"{tool} of a table without any")
        self._first = data.take(np.array([0]))
        self.values: dict[int, list[Any]] = {
            j: sorted(dict.fromkeys(data.cell(i, j) for i in range(len(data))), key=str)
            for j in range(len(data.names))
            if data.column(j).dtype.kind not in "iuf"
        }
        self._number = {j: {v: i for i, v in enumerate(vs)} for j, vs in self.values.items()}

    def encode(self, rows: Table) -> Any:
        """The cells as numbers; a category that the data does not have is refused."""
        made = np.empty((len(rows), len(rows.names)))
        for j, name in enumerate(rows.names):
            if j not in self.values:
                made[:, j] = np.asarray(rows.column(j), dtype=float)
                continue
            for i in range(len(rows)):
                value = rows.cell(i, j)
                if value not in self._number[j]:
                    got = f"{name} = {value!r}, which the data does not have"
                    raise InputError("[grade] tools", got, "rows with values of the data")
                made[i, j] = self._number[j][value]
        return made

    def decode(self, codes: Any) -> Table:
        """The same rows as the model takes them."""
        columns: dict[int, Any] = {}
        for j in range(codes.shape[1]):
            if j in self.values:
                known = np.empty(len(self.values[j]), dtype=object)
                known[:] = self.values[j]
                columns[j] = known[codes[:, j].astype(int)]
            else:
                columns[j] = codes[:, j].astype(float)
        return self._first.take(np.zeros(len(codes), dtype=int)).with_columns(columns)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Both tools draw from the generators of the process, and talk: seed them, hush, put back."""
    numpys, pythons = np.random.get_state(), random.getstate()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    hushed = redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO())
    try:
        with warnings.catch_warnings(), hushed[0], hushed[1]:
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(numpys)  # noqa: NPY002
        random.setstate(pythons)


def _package(tool: str, module: str, distribution: str = "") -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # their imports use what their own packages deprecate
            return importlib.import_module(module)
    except ImportError as error:
        hint = f"pip install {distribution or module}"
        got = f"{tool}, whose package is not here"
        raise InputError("[grade] tools", got, "permutation, which needs none", hint) from error


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
