"""Formulas as MathML, which browsers draw themselves: no script, and no request to another host."""


def setup(app):
    """Offer the renderer to Sphinx, under the name "mathml"."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer, node):
    _write(writer, node, as_block=False)


def _block(writer, node):
    _write(writer, node, as_block=True)


def _write(writer, node, as_block):
    # Here, since tests read these pages where Sphinx is not installed.
    from docutils import nodes
    from docutils.utils.math import latex2mathml

    drawn = latex2mathml.tex2mathml(node.astext(), as_block=as_block)
    writer.body.append(f'<div class="math">{drawn}</div>' if as_block else str(drawn))
    raise nodes.SkipNode
