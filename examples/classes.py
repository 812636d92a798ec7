"""
Why this wine, and not one of the other two?
============================================

With three classes, "why Grignolino?" hides two questions: why not Barolo, and why not Barbera. They
have different answers, and `versus` asks them one at a time.
"""

# %%
# Chemical analyses of 178 wines from three cultivars, shipped with scikit-learn.
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier

from suffice import Explainer, versus

wine = load_wine(as_frame=True)
X = wine.data[["alcohol", "malic_acid", "flavanoids", "color_intensity", "hue", "proline"]]
X = X.rename(columns={"malic_acid": "malic acid", "color_intensity": "colour"})
y = wine.target.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
model = RandomForestClassifier(random_state=0).fit(X, y)
bottle = X.iloc[60]

not_barolo = Explainer(model, X, outcome=versus("Grignolino", "Barolo")).explain(bottle)
not_barbera = Explainer(model, X, outcome=versus("Grignolino", "Barbera")).explain(bottle)
for e in (not_barolo, not_barbera):
    print(e.keep)

# %%
# **Not Barolo** takes two values: any two of alcohol, colour and flavanoids will do, or proline
# with one of the first two. Three triples do it without such a pair.
ax = not_barolo.keep.plot()

# %%
# **Not Barbera** takes one: a colour this pale settles it for 98% of the references.
ax = not_barbera.keep.plot()

# %%
# So how far does colour alone carry? The usual question, one class against the rest, mixes the two:
either = Explainer(model, X).explain(bottle)
for name, e in {"not Barolo": not_barolo, "not Barbera": not_barbera, "neither": either}.items():
    print(f"{name:12} colour alone: {e.keep.sufficiency('colour'):.0%}")
