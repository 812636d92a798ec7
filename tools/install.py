"""Install suffice and groups of development packages into a virtual environment.

    python tools/install.py .venv ".[plots,web]" test lint

The first argument is the environment, which is made if it is missing; the second what to install in
editable form; the rest are dependency groups of `pyproject.toml`. It needs nothing but Python and
pip, and is run by the Makefile.

uv does the work: it takes seconds where pip takes ten minutes. uv does not read pip's settings, so
the index, certificates and folders of wheels that pip would use are passed on to it. What is
installed is compiled at once: on a machine that sets PYTHONDONTWRITEBYTECODE every process would
otherwise compile its imports again.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

_SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}
"""Settings of pip, and the variables by which uv takes them."""

_NOT_COMPILED = re.compile(
    r"/(tests?|testing|plotly|pip|setuptools|sympy|networkx)/"
    r"|/torch/(_inductor|_dynamo|_export|ao|distributed|export|onnx)/"
)
"""Hardly ever imported: half of all byte code, and of the time to compile it."""


def main(folder: str, project: str, *groups: str) -> None:
    """Make the environment if it is missing, install into it, and compile what was installed."""
    environment = Path(folder)
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "uv"], check=True)
    command = [environment / "bin" / "uv", "pip", "install", "--python", python]
    command += ["--no-progress", "--editable", project]
    for group in groups:
        command += ["--group", group]
    subprocess.run(command, check=True, env=_variables(pip))
    subprocess.run([*pip, "uninstall", "--quiet", "--yes", "uv"], check=True)  # 60 MB, for once
    _compile(python)


def _variables(pip: list[str | Path]) -> dict[str, str]:
    """Return the variables of this process, with pip's settings in the form that uv reads."""
    listed = subprocess.run([*pip, "config", "list"], check=True, capture_output=True, text=True)
    # Lines such as global.index-url='https://…' and :env:.cert='…'; the environment comes first.
    found = re.findall(r"^(?:global|:env:)\.([a-z-]+)='(.*)'$", listed.stdout, re.MULTILINE)
    given = {_SETTINGS[name]: value for name, value in reversed(found) if name in _SETTINGS}
    return given | os.environ


def _compile(python: Path) -> None:
    """Compile what was installed, on all cores."""
    code = (
        "import compileall, re, sys, sysconfig; "
        "compileall.compile_dir(sysconfig.get_paths()['purelib'], "
        "rx=re.compile(sys.argv[1]), quiet=2, workers=0)"
    )
    subprocess.run([python, "-c", code, _NOT_COMPILED.pattern], check=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: python tools/install.py ENVIRONMENT PROJECT [GROUP …]")
    main(*sys.argv[1:])
