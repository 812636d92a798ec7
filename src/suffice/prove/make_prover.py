"""Prover for a decision: read its model, cut the domain into cells, and check the reading."""

from __future__ import annotations

from suffice.context.hybrids import SwapContext
from suffice.decision import Decision
from suffice.engines.additive_model import AdditiveModel
from suffice.engines.select_engine import WRONG_TREES, Unreadable
from suffice.engines.trees.tree_model import TreeModel
from suffice.prove.domain import UNRESTRICTED, Domain, DomainKind, make_domain, with_input
from suffice.prove.leaf_boxes import EnsembleBoxes, Route, forbid, read_boxes, read_columns, routes
from suffice.prove.prover import Prover
from suffice.prove.restrictions import Restrictions


def make_prover(
    decision: Decision, kind: DomainKind, max_boxes: int, limits: Restrictions = UNRESTRICTED
) -> Prover:
    """Return a prover for the trees or the terms of a decision's model; `Unreadable` without."""
    if not isinstance(decision.context, SwapContext):
        raise Unreadable("only swapped values are proved about, not this context's")
    try:
        trees = decision.engine_selector.read_trees()
    except Unreadable as no_trees:
        return _additive_prover(decision, kind, max_boxes, limits, no_trees)
    if trees.disagrees:
        raise Unreadable(WRONG_TREES)
    reading = trees.event_margins(decision.target.event)
    fresh = bool(limits) or (kind, id(decision.data)) not in trees.domains
    domain, boxes = _encoded(trees, kind, decision, limits)
    domain_here, start = with_input(domain, trees.ensemble, decision.row)
    if domain_here is not domain:
        boxes = read_boxes(trees.ensemble, domain_here)
    ways = routes(boxes, reading.margins, decision.y != reading.reverse)
    ways = _restricted(ways, domain_here, limits)
    prover = Prover(decision, domain_here, start, ways, max_boxes, limits, ensemble=trees.ensemble)
    if fresh:
        prover.check_reading()
    return prover


def _restricted(ways: list[Route], domain: Domain, limits: Restrictions) -> list[Route]:
    """Forbid what is forbidden on every route, by its first direction."""
    return [(forbid(first, domain, limits.forbidden), *rest) for first, *rest in ways]


def _additive_prover(
    decision: Decision,
    kind: DomainKind,
    max_boxes: int,
    limits: Restrictions,
    no_trees: Unreadable,
) -> Prover:
    try:
        model = decision.engine_selector.read_additive()
    except Unreadable as reason:
        raise Unreadable(f"{no_trees}, and {reason}") from None
    if not isinstance(model, AdditiveModel):
        raise Unreadable("a model of texts has no domain of values")
    domain, start, boxes, margins = read_columns(model, decision, kind, limits)
    ways = _restricted(routes(boxes, margins, decision.y), domain, limits)
    prover = Prover(decision, domain, start, ways, max_boxes, limits, kind == "values")
    prover.check_reading()
    return prover


def _encoded(
    trees: TreeModel, kind: DomainKind, decision: Decision, limits: Restrictions
) -> tuple[Domain, EnsembleBoxes]:
    """Return the domain of the data and the leaves in it, made once for each model and table.

    A restricted domain depends on the input and is made anew.
    """
    key = kind, id(decision.data)
    cache = trees.domains
    if limits or key not in cache:
        domain = make_domain(kind, trees.ensemble, decision.data, limits)
        boxes = read_boxes(trees.ensemble, domain)
        if limits:
            return domain, boxes
        cache[key] = domain, boxes, decision.data
    domain, boxes, _ = cache[key]
    return domain, boxes
