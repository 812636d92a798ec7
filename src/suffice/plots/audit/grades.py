"""Marks of other tools, like the paper's Figures 2 to 4 on one's own model.

Rankings: the first k features against the best set of k, for every k. Rules: how precise each is,
against τ. Counterfactuals: what the cheapest costs, against the cheapest there is. Sets: how surely
each suffices, against the best of its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from suffice.audit.grading.many import Grades
from suffice.audit.grading.marks import Mark
from suffice.audit.grading.result import Grade
from suffice.inference import clopper_pearson
from suffice.plots.canvas import Ink, axes_for, ink_for, label, require_answer, tidy
from suffice.plots.charted import measures
from suffice.plots.comparison import BySize, Way, draw_ways
from suffice.plots.lettering import fonts
from suffice.wording import count, harmless, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Graded", "graded_of", "grades"]

Pair = tuple[float, float]
_WIDE, _HIGH = 4.9, 4.0
_MARKS = "os^Dv"


@dataclass(frozen=True)
class Graded:
    """The facts of the figure; each part is empty where no tool is of its kind."""

    tau: float
    held: str
    """Are the features of rankings held or replaced?"""
    ways: tuple[Way, ...]
    """The best sets, and each ranking's first k: means over decisions."""
    rules: tuple[tuple[str, tuple[float, ...]], ...]
    """By tool, the precisions of its rules, the lowest first."""
    costs: tuple[tuple[str, tuple[Pair, ...]], ...]
    """By tool and decision: the cheapest change there is, and the tool's."""
    sets: tuple[tuple[str, tuple[Pair, ...]], ...]
    """By tool and decision: the best sufficiency of that size, and the tool's."""


def grades(result: Grade | Grades, *, ax: Any = None) -> Axes:
    """What other tools say, against what was possible: a part for each kind of claim.

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
    require_answer(result, Grade | Grades, "what audit.grade answers")
    found = graded_of(result)
    parts = list(_parts(found))
    if not parts or (isinstance(result, Grade) and not found.ways):
        return measures(result, ax=ax)
    host = axes_for(ax, (_WIDE * len(parts), _HIGH), bare=True)
    host.set_axis_off()
    wide = 1 / len(parts)
    for number, draw in enumerate(parts):
        inset = host.inset_axes(((number + 0.16) * wide, 0.17, 0.78 * wide, 0.7))
        inset.patch.set_alpha(0.0)
        draw(inset, ink_for(host))
    return host


def graded_of(result: Grade | Grades) -> Graded:
    """What is drawn, from the marks."""
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
    return Graded(
        tau=result.tau,
        held="replaced" if views == {"flip"} else "held",
        ways=tuple(_ways(of["ranking"])),
        rules=tuple((harmless(name), _precisions(some)) for name, some in of["rule"].items()),
        costs=tuple((harmless(name), _costs(some)) for name, some in of["counterfactuals"].items()),
        sets=tuple((harmless(name), _sufficiencies(some)) for name, some in of["set"].items()),
    )


def _of_kind(grades: Sequence[Grade], kind: str) -> list[Grade]:
    return [grade for grade in grades if grade.kind == kind]


def _ways(rankings: dict[str, list[Grade]]) -> Iterator[Way]:
    """Sizes that every decision has, so that means are of the same decisions."""
    best: Way | None = None
    ways = []
    for name, some in rankings.items():
        sizes = range(1, min(len(grade.marks) for grade in some) + 1)
        by_size = [[grade.marks[k - 1] for grade in some] for k in sizes]
        points = tuple(_point(k, marks, _own) for k, marks in zip(sizes, by_size, strict=True))
        ways.append(Way(harmless(name), False, points))
        known = all(mark.best_hits is not None for marks in by_size for mark in marks)
        if known and (best is None or len(points) > len(best.points)):
            tops = zip(sizes, by_size, strict=True)
            best = Way(
                "the best set of k", True, tuple(_point(k, marks, _best) for k, marks in tops)
            )
    if best is not None:
        yield best
    yield from ways


def _own(mark: Mark) -> float:
    return mark.sufficiency


def _best(mark: Mark) -> float:
    return mark.best_sufficiency or 0.0


def _point(k: int, marks: list[Mark], of: Callable[[Mark], float]) -> BySize:
    """The mean, with its normal 95% interval, as in the paper's figure; of one set, its own."""
    shares = np.array([of(mark) for mark in marks])
    mean = float(shares.mean())
    if len(shares) == 1:
        low, high = clopper_pearson(round(mean * marks[0].n), marks[0].n)
        return BySize(k, mean, (float(low), float(high)))
    half = 1.96 * float(shares.std(ddof=1)) / np.sqrt(len(shares))
    return BySize(k, mean, (max(0.0, mean - half), min(1.0, mean + half)))


def _precisions(grades: list[Grade]) -> tuple[float, ...]:
    known = [g.rule.rule.precision for g in grades if g.rule is not None]
    return tuple(sorted(precision for precision in known if precision is not None))


def _costs(grades: list[Grade]) -> tuple[Pair, ...]:
    return tuple(
        (g.cheapest.cost, g.row.cost)
        for g in grades
        if g.cheapest is not None and g.row is not None and g.row.flips and g.row.cost is not None
    )


def _sufficiencies(grades: list[Grade]) -> tuple[Pair, ...]:
    marks = [g.mark for g in grades if g.mark is not None]
    return tuple(
        (m.best_sufficiency, m.sufficiency) for m in marks if m.best_sufficiency is not None
    )


# -- drawing ------------------------------------------------------------------------------


def _parts(found: Graded) -> Iterator[Callable[[Axes, Ink], None]]:
    if found.ways:
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


def _draw_rankings(found: Graded, ax: Axes, ink: Ink) -> None:
    draw_ways(found.ways, ax, ink)
    _words(ax, ink, f"k features {found.held}", "sufficiency", "Rankings: their first k features")


def _draw_rules(found: Graded, ax: Axes, ink: Ink) -> None:
    """A step for each rule, the least precise first: where a line is below τ, rules fall short."""
    most = max(len(precisions) for _, precisions in found.rules)
    for number, (name, precisions) in enumerate(found.rules):
        if precisions:
            places = np.arange(1, len(precisions) + 1)
            short = sum(precision < found.tau for precision in precisions) / len(precisions)
            told = f"{name}: {percent(short)} below τ"
            ax.plot(places, precisions, color=_colour(ink, number), marker=_MARKS[number % 5],
                    ms=3.5, lw=1.2, label=told)  # fmt: skip
    ax.axhline(found.tau, color=ink.soft, lw=1.0, ls=(0, (1.5, 1.5)))
    low = min(min(precisions, default=1.0) for _, precisions in found.rules)
    ax.set_ylim(max(0.0, min(low, found.tau) - 0.05), 1.02)
    ax.set_xlim(0, most + 1)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    _legend(ax, ink, "lower right")
    _words(ax, ink, "rules, the least precise first", "precision", "Rules: how precise")


def _draw_pairs(
    tools: tuple[tuple[str, tuple[Pair, ...]], ...],
    ax: Axes,
    ink: Ink,
    x: str,
    y: str,
    title: str,
    shares: bool = False,
) -> None:
    """A point for each decision; on the line the tool's is as good as the best."""
    every = [pair for _, pairs in tools for pair in pairs]
    ends = (
        (1.0, 1.0) if shares else tuple(1.15 * (max(of) or 1.0) for of in zip(*every, strict=True))
    )
    ax.plot([0, min(ends)], [0, min(ends)], color=ink.soft, lw=1.0, ls=(0, (1.5, 1.5)))
    for number, (name, pairs) in enumerate(tools):
        if pairs:
            xs, ys = zip(*pairs, strict=True)
            told = f"{name}: {count(len(pairs), 'decision')}"
            ax.plot(xs, ys, color=_colour(ink, number), marker=_MARKS[number % 5], ls="", ms=4.5,
                    alpha=0.75, mew=0, label=told)  # fmt: skip
    ax.set_xlim(0, ends[0] * 1.02)
    ax.set_ylim(0, ends[1] * 1.02)
    if shares:
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:.0%}")
    _legend(ax, ink, "lower right" if not shares else "upper left")
    _words(ax, ink, x, y, title if shares else f"{title}: what they cost")


def _colour(ink: Ink, number: int) -> str:
    return (ink.flip, ink.other, ink.keep, ink.soft)[number % 4]


def _legend(ax: Axes, ink: Ink, place: Literal["lower right", "upper left"]) -> None:
    letters = fonts()
    legend = ax.legend(frameon=False, fontsize=8.5, loc=place)
    for text in legend.get_texts():
        label(text, text.get_text(), letters, color=ink.text)


def _words(ax: Axes, ink: Ink, x: str, y: str, title: str) -> None:
    letters = fonts()
    tidy(ax, ink)
    label(ax.xaxis.label, x, letters, color=ink.text)
    label(ax.yaxis.label, y, letters, color=ink.text)
    label(ax.title, title, letters, color=ink.text, fontsize=11)
