"""The class `Explainer`: checks a model's options, references and groups; explains rows of a table.

`Explainer.explain` validates its arguments, reads the input row, predicts its outcome and chooses
its references (`decide`), counts hybrids and derives both views (`explanation.explain`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np

from suffice.context import Context, SwapContext, make_players
from suffice.context.change_rules import DeclaredChanges, MissingCost, Names
from suffice.context.cost import CostSpec
from suffice.context.players import Players, auto_groups
from suffice.context.references import CachedRows, as_mask, select_columns_like
from suffice.decision import Decision, DecisionBuilder
from suffice.engines import EngineSelector
from suffice.errors import InputError, SufficeError, short_repr
from suffice.explanation import Explanation, Explanations
from suffice.explanation.explain import (
    PreparedSearch,
    SearchRequest,
    explain_decision,
    prepare_search,
)
from suffice.factors import Factor
from suffice.formatting import plural
from suffice.models import fitted_columns, wrap_model
from suffice.progress import check_progress, interrupts_say, search_lost_text
from suffice.search import Limits, Question
from suffice.search.plan import Plan
from suffice.search.strategies import STRATEGIES
from suffice.tables import Table, as_table, has_several_rows, read_row
from suffice.tables.table import conform
from suffice.typing import Values, ViewName
from suffice.validation import (
    check_adjustment,
    check_alpha,
    check_choice,
    check_integer,
    check_number,
    check_tau,
)

if TYPE_CHECKING:
    from suffice.attribution import ShapleyValues
    from suffice.batch.load import Stored
    from suffice.context.conditional import Plausibility
    from suffice.prove import Proof
    from suffice.recourse import Recourse, RecourseRequest
    from suffice.rules import AnchorOptions, AnchorRules, Rule, ScoreOptions


class ExplainOptions(TypedDict, total=False):
    """Keyword arguments of `Explainer.explain`, for methods that pass them on."""

    tau: float
    alpha: float | None
    max_size: int | None
    budget: int | None
    time_limit: float | None
    search: str
    adjust: str
    progress: bool | None


Groups = Mapping[str, Sequence[str]] | Literal["auto"] | None


class ContrastOptions(TypedDict, total=False):
    """Arguments of `Explainer` that `Explainer.but` can change."""

    outcome: Any
    references: Any
    n_references: int | None
    groups: Groups
    context: Context | None
    immutable: Names
    actionable: Names | None
    increasing: Names
    decreasing: Names


_CHANGE_RULES = ("immutable", "actionable", "increasing", "decreasing")


class Explainer:
    """Explains decisions of a model by the feature sets that suffice to keep or to flip them.

    Parameters
    ----------
    model
        A fitted scikit-learn estimator or pipeline (or any object with `predict`), or a callable
        from rows to labels, values or class scores.
    data
        A pandas, polars or pyarrow frame, or an array, from which references are taken. Columns
        that a model fitted on a frame does not know are left out.
    outcome
        The outcome to explain. None: the class predicted for the input. Or a class;
        `suffice.versus(label, foil)`; for numbers `suffice.at_least(t)`, `at_most(t)`,
        `within(delta)`; or `suffice.satisfies(predicate)`.
    references
        "opposite" (rows with another predicted outcome than the input), "all", a mask over the rows
        of data, a frame of rows, or a callable (data, x) -> one of these.
    n_references
        The largest number of references: if there are more, a seeded sample is used. None: all
        references, so that the answer is exact over the data.
    groups
        {"name": [columns]}: columns that are held or replaced together. "auto": clusters of
        correlated columns.
    random_state
        Seed of the sample of references and of estimates in bounded searches.
    cost
        The cost of a change, for the cheapest flips. None: deviations (MAD) for numbers, 0 or 1
        for other columns. A mapping of column to weight, or a callable (column, from, to) -> costs,
        where `from` is the input's value and `to` an array of values.
    size_weights
        Weights of contexts that hold 0, 1, …, d features, for necessity and the contrapositives:
        d + 1 positive numbers. None: all 2^d sets have the same weight, as in the paper.
    engine
        How outcomes of hybrids are computed. "auto": from the model's structure if an engine knows
        it (see `e.provenance.evaluator`), else by predictions. "blackbox": always by predictions.
        Or the name of an engine, which raises an error if it does not support the model. The
        answer is the same.
    context
        How the values of the input and a reference are combined. None or `SwapContext()`: values
        are swapped. `ConditionalContext()`: references are similar to the held values.
        `CausalContext(scm)`: changes have causal effects on other features.
    immutable
        Features or columns that cannot change: no cheapest change, recourse option or audit changes
        them. A group with such a column cannot change. Sufficiency is not affected.
    actionable
        The only features or columns that can change. None: all that are not immutable.
    increasing, decreasing
        Columns that may only increase, or decrease: numbers, Booleans, ordered categories.
    missing_cost
        None: no change sets a missing value, and none makes a value missing. A number, or
        {column: number}: such changes are allowed, at this cost.

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
        immutable: Names = (),
        actionable: Names | None = None,
        increasing: Names = (),
        decreasing: Names = (),
        missing_cost: MissingCost = None,
    ) -> None:
        limit = _check_n_references(n_references)
        self._seed = check_integer("random_state", random_state, least=0)
        given = as_table(data)
        self._known_columns = frozenset(given.names)
        # A model fitted on a frame gets its own columns, in their order, whatever else the table
        # has.
        self._data = fitted_columns(model, given)
        players = _read_groups(self._data, groups)
        # The model predicts the data once: references, classes and checks all read these answers.
        wrapped, answers = wrap_model(model, self._data)
        self._size_weights = _check_size_weights(size_weights, len(players))
        self._decider = DecisionBuilder(
            wrapped,
            answers,
            self._data,
            outcome=outcome,
            references=references,
            n_references=limit,
            like_data=partial(fitted_columns, model, argument="references"),
            players=players,
            engine_selector=EngineSelector(engine, model, self._data.names),
            context=_check_context(context),
            cost=cost,
            changes=DeclaredChanges.read(
                immutable, actionable, increasing, decreasing, missing_cost
            ),
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
            The threshold τ in (0, 1]: the share of references for which a set must give the
            outcome.
        alpha
            None: shares are compared with τ directly. A significance level: each share must pass an
            exact binomial test.
        max_size
            Report sets of at most this many features, whichever search is used; "auto" then counts
            all of them.
        budget
            The largest number of rows that the model predicts, the input's own included. At most
            1,000 hybrids are covered for each of them; a hybrid that is known, or that an engine
            computes, costs no row.
        time_limit
            Stop after about this many seconds. The sets found then depend on the machine and its
            load; without it, the same call gives the same answer everywhere.
        search
            "auto": every set if that is predicted to take seconds, else the best sets that can be
            verified with the work of about ten (or in `time_limit`, `budget`): see `plan`. Work is
            counted, not timed: if the model is slower than 20 µs a row, give a `budget`.
            "exhaustive": every set (of up to `max_size`) is counted, so that every τ is answered;
            beyond 24 features engines decide every set of up to 30 at this τ. "bounds": sets are
            decided at this τ in bulk, for tree and additive models of any width. "pruned": every
            set is decided at this τ, with as few predicted rows as possible. "greedy": single
            features and, where that is little work, pairs are counted, and larger sets are looked
            for from many starts: verified, but not complete.
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
        # The clock started before the arguments were read, so that a time limit covers everything.
        with interrupts_say(search_lost_text):
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
    ) -> SearchRequest:
        """Validate the arguments of `explain` once, for use on many rows."""
        how = check_choice("search", search, STRATEGIES)
        tau, alpha = check_tau(tau), check_alpha(alpha)
        adjustment = check_adjustment(adjust, alpha)
        limits = Limits(max_size, budget, time_limit)
        shown = check_progress(progress)
        weights, seed = self._size_weights, self._seed
        question = Question(tau, alpha, adjustment, limits.validated(), weights, seed, shown)
        return SearchRequest(question, how)

    def answer(
        self,
        decision: Decision,
        asking: SearchRequest,
        ready: PreparedSearch | None = None,
        *,
        started: float | None = None,
        spent: int = 0,
    ) -> Explanation:
        """Return the explanation of a decision, whose search may be prepared already.

        A time limit counts from `started` (None: from now). `spent` are rows that the model
        predicted for this question before the decision; they count into its budget.
        """
        spec, spent = self._decider.references, spent + decision.rows_predicted
        began = perf_counter() if started is None else started
        return explain_decision(decision, asking, spec, began, ready, spent)

    def plan(self, x: Any, **question: Unpack[ExplainOptions]) -> Plan:
        """Return how `explain` would search with the same arguments, and for how long.

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
        return prepare_search(self.decide(x), asking).plan

    def __call__(self, x: Any, **question: Unpack[ExplainOptions]) -> Explanation | Explanations:
        """Return the explanation of one row, or a list of explanations of several rows."""
        if has_several_rows(x):
            return self.explain_many(x, **question)
        return self.explain(x, **question)

    def explain_many(
        self, X: Any, *, n_jobs: int = 1, **question: Unpack[ExplainOptions]
    ) -> Explanations:
        """Explain several inputs: a frame, an array, or a list of rows; the rest as in `explain`.

        The result is a list whose `print` shows what the explanations have in common: outcomes, the
        commonest feature sets, and how many searches were not complete.

        `n_jobs` processes share the work (-1: one per core); the answers do not depend on it. An
        error names its row, counted from 0. A process that is killed is replaced. Rows that end
        every process raise a `LostRowsError` after all other rows were explained; its attribute
        `found` has their explanations.

        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from suffice import Explainer, datasets
        >>> X, y = datasets.loans()
        >>> X = X[["age", "income", "debt", "late payments"]]
        >>> explainer = Explainer(DecisionTreeClassifier(random_state=0).fit(X, y), X)
        >>> [e.prediction for e in explainer.explain_many(X.iloc[:3], tau=0.8)]
        ['refused', 'refused', 'granted']
        """
        from suffice.batch.explain_many import explain_many

        n_jobs = _check_n_jobs(n_jobs)
        # One bar for all rows, not one for each.
        rows, progress = self._read_many(X), question.pop("progress", None)
        return explain_many(self, rows, {**question}, n_jobs=n_jobs, progress=progress)

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
        **question: Unpack[ExplainOptions],
    ) -> Stored:
        """Explain many rows into a folder of Parquet files, which `suffice.load` reads.

        A row that cannot be explained is stored as an error. Finished rows are written to the disk
        every few seconds, and `resume` continues an interrupted run. The bytes of the result depend
        on the rows and the question only, not on workers or interruptions. Needs pyarrow.

        Parameters
        ----------
        X
            The rows: a frame, an array, an iterator of frames, the path of a Parquet or CSV file,
            or of a folder of Parquet files, which are read a batch at a time. Columns that the data
            lacks are left out.
        out
            The folder: a new one or, with `resume`, that of an earlier run.
        id
            The column that identifies the rows. None: row numbers do.
        rows
            Rows of a file to select: "0:1000", "5,9,12" or "COLUMN=VALUE". None: all.
        resume
            Continue an earlier run; an error reports the differences if it is not the same run.
        workers
            Number of worker processes. None: rows are explained in this process.
        client
            A client of a Dask cluster, to explain rows on its workers instead.
        row_time_limit
            Seconds after which a row becomes an error; needs `workers` or `client`.
        max_errors
            Stop with an error once more rows than this could not be explained.
        stop_after
            Start no new rows after about this many seconds: the result is then unfinished.
            (`time_limit` bounds the search of each single row, as in `explain`.)
        counts
            Whether to store the counts of all sets, which later answer every τ. None: for up to 12
            features.
        rows_per_part
            Rows of one file. None: as many as make files of some megabytes.
        question
            Arguments of `explain`, for every row.

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
        # Imported here, since it needs pyarrow.
        from suffice.batch.explain_to import explain_to

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
        """Return every minimal rule for `x` (Prop. 2): see `suffice.anchor`."""
        from suffice.rules import anchor

        return anchor(self, x, **options)

    def score_rule(self, x: Any, rule: Factor | None, **options: Unpack[ScoreOptions]) -> Rule:
        """Return precision and coverage of a rule, for example another tool's: `score_rule`."""
        from suffice.rules import score_rule

        return score_rule(self, x, rule, **options)

    def shapley(
        self, x: Any, *, view: ViewName = "keep", progress: bool | None = None
    ) -> ShapleyValues:
        """Return the Shapley values of sufficiency (Prop. 1), from all sets: `suffice.shapley`."""
        from suffice.attribution import shapley

        return shapley(self, x, view=view, progress=progress)

    def __repr__(self) -> str:
        decider = self._decider
        spec, outcome, context = decider.references, decider.outcome, decider.context
        parts = [
            repr(decider.model),
            f"{plural(len(self._data), 'row')} of data",
            plural(len(decider.players), "feature"),
            f"references={spec!r}"
            if isinstance(spec, str)
            else f"references={short_repr(spec, 40)}",
        ]
        parts += [] if outcome is None else [f"outcome={short_repr(outcome, 40)}"]
        parts += [] if context.is_swap else [f"context: {context.describe()}"]
        return f"<Explainer: {', '.join(parts)}>"

    def plausibility(self, x: Any, *, n_hybrids: int = 1000) -> Plausibility:
        """Return how many hybrids of this input are far from the data: a warning, not an error.

        A hybrid is far if its nearest row of data is farther away than that of 19 in 20 rows of
        data is from them. `n_hybrids` hybrids are drawn, in the explainer's context.
        """
        from suffice.context.conditional import measure_plausibility

        drawn = check_integer("n_hybrids", n_hybrids, least=2, most=10**6)
        decision = self.decide(x)
        # Where both views share their hybrids, these are measured once.
        views = list(dict.fromkeys(decision.hybrids))
        return measure_plausibility(
            views, self._data, decision.context.describe(), drawn, self._seed
        )

    def recourse(
        self,
        x: Any,
        *,
        tau: float | None = None,
        desired: Any = None,
        immutable: Names = (),
        actionable: Names | None = None,
        ranges: Mapping[str, Any] | None = None,
        increasing: Names = (),
        decreasing: Names = (),
        steps: Mapping[str, float] | None = None,
        forbidden: Factor | Iterable[Factor] = (),
        cost: CostSpec = None,
        missing_cost: MissingCost = None,
        max_cost: float | None = None,
        max_size: int | None = None,
        max_options: int | None = None,
        values: Literal["observed", "grid", "any"] = "observed",
        budget: int | None = None,
        time_limit: float | None = None,
        progress: bool | None = None,
    ) -> Recourse:
        """Find the cheapest changes of `x` that give another outcome, under constraints (Prop. 3).

        An option is a set T of features with its cheapest allowed change that the model confirms. A
        reference is *allowed* on T if its values on T satisfy the constraints; PS(T) is the share
        of allowed references that give the desired outcome. T is an option if it has a confirmed
        change, if PS(T) >= tau (where tau is given), and if no subset of T that meets both
        conditions costs the same or less: a larger set that is strictly cheaper is an option, too.
        Costs that differ by less than a billionth of themselves count as equal. If there is no
        option, no error is raised: `reason` names the constraints that exclude options.

        Parameters
        ----------
        x
            The input: a mapping, a series, a one-row frame, or a list of values.
        tau
            The sufficiency that a set must have, in (0, 1]. None: one confirmed change is enough,
            since a person makes one change and not an average one.
        desired
            The desired outcome: a class, `at_least(t)`, `versus(...)`, … None: any other outcome.
        immutable
            Features or columns that cannot change, in addition to those declared to `Explainer`. A
            group with such a column cannot change.
        actionable
            The only features or columns that can change. None: all that are not immutable.
        ranges
            {column: (low, high)} for numbers, where low or high may be None; {column: [values]}
            lists the allowed values. Only new values are restricted: an unchanged value may lie
            outside. A value becomes missing if None is in the list.
        increasing, decreasing
            Columns that may only increase, or decrease: numbers, Booleans, ordered categories.
        steps
            {column: step}: the column changes only by integer multiples of the step.
        forbidden
            Factors, such as `equals("job", "none") & compare("debt", ">", 20)`, that the new row
            must not satisfy.
        cost
            The cost of a change, as in `Explainer`; None: the explainer's own.
        missing_cost
            None: the explainer's own, by which no missing value is set or removed unless a cost is
            given. A number, or {column: number}: such changes are allowed, at this cost.
        max_cost, max_size
            The highest cost of an option, and the largest number of its features.
        max_options
            Return only this many options, the cheapest; the result's `more` counts the others.
            None: all.
        values
            "observed": a set takes its values from one reference. "grid": any combination of values
            that the columns have in the data (with `steps`: the input's value plus or minus
            multiples of the step, within the given or else the observed range). Features of a group
            take their values from one row. "any", for tree models: any numbers between the data's
            least and largest, and categories in it. The result is the one cheapest change with a
            proof that none that works is cheaper (`certified`), or with the `gap` that is left;
            without one, a proof that there is none. `tau`, `steps`, `max_size` and `budget` are not
            for it.
        budget
            The largest number of rows that the model predicts, not counting `x`. None: unlimited,
            which for a grid of many features with many values can take very long.
        time_limit
            Stop after about this many seconds; what is found then depends on the machine. None:
            after all sets were searched, or after a fixed amount of counted work (about ten seconds
            on a laptop) if that would take more. If a limit ends the search, `complete` is False
            and `reason` names what was left out, and which limit would give more.
        progress
            Show a progress bar. None: on a terminal, for work over a second.

        In a causal context, an intervention sets the features of an option, and its effects follow:
        constraints and costs concern the features that are set, not the effects. If effects are
        random, `tau` applies to an option's own values: they must give the desired outcome in that
        share of draws (without `tau`: in half of them), and `reliability` is the share of new draws
        in which they do. A grid needs effects that are not random:
        `CausalContext(scm, noise="kept")`.

        Examples
        --------
        >>> import pandas as pd
        >>> from suffice import Explainer
        >>> people = pd.DataFrame({"income": [30, 60, 45, 60], "debt": [20, 20, 0, 40]})
        >>> def decide(rows):
        ...     return (rows["income"] - rows["debt"] >= 40).map({True: "yes", False: "no"})
        >>> r = Explainer(decide, people).recourse({"income": 30, "debt": 20}, immutable="debt")
        >>> print(r)
        From no to yes: 1 recourse option
          cost  sufficiency  set necessity  by chance  change
             4          50%           100%        50%  income 30 → 60
        ...
        >>> r.best.changes
        {'income': (30, 60)}
        """
        from suffice.recourse import RecourseRequest

        started = perf_counter()
        request = RecourseRequest(
            tau=tau,
            immutable=immutable,
            actionable=actionable,
            ranges=ranges,
            increasing=increasing,
            decreasing=decreasing,
            steps=steps,
            forbidden=forbidden,
            cost=cost,
            missing_cost=missing_cost,
            max_cost=max_cost,
            max_size=max_size,
            max_options=max_options,
            values=values,
            budget=budget,
            time_limit=time_limit,
            progress=progress,
        )
        with interrupts_say(search_lost_text):
            return self._find_recourse(x, desired, request, started)

    def _find_recourse(
        self, x: Any, desired: Any, request: RecourseRequest, started: float
    ) -> Recourse:
        from suffice.recourse import find_recourse

        decision = self.decide(x, desired)
        # With `desired`, y says whether the input has that outcome.
        if desired is not None and decision.y:
            got = f"{decision.target.event.text}, which the input has already"
            raise InputError("desired", got, "an outcome that the input does not have")
        decision.require_consistent()
        if request.values == "any":
            from suffice.prove import find_cheapest_change

            return find_cheapest_change(decision, request, started)
        return find_recourse(decision, request, started=started)

    def prove(
        self,
        x: Any,
        features: object = None,
        *,
        domain: Literal["values", "range", "box"] = "values",
        immutable: Names = (),
        ranges: Mapping[str, Any] | None = None,
        increasing: Names = (),
        decreasing: Names = (),
        forbidden: Factor | Iterable[Factor] = (),
        max_sets: int = 1000,
        rules: bool = False,
        max_boxes: int = 20_000,
        time_limit: float | None = None,
    ) -> Proof:
        """Prove or refute that feature sets keep the outcome of `x` for every row of a domain.

        For tree models, and over "values" for additive models (see the guide to models). A set is
        *proved* if no row of the domain that has the input's values of its features has another
        outcome; it is *refuted* by such a row, which the model itself predicts; and it is *open* if
        neither was found with the work allowed. Work is counted in boxes of rows, so that the same
        call gives the same answer on every machine.

        Parameters
        ----------
        x
            The input.
        features
            A feature set, or a list of them. None: find all minimal sets that are proved, and all
            minimal sets whose change can lose the outcome.
        domain
            Which values the other features may take: "values", any combination of values that the
            data holds; "range", any numbers between the data's least and largest; "box", any
            numbers. Columns that hold no numbers take the data's values ("box": also the categories
            of their dtype). Missing values belong to it where the data has some in the column.
        immutable, ranges, increasing, decreasing, forbidden
            Restrictions of the domain, as in `recourse`: rows whose values are the input's own or
            meet the restrictions, and that satisfy no forbidden factor. What was declared to
            `Explainer` does not restrict it.
        max_sets
            Stop after so many minimal sets.
        rules
            Also find a rule for each proved set, `verdict.rule`: conditions that the input
            satisfies, and with which every row of the domain has the outcome. No condition can be
            widened alone to the next value that the model tells apart. `score_rule` counts its
            precision and coverage.
        max_boxes
            Boxes of rows to look at before a set is left open; the search for all minimal sets
            ends after ten times as many.
        time_limit
            Stop after about this many seconds; the answer then depends on the machine.

        Examples
        --------
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> from suffice import Explainer, datasets
        >>> X, y = datasets.loans()
        >>> X = X[["age", "income", "debt", "late payments"]]
        >>> model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, y)
        >>> p = Explainer(model, X).prove(X.iloc[8], ["age", "debt"])
        >>> p.verdicts[0].verdict
        'refuted'
        >>> p.verdicts[0].counterexample["income"]
        58
        """
        from suffice.prove import prove

        return prove(
            self,
            x,
            features,
            domain=domain,
            immutable=immutable,
            ranges=ranges,
            increasing=increasing,
            decreasing=decreasing,
            forbidden=forbidden,
            max_sets=max_sets,
            rules=rules,
            max_boxes=max_boxes,
            time_limit=time_limit,
        )

    @property
    def data(self) -> Table:
        """The table from which references are taken."""
        return self._data

    @property
    def outcome(self) -> Any:
        """The argument `outcome`; None: the outcome predicted for the input."""
        return self._decider.outcome

    @property
    def answers(self) -> Values:
        """The model's prediction for each row of the data."""
        return self._decider.answers

    def but(self, **changes: Unpack[ContrastOptions]) -> Explainer:
        """Return the same explainer with another contrast, without predicting the data again.

        `outcome`, `references`, `n_references`, `groups`, `context`, `immutable`, `actionable`,
        `increasing` and `decreasing` can be changed, as in `Explainer`; arguments that are not
        given keep their values.

        >>> import pandas as pd
        >>> from suffice import Explainer
        >>> people = pd.DataFrame({"income": [30, 60, 45, 60], "debt": [20, 20, 0, 40]})
        >>> explainer = Explainer(lambda rows: rows["income"] - rows["debt"] >= 40, people)
        >>> explainer.but(references="all").explain([30, 20]).provenance.n_references
        4
        """
        unknown = [name for name in changes if name not in ContrastOptions.__annotations__]
        if unknown:
            allowed = ", ".join(ContrastOptions.__annotations__)
            raise InputError("but", repr(unknown[0]), allowed)
        contrast: dict[str, Any] = {**changes}
        if "n_references" in changes:
            contrast["n_references"] = _check_n_references(changes["n_references"])
        if "context" in changes:
            contrast["context"] = _check_context(changes["context"])
        if "groups" in changes:
            contrast["players"] = _read_groups(self._data, contrast.pop("groups"))
        rules = {name: contrast.pop(name) for name in _CHANGE_RULES if name in contrast}
        if rules:
            contrast["changes"] = DeclaredChanges.read(**asdict(self._decider.changes) | rules)
        other = copy(self)
        other._decider = replace(self._decider, **contrast)
        other._size_weights = _check_size_weights(self._size_weights, len(other._decider.players))
        return other

    def with_references(self, X: Any) -> Explainer:
        """Return the same explainer with rows that join the data, and so the references.

        For counterexamples of `prove` that explanations should count as well. `X` is a mapping, a
        frame or a list of rows. References are chosen from the larger data as before; those given
        by a mask or as a frame get the rows besides. The data also set the scale of the default
        costs and the values of a proof's domain.

        >>> import pandas as pd
        >>> from suffice import Explainer
        >>> people = pd.DataFrame({"income": [30, 60, 45, 60], "debt": [20, 20, 0, 40]})
        >>> explainer = Explainer(lambda rows: rows["income"] - rows["debt"] >= 40, people)
        >>> wider = explainer.with_references({"income": 45, "debt": 5})
        >>> [ex.explain([30, 20]).provenance.n_references for ex in (explainer, wider)]
        [2, 3]
        """
        read = list(self._read_many([X] if isinstance(X, Mapping) else X))
        added = read[0].stack(*read[1:])
        spec = self._decider.references
        if not isinstance(spec, str) and not callable(spec):
            mask = as_mask(spec)
            if mask is None:
                given = as_table(spec, names=self._data.names, argument="references")
                spec = select_columns_like(self._data, given, "references").stack(added).native
            else:
                spec = np.append(mask, np.ones(len(added), dtype=bool))
        other = copy(self)
        other._data = self._data.stack(added)
        new = self._decider.model.predict(added.take(np.arange(len(added))))
        answers = np.concatenate([self.answers, new])
        other._decider = replace(self._decider, data=other._data, answers=answers, references=spec)
        return other

    def decide(self, x: Any, outcome: Any = None) -> Decision:
        """Return the model's decision for one input, with its references and hybrids.

        `outcome` replaces the explainer's own if it is given.
        """
        return self._decider.one(self._read(x), outcome)

    def decide_many(self, rows: CachedRows) -> list[Decision | SufficeError]:
        """Return the decision for each row that was read before, or its error."""
        return self._decider.many(rows)

    def _read(self, x: Any) -> Table:
        """Return the input as one row in the dtypes of the data; columns not used are ignored."""
        if isinstance(x, Table):
            return x
        return read_row(x, self._data, ignored=self._known_columns)

    def _read_many(self, X: Any) -> Sequence[Table]:
        if isinstance(X, Mapping | str | bytes):
            hint = "explain takes one row."
            got = "a mapping" if isinstance(X, Mapping) else short_repr(X)
            raise InputError("X", got, "a frame, an array or a list of rows", hint)
        if isinstance(X, Iterable) and not hasattr(X, "shape"):
            rows = list(X)
        else:
            table = as_table(X, names=self._data.names, argument="X")
            conformed, errors = conform(table, self._data, ignored=self._known_columns)
            if errors:
                first = min(errors)
                raise errors[first].at(f"row {first}") from errors[first]
            assert conformed is not None
            return CachedRows(conformed)
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
        """Return each row of a table in the dtypes of the data, or its error."""
        table = as_table(X, names=self._data.names, argument="X")
        conformed, errors = conform(table, self._data, ignored=self._known_columns)
        if conformed is None:
            return list(errors.values())
        rows = CachedRows(conformed)
        if not errors:
            return rows
        left = iter(rows)
        return [errors[i] if i in errors else next(left) for i in range(len(table))]

    @property
    def decider(self) -> DecisionBuilder:
        """The builder of decisions: the model, the data and the contrast."""
        return self._decider


def _read_groups(data: Table, groups: Groups) -> Players:
    if isinstance(groups, str):
        check_choice("groups", groups, ["auto"], also='{"name": [columns]} or None')
        return make_players(data, auto_groups(data))
    return make_players(data, groups)


def _check_n_jobs(given: object) -> int:
    all_cores = isinstance(given, int | np.integer) and given == -1
    return -1 if all_cores else check_integer("n_jobs", given, also="-1 (all cores)")


def _check_n_references(n: int | None) -> int | None:
    return None if n is None else check_integer("n_references", n, also="None")


def _check_context(context: object) -> Context:
    if context is None:
        return SwapContext()
    if not isinstance(context, Context):
        allowed = "None, SwapContext(), ConditionalContext(…) or CausalContext(scm)"
        raise InputError("context", context, allowed)
    return context


def _check_size_weights(weights: Sequence[float] | None, d: int) -> tuple[float, ...] | None:
    if weights is None:
        return None
    allowed = f"{d + 1} positive numbers, one for each size from 0 to {d}"
    given: object = weights
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        got = repr(given) if isinstance(given, str) else given
        raise InputError("size_weights", got, allowed)
    values = tuple(check_number("size_weights", w, allowed, above=0) for w in given)
    if len(values) != d + 1:
        raise InputError("size_weights", list(values), allowed)
    return values
