"""Before the long work: everything is read, and tried on a few decisions, up to the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from suffice.audit.groups import label_of
from suffice.audit.record.analyses import ANALYSES, run
from suffice.audit.record.analysis import Arguments, Material
from suffice.audit.record.chain import MANIFEST, Fact, chained, files_in
from suffice.audit.record.folder import CONFIG, EXPLANATIONS, MADE, files_of
from suffice.audit.record.result import Asked, Finding, Record
from suffice.checks import text
from suffice.errors import InputError, SufficeError, did_you_mean
from suffice.explainer import Asked as Question, Explainer
from suffice.explanation import Explanation
from suffice.tables import Table
from suffice.tables.labels import own, say
from suffice.target import Target, event_for, needs_input
from suffice.wording import count, harmless

__all__ = ["for_rows", "new_folder", "read_config", "read_date", "rehearse", "unseen_labels"]

_REHEARSED, _LOOKED_AT = 3, 12
"""Decisions that everything is tried on, and rows that are looked at to find them."""


def read_date(given: Any) -> str | None:
    """A date as it is declared: a date, or any text."""
    if given is None or isinstance(given, date):
        return None if given is None else given.isoformat()
    return harmless(text("date", given, "None, a text or a date"))


def read_config(given: Any) -> tuple[str, bytes]:
    """The name and the bytes of the copy that a record keeps."""
    try:
        path = Path(given)
        return f"{CONFIG}{path.suffix.lower()}", path.read_bytes()
    except (TypeError, OSError) as error:
        why = getattr(error, "strerror", None) or "no path"
        raise InputError("config", f"{given} ({why})", "a readable file") from error


def new_folder(given: Any, resume: bool) -> Path:
    """A folder to write to: a new one, or one where a record was begun."""
    if not isinstance(given, str | PathLike) or not str(given).strip():
        raise InputError("out", given, "the path of a folder")
    folder = Path(given)
    if folder.exists() and not folder.is_dir():
        raise InputError("out", f"{folder}, which is a file", "a folder")
    if (folder / MANIFEST).exists():
        hint = "A record is never written over: write beside it, with it as previous."
        raise InputError("out", f"{folder}, where a record is already", "a new folder", hint)
    there = [name for name, _ in files_in(folder)] if folder.exists() else []
    begun = any(name.startswith(f"{EXPLANATIONS}/") for name in there)
    if begun and not resume:
        hint = "To go on with an interrupted run: resume=True."
        got = f"{folder}, where a record was begun"
        raise InputError("out", got, "a new or an empty folder", hint)
    others = [name for name in there if not (begun and name.startswith(MADE))]
    if others:
        got = f"{folder}, which holds {others[0]}"
        raise InputError("out", got, "a new or an empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def unseen_labels(
    wanted: Mapping[str, Arguments], table: Table, explainer: Explainer
) -> dict[str, list[str | None]]:
    """By column that the model does not see, and that groups are made by: each row's label."""
    found: dict[str, list[str | None]] = {}
    for name, arguments in wanted.items():
        by = arguments.get("by")
        if isinstance(by, list) and len(by) != len(table):
            allowed = f"a column, or a label for each of the {count(len(table), 'row')} of X"
            raise InputError(f"{name}: by", count(len(by), "label"), allowed)
        if not isinstance(by, str) or by in explainer.data.names:
            continue
        if by not in table.names:
            hint = did_you_mean(by, table.names)
            raise InputError(f"{name}: by", repr(by), "a column of the decisions", hint)
        found[by] = [label_of(cell) for cell in table.column(table.position(by, name))]
    return found


def for_rows(arguments: Arguments, rows: Sequence[int]) -> Arguments:
    """The same of some rows only: where groups are labels of all rows, theirs."""
    by = arguments.get("by")
    return arguments | {"by": [by[row] for row in rows]} if isinstance(by, list) else arguments


def rehearse(
    explainer: Explainer,
    table: Table,
    wanted: Mapping[str, Arguments],
    labels: Mapping[str, list[str | None]],
    given: Mapping[str, Mapping[str, Any]],
    question: Question,
) -> None:
    """Everything once, on decisions that can be explained: the first of each outcome."""
    seen = table.select([table.position(name, "X") for name in explainer.data.names])
    quiet = question.copy()
    quiet["progress"] = False
    places: list[int] = []
    decisions: list[Explanation] = []
    errors: list[SufficeError] = []
    adverse = wanted.get("reasons", {}).get("adverse")
    for at in _in_turn(_outcomes(explainer, seen), adverse)[:_LOOKED_AT]:
        try:
            decisions.append(explainer.explain(seen.take(np.array([at])).native, **quiet))
            places.append(at)
        except SufficeError as error:
            errors.append(error)
        if len(decisions) == _REHEARSED:
            break
    if not decisions:
        raise errors[0] if errors else InputError("X", "no rows", "at least one decision")
    some = {column: [cells[at] for at in places] for column, cells in labels.items()}
    names = [str(at) for at in places]
    material = Material(decisions, names, some, explainer, table.take(np.array(places)), given)
    found = []
    for name, arguments in wanted.items():
        tried = ANALYSES[name].tried
        if tried is not None:
            of_these = for_rows(arguments, places)
            found.append(Finding(name, run(name, material, of_these | tried)))
    head = Asked("Tried", None, (), dict(wanted), some)
    tried_on_few = Record.made_of(head, found, chained([Fact("question", "tried", "")]))
    list(files_of(tried_on_few, figures=False))


def _outcomes(explainer: Explainer, rows: Table) -> list[str]:
    """Each row's outcome in words, by asking the model once; "" where that cannot be told."""
    of = explainer.decider
    try:
        answers = of.model.predict(rows)
        if needs_input(of.outcome):
            return [say(own(answer)) for answer in answers]
        target = Target(of.model, event_for(of.outcome, of.model, answers[0]))
        return [target.event.describe(bool(y)) for y in target(rows)]
    except SufficeError:  # what is wrong is told when they are explained
        return [""] * len(rows)


def _in_turn(outcomes: Sequence[str], first: Any) -> list[int]:
    """The places of rows, such that every outcome comes before any comes again.

    >>> _in_turn(["granted", "granted", "refused", "granted"], "refused")
    [2, 0, 1, 3]
    """
    seen: Counter[str] = Counter()
    keys = []
    for at, outcome in enumerate(outcomes):
        keys.append((seen[outcome], first is None or outcome != say(own(first)), at))
        seen[outcome] += 1
    return [at for *_, at in sorted(keys)]
