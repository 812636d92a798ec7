"""`python -m suffice` is the command `suffice`, and this is where both begin.

Ctrl-C ends it at once and in one sentence, from the first line on. An interrupt that is raised as
an exception can come to nothing while libraries load: what is raised in a callback of the import
system is printed and forgotten, and the command would go on.
"""

import os
import signal
import sys


def main() -> None:
    """Run the command `suffice`."""
    signal.signal(signal.SIGINT, _abort)
    from suffice.cli import main as run

    run()


def _abort(*_: object) -> None:
    output = sys.modules.get("suffice.cli.output")  # not imported here: it may be loading
    text = getattr(output, "interrupt_texts", ["Stopped: nothing was done."])[-1]
    os.write(2, f"\n{text}\n".encode(errors="replace"))  # standard error
    os._exit(128 + signal.SIGINT)


if __name__ == "__main__":
    main()
