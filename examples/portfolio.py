"""
What do a year's refusals have in common?
=========================================

An auditor asks about all decisions, not one. They are explained once, into a folder of Parquet
files; from then on any tool that reads Parquet can ask, without the model. Here it is DuckDB, in
SQL.
"""

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import matplotlib.pyplot as plt
from sklearn.ensemble import RandomForestClassifier

import suffice

X, y = suffice.datasets.loans()
X = X[["age", "income", "debt", "late payments"]]
model = RandomForestClassifier(50, random_state=0).fit(X, y)
explainer = suffice.Explainer(model, X, n_references=100)

keep_until_the_end = TemporaryDirectory()
folder = Path(keep_until_the_end.name) / "explained"
stored = explainer.explain_to(X.iloc[:150], folder)
print(f"{len(stored)} explanations in", *sorted(path.name for path in folder.iterdir()))

# %%
# A row of ``factors`` is a minimal set of one decision. Which sets keep most refusals?
factors = f"'{folder}/factors/*.parquet'"
reasons = duckdb.sql(f"""
    SELECT array_to_string(features, ' + ') AS reason, count(*) AS refusals,
           round(avg(sufficiency), 2) AS sufficiency
    FROM {factors} WHERE view = 'keep' AND outcome = 'refused'
    GROUP BY reason ORDER BY refusals DESC, reason LIMIT 6
""")
print(reasons)

# %%
# Income and debt together are the most frequent reason by far: they keep 29 of the refusals, and
# neither would do so alone. What DuckDB answers is a frame like any other, and is drawn like one.
table = reasons.df()[::-1]
fig, ax = plt.subplots(figsize=(6.5, 2.8), layout="constrained")
bars = ax.barh(table["reason"], table["refusals"], color="#0072b2")
ax.bar_label(bars, padding=3)
ax.set_xlabel("refusals")
ax.spines[["top", "right"]].set_visible(False)

# %%
# Which single feature would have turned a refusal, as a rule and not only by luck? Few ever do:
# income for seven refusals, age and debt for two each.
print(
    duckdb.sql(f"""
        SELECT features[1] AS feature, count(*) AS refusals, round(median(cost), 2) AS median_cost
        FROM {factors} WHERE view = 'flip' AND outcome = 'refused' AND size = 1
        GROUP BY feature ORDER BY refusals DESC, feature
    """)
)

# %%
# The explanations themselves come back one by one, with all their counts: every threshold can be
# asked, and every picture drawn. In this one, the surer a set has to be, the less of the outcome is
# covered by such sets.
ax = stored[1].plot("curve")
keep_until_the_end.cleanup()
