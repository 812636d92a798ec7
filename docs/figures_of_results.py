"""The figures of "The paper, reproduced": from the last run, else a quick one, else a note."""

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]

FIGURES = {
    "german-shap": ("sufficiency-by-k",),
    "spam-shap": ("sufficiency-by-k",),
    "imdb-brittle": ("sentences",),
    "german-anchors": ("mean", "below-tau"),
    "spam-adversarial": ("minimal-sets",),
    "adult-dice": ("mean-cost", "min-max-cost"),
    "german-causal": ("recourse",),
    "german-tau-curve": ("tau-curve",),
    "pearl": ("pearl",),
}


def collect(into: Path) -> None:
    """Put every figure that the page shows where it looks for it."""
    into.mkdir(parents=True, exist_ok=True)
    for name, stems in FIGURES.items():
        for stem in stems:
            shutil.copyfile(_figure(name, stem), into / f"{name}-{stem}.svg")


def _figure(name: str, stem: str) -> Path:
    from experiments.runner.lab import data_home
    from experiments.runner.reproduce import run

    made = ROOT / "results" / name / f"{stem}.svg"
    if made.exists():
        return made
    quick = ROOT / "docs" / "_generated" / "quick"
    if not (quick / name / f"{stem}.svg").exists():
        if name != "pearl" and not data_home().is_dir():
            return _note(quick / f"{name}-{stem}.svg", f"suffice reproduce {name}")
        run(name, data_home(), quick, quick=True, progress=False)
    return quick / name / f"{stem}.svg"


def _note(path: Path, command: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = f"No data sets here. This figure is made by: {command}"
    path.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="720" height="60">'
        '<rect width="720" height="60" fill="#f2f4f7"/>'
        f'<text x="20" y="36" font-family="sans-serif" font-size="15">{text}</text></svg>',
        encoding="utf-8",
    )
    return path
