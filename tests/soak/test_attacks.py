"""The frame of the attacks counts what it is given, and says what failed."""

import pytest

from tests.soak import __main__ as soak
from tests.soak.broken_files import break_results
from tests.soak.processes import share_explainers
from tests.soak.questions import bad_models, odd_tables, press_limits
from tests.soak.tally import Tally, count_tries, seeded


def divide(number):
    return f"by {number}", lambda: 1 / number


def test_failures_are_counted_and_reported():
    tally = count_tries("division", map(divide, (2, 0, 1, 0)), 3)
    assert (tally.tries, tally.held, len(tally.failures), tally.cut) == (3, 2, 1, False)
    assert tally.failures[0].startswith("by 0: ZeroDivisionError: division by zero")
    assert tally.row(3).split() == ["division", "3", "2", "1"]


def test_no_try_is_begun_after_its_time():
    tally = count_tries("division", map(divide, (1, 2)), 2, seconds=-1)
    assert (tally.tries, tally.cut) == (0, True)


def test_every_kind_draws_a_sequence_of_its_own():
    assert seeded("kills", 0).random() == seeded("kills", 0).random()
    assert len({seeded(k, s).random() for k in ("kills", "interrupts") for s in (0, 1)}) == 4


def test_the_program_fails_where_an_attack_did(monkeypatch, capsys):
    def broken(count, seed, seconds):
        tally = Tally("broken")
        tally.add("it broke")
        return tally

    monkeypatch.setattr(soak, "ATTACKS", [soak.Attack("broken", "tally:broken", 10, 1)])
    monkeypatch.setattr("tests.soak.tally.broken", broken, raising=False)
    assert soak.main(["--seed", "3"]) == 1
    out = capsys.readouterr().out
    assert "seed 3" in out
    assert out.splitlines()[-2].strip() == "it broke"


@pytest.mark.parametrize(("minutes", "status"), [("40", 0), ("0", 3)])
def test_the_program_names_the_kinds_that_their_time_cut_off(minutes, status, monkeypatch, capsys):
    def divide_often(count, seed, seconds):
        return count_tries("division", map(divide, range(1, 1 + count)), count, seconds)

    monkeypatch.setattr(soak, "ATTACKS", [soak.Attack("division", "tally:divide_often", 20, 1)])
    monkeypatch.setattr("tests.soak.tally.divide_often", divide_often, raising=False)
    assert soak.main(["--minutes", minutes, "--share", "0.5"]) == status
    *_, row, last = capsys.readouterr().out.splitlines()
    assert row.endswith("CUT OFF after 0 of 10 tries") == (status == 3)
    said = "0 failed; cut off by their time: division (0 of 10)"
    assert last.endswith(said if status else "0 failed, none cut off")


def test_every_attack_exists():
    for attack in soak.ATTACKS:
        assert callable(attack.load()), attack.function
    with pytest.raises(SystemExit):
        soak.main(["no such kind"])


@pytest.mark.parametrize(
    ("attack", "count"),
    [
        (bad_models, 40),
        (odd_tables, 20),
        (share_explainers, 4),
        (press_limits, 16),
        (break_results, 20),
    ],
)
def test_answers_withstand(attack, count):
    """A slice of `make soak`."""
    tally = attack(count, seed=0)
    assert tally.tries == count
    assert not tally.failures, tally.failures[0]
