"""The analyses that a record can be asked for, by name: what each takes, and how it is run.

What is asked is kept as plain JSON, so that whoever reads the record can ask the same again.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter
from typing import Any

import msgspec

from suffice.audit.catalogue import read_catalogue
from suffice.audit.cohort.ask import cohort
from suffice.audit.cohort.result import Cohort
from suffice.audit.global_factors import GlobalFactors, global_factors
from suffice.audit.reasons import Reasons, reasons
from suffice.audit.record.analysis import Analysis, Arguments, Material
from suffice.audit.record.asking import ASKING
from suffice.audit.reliance import Reliance, reliance
from suffice.audit.roles import Roles, roles
from suffice.errors import InputError, did_you_mean, shorten
from suffice.results import Result

__all__ = ["ANALYSES", "ANALYSING", "asked", "check_names", "given_of", "run"]

ANALYSES: dict[str, Analysis] = {
    found.name: found
    for found in (
        Analysis("reliance", "Protected features", reliance, Reliance),
        Analysis("reasons", "Reasons given", reasons, Reasons, also=("template",)),
        Analysis("roles", "Roles of features", roles, Roles),
        Analysis("global_factors", "What suffices for most", global_factors, GlobalFactors),
        Analysis("cohort", "What suffices, by outcome and group", cohort, Cohort),
        *ASKING,
    )
}
"""In the order in which a record tells of them."""

ANALYSING = "analyses"
"""What the progress of analysing is called."""


def run(name: str, material: Material, asked: Arguments) -> Result:
    """One analysis, as it was asked for."""
    analysis = ANALYSES[name]
    try:
        return analysis.run(material, asked)
    except InputError as error:
        raise error.at(name) from error


def given_of(analyses: Any) -> dict[str, dict[str, Any]]:
    """By analysis: what it is given that is no JSON."""
    if not isinstance(analyses, Mapping):
        return {}
    return {
        name: {key: arguments[key] for key in one.given if key in arguments}
        for name, one in ANALYSES.items()
        if isinstance(arguments := analyses.get(name), Mapping)
    }


def asked(analyses: Any) -> dict[str, Arguments]:
    """What is asked for, checked by name and made plain; in the order of a record.

    >>> asked({"roles": {}, "reliance": {"protected": ["age"]}})
    {'reliance': {'protected': ['age']}, 'roles': {}}
    >>> asked({"reliance": {"protect": ["age"]}})
    Traceback (most recent call last):
    suffice.errors.InputError: reliance: got 'protect'; allowed: protected, by, tau. Did you mean
    'protected'?
    """
    if isinstance(analyses, str) or not isinstance(analyses, Mapping | list | tuple):
        allowed = "{name: arguments}, such as {'roles': {}, 'reliance': {'protected': ['age']}}"
        raise InputError("analyses", shorten(analyses), allowed)
    wanted = analyses if isinstance(analyses, Mapping) else dict.fromkeys(analyses)
    if not wanted:
        raise InputError("analyses", "none", f"at least one of {', '.join(ANALYSES)}")
    for name in wanted:
        if name not in ANALYSES:
            hint = did_you_mean(name, ANALYSES, or_list=False)
            raise InputError("analyses", shorten(name), ", ".join(ANALYSES), hint)
    return {name: _checked(one, wanted[name]) for name, one in ANALYSES.items() if name in wanted}


def check_names(analyses: Mapping[str, Mapping[str, Any]]) -> None:
    """`asked`, of what is still to be given all that is no JSON."""
    asked({name: {**given, **dict.fromkeys(_given(name))} for name, given in analyses.items()})


def _given(name: str) -> tuple[str, ...]:
    return ANALYSES[name].given if name in ANALYSES else ()


def _checked(analysis: Analysis, given: Any) -> Arguments:
    given = {} if given is None or given is True else given
    if not isinstance(given, Mapping):
        raise InputError(analysis.name, shorten(given), "its arguments by name, {} for none")
    parameters = analysis.parameters
    known = [*parameters, *analysis.also, *analysis.given]
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known, or_list=False)
            allowed = ", ".join(known) or "nothing"
            raise InputError(analysis.name, shorten(name), allowed, hint)
    needed = [name for name, p in parameters.items() if p.default is Parameter.empty]
    for name in (*needed, *analysis.given):
        if name not in given:
            raise InputError(analysis.name, f"no {name}", f"{name}, which it needs")
    kept = {name: value for name, value in given.items() if name not in analysis.given}
    # Where decisions without a text are held, entries without one are found out when it matters.
    blanks = given.get("problems") == "hold"
    return {str(name): _plain(analysis.name, name, value, blanks) for name, value in kept.items()}


def _plain(analysis: str, name: str, value: Any, blanks: bool) -> Any:
    """What JSON has: a record must be able to ask again."""
    if name == "catalogue":
        try:
            return msgspec.to_builtins(list(read_catalogue(value, blanks=blanks).entries))
        except InputError as error:
            raise error.at(analysis) from error
    try:
        return msgspec.json.decode(msgspec.json.encode(value))
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        hint = "A record keeps what was asked, so as to ask it again: no functions."
        allowed = "names, numbers and lists of them"
        raise InputError(f"{analysis}: {name}", shorten(value), allowed, hint) from error
