"""The figure of "Images": a digit, and factors of two explanations of it."""

from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.svm import SVC

from suffice.formatting import percent
from suffice.image import ImageExplainer, overlay
from suffice.image.overlays import draw_region_map


def draw(path: Path) -> None:
    """The digit with its regions, then the first factor of each view, for each reference."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    digits = load_digits()
    classifier = SVC().fit(digits.data[:1500], digits.target[:1500])

    def read_digit(images):
        return classifier.predict(images.reshape(len(images), -1))

    image, others = digits.images[1530], digits.images[:20][digits.target[:20] != 2]
    found = {
        "against black": ImageExplainer(read_digit, regions="grid", n_regions=9, references=0)(
            image
        ),
        "against other digits": ImageExplainer(
            read_digit, regions="grid", n_regions=9, references=others
        )(image),
    }
    panels = [("the image, 9 regions", draw_region_map(found["against black"].subject))]
    for against, e in found.items():
        for view, does in (("keep", "keeps"), ("flip", "flips")):
            share = percent(getattr(e, view).factors[0].sufficiency)
            panels.append((f"{does} “2” {share}\n{against}", overlay(e, view=view)))
    figure = Figure(figsize=(8.4, 2.2), layout="constrained")
    for axes, (title, drawn) in zip(figure.subplots(1, len(panels)), panels, strict=True):
        axes.imshow(drawn.pixels)
        axes.set_title(title, fontsize=9)
        axes.set_axis_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, facecolor="white", dpi=160)
