"""A parser that checks that HTML is well formed and fetches nothing."""

from html.parser import HTMLParser


class Tags(HTMLParser):
    """Every opened tag is closed, and nothing is fetched."""

    void = frozenset({"meta"})

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            assert name not in ("src", "href"), f"{tag} fetches {value}"
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
