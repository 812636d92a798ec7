"""
How good is the explanation that another tool gave me?
======================================================

shap ranks features, Anchors gives a rule, a counterfactual tool a few changed rows. Each is a claim
that can be checked against all sets of features, and gets marks: does what it names suffice, what
would have done better, what could be left out?
"""

# %%
import shap
from sklearn.ensemble import RandomForestClassifier

from suffice import Explainer, audit, datasets

X, y = datasets.loans()
X = X[["age", "income", "debt", "late payments", "guarantor"]]
model = RandomForestClassifier(random_state=0).fit(X, y)
explainer = Explainer(model, X)
applicant = X.iloc[[15]]
print(applicant.to_string(index=False))

# %%
# **A ranking**: shap's own values. Only those above 0 speak for the refusal, so features are ranked
# by their values and not by their sizes (``absolute=False``).
trees = shap.TreeExplainer(model)
refusal = list(model.classes_).index("refused")


def by_shap(row):
    """What shap says of a row: values for a refusal."""
    return trees(row.astype(float))[0, :, refusal]


marked = audit.grade(explainer, applicant, by_shap(applicant), absolute=False)
print(marked)

# %%
# Debt comes first, and rightly so. But three features that shap ranks first hold the refusal for
# 79% of the references only, where income, debt and guarantor would do for all but a few. An
# income of 57 speaks neither for nor against a loan, so shap ranks it late; yet leave it open,
# and a higher one saves the application. In the picture the two lines part at two features and
# meet at four.
ax = marked.plot()

# %%
# **A rule**, as text or as anchor-exp's own object. This one is less sure than it looks, and a
# third of it is idle:
print(audit.grade(explainer, applicant, "debt > 20 and late payments <= 1 and age > 50"))

# %%
# **Changed rows**, as mappings or as dice-ml's own object. One of these two does not even flip the
# decision, and the other changes more than it needs to:
print(audit.grade(explainer, applicant, [{"income": 60}, {"debt": 20, "guarantor": True}]))

# %%
# **Many decisions**, by a function that is asked about each. For comparison, the alphabet is a
# tool, too.
refused = X[model.predict(X) == "refused"].iloc[:15]
tools = {"shap": by_shap, "by name": sorted(X.columns)}
table = audit.grade(explainer, refused, tools, absolute=False)
print(table)

# %%
# Over fifteen refusals shap's first features come close to the best sets, and the alphabet's do
# not.
ax = table.plot()
# sphinx_gallery_thumbnail_number = 2
