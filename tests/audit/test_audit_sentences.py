"""One, none and many, as the sheets of audits say them."""

from suffice.audit import GlobalFactors, Reliance, Roles, Stability
from suffice.audit.global_factors import GlobalFactor
from suffice.audit.reliance import GroupReliance, RelianceGap
from suffice.audit.roles import Role
from suffice.audit.shares import Gap, Share
from suffice.audit.stability_result import StableDecision, StableOption
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


def relied(flips: int, falls: Share, some: int, every: int, asked: int = 10) -> Sheet:
    group = GroupReliance(
        protected="sex", group=None, decisions=10, flipped=Share(flips, asked),
        in_some=Share(some, 10), in_every=Share(every, 10), falls=falls,
    )  # fmt: skip
    return Reliance((("sex", ("sex",)),), (), (group,), (), "swapped").sheet


def test_reliance_on_a_feature():
    told = relied(3, Share(1, 10), 4, 2).lead[0]
    assert "flips 3 of 10 decisions for some reference (95% interval 7% to 65%); " in told
    assert "with all else held and it left open, 1 does not stand;" in told
    assert told.endswith(
        "it is in some minimal set of 4 of the decisions, and in every minimal set of 2."
    )
    told = relied(0, Share(0, 10), 4, 0).lead[0]
    assert "flips none of 10 decisions (95% interval 0% to 31%); with all else held" in told
    assert "it left open, all stand;" in told
    assert told.endswith(
        "in some minimal set of 4 of the decisions, and in every minimal set of none."
    )
    assert "all 9 that were counted stand" in relied(0, Share(0, 9), 4, 0).lead[0]
    assert "2 of 9 that were counted do not stand" in relied(0, Share(2, 9), 4, 0).lead[0]


def test_reliance_where_little_was_counted_clears_nothing():
    sheet = relied(0, Share(0, 0), 4, 2, asked=0)
    (told,) = sheet.lead
    assert "flips none" not in told and "0% to 100%" not in told
    assert told.startswith(
        "sex: whether changing it alone flips any of 10 decisions is not known (that set was "
        "not counted; explain with search='exhaustive', and where decisions are stored, write them "
        "with counts=True); whether they stand with all else held and it left open"
    )
    assert sheet.panels[0].texts[0][3:] == ("–", "40% (12–74%)", "20% (3–56%)", "–", "0", "0")
    assert "is not known" in relied(0, Share(0, 0), 0, 0, asked=0).lead[0]


def test_reliance_where_some_were_not_asked_is_told_of_those_that_were():
    sheet = relied(2, Share(0, 10), 4, 2, asked=6)
    assert (
        "flips 2 of 6 decisions for some reference (95% interval 4% to 78%; 4 more were not counted)"
        in (sheet.lead[0])
    )
    assert sheet.panels[0].texts[0][3] == "33% (4–78%)"
    assert [column.heading for column in sheet.panels[0].columns[-2:]] == [
        "flips counted",
        "freed counted",
    ]
    assert sheet.panels[0].rows[0][-2:] == (6, 10)
    assert "no random sample of all" in sheet.notes[-1] and "counts=True" in sheet.notes[-1]
    assert relied(0, Share(0, 10), 0, 0, asked=6).lead[0] == (
        "sex: no decision of 6 was found to rest on it (if these are a sample, at most 46% of all "
        "do; 4 more were not counted)."
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


def test_reliance_is_told_of_each_set_of_features_by_its_name():
    none = Share(0, 4)
    groups = tuple(
        GroupReliance(name, group, 4, none, none, none, none)
        for name in ("sex", "age and sex")
        for group in (None, "north")
    )
    sets = ("sex", ("sex",)), ("age and sex", ("age", "sex"))
    found = Reliance(sets, (), groups, (), "swapped")
    assert found.sheet.lead == found.told
    assert found.told[1].startswith("age and sex: no decision of 4 was found to rest on them")


def test_gaps_between_groups_are_told_in_whole_points_with_a_minus_sign():
    none = Share(0, 4)
    whole = GroupReliance("sex", None, 4, none, none, none, none)
    between = RelianceGap("sex", ("f", "m"), Gap(-0.5, -0.704, 0.001, 0.2), 0.4)
    found = Reliance((("sex", ("sex",)),), (), (whole,), (between,), "swapped")
    told = (
        "sex: f less m: −50 (−70 to 0) points of decisions that are flipped so (adjusted p = 0.4)."
    )
    assert found.sheet.lead[-1] == told
    (row,) = gap_chart(found).rows
    assert row.cells[0].text == "−50 (−70 to 0)"
