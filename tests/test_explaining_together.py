"""explain_many by several processes: the answers of one, whatever happens to the others."""

import gc
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest
from hypothesis import given, settings, strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from suffice import Explainer, InputError, ModelError
from suffice.errors import LostRowsError
from suffice.many import drive as driving, processes
from tests.effort import examples
from tests.poison import DATA, Fragile, poisoned
from tests.test_processes import gone

LABELS = (DATA.sum(axis=1) > 16).map({True: "yes", False: "no"})
FOREST = Explainer(RandomForestClassifier(5, random_state=0).fit(DATA, LABELS), DATA)
ASKED = Explainer(
    RandomForestClassifier(5, random_state=0).fit(DATA, LABELS), DATA, engine="blackbox"
)
LINEAR = Explainer(LogisticRegression().fit(DATA, LABELS), DATA, n_references=20)


def answers(found):
    return [(e.prediction, e.keep.to_frame().to_csv(), e.flip.to_frame().to_csv()) for e in found]


@pytest.mark.parametrize("explainer", [FOREST, ASKED, LINEAR], ids=["trees", "asked", "additive"])
@pytest.mark.parametrize("jobs", [2, 3])
def test_answers_are_those_of_explain_whatever_the_processes_and_pieces(explainer, jobs):
    @settings(max_examples=examples(5))
    @given(st.integers(1, 25), st.floats(1e-6, 1), st.sampled_from([0.7, 0.95]))
    def check(rows, seconds, tau):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(driving.drive, "__kwdefaults__", {**plain, "piece_seconds": seconds})
            found = explainer.explain_many(DATA.iloc[:rows], n_jobs=jobs, tau=tau)
        alone = [explainer.explain(DATA.iloc[i], tau=tau) for i in range(rows)]
        assert answers(found) == answers(alone)

    plain = dict(driving.drive.__kwdefaults__)
    check()


def test_a_process_killed_while_it_explains_is_replaced_and_nothing_is_lost(tmp_path):
    rows = poisoned([0, 0, 0, -1, 0, 0], 12)
    explainer = Explainer(Fragile(tmp_path / "killed once"), DATA)
    found = explainer.explain_many(rows, n_jobs=2)
    assert (tmp_path / "killed once").exists()
    assert answers(found) == answers(explainer.explain_many(rows))


def test_rows_that_end_every_process_are_told_with_the_answers_to_the_others():
    rows = poisoned([0, -1, 0, 0, 0, -2], 9)
    explainer = Explainer(Fragile(), DATA)
    with pytest.raises(
        LostRowsError,
        match=r"^row 1: the process ended with code 7, row 5: the process ended with signal 11 "
        r"\(SIGSEGV\), each time it was tried. What 7 other rows gave is in `found`",
    ) as caught:
        explainer.explain_many(rows, n_jobs=2)
    error = caught.value
    assert error.lost == (1, 5)
    assert [e is None for e in error.found] == [i in error.lost for i in range(9)]
    whole = [i for i in range(9) if i not in error.lost]
    alone = [explainer.explain(rows.iloc[i]) for i in whole]
    assert answers([error.found[i] for i in whole]) == answers(alone)


def test_of_several_errors_the_first_row_s_is_raised():
    rows = poisoned([0, 0, 0, 0, -4, 0, -4, -4], 40)
    explainer = Explainer(Fragile(), DATA)
    for jobs in (1, 2, 3):
        with pytest.raises(ModelError, match=r"^row 4: Fragile raised KeyError on 1 row"):
            explainer.explain_many(rows, n_jobs=jobs)


def test_what_is_asked_of_all_rows_alike_is_no_row_s_error():
    with pytest.raises(InputError, match=r"^tau: got 7; allowed"):
        FOREST.explain_many(DATA.iloc[:4], n_jobs=2, tau=7)


def test_processes_are_kept_for_the_next_call_and_end_with_the_explainer():
    explainer = Explainer(RandomForestClassifier(5, random_state=0).fit(DATA, LABELS), DATA)
    explainer.explain_many(DATA.iloc[:6], n_jobs=2)
    first = processes._KEPT[explainer].pids
    explainer.explain_many(DATA.iloc[:6], n_jobs=2, tau=0.7)
    assert processes._KEPT[explainer].pids == first
    with pytest.raises(InputError, match="tau"):
        explainer.explain_many(DATA.iloc[:6], n_jobs=2, tau=7)
    del explainer
    gc.collect()
    assert gone(first)


def test_a_model_that_was_changed_is_sent_again():
    class Threshold:
        at = 16

        def predict(self, rows):
            return (rows.sum(axis=1) > self.at).to_numpy()

    model = Threshold()
    explainer = Explainer(model, DATA, references="all")
    explainer.explain_many(DATA.iloc[:4], n_jobs=2)
    model.at = 12
    assert answers(explainer.explain_many(DATA.iloc[:4], n_jobs=2)) == answers(
        explainer.explain_many(DATA.iloc[:4])
    )


SCRIPT = """
import os, sys, time
import pandas as pd
from suffice import Explainer

data = pd.read_csv(sys.argv[1])
folder, driver = sys.argv[2], os.getpid()

def model(rows):  # defined in the script, which has no guard
    if os.getpid() != driver:
        open(os.path.join(folder, str(os.getpid())), "w").close()
        time.sleep(10**6)
    return rows.sum(axis=1) > 16

Explainer(model, data).explain_many(data.iloc[:8], n_jobs=2)
"""


def in_script(tmp_path: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A program that explains by two processes, both of which hang."""
    DATA.to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "hangs").mkdir()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    program = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "data.csv"), str(tmp_path / "hangs")],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while len(pids := [int(p.name) for p in (tmp_path / "hangs").iterdir()]) < 2:
        assert program.poll() is None, program.communicate()
        sleep(0.05)
    return program, pids


def test_an_interrupt_ends_it_at_once_and_leaves_no_process(tmp_path):
    program, pids = in_script(tmp_path)
    program.send_signal(signal.SIGINT)
    _, told = program.communicate(timeout=300)
    assert told.strip().endswith("KeyboardInterrupt")
    assert gone(pids)


def test_no_process_outlives_a_driver_that_was_killed(tmp_path):
    program, pids = in_script(tmp_path)
    program.kill()
    program.communicate(timeout=300)
    assert gone(pids)


def test_a_row_that_hangs_is_told_where_there_is_a_limit():
    from suffice.many.drive import drive
    from suffice.many.processes import Processes
    from suffice.many.team import RowsInHand
    from suffice.many.together import ExplainPiece

    explainer = Explainer(Fragile(), DATA)
    rows = explainer._read_many(poisoned([0, 0, -3], 6))
    with Processes(ExplainPiece(explainer), workers=2, row_time_limit=2) as team:
        pieces = RowsInHand(rows, {"progress": False})
        found = {
            number: value
            for piece, result in drive(pieces, team, failed=lambda piece, lost: [lost.reason])
            for number, value in enumerate(result, piece.first)
        }
    assert found.pop(2) == "took longer than 2 s"
    assert answers(found[i] for i in sorted(found)) == answers(
        explainer.explain(rows[i]) for i in (0, 1, 3, 4, 5)
    )
