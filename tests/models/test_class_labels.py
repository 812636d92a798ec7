"""Labels of any kind are the model's own objects: matched exactly, shown and stored as text."""

import pickle
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, IntEnum

import numpy as np
import pandas as pd
import pytest

from suffice import (
    Explainer,
    Explanation,
    ImageExplainer,
    InputError,
    ModelError,
    TextExplainer,
    at_least,
    datasets,
    versus,
    within,
)
from suffice.tables.cells import distinct_labels, equals_label, label_array, label_index

X, _ = datasets.loans(60)
X = X[["age", "income", "debt"]]
OLD = X["age"].to_numpy() > 40
ROW = X.iloc[int(OLD.argmax())]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Grade(IntEnum):
    LOW = 1
    HIGH = 2


class Odd:
    """A label that is equal to nothing else, and has no order."""

    def __repr__(self):
        return "Odd()"


PAIRS = {
    "dates": (date(2020, 1, 1), date(2021, 6, 1)),
    "moments": (datetime(2020, 1, 1, 9), datetime(2020, 1, 1, 10)),
    "time stamps": (pd.Timestamp("2020-01-01"), pd.Timestamp("2021-06-01")),
    "numpy dates": (np.datetime64("2020-01-01", "ns"), np.datetime64("2021-06-01", "ns")),
    "decimals": (Decimal("1.10"), Decimal("2.20")),
    "enums": (Colour.RED, Colour.BLUE),
    "whole enums": (Grade.LOW, Grade.HIGH),
    "bytes": (b"no", b"yes"),
    "tuples": (("a", 1), ("b", 2)),
    "pairs of numbers": ((0.2, 0.8), (0.7, 0.3)),
    "frozen sets": (frozenset("a"), frozenset("b")),
    "several kinds": (0, "zero"),
    "none": (None, "some"),
    "objects": (Odd(), Odd()),
    "texts": ("no", "yes"),
    "numbers": (3, 7),
    "truth values": (False, True),
}


class Estimator:
    """Old people get the second label."""

    def __init__(self, labels):
        self.classes_ = label_array(labels)

    def predict(self, rows):
        return self.classes_[(np.asarray(rows["age"]) > 40).astype(int)]

    def predict_proba(self, rows):
        old = np.asarray(rows["age"]) > 40
        return np.where(old[:, None], [0.25, 0.75], [0.75, 0.25])


def models(labels):
    estimator = Estimator(labels)
    return estimator, lambda rows: estimator.predict(rows)


@pytest.mark.parametrize("name", PAIRS)
def test_every_kind_of_label_gives_the_answer_of_plain_text(name):
    labels = PAIRS[name]
    wanted = Explainer(Estimator(("no", "yes")), X, references="all").explain(ROW)
    assert wanted.keep.sufficiency([]) == OLD.mean()
    for model in models(labels):
        for outcome in (None, labels[1]):
            explainer = Explainer(model, X, references="all", outcome=outcome)
            e = explainer.explain(ROW)
            assert e.keep.sufficiency([]) == OLD.mean()
            assert [f.features for f in e.keep.factors] == [("age",)]
            assert [f.sufficiency for f in e.flip.barcode] == [
                f.sufficiency for f in wanted.flip.barcode
            ]
            assert Explanation.from_json(e.to_json()) == e
            assert e.keep.outcome in str(e)
            assert pickle.loads(pickle.dumps(e)) == e
        if labels[0] is not None:
            other = Explainer(model, X, references="all", outcome=labels[0]).explain(ROW)
            assert other.keep.sufficiency([]) == OLD.mean()
            assert other.flip.outcome == e.flip.outcome
            recourse = Explainer(model, X).recourse(ROW, desired=labels[0])
            assert [option.features for option in recourse.options] == [("age",)]
    e = Explainer(Estimator(labels), X, outcome=versus(labels[1], labels[0])).explain(ROW)
    assert [f.features for f in e.keep.factors] == [("age",)]
    own = Explainer(Estimator(labels), X).decide(ROW).own_score
    assert (own.value, own.kind) == (0.75, "probability")


@pytest.mark.parametrize(
    ("labels", "text", "hint"),
    [
        (PAIRS["dates"], "2021-06-01", r"pass datetime\.date\(2021, 6, 1\)"),
        (PAIRS["numpy dates"], "2021-06-01", r"pass np\.datetime64\('2021-06-01T00"),
        (PAIRS["decimals"], "2.20", r"pass Decimal\('2\.20'\)"),
        (PAIRS["enums"], "Colour.BLUE", "pass <Colour.BLUE: 'blue'>"),
        (PAIRS["bytes"], "b'yes'", "pass b'yes'"),
        (PAIRS["tuples"], "('b', 2)", r"pass \('b', 2\)"),
        (PAIRS["numbers"], "7", "'7' only looks like the model's own label: pass 7"),
        (PAIRS["truth values"], "True", "pass True"),
        (("1", "2"), 2, "2 only looks like the model's own label: pass '2'"),
        (PAIRS["dates"], pd.Timestamp("2021-06-01 12:00"), "got unknown class Timestamp"),
    ],
)
def test_what_only_looks_like_a_label_is_refused_and_the_label_named(labels, text, hint):
    for model in models(labels):
        for references in ("all", "opposite"):
            with pytest.raises(InputError, match=hint):
                Explainer(model, X, outcome=text, references=references).explain(ROW)
        with pytest.raises(InputError, match=f"desired: got unknown class .*{hint}|{hint}"):
            Explainer(model, X).recourse(ROW, desired=text)
        with pytest.raises(InputError, match=hint):
            Explainer(Estimator(labels), X, outcome=versus(text, labels[0])).explain(ROW)


def test_an_unknown_class_is_reported_with_the_known_ones():
    model = Estimator(("granted", "refused"))
    with pytest.raises(
        InputError,
        match=r"^outcome: got unknown class 'grnted'; allowed: one of the model's classes: "
        r"'granted', 'refused'. Did you mean 'granted'\?$",
    ):
        Explainer(model, X, outcome="grnted").explain(ROW)
    with pytest.raises(InputError, match=r"classes: 0, 1, .*, 11 and 88 more\.$"):
        Explainer(lambda rows: np.arange(len(rows)) % 100, pd.concat([X, X]), outcome=-5).explain(
            ROW
        )
    for odd in (np.zeros(3), [1, 2], pd.NA, Decimal("sNaN"), X):
        with pytest.raises(InputError, match="outcome: got unknown class"):
            Explainer(model, X, outcome=odd).explain(ROW)


def test_numpys_dates_are_matched_by_dates_of_python():
    model = Estimator(PAIRS["numpy dates"])
    for same in (date(2021, 6, 1), datetime(2021, 6, 1), pd.Timestamp("2021-06-01")):
        e = Explainer(model, X, references="all", outcome=same).explain(ROW)
        assert e.keep.outcome == "2021-06-01"
        assert e.keep.sufficiency([]) == OLD.mean()
    assert e.prediction == "2021-06-01T00:00:00"


def test_labels_of_no_number_have_no_threshold():
    for labels in (PAIRS["dates"], PAIRS["tuples"], PAIRS["texts"]):
        with pytest.raises(InputError, match=r"at_least\(1\) for a model that returns classes"):
            Explainer(Estimator(labels), X, outcome=at_least(1)).explain(ROW)
    e = Explainer(Estimator(PAIRS["decimals"]), X, outcome=at_least(2)).explain(ROW)
    assert e.keep.outcome == "prediction ≥ 2"
    e = Explainer(Estimator(PAIRS["decimals"]), X, outcome=within(0.5)).explain(ROW)
    assert e.keep.outcome == "prediction within 0.5 of 2.2"
    assert [f.features for f in e.keep.factors] == [("age",)]


def test_labels_are_distinguished_by_what_they_equal():
    mixed = label_array([0, "0", (0,), b"0"])
    for i, label in enumerate(mixed):
        assert np.flatnonzero(equals_label(mixed, label)).tolist() == [i]
        assert label_index(list(mixed), label) == i
    assert distinct_labels([Colour.RED, Colour.BLUE, Colour.RED]) == (Colour.BLUE, Colour.RED)
    assert distinct_labels(np.array(["b", "a", "b"])) == ("a", "b")


def test_labels_of_texts_and_pictures_are_the_models_own_too():
    no, yes = PAIRS["dates"]

    def reads(texts):
        return [yes if "good" in text else no for text in texts]

    def sees(pictures):
        return [yes if picture[:2].mean() > 0.5 else no for picture in pictures]

    picture = np.ones((4, 4))
    for make, x, factors in (
        (lambda **o: TextExplainer(reads, **o), "a good film", [("good",)]),
        (
            lambda **o: ImageExplainer(sees, regions="grid", n_regions=4, references=0, **o),
            picture,
            [("row 1 column 1", "row 1 column 2")],
        ),
    ):
        for outcome in (None, yes):
            e = make(outcome=outcome)(x)
            assert (e.prediction, e.keep.outcome) == ("2021-06-01", "2021-06-01")
            assert [f.features for f in e.keep.factors] == factors
        with pytest.raises(InputError, match=r"pass datetime\.date\(2021, 6, 1\)"):
            make(outcome="2021-06-01")(x)


def test_labels_that_no_row_of_data_has_are_reported():
    data = np.array([[0, 0], [3, 3], [0, 1], [3, 4]], dtype=float)

    def three(rows):
        mixed = np.abs(rows[:, 0] - rows[:, 1]) > 1
        return np.where(mixed, "mixed", np.where(rows[:, 0] > 1, "high", "low"))

    e = Explainer(three, data).explain(data[0])
    assert e.provenance.unseen_labels == ("mixed",)
    assert "The model also predicted “mixed”, which no row of the data has." in str(e)
    assert Explanation.from_json(e.to_json()).provenance.unseen_labels == ("mixed",)
    seen = np.concatenate([data, [[0.0, 3.0]]])
    assert not Explainer(three, seen).explain(data[0]).provenance.unseen_labels

    def of_two_types(rows):
        return np.array(
            [0 if label == "low" else 1 if label == "high" else "?" for label in three(rows)],
            dtype=object,
        )

    with pytest.raises(ModelError, match=r"predicted '\?', a str, where its labels .* are 0, 1:"):
        Explainer(of_two_types, data).explain(data[0])
