"""`suffice audit`: run the audit that a file declares, or verify a record; errors name its keys."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from suffice.cli.options import (
    CONTRAST_NAMES,
    FILE_PATH,
    OPTION_NAMES,
    QUESTION_NAMES,
    trust_options,
)
from suffice.cli.output import (
    folder_size,
    interrupts_print,
    print_message,
    print_resume_command,
    resume_command,
)
from suffice.errors import InputError
from suffice.formatting import plural
from suffice.progress import ProgressListener, listen_to_progress

_CONFIG_KEYS = OPTION_NAMES | {
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
        for name in (*QUESTION_NAMES, *CONTRAST_NAMES, "engine", "groups", "seed")
    },
}
"""The key in the audit file of each Python argument, and of each option that a key replaces."""


@click.group(invoke_without_command=True, subcommand_metavar="[verify DIR]")
@click.option("--config", type=FILE_PATH, metavar="FILE", help="The audit file: .toml or .yaml.")
@click.option("--example", is_flag=True, help="Print an audit file that describes every key.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder to write, instead of the one in the file.",
)
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes. Default: 1.")
@click.option("--resume", is_flag=True, help="Continue a run that was interrupted.")
@trust_options
@click.pass_context
def audit(context: click.Context, /, **options: Any) -> None:
    """Run the audit that a file declares, into a sealed folder: pages, tables, JSON, hashes.

    Start with: suffice audit --example > audit.toml

    Every analysis is tried on a few decisions before the run starts. The same audit gives the same
    seal. `suffice audit verify DIR` checks a record.
    """
    if context.invoked_subcommand is not None:
        return
    if options["example"]:
        from suffice.cli.audit_config import example_config

        click.echo(example_config(), nl=False)
        return
    if options["config"] is None:
        hint = "Start with: suffice audit --example > audit.toml"
        raise InputError("--config", "nothing", "the file that declares the audit", hint)
    with _errors_name_config_keys():
        _run_audit(options)


def _run_audit(options: dict[str, Any]) -> None:
    from suffice.audit.record_analyses import ANALYSES_PROGRESS, check_analysis_names
    from suffice.audit.record_writer import record
    from suffice.cli.audit_config import (
        find_files,
        make_analysis_inputs,
        open_audit,
        read_analyses,
        read_audit_config,
    )
    from suffice.cli.output import show_progress
    from suffice.report.render_result import FIGURES_PROGRESS

    declared = read_audit_config(options["config"])
    base = declared.path.parent
    out = options["out"] or (base / declared.audit["out"] if "out" in declared.audit else None)
    if out is None:
        raise InputError("--out", "nothing", "a folder: --out DIR, or out in [audit]")
    analyses = read_analyses(declared, base)
    check_analysis_names(analyses)  # before a model is opened or trained
    trust = options["trust_pickle"], options["trust_types"]
    given = open_audit(declared, find_files(declared, [base]), *trust)
    for name, arguments in make_analysis_inputs(declared, given, base, trust, all=True).items():
        analyses[name] |= arguments
    previous = declared.audit.get("previous")
    print_message(
        f"{plural(len(given.rows), 'decision')} to audit. Every analysis is tried on a few first."
    )
    stages = {
        ANALYSES_PROGRESS: f"Analysing: {', '.join(analyses)}.",
        FIGURES_PROGRESS: "Drawing figures and writing the page.",
    }
    steps = {ANALYSES_PROGRESS: list(analyses)}
    stopped = "Stopped. Decisions that were explained are stored."
    try:
        with (
            interrupts_print(resume_command(stopped, sys.argv[1:])),
            show_progress() as counter,
            listen_to_progress(_StageMessages(counter.see, stages, steps)),
        ):
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
        print_resume_command(stopped, sys.argv[1:])
        sys.exit(130)
    with interrupts_print(f"Stopped: the record in {out} is complete."):
        _print_record(made, out)


class _StageMessages:
    """Listener that shows progress of explaining, then a message for each stage and step."""

    def __init__(
        self, see: ProgressListener, stages: dict[str, str], steps: dict[str, list[str]]
    ) -> None:
        self._see = see
        self._stages = dict(stages)
        self._steps = steps
        self._done: dict[str, int] = {}

    def __call__(self, what: str, done: float, total: float | None) -> None:
        """Print the stage or step that began or ended."""
        self._see(what, done, total)
        if what in self._stages:
            print_message(self._stages.pop(what))
        steps, before = self._steps.get(what, []), self._done.get(what, 0)
        for number in range(before, min(int(done), len(steps))):
            print_message(f"  {steps[number]} done, {number + 1} of {len(steps)}")
        self._done[what] = int(done)


def _print_record(made: Any, out: Path) -> None:
    from suffice.cli.output import console
    from suffice.report.render_result import terminal_summary

    console().print(terminal_summary(made))
    click.echo(f"Record: {out} ({folder_size(out)})")
    click.echo(f"  open it:     {out / 'index.html'}")
    click.echo(f"  check it:    suffice audit verify {shlex.quote(str(out))} --seal {made.seal}")
    click.echo(f"Seal: {made.seal}")
    click.echo(
        "Keep the seal somewhere else: whoever can rewrite the folder can seal it anew, but\n"
        "cannot change a seal that you have."
    )


@audit.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--seal", metavar="HASH", help="The seal that you kept elsewhere.")
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="Explain this many decisions again. 0: none, and no model is needed.",
)
@click.option("--model", type=FILE_PATH, help="The model file, if it was moved.")
@click.option("--data", type=FILE_PATH, help="The table, if it was moved.")
@click.option("--background", type=FILE_PATH, help="The table of references, if it was moved.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the draw of decisions.",
)
@click.option("--everything", is_flag=True, help="Also train models again, for [stability].")
@trust_options
@click.pass_context
def verify(context: click.Context, /, folder: Path, **options: Any) -> None:
    """Check a record: every byte, some of its explanations, all of its findings.

    Exit code 0: it agrees with a recomputation. 1: a byte was changed, or something differs or
    could not be recomputed; nothing is read of a folder whose bytes were changed. The model and the
    table are looked for where the record's own file says, from here and from beside the record.
    """
    stopped = "Stopped: the record was not checked to its end, and nothing of it was changed."
    with interrupts_print(stopped), _errors_name_config_keys():
        found = _run_verification(folder, options)
    from suffice.cli.output import console

    console().print(found)
    if any(check.what == "stability" and check.verdict == "not checked" for check in found.checks):
        hint = "With --everything, models are trained again and [stability] is checked, too."
        print_message(hint)
    context.exit(0 if found.ok else 1)


def _run_verification(folder: Path, options: dict[str, Any]) -> Any:
    from suffice.audit.verify import check_bytes, verify_content
    from suffice.cli.audit_config import (
        find_files,
        make_analysis_inputs,
        open_audit,
        read_audit_config,
    )

    seal, rows = options["seal"], options["rows"]
    looked_at = check_bytes(folder, None if seal is None else seal.strip().lower())
    # A record with a changed byte is not read any further.
    if not looked_at.whole or not rows:
        return verify_content(folder, looked_at, rows=0)
    config = next((p for p in sorted(folder.glob("audit.*")) if p.is_file()), None)
    if config is None:
        hint = "--rows 0 checks all but that; in Python: audit.verify(folder, explainer, X)."
        got = f"{folder}, which was not declared in a file"
        raise InputError("--rows", got, "0 for a record made in Python", hint)
    declared = read_audit_config(config, recorded=True)
    keys = {
        "model": (declared.model, "file"),
        "data": (declared.data, "file"),
        "background": (declared.data, "background"),
    }
    for option, (section, key) in keys.items():
        if options[option] is not None:
            section[key] = str(options[option].resolve())
    bases = [Path(), folder.parent, folder]
    files = find_files(declared, bases)
    trust = options["trust_pickle"], options["trust_types"]
    made = open_audit(declared, files, *trust)
    # The explanations of `compare` are in the record.
    others = {name: arguments for name, arguments in declared.analyses.items() if name != "compare"}
    again = replace(declared, analyses=others)
    given = make_analysis_inputs(again, made, folder, trust, all=options["everything"])
    return verify_content(
        folder,
        looked_at,
        made.explainer,
        made.rows,
        rows=rows,
        hashes=made.hashes,
        given=given,
        random_state=options["seed"],
    )


@contextmanager
def _errors_name_config_keys() -> Iterator[None]:
    """Print errors with keys of the audit file instead of Python arguments or options."""
    try:
        yield
    except InputError as error:
        from suffice.audit.record_analyses import ANALYSES

        analysis, _, rest = error.argument.partition(": ")
        ours = {error.argument: f"[{analysis}] {rest}".strip()} if analysis in ANALYSES else {}
        print_message(f"Error: {error.text(_CONFIG_KEYS | ours)}")
        sys.exit(2)
