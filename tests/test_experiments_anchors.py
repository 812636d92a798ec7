"""The comparison with Anchors: its package is used as released, and measured as it should be."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("lime")
pytestmark = pytest.mark.filterwarnings("ignore")

from experiments.anchor_exp import DEFAULTS, Anchors, label_of, seeded  # noqa: E402
from experiments.german_causal import CATEGORICAL  # noqa: E402
from experiments.german_credit import setting  # noqa: E402

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


@pytest.mark.parametrize("row", [16, 648])
def test_beam_one_is_what_users_get(german, row):
    _, X, peer = german
    code = peer.encode(X.iloc[[row]])[0]
    with seeded(row):
        released = peer.explainer.explain_instance(code, peer._predict, threshold=TAU)
    with seeded(row):
        ignored = peer.explainer.explain_instance(
            code, peer._predict, threshold=TAU, beam_size=DEFAULTS["beam_size"] + 3
        )
    with seeded(row):
        found = peer.find(X.iloc[row], TAU)
    assert released.names() == ignored.names()
    assert found.precision == released.precision()
    assert [X.columns.get_loc(c) for c in found.columns] == list(dict.fromkeys(released.features()))
