"""Names from data with control characters or markup are harmless in every rendering of a result."""

import json
import re
import unicodedata
from contextlib import suppress
from functools import cache
from io import StringIO
from itertools import cycle

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

TURNS = [GROUPS[i:] + GROUPS[:i] for i in (0, 3, 6)]
"""The strings of a result are given these one after another, from three beginnings."""

DIRECTION = set("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def unsafe(text):
    """Return the characters that a terminal or a page would obey instead of showing."""
    return {
        c
        for c in text
        if (unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c != "\n") or c in DIRECTION
    }


def replaced(part, others):
    """Return a part of a stored result with strings replaced, keys too."""
    if isinstance(part, dict):
        return {others.get(k, k): replaced(value, others) for k, value in part.items()}
    if isinstance(part, list):
        return [replaced(value, others) for value in part]
    return others.get(part, part) if isinstance(part, str) else part


def strings_in(part):
    """Every string of a stored result, keys too."""
    if isinstance(part, dict):
        yield from part
    if isinstance(part, dict | list):
        for value in part.values() if isinstance(part, dict) else part:
            yield from strings_in(value)
    elif isinstance(part, str) and part:
        yield part


def with_strings(example, others):
    """Return the result read from its own JSON with other strings."""
    envelope = json.loads(example.to_json())
    envelope["content"] = replaced(envelope["content"], others)
    return type(example).from_json(json.dumps(envelope))


@cache
def free_strings(kind, text):
    """Return the strings of a stored result that may be any other, as names from data may."""
    example, out = kind.from_json(text), []
    for string in dict.fromkeys(strings_in(json.loads(text)["content"])):
        try:
            shown = with_strings(example, {string: "another"})
            str(shown)
        except (InputError, KeyError, ValueError):
            continue  # a word of ours, such as "keep"
        # The name of a field that may be left out is none of the data's.
        out += [string] if "another" in shown.to_json() else []
    return out


def renamed(example, *names):
    """Return the result with a name, one after another, in each string that may be any other."""
    free = free_strings(type(example), example.to_json())
    named = zip(free, cycle(names), strict=False)
    return with_strings(example, {s: f"{name}{i}" for i, (s, name) in enumerate(named)})


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
    for names in TURNS:
        shown = renamed(result(kind), *names)
        for text in (str(shown), repr(shown), on_a_terminal(shown)):
            assert unsafe(text) == set(), (names, text)
        assert "\n" not in repr(shown)
        for html in (shown.to_html(), shown._repr_html_()):
            assert unsafe(html) == set(), names
            assert not re.search("<img src=x|<script>alert|]]><!--", html), names


@pytest.mark.slow
@pytest.mark.parametrize("kind", RESULTS)
def test_names_from_data_are_harmless_in_figures(kind):
    for names in TURNS:
        for text in in_figures(renamed(result(kind), *names)):
            assert unsafe(text) == set(), (names, text)


def test_every_result_with_names_is_given_hostile_ones():
    without = {
        kind for kind in RESULTS if not free_strings(type(result(kind)), result(kind).to_json())
    }
    assert without == {"CausationBounds"}  # has numbers alone


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
