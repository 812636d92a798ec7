"""Attacks on stored explanations: corrupted files, and runs that are cut off at any file operation."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import count as numbers
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from sklearn.tree import DecisionTreeClassifier

import suffice
from suffice import Explainer, InputError, datasets
from suffice.batch import atomic_write
from tests.soak.tally import Tally, Try, count_tries, seeded

COLUMNS = ["age", "income", "debt", "late payments"]
ROWS = 24


@cache
def loans() -> tuple[pd.DataFrame, object]:
    X, y = datasets.loans(200)
    return X[COLUMNS], y


@cache
def loans_explainer() -> Explainer:
    X, y = loans()
    return Explainer(DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y), X)


def write_store(out: Path) -> None:
    """Explain some rows into a folder, or go on where an earlier run ended."""
    rows = loans()[0].iloc[:ROWS].assign(account=[f"A{i}" for i in range(ROWS)])
    loans_explainer().explain_to(rows, out, id="account", rows_per_part=8, resume=True)


def stored_bytes(folder: Path) -> dict[str, bytes]:
    """Return every byte of the data set by the name of its file; the log is no part of it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "_log.jsonl"
    }


def read_all(folder: Path) -> list[object]:
    """Return what a reader gets from every file of a folder."""
    stored = suffice.load(folder)
    text = str(stored).replace(str(folder), "")  # a copy of the folder says the same
    found: list[object] = [stored.finished, [e.to_json() for e in stored], stored.ids, text]
    found += [stored.errors.to_json(), stored.to_frame().to_json()]
    for name in (stored.factors, stored.explanations):
        found.append([path.read_bytes() for path in sorted(name.glob("*.parquet"))])
    return found


# -- corruptions -----------------------------------------------------------------------------


def corrupt(path: Path, chance: random.Random) -> str:
    """Flip a bit, overwrite some bytes, cut the end off or insert a byte; return what was done."""
    content = bytearray(path.read_bytes())
    at = chance.randrange(len(content))
    kind = chance.choice(["flip", "overwrite", "cut", "insert"])
    if kind == "flip":
        content[at] ^= 1 << chance.randrange(8)
    elif kind == "overwrite":
        content[at : at + 16] = chance.randbytes(len(content[at : at + 16]))
    elif kind == "cut":
        del content[at:]
    else:
        content.insert(at, chance.randrange(256))
    path.write_bytes(content)
    return f"{path.name}: {kind} at {at}"


def corrupt_stores(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Corrupt a file: loading detects it, or is not affected, and resuming repairs it."""
    chance = seeded("corruptions", seed)
    with TemporaryDirectory() as folder:
        whole = Path(folder) / "whole"
        write_store(whole)
        good, names = read_all(whole), [n for n in stored_bytes(whole) if n != "_log.jsonl"]

        def tries() -> Iterator[Try]:
            for number in numbers():
                copied = shutil.copytree(whole, Path(folder) / "copy")
                name = names[number % len(names)]
                done = corrupt(copied / name, chance)
                yield f"{name}: {done}", partial(check, copied, name)
                shutil.rmtree(copied)

        def check(copied: Path, name: str) -> None:
            with suppress(InputError):
                assert read_all(copied) == good
            if name == "_manifest.json":  # it cannot be computed again: it is the question
                with suppress(InputError):
                    write_store(copied)
                return
            write_store(copied)
            assert stored_bytes(copied) == stored_bytes(whole)

        return count_tries("corruptions", tries(), count, seconds)


# -- runs that are cut off -------------------------------------------------------------------


class CutOff(BaseException):
    """The end of the process, as far as its files are concerned."""


class _FileEvents:
    """Calls a function before every change of a file in a folder, by Python's audit events."""

    def __init__(self) -> None:
        self.folder = ""
        self.seen: Callable[[], None] | None = None
        sys.addaudithook(self._on_event)

    def _on_event(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.seen is None or event not in ("open", "os.rename", "os.remove", "os.mkdir"):
            return
        path = arguments[0]
        if event == "open" and not int(str(arguments[2])) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        # Whole folders are removed by names relative to an open folder.
        if not isinstance(path, str | os.PathLike):
            return
        if str(path).startswith(self.folder) or not Path(path).is_absolute():
            self.seen()


@cache
def _file_events() -> _FileEvents:
    return _FileEvents()  # a hook stays as long as the process


@contextmanager
def on_file_events(folder: Path, seen: Callable[[], None]) -> Iterator[None]:
    """Call `seen` before every change of a file in the folder; what it raises is raised there."""
    events = _file_events()
    events.folder, events.seen = str(folder), seen
    try:
        yield
    finally:
        events.seen = None


def count_events(folder: Path) -> int:
    """Return how many changes of files one run makes."""
    changes = 0

    def seen() -> None:
        nonlocal changes
        changes += 1

    with on_file_events(folder, seen):
        write_store(folder)
    return changes


def cut_off_at(folder: Path, event: int) -> None:
    """Begin or go on with a run whose process ends before a change: no later one is made either.

    So nothing is removed or released that a killed process would leave behind.
    """
    left = event

    def seen() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise CutOff

    try:
        with on_file_events(folder, seen):
            write_store(folder)
    except CutOff:
        pass
    atomic_write._locked_here.clear()  # the process that held the lock is gone


def cut_off_runs(count: int, seed: int, seconds: float | None = None) -> Tally:
    """End a run before a change of its files, and most of them a second time when it goes on."""
    chance = seeded("cut-off runs", seed)
    with TemporaryDirectory() as folder:
        whole = Path(folder) / "whole"
        events = count_events(whole)
        every = list(range(events))
        chance.shuffle(every)

        def tries() -> Iterator[Try]:
            for number in numbers():
                first = every[number % events]
                second = chance.randrange(events)
                yield f"before changes {first} and {second}", lambda a=first, b=second: check(a, b)

        def check(first: int, second: int) -> None:
            out = Path(folder) / "out"
            shutil.rmtree(out, ignore_errors=True)
            for event in (first, second):
                cut_off_at(out, event)
                if (out / "_manifest.json").exists():
                    stored = suffice.load(out)  # what is there is whole
                    assert all(e.complete for e in stored)
                    digests = out / "_work" / "digests.jsonl"
                    if digests.exists():  # the line in hand is torn
                        with digests.open("ab") as file:
                            file.write(b'{"file":"factors/part-0000')
            write_store(out)
            assert stored_bytes(out) == stored_bytes(whole)

        return count_tries("cut-off runs", tries(), count, seconds)


def read_while_written(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Read a folder before every change that a run makes: what is there is right, or refused."""
    with TemporaryDirectory() as folder:
        whole = Path(folder) / "whole"
        write_store(whole)
        done = suffice.load(whole)
        answers = {id: e.to_json() for id, e in zip(done.ids, done, strict=True)}

        def check() -> None:
            out = Path(folder) / "out"
            shutil.rmtree(out, ignore_errors=True)
            early: list[suffice.batch.load.Stored] = []

            def seen() -> None:
                events = _file_events()
                events.seen, held = None, events.seen
                try:
                    if (out / "_manifest.json").exists():
                        stored = suffice.load(out)
                        early.append(stored)
                        for id, e in zip(stored.ids, stored, strict=True):
                            assert answers[id] == e.to_json()
                finally:
                    events.seen = held

            with on_file_events(out, seen):
                write_store(out)
            for stored in early:  # as they were when they were loaded, though the run has ended
                assert [answers[id] for id in stored.ids] == [e.to_json() for e in stored]
                assert len(stored) + len(stored.errors) == ROWS or not stored.finished
                assert len(stored.to_frame()) == len(stored)

        tries = ((f"run {number}", check) for number in numbers(seed))
        return count_tries("reads of a running store", tries, count, seconds)
