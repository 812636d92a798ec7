"""Where there are many minimal sets: what they have in common comes first, the list is folded."""

import dataclasses
from html import unescape
from io import StringIO

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st
from rich.console import Console
from sklearn.tree import DecisionTreeClassifier

from suffice import Explainer, ImageExplainer, Stop, TextExplainer
from suffice.cli.options import OPTION_NAMES
from suffice.explanation import view as view_module
from suffice.search.exhaustive import Tally
from suffice.search.findings import Findings, FoundSet
from suffice.search.hybrid_sampling import HybridSample
from suffice.search.plan import Suggestion
from suffice.search.profile import Profile
from suffice.summary import LISTED_SETS, ReaderHints, SignatureLimits, summarise, view_summary
from tests.effort import examples


def flat(text):
    """Without line breaks and indents, and as it was before HTML escaped it."""
    return " ".join(unescape(text).split())


def screen(result, width=100):
    console = Console(width=width, file=StringIO())
    console.print(result)
    return console.file.getvalue()


def any_of(least, d=8, base=("x0",)):
    """`base` and at least so many of the others: C(d - len(base), least) sets keep it."""
    ones, zeros = np.ones((1, d), int), np.zeros((9, d), int)
    first = len(base)

    def model(rows):
        rows = np.asarray(rows)
        return (rows[:, :first].all(axis=1) & (rows[:, first:].sum(axis=1) >= least)).astype(int)

    return Explainer(model, np.vstack([ones, zeros])).explain(ones[0], search="exhaustive")


FEW = any_of(1)  # seven sets {x0, xi}
MANY = any_of(3)  # 35 sets {x0, xi, xj, xk}


@given(st.integers(2, 6), st.integers(0, 10**6), st.floats(0.05, 1.0))
@settings(max_examples=examples(60), deadline=None)
def test_a_digest_is_what_its_factors_say_one_by_one(d, seed, tau):
    rng = np.random.default_rng(seed)
    answers = rng.integers(0, 2, 1 << d)
    data = rng.integers(0, 2, (12, d))
    assume(len(set(answers[data @ (1 << np.arange(d))])) == 2)  # there are references
    explainer = Explainer(lambda r: answers[np.asarray(r) @ (1 << np.arange(d))], data)
    e = explainer.explain(data[0], tau=tau)
    for view in (e.keep, e.flip):
        found, sets = view.digest, view.factors
        names = [player.name for player in view.players]
        inside = {name: sum(name in f.features for f in sets) for name in names}
        assert found.n == len(view) == len(sets)
        assert dict(found.counts) == inside
        assert [name for name, _ in found.counts] == names
        assert found.everywhere == tuple(n for n in names if sets and inside[n] == len(sets))
        half = {n: c for n, c in inside.items() if len(sets) / 2 <= c < len(sets)}
        assert dict(found.mostly) == half
        assert [c for _, c in found.mostly] == sorted(half.values(), reverse=True)
        assert found.nowhere == tuple(n for n in names if not inside[n])
        assert dict(found.proofs) == ({"exhaustive": len(sets)} if sets else {})
        sizes = [f.size for f in sets]
        assert found.sizes == tuple((s, sizes.count(s)) for s in sorted(set(sizes)))
        by_size = min(sets, key=lambda f: (f.size, -f.sufficiency), default=None)
        by_share = min(sets, key=lambda f: (-f.sufficiency, f.size), default=None)
        assert found.smallest == by_size
        assert found.surest == by_share


@given(st.integers(3, 9), st.integers(0, 10**6), st.integers(0, 30))
@settings(max_examples=examples(40), deadline=None)
def test_found_sets_cover_what_each_of_them_covers(d, seed, n_found):
    rng = np.random.default_rng(seed)
    tally = Tally(d, 10, (np.array([1]), *(np.empty(0, dtype=np.int64) for _ in range(d))))
    held, outcomes = rng.random((40, d)) < 0.6, rng.random(40) < 0.7
    members = [tuple(np.flatnonzero(row).tolist()) for row in rng.random((n_found, d)) < 0.3]
    found = tuple(FoundSet(m, int(rng.integers(8, 11)), "one smaller") for m in members)
    findings = Findings(0.75, found, decided=False)
    profile = Profile(tally, draws=HybridSample(held, outcomes), findings=findings)
    inside = [any(row[list(m)].all() for m in members) for row in held[outcomes]]
    assert profile.covered(0.75) == (sum(inside), outcomes.sum())
    sets = [m for m in profile.minimal_at_any_tau() if m.proof == "one smaller"]
    assert sorted(m.members for m in sets) == sorted(members)
    assert all(m.high == m.hits / 10 and m.low < 0.75 for m in sets)


def test_a_view_makes_only_the_factors_that_are_read():
    assert MANY.keep[0] == MANY.keep.factors[0]
    assert MANY.keep[-1] == MANY.keep.factors[-1]
    assert MANY.keep[2:5] == MANY.keep.factors[2:5]
    assert tuple(MANY.keep) == MANY.keep.factors
    with pytest.raises(IndexError):
        MANY.keep[35]


def test_up_to_a_dozen_sets_are_read_one_by_one():
    assert len(FEW.keep) == 7
    assert summarise(FEW).keep.digest is None
    assert "(one of 7 such sets)" in flat(str(FEW))
    assert "in all" not in str(FEW)
    assert '<details class="all">' not in FEW.to_html()


def test_more_than_a_dozen_lead_with_what_they_have_in_common():
    assert len(MANY.keep) == 35
    assert MANY.keep.digest.everywhere == ("x0",)
    said = summarise(MANY).keep.digest
    assert said.lead == "There are 35 minimal sets of 4 features each."
    assert said.common == (("in all", ("x0",)), ("in most", ()))
    assert [label for label, _ in said.examples] == ["surest"]
    answer = (
        "Each of 35 sets of features is enough for “1”, all with x0: one of them, holding x0 = 1,"
    )
    assert summarise(MANY.keep).answer.startswith(answer)
    sheet = " ".join(
        [p.heading + " ".join(map(str, row)) for p in MANY.sheet.panels for row in p.rows]
    )
    for face in (MANY.full(), MANY.to_html(), MANY._repr_html_()):
        told = flat(face)
        assert told.index(said.lead) < told.index("in most") < told.index("35 sets, smaller ones")
        assert "no feature" in told
    for face in (str(MANY), screen(MANY), screen(MANY, 60)):  # what says nothing is left out
        told = flat(face)
        assert told.index(said.lead) < told.index("in all x0") < told.index("surest")
        assert "in most" not in told.split("Flips to")[0] and "smaller ones first" not in told
    assert said.lead in sheet
    assert "in all x0" in sheet


def test_most_and_none_are_reported_with_counts():
    d = 9
    ones, zeros = np.ones((1, d), int), np.zeros((9, d), int)

    def model(rows):  # x0 with any 2 of x1…x5, or any 4 of these; the rest never matter
        rows = np.asarray(rows)
        some = rows[:, 1:6].sum(axis=1)
        return ((rows[:, 0] == 1) & (some >= 2) | (some >= 4)).astype(int)

    e = Explainer(model, np.vstack([ones, zeros])).explain(ones[0], search="exhaustive")
    assert len(e.keep) == 15
    said = dict(summarise(e).keep.digest.common)
    assert said["in all"] == ()
    assert said["in most"][:3] == ("x0 (10 of 15)", "x1 (8)", "x2 (8)")
    assert said["in none"] == ("x6", "x7", "x8")
    assert "10 of them with x0: one of the smallest, holding x0 = 1" in summarise(e).answer
    picked = [label for label, _ in summarise(e).keep.digest.examples]
    assert picked == ["smallest and surest"]
    lead = summarise(e).keep.digest.lead
    assert lead == "There are 15 minimal sets of 3 to 4 features each; 10 have only 3."


def test_the_list_is_folded_and_says_how_many_more_there_are():
    assert "The first 12 of 35 sets, smaller ones first:" in flat(MANY.full())
    for face, listed in ((str(MANY), 1), (screen(MANY), 1), (MANY.full(), 12)):
        assert f"and {35 - listed} more: .keep.factors" in face
    fragment, page = MANY._repr_html_(), MANY.to_html()
    fold = '<details class="all"><summary>{}</summary>'
    assert fold.format("The first 12 of 35 sets, smaller ones first") in fragment
    assert "and 23 more: <code>.keep.factors</code>" in fragment
    assert fold.format("All 35 sets, smaller ones first") in page
    inside = page.split('<details class="all">')[1].split("</details>")[0]
    assert inside.count("<li>") == 35
    assert "more: <code>.keep.factors" not in inside
    wide = any_of(5, d=13)  # 792 sets
    inside = wide.to_html().split('<details class="all">')[1].split("</details>")[0]
    assert inside.count("<li>") == 300
    assert "The first 300 of 792 sets" in inside
    assert "and 492 more: <code>.keep.factors</code>" in inside


def test_nothing_is_made_of_sets_that_are_not_shown(monkeypatch):
    made = {"factors": 0, "lines": 0, "intervals": 0}

    def counting(name, real):
        def call(*args, **kwargs):
            made[name] += 1
            return real(*args, **kwargs)

        return call

    e = any_of(7, d=15)
    assert len(e.keep) == 3432
    monkeypatch.setattr(
        view_module, "SufficientFactor", counting("factors", view_module.SufficientFactor)
    )
    monkeypatch.setattr(
        view_module, "clopper_pearson", counting("intervals", view_module.clopper_pearson)
    )
    monkeypatch.setattr(view_summary, "factor_line", counting("lines", view_summary.factor_line))
    for face in (str, screen, lambda e: e._repr_html_(), lambda e: e.sheet):
        made.update(factors=0, lines=0)
        face(e)
        assert made["factors"] < 200
        assert made["lines"] <= 2 * (LISTED_SETS + 2)
    e.to_html()
    assert made["intervals"] <= 2 * (e.keep.tally.n + 1)
    assert len(e.keep.factors) == 3432
    assert made["intervals"] <= 2 * (e.keep.tally.n + 1)


def test_words_of_a_text_have_a_digest_too():
    text = "one two three four five six seven good"

    def model(texts):
        return ["yes" if "good" in t and len(set(t.split()) & WORDS) >= 3 else "no" for t in texts]

    e = TextExplainer(model)(text)
    assert len(e.keep) == 35
    said = summarise(e)
    assert dict(said.keep.digest.common)["in all"] == ("“good”",)
    assert (
        "Each of 35 sets of words is enough for “yes”, all with “good”; one of them is"
        in said.answer
    )
    assert [label for label, _ in said.keep.digest.examples] == ["for example"]
    assert [label for label, _ in said.flip.digest.examples] == ["smallest"]
    assert said.answer.endswith("15 of them with “one”; the smallest is “good”.")
    for face in (str(e), screen(e), e.to_html(), e._repr_html_()):
        assert "There are 35 minimal sets of 4 words each." in flat(face)
    assert "[good]" in str(e)
    assert "<mark>good</mark>" in e.to_html()


WORDS = {"one", "two", "three", "four", "five", "six", "seven"}


def test_regions_of_a_picture_have_a_digest_too():
    labels = np.arange(8).reshape(2, 4).repeat(4, axis=0).repeat(4, axis=1)

    def model(images):
        means = np.asarray([[image[labels == i].mean() for i in range(8)] for image in images])
        lit = means > 0.5
        return (lit[:, 0] & (lit[:, 1:].sum(axis=1) >= 3)).astype(int)

    explainer = ImageExplainer(model, regions=labels, references=np.zeros((8, 16)))
    e = explainer(np.ones((8, 16)))
    assert len(e.keep) == 35
    assert "There are 35 minimal sets of 4 regions each." in flat(str(e))
    page = e.to_html()
    assert "The first 24 of 35 sets, smaller ones first" in page
    assert page.count('class="marked"') <= 2 * (24 + 2)


def test_the_picture_draws_the_sets_at_tau_and_says_how_many_more_there_are():
    e = any_of(5, d=13)
    picture = summarise(e, signature=SignatureLimits()).keep.signature
    assert len(picture.rows) == 16
    assert all(row.at_tau for row in picture.rows)
    left = [f for f in e.keep.barcode if f.features not in {g.features for g in e.keep[:16]}]
    low, high = min(f.minimal_for[0] for f in left), max(f.minimal_for[1] for f in left)
    said = f"{len(left)} more sets are minimal at some threshold between {low:.2f} and {high:.2f}"
    assert picture.hidden_note == f"{said}, {792 - 16} of them at τ = 0.9"
    assert f"{picture.hidden_note}; all of them: <code>.keep.barcode</code>" in e.to_html()


def test_of_very_many_features_those_of_the_sets_have_columns_and_the_rest_are_counted():
    rng = np.random.default_rng(0)
    data = rng.random((40, 40))
    e = Explainer(lambda r: (np.asarray(r).sum(axis=1) > 20).astype(int), data).explain(
        data[0], max_size=2, tau=0.5, search="exhaustive"
    )
    picture = summarise(e, signature=SignatureLimits()).keep.signature
    assert len(picture.columns) <= 24 < len(e.players)
    assert {len(row.columns) + row.n_without_column for row in picture.rows} <= {0, 1, 2}


# -- what was searched, where that is not all ----------------------------------------------


def parity(d=24, n=12):
    """Nothing smaller than six features does anything: a search of small sets finds none."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 2, (n, d))
    data[0] = 1

    def model(rows):
        return (np.asarray(rows)[:, :6].sum(axis=1) == 6).astype(int)

    data[1:, :6] = 0
    return Explainer(model, data), data[0]


def test_no_set_is_said_only_of_the_sets_that_were_tried():
    explainer, x = parity()
    e = explainer.explain(x, search="exhaustive", max_size=2)
    said = flat(str(e.keep))
    assert "No set of up to 2 features keeps “1” in at least 90% of cases." in said
    assert "No set of up to 2 features reaches τ = 0.9." in said
    assert "Sets of more than 2 features were not all tried: give a larger max_size." in said
    assert "Every set of up to 2 features was tried; larger ones were not all: " in said
    assert "Lower the threshold" not in said and "other references" not in said
    assert "No set of features" not in said and "no set of features" not in said


def test_what_is_known_of_minimality_is_said_once():
    explainer, x = parity()
    e = explainer.explain(x, search="greedy")
    assert [f.features for f in e.keep] == [tuple(f"x{i}" for i in range(6))]
    assert e.keep[0].proof == "one smaller"
    for face in (str(e), screen(e), e.to_html()):
        keep = flat(face).split("Flips to")[0]
        assert keep.count("Take any one feature away, and it no longer suffices; ") == 1
    assert e.keep.digest.proofs == (("one smaller", 1),)
    assert MANY.keep.digest.proofs == (("exhaustive", 35),)
    assert summarise(MANY).keep.minimality == ""


def test_features_that_cannot_matter_are_named_with_the_reason():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(60, 20)), columns=[f"f{i}" for i in range(20)])
    data["f5"] = 1.0
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(
        data, (data["f0"] + data["f1"] > 0).astype(int)
    )
    e = Explainer(model, data).explain(data.iloc[0])
    assert e.left_out and len(e.players) + len(e.left_out) == 20
    said = summarise(e)
    n = len(e.left_out)
    lead = f"{n} of the 20 features cannot matter here and were left out, which changes no number: "
    assert said.left_out.startswith(lead + "f5")
    assert "(the same in every reference); " in said.left_out
    assert "(never read by the model)" in said.left_out
    assert said.left_out.endswith("All of them: .left_out.") == ("more (" in said.left_out)
    assert len(e.players) > 1
    assert f"of the {len(e.players)} features that can matter" in said.completeness
    for face in (str(e), screen(e), e.to_html(), e._repr_html_(), " ".join(e.sheet.notes)):
        assert flat(said.left_out) in flat(face)
    assert len(said.values) == 20
    assert {name for name, _ in said.values} == set(data.columns)
    assert summarise(MANY).left_out == ""


MORE = (
    Suggestion({"groups": "auto"}, 0.2, complete=True),
    Suggestion({"time_limit": 60.0}, 60.0, complete=False),
)


def planned(e, more=MORE, copies=()):
    """The same explanation with a plan of the test's own, so that no clock decides the words."""
    plan = dataclasses.replace(e.provenance.plan, more=more, copies=copies)
    return dataclasses.replace(e, provenance=msgspec.structs.replace(e.provenance, plan=plan))


def test_calls_that_would_give_more_are_in_the_readers_language():
    explainer, x = parity()
    e = planned(explainer.explain(x, search="greedy"))
    assert summarise(e).suggested_calls == (
        (
            "Explainer(model, data, groups='auto')",
            "features that go together count as one; every set, in about 0.2 s",
        ),
        ("explain(x, time_limit=60)", "searches on, 60 s in all"),
    )
    for face in (str(e), screen(e), " ".join(e.sheet.notes)):
        assert "For more: Explainer(model, data, groups='auto'): features that go" in flat(face)
    for face in (e.to_html(), e._repr_html_()):
        assert "<li><code>explain(x, time_limit=60)</code> searches on, 60 s in all</li>" in face
    command = summarise(e, ReaderHints(arguments=OPTION_NAMES))
    assert [call for call, _ in command.suggested_calls] == ["--auto-groups", "--time-limit 60"]
    fewer = (
        Suggestion({"n_references": 50}, 8.0, complete=True),
        Suggestion({"budget": 6000}, 9, False),
    )
    assert summarise(planned(e, fewer)).suggested_calls == (
        (
            "Explainer(model, data, n_references=50)",
            "against 50 references: every set, in about 8 s",
        ),
        ("explain(x, budget=6000)", "searches on"),
    )
    assert summarise(planned(explainer.explain(x, max_size=2))).suggested_calls == ()
    complete = planned(FEW)
    assert complete.complete and summarise(complete).suggested_calls == ()


def test_copies_are_pointed_out():
    explainer, x = parity()
    e = planned(explainer.explain(x, search="greedy"), copies=(("x7", "x8"),))
    assert "Copies of each other in the data: x7 and x8." in str(e)
    many = tuple((f"x{i}", f"x{i + 1}") for i in range(0, 12, 2))
    assert "x6 and x7; and 2 more." in flat(str(planned(e, copies=many)))


@pytest.mark.parametrize(
    ("stop", "said"),
    [
        (Stop("time_limit", 10), "until time_limit=10 s was over. Others may exist."),
        (Stop("patience", 10), "until the 10 s that it takes without a time_limit were over."),
        (Stop("budget", 2000), "until budget=2000 model rows were spent."),
        (Stop("fruitless", 32), "until 32 starts in a row brought nothing new."),
        (Stop("starts", 500), "until 500 starts were made."),
    ],
)
def test_what_ended_a_search_from_many_starts_is_a_sentence(stop, said):
    explainer, x = parity()
    e = dataclasses.replace(explainer.explain(x, search="greedy"), stopped=stop)
    begins = "Not complete: sets of up to 2 features were searched exhaustively; larger ones from "
    assert begins + "many starts, " + said in flat(str(e))
    names = summarise(e, ReaderHints(arguments=OPTION_NAMES)).completeness
    assert "time_limit" not in names and "budget=" not in names


def test_a_search_that_decided_every_set_says_so_of_those_that_can_matter():
    explainer, x = parity(d=14)
    e = explainer.explain(x, search="pruned")
    assert e.complete and e.keep_profile.findings is not None
    some = f" of the {len(e.players)} features that can matter" if e.left_out else ""
    every = f"each of {1 << len(e.players):,} subsets{some} was decided, so no other minimal set"
    assert f"Complete at τ = 0.9: {every}" in flat(str(e))
