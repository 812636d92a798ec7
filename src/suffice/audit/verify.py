"""Verify an audit record (`audit.verify`): hashes of its files, explanations, findings and pages.

First every byte is compared with the manifest; nothing of a record with a changed byte is read.
Then a sample of decisions is explained again, every analysis is run again on the stored
explanations, and every table and page is made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec
import numpy as np

from suffice.audit.decisions import check_explainer, decision_names
from suffice.audit.record_analyses import (
    ANALYSES,
    ANALYSES_PROGRESS,
    AnalysisInputs,
    check_name,
    run_analysis,
)
from suffice.audit.record_result import (
    BASELINE_FOLDER,
    CONFIG_STEM,
    EXPLANATIONS_FOLDER,
    Finding,
    Record,
    describe_audit,
    load_record,
    record_files,
)
from suffice.audit.record_seal import (
    RECORD_MANIFEST,
    Fault,
    RecordManifest,
    SealedFact,
    current_versions,
    find_faults,
    hashes_with_predictions,
    read_record_manifest,
    require_pyarrow,
    sealed_facts,
    store_counts,
)
from suffice.errors import InputError, SufficeError
from suffice.explainer import Explainer
from suffice.formatting import format_name, join_first, join_words, plural
from suffice.progress import progress_bar
from suffice.randomness import Stream, generator
from suffice.results import Field, Panel, Result, Sheet, make_panel
from suffice.tables import Table, as_table
from suffice.typing import NaturalNumber
from suffice.validation import check_integer, check_string

if TYPE_CHECKING:
    from suffice.batch.load import Stored
    from suffice.explanation import Explanation

_QUESTION_CHECK = "model, data and question"


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
        Folder of the record.
    explainer, X
        The model with its data, and the decisions, as they were recorded. None: no decision is
        explained again.
    seal
        The seal that you kept elsewhere. Without it, a record that was rewritten and sealed anew
        cannot be told from the one that you made.
    rows
        Number of decisions to explain again.
    hashes
        As in `record`.
    given
        By analysis, the arguments that a record cannot store, such as {"stability": {"fit": …,
        "y": …}}. An analysis that lacks them is not checked.
    random_state
        Seed of the sample of decisions.

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
    The record agrees with a recomputation of 4 of 4 explanations, 1 finding and all its files.
    >>> page = folder / "index.html"
    >>> _ = page.write_text(page.read_text().replace("pay", "age"))
    >>> print(audit.verify(folder).faults[0])
    index.html was changed
    """
    require_pyarrow()
    if not isinstance(folder, str | PathLike):
        raise InputError("folder", folder, "the folder of a record")
    expected = None if seal is None else check_string("seal", seal).strip().lower()
    return verify_content(
        Path(folder),
        check_bytes(Path(folder), expected),
        explainer,
        X,
        rows=rows,
        hashes=hashes,
        given=given,
        random_state=random_state,
        progress=progress,
    )


def verify_content(
    place: Path,
    found: Verification,
    explainer: Explainer | None = None,
    X: Any = None,
    *,
    rows: int = 10,
    hashes: Mapping[str, str] | None = None,
    given: Mapping[str, Mapping[str, Any]] | None = None,
    random_state: int = 0,
    progress: bool | None = None,
) -> Verification:
    """Recompute a record, unless `check_bytes` found a changed byte: see `verify`."""
    from suffice.batch.load import load

    wanted = check_integer("rows", rows, least=0)
    if (explainer is None) != (X is None):
        raise InputError("explainer, X", "one of the two", "both, or neither")
    if explainer is not None:
        check_explainer(explainer, "the Explainer that the record was made with")
    things = _check_given(given)
    rng = generator(check_integer("random_state", random_state, least=0), Stream.VERIFIED)
    if found.manifest is None:
        return found
    record, stored = load_record(place, found.manifest), load(place / EXPLANATIONS_FOLDER)
    checks: list[Check] = []
    if (place / BASELINE_FOLDER).is_dir():
        things["compare"] = {"with": load(place / BASELINE_FOLDER)}
    names = decision_names(stored, None)
    inputs = AnalysisInputs(stored, names, record.labels, given=things, progress=progress)
    if explainer is None:
        checks.append(Check("explanations", "explanations", "not checked", "no model was given"))
    else:
        table = as_table(X, names=explainer.data.names, argument="X")
        if wanted:
            checks += _recheck_explanations(explainer, table, stored, hashes, wanted, rng, progress)
        else:
            checks.append(Check("explanations", "explanations", "not checked", "rows = 0"))
        kept = list(_position_by_row(stored))
        there = max(kept, default=-1) < len(table)
        recorded = len(stored) + len(stored.errors)
        if recorded != len(table):
            why = f"{plural(len(table), 'row')}, and {recorded:,} were recorded"
            checks.append(Check("explanations", "X", "differs", why))
        rows_of = table.take(np.array(kept)) if there else None
        inputs = replace(inputs, explainer=explainer, rows=rows_of)
    checks += _recheck_findings(place, record, stored, inputs, progress)
    others = tuple(_changed_versions(found.manifest.facts))
    return replace(
        found, title=record.title, checks=tuple(checks), versions=others, explanations=len(stored)
    )


def _check_given(given: Any) -> dict[str, Mapping[str, Any]]:
    """Return, by analysis, the arguments that a record cannot store; raise for unknown names."""
    if given is None:
        return {}
    like = "such as {'stability': {'fit': …, 'y': …}}"
    if not isinstance(given, Mapping):
        raise InputError("given", given, f"{{analysis: {{name: thing}}}}, {like}")
    for name, things in given.items():
        check_name("given", name, ANALYSES)
        if not isinstance(things, Mapping):
            raise InputError(f"given: {name}", things, f"arguments by name, {like}")
        for thing in things:
            check_name(f"given: {name}", thing, ANALYSES[name].unrecorded)
    return dict(given)


def check_bytes(folder: Path, expected: str | None = None) -> Verification:
    """Compare every byte, and the seal; the manifest is None unless all agree."""
    # Nothing else of the folder is read before its bytes agree: a changed file may be hostile.
    title, manifest = f"The record in {folder.name}", read_record_manifest(folder)
    if isinstance(manifest, Fault):
        return Verification(title, None, expected, 0, (manifest,), (), ())
    faults, n = tuple(find_faults(folder, manifest)), len(manifest.files)
    found = Verification(title, manifest.seal, expected, n, faults, (), ())
    return replace(found, manifest=manifest) if found.whole else found


def _recheck_explanations(
    explainer: Explainer,
    table: Table,
    stored: Stored,
    hashes: Mapping[str, str] | None,
    wanted: int,
    rng: np.random.Generator,
    progress: bool | None,
) -> Iterator[Check]:
    """Check that model, data and question are the same, and explain a sample of decisions again."""
    from suffice.batch.explain_to import explain_to
    from suffice.batch.manifest import list_differences
    from suffice.batch.row_sources import open_source

    kept = stored.manifest
    # Only a sample is explained again, but the hash of the input is that of all rows.
    whole_input = open_source(table.native, explainer.data, id=kept.storing.id)
    # Drawn with the caller's seed, so that another seed checks other rows.
    places = np.sort(rng.permutation(len(table))[:wanted])
    what = plural(len(places), "explanation")
    asked = {name: value for name, value in kept.question.items() if value is not None}
    with TemporaryDirectory() as folder:
        try:
            again = explain_to(
                explainer,
                table.take(places).native,
                Path(folder) / EXPLANATIONS_FOLDER,
                id=kept.storing.id,
                counts=store_counts(explainer),
                hashes=hashes_with_predictions(explainer, hashes),
                progress=progress,
                **asked | {"search": kept.search},
            )
        except SufficeError as error:
            yield Check("explanations", what, "could not be recomputed", str(error))
            return
        now = msgspec.structs.replace(
            again.manifest,
            question=kept.question,  # `search` was settled when the record was made
            hashes=again.manifest.hashes | {"input": whole_input.fingerprint()},
            storing=kept.storing,
            shared=_with_versions(again.manifest.shared, kept.shared.provenance.versions),
        )
        changed = list_differences(kept, now)
        if changed:
            yield Check("explanations", _QUESTION_CHECK, "differs", "; ".join(changed))
        else:
            yield Check("explanations", _QUESTION_CHECK, "agrees")
        yield _compare_samples(stored, again, places.tolist())


def _with_versions(shared: Any, versions: dict[str, str]) -> Any:
    """Return run constants with these versions: other versions are reported on their own."""
    provenance = msgspec.structs.replace(shared.provenance, versions=versions)
    return msgspec.structs.replace(shared, provenance=provenance)


def _compare_samples(stored: Stored, again: Stored, places: list[int]) -> Check:
    """Compare sampled explanations; a row that could not be explained must fail again."""
    then, now = _position_by_row(stored), _position_by_row(again)
    bad = []
    for number, place in enumerate(places):
        one, other = then.get(place), now.get(number)
        if one is None and other is None:
            continue
        if one is None or other is None or _content(stored[one]) != _content(again[other]):
            bad.append(str(place))
    what = plural(len(places), "explanation")
    if bad:
        return Check("explanations", what, "differs", f"row {join_first(bad, 8)}")
    return Check("explanations", what, "agrees", sampled=len(places))


def _position_by_row(stored: Stored) -> dict[int, int]:
    """Return the position of each explanation by the number of its row."""
    rows = stored.to_frame()["row"].tolist() if len(stored) else []
    return {row: place for place, row in enumerate(rows)}


def _content(e: Explanation) -> dict[str, Any]:
    """Return an explanation's stored content without its provenance, which has times."""
    content: dict[str, Any] = json.loads(e.to_json())["content"]
    content.pop("provenance")
    return content


def _recheck_findings(
    folder: Path, record: Record, stored: Stored, inputs: AnalysisInputs, progress: bool | None
) -> Iterator[Check]:
    """Run every analysis again, and make every file again."""
    again = []
    with progress_bar(ANALYSES_PROGRESS, len(record.findings), progress) as bar:
        for finding in record.findings:
            # A finding that cannot be recomputed keeps its place, so that files can still be
            # compared.
            check, found = _recheck_finding(record, finding, inputs)
            again.append(found)
            yield check
            bar.update()
    yield _recheck_files(folder, replace(record, findings=tuple(again)), stored, progress)


def _recheck_finding(
    record: Record, finding: Finding, inputs: AnalysisInputs
) -> tuple[Check, Finding]:
    """Return the check of one analysis with its finding now, or then if it cannot be run."""
    missing = ANALYSES[finding.name].missing_input(inputs)
    if missing is not None:
        impossible = inputs.explainer is not None and inputs.rows is None
        verdict: Verdict = "could not be recomputed" if impossible else "not checked"
        return Check("analysis", finding.name, verdict, missing), finding
    try:
        found = run_analysis(finding.name, inputs, record.analyses[finding.name])
    except SufficeError as error:
        why = str(error)
        return Check("analysis", finding.name, "could not be recomputed", why), finding
    same = found.to_json() == finding.result.to_json()
    check = Check("analysis", finding.name, "agrees" if same else "differs")
    return check, Finding(finding.name, found)


def _recheck_files(folder: Path, record: Record, stored: Stored, progress: bool | None) -> Check:
    """Compare all files with those made again; a record has no others."""
    facts = tuple(sealed_facts(stored, record.analyses))
    # Other versions of libraries are reported on their own and are no fault.
    recorded = [fact for fact in record.rests_on if fact.kind != "version"]
    odd = [] if recorded == [f for f in facts if f.kind != "version"] else [RECORD_MANIFEST]
    now = replace(record, about=tuple(describe_audit(stored)))
    made = dict(record_files(now, progress=progress))
    there = {file.name for file in record.manifest.files}
    odd += [
        name
        for name, content in made.items()
        if name not in there or (folder / name).read_bytes() != content
    ]
    stores = [EXPLANATIONS_FOLDER, *([BASELINE_FOLDER] if "compare" in record.analyses else [])]
    odd += sorted(there - made.keys() - set(_stored_files(there, stores)))
    verdict: Verdict = "differs" if odd else "agrees"
    return Check("files", "tables and page", verdict, join_first(map(format_name, odd), 6))


def _stored_files(names: Iterable[str], stores: Sequence[str]) -> Iterator[str]:
    """Yield the names of stored explanations, as the batch runner writes them, and of the config.

    `load` has compared the Parquet files with the digests of their run, so others are refused.
    """
    from suffice.batch.manifest import MANIFEST_FILE
    from suffice.batch.store import SUCCESS_FILE, TABLE_FOLDERS

    folders = {f"{store}/{table}" for store in stores for table in TABLE_FOLDERS}
    files = {f"{store}/{file}" for store in stores for file in (MANIFEST_FILE, SUCCESS_FILE)}
    configs = []
    for name in names:
        path = PurePosixPath(name)
        if name in files or (path.suffix == ".parquet" and str(path.parent) in folders):
            yield name
        elif path.parts == (path.name,) and path.stem == CONFIG_STEM:
            configs.append(name)
    if len(configs) == 1:
        yield configs[0]


def _changed_versions(facts: tuple[SealedFact, ...]) -> Iterator[str]:
    then = {fact.name: fact.value for fact in facts if fact.kind == "version"}
    now = current_versions()
    for name in sorted(then.keys() | now.keys()):
        was, is_now = then.get(name, "none"), now.get(name, "none")
        if was != is_now:
            yield f"{name} {was} → {is_now}"


# Result of a verification.


Verdict = Literal["agrees", "differs", "could not be recomputed", "not checked"]
CheckSubject = Literal["explanations", "analysis", "files"]


@dataclass(frozen=True)
class Check:
    """One part of a record, and whether it agrees with a recomputation."""

    about: CheckSubject
    what: str
    verdict: Verdict
    why: str = ""
    sampled: NaturalNumber = 0
    """Number of explanations that agree."""


@dataclass(frozen=True, repr=False)
class Verification(Result):
    """Result of `audit.verify`: faults of files, and the parts that were recomputed."""

    version: ClassVar[int] = 2
    plots: ClassVar[tuple[str, ...]] = ()

    title: str
    seal: str | None
    """The record's own seal; None if its manifest cannot be read."""
    expected: str | None
    """The seal that was kept elsewhere; None if none was given."""
    files: NaturalNumber
    """Number of files that were compared, byte by byte."""
    faults: tuple[Fault, ...]
    """Files that differ from what was sealed. If there are any, nothing else was checked."""
    checks: tuple[Check, ...]
    versions: tuple[str, ...]
    """Libraries that have other versions now."""
    explanations: NaturalNumber = 0
    """Number of explanations of the record."""
    manifest: RecordManifest | None = None
    """Manifest of the record; None unless it is whole."""

    @property
    def whole(self) -> bool:
        """True if every byte is what was sealed, and the seal is the one that was kept."""
        return not self.faults and self.expected in (None, self.seal)

    def having(self, *verdicts: Verdict) -> tuple[Check, ...]:
        """Return the checks with one of these verdicts."""
        return tuple(check for check in self.checks if check.verdict in verdicts)

    @property
    def differs(self) -> tuple[Check, ...]:
        """Checks in which the record differs from a recomputation."""
        return self.having("differs")

    @property
    def ok(self) -> bool:
        """True if it is whole and everything that was to be recomputed agrees."""
        return self.whole and not self.having("differs", "could not be recomputed")

    @property
    def sheet(self) -> Sheet:
        """Summary: the verdict, and what it rests on."""
        panels: list[Panel] = []
        if self.faults:
            panels.append(
                make_panel(_FAULT_FIELDS, self.faults, "Files that are not what was sealed")
            )
        if self.checks:
            panels.append(make_panel(_CHECK_FIELDS, self.checks, "Recomputed"))
        return Sheet(
            self.title, lead=tuple(self._lead()), panels=tuple(panels), notes=tuple(self._notes())
        )

    def _lead(self) -> Iterator[str]:
        if self.faults:
            bad = plural(len(self.faults), "file")
            verb = "is" if len(self.faults) == 1 else "are"
            yield f"Refused: {bad} of the record {verb} not what was sealed."
            return
        if not self.whole:
            yield (
                "Refused: its seal is not the one you kept. All hashes agree with each other, so "
                "the whole record was written and sealed anew, or it is another one."
            )
            return
        yield f"Every byte of {plural(self.files, 'file')} is what was sealed."
        if self.differs:
            what = join_words(check.what for check in self.differs)
            yield f"The record differs from a recomputation: {what}."
        failed = self.having("could not be recomputed")
        if failed:
            yield f"Could not be recomputed: {join_words(check.what for check in failed)}."
        left = self.having("not checked")
        if self.ok:
            analyses = sum(check.about == "analysis" for check in self.having("agrees"))
            parts = [plural(analyses, "finding")]
            sampled = sum(check.sampled for check in self.checks)
            if sampled:
                parts.insert(0, f"{sampled:,} of {plural(self.explanations, 'explanation')}")
            what = join_words([*parts, "all its files"])
            yield f"The record agrees with a recomputation of {what}."
            if any(check.about == "explanations" for check in left):
                yield "Whether its explanations are the model's was not checked."
        findings = [check.what for check in left if check.about == "analysis"]
        if findings:
            yield f"Not checked: {join_words(findings)}."

    def _notes(self) -> Iterator[str]:
        if self.seal is not None:
            yield f"Seal: {self.seal}"
        if self.expected is None and not self.faults:
            yield (
                "No seal was given to compare with. Whoever can rewrite the folder can seal it "
                "anew: pass the seal that was printed when the record was made."
            )
        if self.versions:
            yield f"Library versions that changed: {join_words(self.versions)}."

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each fault and each check."""
        import pandas as pd

        rows = [{"what": f.name, "verdict": f.kind, "why": f.why} for f in self.faults]
        if not self.faults:
            sealed = "agrees" if self.whole else "differs"
            rows = [{"what": "bytes and seal", "verdict": sealed, "why": ""}]
        rows += [{"what": c.what, "verdict": c.verdict, "why": c.why} for c in self.checks]
        return pd.DataFrame(rows)


_FAULT_FIELDS = (
    Field("name", "file"),
    Field("kind", ""),
    Field("why", "why", show=lambda why: why or None),
)
_CHECK_FIELDS = (
    Field("what", "checked"),
    Field("verdict", "verdict"),
    Field("why", "why", show=lambda why: why or None),
)
