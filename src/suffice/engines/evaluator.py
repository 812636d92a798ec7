"""Protocols of engines (evaluators), and `register_reader` for model classes of your own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InputError
from suffice.typing import BoolVector, Counts, HeldSets, Outcomes, Reals, SmallCounts

if TYPE_CHECKING:
    from suffice.engines.additive_model import AdditiveReading
    from suffice.engines.trees import Ensemble

ProgressCallback = Callable[[float], object]
"""Called with the share of a piece of work that was just done."""

SweepBlock = tuple[int, Counts | SmallCounts, NDArray[np.uint8]]
"""A block of consecutive bit masks (player j is bit j): the first of them, the hits of each, and
the outcomes of each as `numpy.packbits` packs them along the references."""


IdleReason = Literal["same", "unread", "alike"]
"""Why a player cannot matter: "same": every reference has the input's value; "unread": the model
never reads it; "alike": the input's and every reference's value have the same effect."""


class Evaluator(Protocol):
    """Outcomes of hybrids, and what it took to get them."""

    @property
    def name(self) -> str:
        """The name in `engine=` and in the provenance."""
        ...

    @property
    def note(self) -> str | None:
        """Why no faster evaluator is used, or why this one had the model predict; None: neither."""
        ...

    @property
    def n(self) -> int:
        """The number of references."""
        ...

    @property
    def rows_predicted(self) -> int:
        """Rows that the model predicted for this question.

        A row that one call predicted for several inputs counts for each of them.
        """
        ...

    @property
    def model_seconds(self) -> float:
        """Time spent inside the model."""
        ...

    def seconds_per_hybrid(self) -> float | None:
        """Return about how many seconds a hybrid takes, as measured; None if that is not known.

        It depends on the machine and its load, so it may only decide how many hybrids are evaluated
        before the clock is read again. Choices are made by `work_per_hybrid`.
        """
        ...

    def work_per_hybrid(self) -> float:
        """Return the predicted work of one hybrid, counted in the units of `engines.work`."""
        ...

    def outcomes(self, held: HeldSets, tick: ProgressCallback | None = None) -> Outcomes:
        """Return (subsets, references): whether each hybrid has the input's outcome.

        `tick` is called with the share of this work that was just done; the shares add up to 1.
        """
        ...

    def outcomes_of_hybrids(self, held: HeldSets, references: Counts) -> BoolVector:
        """Return (rows,): whether hybrid (held[i], references[i]) has the input's outcome."""
        ...


@runtime_checkable
class LatticeEvaluator(Evaluator, Protocol):
    """An evaluator that can also compute all 2^d subsets together, faster than one by one."""

    def sweep(self) -> Iterator[SweepBlock]:
        """Yield every bit mask from 0 to 2^d - 1, in blocks."""
        ...

    def sweep_counts(self) -> Iterator[tuple[int, Counts]]:
        """Yield the first mask of each block of a sweep, and the hits of its masks."""
        ...

    def sweep_work(self) -> float:
        """Return the predicted work of a sweep, counted in the units of `engines.work`."""
        ...


@runtime_checkable
class CompiledEvaluator(Evaluator, Protocol):
    """An evaluator whose lists of sets are fast only once compiled kernels are loaded."""

    @property
    def kernels_loaded(self) -> bool:
        """True if the kernels are loaded, or none are needed."""
        ...

    def load_kernels(self) -> bool:
        """Load the kernels, which takes about a second; return whether they can be used."""
        ...


@runtime_checkable
class IdlePlayerEvaluator(Evaluator, Protocol):
    """An evaluator that knows the model's structure, and so which players cannot matter."""

    def idle_players(self) -> Mapping[int, IdleReason]:
        """Return the players that change no hybrid's outcome, held or replaced, and why."""
        ...


@runtime_checkable
class CubeEvaluator(Evaluator, Protocol):
    """An evaluator that can also bound outcomes over a cube: all sets that hold some players and
    free some others; the rest may be held or freed."""

    def bound_cubes(self, held: HeldSets, freed: HeldSets) -> tuple[Outcomes, Outcomes]:
        """Return (cubes, references) twice: all hybrids surely have the outcome; any hybrid may.

        Both are sound and need not be tight; for a cube of one set, both are its outcomes.
        """
        ...

    def leverage(self) -> Reals:
        """Return (references, players): about how far each player moves a hybrid's score.

        It decides only the order of branching, not the result.
        """
        ...


@runtime_checkable
class MonotoneEvaluator(CubeEvaluator, Protocol):
    """An evaluator that also knows players whose being held never brings the outcome about."""

    def never_helps(self) -> BoolVector:
        """Return (players,): whether holding the player instead of replacing it never helps.

        A hybrid that holds such a player has the outcome only where the one that replaces it has
        it. So a set that keeps the outcome keeps it without the player, and one that flips it flips
        it without replacing the player: no minimal set has one.
        """
        ...


# Readers that users register for model classes of their own, by the exact class.


EngineKind = Literal["additive", "trees"]
"""What a reader returns: the terms that a model adds up, or the trees that it consists of."""

_REGISTERED_READERS: dict[tuple[EngineKind, type], Callable[..., Any]] = {}


def register_reader(
    kind: type,
    *,
    additive: Callable[[Any, Reals], AdditiveReading] | None = None,
    trees: Callable[[Any], Ensemble] | None = None,
) -> None:
    """Register how fitted models of a class are read: as a sum of terms, or as trees.

    Call it in the module that defines the class, so that every process with the class has the
    reader. Objects of a subclass are not read, since a subclass may predict differently.

    Parameters
    ----------
    kind
        The class of the fitted models, or of the last step of a pipeline.
    additive
        (model, X) -> `AdditiveReading`: the terms of rows X, in float64, as the model sees them.
    trees
        (model) -> `Ensemble`: see `suffice.engines.trees.ensemble.join_trees`.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import Explainer
    >>> from suffice.engines import register_reader
    >>> from suffice.engines.additive_model import AdditiveReading
    >>> class Points:
    ...     classes_ = 0, 1
    ...     def predict(self, rows):
    ...         return (rows @ [2.0, -1.0] - 1.0 > 0).astype(int)
    >>> def read_points(model, X):
    ...     terms = X * np.array([2.0, -1.0])
    ...     return AdditiveReading(iter([(terms, None)]), np.array([-1.0]), "sign")
    >>> register_reader(Points, additive=read_points)
    >>> e = Explainer(Points(), np.array([[0.0, 1.0], [0.2, 0.0]])).explain([2.0, 1.0])
    >>> e.provenance.evaluator
    'additive'
    """
    given: object = kind
    if not isinstance(given, type):
        raise InputError("kind", given, "the class of the models that the reader reads")
    readers: dict[EngineKind, Any] = {"additive": additive, "trees": trees}
    given_readers = {shape: read for shape, read in readers.items() if read is not None}
    if len(given_readers) != 1:
        got = "both" if given_readers else "neither"
        raise InputError("additive, trees", got, "one of the two: what the model consists of")
    for shape, read in given_readers.items():
        if not callable(read):
            raise InputError(shape, read, "a function that reads a fitted model")
        _REGISTERED_READERS[shape, kind] = read


def find_reader(shape: EngineKind, model: Any) -> Callable[..., Any] | None:
    """Return the reader registered for a model's exact class; None if a method was replaced."""
    return None if has_patched_methods(model) else _REGISTERED_READERS.get((shape, type(model)))


def has_patched_methods(thing: Any) -> bool:
    """Return whether a method was replaced on the instance, so that its class proves nothing."""
    own = vars(thing) if hasattr(thing, "__dict__") else {}
    return not _READ_METHODS.isdisjoint(own)


_READ_METHODS = frozenset({"predict", "predict_proba", "decision_function", "transform"})
"""Methods whose results the readers repeat."""
