"""The package's own readers, contexts, orders and searches keep the contracts of `suffice.testing`.

And who breaks one is told which.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from suffice import (
    CausalContext,
    CausalModel,
    ConditionalContext,
    CostOrder,
    CustomOrder,
    InputError,
    SubsetOrder,
    SwapContext,
    additive,
    compare,
    equals,
    held,
)
from suffice.context import Context
from suffice.context.hybrids import PooledHybrids, SwapHybrids
from suffice.engines import register_reader
from suffice.engines.additive_model import AdditiveReading
from suffice.image.image_explainer import RegionContext
from suffice.search.strategies import STRATEGIES, run_search
from suffice.target import at_least, versus, within
from suffice.testing import check_context, check_order, check_reader, check_search
from tests.engines.engine_cases import tree_data


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small fits by several OpenMP threads wait for each other on a busy machine."""
    with threadpool_limits(1):
        yield


def test_the_checks_load_nothing_heavy_and_need_no_test_framework() -> None:
    code = (
        "import sys, suffice.testing as t; t.check_order; heavy = {'pytest', "
        "'hypothesis', 'matplotlib', 'sklearn', 'pandas'}; print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


# -- readers ------------------------------------------------------------------------------

X, TWO, THREE, NUMBER = tree_data(24)
TREES = {
    "forest": RandomForestClassifier(6, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=5, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, random_state=0),
}
SUMS = {
    "logistic": LogisticRegression(),
    "bayes": GaussianNB(),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
}


@pytest.mark.parametrize("name", TREES)
def test_trees_are_read_as_the_model_answers(name: str) -> None:
    assert check_reader(TREES[name].fit(X, TWO), X, engine="trees", outcomes=[None, versus(0, 1)])
    assert check_reader(TREES[name].fit(X, THREE), X, engine="trees")


@pytest.mark.parametrize("name", SUMS)
def test_sums_are_read_as_the_model_answers(name: str) -> None:
    assert check_reader(SUMS[name].fit(X, TWO), X, engine="additive", outcomes=[None, 0])
    assert check_reader(SUMS[name].fit(X, THREE), X, engine="additive")


def test_numbers_are_read_as_the_model_answers() -> None:
    outcomes = [at_least(1.0), within(4.0)]
    assert check_reader(Ridge().fit(X, NUMBER), X, engine="additive", outcomes=outcomes)
    forest = ExtraTreesRegressor(4, random_state=0).fit(X, NUMBER)
    assert check_reader(forest, X, engine="trees", outcomes=outcomes)


def boosters() -> Iterator[Any]:
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    yield xgboost.XGBClassifier(n_estimators=4, n_jobs=1)
    yield lightgbm.LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1, min_child_samples=3)


def test_other_libraries_trees_are_read_as_they_answer() -> None:
    rows = pd.DataFrame(X, columns=list("abcde"))
    for booster in boosters():
        assert check_reader(booster.fit(rows, TWO), rows, engine="trees")


def test_groups_are_players_of_a_reader_too() -> None:
    rows = pd.DataFrame(X, columns=list("abcde"))
    model = DecisionTreeClassifier(random_state=0).fit(rows, TWO)
    one = check_reader(model, rows, engine="trees", groups={"both": ["a", "b"]})
    assert one < check_reader(model, rows, engine="trees")


class Sum:
    """Yes where a weighted sum of the columns is above a limit; told by a reader in `WRONG`."""

    classes_ = "no", "yes"
    weights = np.array([1.5, -1.0, 0.5, 0.25, -2.0])

    def predict(self, rows: Any) -> Any:
        return np.where(np.asarray(rows) @ self.weights + 0.1 > 0, "yes", "no")


def right(model: Any, rows: Any, weights: Any = None, base: float = 0.1, sign: str = "sign") -> Any:
    weights = model.weights if weights is None else weights
    return AdditiveReading(iter([(rows * weights, None)]), np.array([base]), sign)


def plants(model: Any, rows: Any) -> Any:
    model.read_before = True
    return right(model, rows)


WRONG = {
    "does not predict as its parameters say": partial(right, base=1.5),
    "is not read|not read": lambda model, rows: 1 / 0,
    "read_before on the user's model": plants,
}


@pytest.mark.parametrize("words", WRONG)
def test_a_reader_that_is_wrong_is_reported_with_how(words: str) -> None:
    class Wrong(Sum): ...

    register_reader(Wrong, additive=WRONG[words])
    with pytest.raises(AssertionError, match=words):
        check_reader(Wrong(), X, engine="additive")


def test_a_reader_that_is_wrong_by_a_rounding_is_found_out_at_the_boundary() -> None:
    """Its sum leaves out so little that no plain row tells; only those looked for do."""

    class Nearly(Sum): ...

    register_reader(Nearly, additive=partial(right, base=0.1 + 1e-9))
    with pytest.raises(
        AssertionError, match=r"holding .* with reference \d+ is read to (have|lack)"
    ):
        check_reader(Nearly(), X, engine="additive")

    class Exactly(Sum): ...

    register_reader(Exactly, additive=right)
    assert check_reader(Exactly(), X, engine="additive") > 24 * 32


def test_what_no_reader_knows_is_not_read() -> None:
    with pytest.raises(AssertionError, match=r"not read.*Sum is not known to be additive"):
        check_reader(Sum(), X, engine="additive")
    with pytest.raises(AssertionError, match=r"not read.*Sum is not a tree model"):
        check_reader(Sum(), X, engine="trees")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: register_reader("Sum", additive=right), "kind: got Sum; allowed: the class of"),
        (lambda: register_reader(Sum), "additive, trees: got neither; allowed: one of the two"),
        (lambda: register_reader(Sum, additive=right, trees=right), "additive, trees: got both"),
        (lambda: register_reader(Sum, trees=3), "trees: got 3; allowed: a function that reads"),
        (lambda: check_reader(Sum(), X, engine="tree"), "engine: got 'tree'.*mean 'trees'"),
        (lambda: check_reader(Sum(), X[:2], engine="trees"), "rows: got 2 rows of 5 columns"),
        (lambda: check_reader(Sum(), X, engine="trees", outcomes=[]), "outcomes: got .*one outco"),
        (lambda: check_context(SwapContext(), X[:2]), "rows: got 2 rows; allowed: an input and"),
        (lambda: check_order(SubsetOrder(), [held("a")]), "factors: got 1; allowed: three facto"),
        (
            lambda: check_search(run_search, engine="fast"),
            "engine: got 'fast'; allowed: 'blackbox'",
        ),
        (lambda: check_search(run_search, worlds=0), "worlds: got 0; allowed: a whole number >= 1"),
    ],
)
def test_odd_arguments_are_named(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


# -- contexts -----------------------------------------------------------------------------

PEOPLE = pd.DataFrame(
    {
        "age": [20, 30, 40, 50, 60, 60],
        "pay": [40.0, 61.0, 80.0, np.nan, 120.0, 121.0],
        "home": pd.Categorical(["owns", "rents", "rents", "owns", "rents", "rents"]),
    }
)
PAY = CausalModel(
    [("age", "pay")],
    mechanisms={"age": [20, 50], "pay": additive(lambda age: 2.0 * age, std=1.0)},
)


def near(x: Any, names: tuple[str, ...], n: int, rng: np.random.Generator) -> Any:
    return PEOPLE.iloc[rng.integers(len(PEOPLE), size=n)]


CONTEXTS = {
    "swap": SwapContext(),
    "picture": RegionContext(),
    "near": ConditionalContext(n_drawn=3),
    "sampler": ConditionalContext(n_drawn=4, sampler=near),
    "causal": CausalContext(PAY),
    "own noise": CausalContext(PAY, noise="kept"),
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_contexts_keep_the_contract(name: str) -> None:
    rows = PEOPLE.drop(3) if "causal" in name or "noise" in name else PEOPLE
    assert check_context(CONTEXTS[name], rows) >= 8 * 3
    assert check_context(CONTEXTS[name], rows, groups={"both": ["age", "home"]}, seed=3)


def test_contexts_of_other_tables_keep_it() -> None:
    polars = pytest.importorskip("polars")
    assert check_context(SwapContext(), polars.from_pandas(PEOPLE))
    assert check_context(ConditionalContext(n_drawn=2), X[:6])
    many = np.random.default_rng(0).integers(3, size=(5, 12))
    assert check_context(SwapContext(), many) == 200 * 4  # of 12 players not every set is tried


@dataclass(frozen=True)
class Broken(Context):
    """Breaks the one rule that it is told to."""

    rule: str

    def bind(self, pool: Any, players: Any, seed: int) -> tuple[Any, Any]:
        if self.rule == "pair":
            return SwapHybrids(pool, players)
        if self.rule == "keys":
            hybrids: Any = OneKey(pool, players)
        elif self.rule == "pool":
            hybrids = SwapHybrids(pool.take(np.arange(3)), players)
        else:
            hybrids = BrokenHybrids(pool, players, self.rule)
        return hybrids, hybrids

    def describe(self) -> str:
        return "" if self.rule == "words" else "broken"


class OneKey(SwapHybrids):
    def keys(self, held: Any) -> Any:
        return super().keys(held) // 2


@dataclass(frozen=True, eq=False)
class BrokenHybrids(PooledHybrids):
    rule: str

    def rows(self, held: Any, references: Any) -> Any:
        held = held[:, self.players.of_column]
        if self.rule == "all":
            held = held & ~held.all(axis=1)[:, None]
        if self.rule == "held":
            held = held & (held.sum(axis=1) != 2)[:, None]
        if self.rule == "none":
            references = (references + 1) % self.n
        if self.rule == "order":
            references = np.where(
                held.any(axis=1), (references + np.arange(len(held))) % self.n, references
            )
        if self.rule == "chance":
            draws = np.random.default_rng().integers(1 << 40, size=len(held))
            references = np.where(held.any(axis=1), draws % self.n, references)
        made = self.pool.splice(held, references + 1)
        if self.rule == "columns":
            return made.select([0, 1])
        return made

    def donors(self, held: Any) -> Any:
        if self.rule in ("order", "chance"):
            return None  # so that it is no donor's value that is missed
        found = super().donors(held)
        return found - 1 if self.rule == "donors" else found


BREAKS = {
    "words": "describe.. gives '': not a few words",
    "pair": "bind gives .*, not the hybrids of keep and of flip",
    "all": "holding every player does not give the input: with reference 0, 'age' is 30",
    "none": "holding nothing does not give the donor: with reference 0, 'age' is 40",
    "held": "holding {age, pay}, with reference 0: 'age' is held and has not the input's value",
    "columns": "rows gives columns .'age', 'pay'., not .'age', 'pay', 'home'.",
    "donors": "donors of PooledHybrids are not all references in order",
    "pool": "the pool of the context is not the pool that bind was given",
    "order": "gives other hybrids in another order",
    "chance": "gives other hybrids in another order",
    "keys": "differs between two hybrids that keys gives one number",
}


@pytest.mark.parametrize("rule", BREAKS)
def test_a_context_that_breaks_a_rule_is_reported_with_the_rule(rule: str) -> None:
    with pytest.raises(AssertionError, match=BREAKS[rule]):
        check_context(Broken(rule), PEOPLE)


def test_an_object_that_is_no_context_is_reported() -> None:
    with pytest.raises(AssertionError, match="'swap' does not inherit Context"):
        check_context("swap", PEOPLE)  # type: ignore[arg-type]


# -- orders -------------------------------------------------------------------------------

FEMALE, ADULT, OWNER = equals("gender", "female"), compare("age", ">=", 40), held("home")
FACTORS = [FEMALE, ADULT, OWNER, FEMALE & ADULT, FEMALE & OWNER, FEMALE & ADULT & OWNER]
ORDERS = {
    "subset": SubsetOrder(),
    "cost": CostOrder(lambda c: float(len(repr(c)) % 3)),
    "own": CustomOrder(lambda a, b: a == b or len(repr(a)) < len(repr(b))),
}


@pytest.mark.parametrize("name", ORDERS)
def test_orders_keep_the_contract(name: str) -> None:
    assert check_order(ORDERS[name], FACTORS) == 36


class Listed:
    """Ranks factors by where they are listed: what it says hangs on the list."""

    def matrix(self, factors: Any) -> Any:
        return np.tri(len(factors), dtype=bool).T


class Whole:
    def matrix(self, factors: Any) -> Any:
        return np.eye(len(factors))


NO_ORDERS = {
    "It is not reflexive. Found: .* not ⪯ itself": CustomOrder(lambda a, b: False),
    "It is not antisymmetric": CustomOrder(lambda a, b: True),
    "It is not transitive. Found: .* but not the first": CustomOrder(
        lambda a, b: a == b or (FACTORS.index(b) - FACTORS.index(a)) == 1
    ),
    "hangs on the other factors that are listed": Listed(),
    "matrix holds float64, not Booleans": Whole(),
    "has no matrix": object(),
    "raised InputError.*ZeroDivisionError": CustomOrder(lambda a, b: 1 / 0),
}


@pytest.mark.parametrize("words", NO_ORDERS)
def test_an_order_that_is_none_is_reported_with_why(words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_order(NO_ORDERS[words], FACTORS)  # type: ignore[arg-type]


# -- searches -----------------------------------------------------------------------------

WAYS = [
    ("exhaustive", "blackbox"),
    ("exhaustive", "trees"),
    ("pruned", "blackbox"),
    ("greedy", "blackbox"),
    ("anytime", "blackbox"),
    ("anytime", "trees"),
    ("streamed", "additive"),
    ("bounds", "additive"),
    ("bounds", "trees"),
]


@pytest.mark.parametrize(("way", "engine"), WAYS)
def test_searches_keep_the_contract(way: Any, engine: str) -> None:
    assert check_search(partial(run_search, way), engine=engine, worlds=12) > 12


def test_every_search_passes_the_check() -> None:
    assert set(STRATEGIES) - {"auto"} <= {way for way, _ in WAYS}


def loses_one(*asked: Any) -> Any:
    """Forgets the last τ-minimal set of a pruned search, and still calls it complete."""
    found = run_search("pruned", *asked)
    kept = replace(found.keep.findings, factors=found.keep.findings.factors[:-1])
    return replace(found, keep=replace(found.keep, findings=kept))


def makes_up(*asked: Any) -> Any:
    found = run_search("pruned", *asked)
    factors = tuple(replace(f, hits=f.hits + 1) for f in found.keep.findings.factors)
    return replace(
        found, keep=replace(found.keep, findings=replace(found.keep.findings, factors=factors))
    )


def keeps_silent(*asked: Any) -> Any:
    found = run_search("pruned", *asked)
    kept = replace(found.keep.findings, decided=False, factors=())
    return replace(found, keep=replace(found.keep, findings=kept), stopped=None)


def spends(evaluator: Any, hybrids: Any, question: Any, keeper: Any) -> Any:
    evaluator.outcomes(np.random.default_rng(0).random((200, hybrids.d)) < 0.5)
    return run_search("exhaustive", evaluator, hybrids, question, keeper)


@pytest.mark.parametrize(
    ("search", "words"),
    [
        (loses_one, "called complete, and lacks"),
        (makes_up, "is told to have .* hits and has"),
        (keeps_silent, "not complete, and nothing says why"),
        (lambda *asked: None, "it gives None, no Answer"),
        (spends, r"asked the model about \d+ rows, with a budget of \d+"),
    ],
)
def test_a_search_that_is_not_honest_is_found_out(search: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_search(search)
