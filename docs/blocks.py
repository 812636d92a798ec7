"""How blocks of code are shown: without the blank line that ends an example, and CSV as it is."""


def setup(app):
    """Tidy every page that was read."""
    # Here, since tests read these pages where Sphinx is not installed.
    from pygments.lexers.special import TextLexer

    app.add_lexer("csv", TextLexer)
    app.connect("doctree-read", _tidy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _tidy(app, doctree):
    from docutils import nodes

    for block in list(doctree.findall(nodes.literal_block)):
        # With other text than its source it would be taken for parsed, and not be highlighted.
        if block.astext() == block.rawsource:
            block.rawsource = block.rawsource.rstrip()
            block.children[:] = []
            block.append(nodes.Text(block.rawsource))
