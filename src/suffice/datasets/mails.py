"""SpamAssassin's public mails: as the paper's authors prepared them, and as they were sent."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from suffice.datasets.files import DataFile, locate

__all__ = ["spam", "spam_raw"]

_PREPARED = DataFile(
    "spam/spam_clean_str.csv",
    "e4b1b0b3ad83701fe8b353332053cdc62144d429f0a00e1f35f81827b53670d0",
    "Get spam_clean_str.csv from the authors' repository, github.com/limorigu/LENS",
)
_RAW = DataFile(
    "spam/spamassassin_raw.jsonl.gz",
    "af31125238b3d694e743ecb26615e87ecbca33fd032ae279b70129a9610c0090",
    "Get the mails from spamassassin.apache.org/old/publiccorpus and write one JSON object"
    ' {"text", "label"} per line (label 1: spam)',
)
_COLUMNS = (
    "From",
    "To",
    "Subject",
    "save_urls",
    "save_emailsadd",
    "first_sent",
    "second_sent",
    "penult_sent",
    "last_sent",
)


def spam(data_home: str | Path | None = None, *, verify: bool = True) -> tuple[Any, Any]:
    """4,439 mails as a frame of nine cleaned text segments, and their labels: spam 1, other 0.

    The paper's authors made these fields; see "E-mails and other structured documents" for how
    they differ from those of `mail_segments`. A sentence that a mail does not have is empty.
    `data_home` (or SUFFICE_DATA) is the folder that holds `spam/spam_clean_str.csv`;
    `verify=False` takes another version of the file.

    >>> from suffice import datasets
    >>> segments, labels = datasets.spam()
    >>> segments.shape, int(sum(labels))
    ((4439, 9), 1889)
    """
    import pandas as pd

    from suffice.datasets.mail import SEGMENTS

    path = locate(_PREPARED, data_home, verify)
    frame = pd.read_csv(path, index_col=0, keep_default_na=False, encoding="utf-8")
    texts = frame[list(_COLUMNS)].set_axis(list(SEGMENTS), axis="columns")
    # The file has runs of blanks where words were taken out, and "none" for a missing sentence.
    texts = texts.apply(lambda column: column.str.split().str.join(" "))
    texts = texts.replace({name: {"none": ""} for name in SEGMENTS[5:]})
    return texts, frame["outcome"].to_numpy()


def spam_raw(data_home: str | Path | None = None, *, verify: bool = True) -> list[tuple[str, int]]:
    """6,046 raw mails, each with its label: spam 1, other 0.

    `data_home` (or SUFFICE_DATA) is the folder that holds `spam/spamassassin_raw.jsonl.gz`;
    `verify=False` takes another version of the file.

    >>> from suffice import datasets
    >>> mails = datasets.spam_raw()
    >>> len(mails), sum(label for _, label in mails)
    (6046, 1896)
    """
    path = locate(_RAW, data_home, verify)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        mails = [json.loads(line) for line in lines]
    return [(str(mail["text"]), int(mail["label"])) for mail in mails]
