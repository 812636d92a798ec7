"""Whatever is passed to a public call, it works, or one sentence names the argument.

Every parameter of every public call gets every odd value, with all else in order. It either has a
meaning there, which `call_cases.py` states, or is refused: by a SufficeError of one line that names the
argument. No other exception, nothing taken that means nothing.
"""

import inspect
import json
import random
from collections import defaultdict
from functools import cache

import numpy as np
import pytest
from docs.write_schema import result_classes

import suffice as sf
from suffice import InputError, SufficeError
from suffice.explainer import ContrastOptions, ExplainOptions
from suffice.factors.order import SubsetOrder, check_partial_order, cost_ranks
from suffice.image.overlays import Overlay
from suffice.results import Result
from suffice.rules import AnchorOptions, ScoreOptions
from tests import example_results as tiny
from tests.effort import examples
from tests.example_results import EXPLAINER, FACTORS, IMAGE, ROW, TARGET, X, image_model, model
from tests.public_api import (
    audit_call_cases,
    call_cases,
    framework_call_cases,
    plot_call_cases,
)
from tests.public_api.invalid_values import INVALID_VALUES, message_fault
from tests.public_api.nested_value_cases import NESTED_CASES

NOT_FOR_USERS = {
    # made by the package, and read back by from_json
    *(c.__name__ for c in result_classes()),
    "Measures",
    "Stop",
    "Stop.text",
    "SufficientFactor",
    "Verdict",
    # what an explainer hands to a context, or one part of the package to another
    "SwapContext.bind",
    "CausalContext.bind",
    "ConditionalContext.bind",
    "Context.bind_with_costs",
    "ConditionalContext.bind_with_costs",
    "Plan.with_suggestions",
    "CausalModel.read",
    "CausalModel.abduct",
    "CausalModel.respond",
    "Sample.of_hybrids",
    "Explainer.read_rows",
    "Explainer.asking",
    "Explainer.answer",
    "Explainer.decide_many",
    # `tests/audit/test_record.py` has their arguments
    "audit.record",
    "audit.verify",
}
OPTIONS = {
    "ExplainOptions": ExplainOptions,
    "AnchorOptions": AnchorOptions,
    "ContrastOptions": ContrastOptions,
    "ScoreOptions": ScoreOptions,
}


def parameters(function):
    """Names of what can be passed, those of typed options included."""
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD:
            yield name
        else:
            yield from OPTIONS[
                parameter.annotation.removeprefix("Unpack[").rstrip("]")
            ].__annotations__


def public_calls():
    """(name, parameters) of every function, class and method that the package offers."""
    for offered in (getattr(sf, name) for name in sf.__all__):
        if inspect.isfunction(offered):
            yield offered.__name__, parameters(offered)
        if not inspect.isclass(offered) or issubclass(offered, SufficeError):
            continue
        if not inspect.isabstract(offered) and offered is not sf.Factor:
            yield offered.__name__, parameters(offered)
        for name, member in inspect.getmembers(offered, callable):
            own = getattr(member, "__module__", None) or ""
            shown = not name.startswith("_") or name in ("__call__", "__and__", "__or__")
            if shown and own.startswith("suffice") and not inspect.isclass(member):
                yield member.__qualname__, parameters(member)
    yield "Overlay.save", parameters(Overlay.save)
    yield "loans", parameters(sf.datasets.loans)
    for space in (sf.plots, sf.audit):
        for name in space.__all__:
            offered = getattr(space, name)
            if inspect.isfunction(offered):
                yield f"{space.__name__.removeprefix('suffice.')}.{name}", parameters(offered)


def calls_of_users():
    """Parameters of each public call, by its name."""
    found = defaultdict(set)
    for name, given in public_calls():
        if name not in NOT_FOR_USERS and (wanted := set(given) - {"self"}):
            found[name] |= wanted
    return found


CALLS = calls_of_users()


@cache
def cases():
    """The cases of each public call, by its name."""
    found = defaultdict(list)
    for module in (call_cases, framework_call_cases, plot_call_cases, audit_call_cases):
        for case in module.make_cases():
            found[case.name].append(case)
    return found


def faults(case):
    """Everything that is wrong with how a call treats its arguments, in words."""
    if case.name != "CausalModel.from_dowhy":  # what dowhy's models are is tested where dowhy is
        try:
            case.call(**case.valid)
        except Exception as error:
            yield f"{case} refuses valid arguments: {error!r}"
    for argument in case.valid:
        names = (argument, case.says.get(argument, argument))
        meant = set(case.takes.get(argument, "").split())
        for odd, make in INVALID_VALUES.items():
            try:
                case.call(**{**case.valid, argument: make()})
            except Exception as error:
                fault = message_fault(error, names)
                if odd in meant:
                    fault = fault or f"refused: {error}"
            else:
                fault = None if odd in meant else "taken"
            if fault:
                yield f"{case}({argument}={odd}): {fault}"


def test_every_case_is_of_a_public_call():
    assert set(cases()) <= set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_invalid_values_raise_an_error_that_names_the_argument(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some odd values are file names; some calls write files
    untried = CALLS[name].difference(*(case.valid for case in cases()[name]))
    assert not untried, f"no case of {name} has {untried}"
    found = [fault for case in cases()[name] for fault in faults(case)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("case", NESTED_CASES, ids=str)
def test_odd_values_inside_an_argument_mean_something_or_are_refused_by_name(case):
    found = list(faults(case))
    assert not found, "\n".join(found)


LEAVES = [None, True, -1, 0, 1, 1.5, 1e308, 10**30, 2**53, "", "two", [], [None], {}, {"g": None}]
TRIES = examples(50)
"""Random changes of each stored result."""


def places(stored, path=()):
    yield path
    if isinstance(stored, dict | list):
        for key, value in stored.items() if isinstance(stored, dict) else enumerate(stored):
            yield from places(value, (*path, key))


def replaced(text, path, leaf):
    stored = json.loads(text)
    at = stored
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = leaf
    return json.dumps(stored)


def test_one_answer_of_each_kind_is_there():
    assert {name.partition(" of ")[0] for name in tiny.RESULTS} == {
        kind.__name__ for kind in result_classes()
    }


@pytest.mark.parametrize("name", tiny.RESULTS)
def test_whatever_stands_in_a_stored_answer_it_is_refused_or_can_be_shown(name):
    result = tiny.result(name)
    assert type(result).__name__ == name.partition(" of ")[0]
    text, kind, rng = result.to_json(), type(result), random.Random(0)
    assert hash(kind.from_json(text)) == hash(result)
    paths = [path for path in places(json.loads(text)) if path]
    for _ in range(TRIES):
        path, leaf = rng.choice(paths), rng.choice(LEAVES)
        try:
            read = kind.from_json(replaced(text, path, leaf))
        except SufficeError as error:
            assert message_fault(error, ("text",)) is None, (path, leaf)
            continue
        assert kind.from_json(read.to_json()) == read, (path, leaf)
        assert str(read) and repr(read) and read.to_html() and read.to_frame() is not None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EXPLAINER.explain(ROW, search=["greedy"]), r"search: got \['greedy'\]"),
        (lambda: EXPLAINER.explain(ROW, adjust=np.array(["bh"])), r"adjust: got array.*'holm' or"),
        (lambda: sf.Explainer(model, X, engine=["trees"]), r"engine: got \['trees'\]"),
        (lambda: EXPLAINER.explain_many([ROW], n_jobs="two"), r"n_jobs: got 'two'; allowed: -1"),
        (
            lambda: tiny.explanation().keep.at(alpha="0.05"),
            r"alpha: got '0.05'; allowed: 'same' or None or a num",
        ),
        (
            lambda: tiny.explanation().to_html("no such folder/why.html"),
            r"path: got .*No such file or directory",
        ),
        (lambda: sf.between("age", 4, 3), "low, high: got 4, 3; allowed: two numbers with low <="),
        (lambda: sf.held(1), "players: got 1; allowed: a name"),
        (lambda: FACTORS[0] & "job", r"&: got 'job'; allowed: factors. Make one with equals"),
        (lambda: sf.Corpus(["a"], labels=5), "labels: got 5; allowed: a label for each text"),
        (lambda: sf.Corpus(["a"], labels=[None]), "labels: got None for text 0"),
        (lambda: sf.causation_bounds({(True, True): 1}, monotone="no"), "monotone: got 'no'; allo"),
        (lambda: sf.wilson([3, 11], 10), r"hits: got \[3, 11\]; allowed: from 0 to n"),
        (lambda: sf.wilson([1, 2], [3, 4, 5]), r"hits: got shape \(2,\) beside n of shape \(3,\)"),
        (lambda: sf.clopper_pearson(3, 10, 95), r"level: got 95; allowed: a number in \(0, 1\)"),
        (lambda: sf.minimal_sufficient_factors(None, y=True, tau=1), "basis: got None; allowed: a"),
        (lambda: sf.Basis(model, None, []), "target: got <function model.*make_target"),
        (lambda: sf.Basis(TARGET, X, FACTORS), "sample: got .*Sample.frame. makes one"),
        (lambda: sf.CostOrder(3), "cost: got 3; allowed: a function from a factor to its cost"),
        (lambda: sf.make_target(model, X, sf.within(1)), r"outcome: got within\(1\).*no input"),
        (lambda: sf.result_schema(Result), "result: got .*such as Explanation or Recourse"),
        (lambda: sf.Explainer(model, X, size_weights="111"), "size_weights: got '111'; allowed: 3"),
    ],
)
def test_arguments_without_a_check_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


def own(error):
    def function(*_, **__):
        raise error

    return function


@pytest.mark.parametrize("error", [KeyError("away"), SystemExit(3), InputError("mine", 1, "2")])
@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda f: sf.Explainer(model, X, references=f).explain(ROW), "references"),
        (lambda f: sf.Explainer(model, X, cost=f).explain(ROW), "cost"),
        (lambda f: sf.Explainer(model, X, outcome=sf.satisfies(f)).explain(ROW), "outcome"),
        (
            lambda f: sf.Explainer(
                model, X, context=sf.ConditionalContext(n_drawn=2, sampler=f)
            ).explain(ROW),
            "sampler",
        ),
        (lambda f: sf.TextExplainer(lambda t: [1] * len(t), unit=f).explain("a"), "unit"),
        (lambda f: sf.ImageExplainer(image_model, regions=f).explain(IMAGE), "regions"),
        (lambda f: sf.CostOrder(f).matrix(FACTORS), "cost"),
        (lambda f: sf.CustomOrder(f).matrix(FACTORS), "no_worse"),
        (
            lambda f: sf.CausalModel([("a", "b")], mechanisms={"a": 0.5, "b": f}).sample(3),
            r"mechanisms\['b'\]",
        ),
        (
            lambda f: sf.CausalModel([("a", "b")], mechanisms={"a": f, "b": lambda a: a}).sample(3),
            r"mechanisms\['a'\]",
        ),
        (
            lambda f: sf.Explainer(sf.adapt(model, preprocess=f), X).explain(ROW),
            "preprocess",
        ),
    ],
)
def test_what_the_users_own_function_raises_is_reported_as_its_own(call, argument, error):
    told = "mine: got 1" if isinstance(error, InputError) else type(error).__name__
    start = "" if isinstance(error, InputError) else f"{argument}: got a function that raised "
    with pytest.raises(InputError, match=start + told):
        call(own(error))


def test_costs_that_differ_by_rounding_only_are_equal_in_the_cost_order():
    small, large = FACTORS[0], FACTORS[2]
    dearer = {small: 14 / 3, large: 8 / 3 + 1 + 1}  # the same sum, added up in another order
    assert dearer[small] > dearer[large]
    assert sf.CostOrder(dearer.get).matrix([small, large]).tolist() == [[True, True], [False, True]]
    strictly = {small: 14 / 3, large: 4.6}
    assert sf.CostOrder(strictly.get).matrix([small, large]).tolist() == np.eye(2).tolist()
    assert sf.CostOrder(lambda _: np.inf).matrix([small, large])[0, 1]


def test_a_chain_of_close_costs_is_still_an_order():
    """Each is within rounding of the next, the first and the last are not."""
    factors = [sf.held(*map(str, range(k))) for k in range(1, 8)]
    cost = {factor: 1 - 0.6e-9 * k for k, factor in enumerate(factors)}
    relation = sf.CostOrder(cost.get).matrix(factors)
    check_partial_order(relation, factors)
    ranks = cost_ranks(np.array([cost[f] for f in factors]))
    assert ranks.tolist() == [3, 2, 2, 1, 1, 0, 0]
    assert (relation <= SubsetOrder().matrix(factors)).all()
