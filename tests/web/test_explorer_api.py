"""The explorer's questions over HTTP: the same answers as in Python, and errors in words."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from suffice import Corpus, Explainer, InputError, TextExplainer, at_least
from suffice.search.plan import Suggestion
from suffice.summary.terminology import PYTHON_HINTS, Terms, suggested_calls
from suffice.web.api import ENDPOINTS, EXPLORER_HINTS, notebook_code, openapi
from suffice.web.requests import (
    ChangeRules,
    ContrastRequest,
    ExplainRequest,
    Input,
    PredictRequest,
    RecourseOptionsRequest,
    RowsRequest,
    RulesRequest,
    ShapleyRequest,
)
from suffice.web.server import error_json, read_request
from suffice.web.session import Session
from tests.web.explorer_server import (
    X,
    client_with_token,
    explorer_server,
    factors,
    forest,
    json_lines,
    linear,
    loaded,
    loans_room,
    post,
    y,
)

# -- what is wrong is said --------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "asked", "says"),
    [
        ("rows", {"count": 0}, "count: got 0; allowed: 1 to 500"),
        ("rows", {"sort": "agee"}, "Did you mean 'age'?"),
        ("rows", {"colour": 1}, "unknown field"),
        ("rows", {"where": [{"column": "agee", "test": "is", "value": 1}]}, "Did you mean 'age'?"),
        ("predict", {"input": {"row": 10**6}}, "row: got 1000000; allowed: 0 to 599"),
        ("predict", {"input": {"row": 0, "values": {"age": "old"}}}, "'old' for column 'age'"),
        ("predict", {"input": {"row": 0}, "model": "forst"}, "Did you mean 'forest'?"),
    ],
)
def test_a_wrong_question_is_answered_with_a_sentence(client, path, asked, says):
    refused = client.post(f"/api/{path}", json=asked)
    assert refused.status_code == 422
    assert says in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"tau": 2}, "tau: got 2"),
        ({"contrast": {"outcome": "grantd"}}, "Did you mean 'granted'?"),
        ({"contrast": {"groups": {"a": ["agee"]}}}, "agee"),
        ({"contrast": {"references": [{"column": "age", "test": "at least", "value": 999}]}}, "no"),
        ({"time_limit": 10**6}, "time limit: got 1000000"),
        ({"input": {"row": -1}}, "row: got -1"),
    ],
)
def test_a_wrong_question_in_lines_too(client, asked, says):
    asked = {"input": {"row": 1}, **asked}
    told = json_lines(client.post("/api/explain", json=asked))[-1]
    assert says in told["error"]["message"]


def test_what_is_no_json_is_refused(client):
    assert client.post("/api/rows", content=b"{").status_code == 422


# -- the table --------------------------------------------------------------------------


def test_rows_are_filtered_and_sorted_as_pandas_would(client):
    predicted = forest().predict(X)
    where = [
        {"column": "age", "test": "at least", "value": 40},
        {"column": "home", "test": "is not", "value": "rents"},
        {"column": "job", "test": "contains", "value": "PERM"},
    ]
    page = post(
        client, "rows", where=where, prediction="granted", sort="income", descending=True, count=500
    )
    kept = X[
        (X["age"] >= 40)
        & (X["home"] != "rents")
        & X["job"].str.contains("perm")
        & (predicted == "granted")
    ]
    assert page["total"] == len(kept)
    assert sorted(page["numbers"]) == sorted(kept.index)
    incomes = X["income"][page["numbers"]]
    assert (incomes.to_numpy() == np.sort(kept["income"])[::-1]).all()
    assert page["predictions"] == ["granted"] * len(kept)


def test_pages_follow_each_other(client):
    first = post(client, "rows", sort="prediction", count=7)
    second = post(client, "rows", sort="prediction", count=7, first=7)
    both = post(client, "rows", sort="prediction", count=14)
    assert both["numbers"] == first["numbers"] + second["numbers"]


# -- answers ----------------------------------------------------------------------------


CONTRASTS = [
    ({}, {}),
    ({"references": "all"}, {"references": "all"}),
    ({"n_references": 20}, {"n_references": 20}),
    ({"outcome": "granted"}, {"outcome": "granted"}),
    ({"groups": {"money": ["income", "debt"]}}, {"groups": {"money": ["income", "debt"]}}),
    (
        {"references": [{"column": "age", "test": "at most", "value": 30}]},
        {"references": (X["age"] <= 30).to_numpy()},
    ),
]


@pytest.mark.parametrize(("contrast", "same"), CONTRASTS)
def test_explanations_are_those_of_python(client, contrast, same):
    e = loaded(client, input={"row": 1}, contrast=contrast, tau=0.8)
    own = Explainer(forest(), X, **{"n_references": 60, **same}).explain(X.iloc[1], tau=0.8)
    assert factors(e.keep) == factors(own.keep)
    assert factors(e.flip) == factors(own.flip)


def test_a_changed_value_changes_prediction_and_explanation(client):
    changed = X.iloc[1].to_dict() | {"late payments": 0, "guarantor": True}
    values = {"late payments": 0, "guarantor": True}
    told = post(client, "predict", input={"row": 1, "values": values})
    assert told["prediction"] == forest().predict(pd.DataFrame([changed]))[0]
    e = loaded(client, input={"row": 1, "values": values})
    own = Explainer(forest(), X, n_references=60).explain(changed)
    assert factors(e.keep) == factors(own.keep)


def test_a_request_that_names_another_model_uses_it(client):
    e = loaded(client, input={"row": 1}, model="linear")
    own = Explainer(linear(), X, n_references=60).explain(X.iloc[1])
    assert factors(e.flip) == factors(own.flip)


def test_recourse_keeps_to_the_form(client):
    asked = {"input": {"row": 1}, "changes": {"immutable": ["age", "home"]}, "max_size": 2}
    found = post(client, "recourse", **asked)
    own = Explainer(forest(), X, n_references=60).recourse(
        X.iloc[1], immutable=["age", "home"], max_size=2, max_options=20
    )
    assert [o["features"] for o in found["options"]] == [list(o.features) for o in own.options]
    first = {name: to for name, (_, to) in found["options"][0]["changes"].items()}
    told = post(client, "predict", input={"row": 1, "values": first})
    assert told["prediction"] == "granted"


def test_shapley_rules_and_causes_are_there(client):
    values = post(client, "shapley", input={"row": 1})["values"]
    assert set(values) == set(X.columns)
    assert post(client, "rules", input={"row": 1})["sheet"]["panels"]
    plain = loaded(client, input={"row": 1})
    causal = loaded(client, input={"row": 1}, contrast={"causal": True})
    assert plain.provenance.context.kind != causal.provenance.context.kind


def test_the_exported_page_is_the_page(client):
    page = post(client, "export/page", input={"row": 1})["content"]
    assert page.lower().startswith("<!doctype html>")


def test_the_notebook_code_gives_what_is_on_the_screen(client):
    contrast = {"groups": {"money": ["income", "debt"]}, "outcome": "granted", "n_references": 30}
    asked = {"input": {"row": 4, "values": {"age": 33}}, "contrast": contrast, "tau": 0.75}
    code = post(client, "export/code", **asked)["content"]
    start = code.index("explainer =")
    exec(code[:start], {})  # the placeholders are Python
    room = {"model": forest(), "data": X}
    exec("import suffice\n" + code[start:], room)
    shown = loaded(client, **asked)
    assert factors(room["e"].keep) == factors(shown.keep)
    assert room["e"].tau == 0.75


def test_every_question_is_described():
    described = openapi()
    assert set(described["paths"]) == {f"/api/{e.path}" for e in ENDPOINTS}
    text = json.dumps(described)
    for name in ("ContrastRequest", "RowCondition", "Input"):
        assert f"#/components/schemas/{name}" in text and name in described["components"]["schemas"]


def test_names_and_values_that_look_like_code_come_back_as_they_are():
    odd = '<script>alert("1")</script>\u202e' + "n" * 10_000
    data = pd.DataFrame({odd: ["<b>", "'", '"', "ok"] * 5, "x": range(20)})
    model = lambda rows: rows["x"] > 9  # noqa: E731
    with (
        explorer_server(Session({"<i>": model}, data)) as found,
        client_with_token(found) as client,
    ):
        about = post(client, "about")
        assert about["columns"][0]["name"] == odd and about["models"][0]["name"] == "<i>"
        page = post(client, "rows", count=3)
        assert page["values"][0][0] == "<b>"
        assert loaded(client, input={"row": 0}).complete


def test_a_body_that_is_no_utf8_is_refused_with_a_sentence(client):
    for path in ("rows", "explain"):
        refused = client.post(f"/api/{path}", content=b'{"sort": "\xff\xfe"}')
        assert refused.status_code == 422 and refused.json()["error"]["argument"] == "request"


def test_conditions_are_limited(client):
    where = [{"column": "age", "test": "at least", "value": 0}] * 51
    assert client.post("/api/rows", json={"where": where}).status_code == 422
    assert client.post("/api/rows", json={"where": where[:50]}).status_code == 200
    contrast = {"references": where}
    refused = client.post("/api/explain", json={"input": {"row": 0}, "contrast": contrast})
    assert refused.status_code == 422


def test_shapley_values_and_rules_refuse_what_they_would_ignore(client):
    for path, name, value in (
        ("shapley", "search", "greedy"),
        ("shapley", "max_size", 1),
        ("rules", "search", "greedy"),
        ("rules", "adjust", "holm"),
    ):
        refused = client.post(f"/api/{path}", json={"input": {"row": 0}, name: value})
        assert refused.status_code == 422 and name in refused.json()["error"]["message"]
    short = post(client, "rules", input={"row": 0}, max_size=1)
    python = Explainer(forest(), X, n_references=60).anchor(X.iloc[0], max_size=1).sheet
    assert (short["sheet"]["lead"], short["sheet"]["notes"]) == ([*python.lead], [*python.notes])


def test_a_short_time_limit_still_answers(client):
    for path in ("explain", "export/page"):
        asked = {"input": {"row": 3}, "time_limit": 1e-6}
        last = json_lines(client.post(f"/api/{path}", json=asked))[-1]
        assert "answer" in last, last


def test_code_is_exported_for_the_model_in_use():
    models = {"letters": lambda rows: np.where(rows["age"] > 40, "a", "b"),
              "words": lambda rows: np.where(rows["age"] > 40, "yes", "no")}  # fmt: skip
    room = Session(models, X, n_references=20)
    asked = ExplainRequest(
        input=Input(row=0), model="words", contrast=ContrastRequest(outcome="yes")
    )
    assert "outcome='yes'" in notebook_code(room, asked)


@pytest.mark.parametrize(
    ("asked", "argument"),
    [
        ({"input": {"row": 1, "text": "a text"}}, "text"),
        ({"input": {"row": 1, "values": {"agee": 3}}}, "values"),
        ({"contrast": {"mask": "corpus"}}, "mask"),
        ({"contrast": {"references": [{"column": "agee", "test": "is", "value": 1}]}}, "column"),
        ({"contrast": {"causal": True}}, "causal"),
        ({"time_limit": 500}, "time_limit"),
    ],
)
def test_code_is_exported_for_no_request_that_explain_refuses(asked, argument):
    session = Session({"forest": forest()}, X, n_references=20)
    request = read_request(json.dumps({"input": {"row": 1}} | asked).encode(), ExplainRequest)
    for answer in (session.explain, lambda request: notebook_code(session, request)):
        with pytest.raises(InputError) as refused:
            answer(request)
        assert refused.value.argument == argument


@pytest.mark.parametrize(
    "asked",
    [
        {"contrast": {"groups": {"a": ["b"]}}},
        {"contrast": {"references": "all"}},
        {"changes": {"immutable": ["letter"]}},
        {"input": {"row": 0, "values": {"letter": "a fine film"}}},
    ],
)
def test_code_of_a_text_is_exported_for_no_request_about_tables(asked):
    letters = pd.DataFrame({"letter": ["a fine film", "a dull film"]})
    model = {"fine": lambda texts: ["good" if "fine" in text else "bad" for text in texts]}
    session = Session(model, letters, text="letter")
    request = read_request(json.dumps({"input": {"row": 0}} | asked).encode(), ExplainRequest)
    for answer in (session.explain, lambda request: notebook_code(session, request)):
        with pytest.raises(InputError, match=r"of a table|reads texts"):
            answer(request)


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ({"test": "is missing", "value": 3}, "value: got 3; allowed: no value for “is missing”"),
        ({"test": "at least"}, "value: got None; allowed: a value for “at least”"),
        ({"test": "contains"}, "value: got None; allowed: a value for “contains”"),
    ],
)
def test_conditions_have_a_value_where_one_is_read(client, condition, says):
    refused = client.post("/api/rows", json={"where": [{"column": "age"} | condition]})
    assert refused.status_code == 422 and says in refused.json()["error"]["message"]


# -- rules on changes, scores, and what is said of errors ------------------------------------


def test_declared_rules_and_those_of_a_request_hold_for_headline_and_recourse():
    session = Session({"forest": forest()}, X, n_references=60, immutable="age")
    rules = {"immutable": ["late payments"], "increasing": ["income"]}
    asked = ExplainRequest(input=Input(row=1), changes=ChangeRules(**rules))
    own = Explainer(
        forest(), X, n_references=60, immutable=["age", "late payments"], increasing="income"
    )
    assert session.explain(asked).cheapest == own.explain(X.iloc[1]).cheapest
    options = session.recourse(
        RecourseOptionsRequest(input=Input(row=1), changes=ChangeRules(**rules))
    )
    assert [o.changes for o in options] == [
        o.changes for o in own.recourse(X.iloc[1], max_options=20)
    ]
    changed = {name for option in options for name in option.features}
    assert changed and not changed & {"age", "late payments"}
    code = notebook_code(session, asked)
    assert "immutable=['age', 'late payments']" in code and "increasing=['income']" in code
    assert session.describe()["models"][0]["fixed"] == {"age": "age is immutable"}


def test_only_what_the_server_and_the_request_allow_may_change():
    session = Session({"forest": forest()}, X, n_references=60, actionable=["income", "debt"])
    both = session.declared_changes(ChangeRules(actionable=["debt", "job"]))
    assert both == {"actionable": ["debt"]}
    with pytest.raises(InputError, match="increasing: got 'age', which is also immutable"):
        Session({"forest": forest()}, X, immutable="age").explain(
            ExplainRequest(input=Input(row=1), changes=ChangeRules(increasing=["age"]))
        )


def test_rows_have_the_models_score_of_its_prediction(client):
    page = post(client, "rows", sort="income", first=20, count=30)
    shares = forest().predict_proba(X.iloc[page["numbers"]]).max(axis=1)
    np.testing.assert_allclose(page["scores"], shares)
    numbers = Session({"sum": lambda rows: rows["income"] * 1.5}, X)
    assert numbers.rows(RowsRequest()).scores is None


def test_texts_have_scores_and_labels_of_their_model():
    data = pd.DataFrame({"text": ["good film", "bad film", "good", "bad"] * 5})
    words = make_pipeline(CountVectorizer(), LogisticRegression())
    model = words.fit(data["text"], [1, 0, 1, 0] * 5)
    session = Session({"words": model}, data, text="text", random_state=3)
    page = session.rows(RowsRequest(count=4))
    np.testing.assert_allclose(page.scores, model.predict_proba(data["text"][:4]).max(axis=1))
    asked = ExplainRequest(input=Input(row=0), contrast=ContrastRequest(outcome="1"))
    code = notebook_code(session, asked)
    assert "outcome=1" in code and "random_state=3" in code
    for odd in ({"row": 0, "text": "good"}, {"row": 0, "values": {"text": "bad"}}, {}):
        with pytest.raises(InputError):
            session.predict(PredictRequest(input=Input(**odd)))
    with pytest.raises(InputError, match="contrast"):
        session.explain(
            ExplainRequest(input=Input(row=0), contrast=ContrastRequest(references="all"))
        )


def test_words_of_other_texts_replace_those_that_no_token_does():
    good, bad = ["a great film", "a great evening"], ["a dull film", "a dull evening"]
    data = pd.DataFrame({"text": [*good, *bad]})
    model = lambda texts: ["good" if "great" in text else "bad" for text in texts]  # noqa: E731
    session = Session({"words": model}, data, text="text")
    with pytest.raises(InputError, match="words of the other texts"):
        session.explain(ExplainRequest(input=Input(row=2)))
    asked = ExplainRequest(input=Input(row=2), contrast=ContrastRequest(mask="corpus"))
    own = TextExplainer(model, mask=Corpus(data["text"].tolist())).explain(bad[0])
    assert factors(session.explain(asked).flip) == factors(own.flip) != []
    room = {"model": model, "data": data}
    code = notebook_code(session, asked)
    exec("import suffice\n" + code[code.index("explainer =") :], room)
    assert factors(room["e"].flip) == factors(own.flip)
    with pytest.raises(InputError, match="mask: got corpus"):
        loans_room().explain(asked)


def test_requests_that_wide_tables_cannot_answer_are_refused_at_once():
    wide = pd.DataFrame(np.random.default_rng(0).integers(0, 5, (40, 26))).add_prefix("x")
    session = Session({"sum": lambda rows: rows.sum(axis=1) > 50}, wide, n_references=5)
    with pytest.raises(InputError, match="features: got 26; allowed: at most 24"):
        session.shapley(ShapleyRequest(input=Input(row=0)))
    with pytest.raises(InputError) as refused:
        session.rules(RulesRequest(input=Input(row=0)))
    assert "size of sets: got None" in error_json(refused.value)["message"]
    assert "features=" not in str(refused.value)
    assert session.rules(RulesRequest(input=Input(row=0), max_size=1)).sheet


def test_recourse_that_was_cut_short_names_no_call_of_python(client):
    for asked in ({"max_size": 1, "max_cost": 0.01}, {"max_options": 1}, {"time_limit": 1e-6}):
        found = post(client, "recourse", input={"row": 1}, values="grid", **asked)
        shown = " ".join(found["sheet"]["notes"])
        assert shown and not re.search(r"recourse\(|Explainer\(|max_\w+|time_limit", shown), shown


def test_no_call_is_suggested_that_takes_longer_than_the_explorer_allows():
    plan = SimpleNamespace(
        more=[
            Suggestion({"search": "exhaustive"}, 2000.0, complete=True),
            Suggestion({"groups": "auto"}, 0.2, complete=True),
        ]
    )
    incomplete = SimpleNamespace(
        complete=False, stopped=None, provenance=SimpleNamespace(plan=plan)
    )
    calls = [call for call, _ in suggested_calls(incomplete, Terms(), EXPLORER_HINTS)]
    assert calls == ["auto-join correlated columns"]
    assert len(suggested_calls(incomplete, Terms(), PYTHON_HINTS)) == 2


def test_a_table_refuses_a_text(client):
    refused = client.post("/api/predict", json={"input": {"row": 1, "text": "a text"}})
    assert refused.status_code == 422 and "text" in refused.json()["error"]["message"]


def test_an_unexpected_error_is_json_too():
    class Room(Session):
        def row_values(self, number):
            raise ZeroDivisionError

    room = Room({"a": lambda rows: rows["age"] > 40}, X)
    with explorer_server(room) as found, client_with_token(found) as client:
        broken = client.post("/api/row", json={"row": 1})
    assert broken.status_code == 500
    assert "could not be answered (ZeroDivisionError)" in broken.json()["error"]["message"]


def test_a_class_that_no_row_is_predicted_can_be_the_outcome():
    model = ExtraTreesClassifier(5, random_state=0).fit(X[["age"]], y)
    session = Session({"never": model}, X[["age"]].loc[model.predict(X[["age"]]) == "granted"])
    assert session.class_label("refused") == "refused"
    assert session.describe()["models"][0]["predictions"] == ["granted", "refused"]


def test_exported_code_has_the_outcome_that_the_server_was_started_with():
    session = Session({"sum": lambda rows: rows["income"] * 1.5}, X, outcome=at_least(60))
    code = notebook_code(session, ExplainRequest(input=Input(row=1)))
    assert "outcome=suffice.at_least(60)" in code and "x = data.iloc[[1]]" in code
    with pytest.raises(InputError, match="row: got 600"):
        notebook_code(session, ExplainRequest(input=Input(row=600)))


def test_the_page_of_an_explanation_has_no_names_of_python(client):
    for asked in (
        {"max_size": 1},
        {"tau": 1.0},
        {"search": "greedy"},
        {"contrast": {"n_references": 2}},
    ):
        html = post(client, "explain", input={"row": 1}, **asked)["html"]
        shown = re.sub(r"<script.*?</script>", "", html, flags=re.S)
        assert not re.search(
            r"\.(keep|flip|at|players|left_out|to_\w+)\b|explain\(|\w+=",
            re.sub("<[^>]*>", "", shown),
        )
