"""The streamed search: every set counted and decided at one τ, up to 30 players."""

from suffice.search.streamed.search import streamed_search

__all__ = ["streamed_search"]
