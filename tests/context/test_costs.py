"""Costs prepared for many inputs equal those computed for one."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from suffice.context.cost import column_costs, column_costs_of_table
from suffice.context.references import CachedRows, Pool, References
from suffice.tables import as_table

NUMBERS = st.sampled_from([0.0, -0.0, 1.0, 2.5, 7.0, np.inf, -np.inf, np.nan, 1e300, -1e308])
WHOLE = st.sampled_from([0, 1, 5, 2**53 + 1, -(2**62)])
WORDS = st.sampled_from(["own", "rent", "free", None])


@st.composite
def frames(draw):
    rows = draw(st.integers(4, 9))
    lists = (draw(st.lists(kind, min_size=rows, max_size=rows)) for kind in (NUMBERS, WHOLE, WORDS))
    frame = pd.DataFrame(dict(zip(("number", "whole", "word"), lists, strict=True)))
    frame["word"] = frame["word"].astype(object)
    if draw(st.booleans()):
        frame["whole"] = frame["whole"].astype("Int64")
        if draw(st.booleans()):
            frame.loc[draw(st.integers(0, rows - 1)), "whole"] = pd.NA
    frame["flag"] = frame["whole"].isna() | (frame["whole"].fillna(0) > 0)
    return frame[draw(st.permutations(list(frame.columns)))[: draw(st.integers(1, 4))]]


@pytest.mark.parametrize("cost", [None, {"number": 2.0}, {"number": np.inf, "word": 0.5}])
@given(frames(), st.integers(1, 3))
def test_shared_prices_are_those_of_each_input_alone(cost, frame, inputs):
    cost = None if cost is None else {name: w for name, w in cost.items() if name in frame}
    data = as_table(frame)
    above = CachedRows(data.take(np.arange(inputs)))
    below = References(data.take(np.arange(inputs, len(frame))))
    for place in range(inputs):
        alone = above.row(place).stack(below.table)
        shared = column_costs(Pool(above, place, below), data, cost)
        assert (shared == column_costs_of_table(alone, data, cost)).all()


def test_what_is_kept_of_references_hangs_on_data_and_cost():
    data = as_table(pd.DataFrame({"a": [0.0, 1.0, 5.0, 7.0]}))
    wide = as_table(pd.DataFrame({"a": [0.0, 10.0, 50.0, 70.0]}))
    above, below = CachedRows(data.take(np.array([0]))), References(data.take(np.array([1, 2])))
    pool = Pool(above, 0, below)
    plain, weighted = column_costs(pool, data), column_costs(pool, data, {"a": 3.0})
    assert (weighted == 3 * plain).all()
    assert (column_costs(pool, wide) == plain / 10).all()
    assert (column_costs(pool, data) == plain).all()
    assert (column_costs(pool, data, lambda column, here, there: there + 1) == [[2], [6]]).all()
