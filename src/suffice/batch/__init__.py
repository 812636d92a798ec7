"""Explain many rows: in memory, in processes, on Dask, or into a folder of Parquet files."""
