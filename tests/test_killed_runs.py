"""Kill −9 of workers and of the driver: what is stored is what an undisturbed run stores.

A few moments here; twenty of each under `make soak`.
"""

import random

import pytest

pytest.importorskip("pyarrow")

from tests.killing import explain, kill_drivers, kill_workers, parts

ROWS = 100


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    explain(str(out), ROWS)
    return parts(out)


def test_killed_workers_change_no_byte(tmp_path, undisturbed):
    kill_workers(tmp_path / "out", ROWS, 3, random.Random(0))
    assert parts(tmp_path / "out") == undisturbed


def test_killed_drivers_change_no_byte_once_resumed(tmp_path, undisturbed):
    kill_drivers(tmp_path / "out", ROWS, 2, random.Random(1))
    assert parts(tmp_path / "out") == undisturbed
