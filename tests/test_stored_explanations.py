"""A stored explanation is read back whole, or refused in words: never half, never at any price."""

import json
import struct
import zlib
from base64 import b64decode, b64encode
from functools import cache
from io import StringIO
from resource import RUSAGE_SELF, getrusage

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from sklearn.linear_model import LogisticRegression

from suffice import (
    CausalContext,
    CausalModel,
    Explainer,
    Explanation,
    ImageExplainer,
    InputError,
    NotVisitedError,
    TextExplainer,
)

RNG = np.random.default_rng(0)
DATA = RNG.integers(0, 3, (30, 4)).astype(float)
LABELS = (DATA.sum(axis=1) > 4).astype(int)
MODEL = LogisticRegression().fit(DATA, LABELS)


def swept():
    return Explainer(MODEL, DATA, size_weights=[1, 2, 3, 2, 1]).explain(DATA[0], alpha=0.2, tau=0.5)


def bounded():
    return Explainer(MODEL, DATA, groups={"pair": ["x0", "x1"]}).explain(DATA[0], max_size=1)


def pruned():
    return Explainer(MODEL, DATA, engine="blackbox").explain(DATA[0], search="pruned")


def greedy():
    wide = RNG.random((30, 8))
    model = Explainer(lambda r: (np.asarray(r)[:, :5].sum(axis=1) > 2.5).astype(int), wide)
    return model.explain(wide[0], search="greedy", max_size=1)


def causal():
    frame = pd.DataFrame(DATA, columns=["x0", "x1", "x2", "x3"])
    scm = CausalModel([("x0", "x1")], frame)
    return Explainer(MODEL, DATA, context=CausalContext(scm)).explain(DATA[0])


def text():
    model = TextExplainer(lambda ts: ["good" if "fine" in t else "bad" for t in ts])
    return model("a fine film, they said")


def picture():
    image = np.zeros((4, 6))
    image[0, 0] = 1
    explainer = ImageExplainer(lambda i: i[:, 0, 0] > 0.5, regions="grid", n_regions=4, references=0)
    return explainer.refine(image, explainer(image))


SAMPLES = (swept, bounded, pruned, greedy, causal, text, picture)


@cache
def stored(make):
    return make().to_json()


def use(e):
    """All that is shown of an explanation; what is not known may be said not to be."""
    Console(file=StringIO()).print(e)
    assert str(e) and repr(e) and e.to_html() and e._repr_html_()
    e.to_frame()
    for view in (e.keep, e.flip):
        assert all(0 <= factor.sufficiency <= 1 for factor in view)
        assert view.necessity is None or 0 <= view.necessity <= 1
        assert all(map(str, view.barcode))
        for question in (lambda v=view: v.curve, lambda v=view: v.at(0.3).factors):
            try:
                question()
            except NotVisitedError:
                pass
    assert Explanation.from_json(e.to_json()) == e
    assert hash(e) is not None


@pytest.mark.parametrize("make", SAMPLES)
def test_every_kind_of_explanation_is_read_back_whole(make):
    again = Explanation.from_json(stored(make))
    use(again)
    assert again.to_json() == stored(make)


def places(value, path=()):
    """Every place in a JSON value, as the keys that lead there."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        # Long lists hold many of a kind: the first, the last and one between stand for all.
        for i in sorted({0, len(value) // 2, len(value) - 1} if value else ()):
            yield from places(value[i], (*path, i))


NUMBERS = [-1, 0, 1, 2, 3, 5, 97, 10**12, 2**53, 2**63, 2**64, -(2**63), 10**400]
VALUES = st.one_of(
    st.sampled_from([None, True, False, "", "x", "0101", "\x00\x1b", [], {}, [[]], [0], [[0, 1]]]),
    st.sampled_from(NUMBERS),
    st.sampled_from([-0.5, 0.0, 0.5, 1.0, 1.5, 1e308, 1e-300]),
    st.sampled_from(["keep", "flip", "word", "parts", "swap", "holm", "budget", "own", "value"]),
)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(SAMPLES), st.data())
def test_whatever_is_changed_in_it_is_refused_or_makes_sense(make, data):
    record = json.loads(stored(make))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(places(record["content"]))))
        if not path:
            continue
        at = record["content"]
        for key in path[:-1]:
            at = at[key]
        what = data.draw(st.sampled_from(["set", "drop", "twice"]))
        if what == "drop":
            del at[path[-1]]
        elif what == "twice" and isinstance(at, list):
            at.insert(path[-1], at[path[-1]])
        else:
            at[path[-1]] = data.draw(VALUES)
    try:
        e = Explanation.from_json(json.dumps(record))
    except InputError as error:
        assert len(str(error)) < 500
    else:
        use(e)
