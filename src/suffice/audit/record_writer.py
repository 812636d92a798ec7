"""Write an audit record (`audit.record`): explain, analyse, write the folder, and seal it.

A dry run on a few decisions finds mistakes before the long work: it writes a record of them to a
temporary folder.
"""

from __future__ import annotations

import datetime
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from suffice.audit.decisions import as_label, check_explainer, decision_names
from suffice.audit.record_analyses import (
    ANALYSES,
    ANALYSES_PROGRESS,
    AnalysisInputs,
    Arguments,
    check_analyses,
    run_analysis,
    unrecorded_arguments,
)
from suffice.audit.record_result import (
    BASELINE_FOLDER,
    CONFIG_STEM,
    EXPLANATIONS_FOLDER,
    RECORD_PREFIXES,
    Finding,
    Record,
    RecordHead,
    describe_audit,
    record_files,
)
from suffice.audit.record_seal import (
    RECORD_MANIFEST,
    SUMS_FILE,
    hashes_with_predictions,
    list_files,
    read_seal,
    require_pyarrow,
    seal_file,
    seal_manifest,
    sealed_facts,
    store_counts,
)
from suffice.batch.atomic_write import LOCK_FILE, PRIVATE_FOLDER, write_atomically
from suffice.errors import InputError, SufficeError, did_you_mean
from suffice.explainer import Explainer, ExplainOptions
from suffice.formatting import format_name, plural, printable
from suffice.progress import listen_to_progress, progress_bar
from suffice.results import write_bytes
from suffice.tables import Table, as_table
from suffice.tables.cells import label_text, unwrap_label
from suffice.target import Target, event_for, needs_input
from suffice.validation import check_bool, check_string

if TYPE_CHECKING:
    from suffice.batch.load import Stored


def record(
    explainer: Explainer,
    X: Any,
    out: str | Path,
    *,
    analyses: Mapping[str, Any],
    id: str | None = None,
    title: str | None = None,
    date: str | datetime.date | None = None,
    previous: str | Path | None = None,
    config: str | Path | None = None,
    hashes: Mapping[str, str] | None = None,
    workers: int | None = None,
    resume: bool = False,
    **question: Unpack[ExplainOptions],
) -> Record:
    """Explain decisions, analyse them, and write it all to a folder that can be verified.

    The same audit gives the same seal: the folder has neither times nor paths, and searches must
    not be bounded by time. `suffice audit --config FILE` does the same from a file; `audit.verify`
    checks a record.

    Parameters
    ----------
    explainer
        The model with its data.
    X
        The decisions to audit: a frame, or an array. Columns that the model does not see may be
        named by `id`, and by the `by` of an analysis.
    out
        The folder: a new one or, with `resume`, that of a run that was interrupted.
    analyses
        Analyses with their arguments: {"roles": {}, "reliance": {"protected": ["age"]}}. Arguments
        are those of the functions in `suffice.audit`.
    id
        The column that names the decisions. None: they are numbered.
    title, date
        Title and date on the page; the date is not that of the computer but one that you declare.
    previous
        The folder of the record before this one: its seal becomes part of this record.
    config
        The file that declared the audit; a copy is stored.
    hashes
        Hashes by name, such as that of the file that the model was read from.
    workers
        Number of processes that explain. None: the present process.
    resume
        Continue an interrupted run with the explanations that it stored.
    question
        Arguments of `explain`, without `time_limit`.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from suffice import Explainer, audit, datasets
    >>> X, y = datasets.loans(200)
    >>> X = X[["age", "income", "debt"]]
    >>> explainer = Explainer(DecisionTreeClassifier(random_state=0).fit(X, y), X)
    >>> folder = mkdtemp()
    >>> found = audit.record(
    ...     explainer, X.iloc[:10], folder, analyses={"reliance": {"protected": "age"}}
    ... )
    >>> found["reliance"].groups[0].decisions
    10
    >>> audit.verify(folder, explainer, X.iloc[:10], seal=found.seal).ok
    True
    """
    require_pyarrow()
    check_explainer(explainer)
    if question.get("time_limit") is not None:
        hint = "A search that ends with its time cannot be repeated: bound it by budget=…"
        raise InputError("time_limit", question["time_limit"], "None in a record", hint)
    wanted = check_analyses(analyses)
    given = unrecorded_arguments(analyses)
    plan = _RecordPlan(
        explainer=explainer,
        analyses=wanted,
        question=question,
        id=id,
        title=None if title is None else printable(check_string("title", title)),
        date=_read_date(date),
        previous=None if previous is None else read_seal(previous, "previous"),
        declaration=None if config is None else _read_config(config),
        hashes=hashes,
        given=given,
    )
    folder = _prepare_folder(out, check_bool("resume", resume))
    table = as_table(X, names=explainer.data.names, argument="X")
    plan = replace(plan, labels=_extra_group_labels(wanted, table, explainer))
    if "compare" in wanted:
        plan = replace(plan, baseline=_read_baseline(given["compare"]["with"]))
    _dry_run(plan, table)
    return _write_record(plan, table, folder, workers=workers, resume=resume)


@dataclass(frozen=True, kw_only=True)
class _RecordPlan:
    """Checked arguments of `record`, without rows and folder."""

    explainer: Explainer
    analyses: Mapping[str, Arguments]
    question: ExplainOptions
    id: str | None
    title: str | None
    date: str | None
    previous: str | None
    """Seal of the record before this one."""
    declaration: tuple[str, bytes] | None
    """Name and content of the file that declared the audit."""
    hashes: Mapping[str, str] | None
    given: Mapping[str, Mapping[str, Any]]
    """By analysis: the arguments that a record cannot store."""
    labels: Mapping[str, list[str | None]] = field(default_factory=dict)
    """Group labels by column that the model does not use: one for each row."""
    baseline: Explainer | Stored | None = None
    """What decisions are compared with."""

    def for_dry_run(self, rows: Sequence[int]) -> _RecordPlan:
        """Return the plan of the dry run on these rows: analyses of little work, no progress."""
        quiet = self.question.copy()
        quiet["progress"] = False
        analyses = {
            name: _arguments_for_rows(arguments, rows) | dry
            for name, arguments in self.analyses.items()
            if (dry := ANALYSES[name].dry_run) is not None
        }
        labels = {column: [cells[row] for row in rows] for column, cells in self.labels.items()}
        return replace(self, analyses=analyses, question=quiet, labels=labels, baseline=None)


def _write_record(
    plan: _RecordPlan,
    table: Table,
    folder: Path,
    *,
    workers: int | None = None,
    resume: bool = False,
    figures: bool = True,
) -> Record:
    """Explain the rows into the folder, run the analyses, write all files and the manifest."""

    def explain(explainer: Explainer, inside: Path) -> Stored:
        return _explain_into_folder(plan, explainer, table, inside, workers=workers, resume=resume)

    stored = explain(plan.explainer, folder / EXPLANATIONS_FOLDER)
    given = {name: {**arguments} for name, arguments in plan.given.items()}
    if plan.baseline is not None:
        given["compare"]["with"] = _store_baseline(plan.baseline, folder, explain)
    names, rows = decision_names(stored, None), stored.to_frame()["row"].tolist()
    labels = {column: [cells[row] for row in rows] for column, cells in plan.labels.items()}
    analyses = {name: _arguments_for_rows(asked, rows) for name, asked in plan.analyses.items()}
    kept = table.take(np.array(rows))
    progress = plan.question.get("progress")
    inputs = AnalysisInputs(stored, names, labels, plan.explainer, kept, given, progress)
    found = []
    with progress_bar(ANALYSES_PROGRESS, len(analyses), progress) as bar:
        for name, arguments in analyses.items():
            # Analyses read what was stored, not what is in memory, as `verify` will.
            found.append(Finding(name, run_analysis(name, inputs, arguments)))
            bar.update()
    about = tuple(describe_audit(stored))
    model = format_name(about[0][1])
    title = plan.title or f"Audit of {plural(len(stored), 'decision')} of {model}"
    head = RecordHead(title, plan.date, about, analyses, labels)
    facts = tuple(sealed_facts(stored, analyses))
    # The page shows the facts, not the hashes of files, so it can be written before these are
    # known.
    unsealed = Record.from_head(head, found, seal_manifest(facts, previous=plan.previous))
    files = [*record_files(unsealed, figures, progress), *filter(None, [plan.declaration])]
    for name, content in files:
        (folder / name).parent.mkdir(PRIVATE_FOLDER, exist_ok=True)
        write_bytes(folder / name, content, "out")
    sealed = (seal_file(name, path) for name, path in list_files(folder))
    manifest = seal_manifest(facts, sealed, plan.previous)
    write_bytes(folder / SUMS_FILE, manifest.sums(), "out")
    # The manifest comes last: a folder without one is a run that was interrupted.
    write_atomically(
        folder / RECORD_MANIFEST, lambda path: path.write_bytes(manifest.encode()), folder
    )
    return replace(unsealed, manifest=manifest)


def _explain_into_folder(
    plan: _RecordPlan,
    explainer: Explainer,
    table: Table,
    inside: Path,
    *,
    workers: int | None,
    resume: bool,
) -> Stored:
    """Explain every row into a folder, and remove the files there that have times."""
    from suffice.batch.explain_to import explain_to
    from suffice.batch.manifest import MANIFEST_FILE
    from suffice.batch.store import LOG_FILE

    stored = explain_to(
        explainer,
        table.native,
        inside,
        id=plan.id,
        resume=resume and (inside / MANIFEST_FILE).exists(),
        workers=workers,
        counts=store_counts(explainer),
        hashes=hashes_with_predictions(
            explainer, plan.hashes if explainer is plan.explainer else None
        ),
        **plan.question,
    )
    for name in (LOG_FILE, LOCK_FILE):
        # The log has times and the lock a process: with them no two runs would have the same seal.
        (inside / name).unlink(missing_ok=True)
    if not len(stored):
        why = stored.errors["message"].iloc[0]
        raise InputError("X", f"no row that can be explained ({why})", "at least one")
    return stored


def _read_baseline(given: Any) -> Explainer | Stored:
    """Return an explainer to compare with, or stored explanations, complete and unchanged."""
    from suffice.batch.load import Stored, load

    if isinstance(given, Explainer | Stored):
        return given
    if not isinstance(given, str | PathLike):
        allowed = "an Explainer, or the folder of a record or of `suffice batch`"
        raise InputError("compare: with", given, allowed)
    folder = Path(given)
    if (folder / RECORD_MANIFEST).exists():
        read_seal(folder, "compare: with")
        folder = folder / EXPLANATIONS_FOLDER
    try:
        found = load(folder)
    except InputError as error:
        allowed = "a model's file, or the folder of a record or of `suffice batch`"
        raise InputError("compare: with", f"{given}", allowed, str(error)) from error
    if not found.finished or not len(found):
        raise InputError("compare: with", f"{given}, which is not finished", "a finished one")
    return found


def _store_baseline(
    before: Explainer | Stored, folder: Path, explain: Callable[[Explainer, Path], Stored]
) -> Stored:
    """Copy stored explanations into the record, or explain the decisions by an explainer there."""
    from suffice.batch.load import load
    from suffice.batch.store import LOG_FILE, WORK_FOLDER

    inside = folder / BASELINE_FOLDER
    if isinstance(before, Explainer):
        return explain(before, inside)
    shutil.rmtree(inside, ignore_errors=True)
    shutil.copytree(
        before.folder, inside, ignore=shutil.ignore_patterns(LOG_FILE, LOCK_FILE, WORK_FOLDER)
    )
    return load(inside)


# Checks of arguments, before anything is explained.


def _read_date(given: Any) -> str | None:
    """Return the declared date as text: of a date, or any text."""
    if given is None or isinstance(given, date):
        return None if given is None else given.isoformat()
    return printable(check_string("date", given, "None, a text or a date"))


def _read_config(given: Any) -> tuple[str, bytes]:
    """Return name and content of the copy of the declaration."""
    try:
        path = Path(given)
        return f"{CONFIG_STEM}{path.suffix.lower()}", path.read_bytes()
    except (TypeError, OSError) as error:
        why = getattr(error, "strerror", None) or "no path"
        raise InputError("config", f"{given} ({why})", "a readable file") from error


def _prepare_folder(given: Any, resume: bool) -> Path:
    """Return the folder to write to: a new or empty one or, to resume, one of a begun record."""
    if not isinstance(given, str | PathLike) or not str(given).strip():
        raise InputError("out", given, "the path of a folder")
    folder = Path(given)
    if folder.exists() and not folder.is_dir():
        raise InputError("out", f"{folder}, which is a file", "a folder")
    if (folder / RECORD_MANIFEST).exists():
        hint = "A record is never written over: write beside it, with it as previous."
        raise InputError("out", f"{folder}, where a record is already", "a new folder", hint)
    there = [name for name, _ in list_files(folder)] if folder.exists() else []
    begun = any(name.startswith(f"{EXPLANATIONS_FOLDER}/") for name in there)
    if begun and not resume:
        hint = "To go on with an interrupted run: resume=True."
        got = f"{folder}, where a record was begun"
        raise InputError("out", got, "a new or an empty folder", hint)
    others = [name for name in there if not (begun and name.startswith(RECORD_PREFIXES))]
    if others:
        got = f"{folder}, which holds {others[0]}"
        raise InputError("out", got, "a new or an empty folder")
    folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    return folder


def _extra_group_labels(
    wanted: Mapping[str, Arguments], table: Table, explainer: Explainer
) -> dict[str, list[str | None]]:
    """Return each row's group label, by grouping column that the model does not use."""
    found: dict[str, list[str | None]] = {}
    for name, arguments in wanted.items():
        by = arguments.get("by")
        if isinstance(by, list) and len(by) != len(table):
            allowed = f"a column, or a label for each of the {plural(len(table), 'row')} of X"
            raise InputError(f"{name}: by", plural(len(by), "label"), allowed)
        if not isinstance(by, str) or by in explainer.data.names:
            continue
        if by not in table.names:
            hint = did_you_mean(by, table.names)
            raise InputError(f"{name}: by", repr(by), "a column of the decisions", hint)
        found[by] = [as_label(cell) for cell in table.column(table.position(by, name))]
    return found


def _arguments_for_rows(arguments: Arguments, rows: Sequence[int]) -> Arguments:
    """Return the arguments with the group labels of these rows, where labels were given."""
    by = arguments.get("by")
    return arguments | {"by": [by[row] for row in rows]} if isinstance(by, list) else arguments


_DRY_RUN_ROWS, _DRY_RUN_ATTEMPTS = 3, 4
"""Decisions of a dry run, and how many times as many rows are tried to find them."""


def _dry_run(plan: _RecordPlan, table: Table) -> None:
    """Write a record of a few decisions, of every outcome, to a temporary folder."""
    seen = table.select([table.position(name, "X") for name in plan.explainer.data.names])
    adverse = plan.analyses.get("reasons", {}).get("adverse")
    order = _alternate_outcomes(_row_outcomes(plan.explainer, seen), adverse)
    if not order:
        raise InputError("X", "no rows", "at least one decision")
    rows = _explainable_rows(plan, seen, order)
    # Listeners get the progress of the record itself, not that of its dry run.
    with TemporaryDirectory() as folder, listen_to_progress(lambda *_: None):
        _write_record(
            plan.for_dry_run(rows), table.take(np.array(rows)), Path(folder), figures=False
        )


def _explainable_rows(plan: _RecordPlan, seen: Table, order: Sequence[int]) -> list[int]:
    """Return the first rows that can be explained; raise the error of the first if none can."""
    errors: list[SufficeError] = []
    found: list[int] = []
    quiet = plan.question.copy()
    quiet["progress"] = False
    for at in order[: _DRY_RUN_ROWS * _DRY_RUN_ATTEMPTS]:
        try:
            plan.explainer.explain(seen.take(np.array([at])).native, **quiet)
            found.append(at)
        except SufficeError as error:
            errors.append(error)
        if len(found) == _DRY_RUN_ROWS:
            break
    if not found:
        raise errors[0]
    return found


def _row_outcomes(explainer: Explainer, rows: Table) -> list[str]:
    """Return each row's outcome as text, by one call of the model; "" if that fails."""
    of = explainer.decider
    try:
        answers = of.model.predict(rows)
        if needs_input(of.outcome):
            return [label_text(unwrap_label(answer)) for answer in answers]
        target = Target(of.model, event_for(of.outcome, of.model, answers[0]))
        return [target.event.describe(bool(y)) for y in target(rows)]
    except SufficeError:  # the same error is raised when they are explained
        return [""] * len(rows)


def _alternate_outcomes(outcomes: Sequence[str], first: Any) -> list[int]:
    """Order rows so that every outcome comes once before any comes again, `first` before others.

    >>> _alternate_outcomes(["granted", "granted", "refused", "granted"], "refused")
    [2, 0, 1, 3]
    """
    seen: Counter[str] = Counter()
    keys = []
    for at, outcome in enumerate(outcomes):
        keys.append(
            (seen[outcome], first is None or outcome != label_text(unwrap_label(first)), at)
        )
        seen[outcome] += 1
    return [at for *_, at in sorted(keys)]
