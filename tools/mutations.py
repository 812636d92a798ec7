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
slow ones, and with few examples of each property: it catches 28 of these 30, all but
`record-same-size` and `lock-shared`, whose tests it leaves out. The exit code is 1 if a mutation
survives under tier `test`, which catches all.
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

ROOT = Path(__file__).parents[1]

_SRC, _TESTS = "src/suffice/", "tests/"

_BUILT = {ROOT / path for path in ("dist", "docs/_build", "docs/gallery", "results")}
"""Folders that are built: they are not copied."""

TIERS = ("check", "test")

_ALL_TESTS = ("-n", "2", "--ignore=tests/repository/test_mutations.py")
"""All but the test that every line to be mutated is there."""


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
        _SRC + "engines/blackbox.py",
        "np.tile(np.arange(self.n), len(block))",
        "np.repeat(np.arange(self.n), len(block))",
        (_TESTS + "explainer/test_models_and_tables.py", _TESTS + "search/test_pruned_search.py"),
    ),
    Mutation(
        "trees-ties",
        _SRC + "engines/trees/encoded_input.py",
        "first = 0 if ties else 1",
        "first = 1 if ties else 0",
        (_TESTS + "engines/test_tree_engine.py",),
    ),
    Mutation(
        "additive-cubes",
        _SRC + "engines/blackbox.py",
        "surely, may = ~may, ~surely",
        "surely, may = ~surely, ~may",
        (_TESTS + "search/test_bounds_search.py",),
    ),
    Mutation(
        "text-one-reference",
        _SRC + "engines/text_engine.py",
        "np.logical_and.reduce(never)",
        "np.logical_or.reduce(never)",
        (_TESTS + "engines/test_text_engine.py",),
    ),
    # -- searches -----------------------------------------------------------------------
    Mutation(
        "intervals-direct-subsets",
        _SRC + "factors/lattice.py",
        "reach[-1][ranks].max(axis=1)",
        "passes[size - 1][ranks].max(axis=1)",
        (_TESTS + "search/test_theorem_1.py",),
    ),
    Mutation(
        "algorithm1-at-tau",
        _SRC + "search/algorithm1.py",
        "elif ps >= tau:",
        "elif ps > tau:",
        (_TESTS + "search/test_theorem_1.py",),
    ),
    Mutation(
        "pruned-misses",
        _SRC + "search/pruned.py",
        "hybrids.n - least + 1",
        "hybrids.n - least + 2",
        (_TESTS + "search/test_pruned_search.py",),
    ),
    Mutation(
        "bounds-exactly-enough",
        _SRC + "search/bounds.py",
        "may.sum(axis=1) <",
        "may.sum(axis=1) <=",
        (_TESTS + "search/test_bounds_search.py",),
    ),
    Mutation(
        "streamed-exactly-enough",
        _SRC + "search/streamed.py",
        "hits >= rule.least",
        "hits > rule.least",
        (_TESTS + "search/test_streamed_search.py",),
    ),
    Mutation(
        "greedy-early-failure",
        _SRC + "search/outcome_cache.py",
        "(hits >= fails)",
        "(hits > fails)",
        (_TESTS + "search/test_greedy_search.py",),
    ),
    # -- inference ----------------------------------------------------------------------
    Mutation(
        "holm-ties",
        _SRC + "inference.py",
        "alpha / (m - (last - times))",
        "alpha / (m - last + 1)",
        (_TESTS + "test_inference.py",),
    ),
    # -- contexts -----------------------------------------------------------------------
    Mutation(
        "swap-keys-collide",
        _SRC + "context/hybrids.py",
        "self.codes.max(axis=0) + 1",
        "self.codes.max(axis=0)",
        (_TESTS + "explainer/test_models_and_tables.py",),
    ),
    Mutation(
        "causal-last-parent",
        _SRC + "context/causal/model.py",
        "rows |= moved[parent]",
        "rows = moved[parent].copy()",
        (_TESTS + "context/test_causal_explanations.py", _TESTS + "context/test_causal_context.py"),
    ),
    # -- encodings ----------------------------------------------------------------------
    Mutation(
        "shapley-taylor-weights",
        _SRC + "attribution.py",
        "factorial(d - 1 - s)",
        "factorial(rest - s)",
        (_TESTS + "shapley/test_shapley.py",),
    ),
    Mutation(
        "anchors-coverage",
        _SRC + "rules/anchors.py",
        "(met, has_outcome, both)",
        "(has_outcome, met, both)",
        (_TESTS + "rules/test_score_rule.py",),
    ),
    Mutation(
        "recourse-max-size",
        _SRC + "recourse/candidates.py",
        "np.repeat(np.arange(largest + 1), widths) <= allowed_size",
        "np.repeat(np.arange(largest + 1), widths) < allowed_size",
        (_TESTS + "recourse/test_recourse.py",),
    ),
    Mutation(
        "recourse-grid-subsets",
        _SRC + "recourse/grid.py",
        "(masks & mask) == mask",
        "(masks & mask) == masks",
        (_TESTS + "recourse/test_recourse.py",),
    ),
    Mutation(
        "causation-cells",
        _SRC + "causation/probabilities.py",
        "mass(is_x & ~seen), mass(is_other & seen)",
        "mass(is_other & seen), mass(is_x & ~seen)",
        (_TESTS + "causation/test_probabilities_of_causation.py",),
    ),
    # -- audits -------------------------------------------------------------------------
    Mutation(
        "reliance-at-tau",
        _SRC + "audit/decision_counts.py",
        "return hits, hits / n >= tau",
        "return hits, hits / n > tau",
        (_TESTS + "audit/test_roles_reliance_cohorts.py",),
    ),
    Mutation(
        "reasons-rank",
        _SRC + "audit/reasons.py",
        "share[other.members[0]] > share[first]",
        "share[other.members[0]] >= share[first]",
        (_TESTS + "audit/test_reasons.py",),
    ),
    Mutation(
        "record-same-size",
        _SRC + "audit/record_seal.py",
        "file.value != sealed[name].value",
        "file.size != sealed[name].size",
        (_TESTS + "audit/test_record.py",),
    ),
    Mutation(
        "compare-thresholds",
        _SRC + "audit/decision_drift.py",
        "np.diff(every) @ apart[1:]",
        "np.diff(every) @ apart[:-1]",
        (_TESTS + "audit/test_drift.py",),
    ),
    # -- stored explanations ------------------------------------------------------------
    Mutation(
        "store-rows-twice",
        _SRC + "batch/store.py",
        "rows.slice(at - first)",
        "rows.slice(0)",
        (_TESTS + "batch/test_store.py",),
    ),
    Mutation(
        "load-by-id",
        _SRC + "batch/load.py",
        "self._ends[i - 1] if i else 0",
        "self._ends[i] if i else 0",
        (_TESTS + "batch/test_store.py",),
    ),
    Mutation(
        "lock-shared",
        _SRC + "batch/atomic_write.py",
        "fcntl.LOCK_EX",
        "fcntl.LOCK_SH",
        (_TESTS + "batch/test_store_faults.py",),
    ),
    # -- model readers ------------------------------------------------------------------
    Mutation(
        "xgboost-strictly-less",
        _SRC + "engines/trees/xgboost.py",
        "np.nextafter(condition, np.float32(-np.inf))",
        "condition",
        (_TESTS + "engines/test_tree_libraries.py",),
    ),
    # -- what people see ----------------------------------------------------------------
    Mutation(
        "page-claims-cheapest",
        _SRC + "summary/view_summary.py",
        'found = "" if view.tally.complete else " found"',
        'found = "" if len(view) else " found"',
        (_TESTS + "report/test_report.py",),
    ),
    Mutation(
        "plots-open-end",
        _SRC + "summary/signature.py",
        "at_tau=low < view.tau <= high",
        "at_tau=low <= view.tau <= high",
        (_TESTS + "plots/test_factor_plots.py",),
    ),
    Mutation(
        "command-row-past-end",
        _SRC + "cli/explain.py",
        'options["row"] >= len(data)',
        'options["row"] > len(data)',
        (_TESTS + "cli/test_explain_command.py",),
    ),
    Mutation(
        "explorer-cookie",
        _SRC + "web/guard.py",
        'samesite="strict"',
        'samesite="lax"',
        (_TESTS + "web/test_request_guard.py",),
    ),
)


@dataclass(frozen=True)
class Found:
    """What the tests made of a mutation."""

    mutation: Mutation
    tier: str
    verdict: str
    """"caught", "SURVIVED", or "BROKEN" where the same test fails without the mutation as well."""
    test: str
    """The test that failed; the last line of pytest's output where none did."""


def run(
    mutations: Sequence[Mutation], tier: str = "test", all_tests: bool = False
) -> Iterator[Found]:
    """Apply each mutation to a copy of the repository, and run its tests there."""
    with _copied(all_tests) as copy:
        failed: dict[Mutation, str] = {}
        for mutation in mutations:
            given = _ALL_TESTS if all_tests else mutation.tests
            with _mutated(mutation, copy):
                said = _pytest(copy, tier, ("-x", *given))
            tests = _failed(said)
            print(f"{mutation.name}: {tests[0] if tests else 'no test failed'}", file=sys.stderr)
            if tests:
                failed[mutation] = tests[0]
            else:
                yield Found(mutation, tier, "SURVIVED", said.strip().splitlines()[-1])
        # One run tells of all these tests whether they pass without a mutation.
        bad = _failed(_pytest(copy, tier, sorted(set(failed.values())))) if failed else ()
        for mutation, test in failed.items():
            yield Found(mutation, tier, "BROKEN" if test in bad else "caught", test)


@contextmanager
def _copied(all_tests: bool) -> Iterator[Path]:
    """Copy the repository, with the times of its files, so that byte code stays valid."""
    with TemporaryDirectory(prefix="suffice-mutations-") as folder:
        copy = Path(folder) / "repository"
        shutil.copytree(ROOT, copy, ignore=_not_copied, symlinks=True)
        modules = ROOT / "frontend" / "node_modules"
        if modules.is_dir():
            (copy / "frontend" / "node_modules").symlink_to(modules)
        if all_tests:  # one of them asks git for the files that a clone will hold
            subprocess.run(["git", "init", "-q"], cwd=copy, check=True)
        yield copy


def _not_copied(folder: str, names: list[str]) -> set[str]:
    hidden = {name for name in names if name.startswith(".") and name != ".gitignore"}
    return hidden | {n for n in names if n == "node_modules" or Path(folder, n) in _BUILT}


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


def _pytest(copy: Path, tier: str, given: Sequence[str]) -> str:
    """Run pytest in a copy, and return its output."""
    environment = os.environ | {
        # In front of the editable install, also for processes that tests start.
        "PYTHONPATH": str(copy / "src"),
        "SUFFICE_DATA": os.environ.get("SUFFICE_DATA", str(ROOT.parent / "shared" / "data")),
    }
    options = ["--tb=no", "-rfE", "-p", "no:cacheprovider"]
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
    if done.returncode not in (0, 1, 2, 5):  # 2: a file cannot be imported; 5: no test is left
        raise RuntimeError(f"pytest could not run:\n{done.stdout}")
    return done.stdout


def _failed(said: str) -> tuple[str, ...]:
    """Return the ids of the tests that failed, from the output of pytest."""
    line = re.compile(r"^(?:FAILED|ERROR) (\S+?\.\w+(?:::.*?)?)(?: - .*)?$", re.MULTILINE)
    return tuple(line.findall(said))


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
    found = list(run(_chosen(asked.names), asked.tier, asked.all_tests))
    print(f"{'mutation':26}{'tier':7}{'verdict':10}test")
    for one in found:
        print(f"{one.mutation.name:26}{one.tier:7}{one.verdict:10}{one.test}")
    bad = {"BROKEN", "SURVIVED"} if asked.tier == "test" else {"BROKEN"}
    return int(any(one.verdict in bad for one in found))


if __name__ == "__main__":
    sys.exit(main())
