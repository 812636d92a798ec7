"""Factors (Sect. 3): which properties of z are asked about, and which of two is preferred."""

from suffice.factors.kinds import Factor
from suffice.factors.lattice import Lattice
from suffice.factors.order import CostOrder, CustomOrder, Order, SubsetOrder
from suffice.factors.predicates import (
    auxiliary,
    between,
    compare,
    equals,
    factor_from_json,
    held,
    isin,
)

__all__ = [
    "CostOrder",
    "CustomOrder",
    "Factor",
    "Lattice",
    "Order",
    "SubsetOrder",
    "auxiliary",
    "between",
    "compare",
    "equals",
    "factor_from_json",
    "held",
    "isin",
]
