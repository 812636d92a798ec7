"""The pictures of "Audit a credit model", made by following the page (needs SUFFICE_DATA)."""

from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.draw import save
from docs.draw.walk import walk

PAGE = Path(__file__).parents[1] / "guides" / "audit-a-credit-model.md"


def main(dpi: int = 90) -> None:
    """A figure that the page shows is what its code drew last; the record's page is looked at."""
    import matplotlib

    matplotlib.use("agg")

    from docs.draw.screens import browser

    with TemporaryDirectory() as folder:
        for step, names in walk(PAGE, Path(folder)):
            if step.kind != "picture":
                continue
            path = PAGE.parent / step.text
            path.parent.mkdir(exist_ok=True)
            drawn = BytesIO()
            if path.stem.endswith("-record"):
                with browser() as chromium:
                    page = chromium.new_page(viewport={"width": 1100, "height": 1000})
                    page.goto(Path(folder, path.stem, "index.html").as_uri())
                    drawn.write(page.screenshot())
            else:
                names["ax"].figure.savefig(drawn, dpi=dpi)
            save(drawn, path)
            print(path)
