"""Choice of the engine (`engine=`): the fastest that can read the model, else the black box."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from suffice.context.hybrids import Hybrids, SwapHybrids
from suffice.context.references import CachedRows
from suffice.engines.blackbox import BlackBox
from suffice.engines.evaluator import Evaluator
from suffice.engines.work import MIN_WORK_SAVED, lattice_work
from suffice.errors import InputError
from suffice.formatting import join_words
from suffice.target import Target
from suffice.typing import Values
from suffice.validation import check_choice

if TYPE_CHECKING:
    from suffice.engines.additive_model import AdditiveModel
    from suffice.engines.text_pipeline import TextPipelineModel
    from suffice.engines.trees import TreeModel


class Unreadable(Exception):  # noqa: N818 - no error: a reason, caught where an engine is chosen
    """Reason why an engine cannot be used, as a sentence about the model and the data.

    Its text goes into the provenance, after the engine's name. `rows_predicted` counts the rows
    that the model predicted for a failed check; the evaluator used instead adds them to its own.
    """

    def __init__(self, reason: str, rows_predicted: int = 0) -> None:
        super().__init__(reason)
        self.rows_predicted = rows_predicted


@contextmanager
def unreadable_on_error(reason: str) -> Iterator[None]:
    """Raise `Unreadable` for errors that come from the inside of another library.

    Readers use private attributes, which another version may lack or store in another form, and
    private methods, which may raise anything. An error raised in this package's own code is a bug,
    and passes unchanged.
    """
    try:
        yield
    except Unreadable:
        raise
    except _OTHER_FORM as error:
        raise Unreadable(reason) from error
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        raised_in = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__"))
        if raised_in.split(".")[0] == "suffice":
            raise
        raise Unreadable(reason) from error


_OTHER_FORM = (AttributeError, LookupError, ValueError)
"""Errors from attributes that are missing, or have another shape than expected."""


ENGINES = ("auto", "blackbox", "additive", "trees")

_ENGINES_TO_TRY = {"auto": ("additive", "trees"), "blackbox": ()}
"""The engines that are tried for a value of `engine`, in order; other values name one engine."""

_MIN_ENGINE_BUDGET = 1024
"""Least budget for engines: their check against the model predicts a few rows, which would use up a
smaller one."""

_MOST_SWEPT = 30
"""Most players of a sweep of all sets."""

WRONG_TREES = "the trees, as they were read, disagree with the model's predictions"
"""The reason not to use trees that a check has found wrong."""


class EngineSelector:
    """Makes the evaluators of one model; the model is read once.

    With `engine` "auto" it is the first engine that can read the model, unless all hybrids are
    needed and predicting them takes less work (by the counts of `work`, which are the same on every
    machine). A name selects that engine, or raises an error with the reason why it cannot be used.
    """

    def __init__(self, engine: str, model: Any, columns: tuple[str, ...]) -> None:
        self.engine = check_choice("engine", engine, ENGINES)
        self.model = model
        self._columns = columns
        self._read: dict[str, Any] = {}
        self._not_read: dict[str, str] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the readings of the model; another process reads it again."""
        return self.__dict__ | {"_read": {}, "_not_read": {}}

    @property
    def predicts_row_by_row(self) -> bool:
        """True if a row's scores are the same, to the last bit, in any batch of rows.

        This holds for trees, whose leaves are added up row by row. (A forest with threads adds its
        trees in the order in which they finish, which may change the last bit even of a single
        row.)
        """
        if "trees" not in _ENGINES_TO_TRY.get(self.engine, (self.engine,)):
            return False
        try:
            return self.read_trees() is not None
        except Unreadable:
            return False

    def make_evaluator(
        self,
        target: Target,
        hybrids: Hybrids,
        y: bool,
        budget: int | None = None,
        exhaustive: bool = True,
        patience: float | None = None,
        own_readings: dict[str, Any] | None = None,
    ) -> Evaluator:
        """Return the fastest evaluator for a question; its note gives the reason why no faster one
        is used.

        Under a budget, `own_readings` keeps the readings of the model for this question alone, and
        they are checked again. The rows of a check count, so their number must not depend on what
        was explained before: else the answer would, too.
        """
        if budget is None:
            own_readings = None
        reasons: dict[str, list[str]] = {}
        rows = 0
        for name in _ENGINES_TO_TRY.get(self.engine, (self.engine,)):
            try:
                swapped = self._suited(hybrids, budget)
                return self._make(name, target, swapped, y, exhaustive, patience, own_readings)
            except Unreadable as reason:
                reasons.setdefault(str(reason), []).append(name)
                rows += reason.rows_predicted
        note = "; ".join(f"{join_words(names)}: {reason}" for reason, names in reasons.items())
        # An engine asked for by name serves even where its reading proved wrong: by the model.
        if self.engine not in _ENGINES_TO_TRY and WRONG_TREES not in reasons:
            allowed = f"'auto' or 'blackbox' here, since {next(iter(reasons))}"
            raise InputError("engine", repr(self.engine), allowed)
        # A bounded search returns to rows that it has predicted, and a budget counts rows: each is
        # then predicted once, even if finding equal rows costs more.
        distinct = None if budget is None and exhaustive else True
        box = BlackBox(target, hybrids, y, distinct, note=note or None, patience=patience)
        box.rows_predicted = rows  # of checks that failed: no model is both a sum and trees
        return box

    def class_shares(self, rows: CachedRows) -> tuple[Values | None, int]:
        """Return (rows, classes): a forest's class shares, and how many rows it predicted for them.

        None: they are not known, so the model has to predict. Once the forest's trees were read and
        their sums equal its own to the bit, it predicts no row.
        """
        trees: TreeModel | None = self._read.get("trees")
        return (None, 0) if trees is None else trees.class_shares(rows)

    def _suited(self, hybrids: Hybrids, budget: int | None) -> SwapHybrids:
        """Return the hybrids; `Unreadable` if no engine can be used for this question."""
        if self.engine == "auto" and budget is not None and budget < _MIN_ENGINE_BUDGET:
            raise Unreadable(f"a budget below {_MIN_ENGINE_BUDGET:,} rows is left to the black box")
        if not isinstance(hybrids, SwapHybrids):
            raise Unreadable("only hybrids whose values are swapped are known, not this context's")
        return hybrids

    def _make(
        self,
        name: str,
        target: Target,
        hybrids: SwapHybrids,
        y: bool,
        exhaustive: bool,
        patience: float | None,
        own_readings: dict[str, Any] | None,
    ) -> Evaluator:
        """Return an engine for one question; `Unreadable` if it cannot be used."""
        if name == "additive":
            from suffice.engines.additive_engine import make_additive_engine

            read = _unchecked(name, self.read_additive(), own_readings)
            return make_additive_engine(read, target, hybrids, y, patience)
        from suffice.engines.trees import TreeEngine

        trees = _unchecked(name, self.read_trees(), own_readings)
        if trees.disagrees or (self.engine == "auto" and self.read_trees().disagrees):
            raise Unreadable(WRONG_TREES)
        engine = TreeEngine(trees, target, hybrids, y, patience=patience)
        # Under a time limit the reading is checked first: a batch of hybrids that takes an engine
        # no time takes the model too long, if the check is among them and fails.
        if patience is not None and not engine.check_reading():
            raise Unreadable(WRONG_TREES, engine.rows_predicted)
        # A quick model with few distinct hybrids, such as a small table of categories, is faster
        # than a sweep over the leaves of hundreds of trees.
        if self.engine == "auto" and exhaustive and hybrids.d <= _MOST_SWEPT:
            asking = lattice_work(target.model, hybrids)
            if engine.sweep_work() > asking + MIN_WORK_SAVED:
                raise Unreadable("predicting every row with the model is less work here")
        return engine

    def read_trees(self) -> TreeModel:
        """Return the trees of the model, read once; `Unreadable` if they cannot be."""
        from suffice.engines.trees import TreeModel, read_trees

        found = self._read_once("trees", lambda *given: TreeModel(read_trees(*given)))
        assert isinstance(found, TreeModel)
        return found

    def read_additive(self) -> AdditiveModel | TextPipelineModel:
        """Return the model as a sum of terms, read once; `Unreadable` if it cannot be."""
        from suffice.engines.additive_model import read_additive

        found: AdditiveModel | TextPipelineModel = self._read_once("additive", read_additive)
        return found

    def _read_once(self, name: str, read: Callable[[Any, tuple[str, ...]], Any]) -> Any:
        """Return an engine's reading of the model, which is read once; `Unreadable` if it cannot
        be."""
        if name in self._not_read:
            raise Unreadable(self._not_read[name])
        if name not in self._read:
            try:
                self._read[name] = read(self.model, self._columns)
            except Unreadable as reason:
                self._not_read[name] = str(reason)
                raise
        return self._read[name]


def _unchecked(name: str, read: Any, own_readings: dict[str, Any] | None) -> Any:
    """Return the question's own reading, with no check made yet; without `own_readings`, `read`."""
    if own_readings is None:
        return read
    if name not in own_readings:
        own_readings[name] = read.unchecked()
    return own_readings[name]
