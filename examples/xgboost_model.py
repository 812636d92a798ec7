"""
Can I ask this of my xgboost model?
===================================

Yes, as it was trained: with categories, missing cells and the classes 0 and 1. Trees are read from
xgboost's own format where that is faster than asking the model. The answer is the model's in either
case, and the last lines check it.
"""

# %%
import xgboost

from suffice import Explainer, adapt, datasets, shapley_values

X, y = datasets.loans()
X = X.astype({"home": "category", "job": "category"})
X["debt"] = X["debt"].where(X.index % 9 > 0)  # some debts are not known
model = xgboost.XGBClassifier(
    n_estimators=60, max_depth=3, enable_categorical=True, random_state=0, n_jobs=1
)
model.fit(X, y == "granted")

# %%
# ``adapt`` gives the classes 0 and 1 their names; without it, explanations speak of 0 and 1.
applicant = X.iloc[15]
named = adapt(model, classes=("refused", "granted"))
e = Explainer(named, X).explain(applicant)
print(e)

# %%
# Debt is what matters. Any other debt turns the refusal for 95% of the references, while to keep
# it, debt needs income and one more. The lower half of the picture has one filled row, and its
# bar spans nearly all thresholds.
ax = e.plot()

# %%
# The same counts give exact Shapley values. They agree that debt comes first; that it would be
# enough to change it, they do not say.
ax = shapley_values(e.keep).plot()

# %%
# Asking the model about every combination, or reading its trees, is a matter of time alone:
for engine in ("blackbox", "trees"):
    again = Explainer(model, X, engine=engine).explain(applicant)
    same = (again.keep.barcode, again.flip.barcode) == (e.keep.barcode, e.flip.barcode)
    print(f"{engine}: {again.provenance.rows_predicted:,} rows asked, same answer: {same}")
# sphinx_gallery_thumbnail_number = 2
