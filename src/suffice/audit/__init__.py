"""For those who sign for a model: what its decisions rest on, from their explanations alone.

Each function takes one explanation, several, or a stored portfolio (`suffice.load`). None calls the
model unless it says so.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
