"""Call of a command in this process: its exit code, output and errors."""

from suffice.cli import main


def run_command(*arguments, capsys):
    """Run in this process; give exit code, output and errors."""
    try:
        main([str(a) for a in arguments])
    except SystemExit as stop:
        code = stop.code or 0
    else:
        code = 0
    captured = capsys.readouterr()
    return code, captured.out, captured.err
