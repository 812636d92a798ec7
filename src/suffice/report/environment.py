"""The templates that pages are made from."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any

from suffice.wording import percent

__all__ = ["rendered", "template_text"]


def rendered(template: str, **given: Any) -> str:
    """A template filled in; a name that it lacks is an error, and all text is escaped."""
    text: str = _environment().get_template(template).render(**given)
    # Half a character cannot be written to a file.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def template_text(name: str) -> str:
    """A file of the templates as it is."""
    return _files()[name]


@lru_cache(maxsize=1)
def _files() -> dict[str, str]:
    folder = resources.files("suffice.report") / "templates"
    return {item.name: item.read_text(encoding="utf-8") for item in folder.iterdir()}


@lru_cache(maxsize=1)
def _environment() -> Any:
    from jinja2 import DictLoader, Environment, StrictUndefined

    environment = Environment(
        loader=DictLoader(_files()),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = percent
    environment.filters["brief"] = "{:g}".format
    return environment
