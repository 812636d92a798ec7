"""A stored explanation is read back whole, or refused in words: never half, never at any price."""

import json
import struct
import zlib
from base64 import b64decode, b64encode
from contextlib import contextmanager, suppress
from copy import deepcopy
from functools import cache
from io import StringIO
from tracemalloc import get_traced_memory, start, stop

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
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
    View,
)
from suffice.factors import lattice
from tests.effort import examples

DATA = np.random.default_rng(0).integers(0, 3, (30, 4)).astype(float)
LABELS = (DATA.sum(axis=1) > 4).astype(int)
MODEL = LogisticRegression().fit(DATA, LABELS)


def swept():
    return Explainer(MODEL, DATA, size_weights=[1, 2, 3, 2, 1]).explain(DATA[0], alpha=0.2, tau=0.5)


def bounded():
    return Explainer(MODEL, DATA, groups={"pair": ["x0", "x1"]}).explain(DATA[0], max_size=1)


def pruned():
    return Explainer(MODEL, DATA, engine="blackbox").explain(DATA[0], search="pruned")


def greedy():
    wide = np.random.default_rng(1).random((30, 8))
    model = Explainer(lambda r: (np.asarray(r)[:, :5].sum(axis=1) > 2.5).astype(int), wide)
    return model.explain(wide[0], search="greedy")


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
    explainer = ImageExplainer(
        lambda i: i[:, 0, 0] > 0.5, regions="grid", n_regions=4, references=0
    )
    return explainer.refine(explainer(image), image=image)


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
            with suppress(NotVisitedError):
                question()
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


NUMBERS = [-1, 0, 1, 2, 3, 5, 97, 10**12, 2**53, 2**63, 2**64, -(2**63), 10**400, -(10**400)]
VALUES = st.one_of(
    st.sampled_from([None, True, False, "", "x", "0101", "\x00\x1b", [], {}, [[]], [0], [[0, 1]]]),
    st.sampled_from(NUMBERS),
    st.sampled_from([-0.5, 0.0, 0.5, 1.0, 1.5, 1e308, 1e-300]),
    st.sampled_from(["keep", "flip", "word", "parts", "swap", "holm", "budget", "own", "value"]),
)


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(SAMPLES), st.data())
def test_whatever_is_changed_in_it_is_refused_or_makes_sense(make, data):
    record = json.loads(stored(make))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(places(record))))
        if not path or path[0] not in ("content", "volatile"):
            continue
        at = record
        for key in path[:-1]:
            at = at[key]
        what = data.draw(st.sampled_from(["set", "drop", "twice"]))
        if what == "drop":
            del at[path[-1]]
        elif what == "twice" and isinstance(at, list):
            at.insert(path[-1], at[path[-1]])
        else:
            at[path[-1]] = deepcopy(data.draw(VALUES))
    try:
        e = Explanation.from_json(json.dumps(record))
    except InputError as error:
        assert len(str(error)) < 500
    else:
        use(e)


@pytest.mark.parametrize("make", SAMPLES)
def test_the_same_question_gives_the_same_text(make):
    """But for time, rows predicted and the state of the engines, in a block of their own."""
    record = json.loads(stored(make))
    assert list(record) == ["result", "version", "content", "volatile"]
    e, text = Explanation.from_json(stored(make)), make().to_json(volatile=False)
    assert text == e.to_json(volatile=False)
    assert json.loads(text) == {name: record[name] for name in ("result", "version", "content")}
    again = Explanation.from_json(text)
    assert again == e and again.to_json(volatile=False) == text
    assert again.provenance.seconds == 0 and e.provenance.seconds > 0
    use(again)
    assert View.from_json(e.keep.to_json(volatile=False)) == e.keep
    assert View.from_json(e.keep.to_json()).explanation.provenance == e.provenance
    # Version 0.5.0 had these facts among the others.
    record["content"]["provenance"] |= record.pop("volatile")
    assert Explanation.from_json(json.dumps(record)).provenance == e.provenance


def numbers(value, path=()):
    """Every place of a number in a JSON value; of a list of numbers the first and the last."""
    if isinstance(value, dict | list):
        items = list(value.items() if isinstance(value, dict) else enumerate(value))
        if isinstance(value, list) and len(items) > 2:
            items = [items[0], items[-1]]
        for key, inside in items:
            yield from numbers(inside, (*path, key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


WRONG_NUMBERS = (-1, 0, 2**31, 10**30, 1e308)


@pytest.mark.parametrize("wrong", WRONG_NUMBERS)
@pytest.mark.parametrize("make", [swept, greedy, pruned, causal])
def test_each_number_is_refused_or_costs_nothing_to_read(make, wrong):
    for path in numbers(json.loads(stored(make))):
        record = json.loads(stored(make))
        at = record
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = wrong
        with measured(30e6):
            try:
                e = Explanation.from_json(json.dumps(record))
            except InputError as error:
                assert len(str(error)) < 500
            else:
                assert e.keep.necessity is None or 0 <= e.keep.necessity <= 1
                assert all(0 <= f.sufficiency <= 1 for view in (e.keep, e.flip) for f in view)
                assert e.keep.barcode is not None and str(e)
                with suppress(NotVisitedError):
                    assert len(e.keep.curve) <= 1 << 16


def changed(make, **fields):
    """The stored text with other fields, given by their path joined by "__"."""
    record = json.loads(stored(make))
    for path, value in fields.items():
        inside = record if path.startswith("volatile") else record["content"]
        at, *rest = inside, *path.split("__")
        for key in rest[:-1]:
            at = at[int(key) if isinstance(at, list) else key]
        at[int(rest[-1]) if isinstance(at, list) else rest[-1]] = value
    return json.dumps(record)


def png(height, width):
    """A picture of one colour: a few kilobytes that unpack to as many pixels as one likes."""

    def chunk(kind, content):
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    packed = zlib.compress(bytes(1 << 20), 9)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", packed), (b"IEND", b""))
    return b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*c) for c in chunks)).decode()


@pytest.mark.parametrize(
    ("make", "fields", "message"),
    [
        (swept, {"hits__1": [99, 0, 0, 0]}, "hits beyond 0 to"),
        (swept, {"hits__1": [-1, 0, 0, 0]}, "hits beyond 0 to"),
        (swept, {"hits__1": [0] * 5}, "hits for 5 sets of 1 of 4 features"),
        (swept, {"hits": [[0]]}, "hits for 1 sizes of 4 features"),
        (swept, {"players": []}, "no players"),
        (swept, {"players__1__name": "x0"}, "two players of one name"),
        (swept, {"players__1__values": {"x0": 1}}, "a column of two players"),
        (swept, {"changes__0__features": [2**53]}, "features that are not numbers from 0 to 3"),
        (swept, {"changes__0__features": [1, 0]}, "features that are not numbers from 0 to 3"),
        (swept, {"changes__0__values": {}}, "a change of other columns than its features'"),
        (swept, {"cheapest__cost": -1.0}, "a change of cost -1"),
        (swept, {"tau": 1.5}, "tau: got 1.5"),
        (swept, {"alpha": 2.0}, "alpha: got 2"),
        (swept, {"score": {"value": 3.0, "kind": "probability"}}, "a probability of 3"),
        (swept, {"size_weights": [1.0, 1.0]}, "2 size_weights for 4 features"),
        (swept, {"provenance__n_references": 0}, "got 0 references"),
        (swept, {"volatile__seconds": -1.0}, "a time below 0"),
        (pruned, {"hits__4": [1]}, "an input that loses its own outcome"),
        (text, {"prediction": "so-so", "subject": None}, "a prediction 'so-so' with the outcome"),
        (
            pruned,
            {"keep_findings__decided_size": 10**30},
            "sets of 1e\\+30 decided|sets of 10*0 dec",
        ),
        (swept, {"hits__2": []}, "part of a search that nothing stopped"),
        (greedy, {"draws__held": ["2"]}, "draws without an outcome each"),
        (greedy, {"draws": {"held": ["01"], "outcomes": [True]}}, "not of 8 digits, 0 or 1"),
        (pruned, {"keep_findings__factors__0__hits": 1}, "a finding with 1 of"),
        (text, {"subject__spans__0": [0, 99]}, "spans that overlap, or lie outside"),
        (picture, {"subject__runs": [[0, 10**12]]}, "regions of 1e.12 of 24 pixels"),
        (picture, {"subject__runs": [[0, 24]]}, "regions other than 0 to"),
        (picture, {"subject__height": 10**7, "subject__width": 10**7}, "a picture of 10,000,000 ×"),
        (picture, {"subject__png": "AAAA"}, "a picture that is no PNG"),
        (picture, {"subject__png": "ä"}, "a picture that is no PNG"),
        (picture, {"subject__png": png(65_000, 65_000)}, "a PNG of 65000 × 65000 pixels, said to"),
    ],
)
def test_what_no_explanation_could_have_stored_is_named(make, fields, message):
    with pytest.raises(InputError, match=message):
        Explanation.from_json(changed(make, **fields))


def test_a_few_bytes_cannot_allocate_gigabytes():
    many = {
        "players": [{"name": f"x{j}", "values": {f"x{j}": 0}} for j in range(60)],
        "hits": [[0] for _ in range(61)],
        "changes": [],
        "cheapest": None,
        "size_weights": None,
        "stopped": {"kind": "budget", "limit": 9},
    }
    with measured(20e6):
        use(Explanation.from_json(changed(swept, **many)))
    sides = {"subject__height": 8_000, "subject__width": 8_000, "subject__png": png(8_000, 8_000)}
    for runs in ([[0, 10**12]], [[0, 64_000_000]]):
        with measured(20e6), pytest.raises(InputError):
            Explanation.from_json(changed(picture, **sides, subject__runs=runs))


def test_thousands_of_features_without_a_set_are_read_at_once(monkeypatch):
    """Without binomials of 4,000 features, which have a thousand digits each."""
    d, widths = 4_000, []
    comb = lattice.comb
    monkeypatch.setattr(lattice, "comb", lambda n, k: (widths.append(k), comb(n, k))[1])
    none = {
        "players": [{"name": f"x{j}", "values": {f"x{j}": 0}} for j in range(d)],
        "hits": [[0]] + [[]] * d,
        "changes": [],
        "cheapest": None,
        "cheapest_ties": [],
        "size_weights": None,
        "stopped": {"kind": "budget", "limit": 9},
    }
    e = Explanation.from_json(changed(swept, **none))
    assert e.keep.necessity is None and not e.flip.factors and e.to_html()
    assert sum(k > 2 for k in widths) < 50


@contextmanager
def measured(most):
    """No more than so many bytes are taken at any time."""
    start()
    try:
        yield
        assert get_traced_memory()[1] < most
    finally:
        stop()


def test_a_damaged_picture_is_not_read():
    png_of = b64decode(json.loads(stored(picture))["content"]["subject"]["png"])
    for at in range(8, len(png_of), 5):
        damaged = png_of[:at] + bytes([png_of[at] ^ 1]) + png_of[at + 1 :]
        with pytest.raises(InputError, match=r"no PNG|said to have"):
            Explanation.from_json(changed(picture, subject__png=b64encode(damaged).decode()))


def test_half_a_character_is_stored_and_shown():
    data = np.array([["x\udc00", 0], ["y", 1]] * 4, dtype=object)
    of_row = Explainer(lambda r: (r[:, 0] == "y").astype(int), data).explain(data[0])
    of_text = TextExplainer(lambda ts: ["yes" if "fine" in t else "no" for t in ts])("x\udc00 fine")
    for e in (of_row, of_text):
        again = Explanation.from_json(e.to_json())
        assert again == e
        assert again.players == e.players
        for shown in (str(e), e.to_html(), e._repr_html_()):
            shown.encode()
            assert "x\\udc00" in shown or "x\N{REPLACEMENT CHARACTER}" in shown
