"""Figures of audits: their facts exactly, their pictures by pixels."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

import suffice
from suffice import Explainer, InputError, audit
from suffice.plots.audit_charts import (
    cohort_chart,
    cover_chart,
    gap_chart,
    reasons_chart,
    reliance_chart,
    roles_chart,
)
from tests.audit.mixed_table import mixed_table, rule
from tests.plots.image_comparison import assert_matches_baseline, texts_in, texts_outside

plt = pytest.importorskip("matplotlib.pyplot")

CATALOGUE = {
    "priors": {"any": ("R1", "Earlier convictions")},
    "days held": {"any": ("R2", "Days held before")},
    "age": {"any": ("R3", "Age at the time")},
    "charge": ("R4", "Kind of charge"),
}


@pytest.fixture(autouse=True)
def plain_pictures():
    with plt.rc_context():
        plt.rcdefaults()
        plt.switch_backend("agg")
        plt.rcParams["text.hinting"] = "none"
        yield
    plt.close("all")


@cache
def decisions():
    X = mixed_table(200)
    return Explainer(rule, X, n_references=20).explain_many(X.iloc[:40])


@cache
def detained():
    return [e for e in decisions() if e.outcome == "detained"]


@cache
def results():
    return {
        "roles": audit.roles(decisions()),
        "reliance": audit.reliance(decisions(), "priors", by="sex"),
        "reasons": audit.reasons(detained(), CATALOGUE, problems="hold"),
        "cohort": audit.cohort(decisions(), by="sex"),
        "cover": audit.global_factors(decisions()),
    }


@pytest.mark.parametrize("kind", ["roles", "reliance", "reasons", "cohort", "cover"])
def test_every_audit_has_a_figure_of_its_own(kind):
    result = results()[kind]
    assert type(result).plots[0] == kind
    ax = result.plot()
    assert texts_outside(ax) == []
    assert_matches_baseline(ax, f"audit-{kind}")
    figure = plt.figure(figsize=(4, 5), facecolor="#101010")
    small = result.plot(ax=figure)
    assert texts_in(small)
    with pytest.raises(InputError, match="result"):
        getattr(suffice.plots, kind)(decisions()[0])


def test_roles_show_from_every_to_some_and_one_decision_its_words():
    found = results()["roles"]
    chart = roles_chart(found)
    for line in chart.rows:
        keep, _, shapley = line.cells
        role = found.of(line.labels[0])
        assert keep.interval == (role.indispensable / role.decisions, keep.value)
        assert keep.value == role.relevant / role.decisions
        assert shapley.value == role.shapley
    one = audit.roles(decisions()[0])
    told = {line.labels[0]: line.cells[0].text for line in roles_chart(one).rows}
    assert told == {r.feature: r.membership(True) for r in one.rows if r.view == "keep"}
    assert roles_chart(found, 2).more == "and 5 more features: .to_frame()"


def test_what_a_feature_takes_away_has_the_sign_of_every_other_figure():
    found = results()["roles"]
    against = replace(found, rows=(replace(found.rows[0], shapley=-0.25),))
    (line,) = roles_chart(against).rows
    assert line.cells[-1].text == "−0.250"


def test_reliance_shows_groups_with_intervals_and_their_gaps():
    found = results()["reliance"]
    chart = reliance_chart(found)
    assert [line.labels[0] for line in chart.rows] == ["all decisions", "female", "male"]
    for line, group in zip(chart.rows, found.groups, strict=True):
        falls, flips = line.cells
        assert (flips.value, flips.interval) == (group.flipped.share, group.flipped.interval)
        assert (falls.value, falls.interval) == (group.falls.share, group.falls.interval)
    (row,) = gap_chart(found).rows
    assert gap_chart(found).lead == (f"{found.differing}.",)
    (between,) = found.gaps
    (gap,) = row.cells
    assert (row.labels, gap.value) == (("female less male",), between.gap.difference)
    assert gap.interval == (between.adjusted.low, between.adjusted.high)


def test_reasons_show_how_often_each_is_given_and_one_decision_its_own():
    found = results()["reasons"]
    first = reasons_chart(found).rows[0]
    given = sum(r.code == "R1" for d in found for r in d.reasons)
    assert first.labels == ("Earlier convictions (R1)",)
    assert first.cells[0].value == given / len(found)
    one = audit.reasons(detained()[0], CATALOGUE)
    values = [line.cells[0].value for line in reasons_chart(one).rows]
    assert values == [r.necessity for r in one[0].reasons]


def test_figures_of_reasons_and_roles_say_what_is_held_and_what_is_not_known():
    found = results()["reasons"]
    assert reasons_chart(found).lead == tuple(filter(None, (found.asked, found.withheld)))
    held = replace(found, decisions=tuple(replace(d, problems=("?",)) for d in found))
    n = len(found)
    assert reasons_chart(held).lead[-1] == f"{n} decisions are held for review: no letter goes out."
    assert held.withheld in held.sheet.lead
    bounded = replace(results()["roles"], complete=False)
    assert roles_chart(bounded).notes[-1] == bounded.caveats[0] == bounded.sheet.notes[-1]


def test_one_code_for_several_features_is_counted_once_in_a_decision():
    same = {name: {"any": ("R0", "Your record")} for name in CATALOGUE}
    found = audit.reasons(detained(), same, problems="hold")
    (line,) = reasons_chart(found).rows
    assert line.labels == ("Your record (R0)",)
    assert any(len(d.reasons[0].features) > 1 for d in found if d.reasons)
    assert line.cells[0].value == sum(bool(d.reasons) for d in found) / len(found)


def test_a_cohort_shows_each_part_with_shares_and_its_barcode():
    found = results()["cohort"]
    lines = iter(cohort_chart(found, 3).rows)
    for part in found.parts:
        assert next(lines).labels[0].startswith(f"To {part.view} “{part.who}”")
        bars = {features: (low, high) for features, low, high in part.barcode}
        for s in part.sets[:3]:
            share, bar = next(lines).cells
            assert (share.value, share.interval) == (s.share.share, s.share.interval)
            assert bar.interval == bars.get(s.features)


def test_few_sets_are_shown_one_after_another_up_to_what_was_wanted():
    found = results()["cover"]
    chart = cover_chart(found)
    (column,) = chart.columns
    assert (column.reference, column.reference_label) == (0.9, "wanted: 90%")
    covered = [row.cells[0].interval for row in chart.rows]
    assert covered[-1][1] == pytest.approx(found.covered / found.n)
    assert all(one[1] == other[0] for one, other in pairwise(covered))


def test_gaps_of_reliance_are_shown_up_to_most():
    found = results()["reliance"]
    many = replace(found, gaps=found.gaps * 13)
    assert len(gap_chart(many, 12).rows) == 12
    assert gap_chart(many, 12).more == "and 1 more gap: .gaps"
