"""Install suffice and groups of development packages into a virtual environment.

    python tools/install.py .venv ".[plots,web]" test lint --constraints constraints.txt

The first argument is the environment, which is made if it is missing; the second what to install in
editable form; the rest are dependency groups of `pyproject.toml`. `--constraints FILE` installs the
versions listed there, `--lowest` the lowest versions that `pyproject.toml` promises for the package
(the groups stay current), and `--write FILE` installs nothing but writes the current versions into
FILE. It needs nothing but Python and pip, and is run by the Makefile.

uv does the work: it takes seconds where pip takes ten minutes. uv does not read pip's settings, so
the index, certificates and folders of wheels that pip would use are passed on to it. What is
installed is compiled at once: on a machine that sets PYTHONDONTWRITEBYTECODE every process would
otherwise compile its imports again.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tomllib
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


def main(options: argparse.Namespace) -> None:
    """Make the environment if it is missing; install into it, or write what it would get."""
    environment = Path(options.environment)
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "uv"], check=True)
    uv = [environment / "bin" / "uv", "pip"]
    groups = [word for group in options.groups for word in ("--group", group)]
    variables = _variables(pip)
    if options.write:
        _write_constraints(uv, options.project, groups, Path(options.write), variables)
    else:
        install = [*uv, "install", "--python", python, "--no-progress"]
        if options.constraints:
            install += ["--constraints", options.constraints]
        package = ["--editable", options.project]
        if options.lowest:
            lowest = [*install, "--resolution", "lowest-direct", *package]
            subprocess.run(lowest, check=True, env=variables)
            _check_lowest(uv, python, options.project)
            package = []  # else it would be resolved again, to the highest versions
        if package or groups:
            subprocess.run([*install, *package, *groups], check=True, env=variables)
    subprocess.run([*pip, "uninstall", "--quiet", "--yes", "uv"], check=True)  # 60 MB, for once
    if not options.write:
        _compile(python)


def _check_lowest(uv: list[str | Path], python: Path, project: str) -> None:
    """End with an error if a promised version is lower than all that can be installed."""
    listed = subprocess.run(
        [*uv, "freeze", "--python", python], check=True, capture_output=True, text=True
    )
    installed = dict(re.findall(r"^([\w.-]+)==(\S+)$", listed.stdout, re.MULTILINE))
    table = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = [*table["dependencies"]]
    for extra in _extras(project):
        promised += table["optional-dependencies"][extra]
    for requirement in promised:
        name, _, least = requirement.partition(">=")
        if least and not f"{installed[name]}.".startswith(f"{least}."):
            sys.exit(f"{requirement} is promised, but {installed[name]} is the lowest that fits")


def _extras(project: str) -> list[str]:
    """Return the extras of a requirement: of ".[plots,web]" plots and web."""
    found = re.search(r"\[(.*)\]", project)
    return found[1].split(",") if found else []


def _write_constraints(
    uv: list[str | Path],
    project: str,
    groups: list[str],
    path: Path,
    variables: dict[str, str],
) -> None:
    """Write the highest versions that `project` and `groups` allow, one per line.

    Local parts such as `+cpu` are left out, since other indexes have other builds.
    """
    command = [*uv, "compile", "pyproject.toml", "--quiet", "--no-annotate", "--no-header"]
    command += ["--python-version", "3.11", *groups]
    for extra in _extras(project):
        command += ["--extra", extra]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, env=variables)
    versions = re.sub(r"\+\S+", "", listed.stdout)
    path.write_text(
        f"# Versions of `make test` and `make lint`; written by `make constraints`.\n{versions}"
    )


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environment")
    parser.add_argument("project")
    parser.add_argument("groups", nargs="*")
    parser.add_argument("--constraints", metavar="FILE")
    parser.add_argument("--lowest", action="store_true")
    parser.add_argument("--write", metavar="FILE")
    main(parser.parse_intermixed_args())
