"""What the command calls the arguments that Python knows by other names."""

from __future__ import annotations

__all__ = ["OPTIONS"]

OPTIONS = {
    "data": "--data",
    "x": "--row",
    "tau": "--tau",
    "alpha": "--alpha",
    "adjust": "--adjust",
    "outcome": "--outcome",
    "references": "--references",
    "n_references": "--n-references",
    "groups": "--auto-groups",
    "max_size": "--max-size",
    "budget": "--budget",
    "time_limit": "--time-limit",
    "search": "--search",
    "engine": "--engine",
    "random_state": "--seed",
    "model": "--model",
    "classes": "--classes",
    "X": "--data",
    "out": "--out",
    "rows": "--rows",
    "id": "--id",
    "resume": "--resume",
    "workers": "--workers",
    "row_time_limit": "--row-time-limit",
    "max_errors": "--max-errors",
    "rows_per_part": "--rows-per-part",
    "text": "--text",
    "unit": "--unit",
    "mask": "--mask",
}
"""By Python's name; an error says the option that was typed."""
