"""Ctrl-C ends a run by several processes at any moment, and leaves no process and no file.

All moments run at the same time, so that the machine is busy. `make soak-tests` interrupts at every
tenth of a second, while other programs use all cores.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

SCRIPT = """
import os, signal, sys, time

# The background jobs of a shell start with SIGINT ignored, and so does what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
call, moment, folder = sys.argv[1:]
driver, calls = os.getpid(), 0


def reached(event):
    open(os.path.join(folder, event), "w").close()


reached("began")

import numpy as np
import pandas as pd

from suffice import Explainer


class Model:  # defined in the script, which has no guard
    def __init__(self):
        self.weight = bytes(4_000_000)  # more than a socket holds

    def __setstate__(self, state):
        self.__dict__ |= state
        self.at("reading")

    def predict(self, rows):
        global calls
        calls += 1
        self.at("working")
        if calls == 5:
            self.at("collecting")
        return (rows.sum(axis=1) > 8).to_numpy()

    def at(self, event):
        if os.getpid() != driver:
            reached(event)
            if moment == event != "collecting":
                time.sleep(10**6)


data = pd.DataFrame(np.random.default_rng(0).integers(0, 9, size=(16, 2)), columns=list("ab"))
rows = pd.concat([data] * 20, ignore_index=True)
explainer = Explainer(Model(), data)
if call == "explain_many":
    explainer.explain_many(rows, n_jobs=2)
else:
    from suffice.batch.workers import RunStopper
    from suffice.batch.explain_to import explain_to

    # With a stopper, as the command has one, the first signal is gentle.
    stopper = RunStopper(on_signal=lambda _: reached("stopping")) if call == "gentle" else None
    explain_to(explainer, rows, os.path.join(folder, "out"), workers=2, stopper=stopper)
reached("finished")
if moment == "finished":
    time.sleep(10**6)
"""

MOMENTS = [
    ("explain_many", "began"),
    ("explain_many", "started"),
    ("explain_many", "reading"),
    ("explain_many", "working"),
    ("explain_many", "collecting"),
    ("explain_many", "finished"),
    ("explain_to", "started"),
    ("explain_to", "working"),
    ("explain_to", "collecting"),
    ("gentle", "working"),
]
"""What is called, and what the program has come to when it is interrupted.

"started": a worker process runs, and is being sent the explainer; "reading": it unpickles the
explainer, and hangs; "working": it predicts, and hangs; "finished": the pool is idle."""


class Program:
    """The script in a session of its own, with a private folder for temporary files."""

    def __init__(self, folder: Path, call: str, moment: str = "none") -> None:
        self.folder, self.call, self.moment = folder, call, moment
        (folder / "temporary").mkdir(parents=True)
        (folder / "events").mkdir()
        (folder / "script.py").write_text(SCRIPT)
        with (folder / "errors").open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, folder / "script.py", call, moment, folder / "events"],
                stderr=errors,
                env={**os.environ, "TMPDIR": str(folder / "temporary")},
                start_new_session=True,
            )

    def at(self, event: str) -> bool:
        """Return whether the program has come to an event, or ended."""
        if event == "started":
            return self.process.poll() is not None or len(self.alive()) > 1
        return self.process.poll() is not None or (self.folder / "events" / event).exists()

    def interrupt(self) -> None:
        """Send SIGINT as a terminal does: to the process group."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)

    def alive(self) -> list[psutil.Process]:
        """Return the processes of the program's session."""
        found = []
        for process in psutil.process_iter(["status"]):
            try:
                ours = os.getsid(process.pid) == self.process.pid
            except ProcessLookupError:
                continue
            if ours and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process)
        return found

    def kill(self) -> None:
        """End whatever of the session is still there."""
        for process in self.alive():
            process.kill()
        self.process.wait()

    def outcome(self) -> str:
        """Return how the program ended and what it left."""
        code, errors = self.process.poll(), (self.folder / "errors").read_text()
        left = psutil.wait_procs(self.alive(), timeout=60)[1]
        files = [path.name for path in (self.folder / "temporary").iterdir()]
        if code is None or left or files:
            return f"code {code}, processes {left}, files {files}\n{errors}"
        if code == 0:
            return "finished"
        if code == -signal.SIGINT and not errors:
            return "killed"  # before Python had a handler, or after it was gone
        if code == -signal.SIGINT and (_is_explained(errors) or "KeyboardInterrupt" in errors):
            return "interrupted"
        return f"code {code}\n{errors}"


def _is_explained(errors: str) -> bool:
    """Return whether a program printed one line that says how its run can go on, and no more."""
    started = errors.startswith(("interrupted: ", "SIGINT while stopping: "))
    return started and errors.count("\n") == 1 and "resume=True" in errors


def wait_for(condition, seconds: float) -> bool:
    """Return whether the condition came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_an_interrupt_ends_the_program_at_any_moment_and_leaves_nothing(tmp_path):
    programs = [Program(tmp_path / f"{c}-{m}", c, m) for c, m in MOMENTS]
    waiting, started = list(programs), time.monotonic()
    try:
        while waiting and time.monotonic() - started < 600:
            for program in [p for p in waiting if p.at(p.moment)]:
                program.interrupt()
                if program.call == "gentle":
                    assert wait_for(lambda p=program: p.at("stopping"), 120)
                    assert program.process.poll() is None  # the row in hand never ends
                    program.interrupt()
                waiting.remove(program)
            time.sleep(0.02)
        wait_for(lambda: all(p.process.poll() is not None for p in programs), 120)
        outcomes = {(p.call, p.moment): p.outcome() for p in programs}
    finally:
        for program in programs:
            program.kill()
    may_finish = {key for key in outcomes if key[1] in ("began", "started", "collecting")}
    assert outcomes == {
        key: "finished" if key in may_finish and outcomes[key] == "finished" else "interrupted"
        for key in MOMENTS
    }


@pytest.fixture
def busy_cores():
    burners = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    yield
    for burner in burners:
        burner.kill()
        burner.wait()


def interrupt_after(folder, call: str, seconds: float) -> tuple[str, float]:
    """Interrupt a program after so many seconds; return its outcome and when it ended."""
    program = Program(folder, call)
    started = time.monotonic()
    try:
        if not wait_for(lambda: program.process.poll() is not None, seconds):
            program.interrupt()
            wait_for(lambda: program.process.poll() is not None, 120)
        return program.outcome(), time.monotonic() - started
    finally:
        program.kill()


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("call", ["explain_many", "explain_to"])
def test_an_interrupt_at_every_tenth_of_a_second_leaves_nothing(tmp_path, busy_cores, call):
    outcome, length = interrupt_after(tmp_path / "whole", call, 600)
    assert outcome == "finished"
    for tenth in range(1, int(10 * length) + 1):
        outcome, _ = interrupt_after(tmp_path / str(tenth), call, tenth / 10)
        assert outcome in ("finished", "interrupted", "killed"), f"after {tenth / 10} s: {outcome}"
