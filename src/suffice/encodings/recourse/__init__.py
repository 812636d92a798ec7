"""Recourse (Prop. 3): the cheapest changes that suffice for another outcome, under constraints."""

from suffice.encodings.recourse.find import Wish, find_recourse
from suffice.encodings.recourse.options import Option, Recourse

__all__ = ["Option", "Recourse", "Wish", "find_recourse"]
