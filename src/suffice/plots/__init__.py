"""Figures of answers, drawn by matplotlib: each takes `ax` and returns the axes it drew into.

Every figure is made from one typed piece of data. `ax` is an `Axes`, a `Figure` or a `SubFigure`;
None makes a figure of its own. No global style is set, and inks follow the figure's background.

A figure's module is imported when the figure is first asked for: one of an explanation needs
nothing of audits, recourse or causal models. No module may have the name of a figure, since
importing it would hide the function.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
