"""The explorer's questions over HTTP: the same answers as in Python, and nobody else's questions."""

import asyncio
import json
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace

import httpx
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from suffice import Corpus, Explainer, InputError, TextExplainer, at_least
from suffice.search.plan import Suggestion
from suffice.summary.completeness import suggested_calls
from suffice.summary.terminology import PYTHON_HINTS, Terms
from suffice.web.api import ENDPOINTS, EXPLORER_HINTS, notebook_code, openapi
from suffice.web.guard import TimedProtocol
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
from suffice.web.server import JobPool, JobProgress, JobTimeout, error_json, run_server
from suffice.web.session import Session
from tests.soak.explorer_requests import fuzz_requests
from tests.web.explorer_server import (
    TOKEN,
    X,
    client_with_token,
    explorer_server,
    forest,
    json_lines,
    linear,
    loans_room,
    post,
    y,
)


@pytest.fixture(scope="module")
def address():
    with explorer_server(loans_room()) as found:
        yield found


@pytest.fixture
def client(address):
    with client_with_token(address) as found:
        yield found


# -- who may ask ------------------------------------------------------------------------


def test_without_the_token_nothing_is_told(address):
    for path in ("/", "/api/openapi.json", "/?token=guess"):
        refused = httpx.get(address + path)
        assert refused.status_code == 401
        assert "address that `suffice serve` printed" in refused.json()["error"]["message"]
    assert httpx.post(f"{address}/api/rows", json={}).status_code == 401


def test_the_token_leaves_the_address_and_becomes_a_cookie_no_script_reads(address):
    moved = httpx.get(f"{address}/?token={TOKEN}&row=3")
    assert moved.status_code == 303
    assert moved.headers["location"] == "/?row=3"
    cookie = moved.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie


def test_another_name_for_this_machine_is_refused(client):
    assert client.post("/api/about", headers={"host": "evil.example"}).status_code == 400


def test_a_page_of_another_site_is_refused(client):
    refused = client.post("/api/about", headers={"origin": "https://evil.example"})
    assert refused.status_code == 403


def test_a_body_that_is_too_long_is_refused_however_its_length_is_told(client):
    assert client.post("/api/rows", content=b"x" * 2**21).status_code == 413
    in_pieces = (b"x" * 2**16 for _ in range(40))
    assert client.post("/api/rows", content=in_pieces).status_code == 413


def test_the_page_may_load_nothing_and_be_framed_by_nobody(client):
    headers = client.get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "'unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["referrer-policy"] == "no-referrer"


def test_no_path_of_a_request_is_opened(client):
    for path in ("/../pyproject.toml", "/api/../../etc/passwd", "/static/bundle.js"):
        assert client.get(path).status_code == 404


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
    assert refused.status_code in (200, 422)
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


def factors(view):
    return sorted((f.features, f.sufficiency) for f in view.factors)


def loaded(client, **asked):
    from suffice import Explanation

    return Explanation.from_json(post(client, "export/json", **asked)["content"])


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


def test_another_model_is_asked_where_it_is_named(client):
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


# -- many visitors ----------------------------------------------------------------------


class Slow:
    """A model whose predictions wait until they are let go, after the table was read."""

    def __init__(self):
        self.calls, self.held, self.free = 0, False, Event()

    def __call__(self, rows):
        self.calls += 1
        if self.held and len(rows) > 1:
            self.free.wait(60)
        return rows["x"].to_numpy() > 500


def test_who_hangs_up_stops_the_work_and_blocks_nobody():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": np.arange(1000), **{f"f{i}": rng.random(1000) for i in range(12)}})
    slow = Slow()
    with (
        explorer_server(Session({"slow": slow}, data)) as found,
        client_with_token(found) as client,
    ):
        slow.held = True
        with client.stream("POST", "/api/explain", json={"input": {"row": 1}}) as response:
            told = json.loads(next(response.iter_lines()))
            assert "progress" in told
            with client_with_token(found) as other:  # someone else is served meanwhile
                assert post(other, "predict", input={"row": 900})["prediction"] is True
                assert post(other, "rows", count=1)["total"] == 1000
        slow.held = False
        slow.free.set()
        # The search ends at its next word of progress: it does not go through all hybrids.
        assert json_lines(client.post("/api/predict", json={"input": {"row": 1}}))[-1]["answer"]


def test_thirty_two_visitors_at_once_are_all_answered(address):
    def visit(row):
        with client_with_token(address) as client:
            return factors(loaded(client, input={"row": row}).keep)

    rows = [visitor % 8 for visitor in range(32)]
    with ThreadPoolExecutor(32) as visitors:
        found = list(visitors.map(visit, rows))
    own = [
        factors(e.keep) for e in Explainer(forest(), X, n_references=60).explain_many(X.iloc[:8])
    ]
    assert found == [own[row] for row in rows]


# -- requests of attackers --------------------------------------------------------------


def test_a_cookie_of_another_program_locks_nobody_out(client):
    ours = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    assert client.get("/", headers={"cookie": f"a[=1; {ours}"}).status_code == 200


def test_a_path_cannot_redirect_to_another_site(address):
    moved = raw_request(address, f"GET //evil.example/x?token={TOKEN} HTTP/1.1")
    assert moved.startswith("HTTP/1.1 303") and "location: /\r\n" in moved


def test_of_several_origins_every_one_must_be_ours(address):
    ours = address.removeprefix("http://")
    for origins in (("http://evil.example", f"http://{ours}"), ("null", f"http://{ours}")):
        headers = [f"Origin: {origin}" for origin in origins]
        assert raw_request(address, "POST /api/about HTTP/1.1", *headers).startswith("HTTP/1.1 403")
    twice = raw_request(address, "POST /api/about HTTP/1.1", "Host: evil.example")
    assert twice.startswith("HTTP/1.1 400")


def raw_request(address: str, line: str, *headers: str) -> str:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        head = [line, f"Host: {host}:{port}", "Connection: close", *headers]
        connection.sendall("\r\n".join([*head, "", ""]).encode())
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()


def test_a_browser_without_the_token_gets_a_page(address):
    refused = httpx.get(address, headers={"accept": "text/html,*/*"})
    assert refused.status_code == 401
    assert refused.headers["content-type"].startswith("text/html")
    assert "address that `suffice serve` printed" in refused.text


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


def test_a_job_ends_at_its_time_limit():
    now = 0.0
    watch = JobProgress(2.0, lambda: now)
    watch("sets", 1, 10)
    now = 2.5
    with pytest.raises(JobTimeout, match=r"This took longer than 2 s: up to 60 s may be allowed"):
        watch("sets", 2, 10)


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


def test_code_is_exported_for_the_model_that_is_asked():
    models = {"letters": lambda rows: np.where(rows["age"] > 40, "a", "b"),
              "words": lambda rows: np.where(rows["age"] > 40, "yes", "no")}  # fmt: skip
    room = Session(models, X, n_references=20)
    asked = ExplainRequest(
        input=Input(row=0), model="words", contrast=ContrastRequest(outcome="yes")
    )
    assert "outcome='yes'" in notebook_code(room, asked)


def test_a_slow_client_is_closed(monkeypatch):
    monkeypatch.setattr(TimedProtocol, "read_seconds", 0.2)
    with explorer_server(loans_room()) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost:")
            assert connection.recv(100) == b""


def test_an_address_for_all_interfaces_needs_a_name_to_answer_to():
    with pytest.raises(InputError, match=r"--allow-host: got .*none, with --host 0\.0\.0\.0"):
        run_server(loans_room(), host="0.0.0.0")


def test_odd_requests_are_answered_or_refused_with_a_sentence():
    tally = fuzz_requests(60, seed=1)
    assert tally.tries == 60 and tally.failures == []


# -- the queue ----------------------------------------------------------------------------


async def collected(lines):
    return [json.loads(line) async for line in lines]


def blocking_job(entered, free):
    def answer():
        entered.append(1)
        free.wait(60)
        return len(entered)

    return answer


def test_equal_questions_asked_together_are_computed_once():
    async def ask_both():
        pool, entered, free = JobPool(), [], Event()
        answer = blocking_job(entered, free)
        first, second = (asyncio.ensure_future(collected(pool.stream(b"q", answer))) for _ in "ab")
        await asyncio.sleep(0.05)
        free.set()
        answers = [(await job)[-1] for job in (first, second)]
        again = await collected(pool.stream(b"q", answer))  # asked later, it is computed again
        pool.close()
        return answers, again[-1]

    assert asyncio.run(ask_both()) == ([{"answer": 1}, {"answer": 1}], {"answer": 2})


def test_a_visitor_who_leaves_takes_no_answer_from_the_others():
    async def leave():
        pool, entered, free = JobPool(), [], Event()
        stays, leaves = (
            asyncio.ensure_future(collected(pool.stream(b"q", blocking_job(entered, free))))
            for _ in "ab"
        )
        await asyncio.sleep(0.05)
        leaves.cancel()
        await asyncio.sleep(0.05)
        free.set()
        found = (await stays)[-1]
        pool.close()
        return found

    assert asyncio.run(leave()) == {"answer": 1}


def test_those_who_wait_are_told_their_place_in_the_queue(monkeypatch):
    monkeypatch.setattr("suffice.web.server._QUICK_JOB_SECONDS", 600.0)

    async def queue():
        pool, free = JobPool(), Event()
        jobs = [pool.stream(bytes([i]), blocking_job([], free)) for i in range(4)]
        first = map(json.loads, await asyncio.gather(*map(anext, jobs)))
        free.set()
        last = [(await collected(job))[-1] for job in jobs]
        pool.close()
        return [line["place"] for line in first], last

    places, last = asyncio.run(queue())
    assert places == [None, None, 1, 2]
    assert last == [{"answer": 1}] * 4


def test_a_question_that_reports_no_progress_ends_at_its_time_limit(monkeypatch):
    monkeypatch.setattr("suffice.web.server._GRACE_SECONDS", 0.0)

    async def ask():
        pool, free = JobPool(), Event()
        lines = await collected(pool.stream(b"q", blocking_job([], free), seconds=0.01))
        free.set()
        pool.close()
        return lines[-1]["error"]["message"]

    assert asyncio.run(ask()).startswith("This took longer than 0.01 s")


def test_waiting_for_others_does_not_count_against_the_time_limit():
    now = 0.0
    progress = JobProgress(2.0, lambda: now)
    now = 10.0
    progress.start()
    progress("sets", 1, 10)
    assert progress.share == 0.1 and not progress.is_over()


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


def test_wide_tables_are_told_at_once_what_they_cannot_ask():
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


def test_a_class_that_no_row_is_predicted_can_be_asked_about():
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
