"""Who follows a call from top to bottom passes few files, and the script that counts them is right."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tools.files_on_path import files_entered

from suffice import checks, wording

ROOT = Path(__file__).parents[1]
MOST = {"explain": 38, "recourse": 38}
"""What a set of references shares, and what a model keeps from input to input, have files of their
own. Kernels count where they run in the caller's thread, which depends on the machine."""


def test_a_file_counts_where_one_of_its_functions_is_entered() -> None:
    assert files_entered(lambda: wording.percent(0.5)) == ["wording.py"]
    assert files_entered(lambda: checks.threshold(0.9)) == ["checks.py"]
    assert files_entered(lambda: None) == []


def test_explain_and_recourse_pass_few_files() -> None:
    """In a process of its own: what was loaded before, as numba's kernels, would count too."""
    command = [sys.executable, "-m", "tools.files_on_path"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    counts = {
        name: int(count) for name, count in re.findall(r"^(\w+): (\d+) files$", ran.stdout, re.M)
    }
    assert counts.keys() == MOST.keys()
    assert all(counts[name] <= MOST[name] for name in MOST), ran.stdout
