"""Write the JSON Schema of every result beside the documentation."""

import inspect
import json
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import suffice
from suffice.results import Result, result_schema

FOLDER = Path(__file__).parent / "schemas"


def result_classes() -> list[type[Result]]:
    """Every class of results in the package, by name."""
    for module in walk_packages(suffice.__path__, "suffice."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    found, todo = set(), [Result]
    while todo:
        known = todo.pop().__subclasses__()
        todo += known
        found |= {c for c in known if c.__module__.startswith("suffice.")}
    return sorted((c for c in found if not inspect.isabstract(c)), key=lambda c: c.__name__)


def schema_text(result: type[Result]) -> str:
    """The schema as it is written."""
    return json.dumps(result_schema(result), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    schemas = {result.__name__: schema_text(result) for result in result_classes()}
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.json"):
        old.unlink()
    for name, text in schemas.items():
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")
