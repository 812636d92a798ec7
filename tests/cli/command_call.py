"""Call of a command in this process: its exit code, output and errors; model files opened at once."""

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


def open_files_at_once(monkeypatch):
    """Open model files without the child process that tries them first.

    The child takes seconds to import the library. Tests of files that may be damaged keep it.
    """
    monkeypatch.setattr("suffice.cli.models._try_in_child", lambda path, trust_types: None)
