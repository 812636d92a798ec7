"""
Why was this loan refused, and what would change it?
=====================================================

An applicant of 26 earns 34 (thousand a year), owes 20, and was refused. Two questions follow: what
in this application was enough for a refusal, and what would have to be different? One call answers
both, for every set of features at once.
"""

# %%
# The table is made up and comes with the package; model and data could be your own.
from sklearn.ensemble import RandomForestClassifier

from suffice import Explainer, datasets

X, y = datasets.loans()
X = X[["age", "income", "debt", "late payments", "guarantor"]]
model = RandomForestClassifier(random_state=0).fit(X, y)
applicant = X.iloc[16]

e = Explainer(model, X).explain(applicant)
print(e)

# %%
# **What keeps it.** Income and debt as they are suffice: give these two values to any applicant who
# was granted a loan, and the model refuses all of them. There is a second reason: age,
# income and no guarantor together do the same for nine in ten.
#
# **What flips it.** The cheapest single change is an income of 46 instead of 34. As a rule, and not
# only in the luckiest case, it takes three features.
#
# The picture holds all of it. A row is a set of features, a filled row a minimal one at the
# threshold τ = 0.9; the marks to the right say for how many references it works.
ax = e.plot()

# %%
# Hollow rows are what another threshold would give: at 0.6, say, income without a guarantor is
# already a reason. No model is asked again:
for factor in e.keep.at(0.6):
    print(f"{factor.sufficiency:.0%}", ", ".join(factor.features))

# %%
# With five features all 32 sets fit into one diagram: none at the bottom, all at the top. Reading
# upwards from **C**, debt, one sees that debt alone keeps the refusal for half of the references,
# and debt with income for all of them.
ax = e.keep.plot("lattice")
# sphinx_gallery_thumbnail_number = 2
