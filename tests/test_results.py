"""One protocol for every result: whatever is true of one answer is true of all of them."""

import dataclasses
import json
import pickle
from functools import cache
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from docs.write_schema import FOLDER, result_classes, schema_text
from rich.console import Console
from sklearn.ensemble import RandomForestClassifier

import suffice
from suffice import (
    Basis,
    CausalModel,
    Explainer,
    InputError,
    Sample,
    anchor,
    audit,
    causation_bounds,
    datasets,
    equals,
    make_target,
    minimal_sufficient_factors,
    probabilities_of_causation,
    result_schema,
    shapley_interactions,
    shapley_values,
    top_k,
)

CLASSES = result_classes()


@cache
def explainer():
    X, y = datasets.loans(200)
    X = X[["age", "income", "debt", "late payments"]]
    return Explainer(RandomForestClassifier(10, random_state=0).fit(X, y), X)


@cache
def loans():
    X, y = datasets.loans(200)
    return X[["age", "income", "debt", "late payments"]], y


@cache
def rival():
    """Another model of the same rows."""
    X, y = loans()
    return Explainer(RandomForestClassifier(10, random_state=1).fit(X, y), X)


@cache
def row():
    return datasets.loans(200)[0][["age", "income", "debt", "late payments"]].iloc[8]


@cache
def explanation():
    return explainer().explain(row())


@cache
def recourse():
    return explainer().recourse(row())


@cache
def rules():
    return anchor(explainer(), row(), tau=0.8)


@cache
def several(by=None):
    rows = datasets.loans(200)[0][["age", "income", "debt", "late payments"]]
    return (by or explainer()).explain_many(rows.iloc[[8, 9, 10, 13]])


@cache
def few_changes():
    rows = datasets.loans(200)[0][["age", "income", "debt", "late payments"]]
    return audit.global_recourse(
        explainer(), rows.iloc[:40], desired="granted", by=lambda row: row["age"] > 40
    )


CATALOGUE = {n: {"any": (n[0], n)} for n in ("age", "income", "debt", "late payments")}


@cache
def recorded():
    """An audit record, and the result of verifying it with a wrong seal."""
    rows = datasets.loans(200)[0][["age", "income", "debt", "late payments"]].iloc[[8, 9]]
    asked = {"reliance": {"protected": ["age"]}, "roles": {}}
    with TemporaryDirectory() as folder:
        record = audit.record(explainer(), rows, folder, analyses=asked)
        return record, audit.verify(folder, seal="another")


def tools():
    """Every kind of claim, and one tool that fails."""
    people = datasets.loans(200)[0][["age", "income", "debt", "late payments"]]
    return {
        "a ranking of features by someone": {"age": 0.5, "debt": -0.7, "income": 0.1},
        "a set": {"age", "debt"},
        "a rule": "income <= 40 and debt > 10",
        "rows": [people.iloc[:2], people.iloc[:0]],
        "broken": lambda x: 1 / 0,
    }


def causes():
    scm = CausalModel([("a", "b")], mechanisms={"a": 0.5, "b": lambda a: a})
    return probabilities_of_causation(scm, "a", "b")


def minimal_factors():
    rows = np.array([[a, b] for a in (0, 1) for b in (0, 1)])
    target = make_target(lambda r: np.asarray(r).sum(axis=1) > 0, rows, True)
    basis = Basis(target, Sample(rows), [equals("x0", 1), equals("x1", 1)])
    return minimal_sufficient_factors(basis, y=True, tau=0.9)


SAMPLES = {
    "AnchorRules": lambda: rules(),
    "Causation": causes,
    "Cohort": lambda: audit.cohort(several(), by="age"),
    "CausationBounds": lambda: causation_bounds({(True, True): 30, (False, False): 40}),
    "Drift": lambda: audit.compare(
        several(),
        several(rival()),
        catalogue=CATALOGUE,
        recourse=[recourse(), None, None, None],
        explainer=rival(),
    ),
    "Explanation": lambda: explanation(),
    "GlobalFactors": lambda: audit.global_factors(several(), cover=0.5),
    "GlobalRecourse": lambda: few_changes(),
    "Grade": lambda: audit.grade(explainer(), row(), "income <= 40 and debt > 10"),
    "Grades": lambda: audit.grade(explainer(), [row().to_dict()] * 2, tools()),
    "MinimalFactors": minimal_factors,
    "Option": lambda: recourse().best,
    "Plausibility": lambda: explainer().plausibility(row()),
    "Proof": lambda: explainer().prove(row(), domain="range"),
    "Plan": lambda: explainer().plan(row(), search="greedy"),
    "Reasons": lambda: audit.reasons(several(), CATALOGUE, adverse=several()[0].outcome),
    "Record": lambda: recorded()[0],
    "Recourse": lambda: recourse(),
    "Reliance": lambda: audit.reliance(several(), ["age"]),
    "Roles": lambda: audit.roles(several()),
    "Rule": lambda: rules().best,
    "ShapleyInteractions": lambda: shapley_interactions(explanation().keep),
    "ShapleyValues": lambda: shapley_values(explanation().keep),
    "Stability": lambda: audit.stability(
        RandomForestClassifier(5, random_state=0),
        *loans(),
        k=3,
        rows=loans()[0].iloc[[8, 9]],
        recourse={"max_options": 2},
    ),
    "TopK": lambda: top_k(explanation().keep, 1),
    "Verification": lambda: recorded()[1],
    "View": lambda: explanation().flip,
}


@pytest.fixture(params=CLASSES, ids=lambda c: c.__name__)
def result(request):
    return sample(request.param.__name__)


@cache
def sample(name):
    assert name in SAMPLES, f"write a sample of {name} for this test"
    made = SAMPLES[name]()
    assert type(made).__name__ == name
    return made


def test_every_answer_that_the_package_offers_is_a_result():
    offered = {getattr(suffice, name) for name in suffice.__all__}
    answers = {c for c in offered if isinstance(c, type) and c.__name__ in SAMPLES}
    assert {c.__name__ for c in answers} <= {c.__name__ for c in CLASSES}
    assert {c.__name__ for c in CLASSES} <= set(SAMPLES)


def test_it_is_frozen(result):
    field = dataclasses.fields(result)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(result, field, None)


def test_its_text_reads_well(result):
    text = str(result)
    assert text.strip()
    assert "object at 0x" not in text
    assert max(map(len, text.splitlines())) <= 100
    assert all(line == line.rstrip() for line in text.splitlines())


def test_its_repr_is_one_short_line(result):
    shown = repr(result)
    assert "\n" not in shown
    assert len(shown) <= 140
    assert type(result).__name__ in shown


def test_it_fits_a_terminal(result):
    for width in (40, 100):
        console = Console(width=width, file=StringIO())
        console.print(result)
        lines = console.file.getvalue().splitlines()
        assert any(line.strip() for line in lines)
        assert max(map(len, lines)) <= width


def test_its_sheet_says_what_it_is_about(result):
    assert result.sheet.title
    for panel in result.sheet.panels:
        assert all(len(row) == len(panel.columns) for row in panel.rows)


def test_it_is_a_frame(result):
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame)
    frame.to_csv(StringIO())


def test_it_comes_back_from_json_as_it_was(result):
    jsonschema = pytest.importorskip("jsonschema")
    text = result.to_json()
    again = type(result).from_json(text)
    assert again == result
    assert again.to_json() == text
    assert str(again) == str(result)
    assert type(result).from_json(text.encode()) == result
    jsonschema.validate(json.loads(text), result_schema(type(result)))


def test_the_published_schema_is_current(result):
    path = FOLDER / f"{type(result).__name__}.json"
    assert path.read_text(encoding="utf-8") == schema_text(type(result)), "run: make schema"


def test_no_schema_is_published_of_what_is_no_result():
    assert {path.stem for path in FOLDER.glob("*.json")} == {c.__name__ for c in CLASSES}


@pytest.mark.parametrize("kind", [suffice.Explanation, suffice.Recourse, audit.Record])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "text: got None; allowed: JSON written by"),
        (3, "text: got 3; allowed: JSON written by"),
        ("nonsense", "allowed: JSON written by"),
        ("[]", "text: got JSON of a list"),
        ("{}", "text: got a stored None"),
        ('{"result": "Other", "version": 1, "content": {}}', "text: got a stored 'Other'"),
    ],
)
def test_what_is_no_such_result_is_not_read(kind, text, message):
    with pytest.raises(InputError, match=message):
        kind.from_json(text)


def test_a_result_of_another_version_or_without_content_is_not_read(result):
    record = json.loads(result.to_json())
    with pytest.raises(
        InputError, match=rf"version 99; allowed: .*, version {type(result).version}"
    ):
        type(result).from_json(json.dumps(record | {"version": 99}))
    with pytest.raises(InputError, match="text: got"):
        type(result).from_json(json.dumps(record | {"content": {}}))
    with pytest.raises(InputError, match="text: got"):
        type(result).from_json(json.dumps(record | {"content": None}))


STORED = json.loads(Path(__file__).with_name("stored_results_0_5_0.json").read_text())


@pytest.mark.parametrize("name", STORED)
def test_results_of_an_earlier_release_are_read_or_refused_by_their_version(name):
    """`docs/reference/stability.md` promises that reading is never a guess."""
    envelope = STORED[name]
    kind = next(c for c in CLASSES if c.__name__ == envelope["result"])
    if envelope["version"] == kind.version:
        assert isinstance(kind.from_json(json.dumps(envelope)), kind)
    else:
        assert name in {"Cohort", "Reliance", "Record", "Verification"}
        with pytest.raises(InputError, match=f"got version 1; allowed: .*, version {kind.version}"):
            kind.from_json(json.dumps(envelope))


def numbers_in(part, path=()):
    """Every number of a stored result, with the way to it."""
    if isinstance(part, dict | list):
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            yield from numbers_in(value, (*path, key))
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield path, part


def with_number(text, path, number):
    """The stored text of a result with one number replaced."""
    envelope = json.loads(text)
    *way, last = path
    part = envelope["content"]
    for key in way:
        part = part[key]
    part[last] = number
    return json.dumps(envelope)


def may_be_negative(path):
    """Whether a number is a value of the data, a score of the model, or an interaction."""
    of_data = "values", "old", "value", "counterexample", "scores", "amounts"
    return any(name in path[-2:] for name in of_data)


def test_no_number_of_a_stored_result_can_be_impossible(result):
    """A share, a count, a cost or a time below zero is refused, wherever it stands."""
    text = result.to_json()
    content = json.loads(text)["content"]
    for path, number in numbers_in(content):
        if not may_be_negative(path):
            with pytest.raises(InputError, match="text: got"):
                type(result).from_json(with_number(text, path, type(number)(-1000003)))
                pytest.fail(f"{path} may be negative")


class WellFormedHtml(HTMLParser):
    """Every opened tag is closed, and nothing is fetched but what the page itself holds."""

    void = frozenset({"meta", "img", "br", "image", "source"})

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            fetches = name in ("src", "srcset", "href") and not value.startswith("data:")
            assert not fetches, f"{tag} fetches {value}"
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.void:
            assert self.open.pop() == tag


@pytest.mark.parametrize("face", ["to_html", "_repr_html_"])
def test_its_html_is_well_formed_and_self_contained(result, face):
    html = getattr(result, face)()
    tags = WellFormedHtml()
    tags.feed(html)
    assert tags.open == []
    answers = face == "to_html" and type(result).__name__ in ("Explanation", "View")
    assert html.count("<script") == (3 if answers else 0)  # its words, its counts, the bundle
    assert "prefers-color-scheme: dark" in html
    if face == "to_html":  # nothing but what it brings may run, or be loaded
        policy = html.split('Content-Security-Policy" content="')[1].split('">')[0]
        assert policy.startswith("default-src &#39;none&#39;; ")
        assert "unsafe" not in policy and "http" not in policy
        assert ' style="' not in html.split("<script>")[0]
    assert html.startswith("<!doctype html>") == (face == "to_html")


def test_its_page_is_written_where_it_is_wanted(result, tmp_path):
    path = tmp_path / "page.html"
    assert result.to_html(path) == path.read_text(encoding="utf-8")
    with pytest.raises(InputError, match=r"path: got .*nowhere.*No such file"):
        result.to_html(tmp_path / "nowhere" / "page.html")
    with pytest.raises(InputError, match="path: got 3"):
        result.to_html(3)


def test_it_can_be_sent_to_another_process(result):
    assert pickle.loads(pickle.dumps(result)) == result


def test_its_plot_is_drawn_or_refused_in_words(result):
    if type(result).plots:
        pytest.importorskip("matplotlib")
        assert result.plot() is not None
        with pytest.raises(InputError, match="kind: got 'no such kind'"):
            result.plot("no such kind")
    else:
        with pytest.raises(InputError, match=f"{type(result).__name__}, of which there is no fig"):
            result.plot()
