"""`python -m suffice` is the command `suffice`, and this is where both begin.

Ctrl-C ends the command at once with one word, even while libraries are imported: there an interrupt
raised as an exception can get lost, since an exception in a callback of the import system is only
printed and the command would continue.
"""

import os
import signal


def main() -> None:
    """Run the command `suffice`."""
    signal.signal(signal.SIGINT, _abort)
    from suffice.cli import main as run

    run()


def _abort(*_: object) -> None:
    os.write(2, b"\nAborted!\n")  # standard error
    os._exit(1)


if __name__ == "__main__":
    main()
