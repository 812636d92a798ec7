"""The tables of the IMDB experiment: sentences shown, training runs, sentences drawn."""

from typing import Any

import pandas as pd

from experiments.imdb.masked_words import MASKS
from experiments.imdb.sentences import Sentence

__all__ = ["drawn_row", "run_row", "sentences_table"]


def _words_of(text: str, sets: list[list[int]]) -> str:
    """Sets of words, as a table shows them."""
    words = text.split()
    return "; ".join(" + ".join(words[i] for i in s) or "nothing" for s in sets) or "none"


def sentences_table(paper, shown: list[Sentence], found: list[dict[str, Any]]) -> pd.DataFrame:
    rows = []
    for sentence, row in zip(shown, found, strict=True):
        text, theirs = sentence.text, paper.get(sentence.text, {})
        out = {
            "text": text,
            "as written": sentence.raw,
            "source": sentence.source,
            "truth": sentence.truth,
            "predicted": row["label"],
            "P(positive)": row["chance"],
            "mask": row["mask"] or "none contrasts",
        }
        if row["mask"]:
            out |= {
                "R2I (keep)": _words_of(text, row["keep"]),
                "I2R (flip)": _words_of(text, row["flip"]),
                "single words that flip": row["brittle"],
            }
            for rule in row["anchors"]:
                which = "Anchors" if rule["mask"] == MASKS[0] else "Anchors, our mask"
                out |= {
                    which: _words_of(text, [rule["held"]]),
                    f"{which}: precision reported": rule["precision reported"],
                    f"{which}: precision exact": rule["precision"],
                    f"{which}: PS": rule["PS"],
                }
            out |= {
                "R2I, corpus": _words_of(text, row["corpus"]["keep"]),
                "I2R, corpus": _words_of(text, row["corpus"]["flip"]),
            }
        for key, name in (("keep", "R2I"), ("flip", "I2R")):
            out[f"paper: {name}"] = "; ".join(" + ".join(s) for s in theirs.get(key, [])) or "—"
        out["paper: Anchors"] = " + ".join(theirs.get("anchor", [])) or "—"
        rows.append(out)
    return pd.DataFrame(rows).fillna("—")


def run_row(row: dict[str, Any]) -> dict[str, Any]:
    out = {
        "run": row["run"],
        "held-out accuracy": row["facts"]["held-out"],
        **{f"P(positive), {mask}": p for mask, p in row["masks"].items()},
        "text": row["text"],
        "predicted": row["label"],
        "P(positive)": row["chance"],
        "mask": row["mask"] or "none contrasts",
    }
    for key, name in (("keep", "R2I"), ("flip", "I2R")):
        out[name] = _words_of(row["text"], row[key]) if row["mask"] else "—"
    return out


def drawn_row(row: dict[str, Any]) -> dict[str, Any]:
    own = row["anchors"][-1]
    return {
        "text": row["text"],
        "predicted": row["label"],
        "mask": row["mask"],
        "R2I sets": len(row["keep"]),
        "smallest R2I": min(map(len, row["keep"])),
        "smallest I2R": min(map(len, row["flip"])),
        "single words that flip": row["brittle"],
        "anchor": _words_of(row["text"], [own["held"]]),
        "anchor's words": len(own["held"]),
        "anchor's PS": own["PS"],
        "enough of it to keep": len(own["enough to keep"]),
        "enough for its precision": len(own["enough for its precision"]),
    }
