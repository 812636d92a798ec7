"""The rules about an input as an answer: words, frames, and what is stored."""

import pickle

import jsonschema
import msgspec
import numpy as np
import pytest
from hypothesis import assume, given, settings

from suffice import AnchorRules, Explainer, InputError, Rule, compare, datasets
from suffice.results import result_schema
from suffice.rules import anchor, score_rule
from tests.effort import examples
from tests.random_problems import has_both_outcomes, problems, thresholds
from tests.rules.rule_cases import alphas, cut_options, distributions, lender, unwrapped, with_cuts


@pytest.fixture(scope="module")
def loans():
    return datasets.loans(n=300)[0]


@pytest.fixture(scope="module")
def found(loans):
    return anchor(Explainer(lender, loans), loans.iloc[8])


@pytest.fixture(scope="module")
def wide(loans):
    return anchor(Explainer(lender, loans), loans.iloc[9], bounds="any")


# -- words ----------------------------------------------------------------------------------------


def test_the_answer_as_text_and_frame(wide):
    told = str(wide)
    assert told.splitlines()[0] == f"Rules for “{wide.outcome}”"
    assert f"If {wide.best.words}, the outcome is the same in" in unwrapped(told)
    assert f"{len(wide)} rules of precision at least 0.9" in told
    frame = wide.to_frame()
    assert list(frame["rule"]) == [r.words for r in wide.rules]
    assert list(frame["coverage"]) == sorted(frame["coverage"], reverse=True)
    assert (frame["low"] <= frame["precision"]).all() and (frame["precision"] >= 0.9).all()
    assert list(wide.best.to_frame()["rule"]) == [wide.best.words]


def test_the_answer_is_a_sequence_of_its_rules(wide):
    assert list(wide) == list(wide.rules) and len(wide) == len(wide.rules) > 1
    assert wide[0] == wide.best and wide[-1] == wide.rules[-1] and wide[:2] == wide.rules[:2]
    assert wide.best in wide and wide.index(wide.rules[1]) == 1


def test_long_lists_are_cut_short_and_say_so(wide):
    assert len(wide) > 5
    panel = wide.sheet.panels[0]
    assert len(panel.rows) == 5 and str(panel.more) == f"and {len(wide) - 5} more: .rules"


def test_the_words_of_one_rule(loans):
    explainer, rule = Explainer(lender, loans, outcome="granted"), compare("income", ">", 60)
    perturbed = str(score_rule(explainer, None, rule))
    assert perturbed.splitlines()[0] == "If income > 60, then “granted”"
    assert "of 300 rows of data changed to meet the rule" in perturbed
    observed = score_rule(explainer, None, rule, distribution="observed")
    assert f"of {observed.n} rows of data that meet the rule" in str(observed)
    sample = score_rule(explainer, None, rule, sample=loans[loans["income"] < 50])
    assert "No row meets the rule" in str(sample)
    assert str(score_rule(explainer, None, None)).splitlines()[0] == "Always “granted”"


def test_certainty_is_not_rounded_up(loans):
    data = np.column_stack([np.arange(1000.0), np.arange(1000.0) % 2])
    explainer = Explainer(lambda rows: (rows[:, 0] > 2).astype(int), data)
    always = score_rule(explainer, data[5], None)
    assert always.precision == 0.997
    assert ">99% of the rows that meet it" in str(always) and "100% of the rows" not in str(always)


# -- stored ---------------------------------------------------------------------------------------


@settings(max_examples=examples(40))
@given(problems(max_d=3), thresholds, alphas, distributions, cut_options)
def test_rules_read_back_answer_every_threshold_as_before(world, tau, alpha, distribution, options):
    assume(has_both_outcomes(world))
    options = with_cuts(world, options)
    a = anchor(world.explainer(), world.x, distribution=distribution, **options)
    b = AnchorRules.from_json(a.to_json())
    assert a == b and hash(a) == hash(b)
    assert b.at(tau, alpha=alpha).rules == a.at(tau, alpha=alpha).rules
    assert b.at(tau, alpha=alpha).reason == a.at(tau, alpha=alpha).reason
    for rule in a:
        assert Rule.from_json(rule.to_json()) == rule
    assert b.rule(*b.conditions.features) == a.rule(*a.conditions.features)


def test_an_answer_can_be_sent_shown_and_not_changed(found, wide):
    for answer in (found, found.best, wide):
        assert pickle.loads(pickle.dumps(answer)) == answer
        jsonschema.validate(msgspec.json.decode(answer.to_json()), result_schema(type(answer)))
        assert "\n" not in repr(answer) and repr(answer).startswith(f"<{type(answer).__name__}: ")
        assert answer.outcome in answer.to_html() and answer.outcome in answer._repr_html_()
        with pytest.raises(AttributeError):
            answer.tau = 0.5
    assert found != found.at(0.8) and found.at(0.8).at(0.9) == found


def test_rules_after_any_word_are_not_the_same_test(found):
    for alpha in ("0.05", "none", "Same"):
        with pytest.raises(InputError, match=r"alpha: got '.*'; allowed: 'same' or None or a num"):
            found.at(alpha=alpha)
    assert found.at(alpha=0.05).at(0.8).alpha == 0.05
    assert found.at(alpha=0.05).at(alpha=None) == found


def changed(text, **changes):
    envelope = msgspec.json.decode(text)
    for key, value in changes.items():
        at = envelope["content"]
        *path, last = key.split("__")
        for step in path:
            at = at[int(step) if step.isdigit() else step]
        at[int(last) if last.isdigit() else last] = value
    return msgspec.json.encode(envelope)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tau": 1.5}, "tau: got 1.5"),
        ({"alpha": 0}, "alpha: got 0"),
        ({"largest": 9}, "largest: got 9"),
        ({"largest": -1}, "largest: got -1"),
        ({"n_rows": 0}, "n_rows: got 0"),
        ({"n_rows": None}, "no counts of perturbed rows"),
        ({"n_rows": 5}, "a count of other than 0 to 5 rows"),
        ({"hits__0": [1, 2]}, "counts for other sets than those of 7 conditions"),
        ({"hits__1__0": -1}, "a count of other than 0 to 300 rows"),
        ({"hits__1__0": 301}, "a count of other than 0 to 300 rows"),
        ({"hits": None}, "no counts of perturbed rows"),
        ({"distribution": "observed"}, "counts of perturbed rows where rows are observed"),
        ({"distribution": "all"}, "Invalid enum value 'all'"),
        ({"conditions__0__tightens": True}, "a condition on 'age' that tightens no other"),
        ({"conditions__1__tightens": True}, "a condition on 'income' that tightens no other"),
        ({"conditions": []}, "largest: got 7"),
        ({"data": []}, "rows that do not say which of 7 conditions"),
        ({"data__0__satisfied": "01"}, "rows that do not say which of 7 conditions"),
        ({"data__0__satisfied": "000000x"}, "rows that do not say which of 7 conditions"),
        ({"data__0__satisfied": "1111111"}, "the same rows twice, or not in order"),
        ({"data__0__n": 0}, "n: got 0"),
        ({"data__0__n": 2**60}, "n: got 1152921504606846976"),
        ({"data__0__hits": 400}, "hits: got 400"),
    ],
)
def test_stored_rules_that_make_no_sense_are_refused(found, changes, message):
    with pytest.raises(InputError, match=message):
        AnchorRules.from_json(changed(found.to_json(), **changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hits": 400}, "hits: got 400"),
        ({"n": -1}, "n: got -1"),
        ({"tau": 0}, "tau: got 0"),
        ({"minimal_for": [0.9, 0.1]}, "minimal_for: got"),
        ({"in_data__rows": 0}, "rows: got 0"),
        ({"in_data__met": 301}, "met: got 301"),
        ({"in_data__both": 300}, "both: got 300"),
        ({"in_data__outcome": 0}, "outcome: got 0|both: got"),
        ({"factor": {"kind": "equal"}}, "Invalid value 'equal'"),
        ({"distribution": "none"}, "Invalid enum value 'none'"),
    ],
)
def test_a_stored_rule_that_makes_no_sense_is_refused(found, changes, message):
    with pytest.raises(InputError, match=message):
        Rule.from_json(changed(found.best.to_json(), **changes))


def test_stored_rules_take_no_more_memory_than_their_text():
    """Counts over the data are worked out anew: not for more sets than could have been counted."""
    condition = {"factor": {"kind": "equals", "column": "a", "value": 1}, "tightens": False}
    content = {
        "outcome": "yes",
        "tau": 0.9,
        "alpha": None,
        "distribution": "observed",
        "largest": 60,
        "conditions": [condition | {"feature": f"x{j}"} for j in range(60)],
        "data": [{"satisfied": "1" * 60, "n": 1, "hits": 1}],
        "n_rows": None,
        "hits": None,
    }
    text = msgspec.json.encode({"result": "AnchorRules", "version": 1, "content": content})
    with pytest.raises(InputError, match=r"got 1\.2e\+18 sets of conditions"):
        AnchorRules.from_json(text)
