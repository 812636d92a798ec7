"""Keras models on the torch backend: the answer is a plain callable's."""

from __future__ import annotations

import os
import pickle
from typing import Any

import numpy as np
import pytest

from suffice import Explainer, at_least
from suffice.errors import InputError, ModelError
from suffice.models import adapt
from tests.models.loan_models import (
    SCALED_FRAME,
    WEIGHTS,
    assert_same_explanation,
    factors_and_necessity,
    torch_network,
)

os.environ.setdefault("KERAS_BACKEND", "torch")  # read when keras is first imported

OLD_ARRAY = "ignore:__array__ implementation doesn't accept a copy:DeprecationWarning"
"""Keras has not followed NumPy 2 yet."""


def keras_net(outputs: int = 2) -> Any:
    pytest.importorskip("torch")
    keras = pytest.importorskip("keras")
    layers = keras.layers
    made = keras.Sequential(
        [
            layers.Input((4,)),
            layers.BatchNormalization(),
            layers.Dropout(0.5),
            layers.Dense(outputs),
        ]
    )
    made.layers[-1].set_weights([WEIGHTS[:outputs].T, np.zeros(outputs)])
    return made


@pytest.mark.filterwarnings(OLD_ARRAY)
def test_keras_models() -> None:
    model = keras_net()
    held = set(vars(model))
    state = [np.array(w) for w in model.get_weights()]

    def plain(rows: Any) -> Any:
        return model.predict_on_batch(np.asarray(rows, dtype="float32"))

    found = adapt(model, batch_size=40)
    labels = found.predict(SCALED_FRAME)
    e = Explainer(model, SCALED_FRAME).explain(SCALED_FRAME.iloc[3], tau=0.7)
    assert set(vars(model)) == held
    assert e.provenance.model == "keras Sequential"
    assert all(np.array_equal(a, b) for a, b in zip(state, model.get_weights(), strict=True))
    assert np.array_equal(labels, plain(SCALED_FRAME).argmax(axis=1))
    assert_same_explanation(model, plain)
    one = keras_net(1)
    assert_same_explanation(
        one, lambda rows: one.predict_on_batch(np.asarray(rows)), outcome=at_least(0.0)
    )
    with pytest.raises(InputError, match="the 4 columns that the model was fitted on"):
        Explainer(model, SCALED_FRAME.assign(more=1.0))
    with pytest.raises(InputError, match="device: got cpu; allowed: None for keras Sequential"):
        adapt(model, device="cpu")


def test_keras_models_that_cannot_be_read() -> None:
    pytest.importorskip("torch")
    keras = pytest.importorskip("keras")
    with pytest.raises(InputError, match="not built"):
        Explainer(keras.Sequential([keras.layers.Dense(2)]), SCALED_FRAME)
    inputs = keras.layers.Input((4,))
    both = keras.Model(inputs, [keras.layers.Dense(1)(inputs), keras.layers.Dense(2)(inputs)])
    with pytest.raises(ModelError, match="returned list of 2 outputs; expected one"):
        Explainer(both, SCALED_FRAME)


@pytest.mark.filterwarnings(OLD_ARRAY)
def test_networks_are_sent_to_other_processes() -> None:
    from joblib.externals.loky.backend.reduction import dumps

    explainer = Explainer(torch_network(), SCALED_FRAME)
    one = explainer.explain_many(SCALED_FRAME.iloc[:2], progress=False)
    two = explainer.explain_many(SCALED_FRAME.iloc[:2], n_jobs=2, progress=False)
    assert [factors_and_necessity(e) for e in one] == [factors_and_necessity(e) for e in two]
    # Workers would take seconds to load keras; what reaches them is this.
    explainer = Explainer(keras_net(), SCALED_FRAME)
    sent = pickle.loads(dumps(explainer))
    assert factors_and_necessity(sent.explain(SCALED_FRAME.iloc[3])) == factors_and_necessity(
        explainer.explain(SCALED_FRAME.iloc[3])
    )


def test_onnx_sessions_and_keras_models_see_pictures(tmp_path: Any) -> None:
    """Both networks say whether the left half is brighter than the right."""
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    keras = pytest.importorskip("keras")
    from suffice import ImageExplainer

    sides = np.repeat([[1.0, 1.0, -1.0, -1.0]], 4, axis=0).reshape(16, 1).astype(np.float32)
    weights = np.concatenate([-sides, sides], axis=1)
    network = keras.Sequential([keras.Input((4, 4)), keras.layers.Flatten(), keras.layers.Dense(2)])
    network.layers[-1].set_weights([weights, np.zeros(2)])
    make, real = onnx.helper, onnx.TensorProto.FLOAT
    graph = make.make_graph(
        [
            make.make_node("Flatten", ["x"], ["flat"]),
            make.make_node("MatMul", ["flat", "W"], ["scores"]),
        ],
        "halves",
        [make.make_tensor_value_info("x", real, [None, 4, 4])],
        [make.make_tensor_value_info("scores", real, [None, 2])],
        [onnx.numpy_helper.from_array(weights, "W")],
    )
    proto = make.make_model(graph, opset_imports=[make.make_opsetid("", 13)], ir_version=8)
    session = runtime.InferenceSession(proto.SerializeToString())
    image = np.zeros((4, 4), dtype=np.float32)
    image[:, :2] = 1.0
    halves = np.repeat([[0, 0, 1, 1]], 4, axis=0)
    for model in (session, network):
        e = ImageExplainer(model, regions=halves, references=1 - image[None])(image)
        assert e.prediction == 1
        # With one half replaced both are alike, and the first class wins ties.
        assert [f.features for f in e.flip.factors] == [("region 1",), ("region 2",)]
        assert [f.features for f in e.keep.factors] == [("region 1", "region 2")]
