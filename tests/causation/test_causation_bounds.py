"""Tian and Pearl's bounds against a linear programme over the response types."""

import json
import pickle

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy.linalg import block_diag
from scipy.optimize import linprog

from suffice.causation import CausationBounds, causation_bounds
from suffice.errors import InputError
from suffice.results import result_schema
from tests.effort import examples

TYPES = [(True, True), (True, False), (False, True), (False, False)]  # (y_x, y_x')
CELLS = [(x, kind) for x in (True, False) for kind in TYPES]
HELPED = (True, False)
QUANTITIES = [
    (lambda x, k: x and k == HELPED, lambda x, k: x and k[0]),
    (lambda x, k: not x and k == HELPED, lambda x, k: not x and not k[1]),
    (lambda x, k: k == HELPED, lambda x, k: True),
]
"""(nec, suf, PNS): each the share of the first event within the second."""


def effect(x, kind):
    return kind[0] if x else kind[1]


def share(p, holds):
    total = sum(v for (x, kind), v in zip(CELLS, p, strict=True) if holds(x, kind))
    # Bounds jump where a share is exactly 0 or 1, so a sum such as 1 - 1e-16 has to be 1.
    return round(float(total), 12)


@st.composite
def populations(draw, monotone=False, exogenous=False):
    """A distribution over (x, response type), none of its masses tiny but some of them 0."""
    if exogenous:
        kinds = np.array([draw(st.integers(0, 9)) for _ in TYPES], dtype=float)
        kinds[2] *= not monotone
        assume(kinds.sum() > 0)
        x = draw(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]))
        return np.concatenate([x * kinds, (1 - x) * kinds]) / kinds.sum()
    p = np.array([draw(st.integers(0, 9)) for _ in CELLS], dtype=float)
    p[[2, 6]] *= not monotone
    assume(p.sum() > 0)
    return p / p.sum()


def observed(p):
    return {
        (x, y): share(p, lambda u, kind, x=x, y=y: u == x and effect(u, kind) == y)
        for x in (True, False)
        for y in (True, False)
    }


def tried(p):
    return {x: share(p, lambda u, kind, x=x: effect(x, kind)) for x in (True, False)}


def truth(p):
    """(nec, suf, PNS) by their definitions."""
    helped = share(p, lambda x, kind: kind == HELPED)
    joint = observed(p)
    nec = share(p, lambda x, kind: x and kind == HELPED)
    suf = share(p, lambda x, kind: not x and kind == HELPED)
    return (
        nec / joint[True, True] if joint[True, True] else None,
        suf / joint[False, False] if joint[False, False] else None,
        helped,
    )


def sharp(joint, trial, monotone, exogenous):
    """(nec, suf, PNS): smallest and largest over all populations that agree with the data.

    A share of two unknowns is made linear by scaling the population until its denominator is 1;
    the scale is one more unknown (Charnes and Cooper). Under exogeneity x is independent of the
    type: linear where P(x) is known; where it is not, it cancels, and any value serves.
    """
    rows, sides = [], []

    def fix(holds, value):
        rows.append([float(holds(x, kind)) for x, kind in CELLS])
        sides.append(value)

    fix(lambda x, kind: True, 1.0)
    if joint is not None:
        for (x, y), value in joint.items():
            fix(lambda u, kind, x=x, y=y: u == x and effect(u, kind) == y, value)
    if trial is not None:
        for x, value in trial.items():
            fix(lambda u, kind, x=x: effect(x, kind), value)
    if monotone:
        fix(lambda x, kind: kind == (False, True), 0.0)
    if exogenous:
        px = 0.5 if joint is None else joint[True, True] + joint[True, False]
        for kind in TYPES:
            rows.append([(k == kind) * ((1 - px) if x else -px) for x, k in CELLS])
            sides.append(0.0)
    equal, values = np.array(rows), np.array(sides)

    goals, scaled = [], []
    for part, whole in QUANTITIES:
        goals.append(np.append([float(part(x, k)) for x, k in CELLS], 0.0))
        whole = [*(float(whole(x, k)) for x, k in CELLS), 0.0]
        scaled.append(np.vstack([np.column_stack([equal, -values]), whole]))
    ends = [*[0.0] * len(values), 1.0]

    def ranges_of(chosen):
        """Solve one programme of independent blocks: the least and the most of each quantity."""
        found = linprog(
            np.concatenate([sign * goals[i] for i in chosen for sign in (1, -1)]),
            A_eq=block_diag(*(scaled[i] for i in chosen for _ in (1, -1))),
            b_eq=ends * 2 * len(chosen),
        )
        if found.status == 2:
            return None
        least_and_most = found.x.reshape(len(chosen), 2, -1)
        return [tuple(least_and_most[k] @ goals[i]) for k, i in enumerate(chosen)]

    together = ranges_of([0, 1, 2])
    if together is not None:
        return together
    alone = [ranges_of([i]) for i in range(3)]  # a quantity is undefined where it has no solution
    return [None if found is None else found[0] for found in alone]


def three(bounds):
    return bounds.necessity, bounds.sufficiency, bounds.pns


def near(one, other):
    if one is None or other is None:
        return one is other
    return np.allclose(one, other, atol=1e-7)


@pytest.mark.parametrize("exogenous", [False, True])
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("given_", ["observational", "experimental", "both"])
def test_bounds_are_sharp_and_hold_the_truth(given_, monotone, exogenous):
    @settings(max_examples=examples(40))
    @given(populations(monotone, exogenous))
    def check(p):
        joint = observed(p) if given_ != "experimental" else None
        trial = tried(p) if given_ != "observational" else None
        bounds = causation_bounds(joint, trial, monotone=monotone, exogenous=exogenous)
        for pair, best in zip(three(bounds), sharp(joint, trial, monotone, exogenous), strict=True):
            assert near(pair, best)
        for pair, value in zip(three(bounds), truth(p), strict=True):
            if value is not None:
                assert pair[0] - 1e-9 <= value <= pair[1] + 1e-9
        assert bounds.moved < 1e-9

    check()


@given(populations(monotone=True))
def test_monotone_effects_are_identified_by_both_kinds_of_data(p):
    bounds = causation_bounds(observed(p), tried(p), monotone=True)
    for pair, value in zip(three(bounds), truth(p), strict=True):
        assert near(pair, None if value is None else (value, value))
    defined = ["necessity", "sufficiency", "pns"]
    assert bounds.identified == tuple(
        n for n, v in zip(defined, truth(p), strict=True) if v is not None
    )


@given(populations(monotone=True, exogenous=True))
def test_without_confounding_a_monotone_effect_needs_no_trial(p):
    joint = observed(p)
    assume(0 < joint[True, True] + joint[True, False] < 1)
    bounds = causation_bounds(joint, monotone=True, exogenous=True)
    for pair, value in zip(three(bounds), truth(p), strict=True):
        assert near(pair, None if value is None else (value, value))


def test_tian_and_pearls_legal_example():
    """Pearl (2000), 9.3.4: 1000 took the drug freely, 1000 in each arm of a trial."""
    trial = {True: (16, 1000), False: (14, 1000)}
    seen = {(True, True): 2, (True, False): 998, (False, True): 28, (False, False): 972}
    bounds = causation_bounds(seen, trial)
    assert np.allclose(bounds.necessity, (1.0, 1.0))
    assert bounds.identified == ("necessity",)


def test_every_form_of_the_same_data_gives_the_same_bounds():
    counts = {(True, True): 3, (True, False): 1, (False, True): 2, (False, False): 4}
    pairs = [cell for cell, k in counts.items() for _ in range(k)]
    rows = pd.DataFrame(pairs, columns=["smoker", "ill"])
    trial = pd.DataFrame([(1, 1), (1, 1), (1, 0), (0, 1), (0, 0), (0, 0)], columns=["x", "y"])
    expected = causation_bounds(
        {cell: k / 10 for cell, k in counts.items()}, {True: 2 / 3, False: 1 / 3}
    )
    for joint in (counts, rows, pl.from_pandas(rows), rows.astype(int), [[4, 2], [1, 3]]):
        for arms in (trial, trial.astype(bool), {True: (2, 3), False: (1, 3)}):
            assert causation_bounds(joint, arms) == expected
    table = pd.crosstab(rows["smoker"], rows["ill"])
    assert causation_bounds(table.to_numpy()) == causation_bounds(counts)
    with pytest.raises(InputError, match=r"cross table.*to_numpy"):
        causation_bounds(table)


def test_a_tolerance_moves_the_trial_just_as_far_as_needed():
    joint = {(True, True): 0.3, (True, False): 0.2, (False, True): 0.1, (False, False): 0.4}
    with pytest.raises(InputError, match=r"break P\(x, y\) <= P\(y_x\) by 0.02.*by chance"):
        causation_bounds(joint, {True: 0.28, False: 0.3})
    moved = causation_bounds(joint, {True: 0.28, False: 0.3}, tolerance=0.05)
    exact = causation_bounds(joint, {True: 0.3, False: 0.3})
    assert np.isclose(moved.moved, 0.02)
    assert three(moved) == three(exact)
    assert "moved by 0.02 to agree" in str(moved)
    assert "moved" not in str(exact)
    both = causation_bounds(None, {True: 0.3, False: 0.32}, monotone=True, tolerance=0.05)
    assert both.pns == (0.0, 0.0)
    assert np.isclose(both.moved, 0.01)
    fair = causation_bounds(joint, {True: 0.62, False: 0.2}, exogenous=True, tolerance=0.05)
    assert three(fair) == three(causation_bounds(joint, exogenous=True))
    assert np.isclose(fair.moved, 0.02)


JOINT = {(True, True): 0.3, (True, False): 0.2, (False, True): 0.1, (False, False): 0.4}


@pytest.mark.parametrize(
    ("joint", "trial", "options", "says"),
    [
        (JOINT, {True: 0.2, False: 0.3}, {}, r"P\(x, y\) <= P\(y_x\) by 0.1"),
        (JOINT, {True: 0.9, False: 0.3}, {}, r"P\(y_x\) <= 1 - P\(x, y'\) by 0.1"),
        (JOINT, {True: 0.6, False: 0.05}, {}, r"P\(x', y\) <= P\(y_x'\) by 0.05"),
        (JOINT, {True: 0.6, False: 0.7}, {}, r"P\(y_x'\) <= 1 - P\(x', y'\) by 0.1"),
        (JOINT, {True: 0.35, False: 0.3}, {"monotone": True}, r"P\(y\) <= P\(y_x\) \(monotone"),
        (JOINT, {True: 0.6, False: 0.5}, {"monotone": True}, r"P\(y_x'\) <= P\(y\) \(monotone"),
        (
            None,
            {True: 0.6, False: 0.7},
            {"monotone": True},
            r"^experimental.*P\(y_x'\) <= P\(y_x\)",
        ),
        (
            {(True, True): 1, (True, False): 4, (False, True): 3, (False, False): 2},
            None,
            {"monotone": True, "exogenous": True},
            r"^observational.*P\(y_x'\) <= P\(y_x\) \(monotone\) by 0.4",
        ),
        (JOINT, {True: 0.5, False: 0.2}, {"exogenous": True}, r"P\(y_x\) = P\(y \| x\).* by 0.1"),
    ],
)
def test_inconsistent_data_name_the_inequality(joint, trial, options, says):
    with pytest.raises(InputError, match=says):
        causation_bounds(joint, trial, **options)


@pytest.mark.parametrize(
    ("joint", "trial", "says"),
    [
        (None, None, "neither; allowed: one of them"),
        ({(True, "y"): 1}, None, "cell .True, 'y'."),
        ({(True, True): -1}, None, "got -1.0|got -1; allowed: finite numbers >= 0"),
        ({(True, True): 0}, None, "no case at all"),
        ({(True, True): 0.3, (False, False): 0.3}, None, "sum 0.6; allowed: a sum of 1"),
        ([[1, 2, 3]], None, "False before True"),
        ([[True, False], [True, True]], None, "2x2 array"),
        (pd.DataFrame({"x": [True]}), None, "1 columns; allowed: exactly two columns"),
        (pd.DataFrame({"x": [True], "y": [None]}), None, "column 'y' of other values"),
        (None, {True: 0.5}, "arms .'True'."),
        (None, {True: 0.5, False: 1.5}, "Counts are given as"),
        (None, {True: (3, 2), False: 0.5}, "0 <= events <= n"),
        (None, {True: float("nan"), False: 0.5}, "finite numbers"),
        (None, 0.5, "experimental: got 0.5"),
        (None, pd.DataFrame({"x": [1, 1], "y": [0, 1]}), "one arm"),
        ([[1, 2], [3]], None, "False before True"),
        ({(True, True): 1e308, (True, False): 1e308}, None, "counts too large to add up"),
        ({(True, True): True}, None, "got True; allowed: finite numbers"),
        ({(True, True): "3"}, None, "got '3'; allowed: finite numbers"),
    ],
)
def test_data_that_cannot_be_read(joint, trial, says):
    with pytest.raises(InputError, match=says):
        causation_bounds(joint, trial)


def test_bad_tolerance():
    with pytest.raises(InputError, match="tolerance"):
        causation_bounds(JOINT, tolerance=-1)


def test_undefined_is_said_in_words():
    bounds = causation_bounds({(True, False): 3, (False, False): 5})
    assert bounds.necessity is None
    assert bounds.pns == (0.0, 5 / 8)
    assert "necessity    undefined: nothing observed" in str(bounds)


def test_small_bounds_are_not_shown_as_nothing():
    """16 in 100,000 is not 0, and what rounding leaves of 0 is."""
    seen = {(True, True): 16, (True, False): 50_000, (False, True): 10, (False, False): 49_974}
    bounds = causation_bounds(seen)
    assert bounds.pns == (0.0, 0.49990)
    assert "0.000 to 1.000" in str(bounds)
    rare = causation_bounds({(True, True): 16, (True, False): 99_984}, exogenous=False)
    assert rare.pns == (0.0, 0.00016)
    assert "pns          0.000 to 0.00016" in str(rare)
    trace = causation_bounds(
        {(True, True): 1, (True, False): 99_999, (False, True): 2, (False, False): 99_998},
        {True: (3, 200_000), False: (3, 200_000)},
    )
    assert (trace.necessity, trace.sufficiency[0], trace.pns[0]) == ((0.0, 1.0), 0.0, 0.0)


def test_they_say_in_words_what_they_mean():
    bounds = causation_bounds(JOINT, {True: 0.6, False: 0.3}, monotone=True)
    assert str(bounds).splitlines() == [
        "Is it a cause? Bounds from observational and experimental data, assumed monotone",
        "  Of the cases with cause and effect, 33% needed the cause.",
        "  Of those with neither, the cause would have been enough for 50%.",
        "               between",
        "  necessity    0.333",
        "  sufficiency  0.500",
        "  pns          0.300",
    ]
    assert repr(causation_bounds(JOINT)) == (
        "<CausationBounds: Is it a cause? Bounds from observational data>"
    )
    assert "33%" in bounds.to_html() and "0.333" in bounds._repr_html_()


def test_they_are_stored_and_read_back_whole():
    none = {(True, False): 3, (False, False): 5}
    for bounds in (causation_bounds(JOINT), causation_bounds(none), causation_bounds(None, TRIAL)):
        assert CausationBounds.from_json(bounds.to_json()) == bounds
        assert pickle.loads(pickle.dumps(bounds)) == bounds
        assert hash(CausationBounds.from_json(bounds.to_json())) == hash(bounds)
        frame = bounds.to_frame()
        assert frame.probability.tolist() == ["necessity", "sufficiency", "pns"]
        assert tuple(frame.loc[2, ["low", "high"]]) == bounds.pns
        jsonschema.validate(json.loads(bounds.to_json()), result_schema(CausationBounds))
    content = json.loads(causation_bounds(JOINT).to_json())["content"]
    for changed, says in (
        ({"pns": [0.0, 1.5]}, "<= 1"),
        ({"pns": [0.7, 0.5]}, "from 0.7 to 0.5"),
        ({"data": ["hearsay"]}, "Invalid enum value 'hearsay'"),
    ):
        text = {"result": "CausationBounds", "version": 1, "content": content | changed}
        with pytest.raises(InputError, match=says):
            CausationBounds.from_json(json.dumps(text))


TRIAL = {True: 0.6, False: 0.3}


def test_a_share_that_rounding_put_above_one_is_one():
    above = {True: 0.1 + 0.2 + 0.7 + 2e-16, False: 0.3}
    assert above[True] > 1
    exact = {True: 1.0, False: 0.3}
    assert causation_bounds(experimental=above) == causation_bounds(experimental=exact)
    with pytest.raises(InputError, match=r"experimental.*got 1\.001; allowed: a probability"):
        causation_bounds(experimental={True: 1.001, False: 0.3})


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({"monotone": "no"}, "monotone: got 'no'; allowed: True or False"),
        ({"exogenous": 1}, "exogenous: got 1; allowed: True or False"),
        ({"tolerance": "0.1"}, "tolerance: got '0.1'; allowed: a number"),
        ({"tolerance": np.nan}, "tolerance: got nan"),
        ({"tolerance": True}, "tolerance: got True"),
    ],
)
def test_options_that_are_none(given_, says):
    with pytest.raises(InputError, match=says):
        causation_bounds(JOINT, **given_)
    with pytest.raises(TypeError, match="positional"):
        causation_bounds(JOINT, TRIAL, True)


def test_text_is_no_truth_value():
    """The text "False" counts as true in Python: a column of it must not be read so."""
    for words in (["True", "False"], ["1", "0"], ["yes", "no"]):
        rows = pd.DataFrame({"x": words, "y": [True, False]})
        with pytest.raises(InputError, match="column 'x' of other values; allowed: Booleans"):
            causation_bounds(rows)
    mixed = pd.DataFrame({"x": pd.array([True, False, True], dtype="boolean"), "y": [1, 0, 0]})
    third = {(True, True): 1, (False, False): 1, (True, False): 1}
    assert causation_bounds(mixed) == causation_bounds(third)
