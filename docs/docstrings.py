"""How docstrings are read: numpydoc's sections, whatever follows them.

Sphinx's own reader takes what follows the parameters for one more parameter, and whatever a
property says before a colon for its type.
"""

_ATTRIBUTES = {"attribute", "data", "property"}


def setup(app):
    """Read every docstring before it becomes a page."""
    app.connect("autodoc-process-docstring", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _read(app, what, name, obj, options, lines):
    # Here, since tests read these pages where Sphinx is not installed.
    from sphinx.ext.napoleon import NumpyDocstring

    if what not in _ATTRIBUTES:
        lines[:] = NumpyDocstring(with_titles(lines), what=what, name=name, obj=obj).lines()


def with_titles(lines):
    """The docstring with titles over the words and the examples that follow a section.

    >>> with_titles(["Parameters", "----------", "x", "    A row.", "", ">>> x", "1"])[5:]
    ['Examples', '--------', '>>> x', '1']
    """
    titled, section, before = [], None, ""
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if after and set(after) == {"-"}:
            section = line
        elif section and not before and line[:1].strip() and not after.startswith(" "):
            title = "Examples" if line.startswith(">>> ") else "Notes"
            if section not in (title, "Examples"):
                titled += [title, "-" * len(title)]
                section = title
        titled.append(line)
        before = line.strip()
    return titled
