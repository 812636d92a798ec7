"""How figures look: one place, no global style touched."""

from typing import Any

__all__ = ["ACCENT", "GREY", "OURS", "THEIRS", "new_figure", "tidy"]

OURS = "#1f5f99"
THEIRS = "#c8631b"
ACCENT = "#4c8c4a"
GREY = "#8a929b"


def new_figure(width: float = 7.0, height: float = 3.2, columns: int = 1, **options: Any) -> Any:
    """A figure with its axes, not registered anywhere."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    return figure, figure.subplots(1, columns, **options)


def tidy(ax: Any, x: str = "", y: str = "", title: str = "") -> None:
    """Labels, and no more lines than needed."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if title:
        ax.set_title(title, loc="left", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=9)
