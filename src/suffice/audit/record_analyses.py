"""Analyses that an audit record can hold: the question of each, and how it is run and checked.

An analysis is a function of `AnalysisInputs`; its keyword-only parameters are its question, which a
record stores. What cannot be stored, such as a fit function, is passed by `given`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar

import msgspec

from suffice.audit.catalogue import Catalogue, CatalogueEntry, read_catalogue
from suffice.audit.cohort import Cohort, cohort
from suffice.audit.compare import compare
from suffice.audit.decisions import DEFAULT_ROWS, evenly_spaced
from suffice.audit.drift import Drift
from suffice.audit.global_factors import GlobalFactors, global_factors
from suffice.audit.global_recourse import global_recourse
from suffice.audit.global_recourse_result import GlobalRecourse
from suffice.audit.grade import grade
from suffice.audit.reasons import Reasons, reasons
from suffice.audit.reliance import Reliance, reliance
from suffice.audit.roles import Roles, roles
from suffice.audit.stability import stability
from suffice.audit.stability_result import Stability
from suffice.audit.tool_grades import Grades
from suffice.errors import InputError, did_you_mean, short_repr
from suffice.explainer import Explainer
from suffice.explanation import Explanation
from suffice.results import Result
from suffice.tables import Table
from suffice.validation import check_integer

Arguments = dict[str, Any]


@dataclass(frozen=True, eq=False)
class AnalysisInputs:
    """Explanations of the decisions, with the model and the rows if the caller has them."""

    decisions: Sequence[Explanation]
    ids: Sequence[str]
    """Names of the decisions."""
    labels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Group labels by column that the model does not use: one for each decision."""
    explainer: Explainer | None = None
    rows: Table | None = None
    """Inputs of all decisions; None if some of them are not at hand."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """Arguments by name that a record cannot store: of the analysis that runs, or by analysis."""
    progress: bool | None = None
    """Whether each analysis shows its progress; None: on a terminal."""

    def groups(self, by: Any) -> Any:
        """Return the labels of a column that the model does not use; anything else as it is."""
        return self.labels.get(by, by) if isinstance(by, str) else by

    @property
    def model(self) -> Explainer:
        """The explainer, once `Analysis.missing_input` found that there is one."""
        assert self.explainer is not None
        return self.explainer

    @property
    def model_table(self) -> Table:
        """The rows with the columns that the model uses."""
        assert self.rows is not None
        return self.rows.select([self.rows.position(name, "X") for name in self.model.data.names])

    def sample(self, rows: int) -> tuple[Any, list[str]]:
        """Return so many rows, spread evenly over all, and their names."""
        places = evenly_spaced(check_integer("rows", rows), len(self.ids))
        return self.model_table.take(places).native, [self.ids[place] for place in places]


_SUPPLIED = frozenset({"explanations", "explainer", "X", "ids", "time_limit", "progress"})
"""Parameters of audits that are no part of a record's question: `AnalysisInputs` has their values,
and a search that ends with its time cannot be repeated."""

F = TypeVar("F", bound=Callable[..., Result])


def _asks(audit: Callable[..., Result]) -> Callable[[F], F]:
    """Return a decorator that adds the parameters of an audit to a function of `AnalysisInputs`."""
    usual = signature(audit).parameters
    asked = [
        p.replace(kind=Parameter.KEYWORD_ONLY) for p in usual.values() if p.name not in _SUPPLIED
    ]

    def decorate(function: F) -> F:
        own = signature(function).parameters.values()
        more = [p for p in own if p.kind is Parameter.KEYWORD_ONLY and p.name not in usual]
        function.__signature__ = Signature([*asked, *more])  # type: ignore[attr-defined]
        return function

    return decorate


@_asks(reliance)
def _reliance(m: AnalysisInputs, *, by: Any = None, **question: Any) -> Result:
    explainer = m.explainer if _draws_effects(m) else None
    return reliance(
        m.decisions,
        by=m.groups(by),
        explainer=explainer,
        ids=m.ids,
        progress=m.progress,
        **question,
    )


def _draws_effects(m: AnalysisInputs) -> bool:
    """Return whether the effects of a change are random: reliance then needs the model."""
    return m.decisions[0].provenance.context.draws_effects


@_asks(reasons)
def _reasons(
    m: AnalysisInputs, *, catalogue: Any, template: str | None = None, **question: Any
) -> Result:
    entries = _stored_catalogue(catalogue)
    found = reasons(m.decisions, entries, ids=m.ids, progress=m.progress, **question)
    sent = [at for at, decision in enumerate(found) if not decision.hold]
    if template is not None and sent:  # the record writes all letters; one shows a wrong template
        found.letter(sent[0], template)
    return found


@_asks(roles)
def _roles(m: AnalysisInputs, **question: Any) -> Result:
    return roles(m.decisions, progress=m.progress, **question)


@_asks(global_factors)
def _global_factors(m: AnalysisInputs, **question: Any) -> Result:
    return global_factors(m.decisions, ids=m.ids, progress=m.progress, **question)


@_asks(cohort)
def _cohort(m: AnalysisInputs, *, by: Any = None, **question: Any) -> Result:
    return cohort(m.decisions, m.groups(by), ids=m.ids, progress=m.progress, **question)


@_asks(global_recourse)
def _global_recourse(m: AnalysisInputs, *, by: Any = None, **question: Any) -> Result:
    rows = m.model_table.native
    return global_recourse(
        m.model, rows, by=m.groups(by), ids=m.ids, progress=m.progress, **question
    )


def _compare(
    m: AnalysisInputs, *, tau: Any = None, catalogue: Any = None, k: int | None = None
) -> Result:
    entries = None if catalogue is None else _stored_catalogue(catalogue)
    # Both sides are stored and are paired by their ids.
    return compare(
        m.given["with"], m.decisions, tau=tau, catalogue=entries, k=k, progress=m.progress
    )


def _stability(
    m: AnalysisInputs,
    *,
    k: int = 10,
    rows: int = DEFAULT_ROWS,
    tau: float | None = None,
    resample: Any = "bootstrap",
    recourse: Any = None,
    max_size: int | None = None,
    random_state: int | None = None,
) -> Result:
    of = m.model.decider  # models are fitted to its data, and explained with its contrast
    some, ids = m.sample(rows)
    names = of.data.names
    groups = {
        name: [names[j] for j in columns]
        for name, columns in zip(of.players.names, of.players.columns, strict=True)
        if len(columns) > 1
    }
    return stability(
        m.given["fit"],
        of.data.native,
        m.given["y"],
        k=k,
        rows=some,
        model=of.engine_selector.model,
        tau=m.decisions[0].tau if tau is None else tau,
        resample=resample,
        recourse=recourse,
        outcome=of.outcome,
        references=of.references,
        n_references=of.n_references,
        groups=groups or None,
        context=of.context,
        max_size=max_size,
        ids=ids,
        random_state=of.seed if random_state is None else random_state,
        progress=m.progress,
    )


def _grade(
    m: AnalysisInputs,
    *,
    rows: int = DEFAULT_ROWS,
    tau: float | None = None,
    view: Any = None,
    k: int | None = None,
    absolute: bool | None = None,
    labels: Any = None,
) -> Result:
    some, ids = m.sample(rows)
    return grade(
        m.model,
        some,
        m.given["other"],
        tau=m.decisions[0].tau if tau is None else tau,
        view=view,
        k=k,
        absolute=absolute,
        labels=labels,
        ids=ids,
        progress=m.progress,
    )


def _stored_catalogue(entries: Sequence[Mapping[str, Any]]) -> Catalogue:
    return Catalogue(tuple(CatalogueEntry(**entry) for entry in entries))


def _always(inputs: AnalysisInputs) -> bool:
    return True


def _never(inputs: AnalysisInputs) -> bool:
    return False


@dataclass(frozen=True)
class Analysis:
    """An analysis of a record: its function, its heading on the page and the type of its result."""

    name: str
    heading: str
    result: type[Result]
    function: Callable[..., Result]
    unrecorded: tuple[str, ...] = ()
    """Required arguments that a record cannot store."""
    needs_model: Callable[[AnalysisInputs], bool] = _never
    dry_run: Arguments | None = field(default_factory=dict)
    """Arguments that the dry run uses instead; None: the dry run leaves the analysis out."""

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Parameters of the question, by name."""
        own = signature(self.function).parameters
        return {name: p for name, p in own.items() if p.kind is Parameter.KEYWORD_ONLY}

    def missing_input(self, inputs: AnalysisInputs) -> str | None:
        """Return what is missing to run it, as text; None if nothing is."""
        if self.needs_model(inputs) and inputs.explainer is None:
            return "no model was given"
        if self.needs_model(inputs) and inputs.rows is None:
            return "X lacks rows that were recorded"
        given = inputs.given.get(self.name, {})
        missing = [name for name in self.unrecorded if name not in given]
        return f"it needs {missing[0]}, which records do not store" if missing else None


ANALYSES: dict[str, Analysis] = {
    found.name: found
    for found in (
        Analysis("reliance", "Protected features", Reliance, _reliance, needs_model=_draws_effects),
        Analysis("reasons", "Reasons given", Reasons, _reasons),
        Analysis("roles", "Roles of features", Roles, _roles),
        Analysis("global_factors", "What suffices for most", GlobalFactors, _global_factors),
        Analysis("cohort", "What suffices, by outcome and group", Cohort, _cohort),
        Analysis(
            "global_recourse",
            "What would help the refused",
            GlobalRecourse,
            _global_recourse,
            needs_model=_always,
        ),
        Analysis("compare", "What changed", Drift, _compare, ("with",), dry_run=None),
        Analysis(
            "stability",
            "What holds when the model is trained again",
            Stability,
            _stability,
            ("fit", "y"),
            needs_model=_always,
            dry_run={"k": 1, "rows": 1},
        ),
        Analysis(
            "grade",
            "What other explainers say",
            Grades,
            _grade,
            ("other",),
            needs_model=_always,
            dry_run={"rows": 1},
        ),
    )
}
"""Analyses by name, in the order of a record's page."""

ANALYSES_PROGRESS = "analyses"
"""Title of the progress bar over analyses."""


def run_analysis(name: str, inputs: AnalysisInputs, asked: Arguments) -> Result:
    """Run one analysis; an error names it."""
    try:
        own = replace(inputs, given=inputs.given.get(name, {}))
        return ANALYSES[name].function(own, **asked)
    except InputError as error:
        raise error.at(name) from error


def unrecorded_arguments(analyses: Any) -> dict[str, dict[str, Any]]:
    """Return, by analysis, the arguments that a record cannot store."""
    if not isinstance(analyses, Mapping):
        return {}
    return {
        name: {key: arguments[key] for key in one.unrecorded if key in arguments}
        for name, one in ANALYSES.items()
        if isinstance(arguments := analyses.get(name), Mapping)
    }


def check_analyses(analyses: Any) -> dict[str, Arguments]:
    """Return the arguments of each analysis as JSON has them, in the order of a record.

    >>> check_analyses({"roles": {}, "reliance": {"protected": ["age"]}})
    {'reliance': {'protected': ['age']}, 'roles': {}}
    >>> check_analyses({"reliance": {"protect": ["age"]}})
    Traceback (most recent call last):
    suffice.errors.InputError: reliance: got 'protect'; allowed: protected, by, tau. Did you mean
    'protected'?
    """
    if isinstance(analyses, str) or not isinstance(analyses, Mapping | list | tuple):
        allowed = "{name: arguments}, such as {'roles': {}, 'reliance': {'protected': ['age']}}"
        raise InputError("analyses", short_repr(analyses), allowed)
    wanted = analyses if isinstance(analyses, Mapping) else dict.fromkeys(analyses)
    if not wanted:
        raise InputError("analyses", "none", f"at least one of {', '.join(ANALYSES)}")
    for name in wanted:
        check_name("analyses", name, ANALYSES)
    return {
        name: _check_arguments(one, wanted[name])
        for name, one in ANALYSES.items()
        if name in wanted
    }


def check_name(argument: str, name: Any, known: Mapping[str, Any] | Sequence[str]) -> None:
    """Raise unless the name is known; suggest one that is spelled like it."""
    if name not in known:
        hint = did_you_mean(name, known, or_list=False)
        raise InputError(argument, short_repr(name), ", ".join(known) or "{}", hint)


def check_analysis_names(analyses: Mapping[str, Mapping[str, Any]]) -> None:
    """Check analyses before the arguments that a record cannot store are known."""
    check_analyses(
        {
            name: {**given, **dict.fromkeys(ANALYSES[name].unrecorded if name in ANALYSES else ())}
            for name, given in analyses.items()
        }
    )


def _check_arguments(analysis: Analysis, given: Any) -> Arguments:
    given = {} if given is None or given is True else given
    if not isinstance(given, Mapping):
        raise InputError(analysis.name, short_repr(given), "its arguments by name, {} for none")
    parameters = analysis.parameters
    for name in given:
        if name == "time_limit":
            hint = "A search that ends with its time cannot be repeated: bound it by budget=…"
            raise InputError(f"{analysis.name}: time_limit", given[name], "None in a record", hint)
        check_name(analysis.name, name, [*parameters, *analysis.unrecorded])
    needed = [name for name, p in parameters.items() if p.default is Parameter.empty]
    for name in (*needed, *analysis.unrecorded):
        if name not in given:
            raise InputError(analysis.name, f"no {name}", f"{name}, which it needs")
    # Where decisions without a text are held, entries without one are found when they are needed.
    blanks = given.get("problems", "hold") == "hold"
    return {
        str(name): _json_value(analysis.name, name, value, blanks)
        for name, value in given.items()
        if name not in analysis.unrecorded
    }


def _json_value(analysis: str, name: str, value: Any, blanks: bool) -> Any:
    """Return the value as JSON has it, so that `verify` can run the analysis with it."""
    if name == "catalogue":
        try:
            return msgspec.to_builtins(list(read_catalogue(value, blanks=blanks).entries))
        except InputError as error:
            raise error.at(analysis) from error
    try:
        return msgspec.json.decode(msgspec.json.encode(value))
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        hint = "A record stores the arguments of its analyses, so they cannot be functions."
        allowed = "names, numbers and lists of them"
        raise InputError(f"{analysis}: {name}", short_repr(value), allowed, hint) from error
