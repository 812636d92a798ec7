"""The tables of the spam experiment: minimal sets, and the words that stand behind them."""

from typing import Any

import pandas as pd

from experiments.spam.relabel import PAIRS, Relabeller
from suffice.datasets import SEGMENTS

__all__ = ["options_table", "pasted_table", "segments_table", "sets_table", "smallest"]


def sets_table(names: list[str], found: list[Any]) -> pd.DataFrame:
    """Every minimal set, with its numbers."""
    return pd.DataFrame(
        {
            "mail": name,
            "setting": setting,
            "segments to change": ", ".join(f["segments"]),
            "PS": f["PS"],
            "low": f["low"],
            "high": f["high"],
            "references": f["references"],
            "cost of the cheapest change": f["cost"],
        }
        for name, by_setting in zip(names, found, strict=True)
        for setting, factors in by_setting.items()
        for f in factors
    )


def options_table(work: Relabeller, spam: list[int], found: list[Any]) -> pd.DataFrame:
    """Table 4 for each mail's smallest sets: what stands there, and what the cheapest change
    writes instead."""
    return pd.DataFrame(
        {
            "mail": work.name(i),
            "setting": setting,
            "option": number,
            "PS": f["PS"],
            "segment": segment,
            "was": _short(work.text(i, segment)),
            "becomes": _short(work.text(f["donor"], segment)),
        }
        for i, by_setting in zip(spam, found, strict=True)
        for setting, factors in by_setting.items()
        for number, f in enumerate(smallest(factors), start=1)
        for segment in f["segments"]
    )


def pasted_table(
    work: Relabeller, harmless: list[int], three: list[Any], pasted: list[Any]
) -> pd.DataFrame:
    """R2I: the paper's pairs of a harmless mail's segments, and the smallest sets that suffice."""
    lines = []
    for i, few, many in zip(harmless, three, pasted, strict=True):
        for where, answer in (("the three mails", few), ("all spam", many)):
            minimal = [f["segments"] for f in answer["minimal"]]
            pairs = [f for f in answer["pairs"] if f["segments"] not in minimal]
            lines += [
                {
                    "text of": work.name(i),
                    "put into": where,
                    "segments": ", ".join(f["segments"]),
                    "PS": f["PS"],
                    "references": f["references"],
                    "minimal": f["segments"] in minimal,
                    "segments as in Table 4": tuple(f["segments"]) in PAIRS,
                    "text": "; ".join(_short(work.text(i, s), 40) for s in f["segments"]),
                }
                for f in pairs + smallest(answer["minimal"])
            ]
    return pd.DataFrame(lines)


def segments_table(found: list[Any]) -> pd.DataFrame:
    """In how many mails a segment stands in a minimal set, and in one of the smallest."""
    return pd.DataFrame(
        {
            "setting": setting,
            "segment": segment,
            "mails": len(found),
            "in a minimal set": _share(segment, [by[setting] for by in found]),
            "in a smallest one": _share(segment, [smallest(by[setting]) for by in found]),
        }
        for setting in found[0]
        for segment in SEGMENTS
    )


def smallest(factors: list[Any]) -> list[Any]:
    """Those of the fewest segments."""
    fewest = min((len(f["segments"]) for f in factors), default=0)
    return [f for f in factors if len(f["segments"]) == fewest]


def _share(segment: str, by_mail: list[Any]) -> float:
    return sum(any(segment in f["segments"] for f in fs) for fs in by_mail) / len(by_mail)


def _short(text: str, width: int = 60) -> str:
    if not text:
        return "(empty)"
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"
