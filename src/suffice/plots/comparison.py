"""A ranking's first k features against the best set of each size: the paper's Figure 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from suffice.encodings.ranking import Ranking, TopK, top_k
from suffice.encodings.shapley import shapley_values
from suffice.errors import InputError
from suffice.explanation import Explanation, View
from suffice.plots.canvas import Ink, axes_for, ink_for, label, tidy
from suffice.plots.lettering import fonts
from suffice.plots.signature import as_views
from suffice.summary import summarise
from suffice.wording import harmless

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BySize", "Comparison", "Way", "compare", "comparison_of", "draw_ways"]


@dataclass(frozen=True)
class BySize:
    """How surely the sets of one way suffice, of one size."""

    k: int
    sufficiency: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Way:
    """A way to choose k features: the best set of that size, or the first k of a ranking."""

    label: str
    best: bool
    points: tuple[BySize, ...]


@dataclass(frozen=True)
class Comparison:
    """The ways of one view, held against each other."""

    view: Literal["keep", "flip"]
    title: str
    ways: tuple[Way, ...]
    """The best sets first."""
    note: str
    """Which sizes were not all evaluated; "" where all were."""


def compare(
    result: Explanation | View | TopK,
    *,
    ranking: Ranking | Mapping[str, Ranking] | None = None,
    absolute: bool = False,
    ax: Any = None,
) -> Axes:
    """The first k features of a ranking against the best set of k features, for every k.

    Parameters
    ----------
    result
        An explanation, one of its views, or what `top_k` answers, which has one k.
    ranking
        As for `top_k`; or several, {"by SHAP": ranking, …}. None: exact Shapley values.
    absolute
        Rank by the size of scores, whatever their sign.
    ax
        Axes to draw into, or a figure; None: a figure of its own.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt", "late payments"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> e = suffice.Explainer(model, X)(X.iloc[8])
    >>> ax = suffice.plots.compare(e)
    >>> guess = ["debt", "income", "late payments"]
    >>> ax = suffice.plots.compare(e.keep, ranking={"by guess": guess})
    """
    if isinstance(result, TopK):
        from suffice.plots.charted import measures

        if ranking is not None:
            raise InputError("ranking", ranking, "None for what top_k answers, which has its own")
        return measures(result, ax=ax)
    found = [comparison_of(view, ranking, absolute) for view in as_views(result)]
    if len(found) == 1:
        only = axes_for(ax, (5.2, 3.8))
        _draw(found[0], only)
        return only
    host = axes_for(ax, (9.6, 3.8), bare=True)
    host.set_axis_off()
    for number, one in enumerate(found):
        _draw(one, host.inset_axes((0.075 + 0.5 * number, 0.16, 0.41, 0.72)), host)
    return host


def comparison_of(
    view: View, ranking: Ranking | Mapping[str, Ranking] | None = None, absolute: bool = False
) -> Comparison:
    """The facts: for every size whose sets were all evaluated, each way's sufficiency."""
    tally = view.tally
    sizes = [k for k in range(tally.d + 1) if len(tally.levels[k]) == tally.lattice.width(k)]
    named = dict(_named(view, ranking))
    ways: list[Way] = []
    for name, given in named.items():
        found = [top_k(view, k, ranking=given, absolute=absolute) for k in sizes]
        if not ways:
            best = tuple(BySize(one.k, one.best_sufficiency) for one in found)
            ways.append(Way("the best set of k features", True, best))
        points = tuple(BySize(one.k, one.sufficiency) for one in found)
        ways.append(Way(harmless(name), False, points))
    left_out = [k for k in range(tally.d + 1) if k not in sizes]
    note = ""
    if left_out:
        note = f"Sets of {left_out[0]} to {left_out[-1]} features were not all evaluated."
    (words,) = summarise(view, most=1).views
    return Comparison(view.name, words.title, tuple(ways), note)


def _named(view: View, ranking: Any) -> Iterator[tuple[str, Ranking]]:
    """Each ranking with what it is called."""
    if ranking is None:
        yield "the first k by exact Shapley values", shapley_values(view)
    elif _several(ranking):
        for name, one in ranking.items():
            if one is None:
                raise InputError("ranking", f"None for {name!r}", "a ranking for each name")
            yield str(name), one
    else:
        yield "the first k of the ranking", ranking


def _several(ranking: Any) -> bool:
    """Rankings by name, rather than scores by feature."""
    if not isinstance(ranking, Mapping) or not ranking:
        return False
    return not any(isinstance(score, int | float | np.number) for score in ranking.values())


def _draw(found: Comparison, ax: Axes, host: Axes | None = None) -> None:
    ink, letters = ink_for(host or ax), fonts()
    ax.patch.set_alpha(0.0)
    draw_ways(found.ways, ax, ink)
    held = "held" if found.view == "keep" else "replaced"
    label(ax.xaxis.label, f"k features {held}", letters, color=ink.text)
    label(ax.yaxis.label, "sufficiency", letters, color=ink.text)
    label(ax.title, found.title, letters, color=ink.of(found.view), fontsize=11)
    if found.note:
        words = ax.text(0.02, 0.02, "", transform=ax.transAxes)
        label(words, found.note, letters, color=ink.soft, fontsize=8)


def draw_ways(ways: Sequence[Way], ax: Axes, ink: Ink | None = None) -> None:
    """A line for each way: by colour, dash and mark; a band where an interval is known."""
    ink, letters = ink or ink_for(ax), fonts()
    styles = [
        (ink.keep, "o", "-"),
        (ink.flip, "s", (0, (5, 1.5))),
        (ink.other, "^", (0, (1.5, 1.2))),
        (ink.soft, "D", (0, (6, 1.5, 1, 1.5))),
    ]
    for number, way in enumerate(ways):
        color, mark, dash = styles[number % len(styles)]
        ks = [point.k for point in way.points]
        shares = [point.sufficiency for point in way.points]
        ax.plot(ks, shares, color=color, marker=mark, ms=5, ls=dash, lw=1.6, label=way.label)
        bands = [point.interval for point in way.points if point.interval is not None]
        if bands and len(bands) == len(ks):
            lows, highs = zip(*bands, strict=True)
            ax.fill_between(ks, lows, highs, color=color, alpha=0.15, lw=0)
    ax.set_ylim(0, 1.05)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1.0], ["0%", "25%", "50%", "75%", "100%"])
    sizes = sorted({point.k for way in ways for point in way.points})
    ax.set_xticks(sizes if len(sizes) <= 16 else sizes[:: -(-len(sizes) // 12)])
    tidy(ax, ink)
    legend = ax.legend(frameon=False, fontsize=8.5, handlelength=3.5, loc="best")
    for text in legend.get_texts():
        label(text, text.get_text(), letters, color=ink.text)
