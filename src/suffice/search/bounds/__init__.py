"""The search by bounds: whole cubes of the lattice closed at once, at one τ."""

from suffice.search.bounds.search import bounded_search

__all__ = ["bounded_search"]
