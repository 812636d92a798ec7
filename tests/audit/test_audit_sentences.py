"""Sentences of audits for none, one and many."""

from suffice.audit import GlobalFactors, Reliance, Roles, Stability
from suffice.audit.global_factors import GlobalFactor
from suffice.audit.reliance import DecisionReliance, GroupReliance, RelianceGap
from suffice.audit.roles import Role
from suffice.audit.stability_result import StableDecision, StableOption
from suffice.inference import Gap, Share, Shift
from suffice.plots.audit_charts import gap_chart
from suffice.results import Sheet


def few(*sets: GlobalFactor, covered: int) -> str:
    found = GlobalFactors("keep", 10, 0.5, 3, sets, covered, len(sets), (), ())
    return found.sheet.lead[0]


def test_few_sets():
    one, other = GlobalFactor(("pay",), 4, 4), GlobalFactor(("debt",), 3, 2)
    assert few(one, covered=5).startswith("1 set of features suffices to keep 50% of 10 decisions.")
    assert few(one, other, covered=6).startswith("2 sets of features suffice to keep 60%")
    assert few(covered=0) == "No set of at most 3 features suffices to keep any of 10 decisions."


ROW = DecisionReliance(
    number=0, name="0", protected="sex", outcome="no", group=None, references=40, flips_alone=None,
    interval=None, flips_most=None, in_some=False, in_every=False, stands_freed=None, change=None,
    cost=None, complete=True,
)  # fmt: skip


def relied(flips: int, falls: Share, some: int, every: int, asked: int = 10) -> Sheet:
    group = GroupReliance(
        protected="sex", group=None, decisions=10, flipped=Share(flips, asked),
        in_some=Share(some, 10), in_every=Share(every, 10), falls=falls,
    )  # fmt: skip
    return Reliance((("sex", ("sex",)),), (ROW,), (group,), (), "swapped").sheet


def test_reliance_on_a_feature():
    told = relied(3, Share(1, 10), 4, 2).lead[0]
    assert told == (
        "sex: with all else held and it left open, 1 of 10 decisions falls (10%; 95% interval <1% "
        "to 45%); changing it alone flips 3 of 10 for some reference (up to 40 references; the "
        "count grows with their number); it is in some minimal set of 4 of the decisions, and in "
        "every minimal set of 2."
    )
    told = relied(0, Share(0, 10), 4, 0).lead[0]
    assert "none of 10 decisions fall (0%; 95% interval 0% to 31%); changing it alone" in told
    assert "flips none of 10 for any reference (up to 40 references)" in told
    assert told.endswith(
        "in some minimal set of 4 of the decisions, and in every minimal set of none."
    )
    assert relied(0, Share(1, 10), 0, 0).lead[0].endswith("; it is in no minimal set.")
    assert "none of 9 decisions that were counted fall" in relied(0, Share(0, 9), 4, 0).lead[0]
    assert "2 of 9 decisions that were counted fall" in relied(0, Share(2, 9), 4, 0).lead[0]


def test_reliance_where_little_was_counted_clears_nothing():
    sheet = relied(0, Share(0, 0), 4, 2, asked=0)
    (told,) = sheet.lead
    assert "flips none" not in told and "0% to 100%" not in told
    assert told.startswith(
        "sex: whether any of 10 decisions falls with all else held and it left open is not known "
        "(that set was not counted; explain with search='exhaustive', and where decisions are "
        "stored, write them with counts=True); whether its values alone flip any decision is not "
        "known;"
    )
    assert sheet.panels[0].texts[0][3:] == ("–", "–", "40% (12–74%)", "20% (3–56%)", "0", "0")
    assert "is not known" in relied(0, Share(0, 0), 0, 0, asked=0).lead[0]


def test_reliance_with_unknown_flips_reports_the_known_ones():
    sheet = relied(2, Share(0, 10), 4, 2, asked=6)
    assert (
        "flips 2 of 6 for some reference (up to 40 references; the count grows with their number; "
        "4 more were not counted)"
    ) in sheet.lead[0]
    assert sheet.panels[0].texts[0][4] == "33% (4–78%)"
    assert [column.heading for column in sheet.panels[0].columns[-2:]] == [
        "freed counted",
        "flips counted",
    ]
    assert sheet.panels[0].rows[0][-2:] == (10, 6)
    assert "no random sample of all" in sheet.notes[-1] and "counts=True" in sheet.notes[-1]
    assert relied(0, Share(0, 10), 0, 0, asked=6).lead[0] == (
        "sex: no decision of 6 was found to rest on it, with up to 40 references each (95% "
        "interval of the share 0% to 46%; 4 more were not counted)."
    )


def roles_of(*relevant: int, complete: bool) -> str:
    rows = tuple(
        Role("keep", name, 1, n == 2, n > 0, None, None, None, None, None)
        for name, n in zip("abc", relevant, strict=True)
    )
    return Roles(1, None, rows, complete).sheet.lead[0]


def test_a_feature_in_no_minimal_set_may_matter_all_the_same():
    told = "Nothing suffices to keep without a; b and c are in no minimal set at this threshold."
    assert roles_of(2, 0, 0, complete=True) == told
    told = "No set found suffices to keep without a; c is in none of the sets found."
    assert roles_of(2, 1, 0, complete=False) == told


def held(*works: int) -> tuple[str, ...]:
    options = tuple(StableOption("pay 3 → 4", 1.0, Share(n, 10)) for n in works)
    decision = StableDecision("0", "no", Share(10, 10), (), (), None, options)
    return Stability("a tree", 10, 0.9, "bootstrap", 50, False, (decision,)).sheet.lead


def test_ways_out_that_last():
    assert held(7)[1] == "The one recourse option works in 70% of the models."
    assert held(7, 5)[1].startswith(
        "Of 2 recourse options, none works in at least 90% of the models;"
    )
    assert held(9, 5)[1].startswith("Of 2 recourse options, 1 works in")
    assert held(9, 10)[1].startswith("Of 2 recourse options, 2 work in")


def test_reliance_is_reported_for_each_named_set_of_features():
    none = Share(0, 4)
    groups = tuple(
        GroupReliance(name, group, 4, none, none, none, none)
        for name in ("sex", "age and sex")
        for group in (None, "north")
    )
    sets = ("sex", ("sex",)), ("age and sex", ("age", "sex"))
    found = Reliance(sets, (), groups, (), "swapped")
    assert found.sheet.lead == found.findings
    assert found.findings[1].startswith("age and sex: no decision of 4 was found to rest on them")


def test_gaps_between_groups_are_reported_in_whole_points_with_a_minus_sign():
    none = Share(0, 4)
    whole = GroupReliance("sex", None, 4, none, none, none, none)
    between = RelianceGap(
        protected="sex", groups=("f", "m"), shares=(none, none), p_adjusted=0.4,
        gap=Gap(-0.5, -0.6, -0.1, 0.2), adjusted=Shift(-0.5, -0.704, 0.001),
    )  # fmt: skip
    found = Reliance((("sex", ("sex",)),), (), (whole,), (between,), "swapped")
    told = (
        "sex: f less m: −50 (−70 to 0) points of decisions that are flipped so (adjusted p = 0.4)."
    )
    assert found.sheet.lead[-1] == told
    (row,) = gap_chart(found).rows
    assert row.cells[0].text == "−50 (−70 to 0)"
