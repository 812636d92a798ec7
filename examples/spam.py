"""
Why is this e-mail in the spam folder?
======================================

A filter reads an e-mail part by part: sender, subject, first sentence, last sentence. Which of
these parts got this mail where it is, and which one would have to be rewritten to get it out?
Each part is held or replaced as a whole, by the same part of mails that were let through.
"""

# %%
# A few hundred mails, put together at random from phrases of spam and of ordinary mail; one in five
# parts comes from the other side, since spam pretends and friends do say "free".
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from suffice import Explainer

PHRASES = {
    "from": (
        ["prize office", "lucky deals", "account service", "crypto club"],
        ["Ann from work", "your library", "the school", "Bo"],
    ),
    "subject": (
        ["you won a free prize", "last chance to claim", "your account is locked"],
        ["lunch on Friday", "minutes of the meeting", "your book is due", "free on Sunday"],
    ),
    "first sentence": (
        ["dear winner", "dear customer", "congratulations, it is you"],
        ["dear all", "hi there", "good morning", "dear parents"],
    ),
    "last sentence": (
        ["click the link now", "send us your password", "hurry, it ends today"],
        ["see you then", "best wishes", "thank you for your help", "click yes to join"],
    ),
}
rng = np.random.default_rng(0)
spam = rng.random(400) < 0.5
mails = pd.DataFrame(
    {
        part: [
            rng.choice(phrases[int(rng.random() < (0.2 if is_spam else 0.8))]) for is_spam in spam
        ]
        for part, phrases in PHRASES.items()
    }
)
words = make_column_transformer(*((CountVectorizer(), part) for part in mails))
model = make_pipeline(words, LogisticRegression()).fit(mails, np.where(spam, "spam", "fine"))

# %%
mail = {
    "from": "account service",
    "subject": "your account is locked",
    "first sentence": "good morning",
    "last sentence": "send us your password",
}
explainer = Explainer(model, mails)
e = explainer.explain(mail)
print(e)

# %%
# Subject and last sentence together did it: whoever sends them, under whatever greeting, the mail
# is spam for 91% of the references. The friendly "good morning" did not help, and the odd sender
# did no harm. Rewriting both parts gets the mail through almost always. The hollow squares
# further down say that rewriting one of the two would do in about 82% of cases.
ax = e.plot()
