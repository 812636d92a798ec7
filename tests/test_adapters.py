"""Models of other libraries, given as they are: the answer is a plain callable's."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline

from suffice import Explainer, at_least, datasets, make_target, versus
from suffice.errors import InputError, ModelError
from suffice.models import Adapter, adapt, as_model

os.environ.setdefault("KERAS_BACKEND", "torch")  # read when keras is first imported

X, Y = datasets.loans(150)
X = X.select_dtypes("number")
ROWS = X.to_numpy(float)
SCALED = (ROWS - ROWS.mean(0)) / ROWS.std(0)
Z = pd.DataFrame(SCALED, columns=X.columns)
TWO = (Y == "granted").astype(int)
THREE = np.digitize(ROWS[:, 2], [6, 18])
WEIGHTS = np.array([[0.1, -1.0, 1.2, 1.0], [0.0, 1.1, -1.0, -0.9], [0.2, 0.1, 0.1, -0.3]])


def answers(explanation: Any) -> Any:
    views = (explanation.keep, explanation.flip)
    found = [([(f.features, f.sufficiency) for f in v.factors], v.necessity) for v in views]
    return found, [v.outcome for v in views]


def same(model: Any, plain: Any, data: Any = Z, outcome: Any = None) -> Any:
    """Explain with the model itself and with a callable; the answers must be equal."""
    found = Explainer(model, data, outcome=outcome).explain(data.iloc[3], tau=0.7)
    wanted = Explainer(plain, data, outcome=outcome).explain(data.iloc[3], tau=0.7)
    assert answers(found) == answers(wanted)
    assert found.keep.factors
    return found


# torch


def net(outputs: int = 2) -> Any:
    """Weights by hand; dropout and normalisation answer otherwise in training mode."""
    torch = pytest.importorskip("torch")
    nn = torch.nn
    layers = [nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, outputs)]
    made = nn.Sequential(*layers)
    with torch.no_grad():
        made[2].weight.copy_(torch.tensor(WEIGHTS[:outputs]))
        made[2].bias.zero_()
    return made.eval()


def torch_callable(module: Any) -> Any:
    import torch

    def plain(rows: Any) -> Any:
        with torch.no_grad():
            return module(torch.tensor(np.asarray(rows), dtype=torch.float32)).numpy()

    return plain


def test_torch_modules() -> None:
    module = net()
    plain = torch_callable(module)
    e = same(module, plain)
    assert e.provenance.model == "torch Sequential"
    assert e.prediction in (0, 1)
    same(module, plain, outcome=versus(1, 0))
    same(net(3), torch_callable(net(3)))
    same(net(1), torch_callable(net(1)), outcome=at_least(0.0))
    named = Explainer(adapt(module, classes=("refused", "granted")), Z).explain(Z.iloc[3])
    assert named.prediction == ("refused", "granted")[e.prediction]
    with pytest.raises(InputError, match=r"at_least\(t\)"):
        Explainer(net(1), Z).explain(Z.iloc[3])


def test_torch_modules_are_left_as_they_were() -> None:
    torch = pytest.importorskip("torch")

    module = net()
    expected = torch_callable(module)(SCALED)
    module.train()
    module[0].eval()  # frozen, in a module that is being trained
    module[2].weight.grad = None
    flags = [part.training for part in module.modules()]
    assert flags == [True, False, True, True]
    held = [set(vars(part)) for part in module.modules()]
    weights = {name: value.clone() for name, value in module.state_dict().items()}
    state = torch.random.get_rng_state().clone()
    adapted = adapt(module)
    assert np.array_equal(adapted.predict_proba(SCALED), expected)
    assert np.array_equal(adapted.predict(Z), expected.argmax(axis=1))
    Explainer(module, Z).explain(Z.iloc[3])
    assert [part.training for part in module.modules()] == flags
    assert [set(vars(part)) for part in module.modules()] == held
    assert all(torch.equal(value, weights[name]) for name, value in module.state_dict().items())
    assert all(p.grad is None and p.requires_grad for p in module.parameters())
    assert torch.equal(torch.random.get_rng_state(), state)
    with pytest.raises(RuntimeError):
        adapted.predict(SCALED[:, :3])
    assert [part.training for part in module.modules()] == flags


def test_a_torch_module_that_draws_at_random_moves_no_random_state() -> None:
    torch = pytest.importorskip("torch")

    class Noisy(torch.nn.Module):
        def forward(self, rows: Any) -> Any:
            return rows[:, :2] + torch.rand(1)

    state = torch.random.get_rng_state().clone()
    adapt(Noisy()).predict(SCALED)
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("size", [1, 7, 150, 1000])
def test_batches(size: int) -> None:
    module = net()
    seen: list[int] = []
    hook = module.register_forward_hook(lambda _m, given, _out: seen.append(len(given[0])))
    found = adapt(module, batch_size=size).predict(Z)
    assert max(seen) <= size
    assert sum(seen) == len(Z)
    assert len(seen) == -(-len(Z) // size)
    seen.clear()
    assert np.array_equal(adapt(module).predict(pd.concat([Z] * 8)), np.tile(found, 8))
    assert seen == [1024, 176]
    hook.remove()
    few = Z.iloc[:12]
    small, whole = (Explainer(adapt(module, batch_size=b), few) for b in (size, None))
    assert answers(small.explain(Z.iloc[3])) == answers(whole.explain(Z.iloc[3]))


def test_torch_kinds_of_numbers_and_devices() -> None:
    torch = pytest.importorskip("torch")

    double = net().double()
    assert np.array_equal(adapt(double).predict(Z), adapt(net()).predict(Z))
    half = net().to(torch.bfloat16)
    assert adapt(half).predict_proba(Z).dtype == np.float32
    assert np.array_equal(adapt(net(), device="cpu").predict(Z), adapt(net()).predict(Z))
    with pytest.raises(InputError, match="'meta', with a model on another device, cpu"):
        adapt(net(), device="meta")
    with pytest.raises(InputError, match="a torch device"):
        adapt(net(), device="nowhere")
    identity = adapt(torch.nn.Identity(), device="cpu")  # is nowhere itself
    assert identity.predict(SCALED).max() == 3
    for kind in (pl.from_pandas(Z), pa.Table.from_pandas(Z), Z.astype("Float64"), Z.astype(object)):
        assert np.array_equal(adapt(net(), batch_size=60).predict(kind), adapt(net()).predict(Z))


def test_what_a_torch_module_returns() -> None:
    torch = pytest.importorskip("torch")

    class Output:
        def __init__(self, logits: Any) -> None:
            self.logits = logits

    class Returns(torch.nn.Module):
        def __init__(self, change: Any) -> None:
            super().__init__()
            self.inner, self.change = net(), change

        def forward(self, rows: Any) -> Any:
            return self.change(self.inner(rows))

    labels = adapt(net()).predict(Z)
    assert np.array_equal(adapt(Returns(Output)).predict(Z), labels)
    numbers = Returns(lambda out: out.argmax(dim=1))
    assert np.array_equal(adapt(numbers, classes=("no", "yes")).predict(Z) == "yes", labels == 1)
    assert same(numbers, torch_callable(net())).prediction in (0, 1)
    for change, message in (
        (lambda out: (out, out), "Returns returned tuple; expected a tensor"),
        (lambda out: {"logits": out}, "Returns returned dict; expected a tensor"),
        (lambda out: out[:-1], r"returned shape \(149, 2\) for 150 row"),
        (lambda out: out[:, :, None], r"returned shape \(150, 2, 1\) for 150 row"),
        (lambda out: out / 0 * 0, "returned NaN for 150 of 150 rows"),
        (lambda out: out @ out, "Returns raised RuntimeError on 150 row"),
    ):
        with pytest.raises(ModelError, match=message):
            Explainer(Returns(change), Z)
    with pytest.raises(ModelError, match=r"shape \(150, 2\) for .*; expected \(150, 3\), a score"):
        Explainer(adapt(net(), classes=("a", "b", "c")), Z)
    with pytest.raises(ModelError, match=r"shape \(150, 3\) for .*or \(150, 2\), a score"):
        Explainer(adapt(net(3), classes=("a", "b")), Z)
    with pytest.raises(ModelError, match="class number -1, but there are 2"):
        Explainer(adapt(Returns(lambda out: out.argmax(1) * 2 - 1), classes=("a", "b")), Z)


def test_a_module_with_a_predict_of_its_own_is_asked_through_it() -> None:
    torch = pytest.importorskip("torch")

    class Own(torch.nn.Module):
        def predict(self, rows: Any) -> Any:
            return np.where(np.asarray(rows)[:, 0] > 0, "up", "down")

    assert as_model(Own(), Explainer(Own(), Z)._data)[0].classes == ("down", "up")


def test_one_output_and_two_classes() -> None:
    logit = net(1)
    with pytest.raises(InputError, match=r"0\.0 if it is a logit, 0\.5 if it is a probability"):
        Explainer(adapt(logit, classes=("no", "yes")), Z)
    named = adapt(logit, classes=("no", "yes"), threshold=0.0)
    plain = torch_callable(logit)
    e = same(named, lambda rows: np.where(plain(rows)[:, 0] > 0, "yes", "no"))
    assert e.prediction in ("no", "yes")
    for outcome in (versus("yes", "no"), versus("no", "yes")):
        Explainer(named, Z, outcome=outcome).explain(Z.iloc[3])
    assert list(named.classes_) == ["no", "yes"]
    assert np.array_equal(named.predict_proba(Z).argmax(1) == 1, named.predict(Z) == "yes")
    with pytest.raises(InputError, match="two classes"):
        adapt(logit, threshold=0.5)
    with pytest.raises(InputError, match="gives 2 scores per row"):
        adapt(net(), classes=("no", "yes"), threshold=0.5).predict(Z)
    number = adapt(logit)
    with pytest.raises(InputError, match="no score per class"):
        number.predict_proba(Z)
    assert not hasattr(number, "classes_")
    assert number.predict(Z).dtype.kind == "f"


def test_text_through_a_tokenizer_of_the_users() -> None:
    torch = pytest.importorskip("torch")
    words = {word: i for i, word in enumerate(["good", "bad", "film", "long"])}

    class Bag(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = torch.nn.Embedding(4, 2)
            with torch.no_grad():
                self.embedding.weight.copy_(
                    torch.tensor([[0.0, 2.0], [2.0, 0.0], [0.1, 0.0], [0.3, 0.0]])
                )

        def forward(self, ids: Any, mask: Any) -> Any:
            return (self.embedding(ids) * mask[:, :, None]).sum(1)

    def tokens(rows: Any) -> Any:
        ids = [[words.get(word, -1) for word in row] for row in np.asarray(rows).tolist()]
        table = torch.tensor(ids)
        return {"ids": table.clamp(min=0), "mask": (table >= 0).float()}

    pair = adapt(Bag(), preprocess=lambda rows: tuple(tokens(rows).values()))
    model = adapt(Bag(), classes=("bad", "good"), preprocess=tokens, batch_size=3)
    texts = np.array([["good", "film"], ["bad", "film"], ["", "long"], ["good", "long"]], object)
    assert model.predict(texts).tolist() == ["good", "bad", "bad", "good"]
    assert pair.predict(texts).tolist() == [1, 0, 0, 1]
    e = Explainer(model, texts).explain(texts[0])
    assert [f.features for f in e.keep.factors] == [("x0",)]


# keras


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


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_keras_models() -> None:
    model = keras_net()
    held = set(vars(model))
    state = [np.array(w) for w in model.get_weights()]

    def plain(rows: Any) -> Any:
        return model.predict_on_batch(np.asarray(rows, dtype="float32"))

    found = adapt(model, batch_size=40)
    labels = found.predict(Z)
    e = Explainer(model, Z).explain(Z.iloc[3], tau=0.7)
    assert set(vars(model)) == held
    assert e.provenance.model == "keras Sequential"
    assert all(np.array_equal(a, b) for a, b in zip(state, model.get_weights(), strict=True))
    assert np.array_equal(labels, plain(Z).argmax(axis=1))
    same(model, plain)
    one = keras_net(1)
    same(one, lambda rows: one.predict_on_batch(np.asarray(rows)), outcome=at_least(0.0))
    with pytest.raises(InputError, match="the 4 columns that the model was fitted on"):
        Explainer(model, Z.assign(more=1.0))
    with pytest.raises(InputError, match="device: got cpu; allowed: None for keras Sequential"):
        adapt(model, device="cpu")


def test_keras_models_that_cannot_be_read() -> None:
    pytest.importorskip("torch")
    keras = pytest.importorskip("keras")
    with pytest.raises(InputError, match="not built"):
        Explainer(keras.Sequential([keras.layers.Dense(2)]), Z)
    inputs = keras.layers.Input((4,))
    both = keras.Model(inputs, [keras.layers.Dense(1)(inputs), keras.layers.Dense(2)(inputs)])
    with pytest.raises(ModelError, match="returned list of 2 outputs; expected one"):
        Explainer(both, Z)


@pytest.mark.filterwarnings("ignore")
def test_networks_are_sent_to_other_processes() -> None:
    from joblib.externals.loky.backend.reduction import dumps

    explainer = Explainer(net(), Z)
    one = explainer.explain_many(Z.iloc[:2], progress=False)
    two = explainer.explain_many(Z.iloc[:2], n_jobs=2, progress=False)
    assert [answers(e) for e in one] == [answers(e) for e in two]
    # Workers would take seconds to load keras; what reaches them is this.
    explainer = Explainer(keras_net(), Z)
    sent = pickle.loads(dumps(explainer))
    assert answers(sent.explain(Z.iloc[3])) == answers(explainer.explain(Z.iloc[3]))


# ONNX


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

    e = same(by_label, plain, X)
    assert e.provenance.model == "ONNX model"
    assert e.prediction in ("granted", "refused")
    Explainer(by_label, X, outcome=versus("granted", "refused")).explain(X.iloc[3])
    found = adapt(by_label)
    assert np.allclose(found.predict_proba(X), forest.predict_proba(ROWS), atol=1e-6)
    assert list(found.classes_) == ["granted", "refused"]
    renamed = adapt(by_label, classes=("yes", "no"))
    assert np.array_equal(renamed.predict(X) == "yes", found.predict(X) == "granted")

    in_columns = session(forest, options={id(forest): {"zipmap": False}})
    same(in_columns, plain, X)
    with pytest.raises(InputError, match="the ONNX file does not tell"):
        Explainer(in_columns, X, outcome=versus("granted", "refused")).explain(X.iloc[3])
    told = adapt(in_columns, classes=("granted", "refused"), batch_size=40)
    assert np.array_equal(told.predict(X), found.predict(X))
    assert np.allclose(told.predict_proba(X), found.predict_proba(X))
    with pytest.raises(ModelError, match="expected those of classes"):
        adapt(in_columns, classes=("a", "b")).predict(X)
    numbers = session(
        RandomForestClassifier(5, random_state=0).fit(ROWS, TWO),
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

    same(number, plain, X, at_least(50.0))
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
    same(logits, lambda rows: np.asarray(rows) @ WEIGHTS.T)
    ahead = adapt(logits, preprocess=lambda rows: np.asarray(rows)[:, ::-1])
    assert np.array_equal(ahead.predict(Z), (SCALED[:, ::-1] @ WEIGHTS.T).argmax(1))
    by_name = adapt(logits, preprocess=lambda rows: {"rows": np.asarray(rows, np.float32)})
    assert by_name.predict_proba(Z).shape == (150, 3)
    nodes.append(make.make_node("Neg", ["logits"], ["other"]))
    outs.append(make.make_tensor_value_info("other", real, [None, 3]))
    with pytest.raises(InputError, match=r"2 outputs \(logits tensor\(double\), other"):
        Explainer(open_graph(outs), Z)


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

    same(mixed, plain, rows)
    assert Explainer(mixed, rows[["debt", "home"]]).explain(rows.iloc[3]).complete
    whole = session(model, rows[:1].astype({"debt": "int64"}))
    same(whole, model.predict, rows)
    with pytest.raises(InputError, match=r"got 2\.5; allowed: whole numbers"):
        Explainer(whole, rows.assign(debt=rows["debt"].replace(rows["debt"][0], 2.5)))
    with pytest.raises(InputError, match="a dict with an array for each of: home, debt"):
        adapt(mixed, preprocess=lambda some: some).predict(rows)
    with pytest.raises(InputError, match="data: got no column 'home'"):
        Explainer(mixed, rows[["debt"]])


# boosters


def xgboost_booster(labels: Any, data: Any = X, **params: Any) -> Any:
    xgb = pytest.importorskip("xgboost")
    params |= {"max_depth": 3, "nthread": 1}
    return xgb.train(params, xgb.DMatrix(data, labels), 8)


def test_xgboost_boosters() -> None:
    xgb = pytest.importorskip("xgboost")
    two = xgboost_booster(TWO, objective="binary:logistic")

    def raw(booster: Any) -> Any:
        return lambda rows: booster.predict(xgb.DMatrix(rows))

    e = same(two, lambda rows: (raw(two)(rows) > 0.5).astype(int), X)
    assert e.provenance.model == "xgboost Booster"
    wrapper = xgb.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(X, TWO)
    bare = adapt(wrapper.get_booster())
    assert np.array_equal(bare.predict(X), wrapper.predict(X))
    assert np.array_equal(bare.predict_proba(X), wrapper.predict_proba(X))
    assert bare.classes_.tolist() == [0, 1]
    named = adapt(two, classes=("refused", "granted"), threshold=0.8)
    assert np.array_equal(named.predict(X) == "granted", raw(two)(X) > 0.8)
    assert np.array_equal(named.predict_proba(X).argmax(1), (raw(two)(X) > 0.8).astype(int))

    kinds = {"num_class": 3}
    share = xgboost_booster(THREE, objective="multi:softprob", **kinds)
    winner = xgboost_booster(THREE, objective="multi:softmax", **kinds)
    same(share, raw(share), X)
    same(winner, lambda rows: raw(winner)(rows).astype(int), X)
    assert np.array_equal(adapt(winner).predict_proba(X).argmax(1), adapt(winner).predict(X))
    assert set(adapt(winner, classes=list("abc")).predict(X)) <= set("abc")
    Explainer(winner, X, outcome=versus(0, 2)).explain(X.iloc[3])

    value = xgboost_booster(ROWS[:, 1], objective="reg:squarederror")
    same(value, raw(value), X, at_least(50.0))
    logit = xgboost_booster(TWO, objective="binary:logitraw")
    assert np.array_equal(adapt(logit).predict(X), (raw(logit)(X) > 0).astype(int))
    before = two.save_raw("json"), two.feature_names
    Explainer(two, X.assign(label=1)).explain(X.iloc[3])
    assert (two.save_raw("json"), two.feature_names) == before
    nameless = xgboost_booster(TWO, ROWS, objective="binary:logistic")
    same(nameless, lambda rows: (raw(nameless)(np.asarray(rows)) > 0.5).astype(int), X)
    assert nameless.feature_names is None
    assert np.array_equal(adapt(two).predict(ROWS), adapt(two).predict(pl.from_pandas(X)))
    by_hand = adapt(nameless, preprocess=lambda rows: xgb.DMatrix(np.asarray(rows)), batch_size=30)
    assert np.array_equal(by_hand.predict(X), adapt(nameless).predict(X))


def test_what_boosters_refuse() -> None:
    two = xgboost_booster(TWO, objective="binary:logistic")
    with pytest.raises(InputError, match="whose objective has two"):
        adapt(two, classes=list("abc"))
    share = xgboost_booster(THREE, objective="multi:softprob", num_class=3)
    with pytest.raises(InputError, match=r"classes: got .*; allowed: 3 for"):
        adapt(share, classes=list("ab"))
    with pytest.raises(InputError, match="None for xgboost Booster with 3 classes"):
        adapt(share, threshold=0.5, classes=list("abc"))
    many = xgboost_booster(ROWS[:, :2], objective="reg:squarederror")
    with pytest.raises(InputError, match="2 targets"):
        Explainer(many, X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_boosters_on_frames_with_categories(library: str) -> None:
    module = pytest.importorskip(library)
    rows = datasets.loans(150)[0][["home", "job", "debt"]]
    rows = rows.astype({"home": "category", "job": "category"})
    if library == "xgboost":
        wrapper = module.XGBClassifier(
            n_estimators=8, max_depth=3, n_jobs=1, enable_categorical=True
        )
        booster = wrapper.fit(rows, TWO).get_booster()
    else:
        wrapper = module.LGBMClassifier(n_estimators=8, n_jobs=1, verbose=-1, cat_smooth=1)
        booster = wrapper.fit(rows, TWO).booster_
    assert np.array_equal(adapt(booster).predict(rows), wrapper.predict(rows))
    same(booster, wrapper.predict, rows)


@pytest.mark.filterwarnings("ignore")
def test_lightgbm_boosters() -> None:
    lgb = pytest.importorskip("lightgbm")

    def booster(labels: Any, data: Any = X, **params: Any) -> Any:
        params |= {"verbose": -1, "num_threads": 1, "num_leaves": 7}
        return lgb.train(params, lgb.Dataset(data, labels), 8)

    two = booster(TWO, objective="binary")
    e = same(two, lambda rows: (two.predict(rows) > 0.5).astype(int), X)
    assert e.provenance.model == "lightgbm Booster"
    wrapper = lgb.LGBMClassifier(n_estimators=8, num_leaves=7, n_jobs=1, verbose=-1).fit(X, TWO)
    bare = adapt(wrapper.booster_)
    assert np.array_equal(bare.predict(X), wrapper.predict(X))
    assert np.array_equal(bare.predict_proba(X), wrapper.predict_proba(X))
    three = booster(THREE, objective="multiclass", num_class=3)
    same(three, three.predict, X)
    value = booster(ROWS[:, 1], objective="regression")
    same(value, value.predict, X, at_least(50.0))
    nameless = booster(TWO, ROWS, objective="binary")
    same(nameless, lambda rows: (nameless.predict(rows) > 0.5).astype(int), X)
    with pytest.raises(InputError, match="the 4 columns that the model was fitted on"):
        Explainer(nameless, X.assign(more=1))
    assert np.array_equal(adapt(two).predict(pa.Table.from_pandas(X)), adapt(two).predict(X))


def test_catboost_models() -> None:
    cat = pytest.importorskip("catboost")
    common = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False}
    common |= {"thread_count": 1, "random_seed": 0}

    def raw(loss: str, labels: Any, data: Any = X) -> Any:
        return cat.CatBoost({"loss_function": loss, **common}).fit(data, labels)

    two = raw("Logloss", Y)
    e = same(two, lambda rows: two.predict(rows, prediction_type="Class"), X)
    assert e.provenance.model == "CatBoost"
    wrapper = cat.CatBoostClassifier(**common).fit(X, Y)
    assert np.array_equal(adapt(two).predict(X), wrapper.predict(X))
    assert np.array_equal(adapt(two).predict_proba(X), wrapper.predict_proba(X))
    Explainer(two, X, outcome=versus("granted", "refused")).explain(X.iloc[3])
    moved = adapt(two, classes=("yes", "no"), threshold=0.3)
    assert np.array_equal(moved.predict(X) == "no", wrapper.predict_proba(X)[:, 1] > 0.3)
    renamed = adapt(two, classes=("yes", "no"))
    assert np.array_equal(renamed.predict(X) == "yes", wrapper.predict(X) == "granted")
    three = raw("MultiClass", THREE, ROWS)
    same(three, lambda rows: three.predict(rows, prediction_type="Class")[:, 0], X)
    value = raw("RMSE", ROWS[:, 1])
    same(value, value.predict, X, at_least(50.0))
    with pytest.raises(InputError, match="as many as the model's own: 'granted', 'refused'"):
        adapt(two, classes=list("abc"))
    same(wrapper, wrapper.predict, X)
    assert set(adapt(wrapper, classes=("yes", "no")).predict(X)) == {"yes", "no"}
    regressor = cat.CatBoostRegressor(**common).fit(X, ROWS[:, 1])
    same(regressor, regressor.predict, X, at_least(50.0))


# texts


TEXTS = ["a good film", "good and long", "a bad film", "bad and long", "good good bad", "long"]
PARTS = np.array([text.split() + [""] * (3 - len(text.split())) for text in TEXTS], dtype=object)


def join(rows: Any) -> list[str]:
    return [" ".join(row) for row in np.asarray(rows).tolist()]


def test_callables_that_give_labels_and_scores() -> None:
    bag = make_pipeline(CountVectorizer(), LogisticRegression())
    bag.fit(TEXTS, ["+", "+", "-", "-", "+", "-"])

    def every(texts: Any) -> Any:
        shares = bag.predict_proba(texts).tolist()
        return [
            [{"label": c, "score": p} for c, p in zip(bag.classes_, row, strict=True)]
            for row in shares
        ]

    def best(texts: Any) -> Any:
        return [max(row, key=lambda pair: pair["score"]) for row in every(texts)]

    labels = bag.predict(TEXTS).tolist()
    for style in (best, every):
        model = adapt(style, preprocess=join)
        assert model.predict(PARTS).tolist() == labels
        found = Explainer(model, PARTS).explain(PARTS[0], tau=0.7)
        plain = Explainer(lambda rows: bag.predict(join(rows)), PARTS).explain(PARTS[0], tau=0.7)
        straight = Explainer(lambda rows, ask=style: ask(join(rows)), PARTS)
        assert answers(found) == answers(plain) == answers(straight.explain(PARTS[0], tau=0.7))
    scores = adapt(every, classes=("+", "-"), preprocess=join)
    assert np.array_equal(scores.predict_proba(PARTS), bag.predict_proba(TEXTS)[:, :2])
    with pytest.raises(InputError, match="top_k=None"):
        adapt(best, classes=("+", "-"), preprocess=join).predict_proba(PARTS)
    with pytest.raises(ModelError, match=r"returned label '\+', which is not of"):
        adapt(best, classes=("-", "?"), preprocess=join).predict(PARTS)
    with pytest.raises(ModelError, match="returned label"):
        adapt(every, classes=("-", "?"), preprocess=join).predict_proba(PARTS)
    with pytest.raises(InputError, match="which gives labels"):
        adapt(best, classes=("+", "-"), threshold=0.5, preprocess=join).predict(PARTS)


@pytest.mark.filterwarnings("ignore")
def test_pipelines_of_transformers() -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    words = ["[UNK]", "[PAD]", "a", "good", "bad", "film", "and", "long"]
    level = tokenizers.models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]")
    small = tokenizers.Tokenizer(level)
    small.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=small, unk_token="[UNK]", pad_token="[PAD]"
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        config = transformers.DistilBertConfig(
            vocab_size=8, dim=8, hidden_dim=16, n_layers=1, n_heads=2, max_position_embeddings=16,
            pad_token_id=1, id2label={0: "NEG", 1: "POS"}, label2id={"NEG": 0, "POS": 1},
            initializer_range=1.0,
        )  # fmt: skip
        module = transformers.DistilBertForSequenceClassification(config).eval()
    pipe = transformers.pipeline("text-classification", model=module, tokenizer=tokenizer)
    wanted = [found["label"] for found in pipe(TEXTS)]
    assert set(wanted) == {"NEG", "POS"}
    model = adapt(pipe)
    assert repr(model) == "TextClassificationPipeline"
    assert model.predict(TEXTS).tolist() == wanted
    for rows in (np.array(TEXTS), pd.DataFrame({"text": TEXTS}), tuple(TEXTS)):
        assert adapt(pipe, batch_size=2).predict(rows).tolist() == wanted
    assert list(model.classes_) == ["NEG", "POS"]
    scores = model.predict_proba(TEXTS)
    assert [("NEG", "POS")[i] for i in scores.argmax(1)] == wanted
    turned = adapt(pipe, classes=("POS", "NEG"))
    assert np.array_equal(turned.predict_proba(TEXTS), scores[:, ::-1])
    in_parts = adapt(pipe, preprocess=join)
    found = Explainer(in_parts, PARTS).explain(PARTS[0], tau=0.6)
    plain = Explainer(lambda rows: [a["label"] for a in pipe(join(rows))], PARTS)
    assert answers(found) == answers(plain.explain(PARTS[0], tau=0.6))
    assert Explainer(pipe, pd.DataFrame({"text": TEXTS})).explain([TEXTS[0]]).complete
    with pytest.raises(InputError, match="3 columns; allowed: one column of texts"):
        Explainer(pipe, PARTS)
    with pytest.raises(InputError, match="own labels in any order: 'NEG', 'POS'"):
        adapt(pipe, classes=("a", "b"))
    with pytest.raises(InputError, match="which gives labels"):
        adapt(pipe, threshold=0.5, classes=("NEG", "POS"))
    # The module itself, with its tokenizer as the function that prepares rows.
    bare = adapt(
        module,
        classes=("NEG", "POS"),
        preprocess=lambda texts: tokenizer(list(texts), return_tensors="pt", padding=True),
    )
    assert bare.predict(TEXTS).tolist() == wanted
    assert np.allclose(torch.tensor(bare.predict_proba(TEXTS)).softmax(1), scores, atol=1e-5)


# any model


def test_estimators_and_callables_with_options() -> None:
    model = LogisticRegression(max_iter=5000).fit(X, TWO)
    assert adapt(model) is model
    moved = adapt(model, classes=("refused", "granted"), threshold=0.8, batch_size=50)
    share = model.predict_proba(X)[:, 1]
    assert np.array_equal(moved.predict(X) == "granted", share > 0.8)
    assert np.array_equal(moved.predict_proba(X).argmax(1), (share > 0.8).astype(int))
    renamed = adapt(model, classes=("refused", "granted"))
    e = Explainer(renamed, X.assign(label=0)).explain(X.iloc[3])
    plain = Explainer(model, X).explain(X.iloc[3])
    assert answers(e)[0] == answers(plain)[0]
    assert np.array_equal(renamed.predict_proba(X), model.predict_proba(X))
    ridge = adapt(RidgeClassifier().fit(X, TWO), classes=("no", "yes"))
    assert np.array_equal(ridge.predict_proba(X).argmax(1) == 1, ridge.predict(X) == "yes")
    backwards = adapt(LogisticRegression(max_iter=5000).fit(ROWS[:, ::-1], TWO),
                      preprocess=lambda rows: np.asarray(rows, float)[:, ::-1])  # fmt: skip
    assert np.array_equal(backwards.predict(X), backwards.original.predict(ROWS[:, ::-1]))
    value = RandomForestRegressor(3).fit(ROWS, ROWS[:, 0])
    with pytest.raises(InputError, match="it has no classes"):
        adapt(value, classes=("a", "b"))
    with pytest.raises(InputError, match="without predict_proba"):
        adapt(RidgeClassifier().fit(X, TWO), classes=list("ab"), threshold=0.5)
    with pytest.raises(InputError, match="no score per class"):
        adapt(value, batch_size=5).predict_proba(ROWS)
    words = adapt(lambda rows: np.where(np.asarray(rows)[:, 0] > 40, "old", "young"), batch_size=9)
    assert set(words.predict(X)) == {"old", "young"}
    assert adapt(words) is words
    with pytest.raises(InputError, match="adapted already"):
        adapt(words, batch_size=3)
    odd = adapt(lambda rows: np.asarray(rows)[:, :2], classes=(0, "other"), batch_size=60)
    assert odd.predict(X).tolist() == [0 if a >= b else "other" for a, b in ROWS[:, :2]]
    assert odd.predict_proba(X).shape == (150, 2)
    f = make_target(xgboost_booster(TWO, objective="binary:logistic"), X, 1)
    assert f(Explainer(words, X)._data).dtype == bool


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": "a"}, "two or more different labels"),
        ({"classes": ("a", "a")}, "two or more different labels"),
        ({"classes": 3}, "two or more different labels"),
        ({"classes": ([1], [2])}, "two or more different labels"),
        ({"classes": ("a", "b"), "threshold": "x"}, "a finite number"),
        ({"classes": ("a", "b"), "threshold": float("nan")}, "a finite number"),
        ({"classes": ("a", "b"), "threshold": True}, "a finite number"),
        ({"batch_size": 0}, "whole number >= 1"),
        ({"batch_size": 2.5}, "whole number >= 1"),
        ({"preprocess": 5}, "a function of rows"),
        ({"device": "cpu"}, "None for"),
    ],
)
def test_options_that_make_no_sense(options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        adapt(lambda rows: rows[:, 0], **options)


def test_what_is_no_model_and_rows_that_are_no_numbers() -> None:
    with pytest.raises(InputError, match="a fitted estimator with predict, or a callable"):
        adapt(5)
    loans, _ = datasets.loans(150)
    with pytest.raises(InputError, match=r"column 'home', which holds '.*preprocess"):
        Explainer(net(), loans)
    with pytest.raises(InputError, match="got texts"):
        adapt(net()).predict(["a text"])
    mixed = np.array([[1.0, "a", None, 2]] * 3, dtype=object)
    with pytest.raises(InputError, match="column 'x1', which holds 'a'"):
        adapt(net()).predict(mixed)
    gaps = SCALED.astype(object)
    gaps[0, 0] = None
    with pytest.raises(ModelError, match="returned NaN for 1 of 150 rows"):
        adapt(net()).predict(gaps)


def test_nothing_is_imported_to_find_out() -> None:
    script = """
import sys
import numpy as np
from suffice import Explainer
class Module:  # of that name, and of no library
    def __call__(self, rows): return (rows[:, 0] > 0).astype(int)
data = np.random.default_rng(0).normal(size=(40, 3))
assert Explainer(Module(), data).explain(data[0]).complete
names = "torch keras onnxruntime xgboost lightgbm catboost transformers tensorflow jax".split()
print([name for name in names if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_users_object_stays_the_users() -> None:
    booster = xgboost_booster(TWO, objective="binary:logistic")
    wrapped, _ = as_model(booster, Explainer(booster, X)._data)
    assert wrapped.original is booster
    assert isinstance(adapt(booster), Adapter)
    assert adapt(booster).original is booster


# -- texts and pictures -----------------------------------------------------------------


def test_an_onnx_session_reads_texts() -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    runtime = pytest.importorskip("onnxruntime")
    skl2onnx = pytest.importorskip("skl2onnx")
    from suffice import TextExplainer

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


def test_a_model_that_cannot_be_sent_to_processes_is_told_in_one_sentence() -> None:
    import onnxruntime
    import skl2onnx
    from sklearn.linear_model import LogisticRegression

    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    file = skl2onnx.to_onnx(model, X[:1]).SerializeToString()
    explainer = Explainer(onnxruntime.InferenceSession(file), X)
    with pytest.raises(InputError, match=r"n_jobs: got 2 processes.*cannot pickle.*Use n_jobs=1"):
        explainer.explain_many(X[:2], n_jobs=2)
