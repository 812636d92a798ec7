"""Rows by name, whatever library they came in: read once, given back to the model as they came."""

from suffice.tables.arrays import ArrayTable
from suffice.tables.cells import plain
from suffice.tables.codes import column_codes
from suffice.tables.frames import as_table, has_several_rows, read_row
from suffice.tables.identifiers import identifier_columns
from suffice.tables.pandas_frames import PandasTable
from suffice.tables.table import Table

__all__ = [
    "ArrayTable",
    "PandasTable",
    "Table",
    "as_table",
    "column_codes",
    "has_several_rows",
    "identifier_columns",
    "plain",
    "read_row",
]
