"""Names from data with control characters or markup are harmless in every rendering of a result."""

import json
import re
import unicodedata
from contextlib import suppress
from io import StringIO

import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text
from rich.console import Console

import suffice
from suffice import InputError
from suffice.explanation.schema import ImageSubject, TextSubject
from suffice.explanation.sufficient_factor import LeftOutFeature
from tests.example_results import RESULTS, result

NAMES = [
    "\x1b[31mred",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil.example\x1b\\link",
    "bell\x07",
    "back\b\b\bspace",
    "over\rwritten",
    "nul\x00l",
    "delete\x7f",
    "next\x85line",
    "csi\x9b31m",
    "vertical\vtab",
    "form\ffeed",
    "two\nlines",
    "tab\tbed",
    "line\u2028separator",
    "paragraph\u2029separator",
    "right\u202eto left",
    "embedded\u202bright",
    "isolate\u2067right",
    "mark\u200f",
    "arabic\u061cmark",
    "pop\u202c\u2069",
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"onmouseover='alert(1)'",
    "]]><!--",
    "{{ 7 * 7 }}",
    "[red]rich[/red] [bold]",
    "$\\frac{1}{2}$ _{x} ^{",
]
"""30 names that attack terminals, reading order, pages, templates, rich markup and mathtext."""

GROUPS = [" ".join(NAMES[i : i + 3]) for i in range(0, len(NAMES), 3)]
"""The same, three in one name, which is still short enough to be shown whole."""

DIRECTION = set("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def unsafe(text):
    """Return the characters that a terminal or a page would obey instead of showing."""
    return {
        c
        for c in text
        if (unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c != "\n") or c in DIRECTION
    }


def renamed(example, name):
    """Return the result read from its own JSON, in which names, values and labels are `name`."""
    others = {"age": "1", "job": "2", "a": "3", "b": "4", "yes": "5", "no": "6", "good": "7"}

    def replace(part):
        if isinstance(part, dict):
            return {replace(key): replace(value) for key, value in part.items()}
        if isinstance(part, list):
            return [replace(value) for value in part]
        return name + others[part] if isinstance(part, str) and part in others else part

    envelope = json.loads(example.to_json())
    envelope["content"] = replace(envelope["content"])
    return type(example).from_json(json.dumps(envelope))


def on_a_terminal(shown):
    console = Console(width=100, file=StringIO(), color_system=None)
    console.print(shown)
    return console.file.getvalue()


def in_figures(shown):
    needs = {"text": TextSubject, "image": ImageSubject}
    for kind in type(shown).plots:
        if kind in needs and not isinstance(getattr(shown, "subject", None), needs[kind]):
            continue
        figure = plt.figure(figsize=(7, 5))
        # An explanation of a table has no figure of a text or an image, and the reverse.
        with suppress(InputError):
            shown.plot(kind, ax=figure)
        yield from (text.get_text() for text in figure.findobj(Text))
        plt.close(figure)


@pytest.mark.parametrize("kind", RESULTS)
def test_names_from_data_are_harmless_in_every_rendering(kind):
    for name in GROUPS:
        shown = renamed(result(kind), name)
        for text in (str(shown), repr(shown), on_a_terminal(shown)):
            assert unsafe(text) == set(), (name, text)
        assert "\n" not in repr(shown)
        for html in (shown.to_html(), shown._repr_html_()):
            assert unsafe(html) == set(), name
            assert not re.search("<img src=x|<script>alert|]]><!--", html), name


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in RESULTS if type(result(kind)).plots])
def test_names_from_data_are_harmless_in_figures(kind):
    for name in GROUPS:
        for text in in_figures(renamed(result(kind), name)):
            assert unsafe(text) == set(), (name, text)


def test_names_from_data_are_harmless_in_parts_of_results_and_in_errors():
    for name in NAMES:
        e = renamed(result("Explanation"), name)
        parts = [*e.keep.factors, *e.flip.factors, *e.players, e.cheapest]
        assert unsafe("".join(f"{part} {part!r}" for part in parts)) == set(), name
        left_out = LeftOutFeature(e.players[0], "unread")
        assert unsafe(str(left_out)) == set(), name
        error = InputError("x", f"no column {name}", f"one of {name}", f"Did you mean {name}?")
        assert unsafe(str(error)) == set() and "\n" not in str(error), name


def test_names_from_data_are_harmless_in_reports_and_in_the_explainer(tmp_path):
    for name in GROUPS:
        e = renamed(result("Explanation"), name)
        suffice.report([e, e], tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        rows = pd.DataFrame({f"{name}1": [20, 30, 40, 50], f"{name}2": list("abab")})

        def model(given, name=name):
            return [f"{name}yes" if age > 35 else f"{name}no" for age in given.iloc[:, 0]]

        explainer = suffice.Explainer(model, rows)
        plan = explainer.plan(rows.iloc[[0]])
        many = explainer.explain_many(rows)
        with pytest.raises(InputError) as error:
            explainer.explain({"nope": 1})
        for text in (page, repr(explainer), str(plan), str(many), str(error.value)):
            assert unsafe(text) == set(), name
