"""The pruned search: every set decided at one τ, from as few model rows as it takes."""

from suffice.search.pruned.search import Pruned, pruned_search

__all__ = ["Pruned", "pruned_search"]
