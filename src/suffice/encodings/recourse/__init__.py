"""Recourse (Prop. 3): the cheapest changes that suffice for another outcome, under constraints."""

from suffice.encodings.recourse.request import RecourseRequest
from suffice.encodings.recourse.result import Option, Recourse
from suffice.encodings.recourse.solve import find_recourse

__all__ = ["Option", "Recourse", "RecourseRequest", "find_recourse"]
