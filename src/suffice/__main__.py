"""`python -m suffice` is the command `suffice`, and this is where both begin.

Nothing is imported before the interrupt is watched for: Ctrl-C while the libraries load ends in one
word as it does later.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command."""
    try:
        from suffice.cli import main as run

        run()
    except KeyboardInterrupt:
        print("\nAborted!", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
