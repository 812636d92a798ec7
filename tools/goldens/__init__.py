"""Store what the package answers, and compare it with what other sources answer later.

    python -m tools.goldens write DIR
    python -m tools.goldens compare DIR

Only public names are used, so the same script runs before and after modules move. Everything is
seeded and no time limit is given. A call that fails is stored as the text of its error. What
depends on the clock, the date or the versions of libraries is replaced by constants (`values.py`).
"""
