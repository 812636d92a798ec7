"""`Record`, the result of `audit.record`: findings, description, model card, files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from suffice.audit.reasons import Reasons
from suffice.audit.record_analyses import ANALYSES, Arguments
from suffice.audit.record_seal import RecordManifest, SealedFact
from suffice.errors import InputError, did_you_mean, short_repr
from suffice.formatting import (
    escape_markdown,
    format_name,
    format_value,
    join_first,
    percent,
    plural,
    truncate,
)
from suffice.results import (
    Field,
    RenderFormat,
    Result,
    Sheet,
    encode_text,
    find_renderer,
    json_text,
    make_frame,
    make_panel,
)
from suffice.tables.conversion import as_csv

if TYPE_CHECKING:
    from suffice.batch.load import Stored

_HASH_LETTERS = 16
"""Letters of a hash that are shown: enough to distinguish two, and few enough to read aloud."""


def short_hash(value: str) -> str:
    """Shorten a hash, and leave out how it was made; a version stays as it is.

    >>> short_hash("file:" + "ab" * 32), short_hash("2.4.6")
    ('abababababababab…', '2.4.6')
    """
    bare = value.rpartition(":")[2]
    return bare if len(bare) <= 2 * _HASH_LETTERS else f"{bare[:_HASH_LETTERS]}…"


@dataclass(frozen=True)
class Finding:
    """Result of one analysis of a record, with the name of the analysis."""

    name: str
    result: Result

    @property
    def heading(self) -> str:
        """Heading of the analysis on the page."""
        return ANALYSES[self.name].heading


@dataclass(frozen=True, repr=False)
class RecordHead:
    """Title, date, description and question of a record: the content of `asked.json`."""

    title: str
    date: str | None
    """Date as it was declared; None if it was not."""
    about: tuple[tuple[str, str], ...]
    """Labels and texts on model, decisions, references and question."""
    analyses: dict[str, Arguments]
    """Arguments of each analysis."""
    labels: dict[str, list[str | None]]
    """Group labels by column that the model does not use: one for each decision."""


class _StoredRecord(msgspec.Struct, frozen=True):
    head: RecordHead
    findings: list[tuple[str, dict[str, Any]]]
    """Name and stored result of each analysis."""
    manifest: RecordManifest


@dataclass(frozen=True, repr=False)
class Record(RecordHead, Result):
    """Findings of an audit, with the hashes of everything that they rest on."""

    version: ClassVar[int] = 2
    stored: ClassVar[type | None] = _StoredRecord
    page_face: ClassVar[RenderFormat] = "record_page"
    plots: ClassVar[tuple[str, ...]] = ()

    findings: tuple[Finding, ...]
    manifest: RecordManifest

    def __hash__(self) -> int:
        return hash(self.seal)  # the seal covers everything else

    def __getitem__(self, name: str) -> Result:
        """Return the result of one analysis."""
        known = {finding.name: finding.result for finding in self.findings}
        if name not in known:
            hint = did_you_mean(name, known)
            raise InputError("name", short_repr(name), "an analysis of the record", hint)
        return known[name]

    @property
    def seal(self) -> str:
        """Hash of the manifest: keep it where nobody who can write to the folder can write."""
        return self.manifest.seal

    @property
    def rests_on(self) -> tuple[SealedFact, ...]:
        """Hashes of model, data and question, and versions of libraries."""
        return self.manifest.facts

    @property
    def head(self) -> RecordHead:
        """The record without findings and manifest."""
        return RecordHead(**{f.name: getattr(self, f.name) for f in fields(RecordHead)})

    @property
    def model_card(self) -> str:
        """A section for a model card, in Markdown."""
        return "\n".join(_card_lines(self)) + "\n"

    @property
    def sheet(self) -> Sheet:
        """Summary: the question, the findings and the seal."""
        dated = (f"Date: {self.date}",) if self.date is not None else ()
        return Sheet(
            self.title,
            lead=(*dated, *(f"{label}: {words}" for label, words in self.about)),
            panels=(
                make_panel(_FINDING_FIELDS, self.findings, "Findings"),
                make_panel(_FACT_FIELDS, self.rests_on, "Rests on"),
            ),
            notes=(
                f"Seal: {self.seal} ({plural(len(self.manifest.files), 'file')}). Keep it "
                "elsewhere: whoever can rewrite the folder can seal it anew, but cannot change a "
                "seal that you have.",
            ),
        )

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each fact that the record rests on and each file."""
        return make_frame(_MANIFEST_FIELDS, (*self.manifest.facts, *self.manifest.files))

    def _record(self) -> _StoredRecord:
        found = [(f.name, msgspec.json.decode(f.result.to_json())) for f in self.findings]
        return _StoredRecord(self.head, found, self.manifest)

    @classmethod
    def _from_record(cls, record: _StoredRecord) -> Self:
        found = (finding_from_json(name, json_text(result)) for name, result in record.findings)
        return cls.from_head(record.head, found, record.manifest)

    @classmethod
    def from_head(
        cls, head: RecordHead, findings: Iterable[Finding], manifest: RecordManifest
    ) -> Self:
        """Return the record with this head."""
        return cls(**vars(head), findings=tuple(findings), manifest=manifest)


_FINDING_FIELDS = (
    Field("", "analysis", value=lambda f: f.heading),
    Field("", "found", value=lambda f: truncate(" ".join(f.result.sheet.lead), 300)),
)
_FACT_FIELDS = (
    Field("kind", ""),
    Field("name", "name", show=lambda name: truncate(format_name(name), 40)),
    Field("value", "hash or version", show=short_hash),
)
_MANIFEST_FIELDS = (
    Field("kind", value=lambda entry: getattr(entry, "kind", "file")),
    *_FACT_FIELDS[1:],
    Field("size", value=lambda entry: getattr(entry, "size", None)),
)


def finding_from_json(name: str, text: str | bytes) -> Finding:
    """Return a finding from its stored result."""
    if name not in ANALYSES:
        raise InputError("findings", short_repr(name), ", ".join(ANALYSES))
    return Finding(name, ANALYSES[name].result.from_json(text))


# Description of an audit in words: model, decisions, references and question.


def describe_audit(stored: Stored) -> Iterator[tuple[str, str]]:
    """Yield labels and texts on model, decisions, references and question."""
    m, asked = stored.manifest, stored.manifest.question
    shared = m.shared.provenance
    yield "Model", str(m.explainer["model"])
    outcomes = stored.to_frame()["outcome"].value_counts().sort_index().items()
    counts = join_first((f"{format_name(str(outcome))}: {n:,}" for outcome, n in outcomes), 8)
    yield "Decisions", f"{len(stored):,} ({counts})"
    failed = len(stored.errors)
    if failed:
        yield "Not explained", f"{plural(failed, 'row')}, each with its reason in the record"
    names = [name for name, _ in m.shared.players]
    yield "Features", f"{len(names)}: {join_first(map(format_name, names), 30)}"
    yield "References", _references_text(m.explainer["n_references"], m.explainer["references"])
    rows = "the data" if shared.data is None else f"{plural(shared.data[0], 'row')} of data"
    yield "Hybrids", f"{shared.context.words}; references come from {rows}"
    yield (
        "Question",
        "which features, held or replaced, are enough for the outcome for at least "
        f"{percent(asked['tau'])} of the references",
    )
    if shared.change_rules:
        yield "Changes", shared.change_rules
    if asked["alpha"] is not None:
        adjusted = "" if asked["adjust"] == "none" else f", adjusted ({asked['adjust']})"
        yield "Test", f"each share is tested at level {format_value(asked['alpha'])}{adjusted}"


def _references_text(most: int | None, which: Any) -> str:
    many = "all rows" if most is None else f"at most {plural(most, 'row')}"
    kind = {"opposite": " with another outcome", "all": ""}
    return f"{many}{kind.get(str(which), ' of those given')}"


# Files of a record's folder: names, content, and reading them back.


PAGE_FILE, CARD_FILE, HEAD_FILE = "index.html", "model-card.md", "asked.json"
EXPLANATIONS_FOLDER, BASELINE_FOLDER = "explanations", "before"
CONFIG_STEM = "audit"
"""Name, without its ending, of the copy of the file that declared the audit."""
RECORD_PREFIXES = (
    f"{EXPLANATIONS_FOLDER}/",
    f"{BASELINE_FOLDER}/",
    "results/",
    "tables/",
    PAGE_FILE,
    CARD_FILE,
    HEAD_FILE,
    f"{CONFIG_STEM}.",
)
"""Beginnings of the names of a record's files."""


def files_of(finding: Finding) -> list[str]:
    """Return the names of the files of one analysis, the JSON of its result last."""
    letters = ["tables/letters.csv"] if isinstance(finding.result, Reasons) else []
    return [f"tables/{finding.name}.csv", *letters, f"results/{finding.name}.json"]


def record_files(
    record: Record, figures: bool = True, progress: bool | None = False
) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every file that follows from the findings.

    Without `figures` the page has its tables only: drawing takes most of the time.
    """
    yield HEAD_FILE, msgspec.json.format(json_text(record.head).encode(), indent=1) + b"\n"
    for finding in record.findings:
        table, *letters, result = files_of(finding)
        yield result, finding.result.to_json().encode() + b"\n"
        yield table, encode_text(as_csv(finding.result.to_frame()))
        if isinstance(finding.result, Reasons):
            template = record.analyses[finding.name].get("template")
            yield letters[0], encode_text(as_csv(_letters_frame(finding.result, template)))
    yield CARD_FILE, encode_text(record.model_card)
    page: Any = find_renderer("record_page", record)
    yield PAGE_FILE, encode_text(page(record, links=True, figures=figures, progress=progress))


def _letters_frame(found: Reasons, template: str | None) -> Any:
    """Return a frame with a row for each decision; one that is held has no letter."""
    named = {} if template is None else {"template": template}
    letters = ("" if d.hold else found.letter(at, **named) for at, d in enumerate(found))
    return make_frame(_LETTER_FIELDS, zip(found, letters, strict=True))


_LETTER_FIELDS = (
    Field("decision", value=lambda row: row[0].name),
    Field("outcome", value=lambda row: row[0].outcome),
    Field("codes", value=lambda row: ", ".join(row[0].codes)),
    Field("hold", value=lambda row: "; ".join(row[0].problems)),
    Field("letter", value=lambda row: row[1]),
)


def load_record(folder: Path, manifest: RecordManifest) -> Record:
    """Read a record from its folder, whose bytes agree with the manifest."""
    try:
        head = msgspec.json.decode((folder / HEAD_FILE).read_bytes(), type=RecordHead)
        found = [_read_finding(folder, name) for name in head.analyses]
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        got = f"{folder}, which cannot be read ({error})"
        raise InputError("folder", got, "a record of this version") from error
    return Record.from_head(head, found, manifest)


def _read_finding(folder: Path, name: str) -> Finding:
    if name not in ANALYSES:  # checked before it becomes part of a path
        raise InputError("folder", f"an analysis {short_repr(name)}", ", ".join(ANALYSES))
    return finding_from_json(name, (folder / "results" / f"{name}.json").read_bytes())


_MAX_SENTENCES = 6
"""Limit on sentences of a finding in the model card, which is read in a minute."""


def _card_lines(record: Record) -> Iterator[str]:
    """Yield the lines of the model card: headings of levels 2 and 3, and lists."""
    yield f"## {escape_markdown(record.title)}"
    yield ""
    if record.date is not None:
        yield f"- **Date**: {escape_markdown(record.date)}"
    for label, words in record.about:
        yield f"- **{escape_markdown(label)}**: {escape_markdown(words)}"
    for finding in record.findings:
        sheet = finding.result.sheet
        yield ""
        yield f"### {escape_markdown(sheet.title)}"
        yield ""
        for sentence in sheet.lead[:_MAX_SENTENCES]:
            yield f"- {escape_markdown(sentence)}"
        if len(sheet.lead) > _MAX_SENTENCES:
            yield f"- … and {len(sheet.lead) - _MAX_SENTENCES} more, in the record"
    yield ""
    yield (
        "Made with `suffice.audit` from counts of the model's predictions. It reports what was "
        "measured, not whether it is allowed. `suffice audit verify` checks the record that this "
        "section is from."
    )
