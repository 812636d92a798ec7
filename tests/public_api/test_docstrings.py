"""Everything that is offered is documented: names with examples that run, commands and options.

The examples themselves are run by `pytest --doctest-modules`, as all of README, guides and docstrings.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click

import suffice
from suffice.cli import app

ROOT = Path(__file__).parents[2]
SPACES = (suffice, suffice.audit, suffice.plots, suffice.datasets, suffice.testing)


def offered() -> Iterator[tuple[str, Any]]:
    """Every public name with what it names."""
    for space in SPACES:
        for name in space.__all__:
            thing = getattr(space, name)
            if not isinstance(thing, ModuleType):
                yield f"{space.__name__}.{name}", thing


def has_example(thing: Any) -> bool:
    return ">>>" in (thing.__doc__ or "")


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """A class's own public methods and properties."""
    for name, member in vars(kind).items():
        if name.startswith("_"):
            continue
        for attribute in ("fget", "func", "__func__"):
            member = getattr(member, attribute, member)
        if inspect.isfunction(member):
            yield name, member


def shown() -> set[str]:
    """Classes that a call with an example gives: what is made there is shown there."""
    calls = [thing for _, thing in offered() if inspect.isfunction(thing)]
    for _, thing in offered():
        calls += [m for _, m in members(thing)] if inspect.isclass(thing) else []
    given = (str(call.__annotations__.get("return")) for call in calls if has_example(call))
    return {name for words in given for name in re.findall(r"\w+", words)}


NAMES = dict(offered())


def undocumented(thing: Any) -> Iterator[str]:
    """Suffixes of what has no docstring: "" for the thing itself, or the name of a method."""
    words = (thing.__doc__ or "").strip()
    # What msgspec or a dataclass writes by itself is no docstring.
    if not words or (inspect.isclass(thing) and words.startswith(f"{thing.__name__}(")):
        yield ""
    for method, function in members(thing) if inspect.isclass(thing) else ():
        if not (function.__doc__ or "").strip():
            yield f".{method}"


def test_every_public_name_says_what_it_is() -> None:
    silent = [name + end for name, thing in NAMES.items() for end in undocumented(thing)]
    assert not silent, f"no docstring: {silent}"


def test_every_public_name_has_an_example_that_runs() -> None:
    by_makers = shown()
    without = [
        name
        for name, thing in NAMES.items()
        if not has_example(thing) and not (inspect.isclass(thing) and thing.__name__ in by_makers)
    ]
    assert not without, f"neither an example, nor a call with one that gives it: {without}"


def commands(command: click.Command, path: str = "suffice") -> Iterator[tuple[str, click.Command]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{path} {name}")


COMMANDS = dict(commands(app))


def options(command: click.Command) -> list[click.Option]:
    return [option for option in command.params if isinstance(option, click.Option)]


def test_every_command_and_option_says_what_it_does() -> None:
    silent = [path for path, command in COMMANDS.items() if not (command.help or "").strip()]
    silent += [
        f"{path} {option.opts[0]}"
        for path, command in COMMANDS.items()
        for option in options(command)
        if not (option.help or "").strip()
    ]
    assert not silent, f"no help: {silent}"


def test_every_option_is_named_in_the_documentation() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    named = set(re.findall(r"(?<![\w-])--?[\w-]+", text))
    paths = [path for path in COMMANDS if path != "suffice"]
    missing = [path for path in paths if path not in text]
    missing += [
        f"{path} {option.opts[0]}"
        for path in paths
        for option in options(COMMANDS[path])
        if named.isdisjoint(option.opts)
    ]
    assert not missing, f"on no page: {missing}"
