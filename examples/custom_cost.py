"""
Which way out takes the least time?
===================================

By default, changes cost as many typical deviations as a value moves. That compares columns, but
says nothing about real effort. If you know what changes take, in months, money or paperwork, give
it as a function, and the cheapest way is another.
"""

# %%
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from suffice import Explainer, datasets

X, y = datasets.loans()
X = X[["age", "income", "debt", "late payments"]]
model = RandomForestClassifier(random_state=0).fit(X, y)
applicant = X.iloc[8]
possible = {
    "immutable": ["age"],
    "increasing": ["income"],
    "decreasing": ["debt", "late payments"],
    "values": "grid",
}

# %%
# In typical deviations, a raise is the nearest way: 39 to 62, in one step.
ways = Explainer(model, X).recourse(applicant, **possible)
print(ways)
ax = ways.plot()


# %%
# But income grows by a thousand in three months, a thousand of debt is paid off in six weeks, and a
# late payment is struck off after a year:
def months(column, old, new):
    """How long it takes to get from old values to new ones."""
    each = {"income": 3.0, "debt": 1.5, "late payments": 12.0}
    return each.get(column, 0.0) * np.abs(new - old)


ways = Explainer(model, X, cost=months).recourse(applicant, **possible)
print(ways)

# %%
# Now the raise comes last: 69 months. Paying off 14 of debt and waiting for one late payment to be
# struck off takes 33, if one follows the other. The bars on the left are months.
ax = ways.plot()
