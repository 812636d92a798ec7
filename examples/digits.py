"""
Which part of this picture makes it a two?
==========================================

A classifier reads a handwritten 2. Which regions of the picture are enough for that, and which
would have to look otherwise? The answer depends on what stands in for a region: black paper, or
the same place in pictures of other digits.
"""

# %%
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from suffice import ImageExplainer

digits = load_digits()
classifier = SVC().fit(digits.data[:1500], digits.target[:1500])


def read_digit(images):
    """The digit in each of these pictures of 8 × 8 pixels."""
    return classifier.predict(images.reshape(len(images), -1))


image = digits.images[1530]
e = ImageExplainer(read_digit, regions="grid", n_regions=9, references=0)(image)
print(e)

# %%
# On black paper one region is enough, the middle of the bottom stroke. Without it, the rest is no
# 2.
ax = e.plot("image")

# %%
# Other digits have strokes of their own that could make it something else. Against them a single
# region is no longer enough:
others = digits.images[:20][digits.target[:20] != 2]
against = ImageExplainer(read_digit, regions="grid", n_regions=9, references=others)(
    image, search="exhaustive"
)
print(f"{against.keep.sufficiency(['row 3 column 2']):.0%} for the bottom stroke alone")
for factor in against.keep.factors[:3]:
    print(f"{factor.sufficiency:.0%} for", ", ".join(factor.features))

# %%
# It takes the middle row as well, whose left end is empty: that nothing is written there is part of
# what makes this a 2.
ax = against.plot("image")
