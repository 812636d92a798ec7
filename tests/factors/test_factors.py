"""Predicates, their algebra and their orders."""

from typing import get_type_hints

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import suffice
from suffice import (
    Basis,
    CostOrder,
    CustomOrder,
    InputError,
    Sample,
    SubsetOrder,
    Target,
    auxiliary,
    between,
    compare,
    equals,
    factor_from_json,
    held,
    isin,
)
from suffice.factors.order import check_partial_order, linear_extension, upward_closure
from suffice.measures import measure, measure_any
from suffice.tables import as_table
from suffice.target import Event, class_event

Z = pd.DataFrame(
    {
        "gender": ["female", "male", "female", None],
        "age": [25, 40, 60, 33],
        "do(income > 50k)": [True, True, False, True],
    }
)
CONTEXT = Sample(Z, auxiliaries=["do(income > 50k)"])

atoms = st.sampled_from(
    [
        equals("gender", "female"),
        equals("gender", None),
        isin("age", [25, 60]),
        between("age", 30, 45),
        compare("age", "<", 40),
        compare("gender", "!=", "male"),
        auxiliary("do(income > 50k)"),
    ]
)
factors = st.recursive(
    atoms,
    lambda part: st.one_of(
        st.builds(lambda a, b: a & b, part, part),
        st.builds(lambda a, b: a | b, part, part),
        st.builds(lambda a: ~a, part),
    ),
    max_leaves=6,
)


def test_the_papers_example():
    """Female, and drawn from a context in which an intervention fixes income above 50k."""
    c = equals("gender", "female") & auxiliary("do(income > 50k)")
    assert c(CONTEXT).tolist() == [True, False, False, False]


def test_each_kind_says_what_it_means():
    assert equals("gender", None)(CONTEXT).tolist() == [False, False, False, True]
    assert isin("age", [25, 33])(CONTEXT).tolist() == [True, False, False, True]
    assert between("age", 33, 40)(CONTEXT).tolist() == [False, True, False, True]
    assert compare("age", ">=", 40)(CONTEXT).tolist() == [False, True, True, False]
    assert compare("gender", "!=", "male")(CONTEXT).tolist() == [True, False, True, True]


@given(factors)
def test_repr_and_json_are_exact(factor):
    names = {name: getattr(suffice, name) for name in suffice.__all__}
    assert eval(repr(factor), names) == factor
    assert factor_from_json(factor.to_json()) == factor
    assert hash(factor_from_json(factor.to_json())) == hash(factor)
    assert set(factor.columns()) <= set(CONTEXT)


@given(factors, factors)
def test_the_algebra_is_boolean(a, b):
    va, vb = a(CONTEXT), b(CONTEXT)
    assert ((a & b)(CONTEXT) == (va & vb)).all()
    assert ((a | b)(CONTEXT) == (va | vb)).all()
    assert ((~a)(CONTEXT) == ~va).all()
    assert ~~a == a


def test_held_reads_what_was_recorded():
    hybrids = Sample.of_hybrids(
        CONTEXT.x, {"a": np.array([1, 1, 0, 0], bool), "b": np.array([1, 0, 1, 0], bool)}
    )
    assert held("a")(hybrids).tolist() == [False, True, False, False]
    assert held("b", "a")(hybrids).tolist() == [True, False, False, False]
    assert held()(hybrids).tolist() == [False, False, False, True]
    with pytest.raises(InputError, match=r"held: got 'c'; allowed: players of the context"):
        held("c")(hybrids)


def test_bad_predicates():
    with pytest.raises(InputError, match=r"column: got 'agee'.*Did you mean 'age'"):
        equals("agee", 1)(CONTEXT)
    with pytest.raises(
        InputError, match=r"relation: got '=='; allowed: '<', '<=', '>', '>=' or '!='"
    ):
        compare("age", "==", 3)
    with pytest.raises(InputError, match="low <= high"):
        between("age", 5, 3)
    with pytest.raises(InputError, match="one value or more"):
        isin("age", [])
    with pytest.raises(InputError, match="a string, a number, a Boolean or None"):
        equals("age", [1])
    with pytest.raises(InputError, match="at least one column left for the model"):
        Sample(Z, auxiliaries=list(Z.columns))


class Odd:
    """An object of a user's own, with which nothing can be done."""

    def __repr__(self):
        raise RuntimeError("no repr")

    def __eq__(self, other):
        raise RuntimeError("no comparison")

    __hash__ = None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: isin("job", "none"), r"values: got 'none'; allowed: a list.*\['none'\]"),
        (lambda: isin("job", 5), "values: got 5; allowed: a list of values"),
        (lambda: between("a", None, 3), "low: got None; allowed: a finite number"),
        (lambda: between("a", 1, "3"), "high: got '3'; allowed: a finite number"),
        (lambda: compare("a", ["<"], 3), r"relation: got \['<'\]; allowed: '<'"),
        (lambda: equals(5, 1), "column: got 5; allowed: a name"),
        (lambda: equals("a", Odd()), "value: got <Odd>; allowed: a string, a number"),
        (lambda: equals("a", 10**30), "value: got 1000.*; allowed: a whole number of at most 64"),
        (lambda: held("a", 3), "players: got 3; allowed: a name"),
        (lambda: auxiliary(None), "name: got None; allowed: a name"),
        (lambda: factor_from_json(None), "text: got None; allowed: JSON written by Factor.to_json"),
        (lambda: factor_from_json("[1]"), "text: got JSON of a list"),
        (lambda: equals("a", 1) & "b", "&: got 'b'; allowed: factors"),
        (lambda: equals("a", np.inf).to_json(), r"factor: got equals\('a', inf\); allowed: finite"),
        (
            lambda: isin("a", [1.0, -np.inf]).to_json(),
            "allowed: finite numbers, where it is stored",
        ),
    ],
)
def test_what_makes_no_factor_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_cell_that_cannot_be_compared_has_no_value():
    assert equals("a", 1)({"a": np.array([Odd(), 1], dtype=object)}).tolist() == [False, True]


def test_subset_order_and_its_uses():
    female, adult = equals("gender", "female"), compare("age", ">=", 40)
    space = [female & adult, female, adult, ~female]
    relation = SubsetOrder().matrix(space)
    check_partial_order(relation, space)
    assert relation.tolist() == [
        [True, False, False, False],
        [True, True, False, False],
        [True, False, True, False],
        [False, False, False, True],
    ]
    assert linear_extension(relation).tolist() == [1, 2, 3, 0]
    assert upward_closure(relation, [1]).tolist() == [0, 1]


@given(st.integers(0, 6), st.data())
def test_a_linear_extension_puts_nothing_before_what_is_below_it(n, data):
    pairs = data.draw(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5))))
    relation = np.eye(n, dtype=bool)
    for i, j in pairs:
        if i < j < n:
            relation[i, j] = True
    for k in range(n):
        relation |= relation[:, [k]] & relation[[k], :]
    shuffled = data.draw(st.permutations(range(n)))
    relation = relation[np.ix_(shuffled, shuffled)]
    place = np.argsort(linear_extension(relation))
    for i, j in np.argwhere(relation):
        assert i == j or place[i] < place[j]


A, B, C = equals("age", 1), equals("age", 2), equals("age", 3)


@pytest.mark.parametrize(
    ("no_worse", "message"),
    [
        (lambda a, b: False, r"equals\('age', 1\) not ⪯ itself.*not reflexive"),
        (lambda a, b: True, r"equals\('age', 1\) ⪯ equals\('age', 2\) and the reverse"),
        (
            lambda a, b: a == b or (a, b) in {(A, B), (B, C)},
            r"equals\('age', 1\) ⪯ equals\('age', 2\) ⪯ equals\('age', 3\) but not the first",
        ),
    ],
)
def test_an_order_that_is_none_is_refused_naming_the_pair(no_worse, message):
    with pytest.raises(InputError, match=message):
        _basis([A, B, C], CustomOrder(no_worse))


@pytest.mark.parametrize("cost", [-1.0, float("nan")])
def test_a_cost_that_is_none_is_refused(cost):
    with pytest.raises(InputError, match=rf"cost: got {cost} for equals\('age', 1\)"):
        _basis([A, B], CostOrder(lambda c: cost))


def broken(*_):
    raise KeyError("income")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CostOrder(None), "cost: got None; allowed: a function from a factor"),
        (lambda: CustomOrder("less"), "no_worse: got .?less.?; allowed: a function"),
        (lambda: _basis([A, B], CostOrder(broken)), "cost: got a function that raised KeyError"),
        (
            lambda: _basis([A, B], CustomOrder(broken)),
            "no_worse: got a function that raised KeyError: 'income'",
        ),
        (
            lambda: _basis([A, B], CustomOrder(lambda a, b: np.array([True, False]))),
            r"no_worse: got the answer array\(\[ True, False\]\)",
        ),
        (lambda: _basis([A, B], CostOrder(lambda c: "dear")), "cost: got 'dear' for equals"),
        (lambda: _basis([A, B], OwnOrder(None)), "order: got the relation None; allowed: a matrix"),
        (lambda: _basis([A, B], OwnOrder(np.ones((1, 1), bool))), "order: got the relation array"),
        (lambda: _basis([A, B], 5), "order: got 5; allowed: SubsetOrder"),
        (lambda: Basis(None, CONTEXT, [A]), "target: got None; allowed: a Target"),
        (lambda: Basis(_basis([A]).target, Z, [A]), "sample: got .*; allowed: a Sample"),
        (lambda: _basis(None), "factors: got None; allowed: a list of factors"),
        (
            lambda: suffice.minimal_sufficient_factors(None, y=True, tau=0.9),
            "basis: got None; allowed: a Basis",
        ),
        (
            lambda: suffice.minimal_sufficient_factors(_basis([A]), y="yes", tau=0.9),
            "y: got 'yes'; allowed: True or False",
        ),
    ],
)
def test_what_makes_no_basis_or_order_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


class OwnOrder:
    """An order of a user's own: it gives the matrix itself."""

    def __init__(self, relation):
        self._relation = relation

    def matrix(self, factors):
        return self._relation


def test_cost_order_needs_both():
    relation = CostOrder(lambda c: {A: 5.0}.get(c, 1.0)).matrix([A, A & B])
    assert relation.tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ([], "factors: got no factor"),
        ([A, A], r"factors: got equals\('age', 1\) twice"),
        (["age = 1"], "Make one with equals"),
        ([equals("ages", 1)], "Did you mean 'age'"),
        ([auxiliary("age")], "'age' is a column of x"),
    ],
)
def test_a_basis_checks_that_its_parts_fit(factors, message):
    with pytest.raises(InputError, match=message):
        _basis(factors)


def _basis(factors, order=None):
    class NeverAsked:
        def predict(self, rows):
            raise AssertionError

    target = Target(NeverAsked(), Event("yes", "no", lambda a: a))
    return Basis(target, CONTEXT, factors, order or SubsetOrder())


def test_a_target_needs_no_more_of_a_model_than_predict():
    class Predicts:
        def predict(self, rows):
            return np.repeat("yes", len(rows))

    assert isinstance(Predicts(), get_type_hints(Target)["model"])
    assert Target(Predicts(), class_event("yes"))(as_table([[1], [2]])).tolist() == [True, True]


def test_set_forms_with_and_without_closure():
    """PS and PN of a set of factors (Defs 2–3), counted by hand."""
    satisfied = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]], dtype=bool)
    y = np.array([1, 0, 1, 1], dtype=bool)
    assert measure(satisfied[:2].any(axis=0), y).sufficiency == 2 / 3
    assert measure_any(satisfied, [0], y).necessity == 1 / 3
    relation = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]], dtype=bool)
    assert measure_any(satisfied, [0], y, relation).necessity == 2 / 3
    assert measure(satisfied[0, :0], y[:0]).sufficiency is None
    assert measure_any(satisfied, [0], ~(y | True)).necessity is None


def test_a_factor_that_no_row_satisfies_is_undefined_not_zero():
    class Always:
        classes = (True, False)

        def predict(self, rows):
            return np.ones(len(rows), dtype=bool)

    never = equals("age", 999)
    basis = Basis(
        Target(Always(), Event("y", "n", lambda a: a)), CONTEXT, [never, equals("age", 25)]
    )
    for alpha in (None, 0.9):
        found = suffice.minimal_sufficient_factors(basis, y=True, tau=0.2, alpha=alpha)
        assert found.undefined == (never,)
        assert found.factors == (equals("age", 25),)


def test_the_answer_is_printed_stored_and_put_in_a_frame():
    class Grown:
        classes = (True, False)

        def predict(self, rows):
            return np.asarray(rows.native["age"]) >= 33

    never = equals("gender", "x")
    basis = Basis(
        Target(Grown(), Event("grown up", "a child", lambda a: a)),
        CONTEXT,
        [compare("age", ">", 30), compare("age", ">", 30) & equals("gender", "female"), never],
    )
    found = suffice.minimal_sufficient_factors(basis, y=True, tau=0.9)
    assert found.outcome == "grown up" and found.rows == 4 and found.n == (3,)
    said = " ".join(str(found).split())
    assert "This factor brings “grown up” about in at least 90% of its rows" in said
    assert "age > 30" in said and "No row satisfies gender = x." in said
    assert (
        "cover 100% of the rows with “grown up” (cumulative necessity; by chance 75%, lift 1.33)"
        in said
    )
    assert found.necessity_baseline == 3 / 4
    assert found.to_frame().to_dict("records") == [
        {"factor": "age > 30", "sufficiency": 1.0, "n": 3, "p_value": None}
    ]
    assert suffice.MinimalFactors.from_json(found.to_json()) == found
    none = suffice.minimal_sufficient_factors(basis, y=False, tau=0.9, alpha=0.05)
    assert "No factor brings “a child” about" in " ".join(str(none).split())
    assert "by an exact binomial test at α = 0.05" in " ".join(str(none).split())
    assert suffice.MinimalFactors.from_json(none.to_json()) == none
