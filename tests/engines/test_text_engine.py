"""Text pipelines read through their vectoriser: the black box's outcomes for every hybrid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from suffice import TextExplainer, at_least, versus
from suffice.context import make_players
from suffice.engines import BlackBox
from suffice.engines.additive_engine import AdditiveEngine, make_additive_engine
from suffice.engines.additive_model import read_additive
from suffice.engines.select_engine import Unreadable
from suffice.engines.text_engine import TextEngine
from suffice.factors.lattice import held_of_masks
from suffice.models import wrap_model
from suffice.target import Target, event_for
from suffice.text.segmentation import words
from suffice.text.text_model import CellJoiner, CellTable, TextModel, TextTable, WordSwapHybrids
from tests.effort import examples

VOCABULARY = ["good", "bad", "plot", "the", "dull", "fine", "a", "it's", "re-read", "Café", "7"]
TRAIN = [
    "good plot, fine fine the",
    "the good re-read it's fine",
    "Café 7 good",
    "a plot the Café good",
    "bad plot the dull",
    "dull dull bad it's",
    "the bad 7 plot plot",
    "a dull re-read",
]
LABELS = ["up"] * 4 + ["down"] * 4


class TextCase:
    """A pipeline, a text, and rows of cells that its words are replaced by."""

    def __init__(
        self,
        model: Any,
        text: str,
        rows: list[list[str]],
        outcome: Any = None,
        groups: Any = None,
        spans: Any = None,
    ) -> None:
        spans = spans or words(text)
        self.join = CellJoiner(text, spans)
        wrapped, _ = wrap_model(model, TextTable([text, *TRAIN]))
        self.joined = TextModel(wrapped, self.join, range(len(spans)))
        cells = np.array([[text[a:b] for a, b in spans], *rows], dtype=object)
        names = [f"w{i}" for i in range(len(spans))]
        pool = CellTable(cells, names, range(len(spans)))
        self.hybrids = WordSwapHybrids(pool, make_players(pool, groups))
        of_cells, answers = wrap_model(self.joined, pool)
        self.target = Target(of_cells, event_for(outcome, of_cells, answers[0]))
        self.y = bool(self.target(pool.take(np.array([0])))[0])

    def engine(self) -> Any:
        read = read_additive(self.joined, self.hybrids.pool.names)
        return make_additive_engine(read, self.target, self.hybrids, self.y)

    @property
    def held(self) -> Any:
        d = self.hybrids.d
        return held_of_masks(np.arange(1 << d), d)

    def truth(self) -> Any:
        return BlackBox(self.target, self.hybrids, self.y, distinct=False).outcomes(self.held)

    def check(self) -> Any:
        """Lists, single hybrids and cubes say what the model says; gives the engine."""
        engine, truth = self.engine(), self.truth()
        np.testing.assert_array_equal(engine.outcomes(self.held), truth)
        rng = np.random.default_rng(0)
        subset, reference = (rng.integers(size, size=60) for size in truth.shape)
        asked = engine.outcomes_of_hybrids(self.held[subset], reference)
        np.testing.assert_array_equal(asked, truth[subset, reference])
        if isinstance(engine, TextEngine):
            self.check_cubes(engine, truth)
            self.check_never_helps(engine, truth)
            self.check_idle(engine, truth)
        return engine

    def check_cubes(self, engine: TextEngine, truth: Any) -> None:
        """What is sure of a cube holds for each of its sets, and what is ruled out for none."""
        d, rng = self.hybrids.d, np.random.default_rng(1)
        place = rng.integers(3, size=(80, d))
        held, freed = place == 0, place == 1
        held[:20], freed[:20] = place[:20] == 0, place[:20] != 0  # single sets, told exactly
        surely, may = engine.bound_cubes(held, freed)
        np.testing.assert_array_equal(surely[:20], may[:20])
        assert engine.leverage().shape == (engine.n, d)
        for cube in range(len(place)):
            inside = (self.held >= held[cube]).all(axis=1) & ~(self.held & freed[cube]).any(axis=1)
            assert (truth[inside].all(axis=0) >= surely[cube]).all()
            assert (truth[inside].any(axis=0) <= may[cube]).all()

    def check_never_helps(self, engine: TextEngine, truth: Any) -> None:
        """Holding such a player brings the outcome about in no hybrid."""
        masks = np.arange(len(truth))
        for player in np.flatnonzero(engine.never_helps()):
            without = masks[masks & (1 << player) == 0]
            assert (truth[without | (1 << player)] <= truth[without]).all()

    def check_idle(self, engine: TextEngine, truth: Any) -> None:
        masks = np.arange(len(truth))
        for player in engine.idle_players():
            np.testing.assert_array_equal(truth, truth[masks ^ (1 << player)])


def tfidf(**options: Any) -> TfidfVectorizer:
    return TfidfVectorizer(**options)


VECTORISERS = [
    tfidf(),
    tfidf(sublinear_tf=True),
    tfidf(binary=True, norm="l1"),
    tfidf(use_idf=False),
    tfidf(norm=None, sublinear_tf=True),
    tfidf(norm=None),
    tfidf(token_pattern=r"\b\w+\b", stop_words=["the"], norm="l1", strip_accents="unicode"),
    tfidf(lowercase=False, strip_accents="ascii", smooth_idf=False),
    tfidf(dtype=np.float32),
    CountVectorizer(),
    CountVectorizer(binary=True),
    HashingVectorizer(n_features=16),
    HashingVectorizer(n_features=16, norm="l1", alternate_sign=False, binary=True),
    make_pipeline(CountVectorizer(), TfidfTransformer(sublinear_tf=True)),
    make_pipeline(HashingVectorizer(n_features=16), TfidfTransformer()),
    make_pipeline(CountVectorizer(), MaxAbsScaler(), Normalizer("l1")),
    make_pipeline(TfidfVectorizer(), SelectKBest(chi2, k=4)),
    make_pipeline(CountVectorizer(), SelectKBest(chi2, k=4), Normalizer()),
    make_pipeline(TfidfVectorizer(), StandardScaler(with_mean=False)),
]
MODELS = [
    LogisticRegression(),
    LogisticRegression(fit_intercept=False),
    LinearSVC(),
    SGDClassifier(random_state=0),
    RidgeClassifier(),
]


def shown(thing: Any) -> str:
    steps = getattr(thing, "steps", None)
    return "+".join(type(s).__name__ for _, s in steps) if steps else repr(thing)[:60]


@pytest.mark.parametrize("vectoriser", VECTORISERS, ids=shown)
@settings(max_examples=examples(12))
@given(data=st.data())
def test_outcomes_are_the_black_boxs(vectoriser: Any, data: st.DataObject) -> None:
    model = make_pipeline(vectoriser, data.draw(st.sampled_from(MODELS))).fit(TRAIN, LABELS)
    word = st.sampled_from(VOCABULARY)
    given_words = data.draw(st.lists(word, min_size=1, max_size=7))
    gap = st.sampled_from([" ", ", ", "; ", "/", " - "])
    text = given_words[0] + "".join(data.draw(gap) + w for w in given_words[1:])
    d = len(words(text))
    mask = st.sampled_from(["UNK", "", "the", "bad", "good bad", "…"])
    rows = [[data.draw(mask)] * d for _ in range(data.draw(st.integers(1, 2)))]
    rows.append([data.draw(word) for _ in range(d)])
    TextCase(model, text, rows).check()


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(CountVectorizer(), MultinomialNB()),
        make_pipeline(TfidfVectorizer(), MultinomialNB()),
        make_pipeline(CountVectorizer(), ComplementNB()),
        make_pipeline(TfidfVectorizer(), ComplementNB()),
        make_pipeline(CountVectorizer(), BernoulliNB()),
        make_pipeline(TfidfVectorizer(), BernoulliNB()),
        make_pipeline(TfidfVectorizer(), LogisticRegression()),
    ],
    ids=shown,
)
def test_naive_bayes_and_several_classes(model: Any) -> None:
    text = "good good plot the dull bad, fine it's 7"
    rows = [["UNK"] * 9, ["bad"] * 9, ["plot"] * 9, [""] * 9]
    for labels in (LABELS, ["up", "up", "aside", "aside", *LABELS[4:]]):
        TextCase(model.fit(TRAIN, labels), text, rows).check()
        TextCase(model, text, rows, "up").check()


def test_values_versus_and_passages() -> None:
    text = "good good plot, the dull bad"
    rows = [["UNK"] * 6, ["plot"] * 6]
    ridge = make_pipeline(TfidfVectorizer(), Ridge()).fit(TRAIN, np.linspace(-1, 1, 8))
    TextCase(ridge, text, rows, at_least(0.1)).check()
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TRAIN, LABELS)
    TextCase(model, text, rows, versus("down", "up")).check()
    groups = {"first": ["w0", "w1", "w2"], "last": ["w4", "w5"]}
    case = TextCase(model, text, rows, groups=groups)
    assert case.hybrids.d == 3
    case.check()


def test_plain_counts_go_to_the_additive_engine_and_norms_to_the_texts_own() -> None:
    text, rows = "good plot the bad", [["UNK"] * 4]
    counts = make_pipeline(CountVectorizer(), LogisticRegression()).fit(TRAIN, LABELS)
    assert isinstance(TextCase(counts, text, rows).engine(), AdditiveEngine)
    norms = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TRAIN, LABELS)
    engine = TextCase(norms, text, rows).engine()
    assert isinstance(engine, TextEngine)
    asked = engine.rows_predicted
    assert asked <= 64  # to check itself
    engine.outcomes(np.ones((50, 4), dtype=bool))
    assert engine.rows_predicted == asked


def test_a_reading_of_texts_is_checked_ever_more_seldom() -> None:
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TRAIN, LABELS)
    case = TextCase(model, "good plot the bad", [["UNK"] * 4])
    read = read_additive(case.joined, case.hybrids.pool.names)
    given = read, case.target, case.hybrids, case.y
    asked = [make_additive_engine(*given).rows_predicted for _ in range(4)]
    assert [rows > 0 for rows in asked] == [True, True, False, True]


def test_ties_are_the_models_own() -> None:
    model = make_pipeline(TfidfVectorizer(use_idf=False), LogisticRegression()).fit(TRAIN, LABELS)
    final, known = model[-1], model[0].vocabulary_
    final.coef_ = np.zeros_like(final.coef_)
    final.intercept_ = np.zeros(1)
    final.coef_[0, known["good"]], final.coef_[0, known["bad"]] = 1.0, -1.0
    case = TextCase(model, "good plot bad fine the dull it's re-read Café film", [["UNK"] * 10])
    engine = case.engine()
    np.testing.assert_array_equal(engine.outcomes(case.held), case.truth())
    assert 512 <= engine.rows_predicted <= 512 + 64  # both words or neither; and to check itself


@pytest.mark.parametrize(
    ("vectoriser", "reason"),
    [
        (CountVectorizer(ngram_range=(1, 2)), r"ngram_range=\(1, 2\) counts words that stand tog"),
        (CountVectorizer(analyzer="char"), "counts letters, not words"),
        (CountVectorizer(tokenizer=str.split, token_pattern=None), r"function of its own \(tok"),
        (CountVectorizer(token_pattern=r"\S+"), "token_pattern that may reach across words"),
        (TfidfVectorizer(norm="l2", token_pattern=r"(?u)\b\w\w+\b\s?"), "may reach across"),
        (make_pipeline(TfidfVectorizer(), Normalizer("max")), "a norm 'max' is not read"),
        (HashingVectorizer(n_features=8, binary=True), "also counts down"),
    ],
)
def test_what_is_not_read_is_said(vectoriser: Any, reason: str) -> None:
    model = make_pipeline(vectoriser, LogisticRegression()).fit(TRAIN, LABELS)
    with pytest.raises(Unreadable, match=reason):
        TextCase(model, "good plot", [["UNK", "UNK"]]).engine()


def test_models_that_count_no_words_are_not_read() -> None:
    near = make_pipeline(TfidfVectorizer(), KNeighborsClassifier()).fit(TRAIN, LABELS)
    with pytest.raises(Unreadable, match="KNeighborsClassifier is not known to be additive"):
        TextCase(near, "good plot", [["UNK", "UNK"]]).engine()
    with pytest.raises(Unreadable, match="a function is not known to count words"):
        TextCase(lambda texts: ["x" in t for t in texts], "x y", [["UNK", "UNK"]]).engine()


@pytest.mark.parametrize(
    ("text", "spans", "reason"),
    [
        ("好plot 7", None, "side by side with nothing in between"),
        ("good plot", [(0, 2), (5, 9)], "spans cut words apart"),
        ("ΟΔΟΣ good", None, "capital sigma"),
    ],
)
def test_words_that_may_touch_are_left_to_the_model(text: str, spans: Any, reason: str) -> None:
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TRAIN, LABELS)
    n = len(spans or words(text))
    with pytest.raises(Unreadable, match=reason):
        TextCase(model, text, [["UNK"] * n], spans=spans).engine()


def test_an_explanation_is_the_same_by_engine_and_by_asking() -> None:
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TRAIN, LABELS)
    text = "A good plot, the bad one, dull and fine."
    e = TextExplainer(model, mask=["UNK", "plot"])(text)
    asked = TextExplainer(lambda texts: model.predict(texts), mask=["UNK", "plot"])(text)
    assert e.provenance.evaluator == "additive"
    assert asked.provenance.evaluator == "blackbox"
    assert e.provenance.rows_predicted < asked.provenance.rows_predicted
    for mine, its in ((e.keep, asked.keep), (e.flip, asked.flip)):
        assert [f.features for f in mine.factors] == [f.features for f in its.factors]
        assert mine.necessity == its.necessity


@settings(max_examples=examples(25))
@given(data=st.data())
def test_bounds_find_what_counting_every_set_finds(data: st.DataObject) -> None:
    """With players that never help left out, and the few others counted."""
    vectoriser = data.draw(st.sampled_from([tfidf(), tfidf(sublinear_tf=True), tfidf(norm="l1")]))
    model = make_pipeline(vectoriser, LogisticRegression()).fit(TRAIN, LABELS)
    text = " ".join(data.draw(st.lists(st.sampled_from(VOCABULARY), min_size=2, max_size=9)))
    explainer = TextExplainer(model, mask=data.draw(st.sampled_from(["UNK", "plot", ["the", "7"]])))
    whole, closed = (explainer(text, search=search) for search in ("exhaustive", "bounds"))
    assert closed.complete
    for mine, its in ((closed.keep, whole.keep), (closed.flip, whole.flip)):
        assert {f.features for f in mine.factors} == {f.features for f in its.factors}
