"""The pruned search: every set decided at one τ, from as few model rows as it takes."""

from suffice.search.pruned.search import pruned_search

__all__ = ["pruned_search"]
