"""Forks of a process that has threads: locks must not stay locked in the new process.

A forked process has one thread, and copies of all locks. One that another thread held is never
released there.
"""

from __future__ import annotations

import os
import sys
from functools import cached_property
from threading import RLock
from typing import Any


def hold_across_forks(lock: Any) -> None:
    """Let forks wait until a reentrant lock is free, so that the data it guards are consistent."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )


def _renew_property_locks() -> None:
    """Give every `cached_property` of this package a new lock.

    Until Python 3.12 each has one for all instances, held while a value is computed.
    """
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "suffice":
            continue
        for kind in list(vars(module).values()):
            if not isinstance(kind, type):
                continue
            for member in vars(kind).values():
                if isinstance(member, cached_property):
                    member.lock = RLock()  # type: ignore[attr-defined]


if sys.version_info < (3, 12) and hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_property_locks)
