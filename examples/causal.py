"""
What if changing one thing changes others?
==========================================

A lender looks at income and savings, and at nothing else. Does schooling matter? To the formula,
no. To the applicant, it does: schooling raises income, and income fills the account. Say what
causes what, and explanations follow.
"""

# %%
# Made-up people: college raises income by 20, half of which ends up as savings. A hobby causes
# nothing.
import numpy as np
import pandas as pd

from suffice import CausalContext, CausalModel, Explainer, plots

rng = np.random.default_rng(0)
n = 600
school = rng.choice(["none", "college"], n)
income = (25 + 20 * (school == "college") + rng.normal(0, 6, n)).round(1)
savings = (income / 2 + rng.normal(0, 4, n)).round(1)
hobby = rng.choice(["chess", "football"], n)
people = pd.DataFrame({"school": school, "income": income, "savings": savings, "hobby": hobby})


def lender(rows):
    """Granted where income and savings together exceed 50."""
    return np.where(rows["income"] + rows["savings"] > 50, "granted", "refused")


# %%
# Mechanisms are fitted from the data. Had this applicant gone to college, the model would expect an
# income of 45 and savings of 22.5:
scm = CausalModel([("school", "income"), ("income", "savings")], people)
applicant = {"school": "none", "income": 24.0, "savings": 12.0, "hobby": "chess"}
ax = plots.dag(scm, do={"school": "college"}, row=applicant)

# %%
# As long as values are swapped one by one, school does nothing, and it takes income and savings
# together to keep the refusal:
swapped = Explainer(lender, people).explain(applicant, tau=0.8)
print("keep:", [f.features for f in swapped.keep])
print("flip:", [f.features for f in swapped.flip])

# %%
# With effects that follow, school alone keeps the refusal for 87% of the references, and flips it
# for 95%. Income alone suffices, too, since savings follow it. (``noise="kept"``: what is special
# about a person, such as saving more than most, stays with that person.)
context = CausalContext(scm, noise="kept")
followed = Explainer(lender, people, context=context).explain(applicant, tau=0.8)
print(followed)

# %%
# In the picture school has rows of its own in both halves, and the hobby has none.
ax = followed.plot()
