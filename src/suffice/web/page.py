"""The explorer's one page: a heading, its style, and the script that asks all the rest."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from suffice.report.environment import template_text
from suffice.report.html import bundle

__all__ = ["explorer_page"]

_STYLES = ("style.css", "live.css")
"""Of the explanations that it takes in; those of texts have one more."""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>suffice explorer</title>
<style>{style}</style>
</head>
<body>
<h1>What suffices for a decision, and what would change it</h1>
<main id="explorer"><noscript>The explorer needs scripts. A page that does not:
<code>suffice explain --html</code>.</noscript></main>
<script>{script}</script>
</body>
</html>
"""


@cache
def explorer_page(of_texts: bool) -> tuple[str, str, str]:
    """The page, and the script and the style in it, of which a policy needs the hashes."""
    script = bundle()
    own = files("suffice.web").joinpath("explorer.css").read_text(encoding="utf-8")
    styles = (*_STYLES, "text.css") if of_texts else _STYLES
    style = "".join(map(template_text, styles)) + own
    return _PAGE.replace("{style}", style).replace("{script}", script), script, style
