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

    Its text goes into the provenance, after the engine's name. `rows_predicted` are those
    that the model predicted for a check which failed: the evaluator that serves counts them.
    """

    def __init__(self, reason: str, rows_predicted: int = 0) -> None:
        super().__init__(reason)
        self.rows_predicted = rows_predicted


@contextmanager
def unreadable_on_error(reason: str) -> Iterator[None]:
    """Raise `Unreadable` for errors that come from the inside of another library.

    Readers look at private attributes, which another version may lack or keep in another form, and
    call private methods, which may raise anything. An error of this package's own code, such as a
    wrong type handed to a function, is a bug and is raised as it is.
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
"""Errors of reading attributes that are missing, or of another shape than expected."""


ENGINES = ("auto", "blackbox", "additive", "trees")

_ENGINES_TO_TRY = {"auto": ("additive", "trees"), "blackbox": ()}
"""The engines tried, the cheapest to try first; a name by itself means that one."""

_MIN_ENGINE_BUDGET = 1024
"""An engine checks itself against the model on a few rows; below this they would be the budget."""

_MOST_SWEPT = 30
"""With more players no search is a sweep."""


class EngineSelector:
    """Evaluators for one model and the columns of its table: what is read of it is read once.

    `engine` "auto" takes the first that serves, unless all hybrids are wanted and asking the model
    about them is less work by the counts of `work`, the same on every machine. A name takes that
    engine or raises an error that says why it cannot.
    """

    def __init__(self, engine: str, model: Any, columns: tuple[str, ...]) -> None:
        self.engine = check_choice("engine", engine, ENGINES)
        self.model = model
        self._columns = columns
        self._read: dict[str, Any] = {}
        self._not_read: dict[str, str] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Sent without what was read of the model, which is read again."""
        return self.__dict__ | {"_read": {}, "_not_read": {}}

    @property
    def predicts_row_by_row(self) -> bool:
        """True if a row's scores are the same, to the last bit, in any batch of rows.

        This holds for trees, whose leaves are added up row by row. (A forest with threads
        adds its trees in the order in which they end, which changes the last bit of a row alone as
        well.)
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

        Under a budget the readings of the model are kept in `own_readings`, for this question
        alone, and checked afresh: the rows of a check count, and how many there are must not
        depend on what was explained before, or the answer would.
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
        if self.engine not in _ENGINES_TO_TRY:
            allowed = f"'auto' or 'blackbox' here, since {next(iter(reasons))}"
            raise InputError("engine", repr(self.engine), allowed)
        # A bounded search comes back to rows that it asked for, and a budget is in rows: each is
        # then asked for once whatever finding it costs.
        distinct = None if budget is None and exhaustive else True
        box = BlackBox(target, hybrids, y, distinct, note=note or None, patience=patience)
        box.rows_predicted = rows  # of checks that failed: no model is both a sum and trees
        return box

    def class_shares(self, rows: CachedRows) -> tuple[Values | None, int]:
        """Return (rows, classes): a forest's class shares, and how many rows it predicted for them.

        None: not known, so the model must predict. The forest predicts no row once its trees were
        read and their sums found to be its own to the bit.
        """
        trees: TreeModel | None = self._read.get("trees")
        return (None, 0) if trees is None else trees.class_shares(rows)

    def _suited(self, hybrids: Hybrids, budget: int | None) -> SwapHybrids:
        """The hybrids, if this is a question for engines at all."""
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
        """An engine for one question; `Unreadable` where it does not serve."""
        if name == "additive":
            from suffice.engines.additive_engine import make_additive_engine

            read = _unchecked(name, self.read_additive(), own_readings)
            return make_additive_engine(read, target, hybrids, y, patience)
        from suffice.engines.trees import TreeEngine
        from suffice.engines.trees.tree_model import WRONG_TREES

        # An engine asked for by name serves even then: it lets the model predict every hybrid.
        if self.engine == "auto" and self.read_trees().disagrees:
            raise Unreadable(WRONG_TREES)
        trees = _unchecked(name, self.read_trees(), own_readings)
        engine = TreeEngine(trees, target, hybrids, y, patience=patience)
        # A quick model with few distinct hybrids, such as a small table of categories, is faster
        # than a sweep over the leaves of hundreds of trees.
        if self.engine == "auto" and exhaustive and hybrids.d <= _MOST_SWEPT:
            asking = lattice_work(target.model, hybrids)
            if engine.sweep_work() > asking + MIN_WORK_SAVED:
                raise Unreadable("asking the model about every row is less work here")
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
    """Return a reading that belongs to one question, with no check made; else the shared one."""
    if own_readings is None:
        return read
    if name not in own_readings:
        own_readings[name] = read.unchecked()
    return own_readings[name]
