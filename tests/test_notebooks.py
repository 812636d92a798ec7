"""The notebooks: each runs from top to bottom as it stands, shows pictures and warns of nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def needed(package):
    """A package of Jupyter; the test is skipped where it is not installed."""
    reason = f"{package} is not installed here: `make test-peers` tests notebooks"
    return pytest.importorskip(package, reason=reason)


def test_notebooks_are_kept_without_what_they_showed_and_lead_on_to_each_other():
    nbformat = needed("nbformat")
    assert len(NOTEBOOKS) == 5
    for path in NOTEBOOKS:
        book = nbformat.read(path, as_version=4)
        nbformat.validate(book)
        first, last = book.cells[0], book.cells[-1]
        assert first.source.startswith("# ") and last.source.startswith("## What next")
        for cell in book.cells:
            # What is stored grows old, and is some 300 KB each.
            assert cell.cell_type == "markdown" or (not cell.outputs and not cell.execution_count)
            links = cell.source.split("](")[1:] if cell.cell_type == "markdown" else []
            for link in links:
                assert (path.parent / link.partition(")")[0]).exists(), link


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_shows_pictures_and_warns_of_nothing(path, tmp_path):
    _, _, nbformat = needed("nbconvert"), needed("ipykernel"), needed("nbformat")
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", str(path)]
    ran = subprocess.run(
        [*command, "--output-dir", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    cells = nbformat.read(tmp_path / path.name, as_version=4).cells
    shown = [output for cell in cells for output in cell.get("outputs", ())]
    assert sum("image/png" in output.get("data", {}) for output in shown) >= 2
    assert [output.text for output in shown if output.get("name") == "stderr"] == []
