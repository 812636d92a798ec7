"""Tables: rows with named columns from NumPy, pandas, polars or pyarrow."""

from suffice.tables.backends import ArrayTable, PandasTable
from suffice.tables.cells import as_scalar, column_codes, utf8_text
from suffice.tables.conversion import as_table
from suffice.tables.table import Table, has_several_rows, is_frame, read_row

__all__ = [
    "ArrayTable",
    "PandasTable",
    "Table",
    "as_scalar",
    "as_table",
    "column_codes",
    "has_several_rows",
    "is_frame",
    "read_row",
    "utf8_text",
]
