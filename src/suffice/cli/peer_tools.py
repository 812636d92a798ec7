"""Peer tools (shap, anchor-exp, dice-ml, permutation importance) run on a model, to be graded.

Each tool is called as its users call it. `suffice audit` runs them for `[grade]`; the experiments
of the repository share `seeded_and_quiet`.
"""

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
from suffice.formatting import join_first

if TYPE_CHECKING:
    from suffice.explainer import Explainer
    from suffice.tables import Table


PEER_TOOLS = ("shap", "anchors", "dice", "permutation")

_BACKGROUND_ROWS = 50
"""Rows of background data for shap: it averages the score over them."""

_PERMUTED_ROWS, _REPEATS = 1000, 5
_COUNTERFACTUALS = 5

_OUTCOME_COLUMN = "the outcome"
"""Name of the column in which DiCE expects the prediction."""


def make_peer_tools(names: list[str], explainer: Explainer, labels: Any) -> dict[str, Any]:
    """Return for each tool a function from a row to its answer, or one answer for all rows."""
    if explainer.decider.model.classes is None:
        raise InputError(
            "[grade]", "a model that predicts numbers", "a model that predicts classes"
        )
    make: dict[str, Callable[[], Any]] = {
        "shap": lambda: _shap_values(explainer),
        "anchors": lambda: _anchors_rule(explainer),
        "dice": lambda: _dice_rows(explainer),
        "permutation": lambda: _permutation_importance(explainer, labels),
    }
    return {name: make[name]() for name in names}


def _shap_values(explainer: Explainer) -> Callable[[Any], dict[str, float]]:
    """Return shap's permutation explainer of the score of the predicted class."""
    shap = _import_peer("shap", "shap")
    from suffice.randomness import Stream, generator
    from suffice.tables import as_table

    decider, data = explainer.decider, explainer.decider.data
    drawn = generator(decider.seed, Stream.AUDITED, 1).permutation(len(data))[:_BACKGROUND_ROWS]
    background = data.take(np.sort(drawn))
    m, d = len(background), len(data.names)

    def explain(row: Any) -> dict[str, float]:
        own = as_table(row, names=data.names, argument="row")
        pool = background.stack(own)
        # shap explains one output: the score of the class that is predicted for this row.
        (label,) = decider.model.predict(own.take(np.array([0]))).tolist()
        position = [str(c) for c in decider.model.classes or ()].index(str(label))

        # shap masks arrays of numbers only. So a cell is the number of the row of `pool` that it
        # is taken from: this works for columns of any type.
        def score(row_numbers: Any) -> Any:
            rows = pool.gather(np.asarray(row_numbers).astype(int))
            return decider.model.scores(rows)[:, position]

        masker = shap.maskers.Independent(np.repeat(np.arange(m)[:, None], d, axis=1), m)
        permutation = shap.explainers.Permutation(score, masker, seed=decider.seed)
        found = permutation(np.full((1, d), m), max_evals=10 * (2 * d + 1), silent=True).values[0]
        return _sum_by_player(explainer, found)

    return explain


def _anchors_rule(explainer: Explainer) -> Callable[[Any], Any]:
    """Return anchor-exp with its defaults: numbers cut at quartiles, rules of precision 0.95."""
    module = _import_peer("anchors", "anchor.anchor_tabular", "anchor-exp")
    from suffice.tables import as_table

    decider, codes = explainer.decider, _CodedTable(explainer.decider.data, "anchors")
    anchors = module.AnchorTabularExplainer(
        [str(c) for c in decider.model.classes or ()],
        list(decider.data.names),
        codes.encode(decider.data),
        {j: [str(value) for value in values] for j, values in codes.values.items()},
    )

    def predict(rows: Any) -> Any:
        return np.asarray([str(label) for label in decider.model.predict(codes.decode(rows))])

    def explain(row: Any) -> Any:
        (own,) = codes.encode(as_table(row, names=decider.data.names, argument="row"))
        with seeded_and_quiet(decider.seed):
            return anchors.explain_instance(own, predict)

    return explain


def _dice_rows(explainer: Explainer) -> Callable[[Any], list[dict[str, Any]]]:
    """Return dice-ml's random search for counterfactual rows, with its defaults."""
    dice_ml = _import_peer("dice", "dice_ml", "dice-ml")
    import pandas as pd

    from suffice.tables import as_table

    decider, codes = explainer.decider, _CodedTable(explainer.decider.data, "dice")
    if len(decider.model.classes or ()) != 2:
        raise InputError("[grade] tools", "dice with more than 2 classes", "dice with 2 classes")
    names = list(decider.data.names)

    def to_frame(rows: Table) -> Any:
        # Categories are codes as text: DiCE would take codes that are numbers for quantities.
        made = pd.DataFrame(codes.encode(rows), columns=names)
        return made.astype({names[j]: int for j in codes.values}).astype(
            {names[j]: str for j in codes.values}
        )

    def to_table(rows: Any) -> Table:
        return codes.decode(rows[names].astype(float).to_numpy())

    classes = [str(c) for c in decider.model.classes or ()]

    class CodedModel:
        # DiCE expects classes 0 and 1.
        classes_ = np.arange(2)

        def predict(self, rows: Any) -> Any:
            return np.array([classes.index(str(c)) for c in decider.model.predict(to_table(rows))])

        def predict_proba(self, rows: Any) -> Any:
            return decider.model.scores(to_table(rows))

    numbers = [name for j, name in enumerate(names) if j not in codes.values]
    given = to_frame(decider.data)
    given[_OUTCOME_COLUMN] = CodedModel().predict(given)
    data = dice_ml.Data(dataframe=given, continuous_features=numbers, outcome_name=_OUTCOME_COLUMN)
    model = dice_ml.Model(model=CodedModel(), backend="sklearn")
    search = dice_ml.Dice(data, model, method="random")

    def explain(row: Any) -> list[dict[str, Any]]:
        own = to_frame(as_table(row, names=decider.data.names, argument="row"))
        with seeded_and_quiet(decider.seed):
            try:
                found = search.generate_counterfactuals(
                    own,
                    total_CFs=_COUNTERFACTUALS,
                    desired_class="opposite",
                    random_seed=decider.seed,
                    verbose=False,
                )
            except dice_ml.utils.exception.UserConfigValidationException:
                return []  # raised when no counterfactual was found
        rows = found.cf_examples_list[0].final_cfs_df
        if rows is None or not len(rows):
            return []
        cells = to_table(rows)
        return [
            {name: cells.cell(i, j) for j, name in enumerate(cells.names)}
            for i in range(len(cells))
        ]

    return explain


class _CodedTable:
    """A table as an array of numbers, for tools that read nothing else; categories are numbered."""

    def __init__(self, data: Table, tool: str) -> None:
        from suffice.tables.cells import is_missing

        lacking = [
            name for j, name in enumerate(data.names) if any(map(is_missing, data.column(j)))
        ]
        if lacking:
            got = f"{tool}, of a table with missing values in {join_first(map(repr, lacking), 4)}"
            raise InputError("[grade] tools", got, f"{tool} of a table without missing values")
        self._first = data.take(np.array([0]))
        self.values: dict[int, list[Any]] = {
            j: sorted(dict.fromkeys(data.cell(i, j) for i in range(len(data))), key=str)
            for j in range(len(data.names))
            if data.column(j).dtype.kind not in "iuf"
        }
        """The categories in the order of their codes, by position of the column."""
        self._codes = {j: {v: i for i, v in enumerate(vs)} for j, vs in self.values.items()}

    def encode(self, rows: Table) -> Any:
        """Return the cells as numbers; an InputError for a category that the data lacks."""
        made = np.empty((len(rows), len(rows.names)))
        for j, name in enumerate(rows.names):
            if j not in self.values:
                made[:, j] = np.asarray(rows.column(j), dtype=float)
                continue
            for i in range(len(rows)):
                value = rows.cell(i, j)
                if value not in self._codes[j]:
                    got = f"{name} = {value!r}, which the data does not have"
                    raise InputError("[grade] tools", got, "rows with values of the data")
                made[i, j] = self._codes[j][value]
        return made

    def decode(self, codes: Any) -> Table:
        """Return the rows that these numbers encode, with the dtypes of the data."""
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
def seeded_and_quiet(*seed: int) -> Iterator[None]:
    """Seed the global generators of NumPy and Python, hide all output, and restore both states.

    anchor-exp and dice-ml take no generator of their own, print, and warn.
    """
    numpy_state, python_state = np.random.get_state(), random.getstate()  # noqa: NPY002
    np.random.seed(seed[0] if len(seed) == 1 else seed)  # noqa: NPY002
    random.seed(seed[0] if len(seed) == 1 else repr(seed))
    try:
        with (
            warnings.catch_warnings(),
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002
        random.setstate(python_state)


def _import_peer(tool: str, module: str, distribution: str = "") -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # peers import names that their dependencies deprecate
            return importlib.import_module(module)
    except ImportError as error:
        hint = f"Install it with: pip install {distribution or module}"
        got = f"{tool}, whose package is not installed"
        raise InputError("[grade] tools", got, "permutation, which needs none", hint) from error


def _permutation_importance(explainer: Explainer, labels: Any) -> dict[str, float]:
    """Return scikit-learn's permutation importance: one answer for all rows."""
    from sklearn.inspection import permutation_importance

    from suffice.tables import as_table

    if labels is None:
        raise InputError("[grade] tools", "permutation without labels", "[data] target as well")
    decider = explainer.decider

    def accuracy(_: Any, X: Any, y: Any) -> float:
        predicted = [str(label) for label in decider.model.predict(as_table(X))]
        return float(np.mean(predicted == np.asarray(y)))

    rows = np.linspace(0, len(decider.data) - 1, min(_PERMUTED_ROWS, len(decider.data))).astype(int)
    found = permutation_importance(
        decider.model.original,
        decider.data.take(rows).native,
        np.asarray([str(label) for label in np.asarray(labels)[rows]]),
        scoring=accuracy,
        n_repeats=_REPEATS,
        random_state=decider.seed,
    )
    return _sum_by_player(explainer, found.importances_mean)


def _sum_by_player(explainer: Explainer, by_column: Any) -> dict[str, float]:
    players = explainer.decider.players
    return {
        name: float(sum(by_column[j] for j in columns))
        for name, columns in zip(players.names, players.columns, strict=True)
    }
