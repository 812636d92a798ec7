"""The plainest evaluator there is, and a clock that moves only when a model is called."""

import sys
from contextlib import contextmanager

import numpy as np
import pytest

from suffice.search import LimitKeeper


class FakeClock:
    """Tells the time that was spent in it, `step` seconds of it with every look."""

    def __init__(self, step=0.0):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def fake_time(monkeypatch, step=0.0):
    """Return a clock that all of suffice reads until the test ends."""
    clock = FakeClock(step)
    for name, module in list(sys.modules.items()):
        if name.startswith("suffice.") and hasattr(module, "perf_counter"):
            monkeypatch.setattr(module, "perf_counter", clock)
    # A default argument is bound when the function is defined.
    monkeypatch.setitem(LimitKeeper.__init__.__kwdefaults__, "clock", clock)
    return clock


@contextmanager
def limits_timed_by(clock):
    """Let limits on time read this clock."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(LimitKeeper.__init__.__kwdefaults__, "clock", clock)
        yield


class FunctionEvaluator:
    """The evaluator that any function of rows has, without targets, tables or memory.

    With a clock each row takes `seconds` of its time.
    """

    name = "plain"
    note = None
    model_seconds = 0.0

    def seconds_per_hybrid(self):
        return None

    def work_per_hybrid(self):
        return 1e4

    def __init__(self, model, x, references, clock=None, seconds=0.0):
        self.rows_predicted = 0
        self.largest = 0
        self._model, self._x, self._references = model, np.array(x), np.array(references)
        self._y = model(self._x[None])[0]
        self._clock, self._seconds = clock, seconds

    @property
    def n(self):
        return len(self._references)

    def outcomes(self, held, tick=None):
        references = np.tile(np.arange(self.n), len(held))
        return self.outcomes_of_hybrids(np.repeat(held, self.n, axis=0), references).reshape(
            -1, self.n
        )

    def outcomes_of_hybrids(self, held, references):
        self.rows_predicted += len(references)
        self.largest = max(self.largest, len(references))
        if self._clock is not None:
            self._clock.now += self._seconds * len(references)
        return self._model(np.where(held, self._x, self._references[references])) == self._y
