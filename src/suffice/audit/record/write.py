"""Write an audit record: explain, analyse, put it in a folder, and seal it.

Everything that can be wrong is looked for first, on a few decisions: the long work comes after.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from suffice.audit.groups import names_of
from suffice.audit.record.analyses import ANALYSING, asked as read_asked, given_of, run
from suffice.audit.record.analysis import Material
from suffice.audit.record.chain import (
    MANIFEST,
    START,
    chained,
    fact_of_file,
    files_in,
    manifest_text,
    seal_of,
)
from suffice.audit.record.explaining import before_of, explained, keep_before
from suffice.audit.record.facts import about, need_pyarrow, rests_on
from suffice.audit.record.folder import EXPLANATIONS, LINES, files_of, write_lines
from suffice.audit.record.rehearsal import (
    for_rows,
    new_folder,
    read_config,
    read_date,
    rehearse,
    unseen_labels,
)
from suffice.audit.record.result import Asked, Finding, Record
from suffice.checks import text, truth
from suffice.errors import InputError
from suffice.explainer import Asked as Question, Explainer
from suffice.many.durable import write_for_good
from suffice.progress import progress_bar
from suffice.tables import as_table
from suffice.wording import count, harmless, named

if TYPE_CHECKING:
    from suffice.many.load import Stored

__all__ = ["record"]


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
    **question: Unpack[Question],
) -> Record:
    """Explain decisions, analyse them, and write it all to a folder that can be verified.

    The same audit gives the same seal: nothing in the folder tells of the time or the place.
    `suffice audit --config FILE` does the same from a file; `audit.verify` checks a record.

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
        Which, with their arguments: {"roles": {}, "reliance": {"protected": ["age"]}}. An argument
        means what it means in `suffice.audit`.
    id
        The column that names the decisions. None: their numbers do.
    title, date
        What stands on the page. The date is one that you declare.
    previous
        The folder of the record before this one: its seal is where this chain begins.
    config
        The file that the audit was declared in; a copy is kept.
    hashes
        Of what you know better, such as the file that the model was read from.
    workers
        Processes that explain. None: this one does.
    resume
        Go on with what an interrupted run explained.
    question
        What is asked of each decision: as in `explain`.

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
    need_pyarrow()
    _check_explainer(explainer)
    wanted = read_asked(analyses)
    heading = None if title is None else harmless(text("title", title))
    dated = read_date(date)
    start = START if previous is None else seal_of(previous, "previous")
    declared = None if config is None else read_config(config)
    folder = new_folder(out, truth("resume", resume))
    table = as_table(X, names=explainer.data.names, argument="X")
    labels = unseen_labels(wanted, table, explainer)
    given = given_of(analyses)
    before = before_of(given["compare"]["with"]) if "compare" in wanted else None
    rehearse(explainer, table, wanted, labels, given, question)

    def explain(asked_of: Explainer, inside: Path) -> Stored:
        known = hashes if asked_of is explainer else None
        how: dict[str, Any] = {"id": id, "workers": workers, "resume": resume}
        return explained(asked_of, table, inside, hashes=known, question=question, **how)

    stored = explain(explainer, folder / EXPLANATIONS)
    if before is not None:
        given["compare"]["with"] = keep_before(before, folder, explain)
    names, kept = names_of(stored, None), stored.to_frame()["row"].tolist()
    grouped = {column: [cells[row] for row in kept] for column, cells in labels.items()}
    wanted = {name: for_rows(arguments, kept) for name, arguments in wanted.items()}
    rows = table.take(np.array(kept))
    material = Material(stored, names, grouped, explainer, rows, given)
    found = []
    with progress_bar(ANALYSING, len(wanted), question.get("progress")) as bar:
        for name, arguments in wanted.items():
            found.append(Finding(name, run(name, material, arguments)))
            bar.update()
    facts = tuple(about(stored))
    heading = heading or f"Audit of {count(len(stored), 'decision')} of {named(facts[0][1])}"
    head = Asked(heading, dated, facts, wanted, grouped)
    rests = [*rests_on(stored, wanted)]
    whole = Record.made_of(head, found, chained(rests, start))
    write_lines(folder / LINES, stored, names)
    for name, content in [*files_of(whole), *([declared] if declared else [])]:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    files = [fact_of_file(name, path) for name, path in files_in(folder)]
    chain = chained([*rests, *files], start)
    write_for_good(folder / MANIFEST, lambda path: _write(path, manifest_text(chain)), folder)
    return Record.made_of(head, found, chain)


def _check_explainer(given: object) -> None:
    if not isinstance(given, Explainer):
        allowed = "an Explainer: the model with its data"
        raise InputError("explainer", given, allowed, "Pass Explainer(model, data).")


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
