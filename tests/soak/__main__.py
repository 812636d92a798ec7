"""All attacks, one after another: `python -m tests.soak` prints tries, held and failed of each.

python -m tests.soak                       every attack with its full count, in 40 minutes
python -m tests.soak kills --seed 7        one kind, with another seed
python -m tests.soak --share 0.01          a hundredth of each count
python -m tests.soak --minutes 80          twice the time, for a slow or busy machine

Each kind has a part of the time, and starts no try after it. A kind that is cut off so has fewer
tries than its count: its row and the last line say how many of how many. Exit status: 0 if every
kind made all its tries and none failed, 1 if any failed, 3 if none failed but a kind was cut off.
For a release every count is made: run the kinds that were cut off again with more minutes.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from time import monotonic
from typing import NamedTuple

from tests.soak.tally import HEADING, Tally


class Attack(NamedTuple):
    """A kind of attack, the function that makes it, and how often it is made."""

    kind: str
    function: str
    """Module of `tests.soak` and function in it: "stores:corrupt_stores"."""
    count: int
    minutes: float
    """Time that it may take of the forty minutes."""

    def load(self) -> Callable[..., Tally]:
        """Import the function; a kind that is not run needs nothing of what it imports."""
        module, _, name = self.function.partition(":")
        function: Callable[..., Tally] = getattr(import_module(f"tests.soak.{module}"), name)
        return function

    def share(self, share: float) -> int:
        """Return a share of the count, at least one."""
        return max(1, round(self.count * share))


ATTACKS: list[Attack] = [
    Attack("corruptions", "stores:corrupt_stores", 500, 2),
    Attack("cut-off runs", "stores:cut_off_runs", 100, 1),
    Attack("reads while written", "stores:read_while_written", 3, 0.5),
    Attack("broken stores", "broken_files:break_stores", 120, 1),
    Attack("broken results", "broken_files:break_results", 400, 1),
    Attack("model files", "broken_files:mutate_models", 440, 7.5),
    Attack("limits", "questions:press_limits", 300, 3),
    Attack("odd tables", "questions:odd_tables", 500, 0.25),
    Attack("bad models", "questions:bad_models", 120, 0.25),
    Attack("shared explainers", "processes:share_explainers", 30, 1),
    Attack("peak memory", "peak_memory:measure_peaks", 100, 3),
    Attack("growth", "growth:measure_growth", 16, 3),
    Attack("kills", "processes:kill_runs", 60, 5.5),
    Attack("killed Dask workers", "processes:kill_cluster_workers", 10, 1.5),
    Attack("interrupts", "processes:interrupt_runs", 60, 4.5),
    Attack("requests", "explorer_requests:fuzz_requests", 10_000, 5),
]
"""Every kind, with the least counts that a release is tried with.

The minutes are about what each needs of two idle cores, judged by its processor time."""


def main(arguments: list[str] | None = None) -> int:
    """Run the attacks; return 1 if any failed, else 3 if any was cut off by its time, else 0."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(a.kind for a in ATTACKS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="share of each count")
    parser.add_argument("--minutes", type=float, default=40.0, help="end after so many")
    given = parser.parse_args(arguments)
    if unknown := set(given.kinds).difference(a.kind for a in ATTACKS):
        parser.error(f"no kind is called {', '.join(sorted(unknown))}")
    chosen = [a for a in ATTACKS if not given.kinds or a.kind in given.kinds]
    warnings.simplefilter("ignore")  # strange models and tables are meant to be warned about
    started, failed, cut_off = monotonic(), 0, list[str]()
    print(f"seed {given.seed}\n{HEADING}", flush=True)
    for place, attack in enumerate(chosen):
        # What an attack leaves of its time is shared by those after it.
        left = 60 * given.minutes - (monotonic() - started)
        own = left * attack.minutes / sum(a.minutes for a in chosen[place:])
        count = attack.share(given.share)
        tally = attack.load()(count, given.seed, seconds=own)
        print("\n  ".join([tally.row(count), *tally.notes, *tally.failures]), flush=True)
        failed += len(tally.failures)
        if tally.cut:
            cut_off.append(f"{attack.kind} ({tally.tries:,} of {count:,})")
    said = f"; cut off by their time: {', '.join(cut_off)}" if cut_off else ", none cut off"
    print(f"{monotonic() - started:.0f} s, {failed} failed{said}")
    return 1 if failed else 3 if cut_off else 0


if __name__ == "__main__":
    sys.exit(main())
