"""Rows by name, whatever library they came in: read once, given back to the model as they came."""

from suffice.tables.frames import as_table
from suffice.tables.table import Table

__all__ = ["Table", "as_table"]
