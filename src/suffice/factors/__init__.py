"""Factors (Sect. 3): Boolean properties of z, and orders that prefer one to another."""

from suffice.factors.lattice import Lattice
from suffice.factors.order import CostOrder, CustomOrder, Order, SubsetOrder
from suffice.factors.predicates import (
    Factor,
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
