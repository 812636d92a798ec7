"""Figures of rankings and other tools against the best sets: the paper's Figure 2, and grades."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.attribution import shapley_values
from suffice.audit.grade_result import Grade
from suffice.audit.grade_scoring import SetMark
from suffice.audit.tool_grades import Grades
from suffice.errors import InputError
from suffice.explanation import Explanation, View, as_views
from suffice.formatting import percent, plural, printable
from suffice.inference import Share
from suffice.plots.canvas import (
    Ink,
    axes_for,
    axes_legend,
    ink_for,
    label_axes,
    require_result,
    set_label,
)
from suffice.plots.lettering import fonts
from suffice.plots.result_charts import measures
from suffice.ranking import Ranking, TopK, top_k
from suffice.summary import summarise
from suffice.typing import ViewName

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class SizePoint:
    """Sufficiency of the set of k features that a method selects."""

    k: int
    sufficiency: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class SelectionCurve:
    """Sufficiency by k for one way to select k features: the best set, or first of a ranking."""

    label: str
    best: bool
    points: tuple[SizePoint, ...]


@dataclass(frozen=True)
class RankingComparison:
    """Selection curves of one view."""

    view: ViewName
    title: str
    curves: tuple[SelectionCurve, ...]
    """Curves, that of the best sets first."""
    note: str
    """Sizes of which not every set was evaluated; "" where there are none."""


def compare(
    result: Explanation | View | TopK,
    *,
    ranking: Ranking | Mapping[str, Ranking] | None = None,
    absolute: bool = False,
    ax: Any = None,
) -> Axes:
    """Draw the first k features of a ranking against the best set of k features, for every k.

    Parameters
    ----------
    result
        An explanation, one of its views, or a result of `top_k`, which has one k.
    ranking
        As for `top_k`; or several, {"by SHAP": ranking, …}. None: exact Shapley values.
    absolute
        Rank by the absolute value of scores.
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
        if ranking is not None:
            raise InputError("ranking", ranking, "None for a result of top_k, which has a ranking")
        return measures(result, ax=ax)
    found = [comparison_of(view, ranking, absolute) for view in as_views(result)]
    if len(found) == 1:
        only = axes_for(ax, (5.2, 3.8))
        _draw_comparison(found[0], only)
        return only
    host = axes_for(ax, (9.6, 3.8), bare=True)
    host.set_axis_off()
    for number, one in enumerate(found):
        _draw_comparison(one, host.inset_axes((0.075 + 0.5 * number, 0.16, 0.41, 0.72)), host)
    return host


def comparison_of(
    view: View, ranking: Ranking | Mapping[str, Ranking] | None = None, absolute: bool = False
) -> RankingComparison:
    """Return the selection curves of a view, for every size whose sets were all evaluated."""
    tally = view.tally
    # The best set of a size is known only if all sets of that size were counted.
    sizes = [k for k in range(tally.d + 1) if len(tally.levels[k]) == tally.lattice.width(k)]
    named = dict(_named_rankings(view, ranking))
    curves: list[SelectionCurve] = []
    for name, given in named.items():
        found = [top_k(view, k, ranking=given, absolute=absolute) for k in sizes]
        # The best sets are the same for every ranking, so their curve is drawn once.
        if not curves:
            best = tuple(SizePoint(one.k, one.best_sufficiency) for one in found)
            curves.append(SelectionCurve("the best set of k features", True, best))
        points = tuple(SizePoint(one.k, one.sufficiency) for one in found)
        curves.append(SelectionCurve(printable(name), False, points))
    left_out = [k for k in range(tally.d + 1) if k not in sizes]
    note = ""
    if left_out:
        note = f"Sets of {left_out[0]} to {left_out[-1]} features were not all evaluated."
    (words,) = summarise(view, most=1).views
    return RankingComparison(view.name, words.title, tuple(curves), note)


def _named_rankings(view: View, ranking: Any) -> Iterator[tuple[str, Ranking]]:
    """Yield each ranking with its label."""
    if ranking is None:
        yield "the first k by exact Shapley values", shapley_values(view)
    elif _is_several_rankings(ranking):
        for name, one in ranking.items():
            if one is None:
                raise InputError("ranking", f"None for {name!r}", "a ranking for each name")
            yield str(name), one
    else:
        yield "the first k of the ranking", ranking


def _is_several_rankings(ranking: Any) -> bool:
    """Return whether a mapping holds rankings by name, and not scores by feature."""
    if not isinstance(ranking, Mapping) or not ranking:
        return False
    return not any(isinstance(score, int | float | np.number) for score in ranking.values())


def _draw_comparison(found: RankingComparison, ax: Axes, host: Axes | None = None) -> None:
    ink, letters = ink_for(host or ax), fonts()
    ax.patch.set_alpha(0.0)
    draw_selection_curves(found.curves, ax, ink)
    verb = "held" if found.view == "keep" else "replaced"
    label_axes(ax, ink, f"k features {verb}", "sufficiency", found.title, ink.for_view(found.view))
    if found.note:
        words = ax.text(0.02, 0.02, "", transform=ax.transAxes)
        set_label(words, found.note, letters, color=ink.soft, fontsize=8)


def draw_selection_curves(
    curves: Sequence[SelectionCurve], ax: Axes, ink: Ink | None = None
) -> None:
    """Draw a line for each curve, with its own colour, dash and marker; a band for intervals."""
    ink = ink or ink_for(ax)
    styles = [
        (ink.keep, "o", "-"),
        (ink.flip, "s", (0, (5, 1.5))),
        (ink.other, "^", (0, (1.5, 1.2))),
        (ink.soft, "D", (0, (6, 1.5, 1, 1.5))),
    ]
    for number, curve in enumerate(curves):
        color, mark, dash = styles[number % len(styles)]
        ks = [point.k for point in curve.points]
        shares = [point.sufficiency for point in curve.points]
        ax.plot(ks, shares, color=color, marker=mark, ms=5, ls=dash, lw=1.6, label=curve.label)
        bands = [point.interval for point in curve.points if point.interval is not None]
        if bands and len(bands) == len(ks):
            lows, highs = zip(*bands, strict=True)
            ax.fill_between(ks, lows, highs, color=color, alpha=0.15, lw=0)
    ax.set_ylim(0, 1.05)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1.0], ["0%", "25%", "50%", "75%", "100%"])
    sizes = sorted({point.k for curve in curves for point in curve.points})
    ax.set_xticks(sizes if len(sizes) <= 16 else sizes[:: -(-len(sizes) // 12)])
    axes_legend(ax, ink, fontsize=8.5, handlelength=3.5, loc="best")


# Grades of other tools, after Figures 2 to 4 of the paper.


BestAndTool = tuple[float, float]
_PANEL_WIDTH, _PANEL_HEIGHT = 4.9, 4.0
_MARKERS = "os^Dv"


@dataclass(frozen=True)
class GradeFigure:
    """Data of the figure; a panel is empty where no tool makes claims of its kind."""

    tau: float
    verb: str
    """Whether the features of rankings are "held" or "replaced"."""
    curves: tuple[SelectionCurve, ...]
    """Means over decisions for the best sets and for the first k features of each ranking."""
    rules: tuple[tuple[str, tuple[float, ...]], ...]
    """Precisions of the rules of each tool, the lowest first."""
    costs: tuple[tuple[str, tuple[BestAndTool, ...]], ...]
    """By tool and decision: the lowest possible cost, and the cost of the tool's change."""
    sets: tuple[tuple[str, tuple[BestAndTool, ...]], ...]
    """By tool and decision: the best sufficiency of that size, and that of the tool's set."""


def grades(result: Grade | Grades, *, ax: Any = None) -> Axes:
    """Draw the claims of other tools against the best possible, with a panel for each kind.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt", "late payments"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> tools = {"by hand": ["debt", "income", "late payments"], "a rule": "income > 40"}
    >>> found = suffice.audit.grade(suffice.Explainer(model, X), X.iloc[:5], tools)
    >>> ax = suffice.plots.grades(found)
    """
    require_result(result, Grade | Grades, "a result of audit.grade")
    found = grade_figure_of(result)
    parts = list(_panels(found))
    if not parts or (isinstance(result, Grade) and not found.curves):
        return measures(result, ax=ax)
    host = axes_for(ax, (_PANEL_WIDTH * len(parts), _PANEL_HEIGHT), bare=True)
    host.set_axis_off()
    wide = 1 / len(parts)
    for number, draw in enumerate(parts):
        inset = host.inset_axes(((number + 0.16) * wide, 0.17, 0.78 * wide, 0.7))
        inset.patch.set_alpha(0.0)
        draw(inset, ink_for(host))
    return host


def grade_figure_of(result: Grade | Grades) -> GradeFigure:
    """Return the data of the figure of grades."""
    if isinstance(result, Grade):
        by_tool = {result.tool or "its first k features": [result]}
    else:
        by_tool = {
            name: [e.grade for e in result.entries if e.tool == name and e.grade is not None]
            for name in result.tool_names
        }
    of = {
        kind: {name: own for name, some in by_tool.items() if (own := _of_kind(some, kind))}
        for kind in ("ranking", "rule", "counterfactuals", "set")
    }
    views = {g.view for some in of["ranking"].values() for g in some}
    return GradeFigure(
        tau=result.tau,
        verb="replaced" if views == {"flip"} else "held",
        curves=tuple(_selection_curves(of["ranking"])),
        rules=tuple((printable(name), _precisions(some)) for name, some in of["rule"].items()),
        costs=tuple(
            (printable(name), _costs(some)) for name, some in of["counterfactuals"].items()
        ),
        sets=tuple((printable(name), _sufficiencies(some)) for name, some in of["set"].items()),
    )


def _of_kind(grades: Sequence[Grade], kind: str) -> list[Grade]:
    return [grade for grade in grades if grade.kind == kind]


def _selection_curves(rankings: dict[str, list[Grade]]) -> Iterator[SelectionCurve]:
    """Yield curves of means over decisions, up to the size that every decision has."""
    best: SelectionCurve | None = None
    curves = []
    for name, some in rankings.items():
        sizes = range(1, min(len(grade.marks) for grade in some) + 1)
        by_size = [[grade.marks[k - 1] for grade in some] for k in sizes]
        points = tuple(
            _size_point(k, marks, _tool_sufficiency)
            for k, marks in zip(sizes, by_size, strict=True)
        )
        curves.append(SelectionCurve(printable(name), False, points))
        known = all(mark.best_hits is not None for marks in by_size for mark in marks)
        if known and (best is None or len(points) > len(best.points)):
            tops = zip(sizes, by_size, strict=True)
            best = SelectionCurve(
                "the best set of k",
                True,
                tuple(_size_point(k, marks, _best_sufficiency) for k, marks in tops),
            )
    if best is not None:
        yield best
    yield from curves


def _tool_sufficiency(mark: SetMark) -> float:
    return mark.sufficiency


def _best_sufficiency(mark: SetMark) -> float:
    return mark.best_sufficiency or 0.0


def _size_point(k: int, marks: list[SetMark], of: Callable[[SetMark], float]) -> SizePoint:
    """Return the mean with its normal 95% interval, as in the paper; exact for a single set."""
    shares = np.array([of(mark) for mark in marks])
    mean = float(shares.mean())
    if len(shares) == 1:
        n = marks[0].n
        return SizePoint(k, mean, Share(round(mean * n), n).interval)
    half = 1.96 * float(shares.std(ddof=1)) / np.sqrt(len(shares))
    return SizePoint(k, mean, (max(0.0, mean - half), min(1.0, mean + half)))


def _precisions(grades: list[Grade]) -> tuple[float, ...]:
    known = [g.rule.rule.precision for g in grades if g.rule is not None]
    return tuple(sorted(precision for precision in known if precision is not None))


def _costs(grades: list[Grade]) -> tuple[BestAndTool, ...]:
    return tuple(
        (g.cheapest.cost, g.row.cost)
        for g in grades
        if g.cheapest is not None and g.row is not None and g.row.flips and g.row.cost is not None
    )


def _sufficiencies(grades: list[Grade]) -> tuple[BestAndTool, ...]:
    marks = [g.mark for g in grades if g.mark is not None]
    return tuple(
        (m.best_sufficiency, m.sufficiency) for m in marks if m.best_sufficiency is not None
    )


# -- drawing ------------------------------------------------------------------------------


def _panels(found: GradeFigure) -> Iterator[Callable[[Axes, Ink], None]]:
    if found.curves:
        yield lambda ax, ink: _draw_rankings(found, ax, ink)
    if any(precisions for _, precisions in found.rules):
        yield lambda ax, ink: _draw_rules(found, ax, ink)
    if any(pairs for _, pairs in found.costs):
        yield lambda ax, ink: _draw_pairs(
            found.costs,
            ax,
            ink,
            "cost of the cheapest change to a reference",
            "cost of its cheapest",
            "Counterfactuals",
        )
    if any(pairs for _, pairs in found.sets):
        yield lambda ax, ink: _draw_pairs(
            found.sets, ax, ink, "best sufficiency of that size", "sufficiency", "Sets", shares=True
        )


def _draw_rankings(found: GradeFigure, ax: Axes, ink: Ink) -> None:
    draw_selection_curves(found.curves, ax, ink)
    title = "Rankings: their first k features"
    label_axes(ax, ink, f"k features {found.verb}", "sufficiency", title)


def _draw_rules(found: GradeFigure, ax: Axes, ink: Ink) -> None:
    """Draw the precisions of rules, the lowest first; points below τ are rules that fall short."""
    most = max(len(precisions) for _, precisions in found.rules)
    for number, (name, precisions) in enumerate(found.rules):
        if precisions:
            places = np.arange(1, len(precisions) + 1)
            short = sum(precision < found.tau for precision in precisions) / len(precisions)
            label = f"{name}: {percent(short)} below τ"
            ax.plot(places, precisions, color=_colour(ink, number), marker=_MARKERS[number % 5],
                    ms=3.5, lw=1.2, label=label)  # fmt: skip
    ax.axhline(found.tau, color=ink.soft, lw=1.0, ls=(0, (1.5, 1.5)))
    low = min(min(precisions, default=1.0) for _, precisions in found.rules)
    ax.set_ylim(max(0.0, min(low, found.tau) - 0.05), 1.02)
    ax.set_xlim(0, most + 1)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes_legend(ax, ink, fontsize=8.5, loc="lower right")
    label_axes(ax, ink, "rules, the least precise first", "precision", "Rules: how precise")


def _draw_pairs(
    tools: tuple[tuple[str, tuple[BestAndTool, ...]], ...],
    ax: Axes,
    ink: Ink,
    x: str,
    y: str,
    title: str,
    shares: bool = False,
) -> None:
    """Draw a point for each decision; on the diagonal a tool is as good as the best possible."""
    every = [pair for _, pairs in tools for pair in pairs]
    ends = (
        (1.0, 1.0) if shares else tuple(1.15 * (max(of) or 1.0) for of in zip(*every, strict=True))
    )
    ax.plot([0, min(ends)], [0, min(ends)], color=ink.soft, lw=1.0, ls=(0, (1.5, 1.5)))
    for number, (name, pairs) in enumerate(tools):
        if pairs:
            xs, ys = zip(*pairs, strict=True)
            label = f"{name}: {plural(len(pairs), 'decision')}"
            ax.plot(xs, ys, color=_colour(ink, number), marker=_MARKERS[number % 5], ls="", ms=4.5,
                    alpha=0.75, mew=0, label=label)  # fmt: skip
    ax.set_xlim(0, ends[0] * 1.02)
    ax.set_ylim(0, ends[1] * 1.02)
    if shares:
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes_legend(ax, ink, fontsize=8.5, loc="upper left" if shares else "lower right")
    label_axes(ax, ink, x, y, title if shares else f"{title}: what they cost")


def _colour(ink: Ink, number: int) -> str:
    return (ink.flip, ink.other, ink.keep, ink.soft)[number % 4]
