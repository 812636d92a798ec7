"""What an experiment ends with: claims with a verdict, tables, figures; and how it is written."""

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["Claim", "Result", "write"]

_PACKAGES = (
    "suffice",
    "numpy",
    "scipy",
    "pandas",
    "scikit-learn",
    "shap",
    "anchor-exp",
    "dice-ml",
    "torch",
)


@dataclass(frozen=True)
class Claim:
    """Something the paper says, what was found here, and whether it holds."""

    says: str
    paper: str
    """The paper's value."""
    ours: str
    holds: bool | None
    """None where there is nothing to compare with."""
    setting: str = "the paper's"
    note: str = ""


@dataclass(frozen=True)
class Result:
    """One table or figure of the paper, made again."""

    title: str
    """Which one, e.g. "Figure 2: …"."""
    claims: tuple[Claim, ...]
    settings: Mapping[str, Any]
    tables: Mapping[str, Any] = field(default_factory=dict)
    """pandas frames, by file name."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """matplotlib figures, by file name."""
    timings: Mapping[str, float] = field(default_factory=dict)
    """The only numbers that may differ from run to run."""


def write(result: Result, name: str, folder: Path, seconds: float, quick: bool) -> Path:
    """Write figures (PNG, SVG), tables (CSV, Markdown) and result.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for stem, table in result.tables.items():
        table.to_csv(folder / f"{stem}.csv", index=False, float_format="%.6g")
        (folder / f"{stem}.md").write_text(markdown(table), encoding="utf-8")
    for stem, figure in result.figures.items():
        _save(figure, folder / stem)
    record = {
        "name": name,
        "title": result.title,
        "quick": quick,
        "settings": dict(result.settings),
        "claims": [asdict(claim) for claim in result.claims],
        "tables": sorted(result.tables),
        "figures": sorted(result.figures),
        "versions": _versions(),
        "timings": {"seconds": round(seconds, 2)} | dict(result.timings),
    }
    path = folder / "result.json"
    text = json.dumps(record, indent=2, ensure_ascii=False, default=str)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def markdown(table: Any) -> str:
    """A frame as a Markdown table."""
    rows = [list(map(_cell, table.columns)), ["---"] * len(table.columns)]
    rows += [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def _cell(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def _save(figure: Any, stem: Path) -> None:
    """The same bytes for the same figure: no date, no random names inside the SVG."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": stem.name, "svg.fonttype": "path"}):
        figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None}, facecolor="white")
        figure.savefig(stem.with_suffix(".png"), dpi=200, metadata={"Software": None})


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
