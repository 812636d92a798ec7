"""The guide "Audit a credit model", followed line by line: its code, its files, its commands."""

from pathlib import Path

import pytest
from docs.draw.walk import steps, walk

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "audit-a-credit-model.md"


def test_the_guide_runs_as_written(data_home, tmp_path, monkeypatch):
    monkeypatch.setenv("SUFFICE_DATA", str(data_home))
    done = [step.kind for step, _ in walk(PAGE, tmp_path)]
    assert {"python", "sh", "csv", "toml", "picture"} == set(done)
    assert (tmp_path / "german-record" / "manifest.json").exists()


def test_an_output_that_differs_is_reported_with_its_place(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\n>>> 1 + 1\n3\n\n```\n")
    with pytest.raises(AssertionError, match=r"(?s)Expected:\s+3\s+Got:\s+2"):
        list(walk(page, tmp_path))
    page.write_text("```sh\n$ echo one\ntwo\n```\n")
    with pytest.raises(AssertionError, match=r"line 1: echo one\ntwo\ncame out as\none"):
        list(walk(page, tmp_path))
    page.write_text("```sh\n$ false\n```\n")
    with pytest.raises(AssertionError, match="line 1: false"):
        list(walk(page, tmp_path))


def test_steps_come_in_the_order_of_the_page():
    page = "```csv\n# a.csv\nx\n```\n\n```python\n>>> 1\n```\n\n![A](b.png)\n"
    assert [(step.kind, step.line) for step in steps(page)] == [
        ("csv", 1),
        ("python", 6),
        ("picture", 10),
    ]
