"""`python -m suffice` is the command `suffice`, and this is where both begin.

Ctrl-C ends it at once and in one word, from the first line on. An interrupt that is raised as an
exception can come to nothing while libraries load: what is raised in a callback of the import
system is printed and forgotten, and the command would go on.
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
