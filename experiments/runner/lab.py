"""What every experiment works with: the data, the size of the run, and work that can be resumed."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

__all__ = ["Lab", "data_home"]


def data_home() -> Path:
    """Where the data sets are: SUFFICE_DATA, or beside the repository."""
    return Path(os.environ.get("SUFFICE_DATA", Path(__file__).parents[3] / "shared" / "data"))


@dataclass(frozen=True)
class Lab:
    """One run of one experiment."""

    name: str
    data: Path
    folder: Path
    """Where its figures, tables and numbers go; work done so far is kept there too."""
    quick: bool = False
    """A small true slice: the same code on fewer inputs."""
    progress: bool | None = None

    def size(self, full: int, quick: int) -> int:
        """How many inputs, references, … this run is to use."""
        return quick if self.quick else full

    def each(
        self,
        work: Callable[[Any], Any],
        items: Iterable[Any],
        settings: dict[str, Any],
        label: str = "inputs",
        code: Iterable[Any] = (),
    ) -> list[Any]:
        """The work's result (plain JSON) for each item; what an earlier run finished is read back.

        Finished work counts only for the same settings and the same code: the file of `work` and
        of everything in `code`.
        """
        files = sorted({_file_of(thing) for thing in (work, *code)})
        sources = "".join(Path(file).read_text(encoding="utf-8") for file in files)
        print_of = json.dumps([settings, sources], sort_keys=True, default=str)
        fingerprint = hashlib.sha256(print_of.encode()).hexdigest()[:16]
        store = self.folder / "partial" / f"{label}-{fingerprint}.jsonl".replace(" ", "-")
        done = _read(store)
        todo = list(items)
        store.parent.mkdir(parents=True, exist_ok=True)
        disable = None if self.progress is None else not self.progress
        with store.open("a", encoding="utf-8") as file:
            for item in tqdm(todo, desc=f"{self.name}: {label}", disable=disable, delay=1):
                key = json.dumps(item, default=str)
                if key not in done:
                    done[key] = json.loads(json.dumps(work(item)))
                    file.write(json.dumps([key, done[key]]) + "\n")
                    file.flush()
        return [done[json.dumps(item, default=str)] for item in todo]


def _file_of(thing: Any) -> str:
    import inspect

    return inspect.getsourcefile(inspect.unwrap(getattr(thing, "func", thing))) or ""


def _read(store: Path) -> dict[str, Any]:
    """Lines that were written whole; a run killed in the middle of one loses that one only."""
    if not store.exists():
        return {}
    done = {}
    for line in store.read_text(encoding="utf-8").splitlines():
        try:
            key, value = json.loads(line)
        except ValueError:
            continue
        done[key] = value
    return done
