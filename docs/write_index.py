"""Write the index of all modules into ARCHITECTURE.md, from the first lines of their docstrings.

python -m docs.write_index
"""

from __future__ import annotations

import ast
import inspect
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "suffice"
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- index: begin -->\n", "<!-- index: end -->\n"


def module_index() -> str:
    """Return one table per package: each module with the first line of its docstring."""
    folders: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(SOURCES.rglob("*.py"), key=lambda p: (p.parent, p.name != "__init__.py", p)):
        if path.name == "__main__.py":
            continue
        folder = path.parent.relative_to(SOURCES.parent).as_posix()
        folders.setdefault(folder, []).append((path.name, first_line(path)))
    return "\n".join(_table(folder, modules) for folder, modules in folders.items())


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring, or an empty string."""
    # Up to the docstring's end: parsing all of 240 modules takes seconds.
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.STRING:
                return inspect.cleandoc(ast.literal_eval(token.string)).partition("\n")[0]
            if token.type in (tokenize.NAME, tokenize.OP):
                break
    return ""


def _table(folder: str, modules: list[tuple[str, str]]) -> str:
    rows = [f"| `{name}` | {line.replace('|', '/')} |" for name, line in modules]
    return "\n".join([f"| `{folder}/` | |", "|---|---|", *rows, ""])


def page_with_index(page: str) -> str:
    """Return the text of the page with its index replaced by the current one."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{module_index()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page_with_index(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
