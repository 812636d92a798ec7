"""One, none and many, as the sheets of audits say them."""

import re

import pytest

from suffice import InputError
from suffice.audit import GlobalFactors, Reliance, Stability
from suffice.audit.gaps import Gap, Share
from suffice.audit.global_factors import GlobalFactor
from suffice.audit.reliance import Between, GroupReliance
from suffice.audit.stability.result import StableDecision, StableOption
from suffice.plots.audit.reliance import gap_spans


def few(*sets: GlobalFactor, covered: int) -> str:
    found = GlobalFactors("keep", 10, 0.5, 3, sets, covered, len(sets), (), ())
    return found.sheet.lead[0]


def test_few_sets():
    one, other = GlobalFactor(("pay",), 4, 4), GlobalFactor(("debt",), 3, 2)
    assert few(one, covered=5).startswith("1 set of features suffices to keep 50% of 10 decisions.")
    assert few(one, other, covered=6).startswith("2 sets of features suffice to keep 60%")
    assert few(covered=0) == "No set of at most 3 features suffices to keep any of 10 decisions."


def relied(flips: int, falls: Share, some: int, every: int) -> str:
    of = [Share(n, 10) for n in (flips, some, every)]
    group = GroupReliance(
        protected="sex", group=None, decisions=10,
        flipped=of[0], in_some=of[1], in_every=of[2], falls=falls,
    )  # fmt: skip
    return Reliance((("sex", ("sex",)),), (), (group,), (), "swapped").sheet.lead[0]


def test_reliance_on_a_feature():
    told = relied(3, Share(1, 10), 4, 2)
    assert "flips 3 of 10 decisions for some reference (7% to 65%); 1 does not stand when" in told
    assert told.endswith("it is in some minimal set of 4, and in every one of 2.")
    told = relied(0, Share(0, 10), 4, 0)
    assert "flips none of 10 decisions (0% to 31%); all stand when it is freed" in told
    assert told.endswith("in some minimal set of 4, and in every one of none.")
    assert "all that could be asked stand" in relied(0, Share(0, 9), 4, 0)


def held(*works: int) -> tuple[str, ...]:
    options = tuple(StableOption("pay 3 → 4", 1.0, Share(n, 10)) for n in works)
    decision = StableDecision("0", "no", Share(10, 10), (), (), None, options)
    return Stability("a tree", 10, 0.9, "bootstrap", 50, False, (decision,)).sheet.lead


def test_ways_out_that_last():
    assert held(7)[1] == "The one way out works in 70% of the models."
    assert held(7, 5)[1].startswith("Of 2 ways out, none works in at least 90% of the models;")
    assert held(9, 5)[1].startswith("Of 2 ways out, 1 works in")
    assert held(9, 10)[1].startswith("Of 2 ways out, 2 work in")


def test_reliance_is_told_of_each_set_of_features_by_its_name():
    none = Share(0, 4)
    groups = tuple(
        GroupReliance(name, group, 4, none, none, none, none)
        for name in ("sex", "age and sex")
        for group in (None, "north")
    )
    sets = ("sex", ("sex",)), ("age and sex", ("age", "sex"))
    found = Reliance(sets, (), groups, (), "swapped")
    assert found.sheet.lead == (found.told_of("sex"), found.told_of("age and sex"))
    assert found.told_of("age and sex").startswith("age and sex: no decision of 4 was found to ")
    says = "protected: got 'sx'; allowed: a name that was asked about. Did you mean 'sex'?"
    with pytest.raises(InputError, match=re.escape(says)):
        found.told_of("sx")


def test_gaps_between_groups_are_told_in_whole_points_with_a_minus_sign():
    none = Share(0, 4)
    whole = GroupReliance("sex", None, 4, none, none, none, none)
    between = Between("sex", ("f", "m"), Gap(-0.5, -0.704, 0.001, 0.2))
    found = Reliance((("sex", ("sex",)),), (), (whole,), (between,), "swapped")
    told = "sex: f less m: −50 points of decisions that are flipped so (−70 to 0)."
    assert found.sheet.lead[-1] == told
    (span,) = gap_spans(found).spans
    assert span.told == "−50 (−70 to 0)"
