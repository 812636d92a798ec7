"""`suffice audit`: a declared audit, from the model and the table to a sealed folder; and back."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from suffice.cli.names import OPTIONS
from suffice.cli.options import FILE, trust_options
from suffice.cli.output import tell, tell_of_stop
from suffice.errors import InputError
from suffice.progress import Watcher, watched
from suffice.wording import count

__all__ = ["audit"]

_NAMES = OPTIONS | {
    "--data": "[data] file",
    "--target": "[data] target",
    "--model": "[model] file",
    "--classes": "[model] classes",
    "--train": "[model] train",
    "classes": "[model] classes",
    "model": "[model] file",
    "data": "[data] file",
    "X": "[data]",
    "x": "[data]",
    "id": "[data] id",
    "rows": "[data] rows",
    "out": "[audit] out",
    "previous": "[audit] previous",
    "title": "[audit] title",
    "random_state": "[question] seed",
    **{
        name: f"[question] {name}"
        for name in (
            *("tau", "alpha", "adjust", "outcome", "references", "n_references"),
            *("groups", "max_size", "budget", "search", "engine"),
        )
    },
}
"""What the file calls the arguments that Python knows by other names."""


@click.group(invoke_without_command=True, subcommand_metavar="[verify DIR]")
@click.option("--config", type=FILE, metavar="FILE", help="What to audit, and how: .toml or .yaml.")
@click.option("--example", is_flag=True, help="Print such a file, with a word on every choice.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder to write, in place of the file's own.",
)
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes. Default: 1.")
@click.option("--resume", is_flag=True, help="Go on with a run that was interrupted.")
@trust_options
@click.pass_context
def audit(context: click.Context, /, **options: Any) -> None:
    """Audit decisions as a file declares, into a sealed folder: pages, tables, JSON, hashes.

    Begin with: suffice audit --example > audit.toml

    Everything is tried on a few decisions before the long work begins. The same audit gives the
    same seal. `suffice audit verify DIR` checks a record.
    """
    if context.invoked_subcommand is not None:
        return
    if options["example"]:
        from suffice.cli.declared import example

        click.echo(example(), nl=False)
        return
    if options["config"] is None:
        hint = "To begin: suffice audit --example > audit.toml"
        raise InputError("--config", "nothing", "the file that declares the audit", hint)
    with _told_of_file():
        _record(options)


def _record(options: dict[str, Any]) -> None:
    from suffice.audit.record.analyses import ANALYSING, check_names
    from suffice.audit.record.folder import WRITING
    from suffice.audit.record.write import record
    from suffice.cli.audit_given import given_things, read_analyses
    from suffice.cli.audited import audited, find_files
    from suffice.cli.counting import counted
    from suffice.cli.declared import read_declared

    declared = read_declared(options["config"])
    base = declared.path.parent
    out = options["out"] or (base / declared.audit["out"] if "out" in declared.audit else None)
    if out is None:
        raise InputError("--out", "nothing", "a folder: --out DIR, or out in [audit]")
    analyses = read_analyses(declared, base)
    check_names(analyses)  # before a model is opened or trained
    trust_pickle = options["trust_pickle"] or declared.model.get("trust_pickle", False)
    trusted = (*options["trust_types"], *declared.model.get("trust_types", ()))
    given = audited(declared, find_files(declared, [base]), trust_pickle, trusted)
    for name, things in given_things(
        declared, given, base, (trust_pickle, trusted), all=True
    ).items():
        analyses[name] |= things
    previous = declared.audit.get("previous")
    tell(f"{count(len(given.rows), 'decision')} to audit. Everything is tried on a few first.")
    stages = {ANALYSING: f"Analysing: {', '.join(analyses)}.", WRITING: "Writing."}
    try:
        with counted(lambda: 0) as counter, watched(_Stages(counter.see, stages)):
            made = record(
                given.explainer,
                given.rows,
                out,
                analyses=analyses,
                id=given.id,
                title=declared.audit.get("title"),
                date=declared.audit.get("date"),
                previous=None if previous is None else base / previous,
                config=declared.path,
                hashes=given.hashes,
                workers=options["workers"],
                resume=options["resume"],
                **given.question,
            )
    except KeyboardInterrupt:
        tell_of_stop("Stopped. What was explained is kept.")
        sys.exit(130)
    _tell_of_record(made, out)


class _Stages:
    """Shows the explaining as it is shown elsewhere, and says when what comes after it begins."""

    def __init__(self, see: Watcher, said_of: dict[str, str]) -> None:
        self._see = see
        self._unsaid = dict(said_of)

    def __call__(self, what: str, done: float, total: float | None) -> None:
        """So much is done."""
        self._see(what, done, total)
        if what in self._unsaid:
            tell(self._unsaid.pop(what))


def _tell_of_record(made: Any, out: Path) -> None:
    from suffice.cli.output import console
    from suffice.report.record import summary

    console().print(summary(made))
    files = [path for path in out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    click.echo(f"Record: {out} ({count(len(files), 'file')}, {size / 1e6:,.1f} MB)")
    click.echo(f"  look at it:  {out / 'index.html'}")
    click.echo(f"  check it:    suffice audit verify {shlex.quote(str(out))} --seal {made.seal}")
    click.echo(f"Seal: {made.seal}")
    click.echo(
        "Keep the seal somewhere else: whoever can rewrite the folder can rewrite its chain of\n"
        "hashes, but not a seal that you have."
    )


@audit.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--seal", metavar="HASH", help="The seal that was kept elsewhere.")
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="Explain so many decisions again. 0: none, and no model is needed.",
)
@click.option("--model", type=FILE, help="The model's file, if it is elsewhere now.")
@click.option("--data", type=FILE, help="The table, if it is elsewhere now.")
@click.option("--background", type=FILE, help="The table of references, if it is elsewhere now.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="Of the draw of decisions. Default: 0."
)
@click.option("--everything", is_flag=True, help="Train models again, too, for [stability].")
@trust_options
@click.pass_context
def verify(context: click.Context, /, folder: Path, **options: Any) -> None:
    """Check a record: every byte, some of its explanations, all of its findings.

    Exit code 0: it tells the truth. 1: it was changed, or something came out otherwise; nothing is
    read of a folder whose bytes were changed. The model and the table are looked for where the
    record's own file says, from here and from beside the record.
    """
    with _told_of_file():
        found = _verified(folder, options)
    from suffice.cli.output import console

    console().print(found)
    context.exit(0 if found.ok else 1)


def _verified(folder: Path, options: dict[str, Any]) -> Any:
    from suffice.audit.record.verify import check_bytes, verify
    from suffice.cli.audit_given import given_things
    from suffice.cli.audited import audited, find_files
    from suffice.cli.declared import read_declared

    seal, rows = options["seal"], options["rows"]
    looked_at = check_bytes(folder, None if seal is None else seal.strip().lower())
    if not looked_at.whole:
        return looked_at
    if not rows:
        return verify(folder, seal=seal, rows=0)
    config = next((p for p in sorted(folder.glob("audit.*")) if p.is_file()), None)
    if config is None:
        hint = "--rows 0 checks all but that; in Python: audit.verify(folder, explainer, X)."
        got = f"{folder}, which was not declared in a file"
        raise InputError("--rows", got, "0 for a record made in Python", hint)
    declared = read_declared(config)
    said_at = {
        "model": (declared.model, "file"),
        "data": (declared.data, "file"),
        "background": (declared.data, "background"),
    }
    for option, (section, key) in said_at.items():
        if options[option] is not None:
            section[key] = str(options[option].resolve())
    bases = [Path(), folder.parent, folder]
    # Nothing that the record itself says is a reason to trust a file.
    files = find_files(declared, bases)
    trust = options["trust_pickle"], options["trust_types"]
    made = audited(declared, files, *trust)
    # What decisions were compared with is in the record.
    others = {name: asked for name, asked in declared.analyses.items() if name != "compare"}
    again = replace(declared, analyses=others)
    given = given_things(again, made, folder, trust, all=options["everything"])
    return verify(
        folder,
        made.explainer,
        made.rows,
        seal=seal,
        rows=rows,
        hashes=made.hashes,
        given=given,
        random_state=options["seed"],
    )


@contextmanager
def _told_of_file() -> Iterator[None]:
    """Errors in the words of the file, not of Python or of other commands' options."""
    try:
        yield
    except InputError as error:
        from suffice.audit.record.analyses import ANALYSES

        analysis, _, rest = error.argument.partition(": ")
        ours = {error.argument: f"[{analysis}] {rest}".strip()} if analysis in ANALYSES else {}
        tell(f"Error: {error.told(_NAMES | ours)}")
        sys.exit(2)
