"""Measure how easy the source tree is to read, and which files one call passes through.

    python -m tools.house

Prints the number of files, lines, lines of code and comment lines; the share of modules with a
single importer; imports of own modules per file and per 100 lines of code; file names that are used
more than twice; and the files entered by each of the calls that readers follow most.

A file counts as entered if one of its functions runs during the call. Each call is made once
before, so that what is only imported, or read once per model, does not count; numba's kernels,
where numba is installed, are loaded first, so that slow and fast machines take the same path.
"""

from __future__ import annotations

import ast
import asyncio
import io
import sys
import tempfile
import threading
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import suffice
from suffice.web.session import Session

HOME = Path(suffice.__file__).parent


@dataclass(frozen=True)
class Figures:
    """Figures of a source tree; shares are fractions."""

    files: int
    lines: int
    code: int
    comments: int
    single_importer: float
    imports_per_file: float
    imports_per_100_lines: float
    repeated: dict[str, int]

    @property
    def comments_per_100_lines(self) -> float:
        """Comment lines, inline ones included, per 100 lines of code."""
        return 100 * self.comments / self.code


def measure(home: Path = HOME) -> Figures:
    """Read every module below a folder and return its figures."""
    modules = {_module_name(path, home): path for path in sorted(home.rglob("*.py"))}
    texts = {name: path.read_text(encoding="utf-8") for name, path in modules.items()}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    imports = {name: set(_own_imports(tree, modules)) - {name} for name, tree in trees.items()}
    importers: dict[str, set[str]] = defaultdict(set)
    for name, imported in imports.items():
        for module in imported | _lazy_exports(name, modules):
            importers[module].add(name)
    plain = [name for name, path in modules.items() if path.name != "__init__.py"]
    # A package's `__init__` re-exports: a module that only it imports is public, not a fragment.
    # A lazy package names its exports in a stub, which counts for this share only: the module
    # itself imports nothing.
    single = [
        name
        for name in plain
        if len(importers[name]) == 1 and modules[next(iter(importers[name]))].name != "__init__.py"
    ]
    code = sum(_code_lines(texts[name], trees[name]) for name in modules)
    own_imports = sum(map(len, imports.values()))
    basenames = Counter(modules[name].name for name in plain)
    return Figures(
        files=len(modules),
        lines=sum(text.count("\n") for text in texts.values()),
        code=code,
        comments=sum(_comment_lines(text) for text in texts.values()),
        single_importer=len(single) / len(plain),
        imports_per_file=own_imports / len(modules),
        imports_per_100_lines=100 * own_imports / code,
        repeated={name: count for name, count in basenames.items() if count > 2},
    )


def _module_name(path: Path, home: Path) -> str:
    parts = [home.name, *path.relative_to(home).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _own_imports(tree: ast.Module, modules: dict[str, Path]) -> Iterator[str]:
    """Yield the modules of the tree that a module imports, at the top or inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            prefixes = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
            yield from [prefix for prefix in prefixes if prefix in modules][:1]


def _lazy_exports(name: str, modules: dict[str, Path]) -> set[str]:
    """Return the modules that the stub of a lazy package re-exports; none for other modules."""
    stub = modules[name].with_suffix(".pyi")
    if not stub.exists():
        return set()
    found = set()
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            package = f"{name}.{node.module}" if node.module else name
            found |= {package, *(f"{package}.{alias.name}" for alias in node.names)}
    return found & modules.keys() - {name}


def _code_lines(text: str, tree: ast.Module) -> int:
    """Return the number of lines that are neither blank, nor comments, nor docstrings."""
    strings = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in strings
        for number, line in enumerate(text.splitlines(), 1)
    )


def _comment_lines(text: str) -> int:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type == tokenize.COMMENT for token in tokens)


def files_entered(call: Callable[[], object]) -> list[str]:
    """Return the files whose functions a call enters, in order, the second time it is made."""
    call()
    names: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            names.setdefault(frame.f_code.co_filename)

    before = sys.getprofile()
    threading.setprofile(note)  # for threads that the call starts; below, for this one
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    paths = (Path(name) for name in names)
    return [str(p.relative_to(HOME)) for p in paths if p.is_relative_to(HOME)]


def calls() -> dict[str, Callable[[], object]]:
    """Return the calls that readers follow most, by name."""
    from sklearn.ensemble import RandomForestClassifier

    from suffice import Explainer, datasets
    from suffice.engines.work import load_numba

    load_numba()
    X, y = datasets.loans()
    X = X[["age", "income", "debt", "late payments"]]
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    explainer = Explainer(model, X)
    row, explanation = X.iloc[8], explainer.explain(X.iloc[8])

    session = Session({"forest": model}, X)

    def explain_to() -> None:
        with tempfile.TemporaryDirectory() as folder:
            explainer.explain_to(X[:3], Path(folder) / "out", progress=False)

    return {
        "explain": lambda: explainer.explain(row),
        "recourse": lambda: explainer.recourse(row),
        "explain_to": explain_to,
        "to_html": explanation.to_html,
        "plot": explanation.plot,
        "explorer": lambda: asyncio.run(_request_explanation(session)),
    }


async def _request_explanation(session: Session) -> None:
    """Send the explorer one request to explain a row, and read the whole response."""
    from httpx import ASGITransport, AsyncClient

    from suffice.web.server import make_app

    token, host = "token", "127.0.0.1:8000"
    transport = ASGITransport(make_app(session, token, frozenset({host})))
    async with AsyncClient(transport=transport, base_url=f"http://{host}") as client:
        await client.get("/", params={"token": token})  # sets the cookie
        response = await client.post("/api/explain", json={"input": {"row": 8}})
        if "answer" not in response.text.splitlines()[-1]:
            raise RuntimeError(response.text)


def paths() -> dict[str, list[str]]:
    """Return the files that each of the calls enters, in order, by the name of the call."""
    return {name: files_entered(call) for name, call in calls().items()}


def main() -> None:
    """Print the figures of the tree, then the files that each call enters."""
    found = measure()
    print(f"{found.files} files, {found.lines} lines, {found.code} of code")
    print(f"comments per 100 lines of code: {found.comments_per_100_lines:.1f}")
    print(f"modules with a single importer: {found.single_importer:.0%}")
    print(f"own imports: {found.imports_per_file:.1f} per file, ", end="")
    print(f"{found.imports_per_100_lines:.1f} per 100 lines of code")
    print(f"file names used more than twice: {', '.join(found.repeated) or 'none'}")
    for name, files in paths().items():
        print(f"{name}: {len(files)} files")
        print("\n".join(f"  {file}" for file in files))


if __name__ == "__main__":
    main()
