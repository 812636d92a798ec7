"""The door most users come in by: a model, a table, and one row to explain.

Follow `explain` from top to bottom: read the input, ask what outcome it has, choose the references,
sweep the hybrids once, read both views from the counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np

from suffice.checks import choice, level, number, threshold, whole
from suffice.context import Context, SwapContext, make_players
from suffice.context.clusters import auto_groups
from suffice.context.cost import CostSpec
from suffice.context.players import Players
from suffice.context.pool import Rows
from suffice.decision import Decider, Decision
from suffice.errors import InputError, SufficeError, shorten
from suffice.evaluate import Choice
from suffice.explanation import Explanation
from suffice.explanation.explain import Asking, Prepared, explain_decision, prepare
from suffice.factors import Factor
from suffice.inference import check_adjustment
from suffice.models import as_model, fitted_columns
from suffice.progress import checked_progress, progress_bar
from suffice.search import Limits, Question
from suffice.search.plan import Plan
from suffice.search.strategy import STRATEGIES
from suffice.tables import Table, as_table, has_several_rows, read_row
from suffice.typing import Values, ViewName
from suffice.wording import count

if TYPE_CHECKING:
    from suffice.context.plausibility import Plausibility
    from suffice.encodings.anchors import AnchorOptions, AnchorRules, Rule, ScoreOptions
    from suffice.encodings.attribution import ShapleyValues
    from suffice.encodings.recourse import Recourse
    from suffice.many.load import Stored

__all__ = ["Asked", "Contrast", "Explainer"]

_CHUNK = 64
"""Rows explained together in memory: what a call of the model costs is by then shared by many."""


class Asked(TypedDict, total=False):
    """What can be asked of one input, or of many alike: see `Explainer.explain`."""

    tau: float
    alpha: float | None
    max_size: int | None
    budget: int | None
    time_limit: float | None
    search: str
    adjust: str
    progress: bool | None


Groups = Mapping[str, Sequence[str]] | Literal["auto"] | None


class Contrast(TypedDict, total=False):
    """What an input is held against: see `Explainer`."""

    outcome: Any
    references: Any
    n_references: int | None
    groups: Groups
    context: Context | None


class Explainer:
    """Explains single decisions of a model by what suffices to keep them and to flip them.

    Parameters
    ----------
    model
        A fitted scikit-learn estimator or pipeline (or any object with `predict`), or a callable
        from rows to labels, values or class scores.
    data
        A pandas, polars or pyarrow frame, or an array: where references come from. Columns that a
        model fitted on a frame does not know are left out.
    outcome
        What counts as the outcome. By default the class predicted for the input. Or a class;
        `suffice.versus(label, foil)`; for numbers `suffice.at_least(t)`, `at_most(t)`,
        `within(delta)`; or `suffice.satisfies(predicate)`.
    references
        "opposite" (rows predicted otherwise than the input), "all", a mask over the rows of data,
        a frame of rows, or a callable (data, x) -> one of these.
    n_references
        The most references to use: a seeded sample where there are more. None: all of them, so
        that the answer is exact over the data.
    groups
        {"name": [columns]}: columns that are held or replaced together. "auto": clusters of
        correlated columns.
    random_state
        Seed of the sample of references and of estimates in bounded searches.
    cost
        What a change costs, for the cheapest flips. None: deviations (MAD) for numbers, 0 or 1
        for the rest. A mapping of column to weight, or a callable (column, from, to) -> costs.
    size_weights
        How likely the context is to hold 0, 1, …, d features, for necessity and the
        contrapositives: d + 1 positive numbers. None: all 2^d sets alike, as in the paper.
    engine
        How outcomes are worked out. "auto": by the model's own shape where that is known (see
        `e.provenance.evaluator`), else by asking it. "blackbox": always by asking. Or the name of
        an engine, which then serves or says why it cannot. The answer is the same.
    context
        How the input and a reference mix. None or `SwapContext()`: their values are swapped.
        `ConditionalContext()`: references near what is held. `CausalContext(scm)`: changes have
        their consequences.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from suffice import Explainer, datasets
    >>> X, y = datasets.loans()
    >>> X = X[["age", "income", "debt", "late payments"]]
    >>> model = RandomForestClassifier(random_state=0).fit(X, y)
    >>> e = Explainer(model, X).explain(X.iloc[8])
    >>> e.complete
    True
    >>> [f.features for f in e.keep.factors]
    [('income', 'debt'), ('income', 'late payments')]
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        *,
        outcome: Any = None,
        references: Any = "opposite",
        n_references: int | None = None,
        groups: Groups = None,
        random_state: int = 0,
        cost: CostSpec = None,
        size_weights: Sequence[float] | None = None,
        engine: str = "auto",
        context: Context | None = None,
    ) -> None:
        limit = _checked_limit(n_references)
        self._seed = whole("random_state", random_state, least=0)
        given = as_table(data)
        self._known_columns = frozenset(given.names)
        self._data = fitted_columns(model, given)
        players = _players(self._data, groups)
        wrapped, answers = as_model(model, self._data)
        self._size_weights = _checked_weights(size_weights, len(players))
        self._decider = Decider(
            wrapped,
            answers,
            self._data,
            outcome=outcome,
            references=references,
            n_references=limit,
            like_data=partial(fitted_columns, model, argument="references"),
            players=players,
            choice=Choice(engine, model, self._data.names),
            context=_checked_context(context),
            cost=cost,
            seed=self._seed,
        )

    def explain(
        self,
        x: Any,
        *,
        tau: float = 0.9,
        alpha: float | None = None,
        max_size: int | None = None,
        budget: int | None = None,
        time_limit: float | None = None,
        search: str = "auto",
        adjust: str = "none",
        progress: bool | None = None,
    ) -> Explanation:
        """Find every τ-minimal factor that keeps the outcome of `x`, and every one that flips it.

        Parameters
        ----------
        x
            The input: a mapping, a series, a one-row frame, or a list of values.
        tau
            The share of references for which a set must bring the outcome about, in (0, 1].
        alpha
            None: shares are taken as they are. A level: each must pass an exact binomial test.
        max_size
            Search sets of at most this many features (exhaustively).
        budget
            Ask the model about at most this many rows, and cover at most 1,000 hybrids for each:
            one that is known already, or that an engine works out, costs no row.
        time_limit
            Stop after about this many seconds.
        search
            "auto": every set where that is predicted to take seconds, else the best that can be
            verified in about ten (or in `time_limit`, `budget`): see `plan`. "exhaustive": every
            set (of up to `max_size`) is counted, so that every τ is answered; beyond 24 features
            engines decide every set of up to 30 at this τ. "bounds": sets are decided at this τ in
            bulk, for tree and additive models of any width. "pruned": every set is decided at this
            τ, with as few model rows as it takes. "greedy": exhaustive for small sets (`max_size`),
            and a verified but incomplete search for larger ones.
        adjust
            Multiple testing with `alpha`: "none", "bonferroni", "holm" or "bh".
        progress
            Show a progress bar. None: on a terminal, for work over a second.
        """
        started = perf_counter()
        asking = self.asking(
            tau=tau,
            alpha=alpha,
            max_size=max_size,
            budget=budget,
            time_limit=time_limit,
            search=search,
            adjust=adjust,
            progress=progress,
        )
        return explain_decision(self.decide(x), asking, self._decider.references, started)

    def asking(
        self,
        *,
        tau: float = 0.9,
        alpha: float | None = None,
        max_size: int | None = None,
        budget: int | None = None,
        time_limit: float | None = None,
        search: str = "auto",
        adjust: str = "none",
        progress: bool | None = None,
    ) -> Asking:
        """What `explain` is asked, checked: to be asked of many decisions."""
        how = choice("search", search, STRATEGIES)
        tau, alpha = threshold(tau), level(alpha)
        adjustment = check_adjustment(adjust, alpha)
        limits = Limits(max_size, budget, time_limit)
        shown = checked_progress(progress)
        weights, seed = self._size_weights, self._seed
        question = Question(tau, alpha, adjustment, limits.checked(0), weights, seed, shown)
        return Asking(question, how)

    def answer(
        self, decision: Decision, asking: Asking, ready: Prepared | None = None
    ) -> Explanation:
        """`explain`, of an input that is decided already, and perhaps prepared."""
        spec = self._decider.references
        return explain_decision(decision, asking, spec, perf_counter(), ready)

    def plan(self, x: Any, **question: Unpack[Asked]) -> Plan:
        """How `explain` would search with the same arguments, and how long: nothing is searched.

        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> from suffice import Explainer
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> explainer = Explainer(KNeighborsClassifier().fit(X, y), X)
        >>> plan = explainer.plan(X.iloc[0])
        >>> plan.way, plan.players, plan.complete
        ('anytime', 30, False)
        """
        asking = self.asking(**question)
        return prepare(self.decide(x), asking).plan

    def __call__(self, x: Any, **question: Unpack[Asked]) -> Explanation | list[Explanation]:
        """`explain` of one row; of several rows `explain_many`."""
        if has_several_rows(x):
            return self.explain_many(x, **question)
        return self.explain(x, **question)

    def explain_many(
        self, X: Any, *, n_jobs: int = 1, **question: Unpack[Asked]
    ) -> list[Explanation]:
        """Explain several inputs: a frame, an array, or a list of rows; the rest as in `explain`.

        `n_jobs` processes share the work (-1: all cores); the answers do not depend on it. An
        error names the row it is about, counted from 0. A process that is killed is replaced. Rows
        that end every process they are given to are a `LostRowsError`, raised when all others are
        done: their explanations are its `found`.

        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from suffice import Explainer, datasets
        >>> X, y = datasets.loans()
        >>> X = X[["age", "income", "debt", "late payments"]]
        >>> explainer = Explainer(DecisionTreeClassifier(random_state=0).fit(X, y), X)
        >>> [e.prediction for e in explainer.explain_many(X.iloc[:3], tau=0.8)]
        ['refused', 'refused', 'granted']
        """
        wanted = _read_jobs(n_jobs)
        rows = self._read_many(X)
        shown = question.pop("progress", None)
        question["progress"] = False
        if wanted == 1 or len(rows) == 1:
            return self._explain_here(rows, question, shown)
        from joblib import effective_n_jobs

        from suffice.many.together import explain_together

        jobs = min(effective_n_jobs(wanted), len(rows))  # more would have nothing to do
        if jobs == 1:
            return self._explain_here(rows, question, shown)
        return explain_together(self, rows, {**question}, jobs=jobs, progress=shown)

    def _explain_here(
        self, rows: Sequence[Table], question: Asked, shown: bool | None
    ) -> list[Explanation]:
        """In this process, chunk by chunk; the first row that fails ends it."""
        from suffice.many.rows import at_row, explain_rows

        found: list[Explanation] = []
        with progress_bar("explanations", len(rows), shown) as bar:
            while len(found) < len(rows):
                chunk = rows[len(found) : len(found) + _CHUNK]
                for answer in explain_rows(self, chunk, {**question}):
                    if isinstance(answer, SufficeError):
                        raise at_row(answer, len(found), question)
                    found.append(answer)
                    bar.update()
        return found

    def explain_to(
        self,
        X: Any,
        out: str | Path,
        *,
        id: str | None = None,
        rows: str | None = None,
        resume: bool = False,
        workers: int | None = None,
        client: Any = None,
        row_time_limit: float | None = None,
        max_errors: int | None = None,
        stop_after: float | None = None,
        counts: bool | None = None,
        rows_per_part: int | None = None,
        **question: Unpack[Asked],
    ) -> Stored:
        """Explain many rows into a folder of Parquet files: `suffice.load` gives them back.

        A row that cannot be explained is kept as an error. What is done is on the disk every few
        seconds, and an interrupted run goes on with `resume`. The bytes of the result depend on the
        rows and the question alone, not on the workers or on interruptions.

        Parameters
        ----------
        X
            The rows: a frame, an array, an iterator of frames, the path of a Parquet or CSV file,
            or of a folder of Parquet files, which are read bit by bit. Columns that the data has
            not are left out.
        out
            The folder: a new one or, with `resume`, that of an earlier run.
        id
            The column that names the rows. None: their numbers do.
        rows
            Of a file, which rows: "0:1000", "5,9,12" or "COLUMN=VALUE". None: all.
        resume
            Go on with what is there; an error that says what differs, where it is not the same run.
        workers
            Processes that share the work. None: this one does it.
        client
            Or a client of a Dask cluster, whose workers do it.
        row_time_limit
            Seconds after which a row is given up as an error; needs `workers` or `client`.
        max_errors
            Stop, with an error, once more rows than this could not be explained.
        stop_after
            Begin nothing new after about so many seconds: what is given back is then not finished.
            (`time_limit` bounds the search for each single row, as in `explain`.)
        counts
            Keep the counts of all sets, so that every τ can be asked later? None: of up to 12
            features.
        rows_per_part
            Rows of a file. None: as many as make files of some megabytes.
        question
            What is asked of each row: as in `explain`.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from suffice import Explainer, datasets
        >>> X, y = datasets.loans(200)
        >>> X = X[["age", "income", "debt"]]
        >>> explainer = Explainer(DecisionTreeClassifier(random_state=0).fit(X, y), X)
        >>> stored = explainer.explain_to(X, mkdtemp(), tau=0.8)
        >>> len(stored), stored.finished, stored[8].prediction
        (200, True, 'refused')
        """
        from suffice.many.to import explain_to

        return explain_to(
            self,
            X,
            out,
            id=id,
            rows=rows,
            resume=resume,
            workers=workers,
            client=client,
            row_time_limit=row_time_limit,
            max_errors=max_errors,
            stop_after=stop_after,
            counts=counts,
            rows_per_part=rows_per_part,
            **question,
        )

    def anchor(self, x: Any, **options: Unpack[AnchorOptions]) -> AnchorRules:
        """Every minimal rule for `x` (Prop. 2): see `suffice.anchor`."""
        from suffice.encodings.anchors import anchor

        return anchor(self, x, **options)

    def score_rule(self, x: Any, rule: Factor | None, **options: Unpack[ScoreOptions]) -> Rule:
        """Precision and coverage of a rule, another tool's for instance: `suffice.score_rule`."""
        from suffice.encodings.anchors import score_rule

        return score_rule(self, x, rule, **options)

    def shapley(
        self, x: Any, *, view: ViewName = "keep", progress: bool | None = None
    ) -> ShapleyValues:
        """What each feature adds to sufficiency (Prop. 1), from all sets: see `suffice.shapley`."""
        from suffice.encodings.shapley import shapley

        return shapley(self, x, view=view, progress=progress)

    def __repr__(self) -> str:
        decider = self._decider
        spec, outcome, context = decider.references, decider.outcome, decider.context
        parts = [
            repr(decider.model),
            f"{count(len(self._data), 'row')} of data",
            count(len(decider.players), "feature"),
            f"references={spec!r}" if isinstance(spec, str) else f"references={shorten(spec, 40)}",
        ]
        parts += [] if outcome is None else [f"outcome={shorten(outcome, 40)}"]
        parts += [] if context.is_swap else [f"context: {context.describe()}"]
        return f"<Explainer: {', '.join(parts)}>"

    def plausibility(self, x: Any, *, n_hybrids: int = 1000) -> Plausibility:
        """How many hybrids of this input are far from the data: a warning, not an error.

        A hybrid is far if it is farther from its nearest row of data than 19 in 20 rows are from
        theirs. `n_hybrids` of them are drawn, in the explainer's own context.
        """
        from suffice.context.plausibility import plausibility

        drawn = whole("n_hybrids", n_hybrids, least=2, most=10**6)
        decision = self.decide(x)
        views = list(dict.fromkeys(decision.hybrids))
        return plausibility(views, self._data, decision.context.describe(), drawn, self._seed)

    def recourse(
        self,
        x: Any,
        *,
        tau: float | None = None,
        desired: Any = None,
        immutable: str | Iterable[str] = (),
        actionable: str | Iterable[str] | None = None,
        ranges: Mapping[str, Any] | None = None,
        increasing: str | Iterable[str] = (),
        decreasing: str | Iterable[str] = (),
        steps: Mapping[str, float] | None = None,
        forbidden: Factor | Iterable[Factor] = (),
        cost: CostSpec = None,
        max_cost: float | None = None,
        max_size: int | None = None,
        max_options: int | None = None,
        values: Literal["observed", "grid"] = "observed",
        budget: int | None = None,
        time_limit: float | None = None,
        progress: bool | None = None,
    ) -> Recourse:
        """Find the cheapest changes of `x` that give another outcome, under constraints (Prop. 3).

        An option is a set T of features with the cheapest allowed change of them that the model
        confirms. Among the references *allowed* on T (their values on T keep to the constraints)
        PS(T) is the share that give the desired outcome. T is an option if it has such a change, if
        PS(T) >= tau where tau is given, and if no subset of T that has both costs as little: a
        larger set that is strictly cheaper is an option, too. Costs that differ by less than a
        billionth of themselves count as equal. None of this is an error: where there is no option,
        `reason` says which constraints are in the way.

        Parameters
        ----------
        x
            The input: a mapping, a series, a one-row frame, or a list of values.
        tau
            The sufficiency that a set must have, in (0, 1]. None: one verified change is enough,
            since a person takes one way and not the average one.
        desired
            The outcome wanted: a class, `at_least(t)`, `versus(...)`, … None: any but the present.
        immutable
            Features or columns that cannot change. A group with such a column cannot change.
        actionable
            Or the only ones that can.
        ranges
            {column: (low, high)}, either of them None, for numbers; {column: [values]} lists the
            values allowed. It restricts new values: one that stays as it is may lie outside. None
            becomes missing, unless None is in its list.
        increasing, decreasing
            Columns that may only go up, or down: numbers, truth values, ordered categories.
        steps
            {column: step}: changed only by whole multiples of the step.
        forbidden
            Factors, such as `equals("job", "none") & compare("debt", ">", 20)`, that the new row
            must not satisfy.
        cost
            What a change costs, as in `Explainer`; None: the explainer's own.
        max_cost, max_size
            The dearest option, and the largest set of features.
        max_options
            Give only so many options, the cheapest; the result's `more` tells how many were left
            out. None: all.
        values
            "observed": a set takes a reference's values together. "grid": any combination of values
            that the columns have in the data (with `steps`: of the input's own plus or minus whole
            steps, within the range given or else observed). Features of a group stay together.
        budget
            Ask the model about at most this many rows, besides `x` itself. None: any number, which
            for a grid of many features with many values can take very long.
        time_limit
            Stop after about this many seconds. None: when all sets were looked at, or, where that
            would take longer, after about ten. Where a limit ends the search, `complete` is False
            and `reason` says what was left out, and what would give more.
        progress
            Show a progress bar. None: on a terminal, for work over a second.

        In a causal context a set's features are set to new values and their consequences follow:
        constraints and costs concern the features set, not what follows. Where that is random,
        `tau` is asked of an option's own values: they must work in that share of the draws (without
        it: in half), and `reliability` is the share of fresh draws in which they do. A grid needs
        consequences that are not random: `CausalContext(scm, noise="kept")`.

        Examples
        --------
        >>> import pandas as pd
        >>> from suffice import Explainer
        >>> people = pd.DataFrame({"income": [30, 60, 45, 60], "debt": [20, 20, 0, 40]})
        >>> def decide(rows):
        ...     return (rows["income"] - rows["debt"] >= 40).map({True: "yes", False: "no"})
        >>> r = Explainer(decide, people).recourse({"income": 30, "debt": 20}, immutable="debt")
        >>> print(r)
        From no to yes: 1 way
          cost  sufficiency  necessity  change
             4          50%       100%  income 30 → 60
        ...
        >>> r.best.changes
        {'income': (30, 60)}
        """
        from suffice.encodings.recourse import RecourseRequest, find_recourse

        request = RecourseRequest(
            tau=tau,
            desired=desired,
            immutable=immutable,
            actionable=actionable,
            ranges=ranges,
            increasing=increasing,
            decreasing=decreasing,
            steps=steps,
            forbidden=forbidden,
            cost=cost,
            max_cost=max_cost,
            max_size=max_size,
            max_options=max_options,
            values=values,
            budget=budget,
            time_limit=time_limit,
            progress=progress,
        )
        return find_recourse(self.decide(x, desired), request)

    @property
    def data(self) -> Table:
        """Where references come from."""
        return self._data

    @property
    def outcome(self) -> Any:
        """What counts as the outcome, as it was given; None: the input's own."""
        return self._decider.outcome

    @property
    def answers(self) -> Values:
        """The model's answer for each row of the data."""
        return self._decider.answers

    def but(self, **changes: Unpack[Contrast]) -> Explainer:
        """The same explainer with another contrast: the model is not asked about the data again.

        `outcome`, `references`, `n_references`, `groups` and `context` may be given, as in
        `Explainer`; what is not stays as it is.

        >>> import pandas as pd
        >>> from suffice import Explainer
        >>> people = pd.DataFrame({"income": [30, 60, 45, 60], "debt": [20, 20, 0, 40]})
        >>> explainer = Explainer(lambda rows: rows["income"] - rows["debt"] >= 40, people)
        >>> explainer.but(references="all").explain([30, 20]).provenance.n_references
        4
        """
        unknown = [name for name in changes if name not in Contrast.__annotations__]
        if unknown:
            allowed = ", ".join(Contrast.__annotations__)
            raise InputError("but", repr(unknown[0]), allowed)
        contrast: dict[str, Any] = {**changes}
        if "n_references" in changes:
            contrast["n_references"] = _checked_limit(changes["n_references"])
        if "context" in changes:
            contrast["context"] = _checked_context(changes["context"])
        if "groups" in changes:
            contrast["players"] = _players(self._data, contrast.pop("groups"))
        other = copy(self)
        other._decider = replace(self._decider, **contrast)
        other._size_weights = _checked_weights(self._size_weights, len(other._decider.players))
        return other

    def decide(self, x: Any, outcome: Any = None) -> Decision:
        """The model's decision for one input, ready to be asked about.

        `outcome` stands in place of the explainer's own where it is given.
        """
        return self._decider.one(self._read(x), outcome)

    def decide_many(self, rows: Rows) -> list[Decision | SufficeError]:
        """The decision for each of some inputs that were read, or its error."""
        return self._decider.many(rows)

    def _read(self, x: Any) -> Table:
        """The input as one row of the data's kind; columns that only the data has are ignored."""
        if isinstance(x, Table):
            return x
        return read_row(x, self._data, ignored=self._known_columns)

    def _read_many(self, X: Any) -> Sequence[Table]:
        if isinstance(X, Mapping | str | bytes):
            hint = "explain takes one row."
            got = "a mapping" if isinstance(X, Mapping) else shorten(X)
            raise InputError("X", got, "a frame, an array or a list of rows", hint)
        if isinstance(X, Iterable) and not hasattr(X, "shape"):
            rows = list(X)
        else:
            table = as_table(X, names=self._data.names, argument="X")
            alike = self._like_data(table)
            if alike is not None:
                return Rows(alike)
            rows = [table.take(np.array([i])).native for i in range(len(table))]
        if not rows:
            raise InputError("X", "no rows", "at least one row to explain")
        found = []
        for i, row in enumerate(rows):
            try:
                found.append(self._read(row))
            except SufficeError as error:
                raise error.at(f"row {i}") from error
        return found

    def read_rows(self, X: Any) -> Sequence[Table | SufficeError]:
        """Each row of a table as one of the data's kind, or what is wrong with it."""
        table = as_table(X, names=self._data.names, argument="X")
        with suppress(SufficeError):  # it is told of below, with its row
            alike = self._like_data(table)
            if alike is not None:
                return Rows(alike)
        return self._read_parts(table)

    def _read_parts(self, table: Table) -> list[Table | SufficeError]:
        """Rows whose dtypes are not the data's: cast together, the bad ones found by halving."""
        from suffice.many.fit import fitted

        if len(table) == 1:
            try:
                return [self._read(table.native)]
            except SufficeError as error:
                return [error]
        with suppress(SufficeError):
            alike = self._like_data(fitted(table, self._data))
            if alike is not None:
                return list(Rows(alike))
        halves = np.array_split(np.arange(len(table)), 2)
        return [row for half in halves for row in self._read_parts(table.take(half))]

    @property
    def decider(self) -> Decider:
        """The model with its data and contrast: what the explainer was made of."""
        return self._decider

    def _like_data(self, table: Table) -> Table | None:
        """A table whose rows are all as they are read one by one; None where each must be cast."""
        try:
            first = self._read(table.take(np.array([0])).native)
        except SufficeError as error:  # as the first row is told of
            raise error.at("row 0") from error
        data = self._data
        chosen = table.select([table.names.index(name) for name in data.names])
        same = data.same_kind(chosen) and data.same_kind(first)
        if not same or not all(data.same_dtype(j, chosen) for j in range(len(data.names))):
            return None
        return chosen.labelled_like(data).take(np.arange(len(table)))


def _players(data: Table, groups: Groups) -> Players:
    if isinstance(groups, str):
        choice("groups", groups, ["auto"], also='{"name": [columns]} or None')
        return make_players(data, auto_groups(data))
    return make_players(data, groups)


def _read_jobs(given: object) -> int:
    every = isinstance(given, int | np.integer) and given == -1
    return -1 if every else whole("n_jobs", given, also="-1 (all cores)")


def _checked_limit(n: int | None) -> int | None:
    return None if n is None else whole("n_references", n, also="None")


def _checked_context(context: object) -> Context:
    if context is None:
        return SwapContext()
    if not isinstance(context, Context):
        allowed = "None, SwapContext(), ConditionalContext(…) or CausalContext(scm)"
        raise InputError("context", context, allowed)
    return context


def _checked_weights(weights: Sequence[float] | None, d: int) -> tuple[float, ...] | None:
    if weights is None:
        return None
    allowed = f"{d + 1} positive numbers, one for each size from 0 to {d}"
    given: object = weights
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        got = repr(given) if isinstance(given, str) else given
        raise InputError("size_weights", got, allowed)
    values = tuple(number("size_weights", w, allowed, above=0) for w in given)
    if len(values) != d + 1:
        raise InputError("size_weights", list(values), allowed)
    return values
