"""Proposition 4: Pearl's probabilities of causation, against their definitions and closed forms."""

import json
import pickle
import re
from itertools import product

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st

from suffice import (
    Basis,
    Sample,
    auxiliary,
    clopper_pearson,
    compare,
    equals,
    make_target,
    minimal_sufficient_factors as minimal,
)
from suffice.causation import Causation, causation_bounds, probabilities_of_causation
from suffice.context.causal import CausalModel, additive
from suffice.errors import InputError
from suffice.measures import Measures, measure
from suffice.results import result_schema
from tests.effort import examples

P, Q = 0.7, 0.2


def firing_squad(p=P, q=Q):
    """Court order U, captain C, riflemen A (nervous: W) and B, death D."""
    return CausalModel(
        {"C": ["U"], "A": ["C", "W"], "B": ["C"], "D": ["A", "B"]},
        mechanisms={
            "U": p,
            "W": q,
            "C": lambda U: U,
            "A": lambda C, W: C | W,
            "B": lambda C: C,
            "D": lambda A, B: A | B,
        },
    )


def three(c):
    return c.necessity, c.sufficiency, c.pns


@pytest.mark.parametrize(("p", "q"), [(P, Q), (0.5, 0.5), (0.05, 0.9)])
def test_firing_squad(p, q):
    """Pearl (2000), 7.1: had A not shot, the prisoner lives just where the court gave no order."""
    closed = {
        "A": ((1 - p) * q / (p + (1 - p) * q), 1.0, 1 - p),
        "B": (0.0, 1.0, (1 - p) * (1 - q)),
        "C": (1 - q, 1.0, 1 - q),
        "U": (1 - q, 1.0, 1 - q),
        "W": (1 - p, 1.0, 1 - p),
    }
    for cause, values in closed.items():
        assert np.allclose(
            three(probabilities_of_causation(firing_squad(p, q), cause, "D")), values
        )


@pytest.mark.parametrize(
    ("gate", "closed"),
    [
        (np.logical_and, (1.0, Q, Q)),
        (np.logical_or, (1 - Q, 1.0, 1 - Q)),
        # P(x, y) = p (1 - q): z is off, so y follows x; P(x', y') = (1 - p)(1 - q) likewise.
        (np.logical_xor, (1.0, 1.0, 1 - Q)),
    ],
)
def test_gates(gate, closed):
    scm = CausalModel({"y": ["x", "z"]}, mechanisms={"x": P, "z": Q, "y": lambda x, z: gate(x, z)})
    assert np.allclose(three(probabilities_of_causation(scm, "x", "y")), closed)


class Circuit:
    """Boolean nodes in order, each a coin or a truth table on some of those before it."""

    def __init__(self, coins, tables):
        self.coins, self.tables = coins, tables
        self.names = (*coins, *tables)
        self.scm = CausalModel(
            {**{name: [] for name in coins}, **{name: list(t[0]) for name, t in tables.items()}},
            mechanisms={
                **coins,
                **{name: self._column(*table) for name, table in tables.items()},
            },
        )

    @staticmethod
    def _column(parents, table):
        def read(**values):
            place = sum(values[p].astype(int) << i for i, p in enumerate(parents))
            return np.array(table)[place]

        return read

    def worlds(self):
        for bits in product([True, False], repeat=len(self.coins)):
            chances = [p if b else 1 - p for b, p in zip(bits, self.coins.values(), strict=True)]
            yield dict(zip(self.coins, bits, strict=True)), float(np.prod(chances))

    def value(self, name, coins, do):
        if name in do:
            return do[name]
        if name in coins:
            return coins[name]
        parents, table = self.tables[name]
        bits = [self.value(parent, coins, do) for parent in parents]
        return table[sum(b << i for i, b in enumerate(bits))]

    def by_definition(self, x, y):
        """(nec, suf, PNS), world by world."""
        total = dict.fromkeys(("xy", "nec", "x'y'", "suf", "pns"), 0.0)
        for coins, chance in self.worlds():
            seen = self.value(x, coins, {}), self.value(y, coins, {})
            treated, control = (self.value(y, coins, {x: v}) for v in (True, False))
            if seen == (True, True):
                total["xy"] += chance
                total["nec"] += chance * (not control)
            if seen == (False, False):
                total["x'y'"] += chance
                total["suf"] += chance * treated
            total["pns"] += chance * (treated and not control)
        return (
            total["nec"] / total["xy"] if total["xy"] else None,
            total["suf"] / total["x'y'"] if total["x'y'"] else None,
            total["pns"],
        )


@st.composite
def circuits(draw, chances=(0.0, 0.2, 0.5, 0.7, 1.0)):
    coins = {f"u{i}": draw(st.sampled_from(chances)) for i in range(draw(st.integers(1, 3)))}
    tables, names = {}, list(coins)
    for i in range(draw(st.integers(1, 3))):
        parents = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        table = draw(
            st.lists(st.booleans(), min_size=2 ** len(parents), max_size=2 ** len(parents))
        )
        tables[f"v{i}"] = tuple(parents), table
        names.append(f"v{i}")
    x, y = draw(st.permutations(names))[:2]
    return Circuit(coins, tables), x, y


def near(one, other):
    return one is other if one is None or other is None else np.isclose(one, other, atol=1e-12)


@settings(max_examples=examples(150))
@given(circuits())
def test_any_boolean_model_agrees_with_the_definition(world):
    circuit, x, y = world
    c = probabilities_of_causation(circuit.scm, x, y)
    assert c.exact
    assert c.n_worlds is c.sample is c.intervals is None
    for ours, theirs in zip(three(c), circuit.by_definition(x, y), strict=True):
        assert near(ours, theirs)
        assert ours is None or 0 <= ours <= 1
    if x not in circuit.scm.ancestors(y):
        assert all(not value for value in three(c))

    joint = c.observational
    parts = joint[True, True] * (c.necessity or 0) + joint[False, False] * (c.sufficiency or 0)
    assert np.isclose(parts, c.pns)

    bounds = causation_bounds(joint, c.experimental)
    pairs = bounds.necessity, bounds.sufficiency, bounds.pns
    for pair, value in zip(pairs, three(c), strict=True):
        assert (pair is None) == (value is None)
        assert value is None or pair[0] - 1e-9 <= value <= pair[1] + 1e-9


def rows_of_d(circuit, x, y, tag="W"):
    """D as rows, where all worlds weigh the same: each space repeated until both are as large."""
    worlds = [coins for coins, _ in circuit.worlds()]
    spaces = []
    for seen in ((False, False), (True, True)):  # R, then I
        do = {x: not seen[0]}
        spaces.append(
            [
                {name: circuit.value(name, coins, do) for name in circuit.names}
                for coins in worlds
                if (circuit.value(x, coins, {}), circuit.value(y, coins, {})) == seen
            ]
        )
    r, i = spaces
    rows = [{**z, tag: True} for z in r * len(i)] + [{**z, tag: False} for z in i * len(r)]
    return pd.DataFrame(rows), bool(rows)


def effect_of(name):
    return lambda rows: rows[name].to_numpy().astype(int)


@given(circuits(chances=(0.5,)))
def test_proposition_4_by_algorithm_1(world):
    """PS(c, y) = suf and PS(1 - c, y') = nec, found by the ordinary machinery on rows of D."""
    circuit, x, y = world
    z, both_spaces = rows_of_d(circuit, x, y)
    assume(both_spaces)
    context = Sample(z, ["W"])
    c = auxiliary("W")
    assume(z[y].nunique() == 2)
    basis = Basis(make_target(effect_of(y), context.x, 1), context, [c, ~c])
    exact = probabilities_of_causation(circuit.scm, x, y)

    for factor, has_y, pearl in ((c, True, exact.sufficiency), (~c, False, exact.necessity)):
        found = minimal(basis, y=has_y, tau=1e-9)
        shares = dict(zip(found.factors, found.sufficiency, strict=True))
        assert np.isclose(shares.get(factor, 0.0), pearl)

    ours = measure(c(context), basis.outcomes)
    for name in ("sufficiency", "necessity", "negative_predictive_value", "true_negative_rate"):
        assert near(getattr(exact.measures, name), getattr(ours, name))

    # The tag as the paper words it, on I, would give the opposite of what the proof needs.
    swapped = measure(~c(context), basis.outcomes)
    assert np.isclose(swapped.sufficiency, 1 - exact.necessity)
    assert np.isclose(swapped.contrapositive.sufficiency, 1 - exact.sufficiency)


def test_drawn_worlds_agree_with_enumerated_ones():
    for cause in ("A", "B", "C", "W"):
        exact = probabilities_of_causation(firing_squad(), cause, "D")
        drawn = probabilities_of_causation(
            firing_squad(), cause, "D", n_worlds=5000, random_state=3
        )
        assert (drawn.exact, drawn.n_worlds) == (False, 5000)
        for name in ("necessity", "sufficiency", "pns"):
            low, high = getattr(drawn.intervals, name)
            assert low <= getattr(exact, name) <= high
            assert low <= getattr(drawn, name) <= high
    again = probabilities_of_causation(firing_squad(), "W", "D", n_worlds=5000, random_state=3)
    assert again == drawn
    assert again != probabilities_of_causation(
        firing_squad(), "W", "D", n_worlds=5000, random_state=4
    )


def test_intervals_cover_as_they_say():
    truth = probabilities_of_causation(firing_squad(), "A", "D").necessity
    covered = 0
    for seed in range(200):
        drawn = probabilities_of_causation(
            firing_squad(), "A", "D", n_worlds=300, random_state=seed
        )
        low, high = drawn.intervals.necessity
        covered += low <= truth <= high
    assert covered >= 184  # 95% of 200 is 190; below 184 has probability under 0.3%


def test_the_drawn_context_goes_through_the_ordinary_machinery():
    c = probabilities_of_causation(firing_squad(), "A", "D", n_worlds=4000)
    assert c.tag == "do(A = True)"
    context = c.sample
    assert context.auxiliaries == ("do(A = True)",)
    tag = auxiliary(c.tag)
    w = tag(context)
    assert w.sum() == (~w).sum() == context.n / 2
    assert (context["A"] == w).all()  # the cause has the value it was set to
    assert not (context["C"] & w).any()  # and its own causes are as they were: no order, in R

    basis = Basis(make_target(effect_of("D"), context.x, 1), context, [tag, ~tag])
    found = minimal(basis, y=True, tau=0.95)
    assert found.factors == (tag,)
    assert found.sufficiency == (c.sufficiency,)
    # Fewer rows of I than worlds were drawn in it, so the shares differ, as samples do.
    counts, truth = measure(w, basis.outcomes), probabilities_of_causation(firing_squad(), "A", "D")
    neither = counts.contrapositive
    assert neither.factor < 4000 * c.observational[True, True]
    low, high = clopper_pearson(neither.both, neither.factor, level=0.999)
    assert low <= truth.necessity <= high
    low, high = clopper_pearson(counts.both, counts.outcome, level=0.999)
    assert low <= truth.measures.necessity <= high


def test_equal_spaces_give_the_very_same_numbers():
    """Where as many worlds fell into either space, the context leaves none out."""
    scm = CausalModel(
        {"y": ["x", "z"]}, mechanisms={"x": 0.5, "z": 0.5, "y": lambda x, z: x & ~z | z & ~x}
    )
    for seed in range(200):
        c = probabilities_of_causation(scm, "x", "y", n_worlds=40, random_state=seed)
        seen = c.observational
        if seen[True, True] == seen[False, False] > 0:
            counts = measure(c.sample[c.tag], c.sample["y"])
            assert counts.sufficiency == c.sufficiency
            assert counts.negative_predictive_value == c.necessity
            assert np.isclose(counts.necessity, c.measures.necessity)
            return
    pytest.fail("no seed gave equal spaces")


def credit():
    """A score with Gaussian noise: there are infinitely many worlds."""
    return CausalModel(
        {"score": ["employed"], "granted": ["score"]},
        mechanisms={
            "employed": 0.6,
            "score": additive(lambda employed: 650 + 100 * employed, std=50),
            "granted": lambda score: score >= 700,
        },
    )


def test_infinitely_many_worlds_are_sampled():
    from scipy.stats import norm

    c = probabilities_of_causation(credit(), "employed", compare("score", ">=", 700))
    assert c.n_worlds == 100_000
    treated, control = norm.sf(700, 750, 50), norm.sf(700, 650, 50)
    closed = {
        "necessity": (treated - control) / treated,  # noise is shared, so more is never less
        "sufficiency": (treated - control) / (1 - control),
        "pns": treated - control,
    }
    for name, value in closed.items():
        low, high = getattr(c.intervals, name)
        # A width is four standard errors; that intervals cover as they say is tested above.
        assert abs(getattr(c, name) - value) < high - low
        assert low <= getattr(c, name) <= high
    same = probabilities_of_causation(credit(), "employed", "granted")
    assert three(same) == three(c)
    bounds = causation_bounds(c.observational, c.experimental, monotone=True)
    assert np.allclose([pair[0] for pair in (bounds.necessity, bounds.pns)], [c.necessity, c.pns])
    assert "Estimated from 100,000 worlds drawn, with exact 95% intervals." in str(c)


def test_values_that_are_not_boolean():
    scm = CausalModel(
        {"ill": ["dose", "frail"], "mood": ["ill"]},
        mechanisms={
            "dose": {"none": 0.5, "some": 0.3, "much": 0.2},
            "frail": {1: 0.4, 0: 0.6},
            "ill": lambda dose, frail: (dose == "much") | ((dose == "some") & (frail == 1)),
            "mood": lambda ill: np.where(ill, "low", "fine"),
        },
    )
    c = probabilities_of_causation(scm, ("dose", "some", "none"), ("mood", "low"))
    assert np.allclose(three(c), (1.0, 0.4, 0.4))
    assert str(c.cause) == "dose = some rather than none"
    assert np.isclose(sum(c.observational.values()), 0.8)
    with pytest.raises(InputError, match=r"sum 0\.8.*a cause of two values"):
        causation_bounds(c.observational, c.experimental)
    frail = probabilities_of_causation(scm, "frail", "ill")
    assert frail.cause == ("frail", 1, 0)
    # (frail, ill): much 0.2 or some 0.3, and only the latter is due to frailty
    assert np.allclose(three(frail), (0.6, 0.3 / 0.8, 0.3))
    well = probabilities_of_causation(scm, ("dose", "none", "much"), ("ill", False))
    assert np.allclose(three(well), (1.0, 1.0, 1.0))


def test_undefined_is_none():
    scm = CausalModel({"y": ["x"]}, mechanisms={"x": 1.0, "y": lambda x: x})
    c = probabilities_of_causation(scm, "x", "y")
    assert three(c) == (1.0, None, 1.0)
    assert c.measures == Measures(both=0.0, factor=0.0, outcome=0.0, total=1.0)
    assert "sufficiency  undefined: no world has neither" in str(c)
    assert "For y = yes, x = yes is needed in 100% of the worlds that have both." in str(c)
    drawn = probabilities_of_causation(scm, "x", "y", n_worlds=10)
    assert drawn.sample is None
    assert drawn.intervals.sufficiency is None
    assert drawn.necessity == 1.0
    nothing = CausalModel({"y": ["x"]}, mechanisms={"x": 0.5, "y": lambda x: x & ~x})
    assert three(probabilities_of_causation(nothing, "x", "y")) == (None, 0.0, 0.0)


@pytest.mark.parametrize(
    ("cause", "effect", "options", "says"),
    [
        ("employd", "granted", {}, r"cause: got unknown node 'employd'.*Did you mean 'employed'"),
        ("employed", "grant", {}, r"effect: got unknown node 'grant'.*Did you mean 'granted'"),
        ("employed", equals("pay", 3), {}, "effect: got unknown node 'pay'"),
        ("score", "granted", {}, r"'score', which is not Boolean.*\('score', x, x'\)"),
        ("employed", "score", {}, "'score', which is not Boolean.*compare"),
        (("score", 3.0, 4.0), "granted", {}, r"score = 3\.0, which no world has.*Boolean node"),
        (("employed", True, True), "granted", {}, "two different values"),
        ((["employed"], True, False), "granted", {}, "unknown node"),
        (("employed", True), "granted", {}, "a Boolean node's name, or"),
        ("employed", 7, {}, "effect: got 7; allowed"),
        ("employed", "employed", {}, "the cause itself"),
        ("employed", ("score", "high"), {}, "effect.*'high'.*a value that no world has"),
        ("employed", "granted", {"n_worlds": 0}, "n_worlds: got 0; allowed: a whole number"),
        ("employed", "granted", {"n_worlds": 2.5}, "n_worlds: got 2.5"),
        ("employed", "granted", {"n_worlds": True}, "n_worlds: got True"),
        ("employed", "granted", {"n_worlds": 10**12}, "n_worlds: .* <= 100000000"),
        ("employed", "granted", {"random_state": -1}, "random_state: got -1"),
        ("employed", "granted", {"random_state": np.ones(2)}, "random_state: got array"),
        (("employed", [1], [2]), "granted", {}, r"cause: got \[1\]; allowed: values that are text"),
        (("employed", np.nan, True), "granted", {}, "cause: got nan"),
        (("employed", 10**30, True), "granted", {}, "cause: got 10+; allowed: values that are"),
        ("employed", ("score", np.ones(2)), {}, "effect: got array.*; allowed: values"),
    ],
)
def test_invalid_questions(cause, effect, options, says):
    with pytest.raises(InputError, match=says):
        probabilities_of_causation(credit(), cause, effect, **{"n_worlds": 50, **options})


def test_something_that_is_no_causal_model():
    with pytest.raises(InputError, match=r"scm: .*a CausalModel.*causation_bounds"):
        probabilities_of_causation({"y": ["x"]}, "x", "y")


def test_its_text_has_the_question_and_the_finding():
    c = probabilities_of_causation(firing_squad(), "A", "D")
    assert isinstance(c, Causation)
    assert str(c).splitlines() == [
        "Is A = yes rather than no a cause of D = yes?",
        "  For D = yes, A = yes is needed in 8% of the worlds that have both and enough in 100% of",
        "  those that have neither.",
        "               probability  asks",
        "  necessity    0.079        both seen: would D = yes have failed, had A been no?",
        "  sufficiency  1.000        neither seen: would D = yes have come about with A = yes?",
        "  pns          0.300        would D = yes follow A, whichever of the two it is set to?",
        "  Exact: all worlds were enumerated.",
    ]
    assert repr(c) == "<Causation: Is A = yes rather than no a cause of D = yes?>"
    drawn = probabilities_of_causation(firing_squad(), "A", "D", n_worlds=20_000)
    assert re.search(r"necessity +0\.0\d\d +0\.0\d\d to 0\.0\d\d  both seen", str(drawn))
    opposite = CausalModel({"y": ["x"]}, mechanisms={"x": 0.5, "y": lambda x: ~x})
    assert "none has neither: there is nothing to ask" in str(
        probabilities_of_causation(opposite, "x", "y")
    )


def test_it_is_stored_and_read_back_whole():
    for effect in (compare("score", ">=", 700), "granted"):
        c = probabilities_of_causation(credit(), "employed", effect, n_worlds=500)
        again = Causation.from_json(c.to_json())
        assert again == c and three(again) == three(c) and again.intervals == c.intervals
        assert again.sample is None and c.sample is not None
        copy = pickle.loads(pickle.dumps(c))
        assert copy == c and copy.sample.n == c.sample.n and hash(copy) == hash(c)
    exact = probabilities_of_causation(firing_squad(), "A", "D")
    assert Causation.from_json(exact.to_json()) == exact != c
    content = json.loads(exact.to_json())["content"]
    jsonschema.validate(json.loads(exact.to_json()), result_schema(Causation))
    for changed, says in (
        ({"pns": 1.5}, r"Expected `float` <= 1"),
        ({"measures": {"both": 3.0, "factor": 1.0, "outcome": 2.0, "total": 2.0}}, "counts that"),
        ({"intervals": [[0.5, 0.2], None, [0.0, 1.0]]}, "from 0.5 to 0.2; allowed: low <= high"),
        ({"cause": ["A"]}, "Expected `array` of"),
    ):
        text = json.dumps({"result": "Causation", "version": 1, "content": content | changed})
        with pytest.raises(InputError, match=says):
            Causation.from_json(text)


def test_its_frame_has_a_row_for_each_probability():
    exact = probabilities_of_causation(firing_squad(), "A", "D")
    frame = exact.to_frame()
    assert frame.probability.tolist() == ["necessity", "sufficiency", "pns"]
    assert frame.value.tolist() == list(three(exact)) and frame.low.isna().all()
    drawn = probabilities_of_causation(firing_squad(), "A", "D", n_worlds=100).to_frame()
    assert (drawn.low <= drawn.value).all() and (drawn.value <= drawn.high).all()
    page = exact.to_html()
    assert "Is A = yes rather than no a cause of D = yes?" in page and "0.079" in page
