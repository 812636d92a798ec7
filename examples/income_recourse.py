"""
What would it take for this person to earn more?
================================================

A model predicts who earns over 50K a year. For someone whom it puts below, which changes would move
the prediction, which of them is the least, and what if some things cannot change? People here are
made up; the last lines say what happens when there is no way out at all.
"""

# %%
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from suffice import Explainer

rng = np.random.default_rng(0)
n = 600
people = pd.DataFrame(
    {
        "age": rng.integers(20, 65, n),
        "schooling": rng.integers(8, 19, n),
        "hours a week": rng.integers(15, 61, n),
        "work": rng.choice(["private", "public", "self-employed"], n, p=[0.6, 0.25, 0.15]),
    }
)
earns = 3.2 * people["schooling"] + 0.6 * people["hours a week"] + 0.25 * people["age"]
earns += 5 * (people["work"] == "self-employed") + rng.normal(0, 5, n)
over = np.where(earns > 78, "over 50K", "up to 50K")

columns = make_column_transformer((OneHotEncoder(), ["work"]), remainder="passthrough")
model = make_pipeline(columns, GradientBoostingClassifier(random_state=0)).fit(people, over)

# %%
# Nobody grows younger, schooling is not unlearnt, and more than 50 hours a week are too many.
# Within these bounds every value seen in the data may be taken on, and the cheapest combination
# is found.
person = {"age": 34, "schooling": 12, "hours a week": 38, "work": "private"}
explainer = Explainer(model, people)
ways = explainer.recourse(
    person,
    immutable=["age"],
    increasing=["schooling"],
    ranges={"hours a week": (None, 50)},
    values="grid",
)
print(ways)

# %%
# Three more years of schooling are the least. Without them it takes seven more hours *and* a
# business of one's own. Cost counts in typical deviations; the middle column says how often values
# that others have in these features would do, and the right one how many of all ways change them:
# almost every way leads through schooling.
ax = ways.plot()

# %%
# And if only the kind of work can change? Then there is no way, which is an answer, too: it says
# what stands in the way, and what lifting it would give.
stuck = explainer.recourse(person, actionable=["work"])
print(stuck.feasible)
print(stuck.reason)
