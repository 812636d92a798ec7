"""The greedy search: sets of any size, from many starts, each of them verified."""

from suffice.search.greedy.memo import Memo
from suffice.search.greedy.search import Greedy, greedy_search

__all__ = ["Greedy", "Memo", "greedy_search"]
