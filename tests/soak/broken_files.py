"""Attacks on what is read back: results, manifests and parts with any field changed, and model files."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from io import BytesIO
from itertools import count as numbers
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time, sleep
from tracemalloc import get_traced_memory, reset_peak, start, stop
from typing import Any
from zipfile import ZipFile

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

import suffice
from suffice import InputError, SufficeError
from suffice.batch.manifest import Manifest
from tests.soak.stores import write_store
from tests.soak.tally import Tally, Try, count_tries, seeded

Json = Any


def places(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield every place in a JSON value, as the keys that lead there; of long lists, three items."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for i in sorted({0, len(value) // 2, len(value) - 1} if value else ()):
            yield from places(value[i], (*path, i))


DEEP = "lists in lists, as deep as no honest text has them"


def write_json(record: Json) -> str:
    """Return the JSON of a value, with really deep lists where it says so."""
    return json.dumps(record).replace(json.dumps(DEEP), "[" * 5000 + "]" * 5000)


STRANGE: list[Json] = [
    *(None, True, False, "", "x", "0101", "\x00\x1b[31m", "\u202e", "x" * 100_000),
    *([], {}, [[]], [0], [[0, 1]], {"": None}, [[[[[[[[0]]]]]]]], DEEP),
    *(-1, 0, 1, 2, 3, 97, 10**12, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**400),
    *(-0.5, 0.5, 1.5, 1e308, -1e308, 1e-300),
    *("keep", "flip", "word", "swap", "holm", "budget", "1e999", "NaN"),
]


def change_json(record: Json, chance: random.Random) -> str:
    """Set, drop or repeat something in a JSON value; return what was done."""
    path = chance.choice(list(places(record)))
    at = record
    for key in path[:-1]:
        at = at[key]
    kind = chance.choice(["set", "set", "set", "drop", "twice"])
    if kind == "drop":
        del at[path[-1]]
    elif kind == "twice" and isinstance(at, list):
        at.insert(path[-1], deepcopy(at[path[-1]]))
    else:
        at[path[-1]] = deepcopy(chance.choice(STRANGE))
        kind = f"set to {json.dumps(at[path[-1]])[:40]}"
    return f"{'.'.join(map(str, path))} {kind}"


MOST_BYTES, MOST_SECONDS = 400_000_000, 5.0
"""Far more than reading and showing any of these files takes when it is whole."""


@contextmanager
def traced_memory() -> Iterator[None]:
    """Trace what Python allocates, for `bounded`.

    Python 3.11 ends the process if tracing stops while a thread of another library allocates, so
    it is traced for all tries at once, and threads that still read get a moment to end.
    """
    start()
    try:
        yield
    finally:
        sleep(0.2)
        stop()


@contextmanager
def bounded() -> Iterator[None]:
    """Fail where the block takes much more memory or processor time than any file deserves."""
    reset_peak()
    began, before, arrow = process_time(), get_traced_memory()[0], pa.total_allocated_bytes()
    yield
    taken = max(get_traced_memory()[1] - before, pa.total_allocated_bytes() - arrow)
    assert taken < MOST_BYTES, f"{taken:,} bytes"
    seconds = process_time() - began
    assert seconds < MOST_SECONDS, f"{seconds:.1f} s"


def break_results(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Change the JSON of every kind of result: it is refused in a sentence, or can be shown."""
    from tests.test_results import SAMPLES, sample

    chance = seeded("broken results", seed)
    # Of the others it takes seconds to make one.
    names = [n for n in SAMPLES if count >= 100 or n in ("Explanation", "Recourse", "Plan", "View")]

    def tries() -> Iterator[Try]:
        for number in numbers():
            name = names[number % len(names)]
            made = sample(name)
            kind, record = type(made), json.loads(made.to_json())
            done = change_json(record, chance)
            if number % 3 == 0:
                done += f", {change_json(record, chance)}"
            yield f"{name}: {done}", lambda r=record, k=kind: check(k, write_json(r))

    def check(kind: Any, text: str) -> None:
        with bounded():
            try:
                found = kind.from_json(text)
            except InputError as error:
                assert len(str(error)) < 600, error
                return
            assert str(found)
            assert isinstance(repr(found), str)
            found.to_frame()
            assert kind.from_json(found.to_json()).to_json() == found.to_json()

    with traced_memory():
        return count_tries("broken results", tries(), count, seconds)


def use_store(folder: Path) -> None:
    """Read everything of a folder, as a user would."""
    stored = suffice.load(folder)
    assert str(stored) and repr(stored)
    read = list(stored)
    for e in read[:1] + read[-1:]:
        assert str(e)
        assert e.keep.at(0.7).tau == 0.7
    assert len(stored.ids) == len(stored.to_frame()) == len(read)
    assert len(stored.errors) >= 0
    with suppress(InputError):
        stored.by_id("A0")


def write_manifest(folder: Path, record: Json) -> None:
    """Write a manifest, with the hash that it should have where one can be computed."""
    path = folder / "_manifest.json"
    path.write_text(write_json(record))
    with suppress(msgspec.MsgspecError, RecursionError, TypeError, ValueError):
        found = msgspec.json.decode(path.read_bytes(), type=Manifest).with_hash()
        path.write_bytes(found.to_json())


def rename_run(folder: Path) -> None:
    """Give all parts the label of the manifest there, as someone would who made the whole folder."""
    check = json.loads((folder / "_manifest.json").read_text()).get("check")
    for path in folder.rglob("*.parquet"):
        table = pq.read_table(path, partitioning=None)
        label = json.loads(table.schema.metadata[b"suffice"]) | {"run": check}
        metadata = {b"suffice": json.dumps(label).encode()}
        pq.write_table(table.replace_schema_metadata(metadata), path)


def without_digests(folder: Path) -> None:
    """Make the folder one of version 0.5.0, which has no digests that a change would not match."""
    path = folder / "_SUCCESS"
    totals = json.loads(path.read_text())
    totals.pop("files", None)
    path.write_text(json.dumps(totals))


def break_stores(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Change manifests, totals, labels and cells, with every hash made to fit."""
    chance = seeded("broken stores", seed)
    with TemporaryDirectory() as folder, traced_memory():
        whole = Path(folder) / "whole"
        write_store(whole)
        without_digests(whole)
        copied = Path(folder) / "copy"

        def tries() -> Iterator[Try]:
            for number in numbers():
                change: Callable[[], str] = [manifest, totals, cells, rows][number % 4]
                shutil.copytree(whole, copied)
                yield change(), check
                shutil.rmtree(copied)

        def manifest() -> str:
            record = json.loads((copied / "_manifest.json").read_text())
            done = change_json(record, chance)
            write_manifest(copied, record)
            with suppress(AttributeError, RecursionError):
                rename_run(copied)
            return f"manifest: {done}"

        def totals() -> str:
            record = json.loads((copied / "_SUCCESS").read_text())
            done = change_json(record, chance)
            (copied / "_SUCCESS").write_text(write_json(record))
            return f"_SUCCESS: {done}"

        def part() -> Path:
            return chance.choice(sorted((copied / "explanations").glob("*.parquet")))

        def cells() -> str:
            """Change cells of a part; null, empty and huge values, and columns of other types."""
            path = part()
            table = pq.read_table(path, partitioning=None)
            name = chance.choice(table.column_names)
            at = table.column_names.index(name)
            column = table.column(at)
            kind = chance.choice(["null", "drop", "text", "shuffle", "number", "first"])
            if kind == "drop":
                table = table.remove_column(at)
            elif kind == "null":
                table = table.set_column(at, name, pa.nulls(len(table), column.type))
            elif kind in ("text", "number"):
                value = (
                    chance.choice(["", "x", "[" * 5000, "[[0]]"]) if kind == "text" else -(2**40)
                )
                table = table.set_column(at, name, pa.array([value] * len(table)))
            elif kind == "shuffle":
                order = list(range(len(table)))
                chance.shuffle(order)
                table = table.set_column(at, name, column.take(pa.array(order)))
            else:
                table = table.set_column(at, name, column.take(pa.array([0] * len(table))))
            pq.write_table(table, path)
            return f"{path.name}: {name} {kind}"

        def rows() -> str:
            """A small part that unpacks to a large one."""
            path = part()
            table = pq.read_table(path, partitioning=None)
            name = chance.choice(["counts", "flip_counts", "record", "values", "donors", "rows"])
            if name == "rows":
                table = table.take(pa.array([0] * 200_000))
            else:
                at = table.column_names.index(name)
                kind = table.schema.field(at).type
                if pa.types.is_list(kind):
                    one = pa.array([0 if "counts" in name else "x"] * 4_000_000, kind.value_type)
                    offsets = pa.array([0] + [len(one)] * len(table), pa.int32())
                    column = pa.ListArray.from_arrays(offsets, one)
                else:
                    column = pa.array(["{}" + " " * 4_000_000] * len(table), kind)
                table = table.set_column(at, name, column)
            pq.write_table(table, path, compression="zstd")
            return f"{path.name}: large {name}, {path.stat().st_size:,} bytes"

        def check() -> None:
            with bounded():
                try:
                    use_store(copied)
                except InputError as error:
                    assert len(str(error)) < 1000, error

        return count_tries("broken stores", tries(), count, seconds)


# -- model files -----------------------------------------------------------------------------


MODEL_KINDS = (
    *("early.ubj", "booster.json", "lightgbm.txt", "catboost.cbm", "catboost.json"),
    *("model.skops", "trees.skops", "model.onnx", "external.onnx", "external.weights"),
    "network.keras",
)
"""Files that are mutated; the weights are those of external.onnx."""


def write_model(name: str, path: Path) -> None:
    """Write a small model in the format of a name."""
    from tests.cli.test_booster_files import MADE
    from tests.models.loan_models import TWO_CLASSES, X

    if name in MADE:
        _, save = MADE[name]()
        save(str(path))
        return
    if name.startswith("external"):
        write_external_onnx(path.with_suffix(".onnx"))
        return
    if name == "network.keras":
        from tests.models.test_keras import keras_net

        keras_net().save(path)
        return
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    model = (
        RandomForestClassifier(3, random_state=0) if name == "trees.skops" else LogisticRegression()
    )
    model.fit(X, TWO_CLASSES)
    if name.endswith(".skops"):
        from skops import io

        io.dump(model, path)
        return
    from skl2onnx import to_onnx

    path.write_bytes(to_onnx(model, X[:1].to_numpy("float32")).SerializeToString())


def write_external_onnx(path: Path) -> Path:
    """Write a linear ONNX model; return the file beside it that has its weights."""
    import numpy as np
    import onnx
    from onnx import helper

    rows = helper.make_tensor_value_info("rows", onnx.TensorProto.FLOAT, [None, 4])
    scores = helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, [None, 2])
    weights = onnx.numpy_helper.from_array(np.eye(4, 2, dtype=np.float32), "weights")
    product = helper.make_node("MatMul", ["rows", "weights"], ["scores"])
    graph = helper.make_graph([product], "linear", [rows], [scores], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    location = f"{path.stem}.weights"
    onnx.save(model, str(path), save_as_external_data=True, location=location, size_threshold=0)
    return path.with_name(location)


def mutate(content: bytes, chance: random.Random) -> bytes:
    """Change some bytes, and cut the end off now and then."""
    mutated = bytearray(content)
    for _ in range(chance.choice([1, 4, 30])):
        mutated[chance.randrange(len(mutated))] = chance.randrange(256)
    if chance.random() < 0.2:
        del mutated[chance.randrange(len(mutated)) :]
    return bytes(mutated)


def mutate_archive(content: bytes, chance: random.Random) -> bytes:
    """Mutate a file inside a zip archive, whose checksums then fit."""
    with ZipFile(BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    changed = chance.choice([name for name, inside in files.items() if inside])
    files[changed] = mutate(files[changed], chance)
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, inside in files.items():
            archive.writestr(name, inside)
    return packed.getvalue()


def mutate_models(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Open mutated model files: each is opened or refused, and none ends this process."""
    from suffice.cli.models import load_model

    chance = seeded("model files", seed)
    with TemporaryDirectory() as folder:
        contents = {}
        kinds = MODEL_KINDS[:count]
        for name in kinds:
            write_model(name, Path(folder) / name)
            contents[name] = (Path(folder) / name).read_bytes()

        def tries() -> Iterator[Try]:
            for number in numbers():
                name = kinds[number % len(kinds)]
                path = Path(folder) / name
                inside = path.suffix in (".skops", ".keras") and chance.random() < 0.7
                change = mutate_archive if inside else mutate
                path.write_bytes(change(contents[name], chance))
                yield f"{name}, number {number}", lambda path=path: check(path)
                path.write_bytes(contents[name])

        def check(path: Path) -> None:
            if path.suffix == ".weights":
                path = path.with_suffix(".onnx")
            try:
                if path.suffix == ".keras":
                    explain_keras(path)
                else:
                    load_model(path, trust_types=("sklearn.tree._tree.Tree",))
            except SufficeError as error:
                assert len(str(error)) < 2000

        return count_tries("model files", tries(), count, seconds)


def explain_keras(path: Path) -> None:
    """Explain by the model of an archive, if keras opens it: users pass what keras returns."""
    import keras
    import numpy as np

    from suffice import Explainer

    try:
        model = keras.saving.load_model(path)
    except Exception:  # keras's own refusal
        return
    rows = np.random.default_rng(0).normal(size=(60, 4))
    assert str(Explainer(model, rows, n_references=10).explain(rows[0], budget=2000))
