"""Attacks on answers: limits that are pressed, odd tables beside brute force, and bad models."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from functools import cache, partial
from itertools import chain, combinations, count as numbers
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from suffice import Explainer, InputError, SufficeError
from tests.soak.tally import Tally, Try, count_tries, seeded

# -- limits ----------------------------------------------------------------------------------


class CountedModel:
    """A black box that counts the rows that it is asked about, and may be slow."""

    def __init__(self, fitted: Any, seconds: float = 0.0) -> None:
        self.fitted, self.seconds, self.rows = fitted, seconds, 0

    def predict(self, rows: Any) -> Any:
        self.rows += len(rows)
        until = perf_counter() + self.seconds * len(rows)
        found = self.fitted.predict(rows)
        while perf_counter() < until:
            pass
        return found


@cache
def numbers_table(d: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(d)
    X = pd.DataFrame(rng.normal(size=(300, d)).round(2), columns=[f"x{j}" for j in range(d)])
    return X, (X.to_numpy() @ rng.normal(size=d) + X["x0"] * X["x1"] > 0).to_numpy().astype(int)


KINDS: dict[str, tuple[int, Callable[[], Any]]] = {
    "forest": (30, lambda: RandomForestClassifier(50, max_depth=6, random_state=0)),
    "boosting": (60, lambda: HistGradientBoostingClassifier(max_iter=40, random_state=0)),
    "logistic": (60, lambda: LogisticRegression()),
    "small logistic": (8, lambda: LogisticRegression()),
    "neighbours": (12, lambda: KNeighborsClassifier()),
    "network": (
        40,
        lambda: MLPClassifier((32,), solver="lbfgs", alpha=1.0, max_iter=1000, random_state=0),
    ),
    "black box": (20, lambda: LogisticRegression()),
    "slow black box": (14, lambda: LogisticRegression()),
}


@cache
def limited_explainer(kind: str) -> tuple[Explainer, CountedModel | None]:
    """Return an explainer that has answered once, so that nothing is compiled or imported later."""
    d, make = KINDS[kind]
    X, y = numbers_table(d)
    model = make().fit(X, y)
    counted = CountedModel(model, 2e-4 * (kind == "slow black box")) if "box" in kind else None
    explainer = Explainer(counted or model, X, n_references=50)
    for row in (0, 1):
        explainer.explain(X.iloc[row], time_limit=0.2)
    return explainer, counted


def press_limits(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Ask under short limits: time is kept, no budget is exceeded, and no view is empty.

    Processor time counts where it is less than the time that passed, so that the work of others on
    the machine is no failure. Libraries have one thread: with more, OpenMP's wait for each other in
    busy loops if other programs hold the cores, which takes 0.2 s for one row of a boosting model.
    """
    chance = seeded("limits", seed)

    def tries() -> Iterator[Try]:
        for number in numbers():
            kind = list(KINDS)[number % len(KINDS)]
            d = KINDS[kind][0]
            row, searches = chance.randrange(300), ["auto", "greedy", "exhaustive", "pruned"]
            asked: dict[str, Any] = {"search": chance.choice(["auto", *searches])}
            if chance.random() < 0.5:
                asked["time_limit"] = chance.choice([0.05, 0.1, 0.3, 1.0])
            else:
                asked["budget"] = chance.choice([3, 10, 103, 120, 200, 1000, 5000])
            yield f"{kind}, d = {d}, row {row}, {asked}", partial(check, kind, row, asked)

    def check(kind: str, row: int, asked: dict[str, Any]) -> None:
        explainer, counted = limited_explainer(kind)
        x = numbers_table(KINDS[kind][0])[0].iloc[[row]]
        before = counted.rows if counted else 0
        began, busy = perf_counter(), process_time()
        try:
            e = explainer.explain(x, **asked)
        except InputError as error:
            assert error.argument == "budget", error  # it is too small for a single set
            return
        taken = min(perf_counter() - began, process_time() - busy)
        limit, budget = asked.get("time_limit"), asked.get("budget")
        if limit is not None:
            assert taken <= max(1.5 * limit, limit + 0.3), f"{taken:.2f} s for {limit} s"
        if budget is not None:
            assert e.provenance.rows_predicted <= budget, e.provenance.rows_predicted
        if counted:
            asked_rows = counted.rows - before
            assert asked_rows == e.provenance.rows_predicted, (asked_rows, e.provenance)
        # Holding everything keeps the outcome, and replacing everything flips it.
        assert e.keep.factors, "no set keeps"
        assert e.flip.factors, "no set flips"
        for view in (e.keep, e.flip):
            assert all(f.sufficiency >= 0.9 for f in view.factors)

    with threadpool_limits(1):
        return count_tries("limits", tries(), count, seconds)


# -- odd tables beside brute force -----------------------------------------------------------


def _cells(chance: random.Random, n: int) -> list[Any]:
    """Return the cells of a column of some odd kind."""
    kinds: list[list[Any]] = [
        [0.0, -0.0, 1.5, float("inf"), float("-inf"), 1e308, 5e-324],
        [1.0, float("nan"), 2.0, None],
        [0, 1, -1, 2**53 - 1, -(2**53) + 1],
        [True, False],
        ["", " ", "a", "A", "ä", "a\x00", "=1+1", "None", "nan", "1"],
        ["a", None, "b"],
        [date(2020, 1, 1) + timedelta(days=k) for k in range(4)],
        [7],
        ["x" * 500, "y"],
    ]
    values = chance.choice(kinds)
    return [chance.choice(values) for _ in range(n)]


def _in_library(columns: dict[str, list[Any]], library: str) -> Any:
    if library == "pandas":
        return pd.DataFrame(columns)
    if library == "categories":
        frame = pd.DataFrame(columns)
        texts = [c for c in frame if all(v is None or isinstance(v, str) for v in columns[str(c)])]
        return frame.astype(dict.fromkeys(texts, "category"))
    if library == "polars":
        return pl.DataFrame(columns, strict=False)
    return pa.table(columns)


def _rows(table: Any) -> list[tuple[Any, ...]]:
    """Return rows as tuples in which equal cells are equal, whatever library they came in."""
    if isinstance(table, pa.Table):
        lists = [table.column(j).to_pylist() for j in range(table.num_columns)]
    elif isinstance(table, pl.DataFrame):
        lists = [column.to_list() for column in table]
    else:
        lists = [table[name].tolist() for name in table.columns]
    return list(zip(*([_key(cell) for cell in column] for column in lists), strict=True))


def _key(cell: Any) -> Any:
    if cell is None or cell is pd.NaT or (isinstance(cell, float) and np.isnan(cell)):
        return "missing"
    if isinstance(cell, bool | np.bool_):
        return ("truth", bool(cell))
    if isinstance(cell, int | float | np.number | Decimal):
        return ("number", float(cell), bool(np.signbit(float(cell))))
    if isinstance(cell, date):
        return ("date", str(cell)[:10])
    return ("text", str(cell))


def _label(row: tuple[Any, ...], salt: int) -> int:
    """A model that depends on every cell: a sum of hashes that no run changes."""
    return random.Random(repr((row, salt))).randrange(2)


def odd_tables(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Explain rows of odd tables: every set's share is that of a count by hand, in both views."""
    chance = seeded("odd tables", seed)

    def tries() -> Iterator[Try]:
        for number in numbers():
            d, n, salt = chance.randint(1, 4), chance.randint(2, 9), chance.randrange(10**6)
            columns = {f"c{j}": _cells(chance, n) for j in range(d)}
            library = chance.choice(["pandas", "polars", "pyarrow", "categories"])
            references = chance.choice(["opposite", "all"])
            name = f"{number}: {library}, {references}, salt {salt}, {columns}"
            yield name[:600], partial(check, columns, library, references, salt)

    def check(columns: dict[str, list[Any]], library: str, references: str, salt: int) -> None:
        data = _in_library(columns, library)
        rows = _rows(data)

        def model(given: Any) -> list[int]:
            return [_label(row, salt) for row in _rows(given)]

        x, answers = rows[0], [_label(row, salt) for row in rows]
        chosen = [
            row
            for row, answer in zip(rows, answers, strict=True)
            if references == "all" or answer != answers[0]
        ]
        first = data.iloc[[0]] if isinstance(data, pd.DataFrame) else data[:1]
        explainer = Explainer(model, data, references=references)
        if not chosen or len(set(answers)) == 1:  # nothing can flip it
            try:
                explainer.explain(first)
            except InputError:
                return
            raise AssertionError("explained without references")
        e = explainer.explain(first, tau=0.75)
        names = list(columns)
        held = list(chain.from_iterable(combinations(range(len(x)), k) for k in range(len(x) + 1)))
        keep, flip = {}, {}
        for members in held:
            mixed = [tuple(x[j] if j in members else r[j] for j in range(len(x))) for r in chosen]
            rest = tuple(j for j in range(len(x)) if j not in members)
            same = [_label(row, salt) == answers[0] for row in mixed]
            keep[members] = sum(same) / len(chosen)
            flip[rest] = 1 - keep[members]
        for view, share in ((e.keep, keep), (e.flip, flip)):
            for members, wanted in share.items():
                found = view.sufficiency([names[j] for j in members])
                assert found is not None and abs(found - wanted) < 1e-12, (members, found, wanted)
            minimal = {
                c
                for c in share
                if share[c] >= 0.75 - 1e-12
                and not any(set(b) < set(c) and share[b] >= 0.75 - 1e-12 for b in share)
            }
            listed = {tuple(sorted(names.index(n) for n in f.features)) for f in view.factors}
            assert listed == minimal, (listed, minimal)

    return count_tries("odd tables", tries(), count, seconds)


# -- bad models ------------------------------------------------------------------------------


def _good(rows: Any) -> np.ndarray:
    return (np.asarray(rows, dtype=float).sum(axis=1) > 0).astype(int)


def _raise(error: BaseException) -> Callable[[Any], Any]:
    def model(rows: Any) -> Any:
        raise error

    return model


def _raising_later(rows: Any) -> Any:
    if len(rows) != 40:
        raise RuntimeError("only the whole table, please")
    return _good(rows)


def _changes_its_rows(rows: Any) -> Any:
    found = _good(rows)
    rows.iloc[:, 0] = 0.0
    return found


_buffer = np.zeros(10_000, dtype=int)


def _one_buffer(rows: Any) -> Any:
    """Return a view of memory that the next call writes over."""
    _buffer[: len(rows)] = _good(rows)
    return _buffer[: len(rows)]


def _depends_on_the_batch(rows: Any) -> Any:
    values = np.asarray(rows, dtype=float).sum(axis=1)
    return (values > values.mean()).astype(int)


_random = np.random.default_rng(0)

BAD_MODELS: dict[str, Callable[[Any], Any]] = {
    "raises": _raise(ValueError("no")),
    "raises an odd text": _raise(RuntimeError("\x1b[31m" + "x" * 10_000)),
    "raises without a text": _raise(KeyError()),
    "recursion": _raise(RecursionError("deep")),
    "memory": _raise(MemoryError()),
    "raises later": _raising_later,
    "none": lambda rows: None,
    "a number": lambda rows: 1,
    "a text": lambda rows: "yes",
    "too few": lambda rows: _good(rows)[:-1],
    "too many": lambda rows: np.append(_good(rows), 1),
    "empty": lambda rows: [],
    "nan": lambda rows: np.where(_good(rows), np.nan, 1.0),
    "nones": lambda rows: [None] * len(rows),
    "infinite": lambda rows: np.where(_good(rows), np.inf, 1.0),
    "three dimensions": lambda rows: np.zeros((len(rows), 2, 2)),
    "no columns": lambda rows: np.zeros((len(rows), 0)),
    "complex": lambda rows: _good(rows) + 1j,
    "objects": lambda rows: [object() for _ in range(len(rows))],
    "lists": lambda rows: [[1]] * len(rows),
    "dictionaries": lambda rows: [{"a": 1}] * len(rows),
    "mixed labels": lambda rows: [1 if g else "one" for g in _good(rows)],
    "a generator": lambda rows: (int(g) for g in _good(rows)),
    "a mapping": lambda rows: {"labels": _good(rows)},
    "a frame": lambda rows: pd.DataFrame({"label": _good(rows)}),
    "shuffled series": lambda rows: pd.Series(_good(rows))[::-1],
    "masked": lambda rows: np.ma.masked_array(_good(rows), _good(rows) > 0),
    "random": lambda rows: _random.integers(0, 2, len(rows)),
    "depends on the batch": _depends_on_the_batch,
    "changes its rows": _changes_its_rows,
    "one buffer": _one_buffer,
    "constant": lambda rows: np.ones(len(rows), dtype=int),
    "a label per row": lambda rows: [f"{row}" for row in np.asarray(rows).tolist()],
    "dates": lambda rows: np.where(_good(rows), np.datetime64("2020"), np.datetime64("2021")),
    "bytes": lambda rows: np.where(_good(rows), b"a", b"b"),
    "huge integers": lambda rows: [10**30 if g else 0 for g in _good(rows)],
    "booleans and missing": lambda rows: [True if g else None for g in _good(rows)],
    "nested probabilities": lambda rows: [[0.5, 0.5, 0.5]] * len(rows),
    "negative scores": lambda rows: np.full((len(rows), 2), -1.0),
    "strings of numbers": lambda rows: [str(g) for g in _good(rows)],
}


def bad_models(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Explain with models that misbehave: an error in a sentence, or an answer that is consistent."""
    X = pd.DataFrame(np.random.default_rng(seed).normal(size=(40, 4)), columns=list("abcd"))

    def tries() -> Iterator[Try]:
        for number in numbers():
            name = list(BAD_MODELS)[number % len(BAD_MODELS)]
            call = ("explain", "recourse", "explain_many")[number // len(BAD_MODELS) % 3]
            yield f"{name}, {call}", partial(check, BAD_MODELS[name], call, number % 40)

    def check(model: Callable[[Any], Any], call: str, row: int) -> None:
        before = X.copy()
        try:
            explainer = Explainer(model, X)
            if call == "recourse":
                assert str(explainer.recourse(X.iloc[row]))
                return
            if call == "explain_many":
                [e] = explainer.explain_many(X.iloc[[row]])
            else:
                e = explainer.explain(X.iloc[row])
        except SufficeError as error:
            assert len(str(error)) < 800, str(error)[:1000]
            assert "\x1b" not in str(error)
        else:
            assert e.keep.sufficiency(list("abcd")) == 1.0
            assert e.flip.sufficiency([]) == 0.0
            assert str(e)
        finally:
            pd.testing.assert_frame_equal(X, before)  # nothing reaches the user's table

    return count_tries("bad models", tries(), count, seconds)
