"""Pictures: each opens by itself, as a narrow screen shows it too small; and each is described."""


def setup(app):
    """Look at the pictures of every page."""
    app.connect("doctree-read", _describe)
    app.connect("doctree-resolved", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _describe(app, doctree):
    """Figures of the gallery, which has only their files' names, are called as what they are in."""
    from docutils import nodes
    from sphinx_gallery.directives import imgsgnode

    for image in doctree.findall(imgsgnode):
        section = image.parent
        while not isinstance(section, nodes.section):
            section = section.parent
        image["alt"] = f"Figure: {section.next_node(nodes.title).astext()}"


def _link(app, doctree, page):
    """A picture that leads nowhere leads to its own file."""
    from docutils import nodes
    from sphinx.util.osutil import relative_uri

    if app.builder.format != "html":
        return
    here = app.builder.get_target_uri(page)
    for image in list(doctree.findall(nodes.image)):
        name = app.env.images.get(image["uri"])
        if name is None or isinstance(image.parent, nodes.reference):
            continue
        # A thumbnail's whole card leads to its example already; a second link would be laid over
        # it by the gallery's style, so that the picture is moved out of the card.
        if name[1].endswith("_thumb.png"):
            continue
        uri = relative_uri(here, f"{app.builder.imagedir}/{name[1]}")
        link = nodes.reference("", "", refuri=uri, internal=True, classes=["enlarged"])
        image.replace_self(link)
        link += image
