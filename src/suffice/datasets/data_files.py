"""Data files: locate a data set's file and verify its checksum."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from suffice.errors import InputError
from suffice.validation import check_bool


class DataFile(NamedTuple):
    """A data file: path below the data folder, SHA-256, and where to get it."""

    path: str
    sha256: str
    source: str


def locate(file: DataFile, data_home: str | Path | None = None, verify: bool = True) -> Path:
    """Return a file's path below `data_home`, SUFFICE_DATA or `data`; raise if it differs."""
    given: object = data_home
    if not (given is None or isinstance(given, str | Path)):
        raise InputError("data_home", given, "None, or the path of a folder")
    verify = check_bool("verify", verify)
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
