"""Whatever is passed to a public call, it works, or one sentence names the argument.

Every parameter of every public call gets every odd value, with all else in order. It either has a
meaning there, which `doors.py` states, or is refused: by a SufficeError of one line that names the
argument. No other exception, nothing taken that means nothing.
"""

import inspect
import json
import random
import sys

import numpy as np
import pandas as pd
import pytest
from docs.write_schema import result_classes

import suffice as sf
from suffice import InputError, ModelError, SufficeError
from suffice.encodings.anchors import AnchorOptions, ScoreOptions
from suffice.explainer import Asked, Contrast
from suffice.factors.order import SubsetOrder, check_order, cost_ranks
from suffice.results import Result
from tests import audit_doors, doors, plot_doors, theory_doors
from tests.inner_doors import INNER
from tests.odd_values import ODD, what_is_wrong
from tests.tiny import EXPLAINER, IMAGE, RESULTS, ROW, TAGGED, TARGET, E, X, model, of_images

DOORS = [*doors.DOORS, *theory_doors.DOORS, *plot_doors.DOORS, *audit_doors.DOORS]

NOT_FOR_USERS = {
    # made by the package, and read back by from_json
    *(c.__name__ for c in result_classes()),
    "Measures",
    "Stop",
    "Stop.told",
    "SufficientFactor",
    # what an explainer hands to a context, or one part of the package to another
    "SwapContext.bind",
    "CausalContext.bind",
    "ConditionalContext.bind",
    "CausalModel.read",
    "Equations.abduct",
    "Equations.respond",
    "Sample.of_hybrids",
    "Explainer.read_rows",
    # there is no figure yet, and it says so
    "Result.plot",
    "Explainer.asking",
    "Explainer.answer",
    "Explainer.decide_many",
}
OPTIONS = {
    "Asked": Asked,
    "AnchorOptions": AnchorOptions,
    "Contrast": Contrast,
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
            yield offered.__name__, set(parameters(offered))
        if not inspect.isclass(offered) or issubclass(offered, SufficeError):
            continue
        if not inspect.isabstract(offered) and offered is not sf.Factor:
            yield offered.__name__, set(parameters(offered))
        for name, member in inspect.getmembers(offered, callable):
            own = getattr(member, "__module__", None) or ""
            shown = not name.startswith("_") or name in ("__call__", "__and__", "__or__")
            if shown and own.startswith("suffice") and not inspect.isclass(member):
                yield member.__qualname__, set(parameters(member)) - {"self"}
    yield "loans", set(parameters(sf.datasets.loans))
    for name in sf.plots.__all__:
        yield f"plots.{name}", set(parameters(getattr(sf.plots, name)))


def test_every_public_call_is_tried():
    tried = {}
    for door in DOORS:
        tried.setdefault(door.name, set()).update(door.valid)
    for name, wanted in public_calls():
        if wanted and name not in NOT_FOR_USERS:
            assert wanted <= tried.get(name, set()), f"{name}: nobody tries {wanted}"


MEANT = [door for door in [*DOORS, *INNER] if door.name != "CausalModel.from_dowhy"]
"""What dowhy's models are is tested where dowhy is."""


@pytest.mark.parametrize("door", MEANT, ids=str)
def test_what_is_meant_works(door, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # one draws a picture
    door.call(**door.valid)


@pytest.mark.parametrize(
    ("door", "argument"),
    [(door, argument) for door in [*DOORS, *INNER] for argument in door.valid],
    ids=str,
)
def test_odd_values_mean_something_or_are_refused_by_name(door, argument, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some are taken as a file's name
    names = (argument, door.says.get(argument, argument))
    taken, wrong = set(), {}
    for odd, make in ODD.items():
        try:
            door.call(**{**door.valid, argument: make()})
            taken.add(odd)
        except Exception as error:
            fault = what_is_wrong(error, names)
            wrong |= {} if fault is None else {odd: fault}
    assert not wrong
    assert taken == set(door.takes.get(argument, "").split())


LEAVES = [None, True, -1, 0, 1, 1.5, 1e308, 10**30, 2**53, "", "two", [], [None], {}, {"g": None}]
TRIES = 150


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
    assert {type(result) for result in RESULTS} == set(result_classes())


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_whatever_stands_in_a_stored_answer_it_is_refused_or_can_be_shown(result):
    text, kind, rng = result.to_json(), type(result), random.Random(0)
    assert hash(kind.from_json(text)) == hash(result)
    paths = [path for path in places(json.loads(text)) if path]
    for _ in range(TRIES):
        path, leaf = rng.choice(paths), rng.choice(LEAVES)
        try:
            read = kind.from_json(replaced(text, path, leaf))
        except SufficeError as error:
            assert what_is_wrong(error, ("text",)) is None, (path, leaf)
            continue
        assert kind.from_json(read.to_json()) == read, (path, leaf)
        assert str(read) and repr(read) and read.to_html() and read.to_frame() is not None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EXPLAINER.explain(ROW, search=["greedy"]), r"search: got \['greedy'\]"),
        (lambda: EXPLAINER.explain(ROW, adjust=np.array(["bh"])), r"adjust: got array.*'holm' or"),
        (lambda: sf.Explainer(model, X, groups={"g": None}), "groups: got 'g': None; allowed: a l"),
        (lambda: sf.Explainer(model, X, groups={3: ["age"]}), "groups: got the name 3; allowed: n"),
        (lambda: sf.Explainer(model, X, engine=["trees"]), r"engine: got \['trees'\]"),
        (lambda: EXPLAINER.explain_many([ROW], n_jobs="two"), r"n_jobs: got 'two'; allowed: -1"),
        (lambda: E.keep.at(alpha="0.05"), r"alpha: got '0.05'; allowed: 'same' or None or a num"),
        (lambda: sf.Explanation.from_json(None), "text: got None; allowed: JSON written by"),
        (lambda: E.to_html("no such folder/why.html"), r"path: got .*No such file or directory"),
        (lambda: sf.at_least(10**400), "threshold: got 1000.*allowed: a finite number"),
        (lambda: sf.between("age", None, 3), "low: got None; allowed: a finite number"),
        (lambda: sf.between("age", 4, 3), "low, high: got 4, 3; allowed: two numbers with low <="),
        (lambda: sf.isin("job", "none"), r"values: got 'none'; allowed: a list.*\['none'\]"),
        (lambda: sf.held(1), "players: got 1; allowed: a name"),
        (lambda: TAGGED[0] & "job", r"&: got 'job'; allowed: factors. Make one with equals"),
        (lambda: sf.Corpus(["a"], labels=5), "labels: got 5; allowed: a label for each text"),
        (lambda: sf.Corpus(["a"], labels=[None]), "labels: got None for text 0"),
        (lambda: sf.causation_bounds({(True, True): 1}, monotone="no"), "monotone: got 'no'; allo"),
        (lambda: sf.wilson(3, -10), "n: got -10; allowed: numbers of trials, above 0"),
        (lambda: sf.wilson([3, 11], 10), r"hits: got \[3, 11\]; allowed: from 0 to n"),
        (lambda: sf.wilson([1, 2], [3, 4, 5]), r"hits: got shape \(2,\) beside n of shape \(3,\)"),
        (lambda: sf.clopper_pearson(3, 10, 95), r"level: got 95; allowed: a number in \(0, 1\)"),
        (lambda: sf.minimal_sufficient_factors(None, y=True, tau=1), "basis: got None; allowed: a"),
        (lambda: sf.Basis(model, None, []), "target: got <function model.*make_target"),
        (lambda: sf.Basis(TARGET, X, TAGGED), "sample: got .*Sample.frame. makes one"),
        (lambda: sf.CostOrder(3), "cost: got 3; allowed: a function from a factor to its cost"),
        (lambda: sf.make_target(model, X, sf.within(1)), r"outcome: got within\(1\).*no input"),
        (lambda: sf.result_schema(Result), "result: got .*such as Explanation or Recourse"),
        (
            lambda: sf.CausalModel([("a", "b")], mechanisms={"a": 0.5, "b": lambda a: a}).sample(
                3, random_state=np.array([[1]]).view(np.matrix)
            ),
            "random_state: got matrix",
        ),
        (lambda: sf.Explainer(model, X, size_weights="111"), "size_weights: got '111'; allowed: 3"),
    ],
)
def test_arguments_that_nobody_checked_are_named(call, message):
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
        (lambda f: sf.ImageExplainer(of_images, regions=f).explain(IMAGE), "regions"),
        (lambda f: sf.CostOrder(f).matrix(TAGGED), "cost"),
        (lambda f: sf.CustomOrder(f).matrix(TAGGED), "no_worse"),
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
def test_what_the_users_own_function_raises_is_told_as_its_own(call, argument, error):
    told = "mine: got 1" if isinstance(error, InputError) else type(error).__name__
    start = "" if isinstance(error, InputError) else f"{argument}: got a function that raised "
    with pytest.raises(InputError, match=start + told):
        call(own(error))


def leaves(rows):
    """Answers for the data, and then ends the program on one kind of row."""
    if (rows["age"] == 65).any():
        sys.exit("no more")
    return model(rows)


def test_a_bad_row_among_many_is_named_by_its_number():
    rows = [dict(ROW) for _ in range(20)]
    rows[17] = {"age": "old", "job": "a"}
    with pytest.raises(InputError, match=r"^row 17: x: got 'old' for column 'age'"):
        EXPLAINER.explain_many(rows)
    with pytest.raises(InputError, match=r"^row 3: x: got no value for 'job'"):
        EXPLAINER.explain_many([ROW, ROW, ROW, {"age": 3}])
    with pytest.raises(InputError, match=r"^row 0: outcome: got unknown class 'maybe'"):
        sf.Explainer(model, X, outcome="maybe").explain_many([ROW, ROW])
    with pytest.raises(InputError, match=r"^tau: got 2"):  # of all rows alike, and of none
        EXPLAINER.explain_many([ROW, ROW], tau=2)
    with pytest.raises(InputError, match="X: got 'one row'; allowed: a frame"):
        EXPLAINER.explain_many("one row")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_model_that_ends_the_program_is_told_as_a_model_that_failed(n_jobs):
    rows = pd.DataFrame([ROW, ROW, {"age": 65, "job": "a"}, ROW])
    with pytest.raises(ModelError, match=r"^row 2: leaves raised SystemExit on 1 row.s.: no more"):
        sf.Explainer(leaves, X).explain_many(rows, n_jobs=n_jobs)


def test_costs_that_differ_by_rounding_only_are_equal_in_the_cost_order():
    small, large = TAGGED[0], TAGGED[2]
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
    check_order(relation, factors)
    ranks = cost_ranks(np.array([cost[f] for f in factors]))
    assert ranks.tolist() == [3, 2, 2, 1, 1, 0, 0]
    assert (relation <= SubsetOrder().matrix(factors)).all()
