"""
Why does the model expect this disease to advance so fast?
==========================================================

A regression answers with a number, and "why 213?" is no question yet: rather than what? Here a
clinic looks closer at patients above 200. So the question is why this patient is *above 200*, and
then, why *near 213* at all.
"""

# %%
# Data of 442 patients with diabetes, shipped with scikit-learn; the model predicts how far the
# disease has advanced a year later.
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from suffice import Explainer, at_least, within

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X.rename(columns={"bp": "blood pressure", "s5": "log triglycerides", "s6": "glucose"})
X = X[["age", "sex", "bmi", "blood pressure", "log triglycerides", "glucose"]]
model = RandomForestRegressor(100, min_samples_leaf=5, random_state=0).fit(X, y)
patient = X.iloc[9]

e = Explainer(model, X, outcome=at_least(200)).explain(patient)
print(e)

# %%
# The prediction stands barely above the line: five of six values are needed to hold it there, and
# another value of log triglycerides alone takes it below for 96% of the references. In the picture
# this is the single square at the top of the lower half, whose bar spans nearly all thresholds.
ax = e.plot()

# %%
# Asked for the neighbourhood of the prediction instead of a line, three values suffice: body mass
# index and log triglycerides, with any one of blood pressure, glucose or age.
near = Explainer(model, X, outcome=within(30), references="all").explain(patient)
print(near.keep)
ax = near.keep.plot()
