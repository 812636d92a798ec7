"""The comparison with Anchors: its package is used as released, and measured as it should be."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("lime", reason="lime is not here: see `make test-peers`")
pytest.importorskip("anchor", reason="anchor-exp is not here: see `make test-peers`")

from experiments.german.anchors import below, by_input
from experiments.german.anchors_claims import claims
from experiments.german.anchors_contest import BEAMS, RULES, TESTS, Contest
from experiments.german.causal import CATEGORICAL
from experiments.german.setting import setting
from experiments.peers.anchor_exp import DEFAULTS, Anchors, Found, label_of

from suffice.cli.peer_tools import seeded_and_quiet

TAU = 0.9


@pytest.fixture(scope="module")
def german(data_home):
    model, X, _, _ = setting(data_home)
    return model, X, Anchors(label_of(model), X, {c: np.unique(X[c]) for c in CATEGORICAL})


def test_quicker_labels_are_the_models_own(german):
    model, X, _ = german
    rng = np.random.default_rng(1)
    mixed = pd.DataFrame({column: rng.choice(X[column], 20_000) for column in X})
    assert (label_of(model)(mixed.to_numpy(float)) == model.predict(mixed)).all()


@pytest.mark.parametrize("row", [16, 630])
def test_beam_one_is_what_users_get(german, row):
    """As released, whatever beam_size is given: the same rule and the same precision."""
    _, X, peer = german
    code = peer.encode(X.iloc[[row]])[0]

    def released(**options):
        with seeded_and_quiet(row):
            return peer.explainer.explain_instance(code, peer._predict, TAU, **options)

    default, ignored = released(), released(beam_size=DEFAULTS["beam_size"] + 3)
    with seeded_and_quiet(row):
        found = peer.find(X.iloc[row], TAU)
    assert default.names() == ignored.names()
    assert found.precision == default.precision() == ignored.precision()
    assert [X.columns.get_loc(c) for c in found.columns] == list(dict.fromkeys(default.features()))


def test_beam_that_is_passed_on_changes_the_search(german):
    _, X, peer = german
    found = []
    for beam in (1, 4):
        with seeded_and_quiet(3):
            found.append(peer.find(X.iloc[16], TAU, beam))
    assert found[0] != found[1]


def test_rows_that_satisfy_a_rule_are_counted_as_they_are(german):
    model, X, peer = german
    x = X.iloc[16]
    _, mapping = peer._sampler(x)
    numbers = {condition: k for k, condition in mapping.items()}
    edge = np.unique(np.percentile(X["Duration"], [25, 50, 75]))
    code = int(np.searchsorted(np.unique(X["Savings"]), x["Savings"]))
    bin_of_x = int(np.searchsorted(edge, x["Duration"]))
    duration, savings = X.columns.get_loc("Duration"), X.columns.get_loc("Savings")
    rule = (numbers[duration, "leq", bin_of_x], numbers[savings, "eq", code])
    hits, n = peer.rows(x, Found(rule, ("Duration", "Savings"), 0.0))
    holds = (X["Duration"] <= edge[bin_of_x]) & (X["Savings"] == x["Savings"])
    same = model.predict(X) == model.predict(X.iloc[[16]])[0]
    assert (hits, n) == ((holds & same).sum(), holds.sum())
    assert 0 < hits <= n
    # Other data are cut where this data is.
    other = peer.on(X[100:400])
    assert other.rows(x, Found(rule, (), 0.0))[1] == holds[100:400].sum()


def test_one_input_is_repeatable_and_held_to_rows_not_chosen_by(german):
    model, X, _ = german
    contest = Contest(model, X, CATEGORICAL, TAU, seed=0)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first = contest(16)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    lines = pd.DataFrame(first["lines"])
    np.random.seed(9)  # noqa: NPY002 - the generator's own state must not matter
    pd.testing.assert_frame_equal(lines, pd.DataFrame(contest(16)["lines"]))

    assert set(lines["method"]) == {*BEAMS, *TESTS, *RULES}
    ours = lines[lines["method"].isin(TESTS)]
    assert (ours["reported"] >= TAU).all()
    chosen, other = (e.explain(X.iloc[16], tau=TAU) for e in contest.lens_halves)
    opposite = (model.predict(X) != model.predict(X.iloc[[16]])[0]).sum()
    assert chosen.keep.tally.n + other.keep.tally.n == opposite
    plain = ours[(ours["method"] == "LENS") & (ours["chosen on"] == "half")]
    assert plain["held out"].tolist() == [
        other.keep.sufficiency(f.features) for f in chosen.keep.factors
    ]

    shares = below(lines, 1)
    at = shares.set_index(["method", "chosen on", "measured"])
    assert at.loc[("LENS", "half", "held out"), "lowest"] == plain["held out"].min()
    assert by_input(lines)["outputs"].sum() == len(lines)
    assert claims(shares)[4].holds  # in sample LENS always meets τ


def test_shares_below_are_counted_by_input():
    lines = pd.DataFrame(
        [
            {"input": i, "method": "LENS", "chosen on": "half", "size": 2, "held out": ps}
            | {"reported": 0.95, "held out of": 100}
            for i, ps in ((1, 0.95), (1, 0.85), (1, 0.93), (2, 0.80), (2, 0.89), (3, 1.0))
        ]
    ).assign(fresh=None, covered=None, **{"PS of its features": None})
    row = below(lines, 4).set_index("measured").loc["held out"]
    assert row["mean below τ"] == row["max below τ"] == pytest.approx(1 / 3)
    assert row["min below τ"] == pytest.approx(2 / 3)
    assert row["outputs below τ"] == pytest.approx(3 / 6)
    assert row["outputs surely below τ"] == pytest.approx(1 / 6)  # 80 of 100; 85 has p = 0.073
    assert (row["inputs"], row["without answer"], row["lowest"]) == (3, 1, 0.80)
