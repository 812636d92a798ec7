"""Proposition 2 against anchor-exp: the precision that it reports is PS(c_A, y) on its own draws."""

from functools import reduce
from itertools import combinations
from operator import and_

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from suffice import Explainer, compare, datasets, equals
from suffice.rules import anchor, score_rule

tabular = pytest.importorskip("anchor.anchor_tabular")

TAU = 0.95
CATEGORICAL = ("home", "job", "guarantor")


class Setting:
    """The loans as anchor-exp wants them: an array of floats, categories as codes."""

    def __init__(self):
        frame, y = datasets.loans()
        self.names = list(frame.columns)
        self.labels = {}
        for name in CATEGORICAL:
            codes, labels = frame[name].factorize(sort=True)
            frame[name] = codes
            self.labels[self.names.index(name)] = [str(label) for label in labels]
        self.data = frame.to_numpy(dtype=float)
        self.model = RandomForestClassifier(50, random_state=0).fit(self.data, y == "granted")
        self.peer = tabular.AnchorTabularExplainer(
            ["refused", "granted"], self.names, self.data, self.labels
        )
        discretizer = self.peer.disc
        bins = [np.unique(b) for b in discretizer.bins(self.data, None)]
        self.cuts = dict(zip(discretizer.to_discretize, bins, strict=True))

    def predict(self, rows):
        return self.model.predict(rows).astype(int)

    def explainer(self):
        return Explainer(self.predict, self.data)

    def as_factor(self, conditions):
        """Conditions (feature, relation, bin or value) of anchor-exp as a factor of ours."""

        def one(f, relation, v):
            if relation == "eq":
                return equals(f"x{f}", v)
            return compare(f"x{f}", "<=" if relation == "leq" else ">", self.cuts[f][v])

        return reduce(and_, [one(*condition) for condition in conditions])


@pytest.fixture(scope="module")
def setting():
    return Setting()


@pytest.fixture
def beam(monkeypatch):
    """What anchor-exp's search knew when it answered: the rule, and every row drawn for it."""
    seen = {}
    base = tabular.anchor_base.AnchorBaseBeam
    answer = base.get_anchor_from_tuple

    def note(found, state):
        rows = sorted(state["t_idx"][found])
        seen.update(found=found, rows=state["raw_data"][rows])
        return answer(found, state)

    monkeypatch.setattr(base, "get_anchor_from_tuple", staticmethod(note))
    return seen


@pytest.mark.parametrize("row", [8, 3, 17])
def test_reported_precision_is_sufficiency(setting, beam, row):
    np.random.seed(row)  # noqa: NPY002 - the generator that anchor-exp draws from
    x = setting.data[row]
    exp = setting.peer.explain_instance(x, setting.predict, threshold=TAU)
    draw, mapping = setting.peer.get_sample_fn(x, setting.predict)
    rule = setting.as_factor([mapping[i] for i in beam["found"]])
    explainer = setting.explainer()

    # The rows on which it based its answer.
    scored = score_rule(explainer, x, rule, sample=beam["rows"])
    assert scored.n == len(beam["rows"])
    assert scored.precision == exp.precision()

    # Rows that its sampler draws afresh under the rule.
    rows, _, has_outcome = draw(list(beam["found"]), 2000)
    scored = score_rule(explainer, x, rule, sample=rows)
    assert (scored.n, scored.precision) == (2000, has_outcome.mean())

    # Our own perturbation is the same distribution: within four standard errors of its draws.
    ours = score_rule(explainer, x, rule)
    p = has_outcome.mean()
    assert abs(ours.precision - p) < 4 * np.sqrt(max(p * (1 - p), 0.01) * (1 / 2000 + 1 / ours.n))

    # Coverage is a share of rows in both; its own is an estimate from 10,000 draws of them.
    c = scored.coverage
    assert abs(exp.coverage() - c) < 4 * np.sqrt(c * (1 - c) / 10_000) + 1e-9


@pytest.mark.parametrize("row", [8, 3, 17])
def test_no_rule_of_the_same_conditions_covers_more(setting, beam, row):
    """On our rows: that of anchor-exp is one of them, and where it is precise ours is no narrower."""
    np.random.seed(row)  # noqa: NPY002
    x, explainer = setting.data[row], setting.explainer()
    setting.peer.explain_instance(x, setting.predict, threshold=TAU)
    _, mapping = setting.peer.get_sample_fn(x, setting.predict)
    theirs = score_rule(explainer, x, setting.as_factor([mapping[i] for i in beam["found"]]))
    options = {
        "cuts": {f"x{f}": c for f, c in setting.cuts.items()},
        "categorical": [f"x{setting.names.index(name)}" for name in CATEGORICAL],
    }
    widest = anchor(explainer, x, tau=TAU, bounds="any", **options)
    assert widest.complete
    assert theirs.precision < TAU or widest.best.coverage >= theirs.coverage

    cells = anchor(explainer, x, tau=TAU, **options)
    names = cells.conditions.features
    everything = [cells.rule(*s) for k in range(8) for s in combinations(names, k)]
    assert len(everything) == 2**7
    precise = [rule.coverage for rule in everything if rule.precision >= TAU]
    assert (cells.best.coverage if cells.best else None) == max(precise, default=None)
