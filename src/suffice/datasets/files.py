"""Finding a data set's file, and making sure that it is the one the code was written for."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from suffice.errors import InputError

__all__ = ["DataFile", "locate"]


class DataFile(NamedTuple):
    """Where a file stands below the data folder, what it is, and who has it."""

    path: str
    sha256: str
    source: str


def locate(file: DataFile, data_home: str | Path | None = None, verify: bool = True) -> Path:
    """The file's path below `data_home`, or SUFFICE_DATA, or `data`; an error if it is another."""
    path = Path(data_home or os.environ.get("SUFFICE_DATA", "data")) / file.path
    if not path.is_file():
        raise InputError(
            "data_home",
            f"a folder without {path}",
            f"a folder with {file.path}",
            f"{file.source}, or set SUFFICE_DATA.",
        )
    if verify:
        with path.open("rb") as opened:
            found = hashlib.file_digest(opened, "sha256").hexdigest()
        if found != file.sha256:
            raise InputError(
                "data_home",
                f"{path} with the SHA-256 checksum {found[:12]}…",
                f"the file whose checksum is {file.sha256[:12]}…",
                f"It is damaged or another version. {file.source}, or pass verify=False.",
            )
    return path
