"""What `adapt` does for any model: options, texts, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline

from suffice import Explainer, datasets, make_target
from suffice.errors import InputError, ModelError
from suffice.models import Adapter, adapt, wrap_model
from tests.models.loan_models import (
    ROWS,
    SCALED,
    TWO_CLASSES,
    X,
    factors_and_necessity,
    torch_network,
    xgboost_booster,
)

TEXTS = ["a good film", "good and long", "a bad film", "bad and long", "good good bad", "long"]
PARTS = np.array([text.split() + [""] * (3 - len(text.split())) for text in TEXTS], dtype=object)
NO_TRANSFORMERS = "transformers is not installed here: `make test-peers` tests its pipelines"


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
        assert (
            factors_and_necessity(found)
            == factors_and_necessity(plain)
            == factors_and_necessity(straight.explain(PARTS[0], tau=0.7))
        )
    scores = adapt(every, classes=("+", "-"), preprocess=join)
    assert np.array_equal(scores.predict_proba(PARTS), bag.predict_proba(TEXTS)[:, :2])
    with pytest.raises(InputError, match="top_k=None"):
        adapt(best, classes=("+", "-"), preprocess=join).predict_proba(PARTS)
    with pytest.raises(ModelError, match=r"returned label '\+', not one of"):
        adapt(best, classes=("-", "?"), preprocess=join).predict(PARTS)
    with pytest.raises(ModelError, match="returned label"):
        adapt(every, classes=("-", "?"), preprocess=join).predict_proba(PARTS)
    with pytest.raises(InputError, match="which gives labels"):
        adapt(best, classes=("+", "-"), threshold=0.5, preprocess=join).predict(PARTS)


def test_pipelines_of_transformers() -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers", reason=NO_TRANSFORMERS)
    tokenizers = pytest.importorskip("tokenizers", reason=NO_TRANSFORMERS)
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
    assert factors_and_necessity(found) == factors_and_necessity(plain.explain(PARTS[0], tau=0.6))
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


def test_estimators_and_callables_with_options() -> None:
    model = LogisticRegression(max_iter=5000).fit(X, TWO_CLASSES)
    assert adapt(model) is model
    moved = adapt(model, classes=("refused", "granted"), threshold=0.8, batch_size=50)
    share = model.predict_proba(X)[:, 1]
    assert np.array_equal(moved.predict(X) == "granted", share > 0.8)
    assert np.array_equal(moved.predict_proba(X).argmax(1), (share > 0.8).astype(int))
    renamed = adapt(model, classes=("refused", "granted"))
    e = Explainer(renamed, X.assign(label=0)).explain(X.iloc[3])
    plain = Explainer(model, X).explain(X.iloc[3])
    assert factors_and_necessity(e)[0] == factors_and_necessity(plain)[0]
    assert np.array_equal(renamed.predict_proba(X), model.predict_proba(X))
    ridge = adapt(RidgeClassifier().fit(X, TWO_CLASSES), classes=("no", "yes"))
    assert np.array_equal(ridge.predict_proba(X).argmax(1) == 1, ridge.predict(X) == "yes")
    backwards = adapt(LogisticRegression(max_iter=5000).fit(ROWS[:, ::-1], TWO_CLASSES),
                      preprocess=lambda rows: np.asarray(rows, float)[:, ::-1])  # fmt: skip
    assert np.array_equal(backwards.predict(X), backwards.original.predict(ROWS[:, ::-1]))
    value = RandomForestRegressor(3).fit(ROWS, ROWS[:, 0])
    with pytest.raises(InputError, match="it has no classes"):
        adapt(value, classes=("a", "b"))
    with pytest.raises(InputError, match="without predict_proba"):
        adapt(RidgeClassifier().fit(X, TWO_CLASSES), classes=list("ab"), threshold=0.5)
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
    f = make_target(xgboost_booster(TWO_CLASSES, objective="binary:logistic"), X, 1)
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
        Explainer(torch_network(), loans)
    with pytest.raises(InputError, match="got texts"):
        adapt(torch_network()).predict(["a text"])
    mixed = np.array([[1.0, "a", None, 2]] * 3, dtype=object)
    with pytest.raises(InputError, match="column 'x1', which holds 'a'"):
        adapt(torch_network()).predict(mixed)
    gaps = SCALED.astype(object)
    for missing in (None, pd.NA, np.nan):
        gaps[0, 0] = missing
        with pytest.raises(ModelError, match="returned NaN for 1 of 150 rows"):
            adapt(torch_network()).predict(gaps)


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
    booster = xgboost_booster(TWO_CLASSES, objective="binary:logistic")
    wrapped, _ = wrap_model(booster, Explainer(booster, X)._data)
    assert wrapped.original is booster
    assert isinstance(adapt(booster), Adapter)
    assert adapt(booster).original is booster
