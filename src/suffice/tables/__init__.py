"""Rows by name, whatever library they came in: read once, given back to the model as they came."""

from suffice.tables.arrays import ArrayTable
from suffice.tables.cells import column_codes, plain, storable
from suffice.tables.frames import as_table, has_several_rows, read_row
from suffice.tables.identifiers import identifier_columns
from suffice.tables.pandas_frames import PandasTable
from suffice.tables.table import Table, is_frame

__all__ = [
    "ArrayTable",
    "PandasTable",
    "Table",
    "as_table",
    "column_codes",
    "has_several_rows",
    "identifier_columns",
    "is_frame",
    "plain",
    "read_row",
    "storable",
]
