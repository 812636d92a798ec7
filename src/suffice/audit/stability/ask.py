"""The same decisions under k retrained models: this fits models, and asks them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import signature
from statistics import fmean
from typing import Any, get_args

import numpy as np

from suffice.audit.decisions import FEW, ViewName, count_of, inputs, minimal_sets, spread
from suffice.audit.drift.distance import barcode_distance
from suffice.audit.drift.options import Offered, checked_explainer, still_work
from suffice.audit.gaps import Share
from suffice.audit.groups import names_of
from suffice.audit.stability.models import Resample, read_targets, retraining
from suffice.audit.stability.result import (
    OtherSet,
    Stability,
    StableDecision,
    StableFactor,
    StableOption,
)
from suffice.checks import choice, threshold, whole
from suffice.context import Context
from suffice.encodings.recourse import Recourse
from suffice.errors import InputError, SufficeError, did_you_mean
from suffice.explainer import Explainer, Groups
from suffice.explanation import Explanation
from suffice.progress import progress_bar
from suffice.tables import Table, as_table

__all__ = ["stability"]

_OPTIONS = 5

Key = tuple[ViewName, frozenset[str]]


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
    """In how many of k retrained models each minimal set and each way out still holds.

    A model is fitted to all rows, and k more to rows drawn anew (or with other seeds). A set of the
    first model's holds in another where that gives the same outcome and the set suffices at τ
    there; a way out is valid in another where that gives the changed row the outcome wanted.
    **Models are fitted, and asked** to explain each row: k + 1 times.

    Parameters
    ----------
    fit
        An estimator (it is cloned, fitted or not; its random_state is set for each model), or a
        function (X, y) -> model, or (X, y, seed) -> model.
    X, y
        What models are fitted to; references come from X.
    k
        How many models are fitted again.
    rows
        The rows to explain, as a table; or how many, evenly spread over X. None: 20.
    model
        The model under audit, where it is fitted already. None: `fit` is fitted to X and y.
    tau, max_size, time_limit
        As in `Explainer.explain`.
    resample
        "bootstrap": as many rows as X has, drawn from it with replacement, and another seed.
        "seed": the same rows with another seed.
    recourse
        True, or options of `Explainer.recourse` ({"immutable": ["age"]}): ways out are found for
        the model (at most 5 for each row, unless max_options says otherwise), and tried on the
        others. None: none are looked for.
    outcome, references, n_references, groups, context
        As in `Explainer`.
    ids
        What the decisions are called. None: their row numbers, in X or in `rows`.
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
    >>> [(o.says, o.works.hits) for o in found[0].options]
    [('income 37 → 48', 5), ('debt 16 → 6', 4)]
    """
    table = as_table(X, argument="X")
    targets = read_targets(y, len(table))
    models = whole("k", k, least=1)
    threshold(tau)
    seed = whole("random_state", random_state, least=0)
    ways_to_draw: tuple[Resample, ...] = get_args(Resample)
    how = choice("resample", resample, ways_to_draw)
    asked = _recourse_options(recourse)
    trainer = retraining(fit, table, targets, how, seed)
    about, numbers = _rows(rows, table)

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
        first = explainer_of(trainer.first() if model is None else model)
        tracks = _begun(first, explained, asked, numbers if ids is None else ids)
        desired = None if asked is None else asked.get("desired")
        bar.update()
        for number, fitted in enumerate(trainer.again(models)):
            try:
                other = explainer_of(fitted)
                for track, e in zip(tracks, explained(other), strict=True):
                    track.see(e)
                _try_options(tracks, other, desired)
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
        decisions=tuple(track.decision() for track in tracks),
    )


class _Track:
    """What is seen of one decision, model after model."""

    def __init__(self, name: str, base: Explanation, recourse: Recourse | None) -> None:
        self.name, self.base, self.recourse = name, base, recourse
        self._own = list(_keys(base))
        self._seen = self._same = 0
        self._suffices: Counter[Key] = Counter()
        self._unknown: Counter[Key] = Counter()
        self._minimal: Counter[Key] = Counter()
        self._shares: dict[Key, list[float]] = {key: [] for key in self._own}
        self._distances: list[float] = []
        self._works = np.zeros(0 if recourse is None else len(recourse.options), dtype=int)

    def see(self, e: Explanation) -> None:
        """Count what holds in one more model; with another outcome nothing does."""
        self._seen += 1
        if e.outcome != self.base.outcome:
            return
        self._same += 1
        self._minimal.update(_keys(e))
        both = {view.name: view for view in (e.keep, e.flip)}
        for key in self._own:
            view = both[key[0]]
            hits, enough = count_of(view, key[1], self.base.tau)
            if hits is None:
                self._unknown[key] += 1
            else:
                self._shares[key].append(hits / view.tally.n)
                self._suffices[key] += bool(enough)
        for mine, other in ((self.base.keep, e.keep), (self.base.flip, e.flip)):
            apart = barcode_distance(mine, other)
            self._distances += [] if apart is None else [apart]

    def tried(self, works: tuple[bool, ...]) -> None:
        """Count the ways out that work in one more model."""
        self._works += np.array(works, dtype=int)

    def decision(self) -> StableDecision:
        """What was seen."""
        half = [
            (key, n)
            for key, n in self._minimal.most_common()
            if 2 * n >= self._seen and key not in self._shares
        ]
        options = () if self.recourse is None else self.recourse.options
        return StableDecision(
            name=self.name,
            outcome=self.base.outcome,
            same=Share(self._same, self._seen),
            factors=tuple(map(self._factor, self._own)),
            others=tuple(
                OtherSet(view, self._named(features), Share(n, self._seen))
                for (view, features), n in half
            ),
            distance=fmean(self._distances) if self._distances else None,
            options=tuple(
                StableOption(option.says, option.cost, Share(int(n), self._seen))
                for option, n in zip(options, self._works, strict=True)
            ),
        )

    def _factor(self, key: Key) -> StableFactor:
        view, features = key
        own = self.base.keep if view == "keep" else self.base.flip
        hits, _ = count_of(own, features, self.base.tau)
        assert hits is not None  # it was found by its count
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
        """In the order of the model's features; others, which cannot matter in it, come last."""
        order = {player.name: i for i, player in enumerate(self.base.players)}
        return tuple(sorted(features, key=lambda name: (order.get(name, len(order)), name)))


def _begun(
    first: Explainer,
    explained: Callable[[Explainer], list[Explanation]],
    asked: dict[str, Any] | None,
    ids: Sequence[Any] | None,
) -> list[_Track]:
    """A track for each decision of the model itself."""
    if asked is not None:
        checked_explainer(first)
    try:
        base = explained(first)
    except InputError as error:
        raise _about_rows(error) from error
    names, ways = names_of(base, ids), _ways(first, base, asked)
    return [_Track(name, e, way) for name, e, way in zip(names, base, ways, strict=True)]


def _keys(e: Explanation) -> Iterator[Key]:
    for view in (e.keep, e.flip):
        for features in minimal_sets(view, e.tau):
            yield view.name, features


def _rows(given: Any, table: Table) -> tuple[Any, list[int] | None]:
    """The rows to explain, and their numbers where they are rows of the table."""
    if given is not None and not isinstance(given, int | np.integer | float | str):
        return given, None
    wanted = FEW if given is None else whole("rows", given, also="a table of rows, None")
    numbers = spread(wanted, len(table))
    return table.take(numbers).native, numbers.tolist()


def _recourse_options(given: Any) -> dict[str, Any] | None:
    """What is asked of `Explainer.recourse`; None: nothing."""
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
    return {"max_options": _OPTIONS, **given, "progress": False}


def _ways(
    explainer: Explainer, base: Sequence[Explanation], asked: dict[str, Any] | None
) -> list[Recourse | None]:
    if asked is None:
        return [None] * len(base)
    found: list[Recourse | None] = []
    for number, e in enumerate(base):
        try:
            found.append(explainer.recourse(inputs(e), **asked))
        except SufficeError as error:
            raise error.at(f"row {number}") from error
    return found


def _about_rows(error: InputError) -> InputError:
    """An error of rows that cannot be read, as one of `rows`."""
    return error.at("rows") if error.argument.split(": ")[-1] in ("x", "X") else error


def _try_options(tracks: list[_Track], explainer: Explainer, desired: Any) -> None:
    asked = [(track, track.recourse) for track in tracks if track.recourse is not None]
    offered = [
        Offered(track.name, inputs(track.base), track.base.prediction, recourse)
        for track, recourse in asked
    ]
    for (track, _), works in zip(asked, still_work(explainer, offered, desired), strict=True):
        track.tried(works)
