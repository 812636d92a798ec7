"""What Table 2 and its paragraph say, against what was measured."""

from collections import Counter
from typing import Any

import numpy as np

from experiments.imdb.masked_words import MASKS
from experiments.runner.result import Claim

__all__ = ["claims"]

_RUN = "The network is another training run; see the runs table for how much hangs on that."


def claims(paper, models, shown, found, surveyed, sample, runs, quick: bool) -> tuple[Claim, ...]:
    out = [_accuracy(models, quick), _masks(models)]
    for sentence, row in zip(shown, found, strict=True):
        if sentence.text in paper:
            held_out = sentence.row in models[0].facts["held out"]
            side = "held out" if held_out else "not held out"
            out += _on_sentence(paper[sentence.text], sentence, row, side)
    out += _over_runs(paper, runs)
    out += _over_sentences(surveyed, sample)
    out += _with_corpus(found)
    return tuple(out)


def _accuracy(models, quick: bool) -> Claim:
    found = [m.facts["accuracy"]["held-out"] for m in models]
    return Claim(
        "the LSTM's accuracy on reviews held out",
        "87.03%",
        ", ".join(f"{100 * a:.2f}%" for a in found) + f" in {_runs(len(found))}",
        None if quick else min(found) >= 0.85,
        note="A small network on a slice of the reviews." if quick else "Holds from 85% on.",
    )


def _masks(models) -> Claim:
    model = models[0]
    labels = model([" ".join([mask] * 4) for mask in MASKS])
    says = [
        f"{mask} {label}" + ("" if mask.lower() in model.numbers else " (no word it knows)")
        for mask, label in zip(MASKS, labels, strict=True)
    ]
    return Claim(
        "UNK is predicted positive and PLATE negative",
        "UNK positive, PLATE negative",
        ", ".join(says),
        labels.tolist() == ["positive", "negative"],
        note="A word that training never saw is skipped, so UNK alone is a text of padding, and "
        "what the network makes of that is a matter of the training run. For a negative "
        "prediction a mask predicted positive is needed: the commonest words are tried in turn.",
    )


def _on_sentence(paper: dict[str, Any], sentence, row: dict[str, Any], side: str) -> list[Claim]:
    text, same = sentence.text, row["label"] == paper["label"]
    right = "correctly" if row["label"] == sentence.truth else "wrongly"
    expected = "correctly" if paper["label"] == sentence.truth else "wrongly"
    out = [
        Claim(
            f"“{text}” is predicted {paper['label']}",
            f"{expected} {paper['label']}",
            f"{right} {row['label']}, P(positive) = {row['chance']:.2f}",
            same,
            note=f"From {sentence.source}, {side}: “{sentence.raw}” {_RUN}",
        )
    ]
    if row["mask"] is None:
        return out
    words = text.split()
    for key, view in (("keep", "R2I"), ("flip", "I2R")):
        ours = [[words[i] for i in s] for s in row[key]]
        again = [s for s in paper[key] if s in ours]
        out.append(
            Claim(
                f"“{text}”: sufficient {view} sets",
                _say(paper[key]),
                f"{_say(ours)}; {len(again)} of the paper's {len(paper[key])} among them",
                same and len(again) == len(paper[key]),
                note=f"Mask “{row['mask']}”."
                + ("" if same else " They explain the other label than the paper's."),
            )
        )
    flips = round(row["brittle"] * len(words))
    theirs = len(paper["flip"])
    out.append(
        Claim(
            f"“{text}”: single words that flip it",
            f"{theirs} of {len(words)}",
            f"{flips} of {len(words)}",
            flips >= theirs,
        )
    )
    rule = row["anchors"][0]
    held = [words[i] for i in rule["held"]]
    part = [words[i] for i in rule["enough for its precision"]]
    enough = "no strict part has precision 0.95"
    if len(part) < len(held):
        enough = f"{' + '.join(part) or 'no word at all'} is enough for precision 0.95"
    out.append(
        Claim(
            f"“{text}”: Anchors' rule, as released",
            f"{' + '.join(paper['anchor'])}, precision {paper['precision']}",
            f"{' + '.join(held) or 'nothing'}, precision {rule['precision reported']:.2f} "
            f"({rule['precision']:.2f} without sampling), PS {rule['PS']:.2f}; {enough}",
            same and set(held) == set(paper["anchor"]),
            note="Anchors masks with UNK, PS is against our mask."
            + (" The paper's text has “read AND book” for this one." if "book" in words else ""),
        )
    )
    return out


def _over_runs(paper, runs) -> list[Claim]:
    out = []
    for text, says in paper.items():
        rows = [row for row in runs if row["text"] == text]
        same = [row for row in rows if row["label"] == says["label"]]
        keep, flip = (
            [row["run"] for row in same if _again(row, says[key], key)] for key in ("keep", "flip")
        )
        both = [str(run) for run in keep if run in flip]
        out.append(
            Claim(
                f"“{text}”: the paper's label and sets, whichever run is explained",
                "one run",
                f"its label in {len(same)} of {len(rows)}; its R2I sets all found in {len(keep)}, "
                f"its I2R sets in {len(flip)}, both in {len(both)}",
                None if len(rows) == 1 else len(both) == len(rows),
                setting=_runs(len(rows)),
                note=f"Both in run {', '.join(both)}; run 0 is the one above." if both else "",
            )
        )
    return out


def _again(row: dict[str, Any], sets: list[list[str]], view: str) -> bool:
    """Are all these sets among the run's?"""
    words = row["text"].split()
    return bool(row["mask"]) and all([words.index(w) for w in s] in row[view] for s in sets)


def _over_sentences(surveyed, sample) -> list[Claim]:
    known = [r for r in surveyed if r["mask"]]
    brittle = sum(r["brittle"] >= 0.5 for r in known)
    plain = [r["brittle"] >= 0.5 for r in known if r["mask"] in MASKS]
    used = Counter(r["mask"] for r in known).most_common()
    firm = sum(r["brittle"] == 0 for r in known)
    rows = [row for row in sample if row["mask"]]
    rules = [row["anchors"][-1] for row in rows]
    own = sum(len(r["enough for its precision"]) < len(r["held"]) for r in rules)
    keep = sum(len(r["enough to keep"]) < len(r["held"]) for r in rules)
    fails = sum(r["PS"] < 1 for r in rules)
    sizes = [min(map(len, row["keep"])) for row in rows]
    return [
        Claim(
            "brittle predictions are found: half of the words or more flip it alone",
            "one sentence",
            f"{brittle} of {len(known)} sentences; in {firm} no single word does",
            brittle > 0,
            setting=f"all {len(surveyed)} short labelled sentences",
            note=f"With UNK or PLATE as the mask {sum(plain)} of {len(plain)}. Masks used: "
            + ", ".join(f"{mask} {n}" for mask, n in used)
            + ".",
        ),
        Claim(
            "Anchors' rules are not minimal for some sentences",
            "said of some",
            f"{keep} of {len(rules)} hold a strict part that already keeps the label, {own} one "
            "whose precision is 0.95 already",
            keep + own > 0,
            setting=f"{len(rules)} sentences drawn, Anchors with our mask",
            note=f"{fails} rules do not keep the label against the mask at all (PS 0). An empty "
            "part counts: there the label stays for 95% of all ways to mask.",
        ),
        Claim(
            "the smallest R2I set has fewer words than Anchors' rule",
            "1 against 6, and 3 against 2",
            f"mean {np.mean(sizes):.2f} against {np.mean([len(r['held']) for r in rules]):.2f}",
            bool(np.mean(sizes) < np.mean([len(r["held"]) for r in rules])),
            setting=f"{len(rules)} sentences drawn, Anchors with our mask",
        ),
    ]


def _with_corpus(found) -> list[Claim]:
    rows = [row for row in found if row["mask"]]
    out = []
    for key, view in (("keep", "R2I"), ("flip", "I2R")):
        scores = [score for row in rows for score in row["corpus"][f"PS of {key}"]]
        stay = sum(score >= 0.9 for score in scores)
        out.append(
            Claim(
                f"{view} sets found against one token suffice against words of other texts too",
                "not asked",
                f"{stay} of {len(scores)} sets reach PS 0.9; mean PS {np.mean(scores):.2f}",
                stay == len(scores),
                setting=f"{rows[0]['corpus']['references']} stretches of words from sentences "
                "predicted otherwise",
            )
        )
    return out


def _runs(n: int) -> str:
    return "one training run" if n == 1 else f"{n} training runs"


def _say(sets: list[list[str]], most: int = 6) -> str:
    said = "; ".join(" + ".join(s) for s in sets[:most]) or "none"
    return said if len(sets) <= most else f"{said} and {len(sets) - most} more"
