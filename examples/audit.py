"""
Do these refusals rest on age?
==============================

A lender must not refuse for age. The model was given it, though. An audit of sixty refusals asks:
in how many does age decide, in how many is it a part of every reason, and what would the letters
say? All of it is counted from explanations; the model is not asked again.
"""

# %%
from sklearn.ensemble import RandomForestClassifier

from suffice import Explainer, audit, datasets

X, y = datasets.loans()
X = X[["age", "income", "debt", "late payments", "guarantor"]]
model = RandomForestClassifier(random_state=0).fit(X, y)
refused = X[model.predict(X) == "refused"].iloc[:60]
explanations = Explainer(model, X, n_references=100).explain_many(refused)

found = audit.reliance(explanations, {"age": ["age"], "guarantor": ["guarantor"]})
print(found)

# %%
# Yes, in part. In 17 of 60 refusals another age alone would have turned the decision for some
# reference, for one of them at almost any age. An audit reports that with its interval, 17% to 41%.
# A guarantor, which may count, does so in about as many.
ax = found.plot()

# %%
# What each feature is to these decisions: income is in every reason of 80% of them, age of 18%, the
# least of all. But it is in some reason of half of them.
ax = audit.roles(explanations).plot()

# %%
# Letters of refusal name up to two reasons each, from a catalogue with a text for each direction
# that would help. Where age is among them, the letter is held for review.
catalogue = {
    "income": {"higher": ("R1", "Income too low"), "any": ("R1", "Income and debts")},
    "debt": {"lower": ("R2", "Debt too high"), "any": ("R2", "Debt in relation to income")},
    "late payments": {"lower": ("R3", "Payments were late"), "any": ("R3", "Payment history")},
    "guarantor": {"higher": ("R4", "No guarantor")},
    "age": {"any": ("R5", "Length of credit history")},
}
letters = audit.reasons(explanations, catalogue, k=2, protected=["age"])
print(letters)

# %%
# Three letters are held. Most of the others say that income was too low, and then debt.
ax = letters.plot()
# sphinx_gallery_thumbnail_number = 3
