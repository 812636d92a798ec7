"""All 32,561 people of Adult, DiCE's network, 100 references each.

Run it with `python -m benchmarks.batch_adult`.

A run of some minutes, so it is no part of `make bench`. It says how long the run took, rows a
second, bytes on disk, and what a chunk costs where: the figures of `docs/guides/portfolio.md`.
"""

import argparse
import pickle
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import pyarrow as pa
from experiments.adult.model import setting
from experiments.runner.lab import data_home

from suffice import Explainer
from suffice.batch.arrow import ChunkToArrow
from suffice.batch.row_sources import open_source


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, help="the first so many only")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-counts", action="store_true")
    options = parser.parse_args()
    model, X, _ = setting(data_home())
    explainer = Explainer(model, X, n_references=100)
    with TemporaryDirectory() as name:
        folder = Path(name)
        X.iloc[: options.rows].to_parquet(folder / "people.parquet", index=False)
        one_chunk(explainer, folder / "people.parquet")
        whole_run(explainer, folder, options)


def one_chunk(explainer: Explainer, path: Path, rows: int = 400) -> None:
    """What is done with a chunk, step by step, in one process."""
    source = open_source(path, explainer.data)
    explainer.explain_many(source.rows(0, 20).native, progress=False)  # all is loaded
    started = perf_counter()
    frame = source.rows(20, 20 + rows).native
    read = perf_counter()
    sent = pickle.dumps(frame)
    packed = perf_counter()
    answers = list(explainer.explain_many(frame, progress=False))
    explained = perf_counter()
    table = ChunkToArrow(explainer, {}).table(answers, pa.array(range(rows)), 20)
    tabled = perf_counter()
    print(f"a chunk of {rows} rows, microseconds a row:")
    for what, seconds in (
        ("reading", read - started),
        ("packing", packed - read),
        ("explaining", explained - packed),
        ("to an Arrow table", tabled - explained),
    ):
        print(f"  {what}: {1e6 * seconds / rows:.0f}")
    print(f"  bytes sent a row: {len(sent) / rows:.0f}, come back: {table.nbytes / rows:.0f}")


def whole_run(explainer: Explainer, folder: Path, options: argparse.Namespace) -> None:
    out = folder / "out"
    started = perf_counter()
    stored = explainer.explain_to(
        folder / "people.parquet",
        out,
        workers=options.workers,
        counts=False if options.no_counts else None,
        progress=True,
    )
    seconds = perf_counter() - started
    rows = len(stored) + len(stored.errors)
    sizes = {
        part.name: sum(f.stat().st_size for f in part.rglob("*.parquet"))
        for part in sorted(out.iterdir())
        if part.is_dir()
    }
    total = sum(sizes.values())
    print(f"{len(stored):,} explanations, {len(stored.errors)} errors, {options.workers} workers")
    print(f"{seconds:.0f} s, {rows / seconds:.0f} rows/s")
    print(f"{total / 1e6:.1f} MB: {total / rows:.0f} bytes a row")
    print(", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items()))


if __name__ == "__main__":
    main()
