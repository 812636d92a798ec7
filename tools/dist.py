"""Build the wheel and the source archive, and try both as a stranger would.

    python -m tools.dist

Both are built into `dist/`. The wheel must hold the package's own files and no others. Then for
every supported Python that is found here: a new environment, the wheel installed in it with what it
needs and nothing more, the package imported and the demo run. On the first one the source archive,
too. What was not found is said.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
VERSIONS = "3.11", "3.12", "3.13"


def build(folder: Path, *options: str) -> tuple[Path, Path]:
    """The wheel and the source archive, made in a folder; `options` are those of `build`."""
    command = [sys.executable, "-m", "build", "--outdir", str(folder), *options, str(ROOT)]
    _run(command)
    (wheel,), (archive,) = (list(folder.glob(ending)) for ending in ("*.whl", "*.tar.gz"))
    return wheel, archive


def own_files() -> set[str]:
    """The files of the package, by the paths they have once installed."""
    home = ROOT / "src"
    files = (path for path in (home / "suffice").rglob("*") if path.is_file())
    return {
        str(path.relative_to(home))
        for path in files
        if "__pycache__" not in path.parts and path.suffix != ".pyc"
    }


def wheel_faults(wheel: Path) -> list[str]:
    """What a wheel lacks of the package, and what it holds besides."""
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    ours = own_files()
    lacking = [f"the wheel lacks {name}" for name in sorted(ours - held)]
    return lacking + [f"the wheel also holds {name}" for name in sorted(held - ours)]


def archive_files(archive: Path) -> set[str]:
    """The paths in a source archive, below its one folder."""
    with tarfile.open(archive) as held:
        names = (member.name.partition("/")[2] for member in held.getmembers() if member.isfile())
        return set(names)


def find_python(version: str) -> str | None:
    """A Python of this version: on the path, or among pyenv's, whose shims may lead nowhere."""
    beside = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = sorted(beside.glob(f"{version}.*/bin/python{version}"), reverse=True)
    for python in (shutil.which(f"python{version}"), *map(str, found)):
        if python is None:
            continue
        ran = subprocess.run([python, "--version"], capture_output=True, check=False)
        if ran.returncode == 0:
            return python
    return None


def try_out(python: str, package: Path) -> str:
    """Install a package into a new environment and run the demo there; what it said first."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        _run([python, "-m", "venv", str(home / "venv")])
        inside = home / "venv" / ("Scripts" if os.name == "nt" else "bin")
        _run([str(inside / "python"), "-m", "pip", "install", "--quiet", str(package)])
        # From an empty folder, with no path to this tree: what runs is what was installed.
        clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        told = "import suffice; print(suffice.__version__, suffice.__file__)"
        said = _run([str(inside / "python"), "-c", told], cwd=home, env=clean)
        version, _, place = said.strip().partition(" ")
        if not Path(place).is_relative_to(home) or version not in package.name:
            raise SystemExit(f"not the package that was installed: suffice {said}")
        page = home / "why.html"
        shown = _run([str(inside / "suffice"), "demo", "--html", str(page)], cwd=home, env=clean)
        if "Keeps" not in shown or "<!doctype html>" not in page.read_text(encoding="utf-8"):
            raise SystemExit(f"the demo did not explain anything:\n{shown}")
        return f"suffice {version}: the demo explains, its page has {page.stat().st_size:,} bytes"


def main() -> None:
    """Build, look inside, try out; end with an error where anything is wrong."""
    folder = ROOT / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    wheel, archive = build(folder)
    faults = wheel_faults(wheel)
    if faults:
        raise SystemExit("\n".join(faults))
    for package in (wheel, archive):
        print(f"{package.name}: {package.stat().st_size:,} bytes")
    print(_run([sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(archive)]))
    for line in _tried(wheel, archive):
        print(line, flush=True)


def _tried(wheel: Path, archive: Path) -> Iterator[str]:
    packages = [archive, wheel]  # the archive on the first Python only
    for version in VERSIONS:
        python = find_python(version)
        if python is None:
            yield f"Python {version}: not found, left out"
            continue
        for package in packages:
            yield f"Python {version}, {package.name}: {try_out(python, package)}"
        packages = [wheel]
    if len(packages) == 2:
        raise SystemExit(f"none of Python {', '.join(VERSIONS)} is here to try the wheel on")


def _run(command: list[str], **how: object) -> str:
    """What a command printed; its errors, where it failed, and the end."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False, **how)  # type: ignore[call-overload]
    if ran.returncode:
        raise SystemExit(f"{' '.join(command)}\n{ran.stdout}{ran.stderr}")
    return str(ran.stdout)


if __name__ == "__main__":
    main()
