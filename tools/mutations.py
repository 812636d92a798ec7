"""Mutations of single lines, to show that the tests notice each of them.

    python -m tools.mutations                               list them
    python -m tools.mutations run                           apply each, and run its tests
    python -m tools.mutations run holm-ties --tier check    as `make check` runs them
    python -m tools.mutations run holm-ties --all-tests     all tests, not only those listed

Each mutation is applied to a copy of the repository in a temporary folder; the working tree is only
read. Run it after making tests faster: a mutation that was caught before and survives now shows an
assertion that was lost. A test that fails without the mutation as well catches nothing, so the
first test that fails is run again with the line as it was.

Tier `test` runs tests as `make test` does. Tier `check` runs them as `make check` does: without the
slow ones, and with few examples of each property. The exit code is 1 if a mutation survives under
tier `test`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

ROOT = Path(__file__).parents[1]

_SRC, _TESTS = "src/suffice/", "tests/test_"

_NOT_COPIED = (".*", "node_modules", "_build", "gallery", "results", "dist")
"""Hidden folders, and folders that are built."""

TIERS = ("check", "test")


@dataclass(frozen=True)
class Mutation:
    """A change of one line that some test must notice."""

    name: str
    file: str
    """Path from the root of the repository."""
    old: str
    """Part of one line, which occurs once in the file."""
    new: str
    tests: tuple[str, ...]
    """Paths of the test files that are most likely to fail."""

    def applied(self, text: str) -> str:
        """Return the text of the file with the line changed."""
        if text.count(self.old) != 1:
            found = text.count(self.old)
            raise ValueError(f"{self.name}: {self.old!r} occurs {found} times in {self.file}")
        return text.replace(self.old, self.new)


MUTATIONS = (
    # -- engines ------------------------------------------------------------------------
    Mutation(
        "blackbox-references",
        _SRC + "evaluate/blackbox.py",
        "np.tile(np.arange(self.n), len(block))",
        "np.repeat(np.arange(self.n), len(block))",
        (_TESTS + "strategies.py", _TESTS + "views.py", _TESTS + "theorem_1.py"),
    ),
    Mutation(
        "trees-ties",
        _SRC + "evaluate/trees/margins.py",
        "first = 0 if ties else 1",
        "first = 1 if ties else 0",
        (_TESTS + "tree_engine.py",),
    ),
    Mutation(
        "additive-cubes",
        _SRC + "evaluate/additive/engine.py",
        "surely, may = ~may, ~surely",
        "surely, may = ~surely, ~may",
        (_TESTS + "bounds.py", _TESTS + "additive_engine.py"),
    ),
    Mutation(
        "text-one-reference",
        _SRC + "evaluate/additive/text_engine.py",
        "np.logical_and.reduce(never)",
        "np.logical_or.reduce(never)",
        (_TESTS + "text_engine.py",),
    ),
    # -- searches -----------------------------------------------------------------------
    Mutation(
        "intervals-direct-subsets",
        _SRC + "search/intervals.py",
        "reach[-1][ranks].max(axis=1)",
        "passes[size - 1][ranks].max(axis=1)",
        (_TESTS + "lattice.py", _TESTS + "tally.py", _TESTS + "limits.py"),
    ),
    Mutation(
        "algorithm1-at-tau",
        _SRC + "search/algorithm1.py",
        "elif ps >= tau:",
        "elif ps > tau:",
        (_TESTS + "theorem_1.py",),
    ),
    Mutation(
        "pruned-misses",
        _SRC + "search/pruned/curtailed.py",
        "hybrids.n - least + 1",
        "hybrids.n - least + 2",
        (_TESTS + "pruned.py",),
    ),
    Mutation(
        "bounds-exactly-enough",
        _SRC + "search/bounds/side.py",
        "may.sum(axis=1) <",
        "may.sum(axis=1) <=",
        (_TESTS + "bounds.py",),
    ),
    Mutation(
        "streamed-exactly-enough",
        _SRC + "search/streamed/decide.py",
        "hits >= rule.least",
        "hits > rule.least",
        (_TESTS + "streamed.py",),
    ),
    Mutation(
        "greedy-early-failure",
        _SRC + "search/greedy/verdicts.py",
        "(hits >= fails)",
        "(hits > fails)",
        (_TESTS + "strategies.py", _TESTS + "greedy_memory.py", _TESTS + "many_sets.py"),
    ),
    # -- inference ----------------------------------------------------------------------
    Mutation(
        "holm-ties",
        _SRC + "inference.py",
        "alpha / (m - (last - times))",
        "alpha / (m - last + 1)",
        (_TESTS + "inference.py",),
    ),
    # -- contexts -----------------------------------------------------------------------
    Mutation(
        "swap-keys-collide",
        _SRC + "context/swap.py",
        "self.codes.max(axis=0) + 1",
        "self.codes.max(axis=0)",
        (_TESTS + "contexts.py", _TESTS + "strategies.py", _TESTS + "theorem_1.py"),
    ),
    Mutation(
        "causal-last-parent",
        _SRC + "context/causal/equations.py",
        "rows |= moved[parent]",
        "rows = moved[parent].copy()",
        (
            _TESTS + "causal_context.py",
            _TESTS + "causal_model.py",
            _TESTS + "causal_explanations.py",
        ),
    ),
    # -- encodings ----------------------------------------------------------------------
    Mutation(
        "shapley-taylor-weights",
        _SRC + "encodings/shapley.py",
        "factorial(d - 1 - s)",
        "factorial(rest - s)",
        (_TESTS + "shapley.py",),
    ),
    Mutation(
        "anchors-coverage",
        _SRC + "encodings/anchors/score.py",
        "(met, has_outcome, both)",
        "(has_outcome, met, both)",
        (_TESTS + "anchors_score.py",),
    ),
    Mutation(
        "recourse-max-size",
        _SRC + "encodings/recourse/choose.py",
        "sizes() <= largest",
        "sizes() < largest",
        (_TESTS + "recourse.py",),
    ),
    Mutation(
        "recourse-grid-subsets",
        _SRC + "encodings/recourse/grid_search.py",
        "(masks & mask) == mask",
        "(masks & mask) == masks",
        (_TESTS + "recourse.py", _TESTS + "recourse_costs.py"),
    ),
    Mutation(
        "causation-cells",
        _SRC + "encodings/causation/probabilities.py",
        "mass(is_x & ~seen), mass(is_other & seen)",
        "mass(is_other & seen), mass(is_x & ~seen)",
        (_TESTS + "pearl.py", _TESTS + "causation_bounds.py"),
    ),
    # -- audits -------------------------------------------------------------------------
    Mutation(
        "reliance-at-tau",
        _SRC + "audit/reliance.py",
        "kept / known.n >= known.tau",
        "kept / known.n > known.tau",
        (_TESTS + "audit_counts.py", _TESTS + "audit_proxies.py"),
    ),
    Mutation(
        "reasons-rank",
        _SRC + "audit/reasons.py",
        "share[other.members[0]] > share[first]",
        "share[other.members[0]] >= share[first]",
        (_TESTS + "audit_reasons.py",),
    ),
    Mutation(
        "record-same-size",
        _SRC + "audit/record/chain.py",
        "fact.value != sealed[name].value",
        "fact.size != sealed[name].size",
        (_TESTS + "audit_record.py",),
    ),
    Mutation(
        "compare-thresholds",
        _SRC + "audit/drift/distance.py",
        "np.diff(every) @ apart[1:]",
        "np.diff(every) @ apart[:-1]",
        (_TESTS + "audit_compare.py",),
    ),
    # -- stored explanations ------------------------------------------------------------
    Mutation(
        "store-rows-twice",
        _SRC + "many/store.py",
        "rows.slice(at - first)",
        "rows.slice(0)",
        (_TESTS + "store.py",),
    ),
    Mutation(
        "load-by-id",
        _SRC + "many/load.py",
        "self._ends[i - 1] if i else 0",
        "self._ends[i] if i else 0",
        (_TESTS + "store.py", _TESTS + "stored_explanations.py"),
    ),
    Mutation(
        "lock-shared",
        _SRC + "many/lock.py",
        "fcntl.LOCK_EX",
        "fcntl.LOCK_SH",
        (_TESTS + "store.py", _TESTS + "store_faults.py"),
    ),
    # -- model readers ------------------------------------------------------------------
    Mutation(
        "xgboost-strictly-less",
        _SRC + "evaluate/trees/xgboost.py",
        "np.nextafter(condition, np.float32(-np.inf))",
        "condition",
        (_TESTS + "tree_libraries.py",),
    ),
    # -- what people see ----------------------------------------------------------------
    Mutation(
        "page-claims-cheapest",
        _SRC + "summary/answer.py",
        'if view.tally.complete else "Cheapest change found"',
        'if len(view) else "Cheapest change found"',
        (_TESTS + "answers.py", _TESTS + "report.py"),
    ),
    Mutation(
        "plots-open-end",
        _SRC + "plots/thresholds.py",
        "low < view.tau <= high",
        "low <= view.tau <= high",
        (_TESTS + "plots_factors.py",),
    ),
    Mutation(
        "command-row-past-end",
        _SRC + "cli/explain.py",
        'options["row"] >= len(data)',
        'options["row"] > len(data)',
        (_TESTS + "cli.py",),
    ),
    Mutation(
        "explorer-cookie",
        _SRC + "web/guard.py",
        'samesite="strict"',
        'samesite="lax"',
        (_TESTS + "explorer_api.py",),
    ),
)


@dataclass(frozen=True)
class Found:
    """What the tests made of a mutation."""

    mutation: Mutation
    tier: str
    verdict: str
    """"caught", "SURVIVED", or "BROKEN" where the tests do not pass without the mutation either."""
    test: str
    """The test that caught it; what pytest said last where none did."""
    seconds: float


def run(
    mutations: Sequence[Mutation], tier: str = "test", all_tests: bool = False
) -> Iterator[Found]:
    """Apply each mutation to a copy of the repository, and run its tests there."""
    with TemporaryDirectory(prefix="suffice-mutations-") as folder:
        copy = Path(folder) / "repository"
        # Times of files are copied as well, so that byte code stays valid.
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*_NOT_COPIED), symlinks=True)
        modules = ROOT / "frontend" / "node_modules"
        if modules.is_dir():
            (copy / "frontend" / "node_modules").symlink_to(modules)
        for mutation in mutations:
            started = perf_counter()
            verdict, test = _judge(mutation, copy, tier, all_tests)
            yield Found(mutation, tier, verdict, test, perf_counter() - started)


def _judge(mutation: Mutation, copy: Path, tier: str, all_tests: bool) -> tuple[str, str]:
    given = ("-n", "2") if all_tests else mutation.tests
    with _mutated(mutation, copy):
        code, said = _pytest(copy, tier, given)
    failed = re.search(r"^(?:FAILED|ERROR) (\S+?\.\w+(?:::.*?)?)(?: - .*)?$", said, re.MULTILINE)
    if code == 0 or code == 5:  # 5: every test was left out by its marker
        return "SURVIVED", said.strip().splitlines()[-1]
    if failed is None:
        return "BROKEN", said.strip().splitlines()[-1]
    test = failed.group(1)
    code, said = _pytest(copy, tier, (test,))
    return ("caught", test) if code == 0 else ("BROKEN", f"{test} fails without it, too")


@contextmanager
def _mutated(mutation: Mutation, copy: Path) -> Iterator[None]:
    """Change the file of a copy; afterwards it is again as it was, its time included."""
    path = copy / mutation.file
    kept = path.with_name(path.name + ".kept")
    shutil.copy2(path, kept)
    try:
        path.write_text(mutation.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
        yield
    finally:
        kept.replace(path)


def _pytest(copy: Path, tier: str, given: Sequence[str]) -> tuple[int, str]:
    """Run pytest in a copy until the first failure: its exit code, and what it said."""
    environment = os.environ | {
        # In front of the editable install, also for processes that tests start.
        "PYTHONPATH": str(copy / "src"),
        "SUFFICE_DATA": os.environ.get("SUFFICE_DATA", str(ROOT.parent / "shared" / "data")),
    }
    options = ["-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider"]
    if tier == "check":
        options += ["--hypothesis-profile=check", "-m", f"not ({_left_out()})"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *given],
        cwd=copy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def _left_out() -> str:
    """Return the markers of the tests that `make check` leaves out."""
    line = re.search(r"^SLOW := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    if line is None:
        raise ValueError("the Makefile has no line `SLOW := …`")
    return line.group(1).strip()


def _chosen(names: Sequence[str]) -> tuple[Mutation, ...]:
    by_name = {mutation.name: mutation for mutation in MUTATIONS}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise SystemExit(f"No mutation is called {', '.join(unknown)}.")
    return tuple(by_name[name] for name in names) if names else MUTATIONS


def main(arguments: Sequence[str] | None = None) -> int:
    """List the mutations, or run the tests on each."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutations")
    commands = parser.add_subparsers(dest="command")
    running = commands.add_parser("run", help="apply each to a copy, and run its tests there")
    running.add_argument("names", nargs="*", metavar="NAME", help="which; all if none is named")
    running.add_argument("--tier", choices=TIERS, default="test", help="default: test")
    running.add_argument("--all-tests", action="store_true", help="run all tests, not those listed")
    asked = parser.parse_args(arguments)
    if asked.command is None:
        for m in MUTATIONS:
            print(f"{m.name:26}{m.file}\n{'':28}{m.old}\n{'':28}{m.new}")
        return 0
    good = True
    print(f"{'mutation':26}{'tier':7}{'verdict':10}{'seconds':>7}  test")
    for found in run(_chosen(asked.names), asked.tier, asked.all_tests):
        name, took = found.mutation.name, f"{found.seconds:.0f}"
        print(f"{name:26}{found.tier:7}{found.verdict:10}{took:>7}  {found.test}", flush=True)
        good &= found.verdict == "caught" or (found.verdict == "SURVIVED" and asked.tier == "check")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
