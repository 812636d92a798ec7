"""What one can choose from, in options and in the file of an audit.

These are the library's own words, said again here so that the command starts without the library; a
test holds them to it.
"""

from __future__ import annotations

__all__ = ["ADJUSTMENTS", "ENGINES", "REFERENCES", "SEARCHES"]

ADJUSTMENTS = ("none", "bonferroni", "holm", "bh")
SEARCHES = ("auto", "exhaustive", "bounds", "pruned", "greedy")
ENGINES = ("auto", "blackbox", "additive", "trees")
REFERENCES = ("opposite", "all")
