"""`suffice serve`: the explorer, for a table and a model of one's own."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from suffice.cli.inputs import asked_outcome, hint_at_identifiers, open_model, read_table
from suffice.cli.options import CLASSES, FILE, FORMATS, TARGET, outcome_options, trust_options
from suffice.cli.output import tell
from suffice.cli.training import MODELS
from suffice.errors import InputError

__all__ = ["run_explorer", "serve"]


@click.command()
@click.option("--data", type=FILE, required=True, help="The table: .csv, .parquet or .json.")
@TARGET
@click.option(
    "--model",
    "models",
    type=FILE,
    multiple=True,
    help=f"A fitted model: {FORMATS}; a second one to compare with.",
)
@CLASSES
@click.option(
    "--train",
    "trains",
    type=click.Choice(MODELS),
    multiple=True,
    help="Or train one on the table; again for a second one.",
)
@click.option("--text", metavar="COL", help="The model reads texts, which are in this column.")
@click.option(
    "--graph",
    type=FILE,
    help="A causal graph of the columns: a line 'cause -> effect' for each arrow.",
)
@outcome_options
@click.option(
    "--n-references",
    type=click.IntRange(min=1),
    default=500,
    show_default=True,
    metavar="N",
    help="Use at most N references, unless the page asks for more.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="For training and for drawing references.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port to listen at [default: any that is free].",
)
@trust_options
def serve(**options: Any) -> None:
    """Explore a table and its model in the browser: rows, reasons, what-ifs, ways out.

    The page is served to this machine alone. The address that is printed holds a key: whoever has
    it sees the data.
    """
    data, labels = read_table(options["data"], options["target"])
    if options["text"] is None:
        hint_at_identifiers(data)
    models = _models(options, data, labels)
    first = next(iter(models.values()))
    run_explorer(
        models,
        data,
        host=options["host"],
        port=options["port"],
        outcome=asked_outcome(options, first, data),
        n_references=options["n_references"],
        random_state=options["seed"],
        graph=None if options["graph"] is None else _graph(options["graph"], data),
        text=options["text"],
        opening=_opening(options),
    )


def run_explorer(
    models: Mapping[str, Any], data: Any, *, host: str, port: int, **of_room: Any
) -> None:
    """Serve until it is interrupted."""
    try:
        import starlette
        import uvicorn
    except ImportError as error:
        hint = 'pip install "suffice[web]"'
        raise InputError("serve", f"no {error.name}", "an installed one", hint) from error
    assert starlette
    assert uvicorn
    from suffice.web.room import Room
    from suffice.web.serve import serve as run

    tell(f"Reading {len(data):,} rows …")
    room = Room(models, data, **of_room)
    if host not in ("127.0.0.1", "localhost", "::1"):
        tell(f"Others who reach {host} and have the address can see the data.")
    # Ctrl-C is how one stops it: not an end at once, as in other commands.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        run(room, host=host, port=port, ready=_ready)
    tell("The explorer has stopped.")


def _ready(address: str) -> None:
    click.echo(f"Explorer: {address}")
    tell("Open this address in a browser. Ctrl-C stops.")


def _models(options: dict[str, Any], data: Any, labels: Any) -> dict[str, Any]:
    """The models by a name that tells them apart."""
    # What is trained on the table has its names.
    named = {"classes": None} if options["models"] else {}
    given: list[tuple[str, dict[str, Any]]] = [
        *((path.stem, {"model": path, "train": None}) for path in options["models"]),
        *((name, {"model": None, "train": name} | named) for name in options["trains"]),
    ]
    if not given:
        raise InputError("--model, --train", "neither", "at least one of the two")
    found: dict[str, Any] = {}
    for name, chosen in given:
        unique = name if name not in found else f"{name} {len(found) + 1}"
        found[unique] = open_model(options | chosen, data, labels)
    return found


def _graph(path: Path, data: Any) -> Any:
    from suffice.context.causal import CausalModel

    edges = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        cause, arrow, effect = (part.strip() for part in words.partition("->"))
        if not (cause and arrow and effect):
            got = f"line {number} of {path.name}: {words!r}"
            raise InputError("--graph", got, "lines such as 'age -> income'")
        edges.append((cause, effect))
    return CausalModel(edges, data)


def _opening(options: dict[str, Any]) -> Callable[[str], Sequence[str]]:
    """Code that opens the same model and data; file names as they were typed."""
    path: Path = options["data"]
    reader = {".csv": "read_csv", ".json": "read_json"}.get(path.suffix.lower(), "read_parquet")
    table = [f"data = pd.{reader}({str(path)!r})"]
    if options["target"] is not None:
        table += [f"labels = data.pop({options['target']!r})"]
    if options["graph"] is not None:
        table += [f"causes = …  # suffice.CausalModel of the graph in {str(options['graph'])!r}"]
    files = {p.stem: p for p in options["models"]}

    def opening(name: str) -> Sequence[str]:
        if name not in files:
            kind, seed = name.split(maxsplit=1)[0], options["seed"]
            return [
                *table,
                "from suffice.cli.training import train",
                f"model = train({kind!r}, data, labels, {seed}).model",
            ]
        file = files[name]
        if file.suffix.lower() == ".skops":
            trusted = list(options["trust_types"])
            return [*table, "import skops.io", f"model = skops.io.load({str(file)!r}, {trusted!r})"]
        if file.suffix.lower() == ".onnx":
            return [
                *table,
                "import onnxruntime",
                f"model = onnxruntime.InferenceSession({str(file)!r})",
            ]
        if file.suffix.lower() in (".pkl", ".pickle", ".joblib"):
            return [*table, "import joblib", f"model = joblib.load({str(file)!r})"]
        from suffice.cli.model_files import opening_booster

        return [*table, *opening_booster(file, options["classes"])]

    return opening
