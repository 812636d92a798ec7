"""Run experiments by name, and write RESULTS.md from what they left behind."""

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

from experiments.lab import Lab
from experiments.result import Result, write

__all__ = ["EXPERIMENTS", "records", "results_page", "run"]

EXPERIMENTS = {
    "german-shap": "experiments.german_shap",
    "spam-shap": "experiments.spam_shap",
    "imdb-brittle": "experiments.imdb_brittle",
    "german-anchors": "experiments.german_anchors",
    "spam-adversarial": "experiments.spam_adversarial",
    "adult-dice": "experiments.adult_dice",
    "german-causal": "experiments.german_causal",
    "german-tau-curve": "experiments.german_tau_curve",
    "pearl": "experiments.pearl",
}
"""In the paper's order. Each module has `run(lab) -> Result`."""


def run(
    name: str, data: Path, out: Path, quick: bool = False, progress: bool | None = None
) -> dict[str, Any]:
    """Run one experiment into its own folder; gives back what its result.json holds."""
    module = import_module(EXPERIMENTS[name])
    folder = out / name
    started = perf_counter()
    result: Result = module.run(Lab(name, data, folder, quick, progress))
    path = write(result, name, folder, perf_counter() - started, quick)
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


def records(out: Path) -> list[dict[str, Any]]:
    """What the experiments left in a folder, in the paper's order."""
    paths = [out / name / "result.json" for name in EXPERIMENTS]
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]


def results_page(records: Sequence[dict[str, Any]]) -> str:
    """RESULTS.md: for each claim the paper's value, ours, and the verdict."""
    lines = [
        "# Results",
        "",
        "What the paper says, and what comes out here. Written by `make reproduce`; do not edit.",
    ]
    for record in records:
        quick = " --quick" if record["quick"] else ""
        command = f"`suffice reproduce {record['name']}{quick}`"
        lines += ["", f"## {record['title']}", "", command, ""]
        lines += ["| claim | setting | paper | here | holds |", "|---|---|---|---|---|"]
        notes = []
        for claim in record["claims"]:
            verdict = {True: "yes", False: "**no**", None: "—"}[claim["holds"]]
            if claim["note"]:
                notes.append(claim["note"])
                verdict += f" [{len(notes)}]"
            cells = (claim["says"], claim["setting"], claim["paper"], claim["ours"], verdict)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines += [""] if notes else []
        lines += [f"{i}. {note}" for i, note in enumerate(notes, start=1)]
        settings = "; ".join(f"{key} {value}" for key, value in record["settings"].items())
        lines += ["", f"Settings: {settings}."]
    return "\n".join(lines) + "\n"
