"""Run experiments by name, and write RESULTS.md from what they left behind."""

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from experiments.runner.lab import Lab
from experiments.runner.result import Result, write

__all__ = ["EXPERIMENTS", "records", "results_page", "run"]


class Experiment(NamedTuple):
    """Where an experiment is, and what it makes again."""

    module: str
    """Has `run(lab) -> Result`."""
    shows: str


EXPERIMENTS = {
    "german-shap": Experiment(
        "experiments.german.shap_figure", "Figure 2: top k by SHAP against the best set"
    ),
    "spam-shap": Experiment("experiments.spam.shap_figure", "the same on e-mails"),
    "imdb-brittle": Experiment("experiments.imdb.brittle", "Table 2: the words an LSTM hangs on"),
    "german-anchors": Experiment("experiments.german.anchors", "Figure 3: LENS against Anchors"),
    "spam-adversarial": Experiment(
        "experiments.spam.adversarial", "Tables 3 and 4: what lets spam through"
    ),
    "adult-dice": Experiment(
        "experiments.adult.dice", "Figure 4 and Table 5: recourse against DiCE"
    ),
    "german-causal": Experiment(
        "experiments.german.causal", "Table 6: recourse with and without effects"
    ),
    "german-tau-curve": Experiment("experiments.german.tau_curve", "Appendix: necessity against τ"),
    "pearl": Experiment("experiments.pearl", "Proposition 4: probabilities of causation"),
    "german-grades": Experiment(
        "experiments.german.grades", "Figures 2 to 4 as marks for shap, anchor-exp and dice-ml"
    ),
}
"""In the paper's order."""


def run(
    name: str, data: Path, out: Path, quick: bool = False, progress: bool | None = None
) -> dict[str, Any]:
    """Run one experiment into its own folder; gives back what its result.json holds."""
    module = import_module(EXPERIMENTS[name].module)
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
        command = f"`python -m experiments {record['name']}{quick}`"
        lines += ["", f"## {record['title']}", "", command, ""]
        if record["quick"]:
            lines += ["A quick run: a small slice, on which no verdict is final.", ""]
        lines += ["| claim | setting | paper | here | holds |", "|---|---|---|---|---|"]
        notes = []
        for claim in record["claims"]:
            verdict = {True: "yes", False: "**no**", None: "—"}[claim["holds"]]
            if record["quick"] and claim["holds"] is False:
                verdict = "no, on this slice"
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
