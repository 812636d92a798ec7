"""explain_many by several processes: the answers of one, whatever happens to the others."""

import gc
import os
import pickle
import re
from functools import cache

import pytest
from hypothesis import given, settings, strategies as st
from sklearn.tree import DecisionTreeClassifier

from suffice import Explainer, InputError, ModelError, datasets
from suffice.batch import process_pool as processes, workers as driving
from suffice.batch.explain_many import ExplainPiece
from suffice.batch.workers import RowsInMemory
from suffice.errors import LostRowsError
from tests.batch.faulty_models import DATA, FaultyModel, gone, rows_with_faults, skipping_clock
from tests.effort import examples


@cache
def fitted(kind):
    """An explainer of each engine."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    labels = (DATA.sum(axis=1) > 16).map({True: "yes", False: "no"})
    if kind == "additive":
        return Explainer(LogisticRegression().fit(DATA, labels), DATA, n_references=20)
    forest = RandomForestClassifier(5, random_state=0).fit(DATA, labels)
    return Explainer(forest, DATA, engine="blackbox" if kind == "asked" else "auto")


@pytest.fixture(scope="module")
def pool():
    """Three processes for all explainers in turn: to start some for each would take longer."""
    with processes.ProcessPool(ExplainPiece(Explainer(FaultyModel(), DATA)), workers=3) as pool:
        yield pool


@pytest.fixture
def explain_many(pool):
    """Explain rows by the processes of the pool, which the explainer is given as its own."""

    def call(explainer, rows, **options):
        processes.keep_idle_pool(explainer, pool)
        try:
            found = explainer.explain_many(rows, **options)
            assert pool.pids
            return found
        finally:
            processes._IDLE_POOLS.pop(explainer, None)

    return call


def answers(found):
    return [(e.prediction, e.keep.to_frame().to_csv(), e.flip.to_frame().to_csv()) for e in found]


@pytest.mark.parametrize("kind", ["trees", "asked", "additive"])
def test_answers_are_those_of_explain_whatever_the_processes_and_pieces(kind, explain_many):
    explainer = fitted(kind)
    alone = cache(lambda i, tau: answers([explainer.explain(DATA.iloc[i], tau=tau)])[0])

    @settings(max_examples=examples(8))
    @given(
        st.integers(2, 25),
        st.sampled_from([2, 3]),
        st.floats(1e-6, 1),
        st.sampled_from([0.7, 0.95]),
    )
    def check(rows, jobs, seconds, tau):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(driving, "PIECE_SECONDS", seconds)
            found = explain_many(explainer, DATA.iloc[:rows], n_jobs=jobs, tau=tau)
        assert answers(found) == [alone(i, tau) for i in range(rows)]

    check()


def test_a_process_killed_while_it_explains_is_replaced_and_nothing_is_lost(tmp_path, explain_many):
    rows = rows_with_faults([0, 0, 0, -1, 0, 0], 12)
    explainer = Explainer(FaultyModel(tmp_path / "killed once"), DATA)
    found = explain_many(explainer, rows, n_jobs=2)
    assert (tmp_path / "killed once").exists()
    assert answers(found) == answers(explainer.explain_many(rows))


def test_rows_that_end_every_process_are_reported_with_the_answers_to_the_others(
    explain_many, monkeypatch
):
    # One death is enough here: that others are waited for is tested where deaths are cheap.
    monkeypatch.setattr(driving, "_DEATHS_PER_ROW", 1)
    monkeypatch.setattr(driving, "_FIRST_ROWS", 1)
    rows = rows_with_faults([0, -1, 0, 0, 0, -2], 9)
    explainer = Explainer(FaultyModel(), DATA)
    with pytest.raises(
        LostRowsError,
        match=r"^row 1: the process ended with code 7, row 5: the process ended with signal 11 "
        r"\(SIGSEGV\), at every attempt. `found` has the 7 other explanations",
    ) as caught:
        explain_many(explainer, rows, n_jobs=2)
    error = caught.value
    assert error.lost == (1, 5)
    assert [e is None for e in error.found] == [i in error.lost for i in range(9)]
    whole = [i for i in range(9) if i not in error.lost]
    alone = [explainer.explain(rows.iloc[i]) for i in whole]
    assert answers([error.found[i] for i in whole]) == answers(alone)


def test_explain_many_raises_the_error_of_the_first_row(explain_many):
    rows = rows_with_faults([0, 0, 0, 0, -4, 0, -4, -4], 40)
    explainer = Explainer(FaultyModel(), DATA)
    for jobs in (1, 2, 3):
        with pytest.raises(ModelError, match=r"^row 4: FaultyModel raised KeyError on 1 row"):
            explain_many(explainer, rows, n_jobs=jobs)


def test_an_error_of_the_question_is_no_error_of_a_row(explain_many):
    with pytest.raises(InputError, match=r"^tau: got 7; allowed"):
        explain_many(Explainer(FaultyModel(), DATA), DATA.iloc[:4], n_jobs=2, tau=7)


def test_processes_are_kept_for_the_next_call_and_end_with_the_explainer():
    explainer = Explainer(FaultyModel(), DATA)
    explainer.explain_many(DATA.iloc[:6], n_jobs=2)
    first = processes._IDLE_POOLS[explainer].pids
    explainer.explain_many(DATA.iloc[:6], n_jobs=2, tau=0.7)
    assert processes._IDLE_POOLS[explainer].pids == first
    with pytest.raises(InputError, match="tau"):
        explainer.explain_many(DATA.iloc[:6], n_jobs=2, tau=7)
    del explainer
    gc.collect()
    assert gone(first)


def test_a_model_that_was_changed_is_sent_again(explain_many):
    class Threshold:
        at = 16

        def predict(self, rows):
            return (rows.sum(axis=1) > self.at).to_numpy()

    model = Threshold()
    explainer = Explainer(model, DATA, references="all")
    explain_many(explainer, DATA.iloc[:4], n_jobs=2)
    model.at = 12
    assert answers(explain_many(explainer, DATA.iloc[:4], n_jobs=2)) == answers(
        explainer.explain_many(DATA.iloc[:4])
    )


def test_a_row_that_hangs_is_reported_where_there_is_a_limit(tmp_path, monkeypatch):
    class Hanging(FaultyModel):
        def harm(self, how):
            (tmp_path / str(os.getpid())).touch()
            super().harm(how)

    explainer = Explainer(Hanging(), DATA)
    rows = explainer._read_many(rows_with_faults([0, 0, -3], 6))
    monkeypatch.setattr(processes, "monotonic", skipping_clock(tmp_path))
    with processes.ProcessPool(ExplainPiece(explainer), workers=1, row_time_limit=3000) as team:
        pieces = RowsInMemory(rows, {"progress": False})
        found = {
            number: value
            for piece, result in driving.run_pieces(
                pieces, team, failed=lambda _, lost: [lost.reason]
            )
            for number, value in enumerate(result, piece.first)
        }
    assert found.pop(2) == "took longer than 3000 s"
    assert answers(found[i] for i in sorted(found)) == answers(
        explainer.explain(rows[i]) for i in (0, 1, 3, 4, 5)
    )


def test_many_explanations_are_a_list_with_a_summary(tmp_path):
    X, y = datasets.loans(200)
    X = X[["age", "income", "debt", "late payments"]]
    explainer = Explainer(DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y), X)
    rows = X.iloc[:12]
    found = explainer.explain_many(rows)
    assert isinstance(found, list)
    assert found == [explainer.explain(row) for _, row in rows.iterrows()]
    assert found == explainer(rows) == pickle.loads(pickle.dumps(found)) == [*found]
    assert type(found[2:4]) is type(found) is type(pickle.loads(pickle.dumps(found)))
    assert found[2:4] == [found[2], found[3]]
    refused = sum(e.outcome == "refused" for e in found)
    assert f"{refused} refused" in repr(found)
    for text in (str(found), found._repr_html_()):
        assert "Feature sets that most often suffice to keep the outcome" in text
        assert "Every minimal set at τ = 0.9 was found for all of them" in text
    frame = found.to_frame()
    for number, e in enumerate(found):
        own = frame[frame["decision"] == number].drop(columns="decision")
        assert len(own) == len(e.to_frame())
    # The counts of the summary are those of the frame.
    for view, panel in zip(("keep", "flip"), found.sheet.panels, strict=True):
        sets = frame[frame["view"] == view]
        for n, share, outcome, features in panel.rows:
            those = [i for i, e in enumerate(found) if e.outcome == outcome]
            has = sets["features"].map(", ".join) == features
            assert n == (has & sets["decision"].isin(those)).sum()
            assert share == n / len(those)
    page = tmp_path / "many.html"
    assert found.to_html(page) == page.read_text(encoding="utf-8")
    assert "12 decisions" in page.read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8").count('<details class="one"') == len(found)
    bounded = explainer.explain_many(rows, max_size=1)
    unfinished = sum(not e.complete for e in bounded)
    assert unfinished
    assert f"was found for {12 - unfinished} of 12 decisions" in str(bounded)
    assert str(found[:0]) == "Why? 0 decisions"
    assert found[:0].to_frame().empty


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_says_what_was_done_and_how_to_keep_it(n_jobs, monkeypatch):
    bars = []

    class Bar:
        def __init__(self, *_, **__):
            bars.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def update(self, n=1):
            raise KeyboardInterrupt

    monkeypatch.setattr("suffice.batch.explain_many.progress_bar", Bar)
    explainer = fitted("forest")
    with pytest.raises(KeyboardInterrupt) as caught:
        explainer.explain_many(DATA.iloc[:4], n_jobs=n_jobs)
    assert bars
    assert re.search(
        r"interrupted: [0-4] of 4 rows were explained, and are lost; explain_to\(X, folder\) stores "
        "rows as they are explained, and continues with resume=True",
        str(caught.value),
    )
    assert caught.value.__suppress_context__
