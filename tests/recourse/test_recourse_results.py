"""The answer of recourse as a result: words, frames, JSON, pages; a sequence of its options."""

import json
import pickle
from dataclasses import FrozenInstanceError, replace
from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from suffice import Explainer, InputError, Option, Recourse
from suffice.plots.result_charts import chart_of
from suffice.results import Result, result_schema
from tests.recourse.loan_cases import loans_explainer

X = pd.DataFrame(
    {
        "member": [False, True, False, True],
        "since": pd.to_datetime(["2020-01-31", "2021-06-30", "2022-02-01", "2021-06-30"]),
        "debt": [20.0, 1 / 3, 20.0, 1 / 3],
    }
)


@pytest.fixture(scope="module")
def found():
    explainer, loans, _ = loans_explainer()
    return explainer.recourse(loans.iloc[8], immutable="age")


@pytest.fixture(scope="module")
def stuck():
    explainer, loans, _ = loans_explainer()
    return explainer.recourse(loans.iloc[8], actionable="late payments")


def test_it_is_a_sequence_of_its_options(found, stuck):
    assert len(found) == len(found.options) >= 2 and list(found) == list(found.options)
    assert found[0] is found.best and found[-1] is found.options[-1]
    assert found[:2] == found.options[:2]
    assert found.best in found and found.index(found[1]) == 1
    assert found and not stuck and stuck.best is None and list(stuck) == []
    with pytest.raises(IndexError):
        stuck[0]


def test_it_is_frozen_and_survives_being_stored_and_sent(found, stuck):
    for result in (found, stuck, *found):
        assert isinstance(result, Result)
        assert type(result).from_json(result.to_json()) == result
        assert pickle.loads(pickle.dumps(result)) == result
    with pytest.raises(FrozenInstanceError):
        found.options = ()
    with pytest.raises(TypeError, match="read-only"):
        found.best.values["income"] = 0


def test_another_kind_of_result_is_not_read_as_recourse(found):
    with pytest.raises(InputError, match="text: got a stored 'Option'"):
        Recourse.from_json(found.best.to_json())
    with pytest.raises(InputError, match="text: got"):
        Recourse.from_json('{"result": "Recourse", "version": 1, "content": {"options": 3}}')
    for kind in (Recourse, Option):
        assert result_schema(kind)["title"] == kind.__name__


def test_words_say_what_changes_what_it_costs_and_how_surely_it_works(found):
    lines = str(found).splitlines()
    assert lines[0] == f"From refused to granted: {len(found)} recourse options"
    assert lines[1].split() == ["cost", "sufficiency", "set", "necessity", "by", "chance", "change"]
    assert lines[2].endswith(found.best.text) and f"{found.best.cost:.3g}" in lines[2]
    assert "The model verified every change: each gives the desired outcome." in str(found)
    legend = (
        "Set necessity: of all changes that do it, the share that change at least these features"
    )
    assert legend in " ".join(str(found).split())
    assert repr(found) == f"<Recourse: From refused to granted: {len(found)} recourse options>"
    assert repr(found.best) == f"<Option: {found.best.text}>"
    words = " ".join(str(found.best).split())
    assert words.startswith(found.best.text) and "Cost: " in words
    assert f"Of the {found.best.n} references whose values are allowed here" in words


def test_no_way_is_said_with_its_reason(stuck):
    assert str(stuck).startswith("From refused to granted: no recourse option found\n  ")
    assert "if it could change" in str(stuck) and not stuck.feasible
    assert stuck.to_frame().empty


def test_what_is_left_out_for_max_options_is_shown_everywhere(found):
    explainer, loans, _ = loans_explainer()
    few = explainer.recourse(loans.iloc[8], immutable="age", max_options=1)
    assert few == replace(found, options=found[:1], more=len(found) - 1)
    assert few.complete and few.reason is None
    title = f"From refused to granted: the cheapest of {len(found)} recourse options"
    assert str(few).startswith(f"{title}\n") and chart_of(few, 12).title == title
    for text in (str(few), few.to_html()):
        assert f"Left out for max_options: {len(found) - 1} option" in text
    assert json.loads(few.to_json())["content"]["more"] == len(found) - 1
    assert Recourse.from_json(few.to_json()) == few
    assert explainer.recourse(loans.iloc[8], immutable="age", max_options=len(found)) == found
    assert "max_options" not in str(found)


def test_a_search_that_ends_with_the_cheapest_says_that_there_may_be_more():
    explainer, loans, _ = loans_explainer()
    few = explainer.recourse(loans.iloc[8], values="grid", max_options=1)
    assert len(few) == 1 and few.more is None
    assert (
        few.sheet.title
        == "From refused to granted: the cheapest recourse option; there may be more"
    )
    assert "The search ended with the cheapest, because of max_options." in few.sheet.notes
    with pytest.raises(InputError, match="more: got -1"):
        replace(few, more=-1)


def test_frames_have_a_row_per_option_and_per_column(found):
    frame = found.to_frame()
    assert list(frame["cost"]) == [o.cost for o in found]
    assert list(frame["changes"]) == [o.text for o in found]
    option = found.best
    columns = option.to_frame()
    assert list(columns["column"]) == list(option.values)
    assert list(columns["new"]) == list(option.values.values())


def test_a_page_and_a_fragment_say_the_same(found, tmp_path):
    page = found.to_html(tmp_path / "recourse.html")
    assert (tmp_path / "recourse.html").read_text(encoding="utf-8") == page
    assert "income" in page and "income" in found._repr_html_()
    with pytest.raises(InputError, match="kind: got 'barcode'; allowed: 'recourse'"):
        found.plot("barcode")


def test_shares_are_never_rounded_up_to_certainty(found):
    nearly = replace(found.best, hits=997, n=1000, necessity=0.997, reliability=0.999)
    text = str(replace(found, options=(nearly,)))
    assert "100%" not in text and text.count(">99%") == 3
    assert "100%" not in str(nearly)
    rarely = replace(found.best, hits=1, n=1000)
    assert "<1%" in str(replace(found, options=(rarely,)))


def test_truth_values_and_dates_are_shown_as_people_write_them():
    explainer = Explainer(lambda rows: rows["member"].to_numpy().astype(int), X)
    x = {"member": False, "since": datetime(2020, 1, 31), "debt": 20.0}
    r = explainer.recourse(x)
    assert r.best.text == "member no → yes"
    late = Explainer(lambda rows: (rows["since"] > "2021").to_numpy().astype(int), X).recourse(x)
    assert late.best.text == "since 2020-01-31 → 2021-06-30"
    assert late.best.values == {"since": "2021-06-30T00:00:00"}
    less = Explainer(lambda rows: (rows["debt"] < 1).to_numpy().astype(int), X).recourse(x)
    assert less.best.text == "debt 20 → 0.3333"
    assert type(less).from_json(less.to_json()) == less


def test_a_set_that_was_not_counted_shows_no_share(found):
    unknown = replace(found.best, hits=None, necessity=None)
    assert unknown.sufficiency is None and unknown.interval is None
    assert "–" in str(replace(found, options=(unknown,))) and "give the" not in str(unknown)
    nobody = replace(found.best, n=0, hits=0)
    assert nobody.sufficiency is None and nobody.interval is None


def test_many_options_are_cut_with_a_word(found):
    many = replace(found, options=found.options[:1] * 13)
    assert "… and 3 more: .options" in str(many)
    assert len(many.to_frame()) == 13


def test_an_interval_holds_its_share(found):
    for option in found:
        low, high = option.interval
        assert 0 <= low <= option.sufficiency <= high <= 1
        assert option.sufficiency == np.float64(option.hits) / option.n
