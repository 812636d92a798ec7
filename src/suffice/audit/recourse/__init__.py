"""Global recourse: the fewest changes that work for a share of the refused, tried on every row."""

from suffice.audit.recourse.ask import global_recourse
from suffice.audit.recourse.facts import GlobalChange, Move, RowRecourse
from suffice.audit.recourse.result import GlobalRecourse

__all__ = ["GlobalChange", "GlobalRecourse", "Move", "RowRecourse", "global_recourse"]
