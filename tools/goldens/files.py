"""Goldens of what is written to files and to the terminal: batches, audit records, the command."""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import signal
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pyarrow.parquet as pq

import suffice
from suffice import audit
from tools.goldens.data import NUMBERS, loans, simple
from tools.goldens.values import Calls, digest, layout, page


def batches() -> Calls:
    """Explain 30 rows, one of them a bad one, into Parquet files."""
    rows = loans()[0][NUMBERS].iloc[:30].assign(name=[f"p{i}" for i in range(30)])
    rows["age"] = rows["age"].astype(object).where(rows.index != 7, "unknown")
    for key, options in {
        "plain": {},
        "parts": {"rows_per_part": 12, "tau": 0.8},
        "no counts": {"counts": False, "search": "pruned"},
        "bounded": {"max_size": 2, "alpha": 0.1},
        "workers": {"workers": 2, "rows_per_part": 12},
    }.items():
        with TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            stored = simple().explain_to(rows, out, id="name", **options)
            for path in sorted(out.rglob("*")):
                if path.is_file() and not path.name.startswith(("_log", "_lock")):
                    yield f"{key} {path.relative_to(out)} content", partial(content, path)
                    yield (
                        f"{key} {path.relative_to(out)} digest",
                        partial(digest, path.read_bytes()),
                    )
            yield f"{key} row 3", lambda stored=stored: stored[3]
            yield f"{key} loaded", lambda out=out: suffice.load(out).by_id("p4")


def content(path: Path) -> str:
    """Return what a file holds: rows of a Parquet file, or its text."""
    if path.suffix != ".parquet":
        return path.read_text(encoding="utf-8")
    return layout(pq.read_table(path).to_pylist())


def records() -> Calls:
    """Write an audit record, and verify it."""
    analyses = {
        "reliance": {"protected": ["age"]},
        "roles": {},
        "cohort": {},
        "global_factors": {"cover": 0.7},
    }
    rows = loans()[0][NUMBERS].iloc[:12]
    with TemporaryDirectory() as folder:
        out = Path(folder) / "record"
        found = audit.record(simple(), rows, out, analyses=analyses, title="Loans", tau=0.8)
        yield "record", lambda: found
        yield "seal", lambda: found.seal
        yield "verified", partial(audit.verify, out, simple(), rows, seal=found.seal, rows=3)
        yield "another seal", partial(audit.verify, out, seal="another")
        for path in sorted(out.rglob("*")):
            if path.is_file() and path.suffix != ".html":
                yield f"{path.relative_to(out)}", partial(digest, path.read_bytes())
        yield "page", lambda: page((out / "index.html").read_text(encoding="utf-8"))


COMMANDS = {
    "forest": "--train extra-trees --row 8 --engine trees --n-references 30",
    "logistic": "--train logistic --row 3 --engine additive --tau 0.8 --view flip",
    "boosting": "--train hist-gradient-boosting --row 5 --engine blackbox --n-references 20",
    "tested": "--train logistic --row 3 --engine additive --alpha 0.1 --adjust holm",
    "budget": "--train extra-trees --row 8 --engine trees --budget 2000 --max-size 2",
    "groups": "--train extra-trees --row 8 --engine blackbox --n-references 9 --auto-groups",
    "csv": "--train logistic --row 3 --engine additive --csv factors.csv",
    "no row": "--train logistic",
    "far row": "--train logistic --row 1000",
    "bad tau": "--train logistic --row 3 --tau 2",
    "bad outcome": "--train logistic --row 3 --outcome maybe",
    "no such engine": "--train logistic --row 3 --engine trees",
}


def commands() -> Calls:
    """Run the command on a table in a folder of its own."""
    X, y = loans()
    here = Path.cwd()
    with TemporaryDirectory() as folder:
        X.assign(decision=y).to_csv(Path(folder) / "loans.csv", index=False)
        os.chdir(folder)
        try:
            for key, words in COMMANDS.items():
                given = f"explain --data loans.csv --target decision {words}"
                yield f"explain {key}", partial(run, given.split())
            yield "factors.csv", lambda: Path("factors.csv").read_text(encoding="utf-8")
            given = "batch --data loans.csv --target decision --train logistic --rows 0:20"
            yield "batch", partial(run, [*given.split(), "--out", "out", "--engine", "additive"])
            for name in ("", "explain", "batch", "audit", "demo", "serve"):
                yield f"help {name}", partial(run, [*name.split(), "--help"])
        finally:
            os.chdir(here)


def run(words: list[str]) -> str:
    """Run `suffice` with these words; return its exit code and all that it prints."""
    printed, code, handler = io.StringIO(), 0, signal.getsignal(signal.SIGINT)
    wide = {"COLUMNS": "500", "NO_COLOR": "1"}
    with (
        patch.object(sys, "argv", ["suffice", *words]),
        patch.dict(os.environ, wide),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        try:
            runpy.run_module("suffice", run_name="__main__")
        except SystemExit as end:
            code = end.code or 0
        finally:
            signal.signal(signal.SIGINT, handler)
    return f"exit {code}\n{_timeless(printed.getvalue())}"


def _timeless(text: str) -> str:
    """Return what the command prints without times, versions, dates and counts of model rows."""
    times = r"[\d.,]+ (m?s\b|a second)", r"\d{4}-\d\d-\d\d"
    for pattern in (*times, r"suffice \d[\d.]*", r"[\d,]+ model rows"):
        text = re.sub(pattern, "…", text)
    return re.sub(r" +$", "", text, flags=re.MULTILINE)
