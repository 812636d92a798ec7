"""
Is a missing income held against this applicant?
================================================

Real tables have texts, truth values and holes; models see one-hot columns and imputed numbers. An
explanation should speak of the table, not of what the pipeline makes of it. Give the whole
pipeline to the explainer, with the frame as it is: a feature is a column of the frame, and
"missing" is a value like any other.
"""

# %%
# Of some applicants income or job are not known. The pipeline fills in the median income and adds a
# column that says so; a missing job becomes a category of its own.
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from suffice import Explainer, datasets

X, y = datasets.loans()
rng = np.random.default_rng(0)
X["income"] = X["income"].where(rng.random(len(X)) > 0.15)
X["job"] = X["job"].where(rng.random(len(X)) > 0.1)
columns = make_column_transformer(
    (OneHotEncoder(), ["home", "job"]),
    (SimpleImputer(strategy="median", add_indicator=True), ["income"]),
    remainder="passthrough",
)
model = make_pipeline(columns, RandomForestClassifier(random_state=0)).fit(X, y)

applicant = X.iloc[53]
explainer = Explainer(model, X)
e = explainer.explain(applicant)
print(e)

# %%
# Yes, with three other values. The only set that keeps the refusal is a missing income together
# with a rented home, a late payment and no guarantor. The seven columns of the picture are those
# of the frame, not the thirteen that the forest was given.
ax = e.plot()

# %%
# What if the applicant hands in proof of income? With the incomes of those who were granted a loan,
# and all else as it is, the decision would turn for 57%. The least that would do is 54.
print(f"{e.flip.sufficiency('income'):.0%}")
print(explainer.recourse(applicant, immutable=["age"], decreasing=["debt", "late payments"]).best)
