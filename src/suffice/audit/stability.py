"""Retrain a model k times and count the models in which sets and recourse options hold.

`audit.stability` fits models and lets them explain the same rows: each retrained model is compared
with the first as `audit.compare` compares two.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from inspect import signature
from statistics import fmean
from typing import Any, get_args

import numpy as np

from suffice.audit.compare import (
    OfferedRecourse,
    check_option_explainer,
    factor_changes,
    retest_options,
)
from suffice.audit.decision_counts import count_feature_set, minimal_feature_sets
from suffice.audit.decision_drift import barcode_distance
from suffice.audit.decisions import DEFAULT_ROWS, decision_names, evenly_spaced, input_values
from suffice.audit.stability_result import (
    OtherMinimalSet,
    Resample,
    Stability,
    StableDecision,
    StableFactor,
    StableOption,
)
from suffice.context import Context
from suffice.errors import InputError, SufficeError, did_you_mean
from suffice.explainer import Explainer, Groups
from suffice.explanation import Explanation
from suffice.inference import Share
from suffice.progress import progress_bar
from suffice.randomness import Stream, generator
from suffice.recourse import Recourse
from suffice.tables import Table, as_table
from suffice.typing import Counts, Values, ViewName
from suffice.validation import call_user_function, check_choice, check_integer, check_tau

_MAX_OPTIONS = 5

SetKey = tuple[ViewName, frozenset[str]]


def stability(
    fit: Any,
    X: Any,
    y: Any,
    *,
    k: int = 10,
    rows: Any = None,
    model: Any = None,
    tau: float = 0.9,
    resample: Resample = "bootstrap",
    recourse: bool | Mapping[str, Any] | None = None,
    outcome: Any = None,
    references: Any = "opposite",
    n_references: int | None = 100,
    groups: Groups = None,
    context: Context | None = None,
    max_size: int | None = None,
    time_limit: float | None = None,
    ids: Sequence[Any] | None = None,
    random_state: int = 0,
    progress: bool | None = None,
) -> Stability:
    """Count the retrained models, of k, in which each minimal set and recourse option still holds.

    A model is fitted to all rows, and k more to rows drawn again (or with other seeds). A minimal
    set of the first model holds in another model if that predicts the same outcome and the set
    suffices at τ there; a recourse option works in another model if that predicts the desired
    outcome for the changed row.
    **Models are fitted, and explain each row**: k + 1 times.

    Parameters
    ----------
    fit
        An estimator (it is cloned, fitted or not; its random_state is set for each model), or a
        function (X, y) -> model, or (X, y, seed) -> model.
    X, y
        Training data; references come from X.
    k
        Number of retrained models.
    rows
        The rows to explain, as a table; or how many, evenly spread over X. None: 20.
    model
        The model under audit, if it is fitted already. None: `fit` is fitted to X and y.
    tau, max_size, time_limit
        As in `Explainer.explain`.
    resample
        "bootstrap": as many rows as X has, drawn from it with replacement, and another seed.
        "seed": the same rows with another seed.
    recourse
        True, or arguments of `Explainer.recourse` ({"immutable": ["age"]}): recourse options are
        found for the model (at most 5 for each row, unless max_options is given), and retested on
        the others. None: no recourse.
    outcome, references, n_references, groups, context
        As in `Explainer`.
    ids
        Names of the decisions. None: their row numbers, in X or in `rows`.
    random_state
        Seed of the draws of rows, of the models' seeds and of references.
    progress
        Show a progress bar. None: on a terminal, for work over a second.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from suffice import audit, datasets
    >>> X, y = datasets.loans(300)
    >>> X = X[["income", "debt", "late payments"]]
    >>> tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    >>> found = audit.stability(tree, X, y, rows=X.iloc[[8]], recourse=True)
    >>> [(f.view, f.features, f.holds.hits) for f in found[0].factors]
    [('keep', ('income', 'debt'), 10), ('flip', ('income', 'debt'), 10)]
    >>> [(o.text, o.works.hits) for o in found[0].options]
    [('income 37 → 48', 5), ('debt 16 → 6', 4)]
    """
    table = as_table(X, argument="X")
    targets = read_targets(y, len(table))
    models = check_integer("k", k, least=1)
    check_tau(tau)
    seed = check_integer("random_state", random_state, least=0)
    ways_to_draw: tuple[Resample, ...] = get_args(Resample)
    how = check_choice("resample", resample, ways_to_draw)
    asked = _recourse_options(recourse)
    trainer = make_retraining(fit, table, targets, how, seed)
    about, numbers = _rows_to_explain(rows, table)

    def explainer_of(fitted: Any) -> Explainer:
        return Explainer(
            fitted,
            table.native,
            outcome=outcome,
            references=references,
            n_references=n_references,
            groups=groups,
            context=context,
            random_state=seed,
        )

    def explained(explainer: Explainer) -> list[Explanation]:
        return explainer.explain_many(
            about, tau=tau, max_size=max_size, time_limit=time_limit, progress=False
        )

    with progress_bar("models", models + 1, progress) as bar:
        first = explainer_of(trainer.fit_all_rows() if model is None else model)
        tracks = _start_trackers(first, explained, asked, numbers if ids is None else ids)
        desired = None if asked is None else asked.get("desired")
        bar.update()
        for number, fitted in enumerate(trainer.refit(models)):
            try:
                other = explainer_of(fitted)
                for track, e in zip(tracks, explained(other), strict=True):
                    track.add_model(e)
                _retest_options(tracks, other, desired)
            except SufficeError as error:
                raise error.at(f"retrained model {number + 1} of {models}") from error
            bar.update()
    base = tracks[0].base
    return Stability(
        model=base.provenance.model,
        k=models,
        tau=base.tau,
        resample=how,
        n_rows=len(table),
        chosen=rows is None or isinstance(rows, int | np.integer),
        decisions=tuple(track.result() for track in tracks),
    )


class _DecisionTracker:
    """Counts of one decision over the retrained models."""

    def __init__(self, name: str, base: Explanation, recourse: Recourse | None) -> None:
        self.name, self.base, self.recourse = name, base, recourse
        self._own: list[SetKey] = [
            (view.name, features)
            for view in (base.keep, base.flip)
            for features in minimal_feature_sets(view, base.tau)
        ]
        self._seen = self._same = 0
        self._suffices: Counter[SetKey] = Counter()
        self._unknown: Counter[SetKey] = Counter()
        self._minimal: Counter[SetKey] = Counter()
        self._shares: dict[SetKey, list[float]] = {key: [] for key in self._own}
        self._distances: list[float] = []
        self._works = np.zeros(0 if recourse is None else len(recourse.options), dtype=int)

    def add_model(self, e: Explanation) -> None:
        """Count the sets that hold in one more model; with another outcome none does."""
        self._seen += 1
        # A model with another outcome counts against every set, so it stays in the denominator.
        if e.outcome != self.base.outcome:
            return
        self._same += 1
        for mine, other in ((self.base.keep, e.keep), (self.base.flip, e.flip)):
            for change in factor_changes(mine, other, self.base.tau):
                key = change.view, frozenset(change.features)
                self._minimal[key] += change.fate != "lost"
                if change.fate == "gained":
                    continue
                # A bounded search may not have counted the set: such a model is left out of its
                # share.
                if change.after is None:
                    self._unknown[key] += 1
                else:
                    self._shares[key].append(change.after.hits / change.after.n)
                    self._suffices[key] += bool(change.suffices)
            apart = barcode_distance(mine, other)
            self._distances += [] if apart is None else [apart]

    def add_retest(self, works: tuple[bool, ...]) -> None:
        """Count the recourse options that work in one more model."""
        self._works += np.array(works, dtype=int)

    def result(self) -> StableDecision:
        """Return the counts as a result."""
        half = [
            (key, n)
            for key, n in self._minimal.most_common()
            # Others that are minimal in a few models only are noise of the training.
            if 2 * n >= self._seen and key not in self._shares
        ]
        options = () if self.recourse is None else self.recourse.options
        return StableDecision(
            name=self.name,
            outcome=self.base.outcome,
            same=Share(self._same, self._seen),
            factors=tuple(map(self._factor, self._own)),
            others=tuple(
                OtherMinimalSet(view, self._named(features), Share(n, self._seen))
                for (view, features), n in half
            ),
            distance=fmean(self._distances) if self._distances else None,
            options=tuple(
                StableOption(option.text, option.cost, Share(int(n), self._seen))
                for option, n in zip(options, self._works, strict=True)
            ),
        )

    def _factor(self, key: SetKey) -> StableFactor:
        view, features = key
        own = self.base.keep if view == "keep" else self.base.flip
        hits, _ = count_feature_set(own, features, self.base.tau)
        assert hits is not None  # a minimal set was found by its count
        shares = self._shares[key]
        return StableFactor(
            view=view,
            features=self._named(features),
            sufficiency=Share(hits, own.tally.n),
            holds=Share(self._suffices[key], self._seen - self._unknown[key]),
            minimal=self._minimal[key],
            lowest=min(shares, default=None),
            highest=max(shares, default=None),
        )

    def _named(self, features: frozenset[str]) -> tuple[str, ...]:
        """Return the names in the order of the model's features; features it ignores come last."""
        order = {player.name: i for i, player in enumerate(self.base.players)}
        return tuple(sorted(features, key=lambda name: (order.get(name, len(order)), name)))


def _start_trackers(
    first: Explainer,
    explained: Callable[[Explainer], list[Explanation]],
    asked: dict[str, Any] | None,
    ids: Sequence[Any] | None,
) -> list[_DecisionTracker]:
    """Return a tracker for each decision of the first model."""
    if asked is not None:
        check_option_explainer(first)
    try:
        base = explained(first)
    except InputError as error:
        raise _as_rows_error(error) from error
    names, recourse = decision_names(base, ids), _recourse_by_row(first, base, asked)
    return [_DecisionTracker(*parts) for parts in zip(names, base, recourse, strict=True)]


def _rows_to_explain(given: Any, table: Table) -> tuple[Any, list[int] | None]:
    """Return the rows to explain, and their numbers if they are rows of the table."""
    if given is not None and not isinstance(given, int | np.integer | float | str):
        return given, None
    wanted = (
        DEFAULT_ROWS
        if given is None
        else check_integer("rows", given, also="a table of rows, None")
    )
    numbers = evenly_spaced(wanted, len(table))
    return table.take(numbers).native, numbers.tolist()


def _recourse_options(given: Any) -> dict[str, Any] | None:
    """Return the arguments of `Explainer.recourse`; None for no recourse."""
    if given is None or given is False:
        return None
    if given is True:
        given = {}
    if not isinstance(given, Mapping):
        allowed = "None, True, or options of Explainer.recourse by name"
        raise InputError("recourse", repr(given) if isinstance(given, str) else given, allowed)
    known = signature(Explainer.recourse).parameters
    for name in given:
        if name not in known or name in ("self", "x", "progress"):
            hint = did_you_mean(name, set(known) - {"self", "x", "progress"})
            allowed = "options of Explainer.recourse by name"
            raise InputError("recourse", f"an option called {name!r}", allowed, hint)
    # The models have a bar already; one for each row would hide it.
    return {"max_options": _MAX_OPTIONS, **given, "progress": False}


def _recourse_by_row(
    explainer: Explainer, base: Sequence[Explanation], asked: dict[str, Any] | None
) -> list[Recourse | None]:
    if asked is None:
        return [None] * len(base)
    found: list[Recourse | None] = []
    for number, e in enumerate(base):
        try:
            found.append(explainer.recourse(input_values(e), **asked))
        except SufficeError as error:
            raise error.at(f"row {number}") from error
    return found


def _as_rows_error(error: InputError) -> InputError:
    """Return an error about x or X as one about `rows`."""
    return error.at("rows") if error.argument.split(": ")[-1] in ("x", "X") else error


def _retest_options(tracks: list[_DecisionTracker], explainer: Explainer, desired: Any) -> None:
    asked = [(track, track.recourse) for track in tracks if track.recourse is not None]
    offered = [
        OfferedRecourse(track.name, input_values(track.base), track.base.prediction, recourse)
        for track, recourse in asked
    ]
    for (track, _), works in zip(asked, retest_options(explainer, offered, desired), strict=True):
        track.add_retest(works)


_ALLOWED_FIT = "an estimator, or a function (X, y) -> model or (X, y, seed) -> model"
_MAX_DRAWS = 100
"""Limit on draws of rows until each class is among them."""
_MAX_CLASSES = 50
"""Above this number of distinct values, y is taken for numbers."""

FitFunction = Callable[[Any, Values, int | None], Any]


@dataclass(frozen=True)
class Retraining:
    """A fit function with its training data, resampling and seed."""

    fit: FitFunction
    X: Table
    y: Values
    resample: Resample
    seed: int

    def fit_all_rows(self) -> Any:
        """Return a model fitted to all rows, with its own seed."""
        return self._fitted(np.arange(len(self.X)), None, "for all rows")

    def refit(self, k: int) -> Iterator[Any]:
        """Yield k models, each fitted to other rows or with another seed."""
        for number in range(k):
            # A stream for each model, so that model 3 is the same whether k is 5 or 50.
            rng = generator(self.seed, Stream.RETRAINED, number)
            rows = np.arange(len(self.X)) if self.resample == "seed" else self._drawn(rng)
            seed = int(rng.integers(1 << 31))
            yield self._fitted(rows, seed, f"for model {number + 1} of {k}")

    def _fitted(self, rows: Counts, seed: int | None, about: str) -> Any:
        given = self.X.take(rows).native, self.y[rows], seed
        return call_user_function("fit", self.fit, _ALLOWED_FIT, *given, about=about)

    def _drawn(self, rng: np.random.Generator) -> Counts:
        """Return as many rows as there are, drawn with replacement, with every class among them."""
        import pandas as pd

        n = len(self.y)
        codes, values = pd.factorize(self.y)
        for _ in range(_MAX_DRAWS):
            rows = rng.integers(n, size=n)
            # A model fitted without a class cannot predict it, and would be compared on other
            # outcomes.
            if len(values) > _MAX_CLASSES or len(np.unique(codes[rows])) == len(np.unique(codes)):
                return np.asarray(rows, dtype=np.int64)
        rarest = values[np.bincount(codes[codes >= 0]).argmin()]
        got = f"{rarest!r} so rarely that draws of rows have none of it"
        hint = "resample='seed' fits every model to all rows."
        raise InputError("y", got, "each class several times", hint)


def make_retraining(fit: Any, X: Table, y: Values, resample: Resample, seed: int) -> Retraining:
    """Return the retraining of an estimator or fit function, or raise if it cannot be fitted."""
    estimator = hasattr(fit, "fit") and not isinstance(fit, type)
    if not estimator and (isinstance(fit, type) or not callable(fit)):
        hint = f"Pass {fit.__name__}()." if isinstance(fit, type) else ""
        raise InputError("fit", fit, _ALLOWED_FIT, hint)
    make, seeded = _estimator_fit(fit) if estimator else _function_fit(fit, seed)
    if resample == "seed" and not seeded:
        hint = "resample='bootstrap' draws the rows again."
        got = "'seed', with models that take none: all would be the same"
        allowed = "an estimator with a random_state, or a function (X, y, seed) -> model"
        raise InputError("resample", got, allowed, hint)
    return Retraining(make, X, y, resample, seed)


def _estimator_fit(fit: Any) -> tuple[FitFunction, bool]:
    def seeds(estimator: Any) -> list[str]:
        # Pipelines have seeds in their steps: "forest__random_state".
        known = estimator.get_params() if hasattr(estimator, "get_params") else ()
        return [name for name in known if name.endswith(("random_state", "random_seed"))]

    def make(X: Any, y: Values, seed: int | None) -> Any:
        model = _unfitted(fit)
        if seed is not None and seeds(model):
            model.set_params(**dict.fromkeys(seeds(model), seed))
        model.fit(X, y)
        return model

    return make, bool(seeds(fit))


def _unfitted(fit: Any) -> Any:
    if not hasattr(fit, "get_params"):
        return deepcopy(fit)
    from sklearn.base import clone

    return clone(fit)


def _function_fit(fit: Callable[..., Any], usual: int) -> tuple[FitFunction, bool]:
    try:
        parameters = inspect.signature(fit).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have no signature
        parameters = ()  # type: ignore[assignment]
    # Keyword-only parameters cannot take the seed, which is passed by position.
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(placed) < 3:
        return lambda X, y, seed: fit(X, y), False
    return lambda X, y, seed: fit(X, y, usual if seed is None else seed), True


def read_targets(y: Any, n: int) -> Values:
    """Return y as an array with one value for each of n rows."""
    allowed = f"one value for each of the {n:,} rows of X"
    if isinstance(y, str | bytes | dict) or not hasattr(y, "__len__"):
        raise InputError("y", repr(y) if isinstance(y, str) else y, allowed)
    try:
        found = np.asarray(y)
    except ValueError as error:  # ragged lists
        raise InputError("y", type(y).__name__, allowed) from error
    if found.shape != (n,):
        raise InputError("y", f"an array of shape {found.shape}", allowed)
    return found
