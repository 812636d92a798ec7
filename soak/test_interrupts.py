"""`make soak`: Ctrl-C at every tenth of a second of a run, while other programs use all cores."""

import os
import subprocess
import sys
import time

import pytest
from tests.test_interrupts import Program, wait_for


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


def run(folder, call: str, seconds: float) -> tuple[str, float]:
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


@pytest.mark.parametrize("call", ["explain_many", "explain_to"])
def test_an_interrupt_at_every_tenth_of_a_second_leaves_nothing(tmp_path, busy_cores, call):
    outcome, length = run(tmp_path / "whole", call, 600)
    assert outcome == "finished"
    for tenth in range(1, int(10 * length) + 1):
        outcome, _ = run(tmp_path / str(tenth), call, tenth / 10)
        assert outcome in ("finished", "interrupted", "killed"), f"after {tenth / 10} s: {outcome}"
