"""Finding a data set's file, and making sure that it is the one the code was written for."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from suffice.checks import truth
from suffice.errors import InputError

__all__ = ["DataFile", "locate"]


class DataFile(NamedTuple):
    """Where a file stands below the data folder, what it is, and who has it."""

    path: str
    sha256: str
    source: str


def locate(file: DataFile, data_home: str | Path | None = None, verify: bool = True) -> Path:
    """The file's path below `data_home`, or SUFFICE_DATA, or `data`; an error if it is another."""
    given: object = data_home
    if not (given is None or isinstance(given, str | Path)):
        raise InputError("data_home", given, "None, or the path of a folder")
    verify = truth("verify", verify)
    path = Path(data_home or os.environ.get("SUFFICE_DATA", "data")) / file.path
    try:
        found = path.is_file()
    except OSError:  # a name that no file can have
        found = False
    if not found:
        raise InputError(
            "data_home",
            f"a folder without {path}",
            f"a folder with {file.path}",
            f"{file.source}, or set SUFFICE_DATA.",
        )
    if verify:
        with path.open("rb") as opened:
            checksum = hashlib.file_digest(opened, "sha256").hexdigest()
        if checksum != file.sha256:
            raise InputError(
                "data_home",
                f"{path} with the SHA-256 checksum {checksum[:12]}…",
                f"the file whose checksum is {file.sha256[:12]}…",
                f"It is damaged or another version. {file.source}, or pass verify=False.",
            )
    return path
