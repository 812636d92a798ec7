"""
What makes this tumour look malignant, out of thirty measurements?
===================================================================

Thirty columns have a billion sets. But they are ten properties of cell nuclei (radius, texture, …),
each measured three ways, and nobody would change one without the others. Grouped, ten features are
left: all their 1,024 sets are counted in a moment, and the answer is in a pathologist's words.
"""

# %%
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from suffice import Explainer, audit

cells = load_breast_cancer(as_frame=True)
X, y = cells.data, cells.target.map({0: "malignant", 1: "benign"})
model = RandomForestClassifier(random_state=0).fit(X, y)

properties = {}
for column in X:
    name = column.removeprefix("mean ").removeprefix("worst ").removesuffix(" error")
    properties.setdefault(name, []).append(column)
print(len(properties), "groups, such as", properties["concave points"])

# %%
# A sample that the model is unsure about: 70% for malignant. Which properties, taken from a benign
# sample, would turn it?
explainer = Explainer(model, X, groups=properties, n_references=200)
e = explainer.explain(X.iloc[73])
print(e.flip.to_frame()[["features", "sufficiency", "low", "high"]].head(8).to_string())

# %%
# Two properties suffice on their own: concave points (dents in the outline of the nucleus) and
# perimeter. All other ways take three or four together.
ax = e.flip.plot()

# %%
# Keeping the answer takes far more, seven properties at least: the model calls this sample
# malignant for many small reasons. Which of them can none of those sets do without?
roles = audit.roles(e)
print([name for name in properties if roles.of(name, "keep").indispensable])
