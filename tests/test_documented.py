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
import pytest

import suffice
from suffice.cli import app

ROOT = Path(__file__).parents[1]
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


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_says_what_it_is(name: str) -> None:
    thing = NAMES[name]
    assert (thing.__doc__ or "").strip(), f"{name} has no docstring"
    if inspect.isclass(thing):
        # What msgspec or a dataclass writes by itself is no docstring.
        assert not thing.__doc__.startswith(f"{thing.__name__}("), f"{name} has no docstring"
        for method, function in members(thing):
            assert (function.__doc__ or "").strip(), f"{name}.{method} has no docstring"


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_an_example_that_runs(name: str) -> None:
    thing = NAMES[name]
    by_its_maker = inspect.isclass(thing) and thing.__name__ in shown()
    assert has_example(thing) or by_its_maker, (
        f"{name} has no example, nor has a call that gives it"
    )


def commands(command: click.Command, path: str = "suffice") -> Iterator[tuple[str, click.Command]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{path} {name}")


COMMANDS = dict(commands(app))


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_option_says_what_it_does(path: str) -> None:
    command = COMMANDS[path]
    assert (command.help or "").strip(), f"{path} has no help"
    for option in command.params:
        if isinstance(option, click.Option):
            assert (option.help or "").strip(), f"{path} {option.opts[0]} has no help"


@pytest.mark.parametrize("path", [path for path in COMMANDS if path != "suffice"])
def test_every_option_is_named_in_the_documentation(path: str) -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert path in text, f"no page tells of {path}"
    for option in COMMANDS[path].params:
        if isinstance(option, click.Option):
            named = any(re.search(rf"(?<![\w-]){o}(?![\w-])", text) for o in option.opts)
            assert named, f"no page tells of {path} {option.opts[0]}"
