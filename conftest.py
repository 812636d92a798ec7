"""What holds for every test, those in the sources and in the guide included."""

import gc
import os
import shutil
import sys
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

# There are as many test processes as cores, and threads that wait for work spin: a page that fits a
# histogram model took 18 s of CPU instead of 4, a small network in scikit-learn 3 s instead of 0.5.
# The libraries read these when they are loaded. OMP_NUM_THREADS would also leave the compiled
# kernels' parallel loops untested; with OMP_THREAD_LIMIT scikit-learn's nearest neighbours read
# memory that nobody wrote.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

BESIDE = Path(__file__).parents[1] / "shared" / "data"

# What a build of the documentation leaves there, and what only a build can import; and a page that
# tests/repository/test_audit_tutorial.py follows, commands and all.
collect_ignore = [
    "docs/_build",
    "docs/conf.py",
    "docs/gallery",
    "docs/guides/audit-a-credit-model.md",
]


LEFT_BY_LIBRARIES = (".ses", "dask-scratch-space", "pytest-of-", "torchinductor_")
"""How names of onnxruntime, Dask, pytest and torch in the temporary folder begin."""


def pytest_configure(config):
    """Give the whole run a temporary folder of its own, which its processes inherit."""
    if not hasattr(config, "workerinput"):
        config.own_folder = tempfile.mkdtemp(prefix="suffice-tests-")
        os.environ["TMPDIR"] = tempfile.tempdir = config.own_folder


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Leave the tests and all that they import out of the garbage collections of the run.

    Else each full collection goes through a million objects, of which hardly any is garbage. What
    is left is collected less often than by default: it took a tenth of the run's time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 20, 10)
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Fail where something was left in the temporary folder."""
    folder = getattr(session.config, "own_folder", None)
    if folder is None:
        return
    left = [p.name for p in Path(folder).iterdir() if not p.name.startswith(LEFT_BY_LIBRARIES)]
    if left:
        print(f"\nleft in the temporary folder: {', '.join(sorted(left))}")
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure(config):
    """Remove the temporary folder of the run."""
    if hasattr(config, "own_folder"):
        shutil.rmtree(config.own_folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def folder_for_examples(request, monkeypatch):
    """Let examples write into a folder that is removed, as readers will not."""
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.setattr(tempfile, "tempdir", str(request.getfixturevalue("tmp_path")))


@pytest.fixture(autouse=True)
def closed_figures():
    """No figure of one test stays open in the next."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


PACKAGES_OF_PAGES = {
    "from-anchors.md": "anchor",
    "from-dice.md": "dice_ml",
    "portfolio.md": "duckdb",
}


@pytest.fixture(autouse=True)
def packages_of_pages(request):
    """Skip pages about other tools where those are not installed."""
    needed = PACKAGES_OF_PAGES.get(request.node.path.name)
    if needed and find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed: see `make test-peers`")
    if request.node.path.name == "from-shap.md":
        request.getfixturevalue("shap")


@pytest.fixture(scope="session")
def shap():
    """The peer, uncompiled: compiling its functions takes 10 s, and the games of the tests none.

    That is decided when shap is first imported, so every test that needs it asks for this fixture.
    """
    numba = pytest.importorskip("numba")
    before, numba.config.DISABLE_JIT = numba.config.DISABLE_JIT, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of its own use of matplotlib
            return pytest.importorskip("shap")
    finally:
        numba.config.DISABLE_JIT = before


@pytest.fixture(autouse=True)
def data_for_loaders(request, monkeypatch):
    """Examples of the loaders run where the data is."""
    if isinstance(request.node, pytest.DoctestItem) and request.node.path.name == "datasets.py":
        place = Path(os.environ.get("SUFFICE_DATA", BESIDE))
        if not request.node.name.endswith(".loans") and not place.is_dir():
            pytest.skip("the real data sets are not here")
        monkeypatch.setenv("SUFFICE_DATA", str(place))
