"""ONNX sessions: the answer is a plain callable's, whatever the file takes and gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from suffice import Explainer, ImageExplainer, TextExplainer, at_least, datasets, versus
from suffice.errors import InputError, ModelError
from suffice.models import adapt
from tests.models.loan_models import (
    ROWS,
    SCALED,
    SCALED_FRAME,
    TWO_CLASSES,
    WEIGHTS,
    X,
    Y,
    assert_same_explanation,
    factors_and_necessity,
)


def session(model: Any, example: Any = None, **options: Any) -> Any:
    runtime = pytest.importorskip("onnxruntime")
    skl2onnx = pytest.importorskip("skl2onnx")
    example = ROWS[:1].astype(np.float32) if example is None else example
    made = skl2onnx.to_onnx(model, example, **options)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(
        made.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def test_onnx_labels_and_scores() -> None:
    forest = RandomForestClassifier(5, random_state=0).fit(ROWS, Y)
    by_label = session(forest)
    feed = by_label.get_inputs()[0].name

    def plain(rows: Any) -> Any:
        return by_label.run(None, {feed: np.asarray(rows, dtype=np.float32)})[0]

    e = assert_same_explanation(by_label, plain, X)
    assert e.provenance.model == "ONNX model"
    assert e.prediction in ("granted", "refused")
    Explainer(by_label, X, outcome=versus("granted", "refused")).explain(X.iloc[3])
    found = adapt(by_label)
    assert np.allclose(found.predict_proba(X), forest.predict_proba(ROWS), atol=1e-6)
    assert list(found.classes_) == ["granted", "refused"]
    renamed = adapt(by_label, classes=("yes", "no"))
    assert np.array_equal(renamed.predict(X) == "yes", found.predict(X) == "granted")

    in_columns = session(forest, options={id(forest): {"zipmap": False}})
    assert_same_explanation(in_columns, plain, X)
    with pytest.raises(InputError, match="the ONNX file does not name"):
        Explainer(in_columns, X, outcome=versus("granted", "refused")).explain(X.iloc[3])
    told = adapt(in_columns, classes=("granted", "refused"), batch_size=40)
    assert np.array_equal(told.predict(X), found.predict(X))
    assert np.allclose(told.predict_proba(X), found.predict_proba(X))
    with pytest.raises(ModelError, match="expected those of classes"):
        adapt(in_columns, classes=("a", "b")).predict(X)
    numbers = session(
        RandomForestClassifier(5, random_state=0).fit(ROWS, TWO_CLASSES),
        options={RandomForestClassifier: {"zipmap": False}},
    )
    assert set(adapt(numbers, classes=("no", "yes")).predict(X)) == {"no", "yes"}
    with pytest.raises(InputError, match="gives labels"):
        adapt(by_label, classes=("a", "b"), threshold=0.5)
    with pytest.raises(InputError, match="the 4 columns that the model was fitted on"):
        Explainer(by_label, X.assign(more=1.0))


def test_onnx_numbers_and_networks(tmp_path: Any) -> None:
    regressor = RandomForestRegressor(5, random_state=0).fit(ROWS, ROWS[:, 1])
    number = session(regressor)
    feed = number.get_inputs()[0].name

    def plain(rows: Any) -> Any:
        return number.run(None, {feed: np.asarray(rows, dtype=np.float32)})[0]

    assert_same_explanation(number, plain, X, at_least(50.0))
    two = adapt(number, classes=("low", "high"), threshold=50.0)
    assert np.array_equal(two.predict(X) == "high", plain(X)[:, 0] > 50)

    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    make = onnx.helper
    real = onnx.TensorProto.DOUBLE
    weights = onnx.numpy_helper.from_array(np.ascontiguousarray(WEIGHTS.T), "W")
    nodes = [make.make_node("MatMul", ["rows", "W"], ["logits"])]
    outs = [make.make_tensor_value_info("logits", real, [None, 3])]
    ins = [make.make_tensor_value_info("rows", real, [None, 4])]
    versions = {"opset_imports": [make.make_opsetid("", 17)], "ir_version": 9}

    def open_graph(outputs: Any) -> Any:
        graph = make.make_graph(nodes, "net", ins, outputs, [weights])
        made = make.make_model(graph, **versions)
        return runtime.InferenceSession(made.SerializeToString())

    logits = open_graph(outs)
    assert_same_explanation(logits, lambda rows: np.asarray(rows) @ WEIGHTS.T)
    ahead = adapt(logits, preprocess=lambda rows: np.asarray(rows)[:, ::-1])
    assert np.array_equal(ahead.predict(SCALED_FRAME), (SCALED[:, ::-1] @ WEIGHTS.T).argmax(1))
    by_name = adapt(logits, preprocess=lambda rows: {"rows": np.asarray(rows, np.float32)})
    assert by_name.predict_proba(SCALED_FRAME).shape == (150, 3)
    nodes.append(make.make_node("Neg", ["logits"], ["other"]))
    outs.append(make.make_tensor_value_info("other", real, [None, 3]))
    with pytest.raises(InputError, match=r"2 outputs \(logits tensor\(double\), other"):
        Explainer(open_graph(outs), SCALED_FRAME)


def test_onnx_with_an_input_per_column() -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    rows = datasets.loans(150)[0][["home", "debt"]].astype({"debt": "float32"})
    columns = make_column_transformer((OneHotEncoder(), ["home"]), remainder="passthrough")
    model = make_pipeline(columns, RandomForestClassifier(5, random_state=0)).fit(rows, Y)
    mixed = session(model, rows[:1])

    def plain(some: Any) -> Any:
        feed = {"home": some[["home"]].to_numpy(object), "debt": some[["debt"]].to_numpy("f4")}
        return mixed.run(None, feed)[0]

    assert_same_explanation(mixed, plain, rows)
    assert Explainer(mixed, rows[["debt", "home"]]).explain(rows.iloc[3]).complete
    whole = session(model, rows[:1].astype({"debt": "int64"}))
    assert_same_explanation(whole, model.predict, rows)
    with pytest.raises(InputError, match=r"got 2\.5; allowed: whole numbers"):
        Explainer(whole, rows.assign(debt=rows["debt"].replace(rows["debt"][0], 2.5)))
    with pytest.raises(InputError, match="a dict with an array for each of: home, debt"):
        adapt(mixed, preprocess=lambda some: some).predict(rows)
    with pytest.raises(InputError, match="data: got no column 'home'"):
        Explainer(mixed, rows[["debt"]])


def test_an_onnx_session_reads_texts() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    runtime = pytest.importorskip("onnxruntime")
    skl2onnx = pytest.importorskip("skl2onnx")
    texts = ["good film", "bad film", "a good play", "a bad play", "good", "bad"]
    # Without lower-casing, for which onnxruntime wants a locale of its own.
    pipeline = make_pipeline(CountVectorizer(lowercase=False), LogisticRegression(C=100))
    pipeline.fit(texts, ["yes", "no", "yes", "no", "yes", "no"])
    kind = [("text", skl2onnx.common.data_types.StringTensorType([None, 1]))]
    made = skl2onnx.to_onnx(pipeline, initial_types=kind, options={"zipmap": True})
    session = runtime.InferenceSession(made.SerializeToString())
    text = "such a good film"
    own, theirs = (TextExplainer(m, mask="bad")(text) for m in (session, pipeline))
    assert [f.features for f in own.keep.factors] == [f.features for f in theirs.keep.factors]
    assert [f.features for f in own.flip.factors] == [f.features for f in theirs.flip.factors]
    assert own.prediction == "yes"


def test_a_model_that_cannot_be_sent_to_processes_is_reported_in_one_sentence() -> None:
    import onnxruntime
    import skl2onnx

    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    file = skl2onnx.to_onnx(model, X[:1]).SerializeToString()
    explainer = Explainer(onnxruntime.InferenceSession(file), X)
    with pytest.raises(
        InputError, match=r"n_jobs: got a model that cannot be sent to workers .*cannot pickle.*"
    ):
        explainer.explain_many(X[:2], n_jobs=2)


def test_columns_that_a_converter_renamed_are_found() -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    rows = datasets.loans(150)[0][["home", "debt", "late payments"]]
    rows = rows.rename(columns={"debt": "2nd debt (k€)"})
    columns = make_column_transformer((OneHotEncoder(), ["home"]), remainder="passthrough")
    model = make_pipeline(columns, RandomForestClassifier(5, random_state=0)).fit(rows, Y)
    renamed = session(model, rows[:1])
    assert [put.name for put in renamed.get_inputs()] == ["home", "_2nd_debt__k__", "late_payments"]
    assert_same_explanation(renamed, model.predict, rows)
    turned = rows[["late payments", "2nd debt (k€)", "home"]].assign(label=Y)
    e = Explainer(renamed, turned).explain(turned.iloc[3])
    assert (
        factors_and_necessity(e)[0]
        == factors_and_necessity(Explainer(renamed, rows).explain(rows.iloc[3]))[0]
    )
    twins = rows.rename(columns={"home": "late-payments"})
    with pytest.raises(InputError, match="data: got no column 'home' or 'late_payments'"):
        Explainer(renamed, twins)


def test_a_file_that_is_not_opened_yet_gets_a_hint_how_to_open_it() -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    proto = skl2onnx.to_onnx(LogisticRegression().fit(ROWS, Y), ROWS[:1].astype(np.float32))
    opened = r"model: got {}; allowed: .*Open it first: onnxruntime\."
    for given, kind, call in (
        (proto, "ModelProto", r"InferenceSession\(model\.SerializeToString\(\)\)"),
        (proto.SerializeToString(), "bytes", r"InferenceSession\(model\)"),
        ("loans.onnx", "str", r"InferenceSession\('loans\.onnx'\)"),
        (Path("loans.onnx"), "PosixPath", r"InferenceSession\('loans\.onnx'\)"),
    ):
        for ask in (lambda model: Explainer(model, X), adapt, ImageExplainer):
            with pytest.raises(InputError, match=opened.format(kind) + call):
                ask(given)
    with pytest.raises(InputError, match=r"Open it first: onnxruntime\.InferenceSession"):
        TextExplainer("reviews.onnx")("a good film")
    with pytest.raises(InputError, match=r"Open it first: joblib\.load\('loans\.pkl'\)"):
        Explainer("loans.pkl", X)
    with pytest.raises(InputError, match=r"the class LogisticRegression;.*LogisticRegression\(…\)"):
        Explainer(LogisticRegression, X)
