"""`check_prover` passes the package's prover, and finds faults planted into it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from suffice import Explainer, InputError, Verdict, datasets
from suffice.prove import domain as domain_module
from suffice.testing import check_prover


def honest(explainer, x, features=None, *, domain):
    return explainer.prove(x, features, domain=domain)


def test_the_packages_prover_passes():
    assert check_prover(Explainer.prove, worlds=12, attempts=500) > 100
    assert check_prover(honest, worlds=4, seed=7, attempts=300) > 20


@pytest.mark.soak
def test_ten_million_rows_refute_no_proof():
    assert check_prover(Explainer.prove, worlds=50, attempts=2500, seed=3)


@pytest.mark.parametrize("domain", ["values", "range"])
def test_a_model_of_ones_own_is_checked(domain):
    X, y = datasets.loans(120)
    X = X[["age", "income", "debt", "late payments"]]
    model = RandomForestClassifier(20, max_depth=6, random_state=0).fit(X, y)
    ran = check_prover(Explainer.prove, model=model, rows=X, domain=domain, worlds=3, attempts=1000)
    assert ran > 48
    with pytest.raises(InputError, match="both, or neither"):
        check_prover(Explainer.prove, model=model)


def forgets_a_set(proof, x):
    return replace(proof, verdicts=proof.verdicts[1:])


def forgets_a_change(proof, x):
    return replace(proof, contrastive=proof.contrastive[:-1])


def believes(proof, x):
    return replace(proof, verdicts=tuple(Verdict(v.features, "proved") for v in proof.verdicts))


def shows_the_input(proof, x):
    return _with_counterexamples(proof, lambda v, row: dict(proof.values))


def changes_more(proof, x):
    """Counterexamples with another value of a feature that is held."""

    def other(verdict, row):
        return row | {name: row[name] + 1 for name in verdict.features[:1]}

    return _with_counterexamples(proof, other)


def _with_counterexamples(proof, make):
    if proof.searched:
        return proof
    return replace(
        proof,
        verdicts=tuple(
            v if v.counterexample is None
            else replace(v, counterexample=make(v, dict(v.counterexample)))
            for v in proof.verdicts
        ),
    )  # fmt: skip


def holds_too_much(proof, x):
    if not proof.searched or not proof.sufficient:
        return proof
    whole = Verdict(proof.players, "proved")
    return replace(proof, verdicts=(*proof.verdicts[:-1], whole))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (forgets_a_set, "lacks the sufficient sets|verdict for each set"),
        (forgets_a_change, "lacks the (contrastive|sufficient) sets|sets .* are not minimal"),
        (believes, "proved, and refuted by the row|the minimal sets say otherwise"),
        (shows_the_input, "which keeps the outcome"),
        (changes_more, "which keeps the outcome|which changes other features|outside the domain"),
        (holds_too_much, "are not minimal|lacks the|minimal sets say otherwise"),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_faults_are_found(fault, words):
    def faulty(explainer, x, features=None, *, domain):
        return fault(explainer.prove(x, features, domain=domain), x)

    with pytest.raises(AssertionError, match=words):
        check_prover(faulty, worlds=8, attempts=300)


def test_a_prover_that_loses_thresholds_is_refuted_by_a_row(monkeypatch):
    whole = domain_module._interval_ends

    def fewer(*given):
        ends = whole(*given)
        return ends[[0, *range(2, len(ends) - 1, 3), len(ends) - 1]]

    monkeypatch.setattr(domain_module, "_interval_ends", fewer)
    with pytest.raises(AssertionError, match="proved, and refuted by the row"):
        check_prover(Explainer.prove, worlds=40, attempts=1000)


def test_a_split_of_float64_is_found_beside_a_threshold():
    """scikit-learn rounds rows to float32 first; an input close above a threshold goes left."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2)) * [1, 1e6]
    model = RandomForestClassifier(3, max_depth=3, random_state=0)
    model.fit(rows, (rows[:, 0] > 0.1).astype(int))
    asked = check_prover(Explainer.prove, model=model, rows=rows, domain="range", worlds=4)
    assert asked >= 16

    def unrounded(explainer, x, features=None, *, domain):
        """Prove about the model as if its splits compared float64."""
        proof = explainer.prove(x, features, domain=domain)
        if proof.searched:
            return proof
        verdicts = []
        for v in proof.verdicts:
            if v.counterexample is not None and v.features == ("x1",):
                row = dict(v.counterexample)
                cut = model.estimators_[0].tree_.threshold[0]
                row["x0"] = float(np.nextafter(cut, np.inf))  # float32 puts it back
                v = replace(v, counterexample=row)
            verdicts.append(v)
        return replace(proof, verdicts=tuple(verdicts))

    low = rows[rows[:, 0] < -0.5]
    with pytest.raises(AssertionError, match="which keeps the outcome"):
        check_prover(unrounded, model=model, rows=np.vstack([low[:1], rows]), domain="range")
