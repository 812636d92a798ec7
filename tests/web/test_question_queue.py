"""Many visitors at once: equal questions, places in the queue, time limits, visitors who leave."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pandas as pd
import pytest

from suffice import Explainer
from suffice.web.server import JobPool, JobProgress, JobTimeout
from suffice.web.session import Session
from tests.web.explorer_server import (
    X,
    client_with_token,
    explorer_server,
    factors,
    forest,
    json_lines,
    loaded,
    post,
)


class Slow:
    """A model whose predictions wait until they are let go, after the table was read."""

    def __init__(self):
        self.calls, self.held, self.free = 0, False, Event()

    def __call__(self, rows):
        self.calls += 1
        if self.held and len(rows) > 1:
            self.free.wait(60)
        return rows["x"].to_numpy() > 500


def test_disconnected_client_cancels_its_search():
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


def test_a_job_ends_at_its_time_limit():
    now = 0.0
    watch = JobProgress(2.0, lambda: now)
    watch("sets", 1, 10)
    now = 2.5
    with pytest.raises(JobTimeout, match=r"This took longer than 2 s: up to 60 s may be allowed"):
        watch("sets", 2, 10)


async def collected(lines):
    return [json.loads(line) async for line in lines]


def blocking_job(entered, free):
    def answer():
        entered.append(1)
        free.wait(60)
        return len(entered)

    return answer


def test_equal_requests_at_one_time_are_computed_once():
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


def test_waiting_requests_show_their_place_in_the_queue(monkeypatch):
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
