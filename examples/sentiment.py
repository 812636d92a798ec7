"""
Which words make this review a good one?
========================================

A small model tells whether a review is kind. It is right about this one, but for which words? Each
set of words is tried: the others are replaced, and the model is asked again.
"""

# %%
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from suffice import TextExplainer, plots

liked = [
    "a warm and funny film",
    "great acting and a clever story",
    "I laughed, and my mother loved it",
    "beautiful pictures, great music",
    "clever, quick and never dull",
    "a great cast at its best",
    "the best evening in months",
    "funny and moving to the last minute",
]
loathed = [
    "a dull film with a weak story",
    "bad acting, worse jokes",
    "I fell asleep, my mother left",
    "awful music over weak pictures",
    "slow, long, never funny",
    "a great waste of a good cast",
    "the worst evening in months",
    "boring from the first minute",
]
said = ["liked"] * len(liked) + ["loathed"] * len(loathed)
model = make_pipeline(CountVectorizer(), LogisticRegression(C=10)).fit(liked + loathed, said)

review = "A clever story, and a great cast."
e = TextExplainer(model)(review)
print(e)

# %%
# Any one of three words keeps “liked”, and one of them is *and*. To turn the review into a bad one,
# *and* has to go in either case, together with one of the two words that say something. In the
# few reviews that the model has learnt from, only kind ones say *and*.
ax = plots.text(e, most=3)

# %%
# Without such words the answer is the one that a reader would give: *clever* or *great* is enough,
# and both have to go.
small_words = ["a", "and", "at", "from", "in", "it", "its", "my", "of", "over", "the", "to", "with"]
careful = make_pipeline(CountVectorizer(stop_words=small_words), LogisticRegression(C=10))
again = TextExplainer(careful.fit(liked + loathed, said))(review)
ax = again.plot("text")
