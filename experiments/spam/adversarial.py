"""Tables 3 and 4: spam mails, and the few segments to rewrite to have an MLP let them through.

Table 1 lists R2I for this experiment: a harmless mail is the input, spam mails are the references,
and what is held are the harmless mail's segments. That is done here with the paper's own mails.
What a sender of spam would ask is the other way round, and is done as well: given this one mail,
which segments to replace, by text of mails that are let through.
"""

from functools import partial

import numpy as np
from sklearn.neural_network import MLPClassifier

from experiments.runner.lab import Lab
from experiments.runner.result import Result
from experiments.spam.claims import claims
from experiments.spam.figure import draw_sets
from experiments.spam.mails import SPLIT_SEED, Mails, fit, load
from experiments.spam.relabel import ANY, SURELY, TAU, Relabeller
from experiments.spam.tables import options_table, pasted_table, segments_table, sets_table

SEED = 0
SPAM = (
    "resumevalet info resumevalet com",
    "jacqui devito goodroughy ananzi co za",
    "rose xu email com",
)
"""The senders of the three mails of Table 3."""
HARMLESS = (
    ("crispin cowan crispin wirex com", "scott mackenzie wrote"),
    ("tim one comcast net tim peters", "tim"),
)
"""Sender and first sentence of the mails whose text Table 4 gives."""
SHOWN_SEGMENTS = ("From", "To", "Subject", "First Sentence", "Last Sentence")


def run(lab: Lab) -> Result:
    mails = load(lab.data)
    spam = [_find(mails, sender) for sender in SPAM]
    harmless = [_find(mails, *mail) for mail in HARMLESS]
    train = mails.split[0][~np.isin(mails.split[0], spam)]
    train = train[: lab.size(len(train), 1200)]
    model = fit(MLPClassifier(random_state=1, max_iter=300), mails, train)
    work = Relabeller(mails, model)
    pool = np.setdiff1d(mails.split[1][work.recognised[mails.split[1]]], spam)
    others = np.random.default_rng(SEED).choice(pool, lab.size(40, 2), replace=False).tolist()
    most, fewer = (30 if lab.quick else None), lab.size(200, 20)
    settings = {
        "model": f"MLPClassifier(random_state=1, max_iter=300) trained on {len(train)} mails, the "
        "three of Table 3 not among them",
        "word vectors": f"GloVe, {len(mails.groups['From'])} numbers (paper: 50)",
        "order": "subset",
        "references": f"{most or 'all'} harmless mails that are let through, for each of the "
        f"three; a sample of {fewer} for each of {len(others)} other held-out mails; "
        f"{most or 'all'} recognised spam mails for the text of harmless ones",
        "τ": TAU,
        "seed": f"{SEED}; split {SPLIT_SEED}",
    }
    each = partial(lab.each, settings=settings, code=(Relabeller, load))
    found = each(partial(work.from_spam, most), spam, label="mails")
    held_out = each(partial(work.from_spam, fewer), others, label="held-out mails")
    three = each(partial(work.from_harmless, spam, None), harmless, label="into the three")
    pasted = each(partial(work.from_harmless, None, most), harmless, label="into all spam")

    names = [work.name(i) for i in spam]
    scores, answers = mails.scores(model, train), model.predict(mails.X.iloc[spam])
    sure_of_spam = model.predict_proba(mails.X.iloc[spam])[:, 1]
    return Result(
        "Tables 3 and 4: minimal changes that have spam let through (SpamAssassin mails)",
        claims(scores, answers, names, found, held_out, three, pasted),
        settings,
        tables={
            "mails": mails.texts.loc[spam, list(SHOWN_SEGMENTS)].assign(
                **{"P(spam)": sure_of_spam}
            ),
            "minimal-sets": sets_table(names, found),
            "options": options_table(work, spam, found),
            "text-put-into-spam": pasted_table(work, harmless, three, pasted),
            "held-out-segments": segments_table(held_out),
        },
        figures={
            "minimal-sets": draw_sets(names, [f[SURELY] for f in found]),
            "minimal-sets-any-change": draw_sets(names, [f[ANY] for f in found]),
        },
    )


def _find(mails: Mails, sender: str, first_sentence: str | None = None) -> int:
    """The first mail of this sender that begins so; in the segments asked about all are equal."""
    match = mails.texts["From"] == sender
    if first_sentence is not None:
        match &= mails.texts["First Sentence"] == first_sentence
    return int(np.flatnonzero(match)[0])
