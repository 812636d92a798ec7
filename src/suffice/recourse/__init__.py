"""Recourse (Prop. 3): the cheapest changes that suffice for another outcome, under constraints."""

from suffice.recourse.constraints import RecourseRequest
from suffice.recourse.option import Option, Recourse
from suffice.recourse.solver import find_recourse

__all__ = ["Option", "Recourse", "RecourseRequest", "find_recourse"]
