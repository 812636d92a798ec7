"""Does a record still tell the truth? Its bytes, its explanations, its findings.

Bytes are compared with the chain, and nothing of a record that was tampered with is read. Then some
decisions are explained again and compared with what is kept of them; every analysis is made again
from the kept explanations, and every page and table from the analyses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from suffice.audit.groups import names_of
from suffice.audit.record.analyses import ANALYSES, ANALYSING, run
from suffice.audit.record.analysis import Material
from suffice.audit.record.chain import ChainEntry, Fault, faults_of, read_chain
from suffice.audit.record.facts import (
    counts_kept,
    known_hashes,
    need_pyarrow,
    versions_now,
)
from suffice.audit.record.folder import (
    BEFORE,
    EXPLANATIONS,
    LINES,
    files_of,
    line_of,
    lines_of,
    read_record,
)
from suffice.audit.record.result import Finding, Record
from suffice.audit.record.verification import Check, Verdict, Verification
from suffice.checks import text, whole
from suffice.errors import InputError, did_you_mean, shorten
from suffice.explainer import Explainer
from suffice.progress import progress_bar
from suffice.randomness import Stream, generator
from suffice.tables import Table, as_table
from suffice.wording import and_more, count, named

if TYPE_CHECKING:
    from suffice.explanation import Explanation
    from suffice.many.load import Stored

__all__ = ["check_bytes", "verify"]

_QUESTION = "model, data and question"


def verify(
    folder: str | Path,
    explainer: Explainer | None = None,
    X: Any = None,
    *,
    seal: str | None = None,
    rows: int = 10,
    hashes: Mapping[str, str] | None = None,
    given: Mapping[str, Mapping[str, Any]] | None = None,
    random_state: int = 0,
    progress: bool | None = None,
) -> Verification:
    """Check a record: every byte, a sample of its explanations, and all its findings.

    Parameters
    ----------
    folder
        Where the record is.
    explainer, X
        The model with its data, and the decisions, as they were recorded. None: no decision is
        explained again.
    seal
        The seal that you kept elsewhere. Without it a record that was rewritten as a whole, chain
        and all, cannot be told from the one that you made.
    rows
        How many decisions are explained again.
    hashes
        As in `record`.
    given
        By analysis, what it was given that a record cannot keep, such as {"stability": {"fit": …,
        "y": …}}. An analysis that lacks it is not made again.
    random_state
        Of the draw of decisions.

    Returns
    -------
    Verification
        `.ok` is the verdict; print it for the rest.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [1, 2, 5, 6], "debt": [4, 0, 4, 0]})
    >>> explainer = Explainer(lambda rows: rows["pay"] - rows["debt"] > 2, people)
    >>> folder = Path(mkdtemp())
    >>> record = audit.record(explainer, people, folder, analyses={"roles": {}})
    >>> print(audit.verify(folder, explainer, people, seal=record.seal).sheet.lead[1])
    The record tells the truth: all that was worked out again came out the same.
    >>> page = folder / "index.html"
    >>> _ = page.write_text(page.read_text().replace("pay", "age"))
    >>> print(audit.verify(folder).faults[0])
    index.html was changed
    """
    need_pyarrow()
    if not isinstance(folder, str | PathLike):
        raise InputError("folder", folder, "the folder of a record")
    expected = None if seal is None else text("seal", seal).strip().lower()
    wanted = whole("rows", rows, least=0)
    if (explainer is None) != (X is None):
        raise InputError("explainer, X", "one of the two", "both, or neither")
    if explainer is not None and not isinstance(explainer, Explainer):
        raise InputError("explainer", explainer, "the Explainer that the record was made with")
    things = _read_given(given)
    rng = generator(whole("random_state", random_state, least=0), Stream.VERIFIED)
    place = Path(folder)
    looked_at = check_bytes(place, expected)
    if not looked_at.whole:
        return looked_at
    chain = read_chain(place)
    assert not isinstance(chain, Fault)
    record = read_record(place, chain)
    from suffice.many.load import load

    stored = load(place / EXPLANATIONS)
    checks: list[Check] = []
    if (place / BEFORE).is_dir():
        things["compare"] = {"with": load(place / BEFORE)}
    material = Material(stored, names_of(stored, None), record.labels, given=things)
    if explainer is None:
        checks.append(Check("explanations", "explanations", "not checked", "no model was given"))
    else:
        table = as_table(X, names=explainer.data.names, argument="X")
        if wanted:
            checks += _explained_again(explainer, table, stored, hashes, wanted, rng)
        else:
            checks.append(Check("explanations", "explanations", "not checked", "rows = 0"))
        kept = list(_by_row(stored))
        there = max(kept, default=-1) < len(table)
        if not there:
            why = f"{count(len(table), 'row')}, and row {max(kept)} was recorded (counted from 0)"
            checks.append(Check("explanations", "X", "differs", why))
        rows_of = table.take(np.array(kept)) if there else None
        material = replace(material, explainer=explainer, rows=rows_of)
    checks += _found_again(place, record, material, progress)
    others = tuple(_other_versions(chain))
    return replace(looked_at, title=record.title, checks=tuple(checks), versions=others)


def _read_given(given: Any) -> dict[str, Mapping[str, Any]]:
    """By analysis: what it is given, each under a name that it has."""
    if given is None:
        return {}
    like = "such as {'stability': {'fit': …, 'y': …}}"
    if not isinstance(given, Mapping):
        raise InputError("given", given, f"{{analysis: {{name: thing}}}}, {like}")
    for name, things in given.items():
        if name not in ANALYSES:
            hint = did_you_mean(name, ANALYSES, or_list=False)
            raise InputError("given", shorten(name), ", ".join(ANALYSES), hint)
        known = ANALYSES[name].given
        if not isinstance(things, Mapping):
            raise InputError(f"given: {name}", things, f"what it is given by name, {like}")
        for thing in things:
            if thing not in known:
                hint = did_you_mean(thing, known, or_list=False)
                raise InputError(f"given: {name}", shorten(thing), ", ".join(known) or "{}", hint)
    return dict(given)


def check_bytes(folder: Path, expected: str | None = None) -> Verification:
    """The first part: every byte, and the seal. No more is read of a record that fails it."""
    title, chain = f"The record in {folder.name}", read_chain(folder)
    if isinstance(chain, Fault):
        return Verification(title, None, expected, 0, (chain,), (), ())
    files = sum(entry.kind == "file" for entry in chain)
    faults = tuple(faults_of(folder, chain))
    return Verification(title, chain[-1].link, expected, files, faults, (), ())


def _explained_again(
    explainer: Explainer,
    table: Table,
    stored: Stored,
    hashes: Mapping[str, str] | None,
    wanted: int,
    rng: np.random.Generator,
) -> Iterator[Check]:
    """The model and the data, if they are the same; and a sample of decisions."""
    from suffice.many.manifest import differences
    from suffice.many.source import open_source
    from suffice.many.to import explain_to

    kept = stored.manifest
    whole_input = open_source(table.native, explainer.data, id=kept.storing.id)
    places = np.sort(rng.permutation(len(table))[:wanted])
    asked = {name: value for name, value in kept.question.items() if value is not None}
    with TemporaryDirectory() as folder:
        again = explain_to(
            explainer,
            table.take(places).native,
            Path(folder) / EXPLANATIONS,
            id=kept.storing.id,
            counts=counts_kept(explainer),
            hashes=known_hashes(explainer, hashes),
            **asked | {"search": kept.search},
        )
        now = msgspec.structs.replace(
            again.manifest,
            question=kept.question,  # asked as it was; how it is searched was settled then
            hashes=again.manifest.hashes | {"input": whole_input.fingerprint()},
            storing=kept.storing,
            shared=_of_versions(again.manifest.shared, kept.shared.provenance.versions),
        )
        changed = differences(kept, now)
        if changed:
            yield Check("explanations", _QUESTION, "differs", "; ".join(changed))
        else:
            yield Check("explanations", _QUESTION, "agrees")
        yield _compared(stored, again, places.tolist())


def _of_versions(shared: Any, versions: dict[str, str]) -> Any:
    """What rows have in common, as if made by these versions: others are told apart from it."""
    provenance = msgspec.structs.replace(shared.provenance, versions=versions)
    return msgspec.structs.replace(shared, provenance=provenance)


def _compared(stored: Stored, again: Stored, places: list[int]) -> Check:
    """The sampled decisions, then and now; a row that could not be explained still cannot."""
    then, now = _by_row(stored), _by_row(again)
    what = count(len(places), "explanation")
    bad = []
    for number, place in enumerate(places):
        one, other = then.get(place), now.get(number)
        if (one is None) != (other is None) or (
            one is not None and other is not None and _facts(stored[one]) != _facts(again[other])
        ):
            bad.append(str(place))
    if bad:
        return Check("explanations", what, "differs", f"row {and_more(bad, 8)}")
    return Check("explanations", what, "agrees")


def _by_row(stored: Stored) -> dict[int, int]:
    """The place of each explanation, by the number of its row."""
    rows = stored.to_frame()["row"].tolist() if len(stored) else []
    return {row: place for place, row in enumerate(rows)}


def _facts(e: Explanation) -> dict[str, Any]:
    """All of an explanation but how it came about."""
    content: dict[str, Any] = json.loads(e.to_json())["content"]
    content.pop("provenance")
    return content


def _found_again(
    folder: Path, record: Record, material: Material, progress: bool | None
) -> Iterator[Check]:
    """Every analysis anew; every file from the analyses."""
    again = []
    with progress_bar(ANALYSING, len(record.findings), progress) as bar:
        for finding in record.findings:
            why = ANALYSES[finding.name].lacks(material)
            if why is not None:
                again.append(finding)
                yield Check("analysis", finding.name, "not checked", why)
            else:
                found = run(finding.name, material, record.analyses[finding.name])
                again.append(Finding(finding.name, found))
                same = found.to_json() == finding.result.to_json()
                yield Check("analysis", finding.name, "agrees" if same else "differs")
            bar.update()
    names, decisions = material.ids, material.decisions
    lines = enumerate(lines_of(folder / LINES))
    bad = [i for i, line in lines if i >= len(names) or line != line_of(names[i], decisions[i])]
    made = dict(files_of(Record.made_of(record.asked, again, record.chain)))
    odd = [name for name, content in made.items() if (folder / name).read_bytes() != content]
    odd += [LINES] if bad else []
    verdict: Verdict = "differs" if odd else "agrees"
    yield Check("files", "tables and page", verdict, and_more(map(named, odd), 6))


def _other_versions(chain: tuple[ChainEntry, ...]) -> Iterator[str]:
    then = {entry.name: entry.value for entry in chain if entry.kind == "version"}
    now = versions_now()
    for name in sorted(then.keys() | now.keys()):
        was, is_now = then.get(name, "none"), now.get(name, "none")
        if was != is_now:
            yield f"{name} {was} → {is_now}"
