"""The analyses that ask a model, or compare with one: how a record calls each of them."""

from __future__ import annotations

from suffice.audit.analysis import Analysis, Arguments, Material
from suffice.audit.recourse import GlobalRecourse, global_recourse
from suffice.results import Result
from suffice.tables import Table

__all__ = ["ASKING"]


def _recourse(analysis: Analysis, m: Material, asked: Arguments) -> Result:
    return analysis.function(m.explainer, _seen(m).native, **asked)


def _seen(m: Material) -> Table:
    """The decisions as the model sees them."""
    assert m.rows is not None and m.explainer is not None
    return m.rows.select([m.rows.position(name, "X") for name in m.explainer.data.names])


ASKING = (
    Analysis(
        "global_recourse",
        "What would help the refused",
        global_recourse,
        GlobalRecourse,
        filled=("explainer", "X"),
        asks_model=True,
        call=_recourse,
    ),
)
